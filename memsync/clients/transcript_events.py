"""What happened in a recorded session, whichever client wrote it: prompts, words, calls and their results, in order."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from memsync.records import parse_time
from memsync.system.limits import read_json

KEPT: Final = 8_000  # characters of one text; of a longer result the end, where programs say what went wrong
_EXIT: Final = re.compile(r"^(?:Process exited with code|Exit [Cc]ode:?) (-?\d+)\s*$", re.MULTILINE)
_DEEPEST: Final = 4  # levels of a call's input


@dataclass(frozen=True, slots=True)
class Event:
    """Something that stood in line `line`, at the time `when`; `thread` names the subagent it belongs to, "" is the session itself."""

    line: int
    when: dt.datetime | None = None
    thread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Event):
    """What the user typed, or what a subagent was asked. `is_command`: the client has written it anew, as a slash command."""

    text: str
    is_command: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Words(Event):
    """What the agent said."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Event):
    """A tool that the agent used, and what it was given."""

    id: str
    tool: str
    given: Mapping[str, Any]

    @property
    def command(self) -> str:
        """The command line that it runs, without the shell that Codex starts for it; "" if it runs none."""
        found = self.given.get("command") or self.given.get("cmd") or ""
        if isinstance(found, list):
            words = [str(word) for word in found]
            is_shell = (
                len(words) > 2 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh") and words[1] in ("-lc", "-c")
            )
            return words[2] if is_shell else " ".join(words)
        return str(found).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Event):
    """How the call `id` ended. `failed`: None where the client does not say.

    `refusal` is "" unless the user refused the call; then it holds their words, or "no" where they said none.
    """

    id: str
    text: str
    failed: bool | None
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss(Event):
    """The context was compacted or cleared here."""


@dataclass(slots=True)
class Session:
    """One recorded session. `odd` counts the lines that could not be read or were too long; `person` is an opaque mark of who ran it."""

    client: str
    id: str = ""
    cwd: str = ""
    events: list[Event] = field(default_factory=list)
    odd: int = 0
    person: str = ""

    @property
    def start(self) -> dt.datetime | None:
        """When its first event with a time was."""
        return next((event.when for event in self.events if event.when), None)


class Recorder:
    """Builds a session out of what a reader finds in its rows. An id that comes again, as in a resumed session, counts once."""

    def __init__(self, client: str, seen: set[str]) -> None:
        self.session = Session(client)
        self._seen = seen
        self._open: set[str] = set()
        self.line = 0
        self.when: dt.datetime | None = None
        self.thread = ""

    def move(self, line: int, when: object, thread: str = "") -> None:
        """Let what follows stand in *line*, at the time *when* (ISO 8601, or milliseconds since 1970), in *thread*."""
        self.line, self.thread = line, thread
        self.when = _read_time(when) or self.when

    def is_new(self, id_: object) -> bool:
        """Tell whether *id_* was not met before, here or in a session that was read before."""
        if not isinstance(id_, str) or not id_:
            return True
        new = id_ not in self._seen
        self._seen.add(id_)
        return new

    def prompt(self, text: str, *, is_command: bool = False) -> None:
        """Note what the user typed."""
        if text.strip():
            self._add(Prompt(self.line, self.when, self.thread, text=text[:KEPT], is_command=is_command))

    def words(self, text: str) -> None:
        """Note what the agent said."""
        if text.strip():
            self._add(Words(self.line, self.when, self.thread, text=text[:KEPT]))

    def call(self, id_: str, tool: str, given: object) -> None:
        """Note a call of *tool*."""
        kept = clip(given if isinstance(given, Mapping) else {"input": given})
        self._open.add(id_)
        self._add(Call(self.line, self.when, self.thread, id=id_, tool=tool[:200], given=kept))

    def result(self, id_: str, text: str, failed: bool | None, refusal: str = "") -> None:
        """Note how a call ended; one that nobody began, or that has ended already, is passed over."""
        if id_ in self._open:
            self._open.remove(id_)
            kept = text[-KEPT:]
            self._add(Result(self.line, self.when, self.thread, id=id_, text=kept, failed=failed, refusal=refusal))

    def loss(self) -> None:
        """Note that the context was compacted or cleared."""
        self._add(Loss(self.line, self.when, self.thread))

    def _add(self, event: Event) -> None:
        self.session.events.append(event)


def _read_time(when: object) -> dt.datetime | None:
    if isinstance(when, int | float) and not isinstance(when, bool):
        try:
            return dt.datetime.fromtimestamp(when / 1000, dt.UTC)
        except (OverflowError, ValueError, OSError):
            return None
    return parse_time(when)


def clip(value: Any, depth: int = 0) -> Any:
    """Return *value*, of a call's input, with long texts cut and what is nested too deep left out."""
    if isinstance(value, str):
        return value[:KEPT]
    if depth >= _DEEPEST:
        return None if isinstance(value, Mapping | list) else value
    if isinstance(value, Mapping):
        return {str(key): clip(one, depth + 1) for key, one in list(value.items())[:64]}
    if isinstance(value, list):
        return [clip(one, depth + 1) for one in value[:64]]
    return value


def list_blocks(content: Any) -> list[Mapping[str, Any]]:
    """Return the blocks of a message; a bare string is one block of text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def says_failure(text: str) -> bool | None:
    """Tell whether the output of a command says that it ended with another code than 0; None if it says no code."""
    return ended[1] != "0" if (ended := _EXIT.search(text)) else None


def join_text(content: Any) -> str:
    """Return the text of a message's blocks, one a line."""
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in list_blocks(content))


def read_object(value: Any) -> Any:
    """Return what *value* says if it is JSON text of an object, else *value*."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with suppress(ValueError):
            return read_json(value)
    return value


# what identifies a failure in the words of the tool that failed: the rule of a linter, a flag, a name, a program, a module. Pure.
class Rule(NamedTuple):
    """What of a tool's output identifies a failure: the first group that matched."""

    what: str
    kind: str
    pattern: re.Pattern[str]


def _rule(what: str, kind: str, pattern: str) -> Rule:
    return Rule(what, kind, re.compile(pattern, re.MULTILINE))


_NAME: Final = r"['\"`‘]?([\w@./:+-]+)"
LINTERS: Final = (  # golangci-lint, pylint, flake8, ruff, mypy, eslint, tsc, rustc
    _rule("rule", "rule", r"^\S+:\d+(?::\d+)?:? .*\(([a-z][\w-]+)\)\s*$"),
    _rule("rule", "rule", r"^\S+:\d+:\d+:? ([A-Z]{1,4}\d{3,4})\b"),
    _rule("rule", "rule", r"\berror: .*\[([a-z]+(?:-[a-z]+)+|[a-z]+)\]\s*$"),
    _rule("rule", "rule", r"^\s+\d+:\d+\s+(?:error|warning)\s+.*?\s{2,}([\w@/-]+)\s*$"),
    _rule("rule", "rule", r"\berror(?:\[| )(E\d{4}|TS\d{4,5})\b"),
)  # fmt: skip
RULES: Final = (
    *LINTERS,
    _rule("flag", "command", r"(?:[Uu]nknown|[Uu]nrecognized|[Ii]nvalid|illegal) (?:flag|option|argument)s?:? (?:-- )?['\"`]?(-{1,2}\w[\w-]*)"),
    _rule("flag", "command", r"unknown shorthand flag: '\w' in (-\w+)"),
    _rule("name", "wrong name", rf"(?:[Uu]nknown (?:sub)?command|[Mm]issing script|[Nn]o rule to make target|[Uu]nknown skill|no task):? {_NAME}"),
    _rule("name", "wrong name", r"Agent type '([\w:.-]+)' not found"),
    _rule("program", "environment", r"command not found: ([\w./-]+)|([\w./-]+): command not found"),
    _rule("module", "environment", rf"(?:No module named|Cannot find (?:module|package)|no required module provides package) {_NAME}"),
)  # fmt: skip
COMPILED: Final = frozenset({"typecheck"})  # what golangci-lint calls an error of the compiler
MISSING: Final = re.compile(
    r"(?:Path does not exist|[Nn]o such file or directory|cannot access|cannot open):? ['\"]?([^\s'\":<]+)"
    r"|ENOENT: [^'\n]*'([^']+)'"
    r"|^[\w./()-]+: ([^\s:]+): No such file or directory|cannot access '([^']+)'",
    re.MULTILINE,
)
IS_MISSING: Final = re.compile(r"does not exist|[Nn]o such file or directory|cannot access|file not found")


def find_named(text: str, rules: Iterable[Rule]) -> Iterator[tuple[Rule, str]]:
    """Yield what identifies the failures in *text*, rule by rule."""
    for rule in rules:
        for one in rule.pattern.finditer(text):
            named = next(filter(None, one.groups())).rstrip(".,:;'\"`")
            if named and named not in COMPILED:
                yield rule, named


def list_missing(text: str) -> list[str]:
    """Return the paths of which *text* says that they are not there."""
    return [next(filter(None, one.groups())) for one in MISSING.finditer(text)]


def is_about(text: str, words: Iterable[str]) -> bool:
    """Tell whether *text* has one of *words*, as words of their own."""
    return any(re.search(rf"(?<![\w-]){re.escape(word)}(?!\w)", text) for word in words)
