"""Which places of a repository a text names, and how closely the anchors of a record are there (ADR 99); and its names. Pure.

A place is a file, a folder or a symbol. Who writes may be anywhere: `src/billing/tax.py` is `tax.py`, `billing/tax.py`,
`/app/src/billing/tax.py:40` or `C:\\work\\src\\billing\\tax.py` as well. So paths are compared from their ends, without case.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from memsync.index.scale import FEW_PLACED, LEAST_PLACED, PLACE
from memsync.system.texts import Memo

if TYPE_CHECKING:
    from memsync.records import Memory

WHOLE: Final = 1.0  # a symbol, or a path with a folder
NAME: Final = 0.9  # a file or a folder by its own name
FOLDER: Final = 0.6  # what is in a folder that is named, or is of a folder in which a file is named
_MOST: Final = 1_000  # places of a text that are looked for; each word of a prompt can name one
_ANCHORS: Final = 20  # of a record that count: one that is anchored to everything is at no place
_LONGEST: Final = 300  # characters of one

# Names that so many files have that they name none, folders that hold nearly all, and names of nearly any class or module.
GENERIC: Final = frozenset(
    """readme.md readme.rst readme.txt readme changelog.md changes.md contributing.md license license.txt todo.md notes.md agents.md claude.md
    gemini.md skill.md index.js index.ts index.tsx index.jsx index.html index.css index.md index.php main.py main.js main.ts main.tsx
    main.go main.rs main.c main.cpp main.java app.py app.js app.ts app.tsx app.vue app.jsx server.py server.js server.ts mod.rs lib.rs
    __init__.py __main__.py setup.py setup.cfg conftest.py manage.py settings.py config.py config.js config.ts config.yaml config.yml
    config.json config.toml utils.py utils.js utils.ts util.py helpers.py helpers.ts helpers.js types.ts types.py types.go models.py
    views.py urls.py tests.py test.py test.js test.ts constants.py constants.ts errors.py base.py common.py core.py package.json
    package-lock.json tsconfig.json pyproject.toml requirements.txt cargo.toml cargo.lock go.mod go.sum pom.xml build.gradle yarn.lock
    makefile dockerfile docker-compose.yml docker-compose.yaml compose.yaml compose.yml .env .gitignore .env.example cmakelists.txt
    gemfile rakefile style.css styles.css
    src lib app apps docs doc test tests web pkg packages internal cmd bin core common utils util helpers config scripts tools api main
    init run get set test setup teardown handle handler start stop open close load save read write update create delete remove add new
    parse build render name value data item items list type types id key self this node index error result results module modules
    todo true false none null return import export default async await function class""".split()
)
_FOREIGN: Final = frozenset("site-packages dist-packages node_modules .venv venv .tox".split())
_CUTS: Final = re.compile(r"[\s()\[\]{}<>,;=\"'`|*?!]+")
_LINES: Final = re.compile(r"(?::\d+)+:?$|:$|\.$")
_HASH: Final = re.compile(r"@[0-9a-f]{12}$")
_LINE: Final = re.compile(r"L\d+$")
_ENDING: Final = re.compile(r"\w\.[a-z]\w{0,8}$")
_SYMBOL: Final = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#)[^\W\d]\w*)*$")
_JOINTS: Final = re.compile(r"\.|::|#")
_CODE: Final = re.compile(r"[a-z0-9][A-Z]|[^\W_]_|[a-z]\.[a-z]|::|#|\(\)", 0)

Parts = tuple[str, ...]


class Place(NamedTuple):
    """The parts of a path, those of a symbol or both; either may be empty. Without case."""

    path: Parts
    symbol: Parts = ()
    is_folder: bool = False


class Named:
    """The places that a text names."""

    def __init__(self, words: Iterable[str]) -> None:
        found: dict[Place, None] = {}
        for word in words:
            found |= dict.fromkeys(_read(word))
            if len(found) >= _MOST:
                break
        self._places = tuple(found)[:_MOST]

    def terms(self) -> dict[str, float]:
        """Return the terms under which records that are anchored there are found, each with how near they are at most."""
        found: dict[str, float] = {}
        for term, share in (pair for place in self._places for pair in _asked(place)):
            found[term] = max(share, found.get(term, 0.0))
        return found

    def fit(self, anchors: Sequence[str]) -> tuple[float, str]:
        """Return how closely one of *anchors* is at a place that is named, 0 to 1, and that anchor."""
        near = [(_meet(split_anchor(text), self._places), text) for text in anchors[:_ANCHORS]]
        return max(near, key=itemgetter(0), default=(0.0, ""))


@lru_cache(maxsize=8)
def read_places(words: tuple[str, ...]) -> Named:
    """Return the places that *words* name; asked for again with each hit."""
    return Named(words)


def find_anchor(text: str, anchors: Sequence[str]) -> str:
    """Return which of *anchors* is nearest to what *text* names, without its hash; "" if none is there."""
    share, anchor = read_places(tuple(text.split())).fit(anchors)
    return _HASH.sub("", anchor) if share else ""


def find_placed(named: Named, having: Callable[[str], Iterable[int]]) -> dict[int, float]:
    """Return the slots that may be at the places *named*, with how much that says: the less, the more are as near.

    *having* says which slots have a term.
    """
    found: dict[int, float] = {}
    for term, share in named.terms().items():
        for slot in having(term):
            found[slot] = max(share, found.get(slot, 0.0))
    levels = sorted(Counter(found.values()).items(), reverse=True)
    crowds = accumulate(count for _, count in levels)
    says = {share: share * min(1.0, FEW_PLACED / crowd) ** 2 for (share, _), crowd in zip(levels, crowds, strict=True)}
    return {slot: says[share] for slot, share in found.items() if says[share] >= LEAST_PLACED}


def place_terms(anchors: Sequence[str]) -> list[str]:
    """Return the terms under which a record with *anchors* is found by a place, each once; the first says that it has any."""
    found = {term: None for text in anchors[:_ANCHORS] for term in _held(split_anchor(text))}
    return [PLACE, *found] if found else []


def split_anchor(text: str) -> Place:
    """Return the place of the anchor *text*; an empty one for a command. Of a glob its first folders count."""
    if text.startswith("$"):
        return Place(())
    text = text[:-13] if text[-13:-12] == "@" else text
    path, _, symbol = text.casefold().partition("#")
    at = min((path.find(char) for char in "*?" if char in path), default=-1)
    path = path if at < 0 else path[:at].rpartition("/")[0] + "/"
    parts = tuple(filter(None, path.split("/")))
    return Place(parts, tuple(filter(None, _JOINTS.split(symbol))) if symbol else (), path.endswith("/"))


def _held(place: Place) -> Iterator[str]:
    """Yield the terms of an anchor: the ends of its path, the folder that it is in, and its symbol."""
    yield from _ends(place.path, "/" * place.is_folder)
    if not place.is_folder:
        yield from _ends(place.path[:-1], ">")
    if place.symbol:
        yield f"{PLACE}#{place.symbol[-1]}"


def _asked(place: Place) -> Iterator[tuple[str, float]]:
    path, symbol, is_folder = place
    if symbol:
        yield f"{PLACE}#{symbol[-1]}", WHOLE
    ends = list(_ends(path, "/" * is_folder))
    yield from zip(ends[:1] if len(path) > 1 else ends, (WHOLE if len(path) > 1 else NAME,), strict=False)
    if is_folder:
        yield from ((term, FOLDER) for term in list(_ends(path, ">"))[:1])
    for length in range(1, len(path)):
        yield from ((term, FOLDER) for term in _ends(path[:length], "/"))


def _ends(path: Parts, kind: str) -> Iterator[str]:
    """Yield the last two parts of *path* and the last one, as terms of a *kind*."""
    if len(path) > 1:
        yield f"{PLACE}{path[-2]}/{path[-1]}{kind}"
    if path and path[-1] not in GENERIC:
        yield f"{PLACE}{path[-1]}{kind}"


def _meet(anchor: Place, places: Iterable[Place]) -> float:
    return max((_nearness(anchor, place) for place in places), default=0.0)


def _nearness(anchor: Place, place: Place) -> float:
    """Return how closely *anchor* is at the *place* that a text names."""
    if place.symbol and anchor.symbol:
        shared = min(len(place.symbol), len(anchor.symbol))
        at_path = not place.path or _same(anchor.path, place.path)
        if at_path and anchor.symbol[-shared:] == place.symbol[-shared:]:
            return WHOLE
        if len(place.path) > 1:
            return FOLDER * _same(anchor.path, place.path)
    if place.is_folder == anchor.is_folder:
        return _same(anchor.path, place.path)
    if place.is_folder:
        return FOLDER * bool(_same(anchor.path[:-1], place.path))
    return FOLDER * any(_same(anchor.path, place.path[:end]) for end in range(1, len(place.path)))


def _same(anchored: Parts, named: Parts) -> float:
    """Return how surely two paths are one: where the shorter ends the longer. A name alone may be said for a path, not meant by one."""
    shared = min(len(anchored), len(named))
    if not shared or anchored[-shared:] != named[-shared:]:
        return 0.0
    is_generic = GENERIC.issuperset(named[-shared:])
    if shared > 1:
        return WHOLE * (not is_generic or len(anchored) == shared)
    return NAME * (len(named) == 1 and not is_generic)


def _read(word: str) -> Iterator[Place]:
    """Yield the places that a *word* between white space names."""
    if "://" in word:
        head, _, word = word.partition("://")
        if "/blob/" in word or "/tree/" in word:
            word = word.partition("/blob/")[2] or word.partition("/tree/")[2]
        elif not head.endswith("file"):
            return
    for piece in _CUTS.split(word[:_LONGEST]):
        if piece:
            yield from _read_piece(piece, is_called=f"{piece}()" in word)


def _read_piece(piece: str, *, is_called: bool) -> Iterator[Place]:
    """Yield the path that a *piece* of a word is, or what it may be: a file, a symbol, or each of both."""
    text = _LINES.sub("", piece.replace("\\", "/").lstrip("@"))
    path, joint, inner = text.partition("#") if "#" in text else text.partition("::")
    is_file = bool(_ENDING.search(path.casefold()))
    if "/" in path or (joint and is_file):
        yield from _read_path(path, inner)
        return
    if is_file and path.casefold() not in GENERIC:
        yield Place((path.casefold(),))
    is_code = is_called or (bool(_CODE.search(text)) and not text.isupper())
    if is_code and _SYMBOL.match(text) and (symbol := _split_symbol(text)):
        yield Place((), symbol)


def _read_path(path: str, inner: str) -> Iterator[Place]:
    while path.startswith(("./", "../")):
        path = path.partition("/")[2]
    if path[:2] in ("a/", "b/"):  # as a diff has it
        path = path[2:]
    parts = tuple(part for part in path.casefold().split("/") if part and part != ".")
    if not parts or not _FOREIGN.isdisjoint(parts):
        return
    is_symbol = _SYMBOL.match(inner) and not _LINE.match(inner)
    yield Place(
        parts,
        _split_symbol(inner) if is_symbol else (),
        path.endswith("/") or not (len(parts) == 1 or "." in parts[-1][1:]),
    )


def _split_symbol(text: str) -> Parts:
    """Return the parts of a name; none where it is one that any module has."""
    parts = tuple(filter(None, _JOINTS.split(text.casefold())))
    return parts if parts and len(parts[-1]) > 2 and (parts[-1] not in GENERIC or len(parts) > 1) else ()


MARK = "~ "  # before a name, among the keys of what is anchored
_LONGEST_TEXT = 65_536  # characters of a text that are looked at
_MOST_NAMES = 2_048  # names of a call
_SUBJECT = 10  # words of a memory, among which is what it is about
_LEAST = 4  # letters of a name
_NAME = re.compile(r"[\w$@.-]+(?:(?:/|::)[\w$@.-]+)*")
_LIKE_CODE = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|\w[./]\w|::|[A-Z]{1,5}\d{3,5}$|^\.[a-z]")
_BRANDS = frozenset(
    """GitHub GitLab JavaScript TypeScript OpenAI PostgreSQL GraphQL MongoDB DevOps MySQL SQLite PyTorch TensorFlow FastAPI WebSocket WebSockets
    DynamoDB NodeJS VSCode DeepSeek ChatGPT YouTube LinkedIn PowerShell macOS""".split()
)
_SOURCES = frozenset(
    "py pyi js jsx mjs cjs ts tsx go rs java kt c h cc cpp hpp cs swift scala php rb lua vue svelte".split()
)
_ENDINGS = _SOURCES.union(
    """sh bash ps1 sql html css scss md mdx rst txt json jsonl yaml yml toml ini cfg conf env lock xml csv proto graphql tf gradle ipynb""".split()
)
# Words of languages that prose has seldom, or not as a noun: a rule may be about what code does with one.
_CONSTRUCTS = "any async await defer enum eval fallthrough finally goto lambda struct switch typedef unsafe volatile yield".split()
_ONE = "|".join(_CONSTRUCTS)
# These two are compiled where one is used: few texts need them, and each process would pay a millisecond.
_MENTION = rf"`({_ONE})`|\b(?i:an?|every|each|no) ({_ONE})\b|\b({_ONE}) (?:statement|block|expression|keyword)"
_WRITTEN = rf"""(?m)^[ \t]*(?:[#*]|/\*).*|//.*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`[^`\n]*`?|(?<![\w.$-])({_ONE})(?![\w$-])"""
_ADVICE = re.compile(
    r"\b(?<!when )(?<!if )(?<!you )(?<!they )(?<!before )(?<!after )(?:uses?|prefer|call|run|write|take|with|via)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;:!?]\s|\b(?:never|not|instead of|rather than|but)\b", re.IGNORECASE)


def names_in(text: str) -> list[str]:
    """Return the names in *text*, each once, in order; no paths, for what is there is no name."""
    return list(dict.fromkeys(name for _, name in _find(text[:_LONGEST_TEXT].split()) if not is_path(name)))[
        :_MOST_NAMES
    ]


def constructs_in(text: str, paths: Iterable[str]) -> list[str]:
    """Return the words of languages that *text*, which is written to the sources *paths*, has as code, each with the ending of a file: `switch .go`."""
    endings = dict.fromkeys(ending for path in paths if (ending := path.rpartition(".")[2]) in _SOURCES)
    words = dict.fromkeys(one[1] for one in re.finditer(_WRITTEN, text[:_LONGEST_TEXT]) if one[1]) if endings else ()
    return [f"{word} .{ending}" for word in words for ending in endings]


def is_path(name: str) -> bool:
    """Tell whether *name* is that of a file or a folder, which is a name only where there is none."""
    return "/" in name or name[:1] == "." or name.rpartition(".")[2] in _ENDINGS


def _find(words: Sequence[str]) -> Iterator[tuple[int, str]]:
    having = [(at, names) for at, names in enumerate(map(_named.__getitem__, words)) if names]
    return ((at, name) for at, names in having for name in names)


def _read_names(word: str) -> tuple[str, ...]:
    bare = word.strip(",.;:()'\"`")
    if bare.isalpha() and (bare.islower() or bare[1:].islower() or bare.isupper()):
        return ()  # as of most words, and the quickest look
    names = (found.strip("-@").rstrip(".") for found in _NAME.findall(word))
    return tuple(
        name
        for name in names
        if len(name) >= _LEAST and not name[0].isdigit() and name not in _BRANDS and _LIKE_CODE.search(name)
    )


_named: Final = Memo(_read_names)  # of each word: most come again, and all memories are read for them


def is_of_wrong(memory: Memory) -> bool:
    """Tell whether *memory* says which name is wrong: it is due there."""
    return any(text.startswith("not: ") for text in memory.triggers)


def subjects_of(memory: Memory) -> list[str]:
    """Return the names that *memory* is about: paths, and of others, and of a language's words, those at its beginning that it does not advise to use.

    None where it says which name is wrong.
    """
    found: dict[str, None] = {}
    words = [] if is_of_wrong(memory) else memory.content.split()
    for at, name in _find(words):
        if is_path(name) or (at < _SUBJECT and not _is_advised(" ".join(words[:at]))):
            found[name] = None
    head = " ".join(words[:_SUBJECT])
    mentions = re.finditer(_MENTION, head) if any(map(head.__contains__, _CONSTRUCTS)) else ()  # most heads have none
    said = (one[one.lastindex or 0] for one in mentions if not _is_advised(head[: one.start()]))
    return list(found | dict.fromkeys(said))


def _is_advised(before: str) -> bool:
    """Tell whether what stands behind *before* is what a text advises to use: not where the clause began with a "never"."""
    if not _ADVICE.search(before):
        return False
    last = max(_CLAUSE.finditer(before), key=lambda one: one.end(), default=None)
    is_denied = last is not None and last[0][0].isalpha()
    return not is_denied and _ADVICE.search(before, last.end() if last else 0) is not None


def keys_of(names: Iterable[str], known: Iterable[str] = ()) -> list[str]:
    """Return the keys of *names* in the lookup file: of a language's word in those languages of which something *known* names a file."""
    endings = {ending for key in known if (ending := key.rpartition(".")[2]) in _SOURCES}
    spelled = ([f"{name} .{one}" for one in endings] if name in _CONSTRUCTS else [name] for name in names)
    return [MARK + one for some in spelled for one in some]
