"""`memsync eval`: parse, ask the suites, render."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from memsync import evaluate as measuring
from memsync.cli import render
from memsync.cli.app import json_option, open_project, print_result
from memsync.errors import ConfigError, write_failed

if TYPE_CHECKING:
    from memsync.index.embed import Meaning

_BAR_FROM: Final = 50
_COLUMNS: Final = ("n", *measuring.METRICS, "injected", "injected hit@5")


@click.group("eval")
def evaluate() -> None:
    """Measure recall on your own questions."""


@evaluate.command()
@click.argument("suites", metavar="SUITE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--run", "out", metavar="OUT.jsonl", help="Write every answer there, one a line.")
@click.option("--inject", is_flag=True, help="Also measure what an agent would be shown unasked.")
@click.option("--embedder", metavar="SPEC", help="Instead of the setting memory.embedder, e.g. none.")
@json_option
@click.pass_context
def recall(
    ctx: click.Context,
    /,
    suites: tuple[Path, ...],
    out: str | None,
    inject: bool,
    embedder: str | None,
    as_json: bool,
) -> None:
    """Ask the questions of each SUITE, and say how well recall answers.

    A SUITE is a folder of JSON lines: corpus.jsonl has the records (id,
    content), queries.jsonl the questions (qid, kind, text), qrels.jsonl what
    is relevant (qid, id, rel). A kind that begins with na_ has no answer.
    docs/recall.md says what the figures mean.

    \b
    Examples:
      memsync eval recall my-suite
      memsync eval recall my-suite --inject --run answers.jsonl
    """
    settings = open_project(ctx).settings
    meaning = _meaning(embedder, settings.embedder)
    asked = [measuring.read_suite(path) for path in suites]
    reports = [measuring.ask(suite, meaning, stop_words=settings.stop_words, track=_tracked) for suite in asked]
    if out:
        _write_run(Path(out), reports, inject=inject)
    found = [report.as_dict(inject=inject) for report in reports]
    overall = measuring.together(reports).as_dict(inject=inject)
    shown = [*found, overall] if len(found) > 1 else found
    print_result(as_json, {"suites": found, "overall": overall}, "\n\n".join(map(_table, shown)))


def _meaning(chosen: str | None, setting: str) -> Meaning | None:
    from memsync.index.embed import choose

    try:
        return choose(setting if chosen is None else chosen)
    except ValueError as error:
        raise ConfigError(f"{'memory.embedder' if chosen is None else '--embedder'}: {error}") from None


def _tracked(queries: Sequence[measuring.Query]) -> Iterable[measuring.Query]:
    return _bar(queries) if len(queries) >= _BAR_FROM and sys.stderr.isatty() else queries


def _bar(queries: Sequence[measuring.Query]) -> Iterator[measuring.Query]:
    with click.progressbar(queries, label="asking", file=sys.stderr) as bar:
        yield from bar


def _write_run(path: Path, reports: Sequence[measuring.Report], *, inject: bool) -> None:
    lines = (json.dumps(answer.as_dict(inject=inject)) for report in reports for answer in report.answers)
    try:
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise write_failed(path, error) from error


def _table(found: Mapping[str, Any]) -> str:
    """Return one report as a table, a row a kind, and what else is to say about it."""
    rows = {**found["kinds"], "answerable": found["answerable"]}
    if found["unanswerable"]["n"]:
        rows["unanswerable"] = found["unanswerable"]
    columns = [name for name in _COLUMNS if name in found["answerable"]]
    wide = max(map(len, rows))
    head = click.style(" " * wide + "".join(_cell(name, name) for name in columns), bold=True)
    lines = [
        f"{kind:{wide}}" + "".join(_cell(name, row.get(name, "")) for name in columns) for kind, row in rows.items()
    ]
    return "\n".join([_title(found), head, *map(str.rstrip, lines), *_notes(found)])


def _cell(column: str, value: float | str | None) -> str:
    shown = "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
    return shown.rjust(max(len(column), 5) + 2)


def _title(found: Mapping[str, Any]) -> str:
    asked = found["answerable"]["n"] + found["unanswerable"]["n"]
    left_out = f", {found['left_out']} without a relevant record left out" if found["left_out"] else ""
    return f"{render.one_line(found['suite'])}: {found['records']:,} records, {asked:,} questions{left_out}"


def _notes(found: Mapping[str, Any]) -> Iterator[str]:
    if found["auroc"] is not None:
        yield f"AUROC of answerable against unanswerable {found['auroc']:.3f}"
    if found["degraded"]:
        yield f"{click.style('degraded', fg='yellow')}: searched by words only, because {found['degraded']}"
