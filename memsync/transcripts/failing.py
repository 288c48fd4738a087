"""What identifies a failure in the words of the tool that failed: the rule of a linter, a flag, a name, a program, a module. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple


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
