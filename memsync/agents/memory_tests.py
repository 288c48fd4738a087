"""Running the tests of `.gobby/tests.jsonl`: each question goes to the hook that a client would ask, in a new session that notes nothing."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.agents import hooks
from memsync.agents.injection import Injection
from memsync.agents.session import RecallSession
from memsync.clients import facts
from memsync.errors import MemsyncError, NoStore, SecretFound
from memsync.format.cases import TESTS, Case, encode_case, read_cases
from memsync.format.codec import encode
from memsync.git.commit import read_memories
from memsync.memories import events
from memsync.memories.anchors import Anchor, fixed_path, is_inside, parse
from memsync.memories.project import Project
from memsync.records import Memory, find_id, shown_id
from memsync.safety.secrets import describe, scan
from memsync.store import files
from memsync.store.changes import compare_memories
from memsync.store.checkout import find_checkout, read_committed
from memsync.store.places import locate

if TYPE_CHECKING:
    from memsync.agents.recall_suite import Suite
    from memsync.records import Clock, Memory
    from memsync.store.config import Loaded

_EVENTS: Final = {"prompt": "prompt", "command": "pre-tool", "path": "pre-tool", "error": "post-tool"}
_INJECT: Final = {"prompt": "--prompt", "command": "--command", "path": "--path", "error": "--error"}
_ANY: Final = "sh"  # the command that failed, where a test names none
Track = Callable[[Sequence[Case]], Iterable[Case]]


class Outcome(NamedTuple):
    """What became of one test: what was given, and why it failed; `before` is what was given at another commit, if that was asked."""

    case: Case
    given: tuple[str, ...]
    problems: tuple[str, ...]
    before: tuple[str, ...] | None = None

    @property
    def is_changed(self) -> bool:
        """Whether the other commit gave something else."""
        return self.before is not None and set(self.before) != set(self.given)

    @property
    def command(self) -> str:
        """The command line that shows why."""
        options = [word for door, said in self.case.asked.items() for word in (_INJECT[door], said)]
        also = ["--command", _ANY] if self.case.asked.keys() == {"error"} else []
        return shlex.join(["memsync", "inject", *options, *also, "--explain"])

    def as_dict(self) -> dict[str, Any]:
        """Return the test and what became of it."""
        said = {"line": self.case.number, **self.case.as_dict(), "was_given": self.given, "problems": self.problems}
        return said if self.before is None else {**said, "before": self.before}


def path_of(project: Project) -> Path:
    """Return where the tests of *project* are."""
    return project.layout.place("project").directory / TESTS


def load_cases(project: Project) -> list[Case]:
    """Return the tests of *project*.

    Raises:
        NoStore: there is no file, or no project.
        MemsyncError: a line is no test.
        StoreUnreadable, OutsideTree
    """
    path = path_of(project)
    if not path.exists():
        raise NoStore(f'{path}: no such file; write a line of it: {{"prompt": "which port?", "given": ["ID"]}}')
    files.resolve_inside(path, project.layout.root)
    return read_cases(files.read(path)[0], f"{path.parent.name}/{TESTS}")


def put_changed_first(project: Project, cases: Sequence[Case]) -> list[Case]:
    """Return *cases*, those first that HEAD has not or that name a memory which differs from HEAD's."""
    place = project.layout.place("project")
    if project.layout.git is None:
        return list(cases)
    project.stores.refresh()
    old = {case.raw for case in _read_old(place.directory / TESTS)}
    checkout, name = find_checkout(place.memories)
    before = read_memories(checkout, ("HEAD",), name)[0]
    changed = {change.id for change in compare_memories(before, project.store("project").memories())}
    return sorted(cases, key=lambda case: 0 if case.raw not in old else 1 if changed.intersection(case.ids) else 2)


def _read_old(path: Path) -> list[Case]:
    try:
        return read_cases(read_committed(path) or b"", TESTS)
    except MemsyncError:
        return []


@contextmanager
def open_as_cloned(project: Project) -> Iterator[Project]:
    """Open the project's own memories as any clone has them: without what this user has beside them, says of settings or has approved."""
    with Project(project.layout._replace(home=None), clock=project.clock, env=project.env) as opened:
        yield opened.with_settings(author="nobody")


@contextmanager
def open_past(project: Project, rev: str) -> Iterator[Project]:
    """Open them as they were at *rev*, in an empty place that has what they are anchored to."""
    with events.at(project, rev) as past:
        past.stores.refresh()
        assert past.layout.root
        make_anchored(past.layout.root, past.store("project").memories().values())
        yield past.with_settings(author="nobody")


def run(
    project: Project, cases: Sequence[Case], since: Project | None = None, track: Track = iter
) -> Iterator[Outcome]:
    """Yield what becomes of each of *cases*, and with *since*, the project at another time, what it would give."""
    project.stores.refresh()
    known_ids = project.store("project").memories()
    for case in track(cases):
        given = ask(project, case)
        before = ask(since, case) if since else None
        yield Outcome(case, given, tuple(_judge(case, given, known_ids)), before)


def ask(project: Project, case: Case) -> tuple[str, ...]:
    """Return the ids of what a new session would be given for the question of *case*."""
    asked, root = case.asked, str(project.layout.root or project.layout.start)
    payload: dict[str, Any] = {"cwd": root}
    if case.door == "prompt":
        payload["prompt"] = asked["prompt"]
    elif case.door == "path":
        payload |= {"tool_name": "Edit", "tool_input": {"file_path": asked["path"]}}
    else:
        payload |= {"tool_name": "Bash", "tool_input": {"command": asked.get("command", _ANY)}}
    if case.door == "error":
        payload |= {"hook_event_name": "PostToolUseFailure", "error": asked["error"]}
    return hooks.answer(project, facts.find("claude"), _EVENTS[case.door], payload).given


def _judge(case: Case, given: Sequence[str], memories: Mapping[str, Memory]) -> Iterator[str]:
    for wanted, ids in ((True, case.given), (False, case.banned)):
        for ref in ids:
            try:
                id_ = find_id(ref, memories)
            except MemsyncError:
                yield f"{shown_id(ref)} is gone{_name_successor(ref, memories)}"
                continue
            if memories[id_].archived_at is not None:
                yield f"{shown_id(id_)} is archived{_name_successor(id_, memories)}"
            elif (id_ in given) is not wanted:
                yield f"{shown_id(id_)} was {'given' if id_ in given else 'not given'}"
    if case.silent and given:
        yield f"{', '.join(map(shown_id, given))} given, and nothing may be"


def _name_successor(id_: str, memories: Mapping[str, Memory]) -> str:
    new = next((memory.id for memory in memories.values() if id_ in memory.supersedes), "")
    return f"; {shown_id(new)} replaces it: name that" if new else "; take it out of the test, or `memsync restore` it"


def add_case(project: Project, asked: Mapping[str, str], ids: Sequence[str], *, banned: bool = False) -> Case:
    """Append a test to the file: for what is *asked* all of *ids* must be given, or with *banned* none; without ids nothing may.

    Raises:
        SecretFound: the question holds what looks like a secret.
        NoStore, StoreError: nothing was written.
    """
    if found := [one for said in asked.values() for one in scan(said, project.vetting.allowed)]:
        raise SecretFound(describe(found))
    said = {"banned" if banned else "given": tuple(ids)} if ids else {"silent": True}
    case = Case(0, dict(asked), **said)
    case = case._replace(raw=encode_case(case))
    store, path = project.store_to_write("project"), _path_to_write(project)
    with store.writing():
        files.prepare(store.place)
        files.append(path, case.raw + b"\n", private=False)
    return case


def drop_case(project: Project, raw: bytes) -> None:
    """Take the last test that is written as *raw* out of the file; every other byte of it stays.

    Raises:
        MemsyncError: there is none.
        NoStore, StoreError: nothing was written.
    """
    store, path = project.store_to_write("project"), _path_to_write(project)
    with store.writing():
        was = files.read(path)[0]
        before, found, after = was.rpartition(raw + b"\n")
        if not found or b"\n" in raw or (before and not before.endswith(b"\n")):
            raise MemsyncError("that test is not in the file any more")
        files.rewrite(path, before + after, was=was)


def _path_to_write(project: Project) -> Path:
    """Return where a test is written: never through a link, which could make another file of the tree the one that changes."""
    path = path_of(project)
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise MemsyncError(f"{path}: is a link, or no file; put a file in its place")
    return files.resolve_inside(path, project.layout.root)


@contextmanager
def open_session(suite: Suite, loaded: Loaded, clock: Clock) -> Iterator[Callable[[str], Injection]]:
    """Store the records of *suite* as they are, ages and all, and yield what a new session is given for a prompt.

    What *loaded* says of importance, limits and budget holds, and *clock* says how old a record is.
    """
    with TemporaryDirectory(prefix="memsync-suite-") as name:
        root = Path(name)
        (root / ".gobby").mkdir()
        lines = b"".join(encode(memory) + b"\n" for memory in suite.records)
        (root / ".gobby" / "memories.jsonl").write_bytes(lines)
        make_anchored(root, suite.records)
        layout = locate(root, {**os.environ, "MEMSYNC_HOME": str(root / "home")})
        shown = loaded._replace(settings=loaded.settings._replace(stealth=False, author="nobody"))
        with Project(layout, clock=clock, loaded=shown) as project:
            session = RecallSession(project, "")
            yield session.at_prompt


def make_anchored(root: Path, records: Iterable[Memory]) -> None:
    """Have below *root* what *records* are anchored to: a memory about what is gone would not be given."""
    symbols: dict[str, list[str]] = {}
    for anchor in (parse(text) for one in records for text in one.anchors):
        if not anchor.path.startswith((".gobby", ".git")) and is_inside(fixed_path(anchor), root):
            symbols.setdefault(anchor.path, []).append(anchor.symbol)
    for path, held in symbols.items():
        place = root / fixed_path(Anchor(path))
        with suppress(OSError):  # one record's file is another one's folder
            (place if path != fixed_path(Anchor(path)) or path.endswith("/") else place.parent).mkdir(
                parents=True, exist_ok=True
            )
            if not place.is_dir():
                place.write_text("\n".join(held), encoding="utf-8")
