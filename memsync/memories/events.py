"""The project's memories as git has them: what became of each, and what differs between two moments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final, Literal

from memsync.errors import MemoryNotFound, NoHistory, Remedy
from memsync.format import jsonl
from memsync.format.codec import Line, fields_of
from memsync.git import history
from memsync.git.history import Commit, Step, list_dates, rows_with
from memsync.memories.edits import refuse_copy
from memsync.memories.project import Project
from memsync.memories.results import Remembered
from memsync.records import Memory, Scope, find_id, format_time, may_be_shown, same_but_for_time, shown_id, tick
from memsync.store.places import SKILLS, Layout

# where the memory file is for git, and its lines at a moment: now, or as a commit has it, which is read a block at a time


@dataclass(frozen=True, slots=True)
class Files:
    """Where the memory file of a checkout is, for git: the top of the checkout, and the path from there."""

    root: Path
    path: str

    @property
    def folder(self) -> str:
        """The project from the top, with a slash behind it; "" if it is the top."""
        return f"{Path(self.path).parent.parent.as_posix()}/".removeprefix("./")

    @property
    def skills(self) -> str:
        """The folder of the project's skills, from the top."""
        return f"{self.folder}{SKILLS}"


def files_of(project: Project) -> Files:
    """Return where git keeps the project's memories.

    Raises:
        NoHistory: the project is not in a checkout.
    """
    git = project.layout.git
    if git is None or project.layout.project is None:
        raise NoHistory(f"{project.layout.start} is not in a git checkout, so there is no history to look into")
    root = git.root.resolve()
    return Files(root, project.store("project").path.relative_to(root).as_posix())


def live_lines(data: bytes | None) -> dict[str, Line]:
    """Return the lines of the live memories of a file, by id."""
    return {id_: line for id_, line in jsonl.current(jsonl.read_lines(data or b"")).items() if line.memory}


def read_live(
    root: Path, path: str, commit: str, known: Mapping[bytes, Line], pick: Callable[[bytes], bytes] | None = None
) -> dict[str, Line]:
    """Return what `live_lines` does of the file in *commit*, of the lines that *pick* leaves; it is never held as a whole."""
    found: dict[str, Line] = {}

    def take_in(block: bytes) -> bytes:
        lines = jsonl.read_lines(pick(block) if pick else block, known)
        found.update((line.id, line) for line in lines if line.id is not None)
        return b""

    history.read(root, [(commit, path)], take_in)
    for id_ in [id_ for id_, line in found.items() if not line.memory]:
        del found[id_]
    return found


def lines_known(project: Project) -> dict[bytes, Line]:
    """Return the lines of the work tree, by their bytes: other versions of the file have most of them too."""
    store = project.store("project")
    store.refresh()
    return store.lines()


def lines_now(project: Project) -> dict[str, Line]:
    """Return the lines of the memories in the work tree, without their bytes, by id."""
    store = project.store("project")
    store.refresh()
    return {id_: Line(b"", id_, memory) for id_, memory in store.memories().items()}


Kind = Literal["added", "changed", "removed"]
_TIMES: Final = frozenset({"id", "updated_at"})
_NONE: Final = Line(b"")
_CLOCKS_DIFFER: Final = timedelta(days=1)


def describe_commit(commit: Commit | None) -> dict[str, str | None]:
    """Return which commit, by whom and when, as JSON."""
    return {
        "commit": commit and commit.id,
        "author": commit and commit.author,
        "when": commit and format_time(commit.when),
    }


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to one memory. Without a commit: in the work tree, since the last one."""

    id: str
    commit: Commit | None
    old: Line
    new: Line

    @property
    def before(self) -> Memory | None:
        """The memory as it was; None if it was not there."""
        return self.old.memory

    @property
    def after(self) -> Memory | None:
        """The memory as it became; None if it is gone."""
        return self.new.memory

    @property
    def kind(self) -> Kind:
        """What happened, in a word."""
        return "removed" if self.after is None else "added" if self.before is None else "changed"

    @property
    def born(self) -> str:
        """When the memory was created, for sorting; "" where nobody knows."""
        memory = self.after or self.before
        return format_time(memory.created_at) if memory and memory.created_at else ""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that changed, when it was there before and after; times aside."""
        if self.before is None or self.after is None:
            return ()
        old, new = fields_of(self.before), fields_of(self.after)
        return tuple(
            sorted(key for key in old.keys() | new.keys() if key not in _TIMES and old.get(key) != new.get(key))
        )

    def as_dict(self) -> dict[str, Any]:
        """Return who, when, where and both versions."""
        return {**self.as_line(), **self.as_change()}

    def as_line(self) -> dict[str, Any]:
        """Return who, when and where, without the versions."""
        subject = self.commit and self.commit.subject
        return {"id": self.id, "kind": self.kind, **describe_commit(self.commit), "subject": subject}

    def as_change(self) -> dict[str, Any]:
        """Return what changed and both versions, without the commit."""
        return {
            "id": self.id,
            "kind": self.kind,
            "fields": list(self.fields),
            "before": self.before and fields_of(self.before),
            "after": self.after and fields_of(self.after),
        }


def notes(project: Project) -> list[str]:
    """Return what to know about the history that there is."""
    shallow = "this clone is shallow, so older commits are missing; `git fetch --unshallow` gets them"
    return [shallow] if history.is_shallow(files_of(project).root) else []


def events(project: Project, ref: str | None = None, held: dict[str, bytes] | None = None) -> list[Event]:
    """Return what happened to the memory that *ref* names, or to all of them, newest first.

    Looks at what led to HEAD, and for a memory that was never there at every
    branch, tag and stash. *held* is what a `reader` of *ref* has read already.
    """
    files = files_of(project)
    if ref is None:
        return _read_events(project, files, None)
    try:
        return _select(ref, _read_events(project, files, ref, held=held))
    except MemoryNotFound:
        if held:  # most that are on other branches alone have their id in their lines
            with suppress(MemoryNotFound):
                return _select(ref, _read_events(project, files, ref, everywhere=True, held=held))
        return _select(ref, _read_events(project, files, ref, everywhere=True))


def newest_events(project: Project, most: int) -> tuple[list[Event], datetime | None]:
    """Return what `events` does of the *most* latest commits, and when the newest of the others was written; None: there are none.

    Of all commits, where those do not stand for themselves: a file that was renamed, a branch that came in later.
    """
    files = files_of(project)
    head = history.head(files.root)
    commits = list_dates(files.root, files.path, head) if head else []
    if len(commits) <= most or len(history.names_of(files.root, files.path, [head])) > 1:
        return _read_events(project, files, None, head=head), None
    base = commits[most][0]
    if list_dates(files.root, files.path, head, f"^{base}") != commits[:most]:
        return _read_events(project, files, None, head=head), None
    return _read_events(project, files, None, head=head, base=base), max(when for _, when in commits[most:])


def _select(ref: str, found: list[Event]) -> list[Event]:
    try:
        id_ = find_id(ref, {event.id for event in found})
    except MemoryNotFound:
        raise MemoryNotFound(ref, " that git has ever had, or that is here now") from None
    return [event for event in found if event.id == id_]


def _read_events(
    project: Project,
    files: Files,
    ref: str | None,
    *,
    everywhere: bool = False,
    held: dict[str, bytes] | None = None,
    head: str | None = None,
    base: str = "",
) -> list[Event]:
    head = history.head(files.root) if head is None else head
    since = [f"^{base}"] if base else []
    revs = [*([head] if head else []), *since, *(history.EVERYWHERE if everywhere else ())]
    matches = make_matcher(ref)
    is_narrow = held is not None or not everywhere
    pick, born = narrow(project, ref, matches) if ref and is_narrow else (None, None)
    names = history.names_of(files.root, files.path, revs) if revs else []
    known = lines_known(project) if pick is None else {}
    raws = {line.raw: line.raw for line in known.values()}
    steps = history.steps(files.root, names, revs=revs, pick=pick, born=born, known=raws, held=held) if names else ()
    before = read_live(files.root, files.path, base, known) if base else {}
    found = list(read_steps(files.root, steps, matches, known, before))
    found += differences_now(project, read_live(files.root, files.path, "HEAD", known, pick), matches)
    return found[::-1]


def find_removed(project: Project, wanted: Mapping[str, Memory]) -> set[str]:
    """Return which of *wanted* a commit of a branch, tag or stash took out of the file as they are, later than the last that put them there."""
    if not wanted or project.layout.git is None:
        return set()
    files = files_of(project)
    revs = history.list_all(files.root)
    names, pick = history.names_of(files.root, files.path, revs), partial(rows_with, wanted.keys())
    removed: set[str] = set()
    for step in reversed(list(history.steps(files.root, names, revs=revs, pick=pick))):
        added, gone = (jsonl.current([*map(jsonl.read_line, raws)]) for raws in (step.added, step.removed))
        for id_, memory in wanted.items():
            if id_ in added and added[id_].memory == memory:
                removed.discard(id_)
            elif id_ not in added and id_ in gone and gone[id_].memory == memory:
                removed.add(id_)
    return removed


def read_steps(
    root: Path,
    steps: Iterable[Step],
    matches: Callable[[str], bool],
    known: Mapping[bytes, Line],
    before: Mapping[str, Line] = MappingProxyType({}),
) -> Iterator[Event]:
    """Turn what commits did to lines into what happened to memories, oldest first; what is *known* is not read again.

    *before* are the lines of the memories that there were before the oldest step.
    """

    def read(raws: Iterable[bytes]) -> dict[str, Line]:
        lines = (known.get(raw) or jsonl.read_line(raw) for raw in raws)
        return jsonl.current([line for line in lines if line.id and matches(line.id)])

    found = [(step, read(step.added), read(step.replaced), read(step.removed)) for step in steps]
    still = _find_survivors(
        root, {s: gone for s, added, _, removed in found if (gone := removed.keys() - added.keys())}
    )
    latest = dict(before)
    for step, added, replaced, removed in reversed(found):
        for id_ in sorted(added.keys() | removed.keys()):
            if id_ not in added and id_ in still.get(step, ()):
                continue  # an older line of the log was tidied away
            old, new = replaced.get(id_) or latest.get(id_, _NONE), added.get(id_, _NONE)
            latest[id_] = new
            if not same_but_for_time(old.memory, new.memory):
                yield Event(id_, step.commit, old, new)


def _find_survivors(root: Path, asked: dict[Step, set[str]]) -> dict[Step, set[str]]:
    """Return which of the ids the file still had after each step."""
    still: dict[Step, set[str]] = {}
    for step, ids in asked.items():
        (data,) = history.read(root, [(step.commit.id, step.path)], partial(rows_with, ids))
        still[step] = ids & set(live_lines(data))
    return still


def differences_now(project: Project, old: Mapping[str, Line], matches: Callable[[str], bool] = bool) -> list[Event]:
    """Return how the work tree differs from *old* in what *matches*, as `differences` does."""
    store = project.store("project")
    store.refresh()
    now = {id_: memory for id_, memory in store.memories().items() if matches(id_)}
    same = {id_ for id_, memory in now.items() if (line := old.get(id_)) and line.memory is memory}
    before = {id_: line for id_, line in old.items() if id_ not in same and matches(id_)}
    return differences(before, {id_: Line(b"", id_, memory) for id_, memory in now.items() if id_ not in same})


def differences(old: Mapping[str, Line], new: Mapping[str, Line]) -> list[Event]:
    """Return what differs: what came, then what changed, then what went; the oldest memory first."""
    found = (Event(id_, None, old.get(id_, _NONE), new.get(id_, _NONE)) for id_ in old.keys() | new.keys())
    differing = (event for event in found if not same_but_for_time(event.before, event.after))
    return sorted(differing, key=lambda event: (event.kind, event.born, event.id))


def blame(project: Project, ref: str | None = None, found: Sequence[Event] | None = None) -> list[tuple[str, Event]]:
    """Return what last changed each memory, the oldest memory first; with *ref* what last set each field of that one.

    As (field, event), the field "" without *ref*; *found* are its `events` where they have been read.

    Raises:
        NoHistory, MemoryNotFound, AmbiguousId
    """
    live = lines_now(project)
    found = events(project, ref) if found is None else found
    if ref is None:
        kept = _find_last_events(found, live)
        return [("", event) for event in sorted(kept, key=lambda event: (event.born, event.id))]
    if found[0].id not in live:
        raise MemoryNotFound(ref, " that is here now", Remedy("memory history", ref), " shows what became of it")
    (last,) = _find_last_events(found, live)
    assert last.after
    now = fields_of(last.after)
    return [(name, _find_setter(found, name, now[name]) or last) for name in sorted(now.keys() - _TIMES)]


def _find_last_events(found: Sequence[Event], live: Mapping[str, Line]) -> list[Event]:
    """Return for each live memory the newest event that made it what it is.

    Two branches both tell of what they changed, and a merge takes one of them: the newest event may have lost.
    """
    settled: dict[str, Event] = {}
    for event in found:
        if event.id in live and event.after:
            settled.setdefault(event.id, event)
            now = live[event.id].memory
            if not same_but_for_time(settled[event.id].after, now) and same_but_for_time(event.after, now):
                settled[event.id] = event
    return list(settled.values())


def _find_setter(found: Sequence[Event], name: str, value: object) -> Event | None:
    setters = (event for event in found if event.after and (name in event.fields or event.before is None))
    return next((event for event in setters if event.after and fields_of(event.after).get(name) == value), None)


def as_history(found: Sequence[Event], remarks: Sequence[str]) -> dict[str, Any]:
    """Return the events of one memory and what `notes` says, as both faces answer."""
    return {"id": found[0].id, "events": found, "notes": remarks}


def as_blame(found: Sequence[tuple[str, Event]], remarks: Sequence[str]) -> dict[str, Any]:
    """Return what `blame` found and what `notes` says, as both faces answer."""
    return {"lines": [{"field": name or None, **event.as_line()} for name, event in found], "notes": remarks}


def _read_at(project: Project, rev: str) -> tuple[Commit, bytes | None]:
    files = files_of(project)
    commit = history.resolve(files.root, rev)
    (data,) = history.read(files.root, [(commit.id, files.path)])
    return commit, data


@contextmanager
def at(project: Project, rev: str) -> Iterator[Project]:
    """Open the project's memories as they were at *rev*, for reading: a copy that nobody else sees."""
    _, data = _read_at(project, rev)
    with TemporaryDirectory(prefix="memsync-") as directory:
        root = Path(directory)
        loaded = project.with_settings(author=project.author or "").loaded
        past = Project(Layout(root, root, None, None), clock=project.clock, env=project.env, loaded=loaded)
        place = past.store("project").place
        place.directory.mkdir()
        place.memories.write_bytes(data or b"")
        with past:
            yield past


def undo(project: Project, ref: str, scope: Scope | None = None, rev: str | None = None) -> Remembered:
    """Undo the last `forget` or `update` of a memory; what this machine does not remember comes from git, as *rev* does.

    Raises:
        NoHistory, MemoryNotFound, AmbiguousId, SecretFound, InvalidMemory, StoreError: nothing was written.
    """
    if rev is not None:
        return restore(project, ref, rev)
    try:
        return project.restore(ref, scope)
    except MemoryNotFound:
        if scope not in (None, "project") or project.layout.git is None:
            raise
        return restore(project, ref)


def restore(project: Project, ref: str, rev: str | None = None) -> Remembered:
    """Bring back a memory from git: as it was at *rev*, else as it was before it was last changed or removed.

    Raises:
        NoHistory, MemoryNotFound, AmbiguousId, SecretFound, InvalidMemory, StoreError: nothing was written.
    """
    id_, raw, whence = _version_at(project, ref, rev) if rev else _last_version(project, ref)
    memory = jsonl.read_line(raw).memory
    assert memory
    scope = project.default_scope
    project.vetting.vet(memory, scope)
    store = project.store_to_write(scope)
    with store.writing():
        now = store.get(id_)
        if now and same_but_for_time(now, memory):
            raise MemoryNotFound(ref, f" that was any different {whence}")
        refuse_copy(store, id_, memory.content)
        store.restore(id_, tick(project.clock(), now.written_at if now else None), raw=raw)
    return Remembered(status="updated", entry=project.get(id_, scope), reason=f"it is as it was {whence}")


def _version_at(project: Project, ref: str, rev: str) -> tuple[str, bytes, str]:
    commit, data = _read_at(project, rev)
    lines = live_lines(data)
    try:
        id_ = find_id(ref, lines)
    except MemoryNotFound:
        raise MemoryNotFound(ref, f" at {rev} ({commit.short})") from None
    return id_, lines[id_].raw, f"at {commit.short}"


def _last_version(project: Project, ref: str) -> tuple[str, bytes, str]:
    found = events(project, ref)
    for event in found:
        if event.before:
            where = f"commit {event.commit.short}" if event.commit else "the change that is not committed"
            return event.id, event.old.raw, f"before {where}"
    newest = found[0]
    if newest.commit and not project.store("project").get(newest.id):  # on another branch
        return newest.id, newest.new.raw, f"at {newest.commit.short}"
    raise MemoryNotFound(ref, " that has an earlier version, on this machine or in git")


def narrow(
    project: Project, ref: str, matches: Callable[[str], bool]
) -> tuple[Callable[[bytes], bytes] | None, datetime | None]:
    """Return what picks the lines of *ref* from a version of the file, and when it was not there yet; None: unknown."""
    store = project.store("project")
    store.refresh()
    if may_be_shown(ref) or any(map(matches, store.nameless())):
        return None, None  # no line has its id as it is written here
    memory = store.get(ref)
    if memory is None:
        return partial(rows_with, [ref.strip().removeprefix("mm-")]), None
    born = memory.created_at - _CLOCKS_DIFFER if memory.created_at else None
    return partial(rows_with, [ref], exact=True), born


def make_matcher(ref: str | None) -> Callable[[str], bool]:
    """Return what tells whether an id is one that *ref* may name; without one every id is."""
    if ref is None:
        return bool
    lower = ref.strip().lower()
    is_meant: Callable[[str], bool] = lambda id_: id_ == ref or id_.lower().startswith((lower, f"mm-{lower}"))  # noqa: E731
    if may_be_shown(ref):
        return lambda id_: is_meant(id_) or shown_id(id_).startswith(lower)
    return is_meant


def reader(project: Project, ref: str) -> Callable[[dict[str, bytes]], None] | None:
    """Return what reads the lines of *ref* in all that led to HEAD into a dict, for `events`; it needs the project no more.

    Where nothing that led to HEAD has one, those of every branch, tag and stash.

    None: its lines cannot be told from others without reading all.
    """
    files = files_of(project)
    head = history.head(files.root)
    pick, born = narrow(project, ref, make_matcher(ref))
    if pick is None or not head:
        return None
    is_here = project.store("project").get(ref) is not None

    def read(held: dict[str, bytes]) -> None:
        was_there = is_here
        for revs in ([head], [head, *history.EVERYWHERE]):
            names = history.names_of(files.root, files.path, revs)
            for _ in history.steps(files.root, names, revs=revs, pick=pick, born=born, held=held):
                was_there = True
            if was_there:
                return

    return read


def find_uncommitted(project: Project, files: Files, commit: str) -> list[Event]:
    """Return how the work tree differs from *commit*, a whole name or "" before the first one, as `differences` does."""
    known = lines_known(project)
    return differences_now(project, read_live(files.root, files.path, commit, known) if commit else {})
