"""`memsync memory …`: parse, one call, render."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

import click

from memsync.cli import render, terminal
from memsync.cli.app import Answer, MemoryGroup, cli, command, wants_json
from memsync.cli.choosing import find_ref
from memsync.cli.options import allow_secret_option, let_secrets_pass, target_options
from memsync.cli.words import TextCommand, is_dialogue
from memsync.errors import UsageError
from memsync.memories.project import Project
from memsync.memories.results import RELATIONS, Remembered
from memsync.records import FIELDS, shown_id
from memsync.system.texts import read_utf8


@cli.group(
    cls=MemoryGroup,
    homes=(
        ("finding", "recall search list show"),
        ("edit", "edit"),
        ("editing", "update forget restore"),
        ("editing", "tags"),
        ("past", "log undo"),
        ("finding", "stats"),
        ("past", "history diff blame"),
        ("proposals", "init extract candidates approve reject"),
        ("janitor", "enrich"),
        ("editing", "anchor"),
        ("editing", "share unshare audit"),
        ("review", "dedup"),
        ("transfer", "import export"),
    ),
)
def memory() -> None:
    """Remember, recall, list, edit, import and export memories."""


def read_text(content: str) -> str:
    """Return *content*, or for "-" what comes on standard input."""
    if content != "-":
        return content
    return read_utf8(sys.stdin.buffer.read(), "standard input", UsageError, "send it as UTF-8")


def _read_words(words: tuple[str, ...]) -> str:
    """Return what *words* say in a row, or what is typed in an editor where there are none."""
    if words:
        return read_text(" ".join(words))
    if wants_json() or not is_dialogue():
        raise UsageError('say what to remember, as in: memsync remember "CI needs Node 20"; - reads standard input')
    return terminal.edit() or ""


class _FieldOption(NamedTuple):
    """How a command takes a field; `changed` is what `update` says of it, where that is something else than of a `new` memory."""

    field: str
    flags: str
    metavar: str
    new: str
    changed: str = ""


_OPTIONS: Final = (
    _FieldOption("memory_type", "--type", "TYPE", "fact, preference, pattern, context, rule or your own.  [default: fact]", "The new type."),
    _FieldOption("importance", "--importance", "N", "0 to 1.  [default: 0.7]", "The new importance, 0 to 1."),
    _FieldOption("tags", "--tag --tags", "TAG", "A tag, or several with commas (repeat).", 'The new tags (repeat, or commas; "": none).'),
    _FieldOption("cues", "--cue", "TEXT", "Find it by this too: a question it answers, a symptom (repeat).", 'The new cues (repeat; "": none).'),
    _FieldOption("links", "--link", "LINK", "because:ID, needs:ID, see:ID or see:skill/NAME: given beside it (repeat).", 'The new links (repeat; "": none).'),
    _FieldOption("triggers", "--trigger", "TRIGGER", "Give it where this is met: 'not: NAME', 'fails: TEXT' (repeat).", 'The new triggers (repeat; "": none).'),
    _FieldOption("supersedes", "--supersedes", "ID|WORDS", "Archive that memory, which this one replaces (repeat)."),
    _FieldOption("anchors", "--anchor", "PATH[#SYMBOL]", "Mark it when that file or symbol changes (repeat).", "What it is about now (repeat)."),
)  # fmt: skip


def field_options(function: Callable[..., Any], *, new: bool = False) -> Callable[..., Any]:
    """Let a command take the fields of a *new* memory, or of one that is there."""
    kinds = {field.name: field.kind for field in FIELDS}
    for one in reversed(_OPTIONS):
        kind = kinds[one.field]
        function = click.option(
            *one.flags.split(),
            one.field,
            metavar=one.metavar,
            type=float if kind == "number" else None,
            multiple=kind in ("list", "ids"),
            help=one.new if new else one.changed or one.new,
        )(function)
    return function


def find_replaced(project: Project, said: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids that --supersedes names."""
    return tuple(find_ref(project, (one,)) for one in said)


@command(memory, cls=TextCommand)
@click.argument("content", nargs=-1, metavar="TEXT...")
@partial(field_options, new=True)
@allow_secret_option
@target_options
def remember(
    project: Project, /, content: tuple[str, ...], tags: tuple[str, ...], allow_secret: bool, **fields: Any
) -> Answer:
    """Store TEXT ("-": standard input), unless it is stored already.

    Words need no quotes, but for what the shell reads. On a terminal your editor opens where there is no TEXT.

    A text that says the same is not stored twice. A text that contradicts a
    memory is stored, and you are told; on a terminal you are asked whether it
    replaces that memory. docs/dedup.md says how this is decided.

    \b
    Examples:
      memsync remember Always use uv --type preference --tag python
      memsync remember "The API listens on 8081" --supersedes "API listens"
      memsync remember "Retries are capped at 5" --anchor src/client.py#MAX_RETRIES
      memsync remember "Cookies are SameSite=Lax" --cue "logged out after paying"
      memsync remember "We pin uvicorn 0.23" --link because:mm-a1b
      memsync remember "My editor is Helix" --global
      memsync remember "The staging token is …" --private
    """
    let_secrets_pass(project, wanted=allow_secret)
    project.be_brief()
    project.expect_store(fields["scope"])
    fields["supersedes"] = find_replaced(project, fields["supersedes"])
    result = project.remember(_read_words(content), tags=split_tags(tags), **fields)
    if content != ("-",) and not wants_json() and is_dialogue():
        result = _ask_what_it_replaces(project, result)
    return Answer(result, render.remembered(result, project.clock()))


def _ask_what_it_replaces(project: Project, result: Remembered) -> Remembered:
    """Ask whether a new memory replaces each one that says otherwise, and return what became of it."""
    wrong = [one for one in result.similar if one.may_replace]
    if result.status not in ("created", "updated") or not wrong:
        return result
    click.echo(render.entry_line(result.entry, project.clock(), "stored "), err=True)
    replaced = []
    for other in wrong:
        why = f"  {RELATIONS[other.relation]} ({render.one_line(other.reason)}): "
        click.echo(render.entry_line(other, project.clock(), why), err=True)
        if click.confirm(f"  does this replace {shown_id(other.id)}?", err=True):
            replaced.append(other.id)
    if not replaced:
        return result
    done = project.update(result.entry.id, scope=result.entry.scope, supersedes=replaced)
    left = tuple(one for one in result.similar if one.id not in replaced)
    return replace(done, similar=left, reason=f"instead of {', '.join(map(shown_id, replaced))}")


def split_tags(tags: tuple[str, ...]) -> list[str]:
    """Return what --tag a,b --tag c says: a, b and c."""
    return [part for tag in tags for part in tag.split(",")]
