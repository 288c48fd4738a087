"""What a session teaches, without a model: the commands that worked, what failed before them, and what the user put right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from memsync.learn.rules import has, pattern
from memsync.learn.transcripts import Call, Said, Step

# Commands that only look around teach nothing: an agent would run them anyway.
_LOOKS: Final = frozenset(
    "ls cat head tail pwd echo cd wc which type file stat tree less more find grep rg fd ag sed awk sort uniq"
    " cut tr diff date whoami env printenv true sleep history man clear jq xxd nl".split()
)
_GIT_LOOKS: Final = frozenset("status log diff show branch blame remote rev-parse ls-files".split())
_MOST: Final = 40


class Worked(NamedTuple):
    """A command that did its work; `after_failing` are the ones for the same end that failed before it."""

    command: str
    line: int
    after_failing: tuple[str, ...] = ()


class Correction(NamedTuple):
    """What the user said against what the agent had just done or said."""

    text: str
    line: int


class Digest(NamedTuple):
    """The lessons of a session, each list in the order of the session."""

    goals: tuple[str, ...]
    worked: tuple[Worked, ...]
    failed: tuple[str, ...]
    files: tuple[str, ...]
    corrections: tuple[Correction, ...]

    def __bool__(self) -> bool:
        return bool(self.worked or self.corrections)


def digest(steps: Sequence[Step]) -> Digest:
    """Return what *steps* teach. Looking around is left out, and so is memsync itself."""
    calls = [step for step in steps if isinstance(step, Call)]
    corrections = _find_corrections(steps)
    commands = [
        call for call in calls if call.kind == "command" and not (is_look(call.command) or destroys(call.command))
    ]
    worked = _find_worked([call for call in commands if not is_disowned(call.command, corrections)])
    done = {one.command for one in worked} | {command for one in worked for command in one.after_failing}
    failed = dict.fromkeys(call.command for call in commands if call.failed and call.command not in done)
    files = dict.fromkeys(file for call in calls if call.kind == "edit" and not call.failed for file in call.files)
    prompts = [step for step in steps if isinstance(step, Said) and step.by == "user"]
    against = {correction.line for correction in corrections}
    return Digest(
        goals=tuple(prompt.text for prompt in prompts if prompt.line not in against)[:_MOST],
        worked=worked[-_MOST:],
        failed=tuple(failed)[-_MOST:],
        files=tuple(files)[:_MOST],
        corrections=corrections[-_MOST:],
    )


def is_disowned(command: str, corrections: Iterable[Correction]) -> bool:
    """Tell whether the user said not to do *command*: "don't use make test", "instead of make test"."""
    not_it = re.compile(
        rf"(?:\b(?:don'?t|do not|never|not|stop)\s+(?:\w+\s+)?|instead of\s+)[`\"']?{re.escape(command)}(?![\w-])",
        re.IGNORECASE,
    )
    return any(not_it.search(correction.text) for correction in corrections)


def destroys(command: str) -> bool:
    """Tell whether *command* deletes, overwrites or publishes what cannot be had back."""
    return has("destroys", command)


def is_look(command: str) -> bool:
    """Tell whether *command* only looks at things."""
    if has("changes", command):
        return False
    return all(_is_look(part) for part in pattern("split").split(command.strip()) if part)


def _is_look(part: str) -> bool:
    words = [word for word in part.split() if "=" not in word or word.startswith("-")]
    if not words:
        return True
    program = words[0].rpartition("/")[2]
    return program in _LOOKS or (program == "git" and next(iter(_drop_options(words[1:])), "") in _GIT_LOOKS)


def _drop_options(words: Iterable[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]


def _find_worked(commands: Sequence[Call]) -> tuple[Worked, ...]:
    """Return the commands that worked, each once where it first did, with the failures it made good."""
    found: dict[str, Worked] = {}
    open_failures: list[Call] = []
    for call in commands:
        if call.failed:
            open_failures.append(call)
        elif call.failed is False and call.command not in found:
            corrected = [
                old for old in open_failures if old.command != call.command and is_same_end(old.command, call.command)
            ]
            open_failures = [old for old in open_failures if old not in corrected]
            found[call.command] = Worked(
                call.command, call.line, tuple(dict.fromkeys(old.command for old in corrected))
            )
    return tuple(found.values())


def is_same_end(failed: str, worked: str) -> bool:
    """Tell whether two commands look like two tries at one thing: the same program, or the same purpose in their words."""
    one, other = _split_words(failed), _split_words(worked)
    if not one or not other:
        return False
    return next(iter(one)) == next(iter(other)) or bool(_find_purposes(one) & _find_purposes(other))


def _split_words(command: str) -> dict[str, None]:
    return dict.fromkeys(
        word for word in re.findall(r"[a-z]+", " ".join(_drop_options(command.lower().split()))) if len(word) > 1
    )


_PURPOSES: Final = {
    "test": "test tests pytest unittest jest vitest mocha rspec tox nox check spec",
    "lint": "lint ruff flake eslint pylint mypy pyright clippy fmt format prettier black",
    "build": "build make compile webpack vite tsc cmake ninja",
    "install": "install sync add bootstrap setup pip uv npm pnpm yarn poetry",
    "run": "run start serve dev up",
    "deploy": "deploy release publish rollout ship",
    "migrate": "migrate migration alembic upgrade",
}
_BY_WORD: Final = {word: name for name, words in _PURPOSES.items() for word in words.split()}


def _find_purposes(words: Iterable[str]) -> set[str]:
    return {_BY_WORD[word] for word in words if word in _BY_WORD}


def _find_corrections(steps: Sequence[Step]) -> tuple[Correction, ...]:
    found = []
    has_acted = False
    for step in steps:
        if isinstance(step, Said) and step.by == "user":
            if has_acted and has("corrects", step.text):
                found.append(Correction(step.text, step.line))
        else:
            has_acted = True
    return tuple(found)
