"""What a text says is wrong: names, commands, options that a command does not have; and what it says that a failure says. English and German."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from memsync.memories import commands

_PROGRAMS: Final = (  # that are no ordinary words
    "npm|npx|pnpm|yarn|bunx?|pipx?|pipenv|conda|tox|nox|pytest|unittest|jest|vitest|mocha|eslint|prettier|flake8|pylint|mypy|pyright"
    "|ruff|gradle|mvn|docker|podman|kubectl|sudo|curl|wget|rg|grep"
)
# What is quoted; an option, a folder, a file, a word with `_`, `()` or a capital inside; a program.
_NAME: Final = re.compile(
    r"`([^`\n]{2,120})`|(?<![\w./:@\"'-])("
    r"--?[a-zA-Z][\w-]+|(?:[\w.@-]+/)+(?:[\w.@-]*\.[a-zA-Z]\w*)?|\.?\w[\w-]*(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,7}|\.[a-z][\w-]{2,}"
    r"|(?:[a-z][\w-]* ){1,4}[a-z][\w-]*(?= (?:has no|lacks|takes no|does(?: not|n't) (?:have|know|take|support|accept)|(?:hat|kennt|unterstützt) kein))"
    rf"|\w+_\w+|[a-z]\w*\.[A-Z]\w+|\w+(?:\.\w+)*\(\)|[a-z]+[A-Z]\w+|{_PROGRAMS})(?![\w/])"
)
_ABBREVIATED: Final = frozenset({"e.g", "i.e", "z.b", "d.h", "u.a", "s.o"})
# Options that hardly say which command they are of.
_COMMON: Final = frozenset(
    "--version --help --json --all --force --verbose --quiet -v -h -f -n -a -q --name --list".split()
)
_MOST: Final = 3  # names of a text, words of a name that is no command
_N: Final = "\0(\\d+)\0"
# What may stand between a negation and a name.
_SMALL: Final = (
    r"(?:(?:in|at|on|to|from|with|via|by|under|as|of|for|mit|über|unter|per|als|von|aus|nach|the|a|an|any|der|die|das|den|dem|des|eine?[nmr]?"
    r"|your|our|its|plain|bare|old|alte[nrs]?|directly|direkt|file|folder|flag|option|command|module|package|import|Datei|Ordner|Befehl|Paket"
    r"|Modul|Schalter) ){0,3}"
)
_VERB: Final = r"(?:(?:use|using|run|running|call|calling|import|importing|invoke|type|pass|add|set|install|try|reach for|rely on|depend on) )?"
_OR: Final = rf"(?:,? (?:or|nor|oder|noch) {_SMALL}{_N})?"
_GONE: Final = (
    r"(?:does not exist|doesn't exist|do not exist|don't exist|no longer exists?|(?:is|are) gone|is no more|never existed"
    r"|(?:is|are|was|were|has been|have been|got) (?:removed|deleted|renamed|replaced|dropped|deprecated|superseded|retired|moved)"
    r"|is (?:deprecated|obsolete|wrong|forbidden|banned|not (?:there|allowed|an? (?:option|flag|command)))|moved to|existier(?:t|en) nicht|gibt es nicht|gibt's nicht"
    r"|(?:wurden?|ist|sind) (?:entfernt|gelöscht|umbenannt|ersetzt|abgeschafft|veraltet|weg|falsch|verboten)|heißt (?:jetzt|nun)|is (?:now|now called) (?=\0))"
)
# Each behind words of which one is in whatever it matches; they take milliseconds to compile.
_WRONG: Final = (
    ("not", rf"(?<!why )(?<!if )(?<!whether )(?<!when )(?<!does )(?<!did )(?<!and )(?<!or )\bnot {_VERB}{_SMALL}{_N}{_OR}"),
    ("instead of|rather than|in place of|never|avoid|don't|cannot|can't", rf"\b(?:instead of|rather than|in place of|never|avoid|don't|cannot|can't) {_VERB}{_SMALL}{_N}{_OR}"),
    ("prefer", rf"\bprefer \0\d+\0 (?:over|to) {_SMALL}{_N}"),
    ("nicht|statt|anstelle|nie|kein", rf"\b(?:nicht|statt|anstatt|anstelle von|nie|niemals|keinesfalls|keine?[nrms]?) {_SMALL}{_N}{_OR}"),
    ("nicht|nie", rf"{_N} (?:\w+ )?(?:nicht|nie|niemals) (?:mehr )?(?:verwenden|benutzen|nutzen|aufrufen|ausführen|nehmen|importieren)"),
    ("", rf"{_N} (?:(?:file|folder|directory|module|package|command|flag) )?{_GONE}"),
    ("no |renamed|formerly|früher", rf"\b(?:there is no|there's no|there are no|no such|ha(?:s|ve) no|renamed from|formerly|früher) {_SMALL}{_N}{_OR}"),
)  # fmt: skip
_KEIN: Final = r"keine?[nrms]?"
# Which of the two names is the command.
_LACKS: Final = (
    ("no |lacks|kein", rf"{_N} (?:\w+ )?(?:ha(?:s|ve) no|lacks|takes no|(?:hat|kennt|unterstützt) {_KEIN}) {_SMALL}{_N}", 1),
    ("does", rf"{_N} (?:does not|doesn't) (?:have|know|take|support|accept|understand) {_SMALL}{_N}", 1),
    ("nicht", rf"{_N} (?:kennt|hat|unterstützt|versteht) {_SMALL}{_N} nicht", 1),
    ("not|n't|schalter|nicht", rf"{_N} (?:is not|isn't|ist kein Schalter|does not exist|doesn't exist|gibt es nicht)(?: (?:supported|known|an? option|an? flag))? (?:by|in|of|for|bei|von|in) {_N}", 2),
    ("there is no|es gibt", rf"(?:there is no|es gibt {_KEIN}) {_SMALL}{_N} (?:in|for|of|bei|für|in) {_N}", 2),
)  # fmt: skip
_FAILS: Final = (
    "with|complains|error|mit|fehler",
    (
        r"(?:\b(?:fail(?:s|ed)?|dies|breaks|exits|ends|panics|crashes|errors?)(?: out)? with|\bcomplains (?:about|of)|\berror(?: is| says| message)?"
        rf"|\b(?:fehl|ab|scheitert|bricht|schlägt) mit|\bFehler(?:meldung)?):? (?:the |an? |de[rmn] |das |einem )?(?:{_N}|(\([a-z][\w-]+\)|[A-Z]{{1,5}}\d{{3,5}}\b)|[\"“„]([^\"“”„\n]{{4,120}})[\"“”])"
    ),
)


class Wrong(NamedTuple):
    """What a text says is wrong: names, and commands; and what it says that failures say."""

    names: tuple[str, ...] = ()
    commands: tuple[commands.Words, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def triggers(self) -> tuple[str, ...]:
        """The triggers of a memory that says so."""
        return tuple(f"not: {name}" for name in self.names) + tuple(f"fails: {text}" for text in self.errors)


def find_wrong(
    text: str, is_command: Callable[[commands.Words], bool], is_there: Callable[[str], bool] = lambda _: False
) -> Wrong:
    """Return what *text* says is wrong, each once, in order.

    *is_command* tells whether words are a command that there is, *is_there* whether a path is: what is there is no wrong name.
    """
    said = _Said(text, is_command)
    if not said.names:
        return Wrong(errors=said.find_errors())
    lines = dict.fromkeys(said.find_lacking())
    wrong = said.find_denied()
    right = [name for at, name in enumerate(said.names) if at not in wrong]
    names: dict[str, None] = {}
    for name in (said.names[at] for at in wrong):
        owners = [one for one in right if " " in one and said.read(one)] if name.startswith("-") else []
        words = said.read(f"{owners[-1]} {name}" if owners else name)
        if len(words) > 1:
            lines[words] = None
        elif _can_be_met(name, is_command) and not is_there(name) and not any(name in one.split() for one in right):
            names[name] = None
    return Wrong(tuple(names)[:_MOST], tuple(lines)[:_MOST], said.find_errors())


class _Said:
    """A text whose names are numbers between marks, so that one pattern fits all names."""

    def __init__(self, text: str, is_command: Callable[[commands.Words], bool]) -> None:
        self.names: list[str] = []
        self._is_command = is_command
        self._marked = _NAME.sub(self._mark, " ".join(text.replace("\0", " ").split()))

    def _mark(self, match: re.Match[str]) -> str:
        if match[2] and match[2].casefold() in _ABBREVIATED:
            return match[0]
        self.names.append((match[1] or match[2]).strip().rstrip(".,:;"))
        return f"\0{len(self.names) - 1}\0"

    def read(self, line: str) -> commands.Words:
        """Return the words of *line*, without what only starts them, if they are a command."""
        words = next(map(commands.strip, commands.split(line)), ())
        return words if words and self._is_command(words) else ()

    def find_lacking(self) -> list[commands.Words]:
        """Return commands with what they do not have, and take that out of the text."""
        found = []
        for words_in, pattern, owner in _LACKS:
            for match in _find(words_in, pattern, self._marked):
                whose, what = self.names[int(match[owner])], self.names[int(match[3 - owner])]
                if words := self._read_longest(whose, what) if what.startswith("-") or " " in whose else ():
                    found.append(words)
                    self._marked = self._marked.replace(match[0], " ")
        return found

    def _read_longest(self, whose: str, what: str) -> commands.Words:
        """Return the longest end of *whose*, two words at least unless it is one, that is a command with *what*: "the `gh pr diff`" may be unquoted."""
        parts = whose.split()
        ends = (" ".join((*parts[at:], what)) for at in range(max(len(parts) - 1, 1)))
        return next(filter(None, map(self.read, ends)), ())

    def find_denied(self) -> list[int]:
        """Return which of the names are said to be wrong, in order."""
        found = (match for words_in, pattern in _WRONG for match in _find(words_in, pattern, self._marked))
        return sorted({int(one) for match in found for one in match.groups() if one})

    def find_errors(self) -> tuple[str, ...]:
        """Return what failures are said to say; the name of an error that any program may have is none of that."""
        found = (self.names[int(one[1])] if one[1] else one[2] or one[3] for one in _find(*_FAILS, self._marked))
        texts = dict.fromkeys(one.partition("...")[0] for one in found)
        return tuple(one for one in texts if len(one) > 3 and not hasattr(builtins, one))[:_MOST]


def _find(words: str, pattern: str, text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of *pattern* in *text*, if that has one of *words*."""
    lower = text.lower()
    return re.finditer(pattern, text, re.IGNORECASE) if any(one in lower for one in words.split("|")) else iter(())


def _can_be_met(name: str, is_command: Callable[[commands.Words], bool]) -> bool:
    """Tell whether *name* is met in calls as a name, and not as a word or a value that has other meanings, too."""
    if name.isalpha() and name[1:] == name[1:].lower():
        return re.fullmatch(_PROGRAMS, name) is not None or is_command((name,))
    return name not in _COMMON and any(map(str.isalpha, name)) and "://" not in name and len(name.split()) <= _MOST
