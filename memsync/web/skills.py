"""The pages of skills: what they show, and what their forms do."""

from __future__ import annotations

from typing import Final

from memsync.errors import Changed, MemsyncError
from memsync.learn.candidates import Candidates
from memsync.memories.project import Project
from memsync.records import SCOPES, Scope
from memsync.skills import check
from memsync.skills.entries import SkillEntry
from memsync.system.texts import one_line
from memsync.web import pages
from memsync.web.desk import Done, Given, Page, Routes, Undo, plain_lines

routes = Routes()
_FIELDS: Final = ("name", "description", "instructions", "trigger_pattern", "tags")


@routes.reads("/skills")
def show_list(project: Project, given: Given) -> Page:
    """Return the page *Skills*: all of them, or those that answer a query, and how many wait for approval."""
    query = given.get("q")
    view = {
        "query": query,
        "skills": [(entry, _link_to(entry)) for entry in project.skills.list(query)],
        "waiting": len(Candidates(project).skills()),
        "command": pages.command("skill", "search", text=query) if query else pages.command("skill", "list"),
    }
    return Page("skills.html", view)


def _link_to(entry: SkillEntry) -> str:
    return pages.address("/skills/one", {"name": entry.name, "scope": entry.scope})


def find_skill(project: Project, given: Given) -> SkillEntry:
    """Return the skill that a page or a form names.

    Raises:
        SkillNotFound, AmbiguousSkill, NoStore
    """
    return project.skills.get(given.raw("ref") or given.raw("name"), _read_scope(given))


def _read_scope(given: Given) -> Scope | None:
    return next((one for one in SCOPES if one == given.get("scope")), None)


@routes.reads("/skills/one")
def show_skill(project: Project, given: Given) -> Page:
    """Return the page of one skill."""
    return _skill_page(project, find_skill(project, given))


def _skill_page(
    project: Project, entry: SkillEntry, said: dict[str, str] | None = None, error: Exception | str = ""
) -> Page:
    data, _ = project.skills.stores[entry.scope].read(entry.name)
    view = {"entry": entry, "problems": check.check(data, entry.name), "url": _link_to(entry)}
    return Page("skill.html", {**view, "values": said or _values_of(entry)}, error)


def _values_of(entry: SkillEntry) -> dict[str, str]:
    """Return what the form of *entry* holds before anybody types."""
    skill = entry.skill
    return {
        "name": skill.name,
        "description": skill.description,
        "instructions": plain_lines(skill.instructions),
        "trigger_pattern": skill.trigger_pattern,
        "tags": ", ".join(skill.tags),
    }


@routes.writes("/skills/edit")
def edit(project: Project, given: Given) -> Done | Page:
    """Change the fields of a skill that were changed in its form."""
    entry = find_skill(project, given)
    said = {name: given.raw(name) for name in _FIELDS}
    try:
        return _write_edit(project, entry, said, given.get("was"))
    except MemsyncError as error:
        return _skill_page(project, find_skill(project, given), said, error)


def _write_edit(project: Project, entry: SkillEntry, said: dict[str, str], was: str) -> Done:
    changed = {name: value for name, value in said.items() if value != _values_of(entry)[name]}
    new = project.skills.update(
        entry.name,
        name=changed.get("name"),
        description=changed.get("description"),
        instructions=changed.get("instructions"),
        trigger_pattern=changed.get("trigger_pattern"),
        tags=changed["tags"].split(",") if "tags" in changed else None,
        scope=entry.scope,
        was=was,
    )
    command = pages.command(
        "skill",
        "update",
        text=entry.name,
        name=changed.get("name"),
        description=changed.get("description"),
        trigger=changed.get("trigger_pattern"),
        tags=changed.get("tags"),
        instructions="-" if "instructions" in changed else None,
        was=was,
    )
    undo = _make_undo(new) if changed and new.name == entry.name else None
    return Done(f"{', '.join(changed) or 'nothing'} changed in {new.name}", _link_to(new), [command], undo)


def _make_undo(entry: SkillEntry) -> Undo:
    return Undo("/skills/restore", {"name": entry.name, "scope": entry.scope, "was": entry.version})


@routes.reads("/skills/new")
def show_new(_: Project, given: Given) -> Page:
    """Return the form for a new skill."""
    return Page("skill_new.html", {"values": {name: given.raw(name) for name in _FIELDS}})


@routes.writes("/skills/new")
def create(project: Project, given: Given) -> Done | Page:
    """Write a new skill."""
    said = {name: given.raw(name) for name in _FIELDS}
    try:
        entry = project.skills.create(
            said["name"].strip(),
            said["instructions"],
            description=said["description"].strip() or None,
            trigger_pattern=said["trigger_pattern"].strip(),
            tags=said["tags"].split(","),
        )
    except MemsyncError as error:
        return Page("skill_new.html", {"values": said}, error)
    command = pages.command(
        "skill",
        "add",
        text=entry.name,
        description=entry.skill.description,
        trigger=entry.skill.trigger_pattern or None,
        tags=",".join(entry.skill.tags) or None,
        instructions="-",
    )
    undo = Undo("/skills/delete", {"ref": entry.name, "scope": entry.scope, "was": entry.version})
    return Done(f"created the skill {entry.name}", _link_to(entry), [command], undo)


@routes.writes("/skills/delete")
def delete(project: Project, given: Given) -> Done:
    """Move a skill to the local trash."""
    entry = find_skill(project, given)
    _refuse_changed(entry, given)
    project.skills.delete(entry.name, entry.scope)
    undo = Undo("/skills/restore", {"name": entry.name, "scope": entry.scope, "was": ""})
    return Done(f"deleted the skill {entry.name}", "/skills", [pages.command("skill", "delete", text=entry.name)], undo)


@routes.writes("/skills/restore")
def restore(project: Project, given: Given) -> Done:
    """Undo the last change or removal of a skill."""
    name = given.get("name")
    if given.get("was"):
        _refuse_changed(find_skill(project, given), given)
    elif any(entry.name == name for entry in project.skills.list() if entry.scope == given.get("scope")):
        raise Changed(one_line(name, 64))  # somebody else has made one of that name since
    entry = project.skills.restore(name, _read_scope(given))
    command = pages.command("skill", "restore", text=name)
    return Done(f"{entry.name} is as it was before", _link_to(entry), [command], _make_undo(entry))


def _refuse_changed(entry: SkillEntry, given: Given) -> None:
    if entry.version != given.get("was"):
        raise Changed(entry.name)
