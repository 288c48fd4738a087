"""The pages of skills: what they show, and what their forms do."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from memsync.errors import Changed, MemsyncError
from memsync.learn.candidates import Candidates
from memsync.memories.project import Project
from memsync.records import SCOPES, Scope
from memsync.skills import check
from memsync.skills.entries import SkillEntry
from memsync.system.texts import one_line
from memsync.web import spell
from memsync.web.desk import Done, Given, Page, Undo, plain_lines, status_of

_FIELDS: Final = ("name", "description", "instructions", "trigger_pattern", "tags")


def show_list(project: Project, given: Given) -> Page:
    """Return the page *Skills*: all of them, or those that answer a query, and what waits for approval."""
    query = given.get("q")
    command = spell.command("skill", "search", *spell.content(query)) if query else spell.command("skill", "list")
    waiting = Candidates(project)
    view = {
        "query": query,
        "skills": [(entry, link_to(entry)) for entry in project.skills.list(query)],
        "candidates": [
            (name, diff, _version_of(diff)) for name in waiting.skills() for diff in [waiting.skill_diff(name)]
        ],
        "command": command,
    }
    return Page("skills.html", view)


def link_to(entry: SkillEntry) -> str:
    """Return the address of the page of *entry*."""
    return spell.address("/skills/one", {"name": entry.name, "scope": entry.scope})


def find_skill(project: Project, given: Given) -> SkillEntry:
    """Return the skill that a page or a form names.

    Raises:
        SkillNotFound, AmbiguousSkill, NoStore
    """
    return project.skills.get(given.raw("ref") or given.raw("name"), _read_scope(given))


def _read_scope(given: Given) -> Scope | None:
    return next((one for one in SCOPES if one == given.get("scope")), None)


def show_skill(project: Project, given: Given) -> Page:
    """Return the page of one skill."""
    return _skill_page(project, find_skill(project, given))


def _skill_page(
    project: Project, entry: SkillEntry, said: dict[str, str] | None = None, error: str = "", status: int = 200
) -> Page:
    data, _ = project.skills.stores[entry.scope].read(entry.name)
    problems = check.check(data, entry.name)
    values = said or _values_of(entry)
    view = {"entry": entry, "problems": problems, "values": values, "error": error, "url": link_to(entry)}
    return Page("skill.html", view, status)


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


def edit(project: Project, given: Given) -> Done | Page:
    """Change the fields of a skill that were changed in its form."""
    entry = find_skill(project, given)
    said = {name: given.raw(name) for name in _FIELDS}
    try:
        return _write_edit(project, entry, said, given.get("was"))
    except MemsyncError as error:
        return _skill_page(project, find_skill(project, given), said, str(error), status_of(error))


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
    words = [*spell.option("name", changed.get("name")), *spell.option("description", changed.get("description"))]
    words += [*spell.option("trigger", changed.get("trigger_pattern")), *spell.option("tags", changed.get("tags"))]
    words += ["--instructions", "-"] if "instructions" in changed else []
    command = spell.command("skill", "update", *words, "--was", was, *spell.content(entry.name))
    undo = _make_undo(new) if changed and new.name == entry.name else None
    return Done(f"{', '.join(changed) or 'nothing'} changed in {new.name}", link_to(new), [command], undo)


def _make_undo(entry: SkillEntry) -> Undo:
    return Undo("/skills/restore", {"name": entry.name, "scope": entry.scope, "was": entry.version})


def show_new(_: Project, given: Given) -> Page:
    """Return the form for a new skill."""
    return Page("skill_new.html", {"values": {name: given.raw(name) for name in _FIELDS}, "error": ""})


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
        return Page("skill_new.html", {"values": said, "error": str(error)}, status_of(error))
    options = [*spell.option("description", entry.skill.description)]
    options += spell.option("trigger", entry.skill.trigger_pattern or None)
    options += spell.option("tags", ",".join(entry.skill.tags) or None)
    command = spell.command("skill", "add", *options, "--instructions", "-", entry.name)
    undo = Undo("/skills/delete", {"ref": entry.name, "scope": entry.scope, "was": entry.version})
    return Done(f"created the skill {entry.name}", link_to(entry), [command], undo)


def delete(project: Project, given: Given) -> Done:
    """Move a skill to the local trash."""
    entry = find_skill(project, given)
    _refuse_changed(entry, given)
    project.skills.delete(entry.name, entry.scope)
    undo = Undo("/skills/restore", {"name": entry.name, "scope": entry.scope, "was": ""})
    return Done(
        f"deleted the skill {entry.name}",
        "/skills",
        [spell.command("skill", "delete", *spell.content(entry.name))],
        undo,
    )


def restore(project: Project, given: Given) -> Done:
    """Undo the last change or removal of a skill."""
    name = given.get("name")
    if given.get("was"):
        _refuse_changed(find_skill(project, given), given)
    elif any(entry.name == name for entry in project.skills.list() if entry.scope == given.get("scope")):
        raise Changed(one_line(name, 64))  # somebody else has made one of that name since
    entry = project.skills.restore(name, _read_scope(given))
    return Done(
        f"{entry.name} is as it was before",
        link_to(entry),
        [spell.command("skill", "restore", *spell.content(name))],
        _make_undo(entry),
    )


def _refuse_changed(entry: SkillEntry, given: Given) -> None:
    if entry.version != given.get("was"):
        raise Changed(entry.name)


def approve(project: Project, given: Given) -> Done:
    """Write a candidate into the repository."""
    waiting, name = Candidates(project), given.get("name")
    _refuse_other(waiting, given)
    entry = waiting.approve_skill(name)
    return Done(
        f"approved the skill {entry.name}", link_to(entry), [spell.command("skill", "approve", *spell.content(name))]
    )


def reject(project: Project, given: Given) -> Done:
    """Drop a candidate."""
    waiting, name = Candidates(project), given.get("name")
    _refuse_other(waiting, given)
    waiting.reject_skill(name)
    return Done(
        f"rejected the skill {one_line(name, 64)}", "/skills", [spell.command("skill", "reject", *spell.content(name))]
    )


def _refuse_other(waiting: Candidates, given: Given) -> None:
    """Refuse to decide about a candidate that is not the one that was on the screen."""
    if _version_of(waiting.skill_diff(given.get("name"))) != given.get("was"):
        raise Changed(one_line(given.get("name"), 64))


def _version_of(diff: str) -> str:
    return sha256(diff.encode("utf-8", "surrogatepass")).hexdigest()
