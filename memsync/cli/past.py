"""`memsync history`, `diff`, `blame`, `log` and `undo`: what changed, and taking the last of it back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click

from memsync.cli import render, terminal
from memsync.cli.app import Answer, command
from memsync.cli.choosing import find_ref
from memsync.cli.memory import memory
from memsync.cli.options import scope_option
from memsync.cli.words import is_dialogue
from memsync.format import textdiff
from memsync.format.codec import decode
from memsync.format.scopes import mark_text
from memsync.format.textdiff import diff_lines
from memsync.janitor import deciding
from memsync.memories import diff as difference
from memsync.memories import events, undoing
from memsync.memories.diff import Difference, SkillChange
from memsync.memories.events import Event
from memsync.memories.log import Row, find_moment, read_log
from memsync.memories.project import Project
from memsync.records import Scope, age, parse_time, short_id, shown_id
from memsync.safety.guard import shown_label, shown_type

_COLOURS: Final = {"added": "green", "changed": "yellow", "removed": "red"}
_SHOWN: Final = 5  # memories of one command
_WORDS: Final = {(False, True): "new", (True, True): "changed", (True, False): "removed", (False, False): "passing"}
_MARKUP: Final = re.compile(r"([\\`*_{}\[\]()<>+!|~-])")
_AND: Final = re.compile(r"&(?!lt;)")  # what is quoted already stays so
_CALLS: Final = re.compile(r"([@#])(?=\w)")  # GitHub makes mentions and references of these


@command(memory)
@click.argument("words", metavar="ID|WORDS...", nargs=-1, required=True)
def history_(project: Project, /, words: tuple[str, ...]) -> Answer:
    """Show what happened to one memory, commit by commit.

    Newest first, with what is not committed yet on top. A memory that HEAD
    never had is looked for on every branch.

    \b
    Example:
      memsync history mm-a1b
    """
    found = events.events(project, find_ref(project, words))
    notes = events.notes(project)
    lines = [click.style(shown_id(found[0].id), bold=True)]
    for event in found:
        lines.append(f"{render.commit(event.commit)}  {click.style(event.kind, fg=_COLOURS[event.kind])}")
        lines += [f"    {line}" for line in _list_changes(event)]
    return Answer(events.as_history(found, notes), "\n".join([*lines, *notes]))


def _list_changes(event: Event, *, markdown: bool = False) -> Iterator[str]:
    """Yield what differs, a line a field; of what came or went, the whole. In *markdown* it calls nobody."""
    escape = _escape if markdown else str
    if event.before is None or event.after is None:
        memory = event.after or event.before
        assert memory
        tags = f"; {', '.join(map(shown_label, memory.tags))}" if memory.tags else ""
        about = f"({shown_type(memory.memory_type)}, importance {memory.importance:g}{tags})"
        yield escape(render.one_line(f"{about} {memory.content}"))
        return
    old, new = event.as_dict()["before"], event.as_dict()["after"]
    for name in event.fields:
        if name != "content":
            yield escape(f"{shown_label(name)}: {_spell_value(old.get(name))} → {_spell_value(new.get(name))}")
            continue
        pieces = textdiff.compare(event.before.content, event.after.content)
        yield "".join(map(_mark_bold, pieces)) if markdown else "content: " + "".join(map(_mark_colour, pieces))


def _spell_value(value: object) -> str:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return render.one_line("–" if value is None else str(value))


def _mark_colour(piece: textdiff.Piece) -> str:
    """Return a piece of both texts as `git diff --word-diff` marks it; what they share is cut short."""
    if piece.mark == "-":
        return click.style(f"[-{render.one_line(piece.text)}-]", fg="red")
    if piece.mark == "+":
        return click.style(f"{{+{render.one_line(piece.text)}+}}", fg="green")
    shown = render.printable(" ".join(piece.text.split("\n")))
    return shown if len(shown) <= 120 else f"{shown[:50]} … {shown[-50:]}"


def _mark_bold(piece: textdiff.Piece) -> str:
    if not (inner := render.one_line(piece.text)):
        return " "
    left, right = (" " if end.isspace() else "" for end in (piece.text[:1], piece.text[-1:]))
    mark = {" ": "", "-": "~~", "+": "**"}[piece.mark]
    return f"{left}{mark}{_escape(inner)}{mark}{right}"


@command(memory)
@click.argument("span", metavar="[REV..REV]", default="HEAD")
@click.option("--markdown", is_flag=True, help="As Markdown, for a comment on a pull request.")
def diff(project: Project, /, span: str, markdown: bool) -> Answer:
    """Show which memories and skills differ, as people read them.

    REV..REV are two commits, REV...REV the second since it left the first, and
    REV alone that commit and the work tree.  [default: HEAD]

    \b
    Examples:
      memsync diff
      memsync diff main...HEAD --markdown
    """
    found = difference.difference(project, span)
    if markdown:
        found = difference.leave_out_private(project, found)
    return Answer(found, _format_markdown(found) if markdown else _format_difference(found))


def _format_difference(found: Difference) -> str:
    lines = []
    for event in found.memories:
        kind = click.style(event.kind, fg=_COLOURS[event.kind])
        lines += [f"{kind} {shown_id(event.id)}", *(f"    {line}" for line in _list_changes(event))]
    for skill in found.skills:
        lines.append(f"{click.style(skill.kind, fg=_COLOURS[skill.kind])} skill {render.one_line(skill.name)}")
        if skill.kind == "changed":
            lines += [f"    {render.diff_row(row)}" for row in _list_rows(skill)]
    return "\n".join([*lines, _summarize(found)])


def _list_rows(skill: SkillChange) -> list[str]:
    rows = diff_lines(skill.before.splitlines(), skill.after.splitlines(), context=1)
    return [row for row in rows if not row.startswith("@@")]


def _summarize(found: Difference) -> str:
    if not found.memories and not found.skills:
        return f"no memory or skill differs between {found.old} and {found.new}"
    told = [f"{count} {kind}" for kind in ("added", "changed", "removed") if (count := found.count(kind))]
    parts = [f"memories: {', '.join(told)}"] if told else []
    parts += [f"skills: {len(found.skills)} changed"] if found.skills else []
    return f"{'; '.join(parts)}, between {found.old} and {found.new}"


def _format_markdown(found: Difference) -> str:
    """Return the difference for a comment; what memories say is data there too, and calls nobody."""
    lines = [f"### Memories and skills\n\n{_escape(_summarize(found))}"]
    for kind in ("added", "changed", "removed"):
        some = [event for event in found.memories if event.kind == kind]
        bullets = [f"- `{shown_id(one.id)}` {'<br>'.join(_list_changes(one, markdown=True))}" for one in some]
        if bullets:
            lines.append(f"**{kind.capitalize()}**\n\n" + "\n".join(bullets))
    for skill in found.skills:
        fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", skill.before + skill.after)), default=0))
        body = "\n".join(_list_rows(skill))
        lines.append(f"**Skill {_escape(skill.name)}** {skill.kind}\n\n{fence}diff\n{body}\n{fence}")
    return "\n\n".join(lines)


def _escape(text: str) -> str:
    return _CALLS.sub(r"\1<!-- -->", _MARKUP.sub(r"\\\1", _AND.sub("&amp;", text)))


@command(memory)
@click.argument("words", metavar="[ID|WORDS]...", nargs=-1)
def blame(project: Project, /, words: tuple[str, ...]) -> Answer:
    """Show who last changed each memory, or each field of one.

    \b
    Examples:
      memsync blame
      memsync blame mm-a1b
    """
    found = events.blame(project, find_ref(project, words) if words else None)
    notes = events.notes(project)
    rows = [_format_blame(name, event, project.clock()) for name, event in found]
    first, second = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    lines = [
        terminal.flow(f"{click.style(f'{who:{first}}', dim=True)}  {name:{second}} ", text) for who, name, text in rows
    ]
    return Answer(events.as_blame(found, notes), "\n".join([*lines, *notes]) or "no memories yet")


def _format_blame(name: str, event: Event, now: datetime) -> tuple[str, str, str]:
    assert event.after
    value = event.after.content if name in ("", "content") else _spell_value(event.as_dict()["after"][name])
    commit = event.commit
    who = f"{commit.short} {commit.author}, {age(commit.when, now)}" if commit else "not committed yet"
    return render.one_line(who), shown_label(name or shown_id(event.id)), render.one_line(value)


@command(memory)
@click.option("--since", metavar="WHEN", help='7d, "2 weeks", yesterday, a date or a revision.')
@click.option("-n", "--limit", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="How many.")
@scope_option
def log(project: Project, /, since: str | None, limit: int, scope: Scope | None) -> Answer:
    """Show what changed, when and by whom, newest first, uncommitted changes too.

    Of each private or global memory only the last change is shown.

    \b
    Examples:
      memsync log --since 1week
      memsync log --since main --scope project
    """
    moment = None if since is None else find_moment(project, since)
    found, is_more = read_log(project, moment, scope=scope, limit=limit)
    lines = [_describe_row(row, project.clock()) for row in found]
    lines += [f"… and more (-n {10 * limit} shows more)"] if is_more else []
    value = {"count": len(found), "more": is_more, "changes": found}
    return Answer(value, "\n".join(lines) or "nothing changed")


def _describe_row(row: Row, now: datetime) -> str:
    day = f"{row.when.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if row.when else "no date"
    kind = click.style(f"{row.kind:7}", fg=_COLOURS[row.kind])
    head = f"{day} {kind} {click.style(short_id(row.memory.id), fg='yellow')}"
    text = render.one_line(row.memory.content)
    if row.event and row.kind == "changed":
        text = "; ".join(_list_changes(row.event))
    who = shown_label(row.who)
    where: str = row.scope
    if row.event:
        commit = row.event.commit
        where = f"{commit.short}: {commit.subject}" if commit else "not committed yet"
    told = render.one_line(", ".join(filter(None, (who, age(row.when, now), where))))
    return terminal.flow(head, text, f"({told})")


@command(memory)
@click.argument("ref", metavar="[ID]", required=False)
@click.option("--redo", "again", is_flag=True, help="Do again what was taken back last.")
@click.option("--list", "is_list", is_flag=True, help="Only show what can be taken back, the last first.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def undo(project: Project, /, ref: str | None, again: bool, is_list: bool, yes: bool) -> Answer:
    """Take back the last command that changed something on this machine, or the one with that ID; again, the one before.

    That is every command that you or an agent typed, what an agent wrote over MCP
    and you at the desk, and what the janitor did. A memory that somebody changed
    since stays as it is. What only another command takes back, as of skills and
    settings, is named, and nothing older is taken back in its place.

    \b
    Examples:
      memsync undo
      memsync undo --list
      memsync undo 3fa9c1
      memsync undo --redo
    """
    found = undoing.list_commands(project, again=again)
    if is_list:
        texts = undoing.find_texts(project, found)
        lines = [line for one in found for line in _describe_command(one, texts)]
        value = {"commands": [_list_command(one, texts) for one in found]}
        return Answer(value, "\n".join(lines) or "nothing to take back")
    if not yes and is_dialogue():
        _confirm(project, [one for one in found if one.id.startswith((ref or "").lower())][:1], again=again)
    done = deciding.undo_command(project, ref or "", again=again)
    verb = "did again" if again else "took back"
    lines = [f"{verb} {undoing.spell_command(done.command)} of {_spell_time(done.at)}"]
    lines += [render.entry_line(entry, project.clock(), "  now ") for entry in done.brought]
    lines += [render.entry_line(entry, project.clock(), "  removed ") for entry in done.removed]
    waits = "waits no longer" if again else "waits for approval again"
    candidates = (memory for raw in done.proposals if (memory := decode(raw.encode()).memory))
    lines += [f"  {waits}: {render.one_line(memory.content)}" for memory in candidates]
    lines += [f"  {render.one_line(why)}" for why in done.left]
    return Answer(done, "\n".join(lines))


def _confirm(project: Project, chosen: Sequence[undoing.Command], *, again: bool) -> None:
    texts = undoing.find_texts(project, chosen)
    for one in chosen:
        if one.can_go:
            for line in _describe_command(one, texts):
                click.echo(line, err=True)
            click.confirm("Do this again?" if again else "Take this back?", default=True, abort=True, err=True)


def _spell_time(at: str) -> str:
    moment = parse_time(at)
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}" if moment else at


def _describe_command(one: undoing.Command, texts: Mapping[undoing.Step, str]) -> Iterator[str]:
    """Yield a line for the command *one*, and one for each thing that it did, the first few."""
    yield f"{click.style(one.id, fg='yellow')} {_spell_time(one.at)} {one.name}"
    did = [
        terminal.flow(
            f"  {_WORDS[bool(step.before), bool(step.after)]} {shown_id(step.id)}",
            render.one_line(mark_text(texts[step], step.scope)),
        )
        for step in one.steps
        if step in texts
    ]
    did += [f"  {render.one_line(change.what)}" for change in one.changes]
    yield from did[:_SHOWN]
    if len(did) > _SHOWN:
        yield f"  and {len(did) - _SHOWN} more"


def _list_command(one: undoing.Command, texts: Mapping[undoing.Step, str]) -> dict[str, Any]:
    steps = [{**step._asdict(), "content": texts.get(step, "")} for step in one.steps]
    changes = [{"what": change.what, "way": change.way} for change in one.changes]
    return {"id": one.id, "words": one.words, "at": one.at, "steps": steps, "changes": changes}
