"""What a repository may say: its data flows, its instructions wait. The whole model is here; docs/security.md has the table.

A clone, a branch, a pull request: whoever wrote them must not choose where memories go, what
runs, or what is written down. So of the settings in a repository's file only those of RULES count,
with the values that their rule takes; what acts is in force once the user has approved that very
content, which is noted by its hash in the home store, where the user's word on what is not a secret is too. A new setting is personal unless RULES has it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from memsync.store import files
from memsync.store.identity import APPROVALS
from memsync.store.places import Layout
from memsync.store.settings import BUILT_IN
from memsync.system.limits import read_json

if TYPE_CHECKING:
    from memsync.safety.secrets import Allow, Secret

Verdict = Literal["taken", "waits", "refused"]

_MOST_NAMES: Final = 256  # files and settings of one project; the oldest are forgotten
_MOST_EACH: Final = 16  # approved contents of one of them: branches differ, and one goes back and forth
_MOST_BYTES: Final = 1 << 20
_HASH: Final = re.compile(r"[0-9a-f]{64}")
Word = Literal["approved", "refused"]  # what the user says of a content
_WORDS: Final[tuple[Word, ...]] = ("approved", "refused")
_Noted = dict[Word, dict[str, list[str]]]
_ASKING: Final = frozenset({"memory_inject", "inject_memories", "memory_recall_relevant"})
_ALLOWED: Final = "allowed-secrets"  # fingerprints, in the home store, where no repository writes
_FINGERPRINT: Final = re.compile(rb"^[0-9a-f]{12}$", re.MULTILINE)


class Rule(NamedTuple):
    """What a repository may say about one setting: in words, and as a verdict on a value and the user's own."""

    says: str
    judge: Callable[[Any, Any], Verdict]
    acts: bool = False


def _if(allowed: bool) -> Verdict:
    return "taken" if allowed else "refused"


def _anything() -> Rule:
    return Rule("anything", lambda _value, _own: "taken")


def _only(*values: object) -> Rule:
    said = (str(value).lower() if isinstance(value, bool) else str(value) for value in values)
    return Rule(f"only {' or '.join(said)}", lambda value, _: _if(value in values))


def _lower() -> Rule:
    return Rule("only less than you do", lambda value, own: _if(value < own))


def _higher() -> Rule:
    return Rule("only more than you do", lambda value, own: _if(value > own))


def _up_to(most: float) -> Rule:
    return Rule(f"up to {most:g}", lambda value, _: _if(value <= most))


def _at_once(values: Collection[object], waiting: str) -> Rule:
    says = f"{', '.join(map(str, values))}; {waiting} waits" if values else f"{waiting} waits"
    return Rule(says, lambda value, _: "taken" if not value or value in values else "waits", acts=True)


RULES: Final[Mapping[str, Rule]] = {
    "memory.recall_limit": _up_to(100),
    "memory.recall_threshold": _higher(),
    "memory.embedder": _only(*BUILT_IN),
    "memory.enabled": _only(False),
    "memory.headlines": _only(False),
    "memory.injection_limit": _lower(),
    "memory.injection_budget": _lower(),
    "memory.importance_threshold": _higher(),
    "memory.auto_extract": _only(False),
    "memory.stop_words": _anything(),
    "memory.decay_enabled": _anything(),
    "memory.decay_rate": _anything(),
    "memory.decay_floor": _anything(),
    "memory.secrets.allow": _at_once((), "every entry"),
    "memory_sync.stealth": _only(True),
    "memory_sync.mode": _at_once(("worktree", "on-commit"), "auto-commit"),
    "memory_sync.test_on_commit": _at_once((), "true"),
    "memory_sync.enabled": _only(False),
    "memory_sync.export_debounce": _up_to(3600),
    "janitor.dedup.auto_reject_threshold": _higher(),
    "janitor.dedup.gray_zone_low": _higher(),
    "janitor.dedup.llm_verify_enabled": _only(False),
    "janitor.dedup.strict": _anything(),
    "janitor.archive_after": _anything(),
    "janitor.automatic": _only("off"),
    "skills.enabled": _only(False),
}
# What any file switches on stays on, whatever a later one says.
STICKY: Final = frozenset({"memory_sync.stealth"})


def judge(key: str, value: object, own: object) -> Verdict | None:
    """Return whether a repository may set *key* to *value*, where the user's own settings say *own*; None: it says the same."""
    rule = RULES.get(key)
    if value == own:
        return None
    return rule.judge(value, own) if rule else "refused"


def acts(key: str, value: object) -> bool:
    """Tell whether *key* with *value* is an instruction, which waits in a repository."""
    rule = RULES.get(key)
    return rule is not None and rule.acts and rule.judge(value, None) == "waits"


def is_harmless(key: str, value: object) -> bool:
    """Tell whether a page or an agent may set *key* to *value*: neither is a person who lets a program run or a text leave."""
    return key in RULES and key != "memory_sync.stealth" and not acts(key, value) and not what_leaves(key, value)


def explain(key: str) -> str:
    """Return what a repository may say about *key*, as the end of a sentence about a value that was refused."""
    rule = RULES.get(key)
    if rule is None:
        return "is not taken from a repository; set it with --global"
    return f"is not taken from a repository, which may set {rule.says}; set it with --global"


class Instruction(NamedTuple):
    """Something of a repository that acts: a workflow file, or one setting. `name` is the same in every clone."""

    name: str
    path: Path
    content: bytes

    @property
    def digest(self) -> str:
        """The SHA-256 of the content."""
        from memsync.system.digests import sha256

        return sha256(self.content).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Return the name, the path, the content as text and its hash."""
        text = self.content.decode("utf-8", "backslashreplace")
        return {"name": self.name, "path": str(self.path), "content": text, "sha256": self.digest}


def of_file(layout: Layout, path: Path, content: bytes) -> Instruction:
    """Return the instruction that the file *path* of the project is."""
    return Instruction(_name(layout, path), path, content)


def of_setting(layout: Layout, path: Path, key: str, value: object) -> Instruction:
    """Return the instruction that *key* is with *value* in the settings file *path*, however it is spelled there."""
    return Instruction(name_of_setting(layout, path, key), path, f"{key}: {json.dumps(value)}\n".encode())


def name_of_setting(layout: Layout, path: Path, key: str) -> str:
    """Return the name under which *key* in the settings file *path* is approved."""
    return f"{_name(layout, path)}: {key}"


def _name(layout: Layout, path: Path) -> str:
    top = layout.git.root if layout.git else layout.root
    return path.relative_to(top).as_posix() if top and path.is_relative_to(top) else str(path)


class Approvals:
    """What the user approved or refused of the project of *layout*: hashes of contents, by the name of what they were in.

    They count in every clone and worktree of the project on this machine. A file that is damaged, or that
    others may write, approves nothing.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._path = layout.private.directory / APPROVALS if layout.private else None
        self._read_once: dict[Word, dict[str, list[str]]] | None = None

    @property
    def stamp(self) -> files.Stamp:
        """What the file looked like; a change in it changes what is in force."""
        return files.stamp(self._path) if self._path else files.ABSENT

    @property
    def _noted(self) -> Mapping[Word, Mapping[str, list[str]]]:
        """The hashes by the user's word and by name, newest last."""
        if self._read_once is None:
            self._read_once = self._read()
        return self._read_once

    def _read(self) -> dict[Word, dict[str, list[str]]]:
        try:
            found = read_json(_read_owned(self._path) if self._path else b"{}", _MOST_BYTES)
            return {word: _hashes(found.get(word, {})) for word in _WORDS}
        except (OSError, ValueError, TypeError, AttributeError):
            return {word: {} for word in _WORDS}

    @property
    def names(self) -> list[str]:
        """The names of which a content was approved or refused."""
        return list(dict.fromkeys(name for noted in self._noted.values() for name in noted))

    def cover(self, one: Instruction) -> bool:
        """Tell whether the very content of *one* was approved."""
        return one.digest in self._noted["approved"].get(one.name, ())

    def wait(self, one: Instruction) -> bool:
        """Tell whether the user has said nothing about the very content of *one*; what does not wait may be refused."""
        return not any(one.digest in noted.get(one.name, ()) for noted in self._noted.values())

    def add(self, ones: Iterable[Instruction], word: Word = "approved") -> None:
        """Note *word* of the contents that were read, whatever the files say by now.

        Raises:
            NoStore: there is no home store to note it in.
            StoreError: nothing was noted.
        """
        ones = list(ones)

        def change(noted: _Noted) -> None:
            for one in ones:
                for hashes in noted.values():
                    hashes[one.name] = [digest for digest in hashes.get(one.name, []) if digest != one.digest]
                before = noted[word].pop(one.name)
                noted[word][one.name] = [*before, one.digest][-_MOST_EACH:]

        self._change(change)

    def remove(self, names: Iterable[str]) -> list[str]:
        """Forget what was said of *names*, and return those of which there was something."""
        there = [name for name in names if name in self.names]
        if there:
            self._change(lambda noted: [hashes.pop(name, None) for name in there for hashes in noted.values()])
        return there

    def _change(self, change: Callable[[_Noted], object]) -> None:
        from memsync.store.lock import lock  # for which threads are loaded

        place = self._layout.place("private")
        path = place.directory / APPROVALS
        files.make_local(place.local, private=True)
        with lock(place.local / "trust.lock"):
            self._read_once = None
            was, _ = files.read(path)
            noted = {word: dict(hashes) for word, hashes in self._noted.items()}
            change(noted)
            rows = ({name: ones for name, ones in noted[word].items() if ones} for word in _WORDS)
            kept = {word: dict(list(row.items())[-_MOST_NAMES:]) for word, row in zip(_WORDS, rows, strict=True) if row}
            data = json.dumps(kept, indent=1).encode() + b"\n"
            files.rewrite(path, data, was=was, private=True)
            path.chmod(0o600)
        self._read_once = None


def _hashes(found: Mapping[Any, Any]) -> dict[str, list[str]]:
    return {str(name): [one for one in map(str, ones) if _HASH.fullmatch(one)] for name, ones in found.items()}


def _read_owned(path: Path) -> bytes:
    """Return what is in *path*; nothing if it is another user's, may be written by others, or is too large to be ours."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        is_safe = sys.platform == "win32" or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)
        return file.read() if is_safe and status.st_size <= _MOST_BYTES else b""


VALUE: Final = r"(?i)\{([a-z_][a-z0-9_.]*)\}"  # what a step names in braces


def gives(action: str) -> bool:
    """Tell whether *action* gives memories to an agent."""
    return action in _ASKING


def why_no_step(action: str, params: Mapping[str, Any]) -> str:
    """Return why a repository's workflow may not have that step, approved or not; "" if it may.

    What a session says is asked with, and never written down; and the session's own transcript is the only one.
    """
    if any(name.strip().casefold() == "transcript" for name in params):
        return "a workflow of a repository may not name a `transcript`; the session's own is read without it"
    for name, value in params.items():
        if (found := re.search(VALUE, str(value))) and not (name == "query" and action in _ASKING):
            return f"a workflow of a repository may use {found[0]} only in the `query` of a step that gives memories"
    return ""


def what_leaves(key: str, value: object) -> str:
    """Return what to tell a user who sets *key* to *value*, because memories leave the machine by it; "" if none do."""
    kind, _, rest = str(value).partition(":")
    if key != "memory.embedder" or kind != "openai":
        return ""
    url = f"http{rest.rpartition('@http')[2]}"
    return f"from now on every memory, including private and global ones, and every prompt and query is sent to {url}"


def notice(waiting: Collection[Instruction]) -> str:
    """Return one line for the user about what waits; "" if nothing does."""
    if not waiting:
        return ""
    what = "1 instruction of this repository waits" if len(waiting) == 1 else f"{len(waiting)} instructions wait"
    return f"{what} for your approval; `memsync trust --show` shows what it would do"


def load_allowed(layout: Layout, entries: Iterable[str]) -> Allow:
    """Return what is no secret in a project: the *entries* of the settings in force, and what the user consented to."""
    from memsync.safety.secrets import Allow

    return Allow((*entries, *read_consented(layout)))


def read_consented(layout: Layout) -> list[str]:
    """Return the fingerprints that the user consented to in this project."""
    path = layout.private.directory / _ALLOWED if layout.private else None
    data = files.read(path)[0] if path and path.is_file() else b""
    return [found.decode() for found in _FINGERPRINT.findall(data)]


def consent(layout: Layout, secrets: Iterable[Secret]) -> None:
    """Note that *secrets* are none; what is known already is not noted again."""
    place = layout.place("private")
    known = read_consented(layout)
    new = [secret.fingerprint for secret in secrets if secret.fingerprint not in known]
    if new:
        files.make_dirs(place.directory, private=True)
        files.append(
            place.directory / _ALLOWED, "".join(f"{name}\n" for name in dict.fromkeys(new)).encode(), private=True
        )
