"""Skills as text for people. Nothing here decides anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import TYPE_CHECKING, Any

import click

from memsync.cli.render import count, diff_row, one_line, printable, scope
from memsync.cli.terminal import flow
from memsync.poison.guard import shown_label
from memsync.skills.entries import Checked, SkillEntry

if TYPE_CHECKING:
    from memsync.history.skills import SkillEvent
    from memsync.learn.lessons import Learned


def entries(found: Sequence[SkillEntry], *, none: str) -> str:
    """Return a line for each of *found*, or *none*."""
    return "\n".join(map(line, found)) or none


def line(entry: SkillEntry) -> str:
    """Return one line: name, description, scope, use."""
    facts = [{"project": "", "stealth": "private", "global": "global"}[entry.scope]]
    facts += [f"used {entry.use_count}×" if entry.use_count else ""]
    facts += [f"{entry.success_rate:.0%} well" if entry.success_rate is not None else ""]
    facts += ["has problems" if entry.problems else ""]
    facts += [f"flagged: {why}; unread" if (why := entry.flagged) else ""]
    said = ", ".join(filter(None, facts))
    head = click.style(one_line(entry.name), fg="yellow")
    return flow(head, one_line(entry.skill.description), f"({said})" if said else "")


def whole(entry: SkillEntry) -> str:
    """Return everything about one skill."""
    skill = entry.skill
    rows = {
        "name": entry.name,
        "id": skill.id,
        "description": skill.description,
        "trigger": skill.trigger_pattern,
        "tags": ", ".join(map(shown_label, skill.tags)),
        "flagged": entry.flagged,
        "scope": scope(entry.scope),
        "file": str(entry.path),
        "learned in": skill.source_session_id or "",
        "used": count(entry.use_count, "time") if entry.use_count else "",
        "went well": f"{entry.success_rate:.0%}" if entry.success_rate is not None else "",
        "problem": "; ".join(f"line {p.number}: {p.why}" for p in entry.problems),
    }
    head = "\n".join(f"{click.style(name, dim=True)}: {one_line(text)}" for name, text in rows.items() if text)
    return f"{head}\n\n{instructions(entry)}"


def instructions(entry: SkillEntry) -> str:
    """Return what to do, after a mark if it is flagged."""
    mark = f"(flagged: {why}; unread)\n\n" if (why := entry.flagged) else ""
    return mark + printable(entry.skill.instructions)


def done(what: str, entry: SkillEntry) -> str:
    """Return what became of a skill."""
    return f"{click.style(what, fg='green')} {line(entry)}"


def event(one: SkillEvent) -> str:
    """Return what one commit did to a skill, in a line."""
    lines = f"+{len(one.added)} -{len(one.removed)} {'line' if {*map(len, (one.added, one.removed))} <= {0, 1} else 'lines'}"
    if one.commit is None:
        return f"not committed yet  {lines}"
    day = f"{one.commit.when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    said = one_line(f"{one.commit.author}: {one.commit.subject}")
    return f"{day} {click.style(one.commit.short, fg='cyan')} {said}  {lines}"


def noted(entry: SkillEntry, outcome: str) -> str:
    """Return that an outcome was counted."""
    return f"noted a {outcome} of {one_line(entry.name)}; {entry.success_rate or 0:.0%} went well so far"


def checked(found: Sequence[Checked]) -> str:
    """Return a line for each problem, and what is well."""
    lines = []
    for one in found:
        lines += [f"{click.style('fixed', fg='green')} {one.path}"] if one.mended else []
        lines += [f"{click.style('left', fg='yellow')} {one_line(f'{one.path}: {one.unfixed}')}"] if one.unfixed else []
        for problem in one.problems:
            level = click.style("note", fg="cyan") if problem.harmless else click.style("error", fg="red")
            lines.append(f"{level} {one_line(f'{one.path}:{problem.number}: {problem.why}')}")
    well = sum(one.is_valid for one in found)
    lines.append(
        f"{well} of {count(len(found), 'skill')} {'is' if len(found) == 1 else 'are'} valid"
        if found
        else "no skills yet"
    )
    if well < len(found) and not any(one.mended or one.unfixed for one in found):
        lines.append("`memsync skill validate --fix` fixes what is safe")
    return "\n".join(lines)


def stats(result: Mapping[str, Any]) -> str:
    """Return the counts as a small report."""
    scopes = ", ".join(f"{number} {scope(name)}" for name, number in result["by_scope"].items() if number)
    lines = [
        f"{count(result['total'], 'skill')}{f' ({scopes})' if scopes else ''}, used {count(result['uses'], 'time')}"
    ]
    for one in result["most_used"]:
        rate = f", {one['success_rate']:.0%} went well" if one["success_rate"] is not None else ""
        lines.append(f"  {one['use_count']:5} {one_line(one['name'])}{rate}")
    if result["with_problems"]:
        lines.append(f"with problems: {one_line(', '.join(result['with_problems']))}; see `memsync skill validate`")
    return "\n".join(lines)


def learned(lesson: Learned) -> str:
    """Return what was learned, and what to do with it."""
    note = f"note: {one_line(lesson.note)}\n" if lesson.note else ""
    if lesson.entry:
        return note + done("created", lesson.entry)
    return f"{diff(lesson.diff)}\n{note}candidate {lesson.path}\n{lesson.next}"


def diff(text: str) -> str:
    """Return a unified diff in the usual colours."""
    return "\n".join(map(diff_row, text.splitlines()))
