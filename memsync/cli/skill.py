"""`memsync skill …`: parse, one call, render."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from memsync.cli import render_skill as render
from memsync.cli.app import Answer, cli, command
from memsync.cli.memory import read_text, split_tags
from memsync.cli.options import all_scopes_option, choose_scopes, scope_option, target_options
from memsync.errors import UsageError
from memsync.format.scopes import name_scope
from memsync.memories.project import Project
from memsync.records import Scope
from memsync.skills.entries import SkillEntry, list_skill_entries
from memsync.system.texts import read_utf8


@cli.group(homes=(("learn", "learn candidates approve reject"),))
def skill() -> None:
    """Find, write, check and share skills.

    A skill is instructions for agents, in .claude/skills/NAME/SKILL.md.
    """


_tags = click.option("--tag", "--tags", "tags", multiple=True, metavar="TAG", help="A tag, or several with commas.")
_instructions_help = 'A file with the instructions ("-": standard input).'


@command(skill)
@click.option("-q", "--query", metavar="TEXT", help="Only those that answer it, best first.")
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="How many at most.  [default: all]")
@scope_option
def list_(project: Project, /, query: str | None, limit: int | None, scope: Scope | None) -> Answer:
    """List the skills in reach.

    \b
    Examples:
      memsync skill list
      memsync skill list --query "run the tests"
    """
    project.skills.refuse_off()
    found = project.skills.list(query, scope=scope, limit=limit)
    return Answer(
        list_skill_entries(found), render.entries(found, none="no skills yet" if not query else "no skill fits")
    )


@command(skill)
@click.argument("query")
@click.option("-n", "--limit", type=click.IntRange(1), default=5, show_default=True, help="How many at most.")
@scope_option
def search(project: Project, /, query: str, limit: int, scope: Scope | None) -> Answer:
    """Find the skills that answer QUERY, by words, meaning or trigger.

    \b
    Example:
      memsync skill search "the build is red"
    """
    project.skills.refuse_off()
    found = project.skills.search(query, scope=scope, limit=limit)
    return Answer({"query": query, **list_skill_entries(found)}, render.entries(found, none="no skill fits"))


@command(skill)
@click.argument("ref", metavar="SKILL")
@scope_option
def show(project: Project, /, ref: str, scope: Scope | None) -> Answer:
    """Show one skill; SKILL is its name or id.

    \b
    Example:
      memsync skill show run-tests
    """
    entry = project.skills.get(ref, scope)
    return Answer(entry, render.whole(entry))


skill.add_command(show, "get")


@command(skill)
@click.argument("name")
@click.option("-i", "--instructions", metavar="FILE", required=True, help=_instructions_help)
@click.option(
    "-d",
    "--description",
    metavar="TEXT",
    help="What it does and when to use it.  [default: the first line, if it is no step]",
)
@click.option("--trigger", "trigger_pattern", metavar="REGEX", default="", help="What prompts it is for.")
@_tags
@target_options
def add(project: Project, /, name: str, instructions: str, tags: tuple[str, ...], **rest: Any) -> Answer:
    """Write a new skill. FILE holds the instructions, or a whole SKILL.md.

    \b
    Examples:
      memsync skill add run-tests --instructions howto.md --tag testing,pytest
      echo "1. make release" | memsync skill add release -i - -d "How to release"
    """
    entry = project.skills.create(name, _read_source(instructions), tags=split_tags(tags), **rest)
    return Answer({"status": "created", "skill": entry}, render.done("created", entry))


def _read_source(source: str) -> str:
    if source == "-":
        return read_text(source)
    try:
        return read_utf8(Path(source).read_bytes(), source, UsageError).replace("\r\n", "\n")
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror or error}") from None


@command(skill)
@click.argument("ref", metavar="SKILL")
@click.option("--was", metavar="VERSION", help="Refuse if the skill is not the version that you have read.")
@click.option("--name", help="The new name, of the folder too.")
@click.option("-d", "--description", metavar="TEXT", help="The new description.")
@click.option("-i", "--instructions", metavar="FILE", help=_instructions_help)
@click.option("--trigger", "trigger_pattern", metavar="REGEX", help='The new trigger ("": none).')
@click.option("--tag", "--tags", "tags", multiple=True, metavar="TAG", help='The new tags (commas; "": none).')
@scope_option
def update(project: Project, /, ref: str, instructions: str | None, tags: tuple[str, ...], **rest: Any) -> Answer:
    """Change one skill; other lines keep every byte.

    \b
    Examples:
      memsync skill update run-tests --tags testing,ci
      memsync skill update run-tests --name test --trigger "test|pytest"
    """
    entry = project.skills.update(
        ref,
        instructions=None if instructions is None else _read_source(instructions),
        tags=split_tags(tags) if tags else None,
        **rest,
    )
    return Answer({"status": "updated", "skill": entry}, render.done("updated", entry))


@command(skill)
@click.argument("refs", metavar="SKILL...", nargs=-1, required=True)
@scope_option
def delete(project: Project, /, refs: tuple[str, ...], scope: Scope | None) -> Answer:
    """Remove skills with all their files. `memsync skill restore NAME` brings one back.

    \b
    Example:
      memsync skill delete run-tests
    """
    skills = project.skills
    chosen = [skills.get(ref, scope) for ref in refs]
    gone = [skills.delete(entry.name, entry.scope) for entry in chosen]
    lines = [f"{render.done('deleted', entry)}; `memsync skill restore {entry.name}` brings it back" for entry in gone]
    return Answer({"deleted": [entry.as_dict(whole=False) for entry in gone]}, "\n".join(lines))


@command(skill)
@click.argument("name")
@scope_option
def restore(project: Project, /, name: str, scope: Scope | None) -> Answer:
    """Undo the last update or delete of a skill; twice is redo.

    \b
    Example:
      memsync skill restore run-tests
    """
    entry = project.skills.restore(name, scope)
    return Answer({"status": "restored", "skill": entry}, render.done("restored", entry))


@command(skill)
@click.argument("ref", metavar="SKILL")
@click.option("--outcome", type=click.Choice(["success", "failure"]), help="Note how working by it went.")
@scope_option
def apply(project: Project, /, ref: str, outcome: str | None, scope: Scope | None) -> Answer:
    """Print the instructions of a skill, and count the use.

    \b
    Examples:
      memsync skill apply run-tests
      memsync skill apply run-tests --outcome success
    """
    result = {"success": True, "failure": False}[outcome] if outcome else None
    entry = project.skills.apply(ref, outcome=result, scope=scope)
    text = render.noted(entry, outcome) if outcome else render.instructions(entry)
    return Answer(entry, text)


@command(skill)
@click.argument("refs", metavar="[SKILL...]", nargs=-1)
@click.option("--fix", is_flag=True, help="Repair what is safe.")
def validate(project: Project, /, refs: tuple[str, ...], fix: bool) -> Answer:
    """Check skills as the specification and the clients do.

    --fix quotes values that are not valid YAML, moves keys that belong under metadata
    and comments above the front matter, and adds what is missing; the old file can be
    restored. What only you can decide is left as it is, with why.

    \b
    Examples:
      memsync skill validate
      memsync skill validate run-tests --fix
    """
    found = project.skills.validate(refs, fix=fix)
    value = {"valid": all(one.is_valid for one in found), "skills": found}
    return Answer(value, render.checked(found), 0 if value["valid"] else 1)


@command(skill)
@click.option(
    "-o",
    "--output",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where.  [default: .claude/skills, where the project's own are]",
)
@click.option("--force", is_flag=True, help="Replace files that differ.")
@scope_option
@all_scopes_option
def export(project: Project, /, directory: Path | None, force: bool, scope: Scope | None, all_scopes: bool) -> Answer:
    """Copy the skills with all their files into DIR.

    The project's own lie in .claude/skills, where clients find them: without DIR
    they are listed. --scope or --all-scopes takes private and global ones along;
    the SKILL.md of each copy says so.

    \b
    Examples:
      memsync skill export --output ../other/.claude/skills
      memsync skill export --scope global
    """
    choose_scopes(scope, all_scopes=all_scopes)
    copied = project.skills.export(directory, scope=scope, all_scopes=all_scopes, force=force)
    lines = [_tell_copy(entry, is_there=directory is None and entry.scope == "project") for entry in copied]
    return Answer({"exported": [entry.path.parent for entry in copied]}, "\n".join(lines) or "no skills to export")


def _tell_copy(entry: SkillEntry, *, is_there: bool) -> str:
    folder = entry.path.parent
    if is_there:
        return f"{folder} is there already, where clients look"
    return f"exported {folder}" + ("" if entry.scope == "project" else f" ({name_scope(entry.scope)})")


@command(skill)
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace skills that differ; `memsync skill restore NAME` brings one back.")
@target_options
def import_(project: Project, /, directory: Path, force: bool, scope: Scope | None) -> Answer:
    """Bring in the skill in DIR, or each skill in a folder of it, with the files beside it.

    Read what you bring in: an agent works by it. All come or, on an error, none.

    \b
    Examples:
      memsync skill import ~/Downloads/run-tests
      memsync skill import ../other/.claude/skills --private
    """
    from memsync.skills.bringing import bring_in

    done = bring_in(project, directory, scope=scope, force=force)
    return Answer({"skills": done}, "\n".join(render.done(one.status, one.skill) for one in done))


@command(skill)
@click.argument("name", metavar="SKILL")
def history_(project: Project, /, name: str) -> Answer:
    """Show which commits changed a skill of the project, newest first.

    One that is gone may be named too. `memsync diff` shows the texts.

    \b
    Example:
      memsync skill history run-tests
    """
    from memsync.history.events import notes
    from memsync.history.skills import skill_events

    found, remarks = skill_events(project, name), notes(project)
    value = {"name": name, "events": found, "notes": remarks}
    return Answer(value, "\n".join([*map(render.event, found), *remarks]))


@command(skill)
@click.option("--global", "is_global", is_flag=True, help="Your own skills, in ~/.claude and ~/.agents.")
@click.option("--copy", is_flag=True, help="Copies instead of links.")
@click.option("--remove", is_flag=True, help="Take away what link made.")
def link(project: Project, /, is_global: bool, copy: bool, remove: bool) -> Answer:
    """Show the skills to the clients that do not read .claude/skills.

    Codex and Gemini CLI look in .agents/skills. Run it again after adding a
    skill if that folder holds others too. What is not ours is left alone.

    \b
    Examples:
      memsync skill link
      memsync skill link --remove
    """
    from memsync.skills.links import link as make

    done = make(project.skills, "global" if is_global else "project", copy=copy, remove=remove)
    if done:
        project.journal.note_change(
            "took links to skills away" if remove else "made links to skills",
            f"skill link{' --global' * is_global}{' --remove' * (not remove)}",
        )
    lines = [f"{one.done} {one.path}" for one in done]
    return Answer({"links": done}, "\n".join(lines) or "nothing to do")


@command(skill)
def stats(project: Project, /) -> Answer:
    """Count skills and how they were used on this machine.

    \b
    Example:
      memsync skill stats
    """
    result = project.skills.stats()
    return Answer(result, render.stats(result))
