"""How found memories are printed: as rows, whole, as ids, or in a form of one's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import click

from memsync.cli import render
from memsync.errors import UsageError
from memsync.format.scopes import mark_text
from memsync.memories.results import Entry
from memsync.poison.guard import shown_label, shown_type
from memsync.records import shown_id

GROUPS: Final = ("type", "tag", "scope", "author", "day")
_FIELD: Final = re.compile(r"\{(\w+)\}")
_ESCAPES: Final = {r"\t": "\t", r"\n": "\n"}


class Form(NamedTuple):
    """What somebody wants to see of each memory."""

    full: bool = False
    ids: bool = False
    template: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the usual rows will do."""
        return self == Form()

    def spell(self, found: Sequence[Entry], now: datetime, *, none: str, group: str | None = None) -> str:
        """Return *found* in this form, or *none*; in a *group* under a heading for each.

        Raises:
            UsageError: the template names a field that no memory has.
        """
        if group is None or self.ids or self.template is not None:
            return self._spell_some(found, now) or ("" if self.ids else none)
        heads = _sort_into(found, group)
        return "\n\n".join(f"{click.style(h, bold=True)}\n{self._spell_some(e, now)}" for h, e in heads.items()) or none

    def _spell_some(self, found: Iterable[Entry], now: datetime) -> str:
        if self.ids:
            return "\n".join(shown_id(entry.id) for entry in found)  # they go on to xargs: no blank, no line, no option
        if self.template is not None:
            marks = "{scope}" not in self.template
            return "\n".join(_fill(self.template, _list_values(entry, marks=marks)) for entry in found)
        if self.full:
            return "\n\n".join(render.entry_whole(entry, now) for entry in found)
        return "\n".join(render.entry_line(entry, now) for entry in found)


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command be told the form of its rows, which it gets as `form`."""

    @click.option("--full", is_flag=True, help="Everything about each.")
    @click.option("--ids", is_flag=True, help="The ids alone, a line each.")
    @click.option(
        "--format", "template", metavar="FORM", help="A line each, with {id}, {content} and other keys of --json."
    )
    def run(*args: Any, full: bool, ids: bool, template: str | None, **options: Any) -> Any:
        if full + ids + (template is not None) > 1:
            raise UsageError("--full, --ids and --format exclude each other; give one of them")
        return function(*args, form=Form(full, ids, template), **options)

    wrapped: Callable[..., Any] = run
    wrapped.__click_params__ = [*getattr(function, "__click_params__", []), *run.__click_params__]  # type: ignore[attr-defined]
    wrapped.__name__, wrapped.__doc__ = function.__name__, function.__doc__
    return wrapped


def _sort_into(found: Iterable[Entry], group: str) -> Mapping[str, list[Entry]]:
    heads: dict[str, list[Entry]] = {}
    for entry in found:
        for name in _name_groups(entry, group):
            heads.setdefault(name, []).append(entry)
    return dict(sorted(heads.items(), reverse=group == "day"))


def _name_groups(entry: Entry, group: str) -> Sequence[str]:
    memory = entry.memory
    if group == "tag":
        return [shown_label(tag) for tag in memory.tags] or ["no tag"]
    day = f"{memory.written_at:%Y-%m-%d}" if memory.written_at else "no date"
    named = {
        "type": shown_type(memory.memory_type),
        "scope": render.scope(entry.scope),
        "author": shown_label(memory.author or "nobody named"),
        "day": day,
    }
    return [named[group]]


def _list_values(entry: Entry, *, marks: bool) -> Mapping[str, Any]:
    """Return what a template may name; what is not the project's own says so in its text, if it *marks* that."""
    memory = entry.memory
    empty = {
        "author": "",
        "anchors": (),
        "cues": (),
        "links": (),
        "supersedes": (),
        "archived_at": "",
        "created_at": "",
        "updated_at": "",
        "conflict_of": "",
    }
    return {
        **empty,
        **entry.as_dict(),
        "id": shown_id(entry.id),
        "content": mark_text(entry.content, entry.scope) if marks else entry.content,
        "type": memory.memory_type,
        "scope": render.scope(entry.scope),
    }


def _fill(template: str, values: Mapping[str, Any]) -> str:
    for escape, meant in _ESCAPES.items():
        template = template.replace(escape, meant)
    return _FIELD.sub(lambda found: _spell_value(found[1], values), template)


def _spell_value(name: str, values: Mapping[str, Any]) -> str:
    if name not in values:
        raise UsageError(f"--format: no field {name!r}; there are {', '.join(sorted(values))}")
    value = values[name]
    return render.one_line(",".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
