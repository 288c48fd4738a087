"""Names, options, variables and ports that instruction files say the code has, and it does not."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from memsync.check import commands
from memsync.check.facts import PORTS, Facts
from memsync.check.files import Ground, is_elsewhere, is_task
from memsync.check.past import Past
from memsync.check.report import Finding
from memsync.check.statements import MEMBER, Statement, cut_place

_CODE: Final = re.compile(
    r"\.(?:pyi?|[cm]?[jt]sx?|go|rs|rb|java|kts?|scala|swift|mm?|c|h|cc|cpp|hpp|cs|php|exs?|[eh]rl|clj|dart|hs|jl|lua|nix|zig|sh|sql|graphql|proto|vue|svelte)$"
)
_VARIABLE: Final = re.compile(r"[A-Z][A-Z\d]*(?:_[A-Z\d]+)+")
_KINDS: Final = rb"class|enum|struct|interface|object|trait|protocol|record|type"
_DEFINED: Final = rb"\b(?:%s)\s+(?:\([^)\n]*\)\s*)?%s\b"
_LISTED: Final = re.compile(r"(?:`\w+`(?:\s*[,/|]\s*(?:and |or )?| and | or )){2,40}`\w+`")
_SHORT: Final = 4  # letters of a name that may be any word
_NAMED: Final = 3  # files of a line in whose history a name is looked for
_MOST: Final = 5_000  # files of a repository whose code is read twice
_COMMON_FLAGS: Final = frozenset("help version verbose quiet debug json yes force color no-color output config".split())


class _Own(NamedTuple):
    """A name that this code should have: how many of the others must be its own too."""

    one: Statement
    word: str
    others: frozenset[str]
    least: int


class Words:
    """Asks the files of *ground*, and *past* for what they lost, about the words of statements."""

    def __init__(self, ground: Ground, past: Past, facts: Facts, known: commands.Commands) -> None:
        self._ground = ground
        self._past = past
        self._facts = facts
        self._commands = known

    def _list_words(self, statements: Sequence[Statement]) -> Iterator[tuple[str, Statement, str, list[str]]]:
        """Yield the names that are not in the files of code that their lines name, and others that code must spell, as they are said."""
        beside: dict[tuple[str, int], list[str]] = defaultdict(list)
        named = {(one.file, one.line) for one in statements if one.kind == "name"}
        for one in statements:
            is_near = one.kind in ("path", "link") and (one.file, one.line) in named
            if is_near and _CODE.search(cut_place(one.said)):
                beside[one.file, one.line] += find_files(self._ground, one)
        for one in statements:
            is_asked = one.kind in ("name", "command") or (one.kind == "row" and PORTS.search(one.row))
            if is_asked and one.is_meant:
                files = beside[one.file, one.line][:_NAMED]
                yield from self._list_lost(one, files) if files and one.kind == "name" else self._list_spelled(one)

    def _list_lost(self, one: Statement, files: list[str]) -> Iterator[tuple[str, Statement, str, list[str]]]:
        word = re.split(r"\.|::|#", one.said.removesuffix("()"))[-1]
        read = [self._ground.tree.read(file) for file in files]  # nothing where it is too large
        if len(word) > _SHORT and all(read) and not any(word.encode() in data for data in read):
            yield word, one, one.said, files

    def _list_spelled(self, one: Statement) -> Iterator[tuple[str, Statement, str, list[str]]]:
        """Yield the variable, the ports or the options of our own programs that are in *one*."""
        words = one.said.split()
        if one.kind == "name" and _VARIABLE.fullmatch(one.said):
            yield one.said, one, one.said, self._facts.serving
        elif one.kind == "row":
            ports = (match[1] or match[2] for match in PORTS.finditer(one.row))
            yield from ((port, one, port, self._facts.serving) for port in ports)
        elif one.kind == "command" and words and words[0] in self._commands.programs:
            yield from ((flag, one, f"--{flag}", []) for flag in commands.find_flags(words))

    def check(self, statements: Sequence[Statement]) -> Iterator[Finding]:
        """Look whether names and options stand in the code; a name is surely wrong where the file that the line names had it once."""
        asked = list(self._list_words(statements))
        serving = self._facts.serving
        lost = self._past.find_losses({word for word, *_, files in asked if files is serving}, serving)
        asked = [one for one in asked if one[3] is not serving or one[0] in lost]
        spelled = {word: _spell_word(word) for word, *_ in asked}
        forms = {form for each in spelled.values() for form in each}
        here = self._ground.find_words(forms)
        for word, one, said, files in asked:
            if here.intersection(spelled[word]) or word in _COMMON_FLAGS:
                continue
            at = one.row.find(said, one.at)
            if since := lost.get(word) or self._past.find_loss(re.escape(word), files):
                what = f"{files[0]} no longer has it" if len(files) == 1 else "no file has it any more"
                sure = not one.is_open
                yield Finding(one.file, one.line, said, what, since=since, sure=sure, at=at)
            elif one.kind == "command":
                yield Finding(one.file, one.line, said, "no file of code has this option", at=at)
        yield from self._find_undefined(_list_own(statements))

    def _find_undefined(self, asked: Iterable[_Own]) -> Iterator[Finding]:
        """Yield those of the names *asked* that no code has, while a file of code defines their class or their others."""
        owns = list(asked) if len(self._ground.names) < _MOST else []
        here = self._ground.find_words({own.word for own in owns}, is_whole=True)
        left = dict.fromkeys(own for own in owns if own.word not in here)
        for path, data in self._ground.read_code() if left else ():
            for own in [own for own in left if _CODE.search(path)]:
                named = [name for name in map(str.encode, own.others) if name in data]
                kinds = _KINDS if own.least == 1 else _KINDS + rb"|def|func|fn|function|const|let|var|val|static"
                if sum(bool(re.search(_DEFINED % (kinds, name), data)) for name in named) >= own.least:
                    del left[own]
                    what = f"no file of code has {own.word}, though {path} has {' or '.join(sorted(own.others)[:2])}"
                    yield Finding(own.one.file, own.one.line, own.one.said, what, at=own.one.at)

    def is_made(self, folder: str) -> bool:
        """Tell whether code makes a path of *folder*, at the top, which is then there when it runs, and was in git by mistake."""
        if "/" in folder or "." in folder:
            return False
        name = re.escape(folder).encode()
        used = re.compile(rb"(?i)(?:join|path|dir|open)\w*\W{0,2}\([^\n]{0,20}['\"]%s['\"/]" % name)
        named = (path for path in self._ground.tree.files if _CODE.search(path) and not is_elsewhere(path))
        word = folder.encode().lower()  # asked first: the pattern takes ten times as long
        return any(word in data.lower() and used.search(data) for data in map(self._ground.tree.read, named))


def _list_own(statements: Sequence[Statement]) -> Iterator[_Own]:
    """Yield the names that are said to be of a class, or are listed among others."""
    for one in statements:
        if one.kind != "name" or not is_plain(one):
            continue
        if member := MEMBER.fullmatch(one.said):
            yield _Own(one, member[2], frozenset((member[1],)), 1)
        elif listed := next((each for each in _LISTED.finditer(one.row) if each.start() < one.at < each.end()), None):
            yield _Own(one, one.said, frozenset(re.findall(r"`(\w+)`", listed[0])) - {one.said}, 2)


def is_plain(one: Statement) -> bool:
    """Tell whether *one* says how the code is, without an if or a for example."""
    return not (is_task(one.file) or one.is_open or one.is_loose) and one.is_meant


def find_files(ground: Ground, one: Statement) -> list[str]:
    """Return the files of *ground* that a path or link names: under its whole path, or the only one under the end of it."""
    path = cut_place(one.said.partition("#")[0])
    found = [place for place in one.list_places(path) if place in ground.names]
    ends = ground.ends(path.strip("/").removeprefix("./"))
    return found or [end for end in ends if end in ground.names and len(ends) == 1]


def _spell_word(word: str) -> frozenset[str]:
    """Return how *word*, a name or an option, may be spelled in code."""
    snake = word.replace("-", "_")
    camel = re.sub(r"_([a-z])", lambda match: match[1].upper(), snake)
    return frozenset((word, snake, camel, camel[:1].upper() + camel[1:]) if "-" in word else (word,))
