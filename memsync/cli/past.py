"""`memsync history|diff|blame`: parse, one call, render."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import click

from memsync.cli import render, terminal
from memsync.cli.app import Answer, command
from memsync.cli.memory import memory
from memsync.cli.naming import find_ref
from memsync.format import worddiff
from memsync.format.linediff import diff_lines
from memsync.history import diff as difference
from memsync.history import events
from memsync.history.diff import Difference, SkillChange
from memsync.history.events import Event
from memsync.memories.project import Project
from memsync.poison.guard import shown_label, shown_type
from memsync.records import Memory, age, shown_id

COLOURS: Final = {"added": "green", "changed": "yellow", "removed": "red"}
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
    lines = [line for event in found for line in _format_event(event)]
    return Answer(
        events.as_history(found, notes), "\n".join([click.style(shown_id(found[0].id), bold=True), *lines, *notes])
    )


def _format_event(event: Event) -> Iterator[str]:
    yield f"{_format_commit(event)}  {click.style(event.kind, fg=COLOURS[event.kind])}"
    yield from (f"    {line}" for line in list_changes(event))


def _format_commit(event: Event) -> str:
    if event.commit is None:
        return "not committed yet"
    commit = event.commit
    day = f"{commit.when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{day} {click.style(commit.short, fg='cyan')} {render.one_line(f'{commit.author}: {commit.subject}')}"


def list_changes(event: Event) -> Iterator[str]:
    """Yield what differs, a line a field; of what came or went, the whole."""
    if event.before is None or event.after is None:
        memory = event.after or event.before
        assert memory
        yield _format_memory(memory)
        return
    old, new = event.as_dict()["before"], event.as_dict()["after"]
    for name in event.fields:
        if name == "content":
            yield f"content: {_mark_words(event.before.content, event.after.content)}"
        else:
            yield f"{shown_label(name)}: {_spell_value(old.get(name))} → {_spell_value(new.get(name))}"


def _format_memory(memory: Memory) -> str:
    tags = f"; {', '.join(map(shown_label, memory.tags))}" if memory.tags else ""
    return render.one_line(
        f"({shown_type(memory.memory_type)}, importance {memory.importance:g}{tags}) {memory.content}"
    )


def _spell_value(value: object) -> str:
    return render.one_line(
        ", ".join(map(str, value)) if isinstance(value, list) else "–" if value is None else str(value)
    )


def _mark_words(old: str, new: str) -> str:
    """Return both texts in one, as `git diff --word-diff` marks them; what they share is cut short."""
    parts = []
    for mark, text in worddiff.compare(old, new):
        shown = render.one_line(text) if mark != " " else _shorten(" ".join(text.split("\n")))
        if mark == "-":
            shown = click.style(f"[-{shown}-]", fg="red")
        elif mark == "+":
            shown = click.style(f"{{+{shown}+}}", fg="green")
        parts.append(shown)
    return "".join(parts)


def _shorten(text: str) -> str:
    text = render.printable(text)
    return text if len(text) <= 120 else f"{text[:50]} … {text[-50:]}"


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
    return Answer(found, _format_markdown(found) if markdown else _format_difference(found))


def _format_difference(found: Difference) -> str:
    lines = []
    for event in found.memories:
        kind = click.style(event.kind, fg=COLOURS[event.kind])
        lines += [f"{kind} {shown_id(event.id)}", *(f"    {line}" for line in list_changes(event))]
    for skill in found.skills:
        lines.append(f"{click.style(skill.kind, fg=COLOURS[skill.kind])} skill {render.one_line(skill.name)}")
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
        if some:
            lines.append(f"**{kind.capitalize()}**\n\n" + "\n".join(map(_format_bullet, some)))
    for skill in found.skills:
        fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", skill.before + skill.after)), default=0))
        body = "\n".join(_list_rows(skill))
        lines.append(f"**Skill {_escape(skill.name)}** {skill.kind}\n\n{fence}diff\n{body}\n{fence}")
    return "\n\n".join(lines)


def _format_bullet(event: Event) -> str:
    if event.before is None or event.after is None:
        memory = event.after or event.before
        assert memory
        return f"- `{shown_id(event.id)}` {_escape(_format_memory(memory))}"
    marks = {" ": "", "-": "~~", "+": "**"}
    told = []
    for name in event.fields:
        if name == "content":
            pieces = worddiff.compare(event.before.content, event.after.content)
            told.append("".join(_mark(text, marks[mark]) for mark, text in pieces))
        else:
            old, new = event.as_dict()["before"].get(name), event.as_dict()["after"].get(name)
            told.append(_escape(f"{shown_label(name)}: {_spell_value(old)} → {_spell_value(new)}"))
    return f"- `{shown_id(event.id)}` " + "<br>".join(told)


def _mark(text: str, mark: str) -> str:
    inner = render.one_line(text)
    left, right = " " * text[:1].isspace(), " " * text[-1:].isspace()
    return f"{left}{mark}{_escape(inner)}{mark}{right}" if inner else " "


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
    return Answer(events.as_blame(found, notes), "\n".join([*_align_rows(rows), *notes]) or "no memories yet")


def _format_blame(name: str, event: Event, now: datetime) -> tuple[str, str, str]:
    assert event.after
    value = event.after.content if name in ("", "content") else _spell_value(event.as_dict()["after"][name])
    commit = event.commit
    who = f"{commit.short} {commit.author}, {age(commit.when, now)}" if commit else "not committed yet"
    return render.one_line(who), shown_label(name or shown_id(event.id)), render.one_line(value)


def _align_rows(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    first = max((len(row[0]) for row in rows), default=0)
    second = max((len(row[1]) for row in rows), default=0)
    return [
        terminal.flow(f"{click.style(f'{who:{first}}', dim=True)}  {name:{second}} ", text) for who, name, text in rows
    ]
