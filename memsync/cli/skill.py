"""`memsync skill …`: parse, one call, render."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memsync.cli import terminal
from memsync.cli.app import Answer, cli, command, wants_json
from memsync.cli.memory import read_text, split_tags
from memsync.cli.options import (
    all_scopes_option,
    choose_scopes,
    model_option,
    require_person,
    scope_option,
    target_options,
    yes_option,
)
from memsync.cli.render import commit, count, diff_row, one_line, printable
from memsync.cli.words import is_dialogue
from memsync.errors import UsageError
from memsync.learn.candidates import Candidates
from memsync.learn.lessons import learn_skill
from memsync.memories.events import notes
from memsync.memories.log import skill_events
from memsync.memories.project import Project
from memsync.records import Scope
from memsync.safety.guard import shown_label
from memsync.skills.bringing import bring_in
from memsync.skills.bringing import link as make
from memsync.skills.entries import Checked, SkillEntry, list_skill_entries
from memsync.system.texts import read_utf8

if TYPE_CHECKING:
    from memsync.learn.lessons import Learned
    from memsync.memories.log import SkillEvent


@cli.group()
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
    return Answer(list_skill_entries(found), format_skills(found, none="no skill fits" if query else "no skills yet"))


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
    return Answer({"query": query, **list_skill_entries(found)}, format_skills(found, none="no skill fits"))


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
    return Answer(entry, _format_whole(entry))


skill.add_command(show, "get")


@command(skill)
@click.argument("name")
@click.option("-i", "--instructions", metavar="FILE", help=_instructions_help)
@click.option(
    "-d",
    "--description",
    metavar="TEXT",
    help="What it does and when to use it.  [default: the first line, unless it is a step]",
)
@click.option("--trigger", "trigger_pattern", metavar="REGEX", default="", help="What prompts it is for.")
@_tags
@target_options
def add(project: Project, /, name: str, instructions: str | None, tags: tuple[str, ...], **rest: Any) -> Answer:
    """Write a new skill. FILE holds the instructions, or a whole SKILL.md.

    On a terminal your editor opens where there is no FILE.

    \b
    Examples:
      memsync skill add run-tests --instructions howto.md --tag testing,pytest
      echo "1. make release" | memsync skill add release -i - -d "How to release"
    """
    text = _read_source(instructions) if instructions else _write_in_editor("")
    entry = project.skills.create(name, text, tags=split_tags(tags), **rest)
    return Answer({"status": "created", "skill": entry}, _format_change("created", entry))


def _write_in_editor(text: str) -> str:
    """Return what somebody makes of the instructions *text*.

    Raises:
        UsageError: nobody is there who could, or nothing was saved.
    """
    if wants_json() or not is_dialogue():
        raise UsageError("say with --instructions FILE what to do; - reads standard input")
    if (saved := terminal.edit(text)) is None:
        raise UsageError("nothing was saved, and nothing was changed")
    return saved


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

    On a terminal your editor opens with the instructions where there is no option.

    \b
    Examples:
      memsync skill update run-tests --tags testing,ci
      memsync skill update run-tests --name test --trigger "test|pytest"
    """
    text = None if instructions is None else _read_source(instructions)
    is_bare = not tags and all(rest[name] is None for name in ("name", "description", "trigger_pattern"))
    if text is None and is_bare and is_dialogue() and not wants_json():
        text = _write_in_editor(project.skills.get(ref, rest["scope"]).skill.instructions)
    entry = project.skills.update(ref, instructions=text, tags=split_tags(tags) if tags else None, **rest)
    return Answer({"status": "updated", "skill": entry}, _format_change("updated", entry))


skill.add_command(update, "edit")


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
    lines = [
        f"{_format_change('deleted', entry)}; `memsync skill restore {entry.name}` brings it back" for entry in gone
    ]
    return Answer({"deleted": [entry.as_dict(whole=False) for entry in gone]}, "\n".join(lines))


skill.add_command(delete, "rm")


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
    return Answer({"status": "restored", "skill": entry}, _format_change("restored", entry))


skill.add_command(restore, "undo")


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
    entry = project.skills.apply(ref, outcome=outcome == "success" if outcome else None, scope=scope)
    noted = f"noted a {outcome} of {one_line(entry.name)}; {entry.success_rate or 0:.0%} went well so far"
    return Answer(entry, noted if outcome else _format_instructions(entry))


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
    return Answer(value, _format_checked(found), 0 if value["valid"] else 1)


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
    lines = []
    for entry in copied:
        folder, mark = entry.path.parent, "" if entry.scope == "project" else f" ({entry.scope})"
        is_there = directory is None and not mark
        lines.append(f"{folder} is there already, where clients look" if is_there else f"exported {folder}{mark}")
    return Answer({"exported": [entry.path.parent for entry in copied]}, "\n".join(lines) or "no skills to export")


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
    done = bring_in(project, directory, scope=scope, force=force)
    return Answer({"skills": done}, "\n".join(_format_change(one.status, one.skill) for one in done))


@command(skill)
@click.argument("name", metavar="SKILL")
def history_(project: Project, /, name: str) -> Answer:
    """Show which commits changed a skill of the project, newest first.

    One that is gone may be named too. `memsync diff` shows the texts.

    \b
    Example:
      memsync skill history run-tests
    """
    found, remarks = skill_events(project, name), notes(project)
    value = {"name": name, "events": found, "notes": remarks}
    return Answer(value, "\n".join([*map(_format_event, found), *remarks]))


skill.add_command(history_, "log")


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
    done = make(project.skills, "global" if is_global else "project", copy=copy, remove=remove)
    if done:
        what = "took links to skills away" if remove else "made links to skills"
        back = ["skill link", *(["--global"] if is_global else []), *([] if remove else ["--remove"])]
        project.journal.note_change(what, " ".join(back))
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
    return Answer(result, _format_stats(result))


@command(skill)
@click.argument("name")
@click.option("--from-session", "session", metavar="ID", help="Its session.  [default: the one this runs in]")
@click.option(
    "--transcript",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Its transcript: the .jsonl file that the client keeps.",
)
@model_option
@yes_option
def learn(
    project: Project, /, name: str, session: str | None, transcript: Path | None, no_llm: bool, yes: bool
) -> Answer:
    """Draft the skill NAME from an agent's session.

    Reads Claude Code, Codex and Gemini CLI. Takes the commands that worked, what had failed before them, the files that
    were changed and what you corrected. With llm.provider set a model writes
    it up. It waits in .gobby/local/candidates until you approve it.

    \b
    Examples:
      memsync skill learn run-tests --transcript ~/.codex/sessions/2026/11/21/rollout-….jsonl
      memsync skill learn release --from-session 7970d88b-31d1-4d06-b145-c11df6b86bfc
    """
    done = learn_skill(project, name, session=session, transcript=transcript, approve=yes, use_model=not no_llm)
    return Answer(done, _format_lesson(done))


@command(skill)
def candidates(project: Project, /) -> Answer:
    """Show the learned skills that wait for approval, as diffs.

    \b
    Example:
      memsync skill candidates
    """
    waiting = Candidates(project)
    found = {name: waiting.skill_diff(name) for name in waiting.skills()}
    value = {"candidates": [{"name": n, "path": str(waiting.skill_path(n)), "diff": d} for n, d in found.items()]}
    return Answer(value, "\n".join(map(_format_diff, found.values())) or "no skill waits for approval")


@command(skill)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def approve(project: Project, /, names: tuple[str, ...]) -> Answer:
    """Take learned skills into the repository, and show what changes.

    Over a skill of that name it is an update; `memsync skill restore NAME` undoes it.

    \b
    Example:
      memsync skill approve run-tests
    """
    require_person(project, "approve skills")
    waiting = Candidates(project)
    diffs = [waiting.skill_diff(name) for name in names]
    done = [waiting.approve_skill(name) for name in names]
    text = "\n".join(f"{_format_diff(d)}\n{_format_change('approved', e)}" for d, e in zip(diffs, done, strict=True))
    return Answer({"approved": done}, text)


@command(skill)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def reject(project: Project, /, names: tuple[str, ...]) -> Answer:
    """Drop learned skills that wait for approval.

    \b
    Example:
      memsync skill reject run-tests
    """
    waiting = Candidates(project)
    for name in names:
        waiting.reject_skill(name)
    return Answer({"rejected": list(names)}, "\n".join(f"rejected {name}" for name in names))


def format_skills(found: Sequence[SkillEntry], *, none: str) -> str:
    """Return a line for each of *found*, or *none*."""
    return "\n".join(map(_format_entry, found)) or none


def _format_entry(entry: SkillEntry) -> str:
    facts: list[str] = [] if entry.scope == "project" else [entry.scope]
    facts += [f"used {entry.use_count}×" if entry.use_count else ""]
    facts += [f"{entry.success_rate:.0%} well" if entry.success_rate is not None else ""]
    facts += ["has problems" if entry.problems else ""]
    facts += [f"flagged: {why}; unread" if (why := entry.flagged) else ""]
    said = ", ".join(filter(None, facts))
    head = click.style(one_line(entry.name), fg="yellow")
    return terminal.flow(head, one_line(entry.skill.description), f"({said})" if said else "")


def _format_whole(entry: SkillEntry) -> str:
    skill = entry.skill
    rows = {
        "name": entry.name,
        "id": skill.id,
        "description": skill.description,
        "trigger": skill.trigger_pattern,
        "tags": ", ".join(map(shown_label, skill.tags)),
        "flagged": entry.flagged,
        "scope": entry.scope,
        "file": str(entry.path),
        "learned in": skill.source_session_id or "",
        "used": count(entry.use_count, "time") if entry.use_count else "",
        "went well": f"{entry.success_rate:.0%}" if entry.success_rate is not None else "",
        "problem": "; ".join(f"line {p.number}: {p.why}" for p in entry.problems),
    }
    head = "\n".join(f"{click.style(name, dim=True)}: {one_line(text)}" for name, text in rows.items() if text)
    return f"{head}\n\n{_format_instructions(entry)}"


def _format_instructions(entry: SkillEntry) -> str:
    """Return what to do, after a mark if it is flagged."""
    mark = f"(flagged: {why}; unread)\n\n" if (why := entry.flagged) else ""
    return mark + printable(entry.skill.instructions)


def _format_change(what: str, entry: SkillEntry) -> str:
    return f"{click.style(what, fg='green')} {_format_entry(entry)}"


def _format_event(one: SkillEvent) -> str:
    noun = "line" if max(len(one.added), len(one.removed)) <= 1 else "lines"
    return f"{commit(one.commit)}  +{len(one.added)} -{len(one.removed)} {noun}"


def _format_checked(found: Sequence[Checked]) -> str:
    lines = []
    for one in found:
        lines += [f"{click.style('fixed', fg='green')} {one.path}"] if one.mended else []
        lines += [f"{click.style('left', fg='yellow')} {one_line(f'{one.path}: {one.unfixed}')}"] if one.unfixed else []
        for problem in one.problems:
            level = click.style("note", fg="cyan") if problem.harmless else click.style("error", fg="red")
            lines.append(f"{level} {one_line(f'{one.path}:{problem.number}: {problem.why}')}")
    well = sum(one.is_valid for one in found)
    verb = "is" if len(found) == 1 else "are"
    lines.append(f"{well} of {count(len(found), 'skill')} {verb} valid" if found else "no skills yet")
    if well < len(found) and not any(one.mended or one.unfixed for one in found):
        lines.append("`memsync skill validate --fix` fixes what is safe")
    return "\n".join(lines)


def _format_stats(result: Mapping[str, Any]) -> str:
    scopes = ", ".join(f"{number} {name}" for name, number in result["by_scope"].items() if number)
    where = f" ({scopes})" if scopes else ""
    lines = [f"{count(result['total'], 'skill')}{where}, used {count(result['uses'], 'time')}"]
    for one in result["most_used"]:
        rate = f", {one['success_rate']:.0%} went well" if one["success_rate"] is not None else ""
        lines.append(f"  {one['use_count']:5} {one_line(one['name'])}{rate}")
    if result["with_problems"]:
        lines.append(f"with problems: {one_line(', '.join(result['with_problems']))}; see `memsync skill validate`")
    return "\n".join(lines)


def _format_lesson(lesson: Learned) -> str:
    note = f"note: {one_line(lesson.note)}\n" if lesson.note else ""
    if lesson.entry:
        return note + _format_change("created", lesson.entry)
    return f"{_format_diff(lesson.diff)}\n{note}candidate {lesson.path}\n{lesson.next}"


def _format_diff(text: str) -> str:
    return "\n".join(map(diff_row, text.splitlines()))
