"""Every error that memsync raises on purpose, with its exit code and what to do next.

MemsyncError (1)
├── UsageError (2)            an argument that cannot be used
├── MemoryNotFound            no memory has that id
├── AmbiguousId               a prefix fits several ids
├── Changed                   what is to be written over is not what was read
├── InvalidMemory             a record that may not be written
│   └── SecretFound           a text that looks like it holds a secret
├── SkillNotFound             no skill has that id or name
├── AmbiguousSkill            a prefix fits several skills
├── InvalidSkill              a skill that may not be written, or not be changed
├── ConfigError               a setting that cannot be read
├── ImportFailed              a file that cannot be imported
├── SettingsRefused           a client's settings that cannot be edited without harm
├── PlanUnreadable            a janitor's plan with an invalid line
├── GitFailed                 git could not answer
├── NoHistory                 git cannot tell how something was
├── NotShared                 a memory that stays where it is
├── LlmError                  a language model could not help; callers go on without it
│   ├── LlmNotConfigured      none is named, or its SDK, key or model is missing
│   ├── LlmUnavailable        not to be reached, too slow or too busy
│   ├── LlmRefused            it declines
│   ├── LlmBadAnswer          not what was asked for
│   └── BudgetSpent           the budget does not cover it; it was not asked
├── NotInstalled              a package is missing
├── NotIndexed                the index of a large store is made by another process first
├── HubError                  the hub is not there, cannot be reached, or refuses
│   └── PushRefused           what would overwrite what the hub has better
├── GitRefused                git did not do what it was asked
└── StoreError                a file or directory of a store
    ├── NoStore               there is no place for that scope
    ├── StoreNotWritable      permission or a read-only disk
    ├── StoreFull             no space left
    ├── StoreUnreadable       not a file of text lines
    ├── OutsideTree           a symbolic link that leaves the repository
    ├── LockTimeout           another process held the lock
    └── ExportRefused         the canonical form would lose something
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_LIKE: Final = 60.0  # percent of letters in common from which a word may have been meant

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Remedy:
    """What helps: a command of ours with its words, or an option of the call that failed, such as `--force`.

    Each face spells it its own way; as text it is what a person types.
    """

    def __init__(self, command: str, *arguments: str) -> None:
        self.words = (*command.split(), *arguments)

    @property
    def is_option(self) -> bool:
        """Whether the same call with this option does it."""
        return self.words[0].startswith("--")

    def __str__(self) -> str:
        if self.is_option:
            return " ".join(self.words)
        from shlex import join

        is_short = self.words[0] == "memory" and self.words[1:2] != ("init",)  # which the top has too
        return f"`memsync {join(self.words[is_short:])}`"


Part = str | Remedy


class MemsyncError(Exception):
    """An expected failure; its message says what happened and what to do next, in texts and remedies."""

    exit_code = 1
    status = ""  # what became of the request, where a caller may want to tell

    def __init__(self, *parts: Part) -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts

    def explain(self, spell: Callable[[Remedy], str]) -> str:
        """Return the message with each remedy as *spell* has it."""
        return "".join(spell(part) if isinstance(part, Remedy) else part for part in self.parts)


class UsageError(MemsyncError):
    """An argument has a value that cannot be used."""

    exit_code = 2


def closest(said: str, known: Iterable[str], *, least: float = _LIKE) -> str | None:
    """Return the one of *known* that *said* was probably meant to be; None if none shares *least* percent of its letters."""
    from rapidfuzz import fuzz, process  # 15 ms to import, and only mistakes pay for them

    found = process.extractOne(said, list(known), scorer=fuzz.ratio, processor=str.casefold, score_cutoff=least)
    return found and found[0]


def suggest(near: str | None, *otherwise: Part) -> tuple[Part, ...]:
    """Return what to ask of somebody who was probably looking for *near*, else *otherwise*."""
    return (f"did you mean {near}?",) if near else otherwise


class MemoryNotFound(MemsyncError):
    """No memory has the given id or prefix; *near* is one that may have been meant."""

    def __init__(self, ref: str, where: str = "", *advice: Part, near: str | None = None) -> None:
        advice = advice or suggest(near, Remedy("memory list"), " shows the ids")
        super().__init__(f"no memory {ref!r}{where}; ", *advice)
        self.ref = ref


class AmbiguousId(MemsyncError):
    """A prefix fits more than one memory."""

    def __init__(self, ref: str, ids: Sequence[str]) -> None:
        shown = ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
        super().__init__(f"{ref!r} fits {len(ids)} memories ({shown}); give more of the id")
        self.ref, self.ids = ref, tuple(ids)


class Changed(MemsyncError):
    """Something was changed since the caller read it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} was changed since you read it; nothing was written. Read it again")


class InvalidMemory(MemsyncError):
    """A memory has a field that may not be written."""


class SecretFound(InvalidMemory):
    """A text that would be shared looks like it holds a secret; *what* says so without showing it."""

    status = "blocked"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"blocked, nothing was written: this looks like a secret ({what}); take it out, keep it out of the work tree "
            "with ", Remedy("--private"), ", or say with ", Remedy("--allow-secret"), " that it is not one",
        )  # fmt: skip
        self.what = what


class SkillNotFound(MemsyncError):
    """No skill has the given name or id; *near* is one that may have been meant."""

    def __init__(self, ref: str, where: str = "", *, near: str | None = None) -> None:
        super().__init__(f"no skill {ref!r}{where}; ", *suggest(near, Remedy("skill list"), " shows them"))
        self.ref = ref


class AmbiguousSkill(MemsyncError):
    """A prefix fits more than one skill."""

    def __init__(self, ref: str, ids: Sequence[str]) -> None:
        super().__init__(f"{ref!r} fits {len(ids)} skills ({', '.join(ids[:5])}); give more of the id")
        self.ref, self.ids = ref, tuple(ids)


class InvalidSkill(MemsyncError):
    """A skill has a field that may not be written, or a file that cannot be changed."""


class ConfigError(MemsyncError):
    """A settings file or value cannot be read."""


class ImportFailed(MemsyncError):
    """A file cannot be imported at all."""


class SettingsRefused(MemsyncError):
    """A client's settings file cannot be edited without destroying something; nothing was changed."""

    def __init__(self, path: Path, line: int | None, why: str, remedy: str) -> None:
        where = f"{path}:{line}" if line else str(path)
        super().__init__(f"{where}: {why}; {remedy}, then run this again (nothing was changed)")
        self.path = path


class PlanUnreadable(MemsyncError):
    """A line of a janitor's plan cannot be read; nothing of the plan was done."""


class GitFailed(MemsyncError):
    """Git was asked something that decides what may be written, and did not answer."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"git could not tell whether it tracks {path}; run `git status` there and follow its advice")


class LlmError(MemsyncError):
    """A language model was of no use; the message never has its key."""


class LlmNotConfigured(LlmError):
    """No model is named, or its SDK, its key or the model itself is missing."""


class LlmUnavailable(LlmError):
    """The model cannot be reached, is too slow or too busy."""


class LlmRefused(LlmError):
    """The model or its server declines to answer."""


class LlmBadAnswer(LlmError):
    """The model answered something else than was asked."""


class BudgetSpent(LlmError):
    """The tokens of the run or of the day are used up; the model was not asked."""


class NotInstalled(MemsyncError):
    """*what* needs *package*, which comes with memsync, or with its *extra*."""

    def __init__(self, what: str, package: str, extra: str = "") -> None:
        from memsync import origin

        mended = "brings it" if extra else "installs memsync again"
        super().__init__(f"{what} needs the package {package}, which is not there; {origin.advice(extra)} {mended}")


class NotIndexed(MemsyncError):
    """The index of a large store has to be made first, by a process of its own: it takes a gigabyte for a while."""

    def __init__(self) -> None:
        super().__init__(
            "the index is still being made; ask again soon, or see to it: ", Remedy("index rebuild --missing")
        )


class HubError(MemsyncError):
    """The hub is not there, cannot be reached, or does not let the caller do this."""


class PushRefused(HubError):
    """The caller may not push there, or what is pushed is older, empty, or of a repository that the hub fetches itself."""


class GitRefused(MemsyncError):
    """Git did not do what it was asked; what it said is in the message."""

    def __init__(self, what: str, said: str, remedy: str = "") -> None:
        lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("hint:")]
        reason = "; ".join(lines[-3:]) or "it printed no reason"
        super().__init__(f"git {what} failed: {reason}{f'; {remedy}' if remedy else ''}")


class NoHistory(MemsyncError):
    """Git keeps nothing about what was asked."""


class NotShared(MemsyncError):
    """A memory stays where it is, because moving it would show or lose something."""


class StoreError(MemsyncError):
    """A file of a store cannot be used; `path` is the file."""

    def __init__(self, path: Path, why: str, *remedy: Part) -> None:
        super().__init__(f"{path}: {why}; ", *remedy)
        self.path = path


class NoStore(MemsyncError):
    """There is no place where memories of that scope could live."""


class StoreNotWritable(StoreError):
    """The file or its directory may not be written; nothing was changed."""


class StoreFull(StoreError):
    """There was no room for the write; nothing was changed."""


class StoreUnreadable(StoreError):
    """The path is not a readable file of UTF-8 lines."""


class OutsideTree(StoreError):
    """A symbolic link leads out of the repository."""


class LockTimeout(StoreError):
    """Another process held the store's lock for the whole wait."""


class ExportRefused(StoreError):
    """Writing the canonical form would lose a record or a side of a conflict."""


def write_failed(path: Path, error: OSError) -> StoreError:
    """Turn the OSError of a failed write on *path* into the error to raise."""
    why = f"{error.strerror}, nothing was changed" if error.errno else str(error)  # without: of several files
    if error.errno in _FULL:
        return StoreFull(path, why, "free some space and try again")
    return StoreNotWritable(path, why, "check the owner, the mode and the mount, then try again")


@contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Turn an OSError of the block, which writes *path*, into the error that says what to do about it."""
    try:
        yield
    except OSError as error:
        raise write_failed(path, error) from error
