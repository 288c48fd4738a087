"""What the forms about single memories do: one call each, after a look whether the memory is still what was on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from memsync.errors import AmbiguousId, Changed, InvalidMemory, MemoryNotFound, MemsyncError
from memsync.history import events
from memsync.memories import sharing
from memsync.memories.anchors import parse
from memsync.memories.project import Project
from memsync.memories.results import Entry, Remembered
from memsync.records import DEFAULT_TYPE, FIELDS, Memory, Scope, sent_id, shown_id
from memsync.system.texts import one_line
from memsync.web import pages
from memsync.web.desk import Done, Given, Page, Routes, Undo, fail
from memsync.web.memories import LISTS, find_entry, record_page, values_of, version_of
from memsync.web.shelf import Shelf
from memsync.web.undo import offer

routes = Routes()

_FIELDS: Final = ("content", "type", "importance", "tags", *LISTS, "private", "supersedes")
_TOLD: Final = {
    "contradicts": "contradicts",
    "duplicate": "is perhaps the same as",
    "contains": "perhaps says more than",
    "contained": "is perhaps a part of",
}


def find_unchanged(project: Project, given: Given) -> Entry:
    """Return the memory that a form names, if it is still the version that the form was made from.

    Raises:
        Changed, MemoryNotFound, AmbiguousId, NoStore
    """
    entry = find_entry(project, given)
    if version_of(entry.memory) != given.get("was"):
        raise Changed(shown_id(entry.id))
    return entry


@routes.writes("/memory/edit", Shelf)
def edit(shelf: Shelf, project: Project, given: Given) -> Done | Page:
    """Change the fields of a memory that were changed in its form."""
    try:
        entry = find_unchanged(project, given)
    except Changed as error:
        return fail(error, given.raw("content"), pages.link_to(find_entry(project, given)))
    except MemoryNotFound as error:
        return fail(error, given.raw("content"))
    said = {name: given.raw(name, was) for name, was in values_of(entry.memory).items()}
    try:
        return _write_edit(project, entry, said)
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
    options = [*pages.option("content", content), *pages.option("type", kind), *pages.option("importance", importance)]
    options += [*pages.option("tags", tags), *_spell_lists(changed)]
    words = ("memory", "update", *options, *pages.content(entry.id))
    return tell(
        f"{result.status} {shown_id(entry.id)}: {result.reason}", result, [pages.command(*words)], undo="restore"
    )


def _read_lists(said: Mapping[str, str]) -> dict[str, Any]:
    """Return the lists of the form, whose entries have a line each."""
    return {name: said[name].split("\n") for name in LISTS if name in said}


def _spell_lists(said: Mapping[str, str]) -> list[str]:
    """Return the options that give the lists of the form; one that is empty takes out all that was there."""
    lists = [field for field in FIELDS if field.name in LISTS and field.name in said]
    return [
        word for one in lists for line in said[one.name].strip().split("\n") for word in pages.option(one.one, line)
    ]


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
        f"{_TOLD[other.relation]} {shown_id(other.id)} ({other.reason}): {one_line(other.content, 200)}"
        for other in result.similar
        if other.relation in _TOLD
    ]
    also += [f"compared by words only, because {result.degraded}"] if result.degraded else []
    return Done(
        said,
        pages.link_to(entry),
        commands,
        make_undo(undo, entry) if undo and result.status != "exists" else None,
        also,
    )


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
    return Page("new.html", {"values": values, "types": shelf.choices(project).types, "lists": LISTS}, error)


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
    scope: Scope | None = "stealth" if said["private"] else None
    result = project.remember(
        said["content"],
        memory_type=said["type"],
        importance=read_importance(importance) if importance else None,
        tags=said["tags"].split(","),
        scope=scope,
        supersedes=old,
        **_read_lists(said),
    )
    options = [*pages.option("type", said["type"]), *pages.option("importance", importance or None)]
    options += [*pages.option("tags", said["tags"].strip() or None), *(["--private"] if scope else [])]
    options += _spell_lists({name: said[name] for name in LISTS if said[name].strip()})
    options += [word for id_ in old for word in ("--supersedes", id_)]
    command = pages.command("memory", "remember", *options, *pages.content(said["content"]))
    why = f" ({result.reason})" if result.reason else ""
    done = tell(f"{result.status}{why}: {shown_id(result.entry.id)}", result, [command])
    return done if result.status == "exists" else done._replace(undo=offer(project))


@routes.writes("/memory/supersede")
def supersede(project: Project, given: Given) -> Done:
    """Let a memory stand for another from now on, which is archived."""
    entry = find_unchanged(project, given)
    old = given.get("other")
    result = project.update(entry.id, scope=entry.scope, supersedes=[old], was=entry.memory)
    command = pages.command("memory", "update", "--supersedes", old, text=entry.id)
    done = tell(f"{shown_id(entry.id)} supersedes {one_line(old, 64)}, which is archived", result, [command])
    return done._replace(undo=offer(project))


@routes.writes("/memory/forget")
def forget(project: Project, given: Given) -> Done:
    """Remove a memory."""
    entry = find_unchanged(project, given)
    gone = project.forget(entry.id, entry.scope, was=entry.memory)
    undo = Undo("/memory/restore", {"id": sent_id(gone.id), "scope": gone.scope, "was": ""})
    return Done(f"forgot {shown_id(gone.id)}", "/", [pages.command("memory", "forget", text=gone.id)], undo)


@routes.writes("/memory/restore")
def restore(project: Project, given: Given) -> Done:
    """Undo the last removal or change of a memory, or bring an archived one back."""
    ref, scope = given.raw("id"), given.get("scope")
    where = next((one for one in project.stores if one == scope), None)
    if given.get("was"):
        find_unchanged(project, given)
    else:
        _refuse_there(project, ref, where)
    result = events.undo(project, ref, where)
    command = pages.command("memory", "restore", text=ref)
    return tell(f"{shown_id(result.entry.id)}: {result.reason}", result, [command])


def _refuse_there(project: Project, ref: str, scope: Scope | None) -> None:
    """Refuse to bring back what is there: somebody else has brought it back, and perhaps changed it since."""
    project.stores.refresh()
    if any(store.get_sent(ref) for where, store in project.stores.items() if scope in (None, where)):
        raise Changed(shown_id(ref))


@routes.writes("/memory/share")
def share(project: Project, given: Given) -> Done:
    """Move a private memory into the project."""
    (moved,) = sharing.share(project, [find_unchanged(project, given).id])
    command = pages.command("memory", "share", text=moved.id)
    return Done(f"shared {shown_id(moved.id)}", pages.link_to(moved), [command], make_undo("unshare", moved))


@routes.writes("/memory/unshare")
def unshare(project: Project, given: Given) -> Done:
    """Move a memory of the project out of the work tree."""
    (moved,) = sharing.unshare(project, [find_unchanged(project, given).id])
    kept = ["git keeps what was committed of it; commit the removal"] if sharing.is_committed(project, moved.id) else []
    command = pages.command("memory", "unshare", text=moved.id)
    return Done(
        f"{shown_id(moved.id)} is private now", pages.link_to(moved), [command], make_undo("share", moved), kept
    )


@routes.writes("/memory/approve")
def approve(project: Project, given: Given) -> Done:
    """Let agents be given a flagged memory: somebody has read it on this page."""
    entry = find_unchanged(project, given)
    project.screening.approve(entry)
    command = pages.command("memory", "approve", "--yes", text=entry.id)
    return Done(f"approved {shown_id(entry.id)}", pages.link_to(entry), [command], make_undo("revoke", entry))


@routes.writes("/memory/revoke")
def revoke(project: Project, given: Given) -> Done:
    """Let a flagged memory wait again."""
    entry = find_unchanged(project, given)
    project.screening.revoke(entry)
    command = pages.command("memory", "approve", "--revoke", text=entry.id)
    return Done(f"{shown_id(entry.id)} waits again", pages.link_to(entry), [command])
