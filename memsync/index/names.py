"""Names in a text: identifiers and paths, as code spells them; and by which of them a memory is due where one is used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memsync.records import Memory

MARK = "~ "  # before a name, among the keys of what is anchored
_LONGEST = 65_536  # characters of a text that are looked at
_MOST = 2_048  # names of a call
_SUBJECT = 10  # words of a memory, among which is what it is about
_LEAST = 4  # letters of a name
_NAME = re.compile(r"[\w$@.-]+(?:(?:/|::)[\w$@.-]+)*")
_CODE = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|\w[./]\w|::|[A-Z]{1,5}\d{3,5}$|^\.[a-z]")
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
_CONSTRUCTS = (
    "any|async|await|defer|enum|eval|fallthrough|finally|goto|lambda|struct|switch|typedef|unsafe|volatile|yield"
)
_MENTION = re.compile(
    rf"`({_CONSTRUCTS})`|\b(?i:an?|every|each|no) ({_CONSTRUCTS})\b|\b({_CONSTRUCTS}) (?:statement|block|expression|keyword)"
)
_WRITTEN = re.compile(
    rf"""^[ \t]*(?:[#*]|/\*).*|//.*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`[^`\n]*`?|(?<![\w.$-])({_CONSTRUCTS})(?![\w$-])""",
    re.MULTILINE,
)
_ADVICE = re.compile(
    r"\b(?<!when )(?<!if )(?<!you )(?<!they )(?<!before )(?<!after )(?:uses?|prefer|call|run|write|take|with|via)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;:!?]\s|\b(?:never|not|instead of|rather than|but)\b", re.IGNORECASE)


def names_in(text: str) -> list[str]:
    """Return the names in *text*, each once, in order; no paths, for what is there is no name."""
    return list(dict.fromkeys(name for _, name in _find(text[:_LONGEST].split()) if not is_path(name)))[:_MOST]


def constructs_in(text: str, paths: Iterable[str]) -> list[str]:
    """Return the words of languages that *text*, which is written to the sources *paths*, has as code, each with the ending of a file: `switch .go`."""
    endings = dict.fromkeys(ending for path in paths if (ending := path.rpartition(".")[2]) in _SOURCES)
    words = dict.fromkeys(one[1] for one in _WRITTEN.finditer(text[:_LONGEST]) if one[1]) if endings else ()
    return [f"{word} .{ending}" for word in words for ending in endings]


def is_path(name: str) -> bool:
    """Tell whether *name* is that of a file or a folder, which is a name only where there is none."""
    return "/" in name or name[:1] == "." or name.rpartition(".")[2] in _ENDINGS


def _find(words: Sequence[str]) -> Iterator[tuple[int, str]]:
    for at, word in enumerate(words):
        bare = word.strip(",.;:()'\"`")
        if bare.isalpha() and (bare.islower() or bare[1:].islower() or bare.isupper()):
            continue  # most words, and the quickest look
        for match in _NAME.finditer(word):
            name = match[0].strip("-@").rstrip(".")
            if len(name) >= _LEAST and not name[0].isdigit() and name not in _BRANDS and _CODE.search(name):
                yield at, name


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
    said = (one[one.lastindex or 0] for one in _MENTION.finditer(head) if not _is_advised(head[: one.start()]))
    return list(found | dict.fromkeys(said))


def _is_advised(before: str) -> bool:
    """Tell whether what stands behind *before* is what a text advises to use: not where the clause began with a "never"."""
    last = max(_CLAUSE.finditer(before), key=lambda one: one.end(), default=None)
    is_denied = last is not None and last[0][0].isalpha()
    return not is_denied and _ADVICE.search(before, last.end() if last else 0) is not None


def keys_of(names: Iterable[str], known: Iterable[str] = ()) -> list[str]:
    """Return the keys of *names* in the lookup file: of a language's word in those languages of which something *known* names a file."""
    endings = {ending for key in known if (ending := key.rpartition(".")[2]) in _SOURCES}
    spelled = ([f"{name} .{one}" for one in endings] if name in _CONSTRUCTS.split("|") else [name] for name in names)
    return [MARK + one for some in spelled for one in some]
