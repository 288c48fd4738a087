"""Taking back the last command that changed something on this machine, and doing it again (docs/adr/0108).

Noted is which memories it touched, by hashes of what they were before and after: the texts are in the local history. What
was changed by somebody else since is left alone. Of what is no memory the command is noted that takes it back.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from memsync.errors import Changed, InvalidMemory, MemsyncError, Remedy, StoreError
from memsync.format.jsonl import encode_all
from memsync.memories import sharing
from memsync.memories.edits import expect_write
from memsync.memories.journal import Change
from memsync.memories.results import Entry
from memsync.records import SCOPES, Memory, Scope, as_scope, format_time, short_id, shown_id, tick
from memsync.store import files, local_history
from memsync.system.digests import sha256
from memsync.system.logs import Log

if TYPE_CHECKING:
    from memsync.memories.project import Project
    from memsync.store.store import Store

_FILE: Final = "undo.json"
_KEPT: Final = 50  # commands
_ROOM: Final = 1 << 14  # bytes from which on the file is put in order when a command is noted
log = Log(__name__)


class Step(NamedTuple):
    """What became of one memory: hashes of what it was and is, "" where there was or is none."""

    scope: Scope
    id: str
    before: str
    after: str


class Command(NamedTuple):
    """One command that changed something, as it was typed or in round brackets where it was not, when, and what it did."""

    words: str
    at: str
    steps: tuple[Step, ...]
    changes: tuple[Change, ...] = ()

    @property
    def name(self) -> str:
        """What people call it."""
        return spell_command(self.words)

    @property
    def id(self) -> str:
        """What `undo` takes to name this one of several."""
        return sha256(json.dumps([self.words, self.at, self.steps]).encode()).hexdigest()[:6]

    @property
    def ways(self) -> list[str]:
        """What `undo` leaves, and the command that takes it back, if one does."""
        left = [change for change in self.changes if not change.proposal]
        ways = [
            f"`memsync {change.way}` takes that back" if change.way else "nothing takes that back" for change in left
        ]
        return [f"{change.what}; {way}" for change, way in zip(left, ways, strict=True)]

    @property
    def can_go(self) -> bool:
        """Whether `undo` can take anything of it back."""
        return bool(self.steps) or any(change.proposal for change in self.changes)


def spell_command(words: str) -> str:
    """Return the command *words* as people type it, or what is in its brackets."""
    return words[1:-1] if words.startswith("(") else f"`memsync {words}`"


class Undone(NamedTuple):
    """What was taken back: of which command, and each memory as it is now, or as it was where it is gone.

    `left` says what was not, and why. `proposals` are the records of the candidates that it decided about.
    """

    command: str
    at: str
    brought: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    left: tuple[str, ...] = ()
    proposals: tuple[str, ...] = ()


Stack = Literal["done", "undone"]


def note_steps(project: Project, words: str) -> None:
    """Note what the command *words* wrote with *project* since the last note, so that it can be taken back; never fails."""
    steps = list[Step]()
    for scope, store in project.stores.items():
        ids, olds = store.touched.keys(), store.touched.values()
        hashes = zip(_hash_all(olds), _hash_all(map(store.get, ids)), strict=True)
        steps += [Step(scope, id_, *both) for id_, both in zip(ids, hashes, strict=True) if both[0] != both[1]]
    changes = project.journal.changes
    if (steps or changes) and (path := _find_path(project)):
        _add(path, Command(words, format_time(project.clock()), tuple(steps), tuple(dict.fromkeys(changes))))
    begin_command(project)


def begin_command(project: Project) -> None:
    """Begin a new command: what was written up to now is noted, or is none of its own."""
    project.journal.changes.clear()
    for store in project.stores.values():
        store.touched.clear()


def forget_steps(project: Project, ids: Collection[str], texts: Collection[str] = ()) -> None:
    """Drop what is noted of *ids* and *texts*, which are gone for good."""
    for store in project.stores.values():
        for id_ in ids:
            store.touched.pop(id_, None)
    if (path := _find_path(project)) and path.exists():
        kept = {
            name: [one for one in commands if not _names(one, ids, texts)] for name, commands in _read(path).items()
        }
        _write(path, kept)


def _names(command: Command, ids: Collection[str], texts: Collection[str]) -> bool:
    spelled = [json.dumps(text)[1:-1] for text in texts]
    said = json.dumps([(change.what, json.loads(change.proposal or "{}")) for change in command.changes])
    return any(step.id in ids for step in command.steps) or any(text in said for text in spelled)


def list_commands(project: Project, *, again: bool = False) -> list[Command]:
    """Return the commands that changed something, or those that can be done *again*, the last first."""
    path = _find_path(project)
    return _read(path)["undone" if again else "done"][::-1] if path else []


def find_texts(project: Project, commands: Sequence[Command]) -> dict[Step, str]:
    """Return what the memory of each step of *commands* said after it, or before it where it is gone; "" where nobody knows."""
    project.stores.refresh()
    texts: dict[tuple[Scope, str, str], str] = {}
    steps = [step for command in commands for step in command.steps if step.scope in project.stores]
    for scope in dict.fromkeys(step.scope for step in steps):
        ids = {step.id for step in steps if step.scope == scope}
        lines = local_history.find_versions(project.store(scope).place.local, *ids)
        held = [*filter(None, map(project.store(scope).get, ids)), *(line.memory for line in lines if line.memory)]
        for memory, hashed in zip(held, _hash_all(held), strict=True):
            texts.setdefault((scope, memory.id, hashed), memory.content)
    return {step: texts.get((step.scope, step.id, step.after or step.before), "") for step in steps}


def undo(project: Project, ref: str = "", *, again: bool = False) -> Undone:
    """Take the last command back, or the one that *ref* names; with *again* do what was taken back last.

    Raises:
        MemsyncError: there is none, or nothing of it can be taken back; nothing was changed, and nothing older taken back.
        StoreError
    """
    source: Stack = "undone" if again else "done"
    path = _find_path(project)
    stacks = _read(path) if path else {"done": [], "undone": []}
    last = _choose(stacks[source], ref, again=again)
    if path is None or not last.can_go:
        raise MemsyncError(f"{last.name} is not taken back by undo: {'; '.join(last.ways)}", *_go_past(stacks[source]))
    steps = last.steps if again else [step._replace(before=step.after, after=step.before) for step in last.steps]
    left = _find_changed(project, steps)
    taken = tuple(step for step in steps if step.id not in left)
    if steps and not taken:
        why = f"{' and '.join(map(shown_id, left))} was changed since {last.name}, so nothing was taken back; "
        raise MemsyncError(
            why, Remedy("memory history", left[0]), " shows what became of it", *_go_past(stacks[source])
        )
    stacks[source].remove(last)
    done = _go(project, last, taken, [*stacks["done"], *stacks["undone"]])
    last = last._replace(steps=tuple(step for step in last.steps if step.id not in left))
    stacks["done" if again else "undone"].append(last)
    _write(path, stacks)
    begin_command(project)
    told = [f"{shown_id(id_)} was changed since and stays as it is" for id_ in left]
    proposals = () if left else tuple(change.proposal for change in last.changes if change.proposal)
    return done._replace(left=(*told, *last.ways), proposals=proposals)


def compare(before: Mapping[tuple[Scope, str], Memory], after: Mapping[tuple[Scope, str], Memory]) -> list[Step]:
    """Return what became of each memory that is another one *after* than *before*."""
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    hashes = zip(_hash_all(map(before.get, keys)), _hash_all(map(after.get, keys)), strict=True)
    return [Step(*key, *both) for key, both in zip(keys, hashes, strict=True)]


def take_back(project: Project, words: str, steps: Sequence[Step]) -> None:
    """Bring the memories that the command *words* changed by *steps* back to what they were; all of them, or none.

    Raises:
        Changed: one of them was changed since.
        MemsyncError: this machine no longer keeps one of them as it was.
    """
    back = [step._replace(before=step.after, after=step.before) for step in steps]
    if changed := _find_changed(project, back):
        raise Changed(short_id(changed[0]))
    _go(project, Command(words, "", ()), back, ())


def _choose(commands: Sequence[Command], ref: str, *, again: bool) -> Command:
    found = [one for one in reversed(commands) if one.id.startswith(ref.lower())]
    if commands and not found:
        raise MemsyncError(
            f"there is no command {ref!r} to take back; ", Remedy("undo", "--list"), " shows those there are"
        )
    if not found:
        raise MemsyncError("no command that changed memories here can be ", "done again" if again else "taken back")
    return found[0]


def _go_past(commands: Sequence[Command]) -> tuple[str | Remedy, ...]:
    """Say how an earlier one of *commands* is taken back, if there is one."""
    return ("; undo takes the ID of an earlier command, from ", Remedy("undo", "--list")) if commands[1:] else ()


def _find_changed(project: Project, steps: Sequence[Step]) -> list[str]:
    for scope in {step.scope for step in steps if step.scope in project.stores}:
        expect_write(project, project.store(scope))
    project.stores.refresh()
    changed = (
        step.id
        for step in steps
        if step.scope not in project.stores or _hash(project.stores[step.scope].get(step.id)) != step.before
    )
    return [*dict.fromkeys(changed)]


def _go(project: Project, command: Command, steps: Sequence[Step], others: Sequence[Command]) -> Undone:
    """Bring each memory from what it is before a step to what it is after it; all of them, or none.

    The *others* can be taken back or done again afterwards: a memory that is moved takes along what they need.
    """
    left = {(step.id, step.scope) for step in steps if not step.after}
    moved = {s.id: s.scope for s in steps if s.after and any(i == s.id and where != s.scope for i, where in left)}
    rest = [step for step in steps if step.id not in moved]
    gone = [project.get(step.id, step.scope) for step in rest if not step.after]
    lines = _find_lines(project, command, [step for step in rest if step.after])
    for id_, scope in moved.items():
        project.store_to_write(scope)
        entry = project.get(id_)
        _keep_versions(project, entry, scope, others)
        sharing.move(project, [entry], scope)
    with ExitStack() as held:
        for scope in (scope for scope in SCOPES if any(step.scope == scope for step in rest)):
            held.enter_context(project.store_to_write(scope).writing())
        for scope in SCOPES:
            if steps_here := [step for step in rest if step.scope == scope]:
                _write_steps(project, project.store(scope), steps_here, lines)
    brought = tuple(project.get(step.id, step.scope) for step in steps if step.after)
    return Undone(command.words, command.at, brought, tuple(gone))


def _write_steps(project: Project, store: Store, steps: Sequence[Step], lines: Mapping[Step, bytes]) -> None:
    """Bring the memories of *store*, which is being written, to what they are after *steps*, all at once."""
    held = {step.id: store.get(step.id) for step in steps}
    moments = {id_: tick(project.clock(), now.written_at if now else None) for id_, now in held.items()}
    if brought := {step.id: lines[step] for step in steps if step.after}:
        store.restore_lines(brought, {id_: moments[id_] for id_ in brought})
    if gone := {id_: moments[id_] for id_, now in held.items() if now and id_ not in brought}:
        store.remove_dated(gone)


def _keep_versions(project: Project, entry: Entry, scope: Scope, others: Sequence[Command]) -> None:
    """Have the history of *scope* again those versions of *entry* that *others* had there: moving out of sight took them along."""
    wanted = {
        hashed
        for command in others
        for step in command.steps
        if (step.scope, step.id) == (scope, entry.id)
        for hashed in (step.before, step.after)
    }
    place = project.store(scope).place
    lines = local_history.find_versions(project.store(entry.scope).place.local, entry.id)[::-1]
    raws = dict.fromkeys(line.raw for line in lines if _hash(line.memory) in wanted)
    local_history.keep(place.local, list(raws), private=place.private)


def _find_lines(project: Project, command: Command, steps: Sequence[Step]) -> dict[Step, bytes]:
    found: dict[Step, bytes] = {}
    for scope in SCOPES:
        wanted = {(step.id, step.after): step for step in steps if step.scope == scope}
        ids = {id_ for id_, _ in wanted}
        for line in local_history.find_versions(project.store(scope).place.local, *ids) if ids else ():
            if step := wanted.get((line.id or "", _hash(line.memory))):
                found.setdefault(step, line.raw)
    if absent := next((step for step in steps if step not in found), None):
        why = f"this machine no longer keeps {shown_id(absent.id)} as it was before {command.name}; "
        raise MemsyncError(why, Remedy("memory history", absent.id), " shows what git has of it")
    return found


def _hash(memory: Memory | None) -> str:
    return _hash_all([memory])[0]


def _hash_all(memories: Iterable[Memory | None]) -> list[str]:
    known = [*memories]
    lines = iter(encode_all([memory._replace(updated_at=None) for memory in known if memory]))
    return [sha256(next(lines)).hexdigest()[:20] if memory else "" for memory in known]


def _find_path(project: Project) -> Path | None:
    place = project.stores.index_place
    if place and place.scope == "project" and project.layout.private and not (place.local / _FILE).exists():
        # The first share makes the project's store: what was noted before stays where it is.
        private = project.layout.private.local / _FILE
        return private if private.exists() else place.local / _FILE
    return place.local / _FILE if place else None


def _read(path: Path) -> dict[str, list[Command]]:
    """Return the commands that were done and those that were taken back: the first line has both, each other one a command done since."""
    done, undone = list[Command](), list[Command]()
    for line in files.read(path)[0].split(b"\n"):
        with suppress(ValueError, TypeError, AttributeError, InvalidMemory):  # damaged: nothing that memories depend on
            found = json.loads(line or b"{}")
            if isinstance(found, dict):
                done += map(_as_command, found.get("done", []))
                undone += map(_as_command, found.get("undone", []))
            else:
                done.append(_as_command(found))
                undone.clear()
    return {"done": done[-_KEPT:], "undone": undone}


def _as_command(row: Sequence[Any]) -> Command:
    words, at, steps, *rest = row
    changes = rest[0] if rest else ()
    return Command(
        words,
        at,
        tuple(Step(as_scope(scope), *rest) for scope, *rest in steps),
        tuple(Change(*change) for change in changes),
    )


def _add(path: Path, command: Command) -> None:
    """Note *command*, which was just done, as `_write` does: behind what there is, which is not read until there is much."""
    if files.stamp(path).size > _ROOM:
        _write(path, {"done": [*_read(path)["done"], command][-_KEPT:], "undone": []})
        return
    with _passing_over():
        files.append(path, json.dumps(command).encode() + b"\n", private=True, durable=False)


def _write(path: Path, stacks: Mapping[str, Sequence[Command]]) -> None:
    """Write *stacks* without fsync, for which each write would wait twice more: after a power cut there may be nothing to take back."""
    with _passing_over():
        data = json.dumps(stacks).encode() + b"\n"
        files.rewrite(path, data, was=files.read(path)[0], private=True, durable=False)


@contextmanager
def _passing_over() -> Iterator[None]:
    """Have a failure only logged: what it was about has been done."""
    try:
        yield
    except (StoreError, OSError) as error:
        log.info("cannot be taken back by undo: %s", error)
