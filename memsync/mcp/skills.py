"""The tools on skills: Gobby's names and parameters, and what the command line has beyond them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from memsync.errors import UsageError
from memsync.mcp.parameters import Limit, Tags, Target, Where, resolve_inside
from memsync.mcp.tool import ADD, ASK, COUNT, OVERWRITE, READ, Offer
from memsync.memories.events import notes
from memsync.memories.log import skill_events
from memsync.memories.project import Project
from memsync.memories.results import as_json
from memsync.skills.entries import SkillEntry, list_skill_entries

Ref = Annotated[str, Field(description="Its name or id.")]
SkillName = Annotated[str, Field(description="Such as run-tests.")]
Instructions = Annotated[str, Field(description="Steps in Markdown, or a whole SKILL.md.")]
Trigger = Annotated[str | None, Field(description="A regular expression for prompts it is for.")]
Description = Annotated[str | None, Field(description="What it does and when to use it.")]

_NEXT: Final = (
    "write better instructions by the digest and call learn_skill with them, "
    "or let the user look at the draft and run `memsync skill approve {name}`"
)
_OPTIONS: Final = {
    "--from-session": "session",
    "--transcript": "instructions that you write yourself",
    "--description": "as the first line of the instructions",
}


def list_skills(
    project: Project,
    query: Annotated[str | None, Field(description="Only those that answer it, best first.")] = None,
    limit: Limit = 20,
    scope: Where = None,
) -> Mapping[str, Any]:
    """List skills: how things are done in this project, without the instructions."""
    return list_skill_entries(project.skills.list(query, scope=scope, limit=limit))


def search_skills(project: Project, query: str, limit: Limit = 5, scope: Where = None) -> Mapping[str, Any]:
    """Find the skills for a task; none if none fits."""
    return {"query": query, **list_skill_entries(project.skills.search(query, scope=scope, limit=limit))}


def get_skill(project: Project, skill_id: Ref, scope: Where = None) -> SkillEntry:
    """Show one skill whole. To work by it use apply_skill."""
    return project.skills.get(skill_id, scope)


def apply_skill(
    project: Project,
    skill_id: Ref,
    outcome: Annotated[Literal["success", "failure"] | None, Field(description="How it went.")] = None,
    scope: Where = None,
) -> SkillEntry:
    """Get the instructions of a skill to work by; call it again with the outcome."""
    result = {"success": True, "failure": False}[outcome] if outcome else None
    return project.skills.apply(skill_id, outcome=result, scope=scope)


def create_skill(
    project: Project,
    name: SkillName,
    instructions: Instructions,
    description: Description = None,
    trigger_pattern: Trigger = None,
    tags: Tags = None,
    *,
    scope: Target = None,
) -> Mapping[str, Any]:
    """Write down how something is done here: steps that worked."""
    entry = project.skills.create(
        name, instructions, description=description, trigger_pattern=trigger_pattern or "", tags=tags or (), scope=scope
    )
    return {"status": "created", "skill": entry}


def learn_skill(
    project: Project,
    name: SkillName,
    instructions: Annotated[
        str | None, Field(description="What it does and when to use it, in one line; below it the steps.")
    ] = None,
    session: Annotated[str | None, Field(description="The id of another session than this one.")] = None,
    *,
    from_session: Annotated[bool, Field(description="Draft it from what was done in the session.")] = True,
    no_llm: Annotated[bool, Field(description="Let no model draft it.")] = False,
) -> Mapping[str, Any]:
    """Learn a skill: with instructions it is written; without, the session's commands, fixes and corrections come back.

    From these write better instructions than the draft that comes with them,
    and call it again with them. Until then the draft waits for the user.
    """
    from memsync.learn.lessons import learn_skill as learn

    if instructions is None and not from_session:
        raise UsageError("there is nothing to learn from; give instructions, or from_session: true")
    done: Mapping[str, Any] = as_json(
        learn(
            project,
            name,
            session=session,
            instructions=instructions,
            approve=instructions is not None,
            use_model=not no_llm,
        )
    )
    return {**done, "next": done["next"] and _NEXT.format(name=name)}


def update_skill(  # noqa: PLR0913, PLR0917 - what a skill has, and what was read of it
    project: Project,
    skill_id: Ref,
    name: Annotated[str | None, Field(description="The new name.")] = None,
    instructions: Annotated[str | None, Field(description="The new instructions, whole.")] = None,
    trigger_pattern: Trigger = None,
    description: Description = None,
    tags: Annotated[Tags, Field(description="The new tags, in place of all old ones.")] = None,
    scope: Where = None,
    was: Annotated[
        str | None, Field(description="The version that you have read; refuse if the skill is another by now.")
    ] = None,
) -> Mapping[str, Any]:
    """Change what is given of one skill, and nothing else. restore_skill takes it back."""
    entry = project.skills.update(
        skill_id,
        name=name,
        instructions=instructions,
        trigger_pattern=trigger_pattern,
        description=description,
        tags=tags,
        scope=scope,
        was=was,
    )
    return {"status": "updated", "skill": entry}


def delete_skill(project: Project, skill_id: Ref, scope: Where = None) -> Mapping[str, Any]:
    """Remove one skill with all its files. restore_skill brings it back."""
    return {"deleted": [project.skills.delete(skill_id, scope).as_dict(whole=False)]}


def restore_skill(project: Project, name: str, scope: Where = None) -> Mapping[str, Any]:
    """Undo the last update or removal of a skill; twice is redo."""
    return {"status": "restored", "skill": project.skills.restore(name, scope)}


def validate_skills(
    project: Project,
    skill_ids: Annotated[list[str] | None, Field(description="Only these; all if left out.")] = None,
    *,
    fix: Annotated[bool, Field(description="Repair what is safe.")] = False,
) -> Mapping[str, Any]:
    """Check skills as the clients that load them do."""
    found = project.skills.validate(skill_ids or (), fix=fix)
    return {"valid": all(one.is_valid for one in found), "skills": found}


def export_skills(
    project: Project,
    directory: Annotated[
        str | None, Field(description="A directory of this project; .claude/skills if left out.")
    ] = None,
    *,
    force: Annotated[bool, Field(description="Replace files that differ.")] = False,
    scope: Where = None,
) -> Mapping[str, Any]:
    """Copy the skills of the project or of one store with all their files. The project's own are in .claude/skills already, where clients find them."""
    into = None if directory is None else resolve_inside(project, directory)
    copied = project.skills.export(into, scope=scope, force=force)
    return {"exported": [entry.path.parent for entry in copied]}


def skill_history(
    project: Project, name: Annotated[str, Field(description="Its name, also of one that is gone.")]
) -> Mapping[str, Any]:
    """Show which commits changed a skill of the project, newest first, and which lines."""
    return {"name": name, "events": skill_events(project, name), "notes": notes(project)}


def skill_stats(project: Project) -> Mapping[str, Any]:
    """Count skills and how they were used on this machine."""
    return project.skills.stats()


OFFERS: Final = (
    Offer("skill list", list_skills, "List skills", READ),
    Offer("skill search", search_skills, "Search skills", READ),
    Offer("skill show", get_skill, "Show a skill", READ),
    Offer("skill apply", apply_skill, "Apply a skill", COUNT),
    Offer("skill add", create_skill, "Create a skill", ADD),
    Offer("skill learn", learn_skill, "Learn a skill", ASK, _OPTIONS, slow=True),
    Offer("skill update", update_skill, "Update a skill", ADD),
    Offer("skill delete", delete_skill, "Delete a skill", ADD),
    Offer("skill restore", restore_skill, "Restore a skill", COUNT),
    Offer("skill validate", validate_skills, "Validate skills", OVERWRITE),
    Offer("skill export", export_skills, "Export skills", OVERWRITE),
    Offer("skill history", skill_history, "History of a skill", READ),
    Offer("skill stats", skill_stats, "Skill statistics", READ),
)
