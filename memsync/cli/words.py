"""The words that fingers type: other names of commands, what was meant by one that is none, and texts that look like options."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

from memsync.errors import closest

# The commands on memories that are used every day, shown first; each command of `memsync memory` works without that word too.
EVERY_DAY: Final = "remember recall list search show edit rm log undo tags config import export"

# Another name of a command of `memsync memory` -> that command, from the top.
ALIASES: Final[Mapping[str, str]] = {
    "add": "memory remember",
    "config": "config",
    "delete": "memory forget",
    "find": "memory recall",
    "get": "memory show",
    "ls": "memory list",
    "rm": "memory forget",
    "sync": "sync",
}

# What people type and mean, where a name alone would do the wrong thing or nothing is near.
MEANT: Final[Mapping[str, str]] = {
    word: meant
    for meant, words in {
        "remember": "save store note create new write put",
        "recall": "query ask lookup what which how",
        "search": "grep",
        "show": "cat view info inspect read",
        "edit": "open modify change",
        "rm": "remove del erase drop",
        "undo": "revert rollback back",
        "log": "changes recent activity",
        "tags": "tag label labels",
        "config": "settings set preferences options",
        "import": "load",
        "export": "dump backup save-as",
        "share": "publish public",
        "unshare": "hide private",
        "init": "install setup connect",
        "uninstall": "disconnect leave",
        "uninstall --purge": "purge",
        "doctor": "health verify",
        "doctor --fix": "fix repair",
        "ui": "web desk browse",
        "janitor run": "clean cleanup tidy dedupe gc",
        "review": "inbox pending todo",
        "sync --push": "push",
        "sync": "pull",
        "inject --explain": "explain why",
        "blame": "who",
    }.items()
    for word in words.split()
}
_DESTROYS: Final = frozenset({"forget", "rm", "delete", "reject", "uninstall", "unshare"})
_LIKE, _SURE = 70.0, 85.0  # percent of letters in common with a command; with one that takes something away
_MARK: Final = "\0"  # before a text that begins with a dash: no word of a command line can hold it


def suggest(word: str, known: Iterable[str]) -> str | None:
    """Return the command that *word*, which is none, was probably meant for; never one that takes something away, unless by a slip."""
    known = set(known)
    meant = MEANT.get(word.casefold())
    if meant and meant.partition(" ")[0] in known:
        return meant
    return closest(word, known & _DESTROYS, least=_SURE) or closest(word, known - _DESTROYS, least=_LIKE)


class TextCommand(click.Command):
    """A command about a text: words without quotes are joined, and what begins with a dash and has a blank is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read *args*; says of an unknown option that it may belong to the text."""
        options = tuple(f"{name}=" for param in self.params for name in param.opts if name.startswith("--"))
        marked = [_MARK + arg if _is_text(arg) and not arg.startswith(options) else arg for arg in args]
        try:
            rest = super().parse_args(ctx, marked)
        except click.NoSuchOption as error:
            why = f"{error.format_message()} Put the text into quotes if this is part of it."
            raise click.UsageError(why, ctx) from None
        ctx.params = {name: _unmark(value) for name, value in ctx.params.items()}
        return rest


def _is_text(arg: str) -> bool:
    return arg.startswith("-") and len(arg.split(maxsplit=1)) > 1


def _unmark(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_unmark, value))
    return value.removeprefix(_MARK) if isinstance(value, str) else value


def is_dialogue() -> bool:
    """Return whether a person sits at both ends."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()
