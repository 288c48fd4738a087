"""Versions and ports as the repository's own files have them, and what an instruction file says of them that these exclude."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from memsync.check.files import is_elsewhere
from memsync.store.tree import Tree

Bound = tuple[int, ...]
Span = tuple[Bound, Bound]  # from the first, to below the second

_NUMBER: Final = r"v?\d+(?:\.(?:\d+|[xX*]))*"
_SPEC: Final = rf"(?:[<>=~!^]{{1,2}}[ \t]{{0,3}})?{_NUMBER}(?:[ \t]{{0,3}}(?:,|\|\||-)?[ \t]{{0,3}}[<>=~!^]{{0,2}}[ \t]{{0,3}}{_NUMBER}){{0,6}}"
_TOOLS: Final = (
    r"python|node|go|golang|rust|ruby|java|php|deno|bun|pnpm|yarn|npm|dotnet|elixir|postgres|redis|mysql|mongo"
)
# Where versions stand: which files, what they are of ("" where the first group says it), and how that is written.
_SOURCES: Final = (
    (r"pyproject\.toml", "python", rf"^requires-python\s*=\s*[\"']({_SPEC})"),
    (r"pyproject\.toml", "python", r"Programming Language :: Python :: (3\.\d+)"),
    (r"pyproject\.toml|requirements[\w.-]*\.txt", "", rf"^[ \t]*[\"']?([A-Za-z][\w.-]*)(?:\[[^\]\n]*\])?[ \t]*(?:=[ \t]*[\"'])?({_SPEC})[\"',;\s]"),
    (r"\.python-version", "python", rf"^({_NUMBER})"),
    (r"\.nvmrc|\.node-version", "node", rf"^({_NUMBER})"),
    (r"\.tool-versions|\.?mise\.toml", "", rf"^[ \t]*[\"']?(?:core:|npm:)?([\w-]+)[\"']?(?:[ \t]*=[ \t]*|[ \t]+)[\"']?({_NUMBER})"),
    (r"package\.json", "", r"\"packageManager\":\s*\"(\w+)@(\d[\d.]*)"),
    (r"package\.json", "", rf"\"(?!version\"|types/)((?:@(?!types/)[\w-]+/)?[\w.-]+)\":\s*\"({_SPEC})\""),
    (r"pnpm-workspace\.yaml", "", rf"^[ \t]+[\"']?((?:@(?!types/)[\w-]+/)?[\w.-]+)[\"']?:\s*[\"']?({_SPEC})[\"']?[ \t]*$"),
    (r"(?:.*\.)?[Dd]ockerfile(?:\..*)?", "", rf"^FROM\s+(?:--\S+\s+)?(?:\S*/)?({_TOOLS}):({_NUMBER})"),
    (r"(?:docker-)?compose[^/]*\.ya?ml", "", rf"image:\s*[\"']?(?:[\w.-]+/)*([\w-]+):({_NUMBER})"),
    (r"go\.mod", "go", r"^go\s+(\d[\d.]*)"),
    (r"go\.mod", "", r"^[ \t]*(?:require[ \t]+)?\S+/([\w-]+?)(?:/v\d+)?\s+v(\d+\.\d+)"),
    (r"Cargo\.toml", "rust", rf"^rust-version\s*=\s*\"({_SPEC})"),
    (r"Cargo\.toml", "", rf"^([A-Za-z][\w-]*)\s*=\s*(?:\{{[^}}\n]*?version\s*=\s*)?\"({_SPEC})\""),
    (r"rust-toolchain(?:\.toml)?", "rust", r"^(?:channel\s*=\s*\"?)?(\d[\d.]*)"),
    (r"composer\.json", "", rf"\"(?:[\w-]+/)?([\w-]+)\":\s*\"({_SPEC})\""),
    (r"[^/]*\.ya?ml", "", r"uses:[ \t]*[\w.-]+/([\w.]+-[\w.-]+)@v(\d[\d.]*)"),
    (r"[^/]*\.ya?ml", "", r"\b([\w-]{1,40})-version:[ \t]*((?:\[[^\]]{0,500}\]|[^\n]*)(?:\n *- +[\"']?\d[\w.]*[\"']? *(?=\n|\Z))*)"),
)  # fmt: skip
_FILES: Final = re.compile("|".join(dict.fromkeys(files for files, *_ in _SOURCES[:-2])))
_ROWS: Final = tuple(
    (re.compile(rf"(?:^|.*/)(?:{files})$"), name, re.compile(pattern, re.MULTILINE))
    for files, name, pattern in _SOURCES
)
_OWN: Final = frozenset("version edition resolver revision release minversion requiredversion".split())
_OTHERS: Final = {"golang": "go", "postgresql": "postgres", "tailwindcss": "tailwind", "mongodb": "mongo", "py": "python"}  # fmt: skip
_SAID: Final = re.compile(
    r"(?<![\w./@#-])((?:[A-Z][\w.+-]{0,30} )?@?[A-Za-z][\w./-]{0,40})(?<![.])([*`_\s|:(@=]{1,8}(?:(?:>=|≥|=|\^|~|version)\s*`?)?)"
    r"(v?\d{1,2}(?:\.(?:\d{1,3}|x)){0,2})(`?\+| or (?:later|higher|newer|above|greater)\b)?(?:-(?:alpine|slim|bookworm|bullseye|jammy)[\w.-]*)?(?![\w%/-]|[.,]\d|\+)"
)
_COUNTED: Final = re.compile(  # what is behind a number that is no version
    r"[*`_)]*\s*(?:[a-z]+s\b(?<!\bthis)(?<!\bis)(?<!\bhas)(?<!\buses)|style|syntax|api\b|docs?\b|compat|migrat|to\b|or\b|→|->|%|:\d)", re.IGNORECASE
)  # fmt: skip
_BEFORE: Final = re.compile(
    r"(?i)\b(?:from|before|below|until|till|than|drop\w*|without|unlike|pre|since|not|no|never|as of)\W{0,3}$"
)
PORTS: Final = re.compile(
    r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d{4,5})(?!\d)|(?i:\bport)s?\W{1,4}(\d{4,5})(?![\d.])"
)
_LENGTH: Final = re.compile(r"(?i)(?<![\w.,-])(\d{1,3}(?:,\d{3})+|\d{2,6})(\+?)\s?(?:lines|LOC)\b")
_LIMIT: Final = re.compile(
    r"(?i)\b(?:max\w*|under|at most|limit\w*|less|keep|below|exceed\w*|over|more than|first|last|top|per|each|every|within|up to|split|if|when)\b|[<>≤≥]"
)
_SERVING: Final = re.compile(
    r"(?:^|.*/)(?:(?:docker-)?compose[^/]*\.ya?ml|(?:.*\.)?[Dd]ockerfile|\.env\.(?:example|sample|template|dist)|package\.json|Procfile|(?:vite|next|nuxt|astro|webpack)\.config\.\w+|Makefile|[jJ]ustfile)$"
)


class Fact(NamedTuple):
    """What a file says of something's version."""

    name: str
    spec: str
    file: str
    spelled: str  # the name, as the file has it


class Claim(NamedTuple):
    """A version that a line gives: what of (in the forms in which it may be listed), where it begins, and whether it is only the least."""

    names: Sequence[str]
    at: int
    said: str
    number: str
    is_least: bool
    row: str


def find_claims(row: str) -> Iterator[Claim]:
    """Yield the versions that *row* gives of something."""
    for match in _SAID.finditer(row):
        name, between, number, more = match.groups()
        last = name.rpartition(" ")[2]
        is_plain = number.isdigit() and not more and "`" not in between
        is_common = last.lower() not in _TOOLS.split("|") and (last.isupper() or (is_plain and last.islower()))
        if not (is_common or _BEFORE.search(row[: match.start()]) or (is_plain and _COUNTED.match(row, match.end()))):
            at = match.start() + len(name) - len(last)
            is_least = bool(more or re.search(r">=|≥", between) or re.search(r"(?i)\b(?:minimum|at least)\b", row))
            yield Claim((fold(name), fold(last)), at, row[at : match.end()], number, is_least, row)


def fold(name: str) -> str:
    """Return the *name* of a package or program as all its spellings have it."""
    scope, _, own = name.lower().lstrip("@").partition("/")
    plain = re.sub(r"[^a-z0-9]", "", scope if own in ("core", "cli", scope) else scope + own)
    plain = plain.removesuffix("js") if len(plain) > 3 else plain
    return _OTHERS.get(plain, plain)


def find_length(row: str) -> tuple[int, bool, str, int] | None:
    """Return how many lines *row* says that a file has, whether at least so many, in which words and where; None for a limit."""
    found = list(_LENGTH.finditer(row))
    if len(found) != 1 or _LIMIT.search(row):
        return None
    return int(found[0][1].replace(",", "")), bool(found[0][2]), found[0][0], found[0].start()


class Facts:
    """The versions and ports in the files of *tree* that are its own."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    @cached_property
    def versions(self) -> dict[str, list[Fact]]:
        """What the files say of each name."""
        found: dict[str, list[Fact]] = defaultdict(list)
        for path in sorted(self._tree.files, key=lambda path: path[0] == "."):  # what a package requires stands first
            is_source = _FILES.fullmatch(path.rpartition("/")[2]) or ".github/workflows/" in path
            if is_source and not is_elsewhere(path):
                for named, name, pattern in _ROWS:
                    if named.match(path):
                        for match in pattern.finditer(self._tree.text(path)):
                            spelled, spec = (name, match[1]) if name else (match[1], match[2])
                            if re.search(r"\d", spec) and (folded := fold(spelled)) not in _OWN:
                                found[folded].append(Fact(folded, spec, path, spelled))
        return dict(found)

    @cached_property
    def serving(self) -> list[str]:
        """The files that say on which port something is served."""
        return [path for path in self._tree.files if _SERVING.match(path)]

    def find_excluded(self, claim: Claim) -> tuple[list[Fact], str]:
        """Return the facts that exclude *claim*, and the number that they give instead ("" if that is not one); no facts if one admits it."""
        facts = next((self.versions[name] for name in claim.names if name in self.versions), [])
        facts = [fact for fact in facts if fact.file.rpartition("/")[2] in claim.row] or facts
        said = _read(claim.number)
        spans = [(fact, list(_list_spans(fact))) for fact in facts]
        if not said or not facts or not all(each for _, each in spans):
            return [], ""
        upper = (10**6,) if claim.is_least else _bump(said)
        if any(low < upper and said < high for _, each in spans for low, high in each):
            least = [
                low for fact, each in spans for low, high in each if high[0] >= 10**6 or fact.file.endswith("go.mod")
            ]
            if not (claim.is_least and least and all(low[: len(said)] > said for low in least)):
                return [], ""
        lows = {low[: len(said)] for _, each in spans for low, _ in each if len(low) >= len(said)}
        return facts, ".".join(map(str, min(lows))) if len(lows) == 1 or (lows and claim.is_least) else ""


def _read(number: str) -> Bound:
    return tuple(int(part) for part in re.findall(r"\d+", number)[:3])


def _bump(bound: Bound) -> Bound:
    return (*bound[:-1], bound[-1] + 1)


def _list_spans(fact: Fact) -> Iterator[Span]:
    """Yield the spans of versions that *fact* admits."""
    is_list = "[" in fact.spec or "\n" in fact.spec
    parts = re.findall(r"[\d.]+", fact.spec) if is_list else fact.spec.split("||")
    yield from filter(None, (_read_span(part, fact) for part in parts))


def _read_span(part: str, fact: Fact) -> Span | None:
    """Return the span that the marks and numbers of *part* leave together; None without any."""
    low: Bound = (0,)
    high: Bound = (10**6,)
    marks = re.findall(rf"([<>=~!^]*)\s*({_NUMBER})", part)
    if " - " in part and len(marks) == 2:
        return _read(marks[0][1]), _bump(_read(marks[1][1]))
    is_cargo = fact.file.endswith("Cargo.toml")
    if fact.name in ("go", "rust") and (is_cargo or fact.file.endswith("go.mod")):
        return _read(fact.spec), high
    for mark, number in marks:
        bound = _read(number)
        if mark != "!=" and bound:
            one = _LIMITS.get(mark[:1] if mark != "~=" else mark, _LIMITS["^" if is_cargo else "="])(bound, mark)
            low, high = max(low, one[0]), min(high, one[1])
    return (low, high) if marks else None


_LIMITS: Final[Mapping[str, Callable[[Bound, str], Span]]] = {
    "^": lambda it, _: (it, _bump(it[: next((place for place, part in enumerate(it) if part), len(it)) + 1])),
    "~": lambda it, _: (it, _bump(it[:2])),
    "~=": lambda it, _: (it, _bump(it[: max(len(it) - 1, 1)])),
    ">": lambda it, _: (it, (10**6,)),
    "<": lambda it, mark: ((0,), it if mark == "<" else _bump(it)),
    "=": lambda it, _: (it, _bump(it)),
}
