"""What looks like a secret in a text, and the same text without it or its writer's home.

Own rules, because a memory is prose: detect-secrets and the like look at
source lines (docs/security.md has the figures). `rules.tsv` has the shapes of
issuers' tokens; a value of no known shape must look drawn by a machine, or
like a password under a telling name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from memsync.records import Memory
from memsync.secrets.allowing import Allow, fingerprint
from memsync.secrets.formats import in_formats, in_seeds
from memsync.secrets.named import in_names
from memsync.secrets.rules import Rule, hinted
from memsync.secrets.unmasking import decoded, from_base64, joined, shown
from memsync.secrets.values import entropy, is_hex, is_random, is_shown, is_wordy, possible
from memsync.system.late import late_pattern
from memsync.system.named import NamedTuple

__all__ = ["NOTHING", "Allow", "Secret", "describe", "fingerprint", "is_ours", "redact", "scan", "scan_memory", "tidy"]

NOTHING: Final = Allow()


class Secret(NamedTuple):
    """What `rule` found at characters `start` to `end`; `redacted` and `fingerprint` may be shown."""

    rule: str
    start: int
    end: int
    redacted: str
    fingerprint: str


_Span = tuple[str, int, int, str]
_DRAWN: Final = late_pattern(r"(?<![A-Za-z0-9_.+/@#|-])[A-Za-z0-9_+.~-]{24,400}={0,2}(?![A-Za-z0-9/])")
_PREFIXED: Final = late_pattern(
    r"(?<![A-Za-z0-9_./-])[A-Za-z][A-Za-z0-9]{1,11}_(?:[a-z0-9]{1,8}_)?[A-Za-z0-9]{24,}(?![A-Za-z0-9_.])"
)
# What random letters are for that anybody may know.
_KNOWN_FOR: Final = late_pattern(
    r"(?i)\b(?:sha\d*|md5|\w*hash\w*|\w*digest\w*|checksum|integrity|commit\w*|revision|etag|fingerprint|\w*public\w*|ca_?bundle|sec-websocket-\w+|signaturevalue|dnskey|applicationserverkey|publishable|nonce|kid|x5t\w*"
    r"|resolved|ssh-\w+|ecdsa\S*|\w*cert\w*|cache\w*|nanoid|ulid|uuid|guid|alphabet|base\d+|sourcemappingurl|recaptcha\w*|[\w-]*site-verification|site_?key|ids?)\b[^\n]{0,28}$"
    r"|\b(?:[\w-]*_?ids?|id-\d|trace|span|cursor|blob|tree|data|price|customer|event|image|distribution|message|run|h1|go\.mod"
    r"|signature|request|build|tx|contract|project|client|account|session|version|name|file|url|path|did:\w{1,8})[\"'`]?(?: is)?[\s:=\"'`#/<(]{1,4}$"
    r"|; ?bh?=$|[\"'](?:n|x|y|x5c)[\"']\s?:\s?\[?[\"']$"  # a signed mail, a public JWK
)
_UNNAMED: Final = "random-value"
_CUT_OFF: Final = 60
_VARIED: Final = 2.8  # bits a character, at least
_SHORTEST: Final = 18  # characters of an issuer's token
_SHORT: Final = 64  # characters: a tag, an author, a session, as many memories have
_MANY: Final = 4096
_clean: Final[set[str]] = set()  # short texts that hold nothing, whatever is allowed
_last: Final = [""]  # and the last that was longer
_TELLING: Final = 3  # characters of a prefix that tell an issuer
_SPACED: Final = late_pattern(
    r"\d(?:[ :-](?:[0-9A-Fa-f]{2}[ :-]){3}|(?<=0)x[0-9A-Fa-f]{2},)"
)  # cheap: sixteen pairs hold one such
_OURS: Final = frozenset({"id", "memory_type", "source_type"})  # which mostly hold what we write there
_PLAIN: Final = late_pattern(r"[a-z]{1,16}|mm-[a-z0-9]{6,10}")
_TIMES: Final = frozenset({"created_at", "updated_at", "archived_at"})
_TIME: Final = late_pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z", re.ASCII)
_VARIES: Final = late_pattern(r"\d|[a-z][A-Z]")
_NO_KEY: Final = late_pattern(
    r"baf[yk][a-z2-7]{50,}$|(?:price|prod|cus|evt|pi|ch|in|sub|acct|seti|cs|pk|req|txn|pm|file|msg|run|thread|asst|user|org|proj|chatcmpl|toolu|call|snap|job)_|(?:age|bc)1[a-z0-9]{25,62}$"
)
# What is long, random, and for everybody: certificates, public keys, images.
_PUBLIC: Final = late_pattern(
    r"-----BEGIN (?![A-Z ]*PRIVATE)[A-Z0-9 ]+-----(?:\s*(?:Version|Comment|Hash|Charset): [^\n]*\n)*[A-Za-z0-9+/=\s\\]*|data:[\w/+.-]*(?:;[\w-]+=[\w.-]+)*;base64,\S+|\b(?:ssh-|ecdsa-)\S+ AAAA\S+"
    r"|\b(?:iVBORw0KGgo|R0lGOD|UklGR|H4sI|JVBERi0|UEsDB|d09GM)[\w/+=-]+|/9j/[\w/+=-]+|\bMII[\w+/]{3}CC[AB][\w/+=]+"
    r"|\b(?:MII[BC]I[jT]|MIGfMA0G|MFkwEwYH|MHYwEAYH|MCowBQYD)[\w/+=]+|\bv=DKIM1;[^\n]{0,60}?\bp=[\w/+=]+"
)


def scan(text: str, allow: Allow = NOTHING) -> list[Secret]:
    """Return what looks like a secret in *text*, in order and without overlaps.

    Looked at is what stands there, what it is read as (without invisible
    characters, in plain letters), and what it is when decoded once. Linear in
    the length of *text*.
    """
    if text in _clean or text == _last[0]:
        return []
    places = possible(text)
    spans = [(rule, start, end, text[start:end]) for rule, start, end in _candidates(text, places)]
    spans += _behind_masks(text, places)
    if not spans and len(text) > _SHORT:
        _last[0] = text  # a write looks at its text twice: before it is stored, and to note that it may be shown
    elif not spans and len(_clean) < _MANY:
        _clean.add(text)
    spans.sort(key=lambda found: (found[1], -found[2], found[0] == _UNNAMED))
    secrets: list[Secret] = []
    for rule, start, end, value in spans:
        if (secrets and start < secrets[-1].end) or value in allow:
            continue
        secrets.append(Secret(rule, start, end, f"[{rule}, {end - start} characters]", fingerprint(value)))
    return secrets


def scan_memory(memory: Memory, allow: Allow = NOTHING) -> list[Secret]:
    """Return what looks like a secret in any field of *memory*. Places count in the content."""
    found = scan(memory.content, allow)
    for name, value in zip(Memory._fields, memory, strict=True):
        if value and name != "content" and not (isinstance(value, str) and is_ours(name, value)):
            found += [secret for text in _texts(value, "" if name == "extra" else name) for secret in scan(text, allow)]
    return found


def is_ours(name: str, value: str) -> bool:
    """Tell whether *value* is an id, a type or a time as we write it into the field *name*: no secret, and not worth a search."""
    pattern = _PLAIN if name in _OURS else _TIME if name in _TIMES else None
    return pattern is not None and pattern.fullmatch(value) is not None


def _texts(value: object, names: str) -> Iterator[str]:
    """Yield every text of a JSON value behind the *names* of all that encloses it, and each name."""
    if isinstance(value, str):
        yield f"{names}: {value}" if names else value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            inner = f"{names} {key}".strip()
            yield from _texts(item, inner) if isinstance(item, (str, Mapping, list, tuple)) else (f"{inner}: {item}",)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, names)


def redact(text: str, allow: Allow = NOTHING, *, names: str = "") -> str:
    """Return *text* with every secret replaced by what kind it was. *names*: of all that encloses it."""
    head = f"{names}: " if names else ""
    whole, place, parts = head + text, len(head), list[str]()
    for secret in scan(whole, allow):
        if secret.end > place:
            parts += [whole[place : secret.start], secret.redacted]
            place = secret.end
    return "".join([*parts, whole[place:]])


def describe(secrets: Sequence[Secret]) -> str:
    """Say what was found, for people, without showing it."""
    kinds = dict.fromkeys(
        f"{s.redacted[1:-1]} at character {s.start + 1}, fingerprint {s.fingerprint}" for s in secrets
    )
    shown = list(kinds)[:3]
    return "; ".join(shown) + (f"; and {len(kinds) - len(shown)} more" if len(kinds) > len(shown) else "")


def tidy(text: str, *, home: str, user: str = "") -> str:
    """Return *text* with the paths of *home*, and of homes that *user* has on other systems, as `~`.

    Only whole path components count; a home of `/` changes nothing.
    """
    plain = text.casefold()
    for name, pattern in _homes(home.rstrip("/\\"), user):
        if name in plain:  # which it is in few; to look for the whole path takes longer
            text = pattern.sub("~", text)
    return text


_SLASH: Final = r"(?:/|\\\\?)"


@cache
def _homes(home: str, user: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the pattern of each home, beside a word that is in every text with one, case folded."""
    found = []
    if len(home) > 1:
        parts = re.split(r"[/\\]+", home)
        found.append((parts[-1], _SLASH.join(map(re.escape, parts))))
    if user and user != "root":
        found.append((user, rf"(?:/mnt/[a-z]|/[a-z]|[A-Za-z]:)?{_SLASH}(?:Users|home){_SLASH}{re.escape(user)}"))
    return tuple(
        (name.casefold(), re.compile(rf"(?<![\w.~-]){path}(?![\w.-]*\w)", re.IGNORECASE if ":" in path else 0))
        for name, path in found
    )


_Places = Sequence[tuple[int, int]]


def _candidates(text: str, places: _Places) -> Iterator[tuple[str, int, int]]:
    """Yield what stands in *text* itself. Most texts hold nothing that could be a secret, and are done with at once."""
    lower = _lower(text)
    yield from in_seeds(text, lower)
    yield from _tokens(text)
    if places:
        if _is_long(places):
            yield from _drawn(text)
        yield from in_formats(text, lower)
        for found in in_names(text, lower, places):
            if not _is_public(text, found[1]):
                yield found


def _is_long(places: _Places) -> bool:
    return any(end - start >= _SHORTEST for start, end in places)


def _lower(text: str) -> str:
    """Return *text* in small letters, each where it was."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    words = [word for word in text.split() if len(word) >= _SHORTEST]
    long = " ".join([word for word in words if _VARIES.search(word)])
    if not long:
        return
    for hint, rule in [pair for pair in hinted() if pair[0] in long]:
        if hint or rule.pattern().search(long):
            for match in rule.pattern().finditer(text):
                if (
                    entropy(match[0]) >= _VARIED
                    and not _is_public(text, match.start())
                    and not is_shown(match[0])
                    and not _is_word_like(match[0])
                ):
                    yield rule.name, *match.span()


def _is_public(text: str, place: int) -> bool:
    return any(found.start() <= place < found.end() for found in _PUBLIC.finditer(text))


def _is_word_like(value: str) -> bool:
    return not any(map(str.isdigit, value)) and (value.islower() or value.isupper())


def _drawn(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield what looks drawn by a machine and is not known to be something that anybody may see."""
    for pattern in (_DRAWN, _PREFIXED):
        for match in pattern.finditer(text):
            value = match[0]
            if is_random(value) and not (is_hex(value) or _NO_KEY.match(value) or is_wordy(value) or is_shown(value)):
                before = text[max(0, match.start() - _CUT_OFF) : match.start()]
                # What is a text in base64 was not drawn; what the text says is looked at for itself.
                if not (_KNOWN_FOR.search(before) or _is_public(text, match.start()) or from_base64(value)):
                    yield _UNNAMED, *match.span()


def _behind_masks(text: str, places: _Places) -> Iterator[_Span]:
    if found := shown(text):
        plain, inner = found.text, possible(found.text)
        for rule, start, end in (*_candidates(plain, inner), *_decode(plain, inner)):
            yield rule, *found.where(start, end), plain[start:end]
    else:
        for rule, start, end in _decode(text, places):
            yield rule, start, end, text[start:end]


def _decode(text: str, places: _Places) -> Iterator[tuple[str, int, int]]:
    """Yield what decodes to a secret, or is one when it is put together."""
    if _is_long(places) or "&" in text or "\\" in text or "%" in text or _SPACED.search(text):
        for found in decoded(text):
            for rule, start, end in _candidates(found.text, possible(found.text)):
                yield rule, *found.where(start, end)
    if places:
        telling = " ".join(
            [word for word in text.split() if not (word.isalpha() and (word.islower() or word.istitle()))]
        )
        known = _telling()
        begun = {telling[at : at + _TELLING] for at in range(len(telling) - _TELLING + 1)} & known.keys()
        for _, hint, told in sorted(row for begin in begun for row in known[begin] if row[1] in telling):
            yield from _broken(text, told, text.find(hint))


@cache
def _telling() -> dict[str, list[tuple[int, str, Rule]]]:
    """Return the rules in their order, with the hint of each, by the first characters of that."""
    found: dict[str, list[tuple[int, str, Rule]]] = {}
    for place, (hint, rule) in enumerate(hinted()):
        if len(hint) >= _TELLING:
            found.setdefault(hint[:_TELLING], []).append((place, hint, rule))
    return found


def _broken(text: str, rule: Rule, place: int) -> Iterator[tuple[str, int, int]]:
    for found, seam in joined(text, place):
        match = rule.pattern().search(found.text)
        if match and match.start() < seam < match.end() and entropy(match[0]) >= _VARIED and not is_shown(match[0]):
            yield rule.name, *found.where(*match.span())
            return
