"""`memsync skill …`: parse, one call, render."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from memsync.cli import render_skill as render
from memsync.cli.app import LazyGroup, json_option, open_project, print_result, scope_option, target_options
from memsync.cli.memory import read_text, split_tags
from memsync.errors import UsageError
from memsync.records import Scope
from memsync.skills.entries import listed_skills
from memsync.system.texts import read_utf8

_HERE: Final = "memsync.cli.skill"
_COMMANDS: Final = {
    "list": (f"{_HERE}:list_", "List skills."),
    "search": (f"{_HERE}:search", "Find the skills that answer a question."),
    "show": (f"{_HERE}:show", "Show everything about one skill."),
    "get": (f"{_HERE}:show", "The same as show."),
    "add": (f"{_HERE}:add", "Write a new skill."),
    "learn": ("memsync.cli.learn:learn", "Draft a skill from a session."),
    "candidates": ("memsync.cli.learn:candidates", "Show what was learned and waits."),
    "approve": ("memsync.cli.learn:approve", "Take learned skills into the repository."),
    "reject": ("memsync.cli.learn:reject", "Drop learned skills."),
    "update": (f"{_HERE}:update", "Change one skill, line by line."),
    "delete": (f"{_HERE}:delete", "Remove skills."),
    "restore": (f"{_HERE}:restore", "Undo the last update or delete."),
    "apply": (f"{_HERE}:apply", "Print a skill to work by, and count it."),
    "validate": (f"{_HERE}:validate", "Check skills as the clients do; --fix mends."),
    "export": (f"{_HERE}:export", "Copy skills with all their files."),
    "link": (f"{_HERE}:link", "Show the skills to Codex and Gemini too."),
    "stats": (f"{_HERE}:stats", "Count skills and their use."),
}


@click.group(cls=LazyGroup, table=_COMMANDS)
def skill() -> None:
    """Instructions for agents, in .claude/skills/NAME/SKILL.md."""


_tags = click.option("--tag", "--tags", "tags", multiple=True, metavar="TAG", help="A tag, or several with commas.")
_instructions_help = 'A file with the instructions ("-": standard input).'


@click.command("list")
@click.option("-q", "--query", metavar="TEXT", help="Only those that answer it, best first.")
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="How many at most.  [default: all]")
@scope_option
@json_option
@click.pass_context
def list_(ctx: click.Context, /, query: str | None, limit: int | None, scope: Scope | None, as_json: bool) -> None:
    """List the skills in reach.

    \b
    Examples:
      memsync skill list
      memsync skill list --query "run the tests"
    """
    found = open_project(ctx).skills.list(query, scope=scope, limit=limit)
    print_result(
        as_json, listed_skills(found), render.entries(found, none="no skills yet" if not query else "no skill fits")
    )


@click.command()
@click.argument("query")
@click.option("-n", "--limit", type=click.IntRange(1), default=5, show_default=True, help="How many at most.")
@scope_option
@json_option
@click.pass_context
def search(ctx: click.Context, /, query: str, limit: int, scope: Scope | None, as_json: bool) -> None:
    """Find the skills that answer QUERY, by their words, their meaning or their trigger.

    \b
    Example:
      memsync skill search "the build is red"
    """
    found = open_project(ctx).skills.search(query, scope=scope, limit=limit)
    print_result(as_json, {"query": query, **listed_skills(found)}, render.entries(found, none="no skill fits"))


@click.command()
@click.argument("ref", metavar="SKILL")
@scope_option
@json_option
@click.pass_context
def show(ctx: click.Context, /, ref: str, scope: Scope | None, as_json: bool) -> None:
    """Show one skill; SKILL is its name or id.

    \b
    Example:
      memsync skill show run-tests
    """
    entry = open_project(ctx).skills.get(ref, scope)
    print_result(as_json, entry.as_dict(), render.whole(entry))


@click.command()
@click.argument("name")
@click.option("-i", "--instructions", metavar="FILE", required=True, help=_instructions_help)
@click.option("-d", "--description", metavar="TEXT", help="What it does and when to use it.  [default: the first line]")
@click.option("--trigger", "trigger_pattern", metavar="REGEX", default="", help="What prompts it is for.")
@_tags
@target_options
@json_option
@click.pass_context
def add(ctx: click.Context, /, name: str, instructions: str, tags: tuple[str, ...], as_json: bool, **rest: Any) -> None:
    """Write a new skill. FILE holds the instructions, or a whole SKILL.md.

    \b
    Examples:
      memsync skill add run-tests --instructions howto.md --tag testing,pytest
      echo "1. make release" | memsync skill add release -i - -d "How to release"
    """
    entry = open_project(ctx).skills.create(name, _text(instructions), tags=split_tags(tags), **rest)
    print_result(as_json, {"status": "created", "skill": entry.as_dict()}, render.done("created", entry))


def _text(source: str) -> str:
    if source == "-":
        return read_text(source)
    try:
        return read_utf8(Path(source).read_bytes(), source, UsageError).replace("\r\n", "\n")
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror or error}") from None


@click.command()
@click.argument("ref", metavar="SKILL")
@click.option("--name", help="The new name, of the folder too.")
@click.option("-d", "--description", metavar="TEXT", help="The new description.")
@click.option("-i", "--instructions", metavar="FILE", help=_instructions_help)
@click.option("--trigger", "trigger_pattern", metavar="REGEX", help='The new trigger ("": none).')
@click.option("--tag", "--tags", "tags", multiple=True, metavar="TAG", help='The new tags (commas; "": none).')
@scope_option
@json_option
@click.pass_context
def update(
    ctx: click.Context, /, ref: str, instructions: str | None, tags: tuple[str, ...], as_json: bool, **rest: Any
) -> None:
    """Change one skill; lines that are not named stay as they were written, byte for byte.

    \b
    Examples:
      memsync skill update run-tests --tags testing,ci
      memsync skill update run-tests --name test --trigger "test|pytest"
    """
    entry = open_project(ctx).skills.update(
        ref,
        instructions=None if instructions is None else _text(instructions),
        tags=split_tags(tags) if tags else None,
        **rest,
    )
    print_result(as_json, {"status": "updated", "skill": entry.as_dict()}, render.done("updated", entry))


@click.command()
@click.argument("refs", metavar="SKILL...", nargs=-1, required=True)
@scope_option
@json_option
@click.pass_context
def delete(ctx: click.Context, /, refs: tuple[str, ...], scope: Scope | None, as_json: bool) -> None:
    """Remove skills with all their files. `memsync skill restore NAME` brings one back.

    \b
    Example:
      memsync skill delete run-tests
    """
    skills = open_project(ctx).skills
    chosen = [skills.get(ref, scope) for ref in refs]
    gone = [skills.delete(entry.name, entry.scope) for entry in chosen]
    lines = [f"{render.done('deleted', entry)}; `memsync skill restore {entry.name}` brings it back" for entry in gone]
    print_result(as_json, {"deleted": [entry.as_dict(whole=False) for entry in gone]}, "\n".join(lines))


@click.command()
@click.argument("name")
@scope_option
@json_option
@click.pass_context
def restore(ctx: click.Context, /, name: str, scope: Scope | None, as_json: bool) -> None:
    """Undo the last update or delete of a skill on this machine; twice is redo.

    \b
    Example:
      memsync skill restore run-tests
    """
    entry = open_project(ctx).skills.restore(name, scope)
    print_result(as_json, {"status": "restored", "skill": entry.as_dict()}, render.done("restored", entry))


@click.command()
@click.argument("ref", metavar="SKILL")
@click.option("--outcome", type=click.Choice(["success", "failure"]), help="Note how working by it went.")
@scope_option
@json_option
@click.pass_context
def apply(ctx: click.Context, /, ref: str, outcome: str | None, scope: Scope | None, as_json: bool) -> None:
    """Print the instructions of a skill, and count the use on this machine.

    \b
    Examples:
      memsync skill apply run-tests
      memsync skill apply run-tests --outcome success
    """
    result = {"success": True, "failure": False}[outcome] if outcome else None
    entry = open_project(ctx).skills.apply(ref, outcome=result, scope=scope)
    text = render.noted(entry, outcome) if outcome else render.instructions(entry)
    print_result(as_json, entry.as_dict(), text)


@click.command()
@click.argument("refs", metavar="[SKILL...]", nargs=-1)
@click.option("--fix", is_flag=True, help="Mend what is safe.")
@json_option
@click.pass_context
def validate(ctx: click.Context, /, refs: tuple[str, ...], fix: bool, as_json: bool) -> None:
    """Check skills against the Agent Skills specification and what the clients load.

    --fix quotes values that are no YAML, moves keys that belong under metadata
    and adds what is missing; the old file can be restored.

    \b
    Examples:
      memsync skill validate
      memsync skill validate run-tests --fix
    """
    found = open_project(ctx).skills.validate(refs, fix=fix)
    value = {"valid": all(one.is_valid for one in found), "skills": [one.as_dict() for one in found]}
    print_result(as_json, value, render.checked(found))
    if not value["valid"]:
        ctx.exit(1)


@click.command()
@click.option(
    "-o", "--output", "directory", metavar="DIR", required=True, type=click.Path(path_type=Path), help="Where."
)
@click.option("--force", is_flag=True, help="Replace files that differ.")
@scope_option
@json_option
@click.pass_context
def export(ctx: click.Context, /, directory: Path, force: bool, scope: Scope | None, as_json: bool) -> None:
    """Copy the skills with all their files into DIR.

    \b
    Example:
      memsync skill export --output ../other/.claude/skills
    """
    folders = open_project(ctx).skills.export(directory, scope=scope, force=force)
    value = {"exported": [str(folder) for folder in folders]}
    print_result(as_json, value, "\n".join(f"exported {folder}" for folder in folders) or "no skills to export")


@click.command()
@click.option("--global", "is_global", is_flag=True, help="Your own skills, in ~/.claude and ~/.agents.")
@click.option("--copy", is_flag=True, help="Copies instead of links.")
@click.option("--remove", is_flag=True, help="Take away what link made.")
@json_option
@click.pass_context
def link(ctx: click.Context, /, is_global: bool, copy: bool, remove: bool, as_json: bool) -> None:
    """Show the skills to the clients that do not read .claude/skills.

    Codex and Gemini CLI look in .agents/skills. Run it again after adding a
    skill if that folder holds others too. What is not ours is left alone.

    \b
    Examples:
      memsync skill link
      memsync skill link --remove
    """
    from memsync.skills.links import link as make

    done = make(open_project(ctx).skills, "global" if is_global else "project", copy=copy, remove=remove)
    lines = [f"{one.done} {one.path}" for one in done]
    print_result(as_json, {"links": [one.as_dict() for one in done]}, "\n".join(lines) or "nothing to do")


@click.command()
@json_option
@click.pass_context
def stats(ctx: click.Context, /, as_json: bool) -> None:
    """Count skills and how they were used on this machine.

    \b
    Example:
      memsync skill stats
    """
    result = open_project(ctx).skills.stats()
    print_result(as_json, result, render.stats(result))
