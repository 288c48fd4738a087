"""What the forms about memories do: one call each, after a look whether each memory is still what was on the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from memsync.errors import AmbiguousId, Changed, InvalidMemory, MemoryNotFound, MemsyncError, Remedy, UsageError
from memsync.janitor import deciding
from memsync.memories import events, sharing, undoing
from memsync.memories.anchors import parse
from memsync.memories.project import Project
from memsync.memories.results import RELATIONS, Entry, Remembered
from memsync.records import DEFAULT_TYPE, FIELDS, SCOPES, Memory, Scope, clean_importance, clean_tags, sent_id, short_id
from memsync.system.texts import count, one_line
from memsync.web import pages
from memsync.web.desk import Done, Given, Page, Routes, Undo, fail
from memsync.web.memories import LISTS, Row, find_entry, record_page, values_of, version_of
from memsync.web.shelf import Shelf

routes = Routes()
_FIELDS: Final = ("content", "type", "importance", "tags", *LISTS, "private", "supersedes")


def find_unchanged(project: Project, given: Given) -> Entry:
    """Return the memory that a form names, if it is still the version that the form was made from.

    Raises:
        Changed, MemoryNotFound, AmbiguousId, NoStore
    """
    entry = find_entry(project, given)
    if version_of(entry.memory) != given.get("was"):
        raise Changed(short_id(entry.id))
    return entry


@routes.writes("/memory/edit", Shelf)
def edit(shelf: Shelf, project: Project, given: Given) -> Done | Page:
    """Change the fields of a memory that were changed in its form."""
    try:
        entry = find_entry(project, given)
    except MemoryNotFound as error:
        return fail(error, given.raw("content"))
    said = {name: given.raw(name, was) for name, was in values_of(entry.memory).items()}
    try:
        return _write_edit(project, find_unchanged(project, given), said)
    except MemsyncError as error:
        return record_page(shelf, project, project.get(entry.id, entry.scope), said=said, error=error)


def _write_edit(project: Project, entry: Entry, said: dict[str, str]) -> Done:
    changed = {name: value for name, value in said.items() if value != values_of(entry.memory)[name]}
    content, kind, importance, tags = (changed.get(name) for name in ("content", "type", "importance", "tags"))
    result = project.update(
        entry.id,
        content=content,
        memory_type=kind,
        importance=None if importance is None else read_importance(importance),
        tags=None if tags is None else tags.split(","),
        scope=entry.scope,
        was=entry.memory,
        **_read_lists(changed),
    )
    fields = {"content": content, "type": kind, "importance": importance, "tags": tags, **_name_lists(changed)}
    command = pages.command("memory", "update", text=entry.id, **fields)
    return tell(f"{result.status} {short_id(entry.id)}: {result.reason}", result, [command], undo="restore")


def _read_lists(said: Mapping[str, str]) -> dict[str, Any]:
    """Return the lists of the form, whose entries have a line each."""
    return {name: said[name].split("\n") for name in LISTS if name in said}


def _name_lists(said: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the lists of the form by their options; one that is empty takes out all that was there."""
    return {one.one: said[one.name].strip().split("\n") for one in FIELDS if one.name in LISTS and one.name in said}


def read_importance(text: str) -> float:
    """Return the number that somebody typed.

    Raises:
        InvalidMemory
    """
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        raise InvalidMemory(f"importance {one_line(text, 20)!r} is not a number from 0 to 1") from None


def tell(said: str, result: Remembered, commands: Sequence[str], undo: str = "") -> Done:
    """Return what a write did, what else is much like it, and how to take it back by the form *undo*."""
    entry = result.entry
    also = [
        f"{RELATIONS[other.relation]} {short_id(other.id)} ({other.reason}): {one_line(other.content, 200)}"
        for other in result.similar
        if other.relation in RELATIONS
    ]
    also += [f"compared by words only, because {result.degraded}"] if result.degraded else []
    back = make_undo(undo, entry) if undo and result.status != "exists" else None
    return Done(said, pages.link_to(entry), commands, back, also)


def make_undo(path: str, entry: Entry) -> Undo:
    """Return the form that undoes a write, as long as *entry* stays what it became."""
    return Undo(f"/memory/{path}", {"id": sent_id(entry.id), "scope": entry.scope, "was": version_of(entry.memory)})


@routes.reads("/memory/new", Shelf)
def show_new(shelf: Shelf, project: Project, given: Given) -> Page:
    """Return the form for a new memory, which begins as the one that it supersedes: no text is in an address, which browsers keep."""
    said = {name: given.raw(name) for name in _FIELDS}
    if said["supersedes"] and not said["content"]:
        with suppress(MemoryNotFound, AmbiguousId):
            said |= values_of(_unpin(find_entry(project, given, "supersedes").memory)) | {"importance": ""}
    return _new_page(shelf, project, said)


def _unpin(memory: Memory) -> Memory:
    """Return *memory* anchored to its places whatever they hold: they are as they should be for the one that is written now."""
    return memory._replace(anchors=tuple(str(parse(text)._replace(blob="")) for text in memory.anchors))


def _new_page(shelf: Shelf, project: Project, said: dict[str, str], error: Exception | str = "") -> Page:
    values = {**said, "type": said["type"] or DEFAULT_TYPE}
    return Page("new.html", {"values": values, "types": shelf.look(project).choices.types, "lists": LISTS}, error)


@routes.writes("/memory/new", Shelf)
def create(shelf: Shelf, project: Project, given: Given) -> Done | Page:
    """Remember a new text, which may supersede a memory."""
    said = {name: given.raw(name) for name in _FIELDS}
    try:
        return _write_new(project, said)
    except MemsyncError as error:
        return _new_page(shelf, project, said, error)


def _write_new(project: Project, said: dict[str, str]) -> Done:
    importance, old = said["importance"].strip(), said["supersedes"].split()
    scope: Scope | None = "private" if said["private"] else None
    result = project.remember(
        said["content"],
        memory_type=said["type"],
        importance=read_importance(importance) if importance else None,
        tags=said["tags"].split(","),
        scope=scope,
        supersedes=old,
        **_read_lists(said),
    )
    fields = {"type": said["type"], "importance": importance or None, "tags": said["tags"].strip() or None}
    lists = _name_lists({name: said[name] for name in LISTS if said[name].strip()})
    options = {**fields, "private": bool(scope), **lists, "supersedes": old}
    command = pages.command("memory", "remember", text=said["content"], **options)
    why = f" ({result.reason})" if result.reason else ""
    done = tell(f"{result.status}{why}: {short_id(result.entry.id)}", result, [command])
    return done if result.status == "exists" else done._replace(undo=offer(project))


@routes.writes("/memory/supersede")
def supersede(project: Project, given: Given) -> Done:
    """Let a memory stand for another from now on, which is archived."""
    entry = find_unchanged(project, given)
    old = given.get("other")
    result = project.update(entry.id, scope=entry.scope, supersedes=[old], was=entry.memory)
    command = pages.command("memory", "update", text=entry.id, supersedes=old)
    done = tell(f"{short_id(entry.id)} supersedes {one_line(old, 64)}, which is archived", result, [command])
    return done._replace(undo=offer(project))


@routes.writes("/memory/forget")
def forget(project: Project, given: Given) -> Done:
    """Remove a memory."""
    entry = find_unchanged(project, given)
    gone = project.forget(entry.id, entry.scope, was=entry.memory)
    undo = Undo("/memory/restore", {"id": sent_id(gone.id), "scope": gone.scope, "was": ""})
    return Done(f"forgot {short_id(gone.id)}", "/memories", [pages.command("memory", "forget", text=gone.id)], undo)


@routes.writes("/memory/restore")
def restore(project: Project, given: Given) -> Done:
    """Undo the last removal or change of a memory, or bring an archived one back."""
    ref, scope = given.raw("id"), given.get("scope")
    where = next((one for one in project.stores if one == scope), None)
    if given.get("was"):
        find_unchanged(project, given)
    else:
        project.stores.refresh()
        if any(store.get_sent(ref) for one, store in project.stores.items() if where in (None, one)):
            raise Changed(short_id(ref))  # somebody else has brought it back, and perhaps changed it since
    result = events.undo(project, ref, where)
    command = pages.command("memory", "restore", text=ref)
    return tell(f"{short_id(result.entry.id)}: {result.reason}", result, [command])


@routes.writes("/memory/share")
def share(project: Project, given: Given) -> Done:
    """Move a private memory into the project."""
    (moved,) = sharing.share(project, [find_unchanged(project, given).id])
    command = pages.command("memory", "share", text=moved.id)
    return Done(f"shared {short_id(moved.id)}", pages.link_to(moved), [command], make_undo("unshare", moved))


@routes.writes("/memory/unshare")
def unshare(project: Project, given: Given) -> Done:
    """Move a memory of the project out of the work tree."""
    (moved,) = sharing.unshare(project, [find_unchanged(project, given).id])
    kept = ["git keeps what was committed of it; commit the removal"] if sharing.is_committed(project, moved.id) else []
    command = pages.command("memory", "unshare", text=moved.id)
    said = f"{short_id(moved.id)} is private now"
    return Done(said, pages.link_to(moved), [command], make_undo("share", moved), kept)


@routes.writes("/memory/approve")
def approve(project: Project, given: Given) -> Done:
    """Let agents be given a flagged memory: somebody has read it on this page."""
    entry = find_unchanged(project, given)
    project.screening.approve(entry)
    command = pages.command("memory", "approve", "--yes", text=entry.id)
    return Done(f"approved {short_id(entry.id)}", pages.link_to(entry), [command], make_undo("revoke", entry))


@routes.writes("/memory/revoke")
def revoke(project: Project, given: Given) -> Done:
    """Let a flagged memory wait again."""
    entry = find_unchanged(project, given)
    project.screening.revoke(entry)
    command = pages.command("memory", "approve", "--revoke", text=entry.id)
    return Done(f"{short_id(entry.id)} waits again", pages.link_to(entry), [command])


def offer(project: Project) -> Undo:
    """Return the form that takes back what is being written: the command after that which is the last one now."""
    return Undo("/undo", {"after": _name_last(project, 0)})


def _name_last(project: Project, number: int) -> str:
    return next((one.at for one in undoing.list_commands(project)[number:]), "")


@routes.writes("/undo")
def take_back(project: Project, given: Given) -> Done:
    """Undo the last command, if it is the one that the form was made for."""
    if not undoing.list_commands(project) or _name_last(project, 1) != given.get("after"):
        why = "something else was written since, so nothing was taken back; "
        raise MemsyncError(why, Remedy("undo", "--list"), " shows what")
    done = deciding.undo_command(project)
    changed = len(done.brought) + len(done.removed)
    return Done(f"took it back: {count(changed, 'memory')} as before", "/memories", [pages.command("undo")])


class Action(NamedTuple):
    """A change of many: what it would make of one memory ("": nothing), and doing it; `takes` names the value that it needs."""

    name: str
    plan: Callable[[Entry, str], str]
    do: Callable[[Project, Entry, str], object]
    spell: Callable[[Entry, str], str]
    takes: str = ""


def _with_tag(entry: Entry, tag: str) -> list[str]:
    return list(dict.fromkeys((*entry.memory.tags, *clean_tags(tag.split(",")))))


def _without_tag(entry: Entry, tag: str) -> list[str]:
    gone = {one.lower() for one in clean_tags(tag.split(","))}
    return [one for one in entry.memory.tags if one.lower() not in gone]


def _retag(
    tags: Callable[[Entry, str], list[str]],
) -> tuple[Callable[[Entry, str], str], Callable[[Project, Entry, str], object], Callable[[Entry, str], str]]:
    def plan(entry: Entry, value: str) -> str:
        new = tags(entry, value)
        return f"tags: {', '.join(new) or 'none'}" if new != list(entry.memory.tags) else ""

    def do(project: Project, entry: Entry, value: str) -> object:
        return project.update(entry.id, tags=tags(entry, value), scope=entry.scope, was=entry.memory)

    def spell(entry: Entry, value: str) -> str:
        return pages.command("memory", "update", text=entry.id, tags=",".join(tags(entry, value)))

    return plan, do, spell


def _plan_importance(entry: Entry, value: str) -> str:
    new = clean_importance(read_importance(value))
    return f"importance {entry.memory.importance:g} → {new:g}" if new != entry.memory.importance else ""


ACTIONS: Final[Mapping[str, Action]] = {
    "tag": Action("Add tags", *_retag(_with_tag), "tags"),
    "untag": Action("Remove tags", *_retag(_without_tag), "tags"),
    "importance": Action(
        "Set importance",
        _plan_importance,
        lambda project, entry, value: project.update(
            entry.id, importance=read_importance(value), scope=entry.scope, was=entry.memory
        ),
        lambda entry, value: pages.command("memory", "update", text=entry.id, importance=value),
        "number",
    ),
    "share": Action(
        "Share",
        lambda entry, _: "into the project, where it can be committed" if entry.scope != "project" else "",
        lambda project, entry, _: sharing.bring(project, [entry]),
        lambda entry, _: pages.command("memory", "share", text=entry.id),
    ),
    "unshare": Action(
        "Make private",
        lambda entry, _: "out of the work tree" if entry.scope != "private" else "",
        lambda project, entry, _: sharing.move(project, [entry], "private"),
        lambda entry, _: pages.command("memory", "unshare", text=entry.id),
    ),
    "forget": Action(
        "Forget",
        lambda *_: "removed; `memsync memory restore` brings it back",
        lambda project, entry, _: project.forget(entry.id, entry.scope, was=entry.memory),
        lambda entry, _: pages.command("memory", "forget", text=entry.id),
    ),
}


@routes.writes("/bulk")
def preview(project: Project, given: Given) -> Page:
    """Return what the chosen change would do to each chosen memory; nothing is written."""
    action, value = _read_action(given)
    chosen = _read_picks(project, given)
    steps = [(Row(one), what, action.spell(one, value)) for one in chosen if (what := action.plan(one, value))]
    same = len(chosen) - len(steps)
    return Page("bulk.html", {"action": action, "do": given.get("do"), "value": value, "steps": steps, "same": same})


@routes.writes("/bulk/do")
def apply(project: Project, given: Given) -> Done:
    """Do what was previewed. What cannot be done is told, and the rest is done."""
    action, value = _read_action(given)
    chosen = [entry for entry in _read_picks(project, given) if action.plan(entry, value)]
    refused = []
    for entry in chosen:
        try:
            action.do(project, entry, value)
        except MemsyncError as error:
            refused.append(f"{short_id(entry.id)}: {error}")
    commands = [action.spell(entry, value) for entry in chosen]
    said = f"{action.name}: {len(chosen) - len(refused)} of {len(chosen)} done"
    is_any = len(refused) < len(chosen)
    return Done(said, "/memories", commands, offer(project) if is_any else None, also=refused)


def _read_action(given: Given) -> tuple[Action, str]:
    action, value = ACTIONS.get(given.get("do")), given.get("value")
    if action is None:
        raise UsageError("choose what to do with the chosen memories")
    if action.takes and not value:
        raise UsageError(f"{action.name}: give the {action.takes}")
    return action, value


def _read_picks(project: Project, given: Given) -> list[Entry]:
    """Return the chosen memories.

    Raises:
        Changed, MemoryNotFound: one is no longer what was on the screen.
    """
    project.stores.refresh()
    chosen = []
    for pick in given.every("pick"):
        scope, was, id_ = [*pick.split(" ", 2), "", ""][:3]
        where = next((one for one in SCOPES if one == scope), None)
        store = project.stores.get(where) if where else None
        memory = store.get_sent(id_) if store else None
        if where is None or memory is None or version_of(memory) != was:
            raise Changed(short_id(id_))
        chosen.append(project.entry(where, memory))
    if not chosen:
        raise UsageError("no memory is chosen; tick some in the list first")
    return chosen
