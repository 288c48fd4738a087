"""Small writes that several calls share: editing, archiving what is superseded, removing, restoring."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from memsync.errors import AmbiguousId, Changed, InvalidMemory, MemoryNotFound, MemsyncError
from memsync.format.codec import decode
from memsync.memories.results import Entry, Remembered
from memsync.records import Memory, Scope, content_hash, find_id, format_time, shown_id, tick

if TYPE_CHECKING:
    from memsync.memories.project import Project
    from memsync.store.state import Action
    from memsync.store.store import Store

_FOLLOWED: Final = 20  # memories about something that is not there, for which git is asked at one export
_NOTHING: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})


def edit(
    project: Project,
    store: Store,
    old: Memory,
    changes: Mapping[str, Any],
    also: Mapping[str, Mapping[str, Any]] = _NOTHING,
) -> Memory:
    """Write *changes* to *old* as of now, and *also* other edits of the store, at once; return the new version."""
    now = tick(project.clock(), old.written_at)
    store.update({**also, old.id: {**changes, "updated_at": format_time(now)}})
    return get_live(store, old.id)


def edit_replacing(
    project: Project, store: Store, old: Memory, changes: Mapping[str, Any], replaces: Collection[Entry]
) -> Memory:
    """Write *changes* to *old*, which supersedes *replaces* from now on; without either, write nothing."""
    replaces = [entry for entry in replaces if entry.id != old.id]
    if ids := tuple(entry.id for entry in replaces if entry.id not in old.supersedes):
        changes = {**changes, "supersedes": [*old.supersedes, *ids]}
    also = plan_archiving(project, store, replaces)
    for other in replaces:  # what was replaced and now replaces in its turn
        if other.scope == store.place.scope and old.id in other.memory.supersedes:
            left = [id_ for id_ in other.memory.supersedes if id_ != old.id]
            also[other.id] = {**also.get(other.id, {}), "supersedes": left or None}
    return edit(project, store, old, changes, also) if changes or also else old


def find_successors(stores: Mapping[Scope, Store], id_: str) -> dict[str, Scope]:
    """Return what stands for the memory *id_* now, by id: what supersedes it, or what supersedes that, and is not archived."""
    held = [(scope, memory) for scope, store in stores.items() for memory in store.replacing()]
    found: dict[str, Scope] = {}
    seen, todo = {id_}, [id_]
    while todo:
        old = todo.pop()
        for scope, memory in held:
            if old in memory.supersedes and memory.id not in seen:
                seen.add(memory.id)
                todo.append(memory.id)
                found |= {memory.id: scope} if memory.archived_at is None else {}
    return found


def say_replaced(old: Memory, successors: Iterable[str]) -> str:
    """Say what stands for *old*, and how somebody who wants that one brings it back."""
    newer = " and ".join(map(shown_id, successors))
    return (
        f"{shown_id(old.id)} says it and was replaced by {newer}; `memsync restore {shown_id(old.id)}` brings it back"
    )


def plan_archiving(project: Project, store: Store, replaces: Iterable[Entry]) -> dict[str, dict[str, Any]]:
    """Return the edits that archive those of *replaces* that are in *store*: kept and restorable, but no longer recalled."""
    found = [old for entry in replaces if entry.scope == store.place.scope and (old := store.get(entry.id))]
    edits = {}
    for old in found:
        if old.archived_at is None:
            now = format_time(tick(project.clock(), old.written_at))
            edits[old.id] = {"archived_at": now, "updated_at": now}
    return edits


def archive_elsewhere(project: Project, scope: Scope, replaces: Iterable[Entry]) -> None:
    """Archive those of *replaces* that are in other stores than *scope*'s; the caller holds no lock."""
    for where in dict.fromkeys(entry.scope for entry in replaces if entry.scope != scope):
        store = project.store_to_write(where)
        with store.writing():
            store.update(plan_archiving(project, store, replaces))


def pin_again(project: Project, ref: str, scope: Scope | None, was: Memory | None = None) -> Entry:
    """Anchor a memory that is still true to its files as they are now; what is gone is no anchor any more.

    Raises:
        MemoryNotFound, AmbiguousId, Changed, StoreError: nothing was written.
    """
    from memsync.memories.citations import pin_now

    entry, root = get_own(project, ref, scope), project.layout.root
    store = project.store_to_write(entry.scope)
    with store.writing():
        old = get_live(store, entry.id, was)
        pins = pin_now(old.anchors, root) if root else old.anchors
        memory = edit(project, store, old, {"anchors": list(pins) or None}) if pins != old.anchors else old
    return record_entry(project, entry.scope, memory, "updated")


def add_anchors(project: Project, ref: str, places: Collection[str], scope: Scope | None = None) -> Entry:
    """Anchor a memory to *places* too, beside those that it has.

    Raises:
        MemoryNotFound, AmbiguousId, InvalidMemory, StoreError: nothing was written.
    """
    known = get_own(project, ref, scope).memory
    return project.update(ref, scope=scope, anchors=(*known.anchors, *places), was=known).entry


def follow_moves(project: Project, store: Store) -> int:
    """Rewrite the anchors of *store* to files that git says were moved, and return of how many memories. Who knew one knows it still.

    Raises:
        StoreError: nothing was written.
    """
    root = project.layout.root
    if root is None or store.place.scope == "global" or not store.stamp:
        return 0
    from memsync.memories.citations import has_missing, rewrite_moved

    state = project.state(store.place.scope)
    anchored = [memory for memory in store.memories().values() if memory.anchors and memory.archived_at is None]
    away = [memory for memory in anchored if has_missing(memory.anchors, root)][:_FOLLOWED]
    moved = {memory.id: new for memory in away if (new := rewrite_moved(memory.anchors, root))}
    known = [
        id_ for id_ in moved if not project.screening.is_new(project.entry(store.place.scope, get_live(store, id_)))
    ]
    asking = [
        id_ for id_ in moved if project.screening.may_stop(project.entry(store.place.scope, get_live(store, id_)))
    ]
    if moved:
        with store.writing():
            store.update({id_: {"anchors": list(new)} for id_, new in moved.items() if store.get(id_)})
        entries = [project.entry(store.place.scope, memory) for id_ in known if (memory := store.get(id_))]
        state.record_use([], {entry.id: project.screening.note(entry) for entry in entries})
        for memory in filter(None, map(store.get, asking)):
            project.screening.own(project.entry(store.place.scope, memory))
    return len(moved)


def get_live(store: Store, id_: str, was: Memory | None = None) -> Memory:
    """Return the live memory *id_*.

    Raises:
        MemoryNotFound: another process removed it while we waited for the lock.
        Changed: it is not what it *was*.
    """
    memory = store.get(id_)
    if memory is None:
        raise MemoryNotFound(id_)
    if was not in (None, memory):
        raise Changed(shown_id(id_))
    return memory


def refuse_copy(store: Store, id_: str, content: str) -> None:
    """Refuse *content* for *id_* if another memory of *store* says exactly that.

    Raises:
        InvalidMemory: one does.
    """
    if same := store.by_hash(content_hash(content), besides=id_, text=content):
        raise InvalidMemory(f"{same.id} says the same already; forget one of the two, or word it differently")


def record_entry(project: Project, scope: Scope, memory: Memory, action: Action) -> Entry:
    """Return *memory* as an entry, and note its use by *action*."""
    entry = project.screening.screen(project.entry(scope, memory))
    project.record([entry], action)
    return entry


def unarchive(project: Project, entry: Entry) -> Remembered:
    """Bring an archived memory back; what superseded it no longer does.

    Raises:
        MemoryNotFound, StoreError: nothing was written.
    """
    store = project.store_to_write(entry.scope)
    with store.writing():
        old = get_live(store, entry.id)
        newer = [memory for memory in store.memories().values() if entry.id in memory.supersedes]
        also = {
            memory.id: {"supersedes": [id_ for id_ in memory.supersedes if id_ != entry.id] or None} for memory in newer
        }
        memory = edit(project, store, old, {"archived_at": None}, also)
    reason = "it is no longer archived"
    if newer:
        reason += f", nor superseded by {', '.join(memory.id for memory in newer)}"
    return Remembered(status="updated", entry=record_entry(project, entry.scope, memory, "updated"), reason=reason)


def get_own(project: Project, ref: str, scope: Scope | None) -> Entry:
    """Return the memory that *ref* names, to be changed: not one that is inherited from a store above.

    Raises:
        MemoryNotFound, AmbiguousId
    """
    entry = project.get(ref, scope)
    if entry.repo != project.repo:
        raise MemoryNotFound(shown_id(entry.id), " in this store", f"it is inherited; change it in {entry.repo}")
    return entry


def resolve_refs(project: Project, refs: Iterable[str]) -> tuple[Entry, ...]:
    """Return the memories that *refs* name, each once."""
    return tuple({entry.id: entry for entry in map(project.get, refs)}.values())


def expect_write(project: Project, store: Store) -> None:
    """Have the index there before a write, so that it knows the lines of *store*, and can say what changes."""
    if store.place.directory.is_dir():  # else the write makes it, and the index may belong there
        with suppress(MemsyncError):
            store.known = project.finder.file.known_of(store.place.scope)


def prepare_write(project: Project, store: Store) -> None:
    """Have *store* read: in a large one that takes long, so it is done before others must wait for us."""
    expect_write(project, store)
    store.refresh()
    store.by_hash("")


def expect_edit(project: Project, scope: Scope | None) -> None:
    """Have the lines of the store of *scope*, or of all, known by the index: one memory among them is about to be changed."""
    for store in [project.store(scope)] if scope else project.stores.values():
        expect_write(project, store)


def forget(project: Project, ref: str, scope: Scope | None, *, keep: bool = True, was: Memory | None = None) -> Entry:
    """Remove the memory that *ref* names, and return it; `Project.forget` says more."""
    if keep:  # else the index goes, too
        expect_edit(project, scope)
    entry = get_own(project, ref, scope)
    store = project.store_to_write(entry.scope)
    with store.writing():
        old = get_live(store, entry.id, was)
        store.remove([old.id], tick(project.clock(), old.written_at), keep=keep)
    return entry


def restore(project: Project, ref: str, scope: Scope | None) -> Remembered:
    """Bring an archived or replaced memory back; `Project.restore` says more."""
    if archived := _find_archived(project, ref, scope):
        return unarchive(project, archived)
    stores: Mapping[Scope, Store] = {scope: project.store(scope)} if scope else project.stores
    live = {id_: where for where, store in project.stores.items() for id_ in store.memories()}
    earlier = {
        where: {id_: raw for id_, raw in store.replaced().items() if live.get(id_, where) == where}
        for where, store in stores.items()
    }
    id_ = find_id(ref, (id_ for lines in earlier.values() for id_ in lines))
    where = next(where for where, lines in earlier.items() if id_ in lines)
    store = project.store_to_write(where)
    with store.writing():
        now = store.get(id_)
        if before := decode(store.replaced().get(id_, b"")).memory:
            project.vetting.vet(before, where)
            refuse_copy(store, id_, before.content)
        store.restore(id_, tick(project.clock(), now.written_at if now else None))
        memory = get_live(store, id_)
    reason = "its earlier version is back" if now else "it is back"
    return Remembered(status="updated", entry=record_entry(project, where, memory, "updated"), reason=reason)


def _find_archived(project: Project, ref: str, scope: Scope | None) -> Entry | None:
    try:
        entry = get_own(project, ref, scope)
    except (MemoryNotFound, AmbiguousId):
        return None
    return entry if entry.memory.archived_at else None
