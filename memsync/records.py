"""The memory record: its fields, ids, normal form and times.

Knows nothing of files, spelling on disk or search.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypedDict

from memsync.errors import AmbiguousId, InvalidMemory, MemoryNotFound, closest

TYPE_ORDER: Final = ("context", "preference", "pattern", "fact")
HEADINGS: Final[Mapping[str, str]] = MappingProxyType(
    {"context": "Project Context", "preference": "Preferences", "pattern": "Patterns", "fact": "Facts"}
)
DEFAULT_TYPE: Final = "fact"
RULE: Final = "rule"  # the type, or the tag, of a memory that may ask
DEFAULT_IMPORTANCE: Final = 0.5
DEFAULT_SOURCE: Final = "user"
MAX_CONTENT: Final = 32_768
MAX_WORDS: Final = 100  # tags, cues, anchors, links or superseded memories of one record
MAX_EXTRA: Final = 65_536  # characters of all that memsync does not know
MAX_WORD: Final = 200  # characters of one of them, of an id, a type or a name
# A memory with this tag may hold what looks like a secret; reviewers see the tag.
ALLOW_TAG: Final = "allow-secret"
TRIGGERS: Final = ("not", "fails")  # the kinds of them

NO_EXTRA: Final[Mapping[str, Any]] = MappingProxyType({})

Clock = Callable[[], dt.datetime]
Scope = Literal["project", "private", "global"]
SCOPES: Final[tuple[Scope, ...]] = ("project", "private", "global")
_FORMER: Final[Mapping[str, Scope]] = {"stealth": "private"}  # what scopes were called

_BASE32: Final = bytes.maketrans(
    bytes(range(256)), b"abcdefghijklmnopqrstuvwxyz234567" * 8
)  # by the last five bits of a byte
_ID_PREFIX: Final = "mm-"
SKILL_PREFIX: Final = "sk-"
_ODD: Final = "odd-"  # of what is shown in place of an id that could pass for something else
_LONGEST_ID: Final = 64
_SHORT_ID: Final = 16
_NEAR: Final = 80.0  # percent of letters in common with an id that may have been meant: one of six is wrong


def as_scope(name: str) -> Scope:
    """Return the scope called *name*, now or formerly.

    Raises:
        InvalidMemory: there is none.
    """
    name = _FORMER.get(name, name)
    for scope in SCOPES:
        if scope == name:
            return scope
    raise InvalidMemory(f"unknown scope {name!r}; choose {', '.join(SCOPES[:-1])} or {SCOPES[-1]}")


class Memory(NamedTuple):
    """One thing worth remembering.

    `importance` is 0-1 as written; what it is worth after decay is computed on
    reading. `cues` are words that somebody would ask with; it is found by them, and they are not part of what it says. `links` are `because:ID`, `needs:ID`, `see:ID` or `see:skill/NAME`.
    `triggers` say when it is due: `not: NAME`, a name that is wrong, or `fails: TEXT`, what a failure says.
    Times are aware UTC, or None where the line has none. `extra` holds the keys that memsync does not know, as parsed. A named tuple, because a
    frozen dataclass made loading a file a quarter slower.
    """

    id: str
    content: str
    memory_type: str = DEFAULT_TYPE
    importance: float = DEFAULT_IMPORTANCE
    tags: tuple[str, ...] = ()
    source_type: str = DEFAULT_SOURCE
    source_session_id: str | None = None
    author: str | None = None
    created_at: dt.datetime | None = None
    updated_at: dt.datetime | None = None
    supersedes: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    conflict_of: str | None = None
    archived_at: dt.datetime | None = None
    extra: Mapping[str, Any] = NO_EXTRA

    @property
    def written_at(self) -> dt.datetime | None:
        """When it was last written, as far as it says."""
        return self.updated_at or self.created_at


class Fields(TypedDict, total=False):
    """What a call may say of a record beside its text: None, as nothing, leaves a field as it is."""

    memory_type: str | None
    importance: float | None
    tags: Collection[str] | None
    cues: Collection[str] | None
    links: Collection[str] | None
    triggers: Collection[str] | None
    anchors: Collection[str] | None
    supersedes: Collection[str] | None  # what names them: an id, or the beginning of one


class Skill(NamedTuple):
    """Instructions for one kind of task, as the agents' clients load them (Agent Skills).

    `name` is that of its folder; `trigger_pattern` is a regular expression.
    """

    id: str
    name: str
    description: str
    instructions: str
    trigger_pattern: str = ""
    tags: tuple[str, ...] = ()
    source_session_id: str | None = None


class Change(NamedTuple):
    """What happened to one id: added (no before), removed (no after) or changed."""

    id: str
    before: Memory | None
    after: Memory | None


def utc_now() -> dt.datetime:
    """Return the present time, aware and in UTC."""
    return dt.datetime.now(dt.UTC)


def tick(now: dt.datetime, previous: dt.datetime | None) -> dt.datetime:
    """Return *now* in whole milliseconds, or just after *previous* if the clock went back.

    An edit must look later than what it edits, or a merge would undo it.
    """
    now = now.replace(microsecond=now.microsecond // 1000 * 1000)
    if previous is None or now > previous:
        return now
    later = dt.timedelta(milliseconds=1)
    return previous + later if previous < dt.datetime.max.replace(tzinfo=dt.UTC) - later else previous


def parse_time(text: object) -> dt.datetime | None:
    """Read an ISO 8601 time; without an offset it is UTC. None if it is not a valid time."""
    if not isinstance(text, str):
        return None
    try:
        moment = dt.datetime.fromisoformat(text)
        if moment.tzinfo is dt.UTC:
            return moment
        return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)
    except (OverflowError, ValueError):
        return None


def format_time(moment: dt.datetime) -> str:
    """Spell *moment* as memsync writes it: UTC, milliseconds, `Z`."""
    return moment.astimezone(dt.UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def age(moment: dt.datetime | None, now: dt.datetime) -> str:
    """Return how long ago *moment* was, in words."""
    if moment is None:
        return "no date"
    days = (now - moment).days
    for size, name in ((365, "year"), (30, "month"), (7, "week"), (1, "day")):
        if days >= size:
            return f"{days // size} {name}{'s' if days // size > 1 else ''} ago"
    return "today"


def sort_types(types: Collection[str]) -> list[str]:
    """Return memory types in the order in which they are shown: ours first, then others by name."""
    return [*(kind for kind in TYPE_ORDER if kind in types), *sorted(set(types).difference(TYPE_ORDER))]


def same_but_for_time(one: Memory | None, other: Memory | None) -> bool:
    """Tell whether two versions say the same, whenever they were written; None is the same as None alone."""
    if one is other or one is None or other is None:
        return one is other
    return one._replace(updated_at=None) == other._replace(updated_at=None)


def normal_form(text: str) -> str:
    """Return *text* lower-cased with white space folded."""
    text = text.lower()
    if text.isprintable() and "  " not in text and text[:1] != " " != text[-1:]:
        return text  # the space is the only white space that is printable
    return " ".join(text.split())


def are_one_form(one: str, other: str) -> bool:
    """Tell whether two texts have the same normal form; most begin with another letter."""
    first, its = (text.lstrip()[:1].lower()[:1] for text in (one, other))
    return first == its and normal_form(one) == normal_form(other)


def content_hash(text: str) -> str:
    """Return the SHA-256 of the normal form, in hex; computed, never stored."""
    from memsync.system.digests import sha256

    return sha256(normal_form(text).encode("utf-8", "surrogatepass")).hexdigest()


def id_length(count: int) -> int:
    """Return how many characters a new id needs beside *count* others.

    The shortest of 6 or more for which the birthday bound n²/(2·32^length)
    keeps the chance that two branches ever chose the same id below 1 %.
    """
    length = 6
    while count * count > 0.02 * 32**length:
        length += 1
    return length


def new_id(
    content: str, now: dt.datetime, *, is_taken: Callable[[str], bool], count: int, prefix: str = _ID_PREFIX
) -> str:
    """Return an id that is not taken: *prefix* and 6 or more base32 characters.

    A hash of content, time and randomness; *count* is how many ids there are.
    """
    from memsync.system.digests import sha256

    digest = sha256(os.urandom(16) + format_time(now).encode() + content.encode()).digest()
    letters = digest.translate(_BASE32).decode()
    length = id_length(count)
    while is_taken(candidate := prefix + letters[:length]) and length < len(letters):
        length += 1
    return candidate


def derive_id(content: str) -> str:
    """Return the id of a line that was written by hand without one: stable while its text is."""
    return _ID_PREFIX + _spell_hash(content)


def derive_skill_id(name: str) -> str:
    """Return the id of a skill whose file has none: stable while its name is."""
    return SKILL_PREFIX + _spell_hash(name)


def _spell_hash(text: str) -> str:
    return bytes.fromhex(content_hash(text))[:10].translate(_BASE32).decode()


def hash_id(*parts: str, length: int = 10) -> str:
    """Return an id that follows from *parts* alone, so that every clone makes the same one; *length* is 32 at most."""
    from memsync.system.digests import sha256

    digest = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return _ID_PREFIX + digest[:length].translate(_BASE32).decode()


def clean_content(text: str) -> str:
    """Return *text* as it may be stored.

    Raises:
        InvalidMemory: it is empty, too long or not valid Unicode.
    """
    text = text.strip()
    if not text:
        raise InvalidMemory("the content is empty; say what to remember")
    if len(text) > MAX_CONTENT:
        raise InvalidMemory(
            f"the content has {len(text):,} characters, more than {MAX_CONTENT:,}; "
            "split it, or keep the text in a file and remember where it is"
        )
    return valid_text(text, "content")


def valid_text(text: str, what: str) -> str:
    """Return *text* unchanged.

    Raises:
        InvalidMemory: it holds lone surrogates, which no UTF-8 file can.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidMemory(
            f"the {what} is not valid UTF-8 (at character {error.start + 1}); save or send it as UTF-8"
        ) from None
    return text


def clean_importance(value: float) -> float:
    """Return *value* rounded to 4 decimals.

    Raises:
        InvalidMemory: it is not a number from 0 to 1.
    """
    if not 0.0 <= value <= 1.0:
        raise InvalidMemory(f"importance {value} is not between 0 and 1")
    return round(float(value), 4)


def clean_tags(tags: Collection[str]) -> tuple[str, ...]:
    """Return *tags* stripped, without empty ones or repeats, in their order."""
    kept = dict.fromkeys(valid_text(tag.strip(), "tag") for tag in tags)
    kept.pop("", None)
    return tuple(kept)


def clean_cues(cues: Collection[str], what: str = "cue") -> tuple[str, ...]:
    """Return *cues* with white space folded, without empty ones or repeats, in their order.

    Raises:
        InvalidMemory: there are more than a record may hold, or one is too long.
    """
    kept = dict.fromkeys(" ".join(valid_text(cue, what).split()) for cue in cues)
    kept.pop("", None)
    check_words(kept, what)
    return tuple(kept)


def clean_triggers(triggers: Collection[str]) -> tuple[str, ...]:
    """Return *triggers* as `clean_cues` does, each as `not: NAME` or `fails: TEXT`.

    Raises:
        InvalidMemory: one is of no such kind, or there are too many, or one is too long.
    """
    found = []
    for text in clean_cues(triggers, "trigger"):
        kind, _, what = (part.strip() for part in text.partition(":"))
        if kind.lower() not in TRIGGERS or not what:
            raise InvalidMemory(
                f"{text[:40]!r} is not a trigger: give 'not: NAME' for a name that is wrong, or 'fails: TEXT' for what a "
                "failure says; a file, a symbol or a '$ COMMAND' is an anchor"
            )
        found.append(f"{kind.lower()}: {what}")
    return tuple(dict.fromkeys(found))


def check_words(words: Collection[str], what: str) -> None:
    """Refuse more *words* than a record may hold, or one that is too long; *what* is the name of one.

    Raises:
        InvalidMemory
    """
    if len(words) > MAX_WORDS:
        raise InvalidMemory(
            f"{len(words):,} {what}s are more than {MAX_WORDS}; keep those that somebody would search for"
        )
    if long := next((word for word in words if len(word) > MAX_WORD), ""):
        raise InvalidMemory(f"the {what} {long[:20]}… has {len(long):,} characters, more than {MAX_WORD}")


def clean_type(name: str) -> str:
    """Return the memory type *name*, trimmed; any name is allowed."""
    name = valid_text(name.strip(), "type")
    if not name:
        raise InvalidMemory("the type is empty; use fact, preference, pattern or context")
    check_words([name], "type")
    return name


class Field(NamedTuple):
    """A field of a record, and what it takes part in; all that reads, merges, checks, asks for or shows fields follows `FIELDS`.

    Its `kind` says how a line spells it, and what a merge makes of two versions. Labels are names: a type, an author.
    """

    name: str
    kind: Literal["text", "label", "list", "id", "ids", "number", "time"]
    one: str = ""  # what a message calls it, or one entry of it
    clean: Callable[[Any], Any] | None = None  # makes of what somebody gives what is stored
    other_key: str = ""  # as Gobby spells it
    is_united: bool = False  # a memory that says the same as a new one takes it over
    is_searched: bool = False  # a memory is found by it, though it does not say it
    is_tidied: bool = False  # a path of the writer's home becomes ~
    is_foreign: bool = False  # a value that is not a list of texts is another program's, and kept among the other keys
    is_shown_plainly: bool = False  # as written: it has to be copied, and cannot pass for a line of ours

    @property
    def default(self) -> Any:
        """What a record says that does not have it."""
        return Memory._field_defaults.get(self.name)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that spell it in a line, ours first."""
        return (self.name, self.other_key) if self.other_key else (self.name,)


FIELDS: Final = (
    Field("id", "id", "id"),
    Field("content", "text", clean=clean_content, is_tidied=True),
    Field("memory_type", "label", "type", clean_type, other_key="type"),
    Field("importance", "number", clean=clean_importance),
    Field("tags", "list", "tag", clean_tags, is_united=True),
    Field("source_type", "label", "source", other_key="source"),
    Field("source_session_id", "id", "session id", other_key="source_id"),
    Field("author", "label", "author"),
    Field("created_at", "time"),
    Field("updated_at", "time"),
    Field("supersedes", "ids", "superseded id"),
    Field("anchors", "list", "anchor", is_shown_plainly=True),
    Field("cues", "list", "cue", clean_cues, is_united=True, is_searched=True, is_tidied=True, is_shown_plainly=True),
    Field("links", "list", "link", is_united=True, is_foreign=True),
    Field(
        "triggers", "list", "trigger", clean_triggers, is_united=True, is_searched=True, is_tidied=True, is_foreign=True
    ),
    Field("conflict_of", "id", "other id"),
    Field("archived_at", "time"),
)
TIDIED: Final = tuple(field.name for field in FIELDS if field.is_tidied)


def names_of(*kinds: str) -> tuple[str, ...]:
    """Return the names of the fields of these *kinds*."""
    return tuple(field.name for field in FIELDS if field.kind in kinds)


def texts_of(memory: Memory) -> Iterator[str]:
    """Yield every text of *memory* that somebody may be shown."""
    yield from (memory.content, memory.memory_type)
    for name in names_of("list"):
        yield from getattr(memory, name)
    yield from (memory.source_type, memory.author or "", memory.source_session_id or "", *_strings(memory.extra))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif value and hasattr(value, "items"):
        for name, part in sorted(value.items()):
            yield from (name, *_strings(part))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)


def hidden_words(memory: Memory) -> tuple[str, ...]:
    """Return what *memory* is found by though it does not say it."""
    if not memory.triggers:
        return memory.cues
    names = (text.partition(": ")[2] for text in memory.triggers)
    return (*memory.cues, *(name for name in names if name not in memory.content))


def take_over(old: Memory, new: Memory) -> dict[str, Any]:
    """Return the changes to *old* where it says what *new* says: the lists of both are united, and the larger importance is kept."""
    changes: dict[str, Any] = {}
    for field in FIELDS:
        if field.is_united:
            had = getattr(old, field.name)
            if (united := tuple(dict.fromkeys((*had, *getattr(new, field.name))))) != had:
                changes[field.name] = united
    if new.importance > old.importance:
        changes["importance"] = new.importance
    return changes


def check_size(memory: Memory) -> None:
    """Refuse what nobody would write by hand: hundreds of tags, ids as long as a text.

    Raises:
        InvalidMemory
    """
    for field in FIELDS:
        value = getattr(memory, field.name)
        if value and field.kind in ("list", "ids"):
            check_words(value, field.one)
        elif value and field.kind in ("label", "id"):
            check_words([value], field.one)
    if memory.extra and len(repr(memory.extra)) > MAX_EXTRA:
        raise InvalidMemory(f"the keys that memsync does not know have more than {MAX_EXTRA:,} characters")


def shown_id(id_: str) -> str:
    """Return *id_* as it may be shown: letters, digits and dashes; for another a name that `find_id` takes for it.

    The id of a record is data: one that holds brackets or lines could pass for something that memsync says, and one
    that begins with a dash for an option of a command that somebody copies.
    """
    plain = id_.replace("-", "")
    if not id_ or (plain.isalnum() and plain.isascii() and len(id_) <= _LONGEST_ID and id_[0] != "-"):
        return id_
    from memsync.system.digests import sha256

    return _ODD + sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def short_id(id_: str) -> str:
    """Return enough of *id_* to name it: ours whole, of a UUID the first part."""
    shown = shown_id(id_)
    return shown if len(shown) <= _SHORT_ID else shown[:8]


def may_be_shown(ref: str) -> bool:
    """Tell whether *ref* may be what `shown_id` made of another id, or begin so."""
    return ref.strip().lower().startswith(_ODD)


def is_whole(text: str) -> bool:
    """Tell whether *text* has no half of a character, which no file name, address or database holds."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def sent_id(id_: str) -> str:
    """Return *id_* as a form or a command brings it back: one of other than plain letters on one line as it is shown."""
    return id_ if id_.isprintable() and id_ == id_.strip() else shown_id(id_)


def find_id(ref: str, ids: Iterable[str]) -> str:
    """Return the one of *ids* that *ref* begins, with or without its `mm-`, or that is shown as *ref*.

    Raises:
        MemoryNotFound, AmbiguousId
    """
    known = list(ids)
    if ref in known:
        return ref
    lower = ref.strip().lower()
    fits = sorted({id_ for id_ in known if lower and id_.lower().startswith((lower, f"mm-{lower}"))})
    if not fits and may_be_shown(ref):
        fits = sorted({id_ for id_ in known if shown_id(id_).startswith(lower)})
    if len(fits) > 1:
        raise AmbiguousId(ref, fits)
    if fits:
        return fits[0]
    bare = {id_.removeprefix(_ID_PREFIX): id_ for id_ in known}
    near = closest(lower.removeprefix(_ID_PREFIX), bare, least=_NEAR)
    raise MemoryNotFound(ref, near=near and shown_id(bare[near]))
