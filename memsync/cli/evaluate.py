"""`memsync eval` and `memsync test`: parse, ask the suites or the tests, render."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

import click

from memsync.agents import recall_suite
from memsync.agents.memory_tests import (
    Outcome,
    load_cases,
    open_as_cloned,
    open_past,
    open_session,
    put_changed_first,
    run,
)
from memsync.agents.recall_suite import FIGURES
from memsync.cli import render
from memsync.cli.app import Answer, cli, command
from memsync.cli.options import read_time
from memsync.cli.render import one_line
from memsync.cli.terminal import track
from memsync.errors import ConfigError, blaming
from memsync.format.cases import TESTS
from memsync.index.embedders import choose
from memsync.memories.project import Project
from memsync.records import Clock, shown_id
from memsync.store.places import STORE_DIR
from memsync.store.settings import parse_value
from memsync.system.texts import count

if TYPE_CHECKING:
    from memsync.index.embed import Meaning

_track: Final = partial(track, label="asking", least=50)
_COLUMNS: Final = ("n", *recall_suite.METRICS, "injected", "injected hit@5", "headlines", "served", *FIGURES)


@cli.group("eval")
def evaluate() -> None:
    """Measure recall on your own questions and sessions."""


@command(evaluate)
@click.argument("suites", metavar="SUITE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--run", "out", metavar="OUT.jsonl", type=click.Path(path_type=Path), help="Write every answer there, one a line."
)
@click.option("--inject", is_flag=True, help="Also measure what a session would be given, by its very rules.")
@click.option(
    "--now", metavar="TIME", help="With --inject: the time from which records have their ages, e.g. 2026-11-01."
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=recall_suite.KEPT,
    show_default=True,
    help="Hits kept of each answer.",
)
@click.option("--calibration", is_flag=True, help="Also say how often a hit of each confidence is relevant.")
@click.option("--embedder", metavar="SPEC", help="Instead of the setting memory.embedder, e.g. none.")
def recall(
    project: Project,
    /,
    suites: tuple[Path, ...],
    out: Path | None,
    inject: bool,
    now: str | None,
    depth: int,
    calibration: bool,
    embedder: str | None,
) -> Answer:
    """Ask the questions of each SUITE, and say how well recall answers.

    A SUITE is a folder of JSON lines: corpus.jsonl has the records (id,
    content), queries.jsonl the questions (qid, kind, text), qrels.jsonl what
    is relevant (qid, id, rel). A kind that begins with na_ has no answer. With
    facets.jsonl (qid, id, facts) it also counts distinct facts, repeats and
    lines that are not relevant. docs/evaluation.md says what the figures mean.

    \b
    Examples:
      memsync eval recall my-suite
      memsync eval recall my-suite --inject --run answers.jsonl
    """
    if embedder is not None:
        _choose_embedder(embedder, "")
        project = project.with_settings(embedder=parse_value("memory.embedder", embedder))
    moment = read_time(now, "--now") if now else project.clock()
    clock = (lambda: moment) if inject else None
    reports = [_ask(project, suite, depth=depth, clock=clock) for suite in [*map(recall_suite.read_suite, suites)]]
    if out:
        _write_lines(out, (json.dumps(answer.as_dict()) for report in reports for answer in report.answers))
    found = [report.as_dict() for report in reports]
    overall = recall_suite.together(reports).as_dict()
    shown = [*found, overall] if len(found) > 1 else found
    parts = [*map(_format_report, shown), *([_format_bins(overall["calibration"])] if calibration else [])]
    return Answer({"suites": found, "overall": overall}, "\n\n".join(parts))


def _ask(project: Project, suite: recall_suite.Suite, *, depth: int, clock: Clock | None) -> recall_suite.Report:
    """Put the questions of *suite* to its records, and with a *clock* to a session that has them."""
    settings = project.settings
    how: dict[str, Any] = {"stop_words": settings.stop_words, "depth": depth, "track": _track}
    meaning = _choose_embedder(None, settings.embedder)
    if clock is None:
        return recall_suite.ask(suite, meaning, **how)
    with open_session(suite, project.loaded, clock) as inject:
        return recall_suite.ask(suite, meaning, inject=inject, **how)


def _format_bins(bins: Sequence[Mapping[str, Any]]) -> str:
    """Return the counts of a reliability diagram as a table of Markdown, which is also what the documents have."""
    lines = ["| confidence | hits | relevant | share |", "|---|---|---|---|"]
    for one in bins:
        share = "–" if one["share"] is None else f"{one['share']:.3f}"
        lines.append(f"| {one['from']:.1f} to {one['to']:.1f} | {one['n']} | {one['relevant']} | {share} |")
    return "\n".join(lines)


def _align_rows(columns: Sequence[str], rows: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    wide = max(map(len, rows), default=0)
    yield click.style(" " * wide + "".join(_spell_cell(name, name) for name in columns), bold=True)
    for label, row in rows.items():
        yield f"{label:{wide}}{''.join(_spell_cell(name, row.get(name, '')) for name in columns)}".rstrip()


def _choose_embedder(chosen: str | None, setting: str) -> Meaning | None:
    try:
        return choose(setting if chosen is None else parse_value("memory.embedder", chosen))
    except ValueError as error:
        raise ConfigError(f"{'memory.embedder' if chosen is None else '--embedder'}: {error}") from None


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with blaming(path):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _format_report(found: Mapping[str, Any]) -> str:
    """Return one report as a table, a row a kind, and what else is to say about it."""
    rows = {**found["kinds"], "answerable": found["answerable"]}
    if found["unanswerable"]["n"]:
        rows["unanswerable"] = found["unanswerable"]
    columns = [name for name in _COLUMNS if name in found["answerable"]]
    asked = found["answerable"]["n"] + found["unanswerable"]["n"]
    left_out = f", {found['left_out']} without a relevant record left out" if found["left_out"] else ""
    records = render.count(found["records"], "record")
    lines = [
        f"{render.one_line(found['suite'])}: {records}, {asked:,} questions{left_out}",
        *_align_rows(columns, rows),
    ]
    if found["auroc"] is not None:
        lines.append(f"AUROC of answerable against unanswerable {found['auroc']:.3f}")
    if found["degraded"]:
        lines.append(f"{click.style('degraded', fg='yellow')}: searched by words only, because {found['degraded']}")
    return "\n".join(lines)


def _spell_cell(column: str, value: float | str | None) -> str:
    shown = "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
    return shown.rjust(max(len(column), 5) + 2)


@command(evaluate)
@click.argument(
    "sessions", metavar="SESSIONS...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)
)
@click.option(
    "--memories",
    metavar="FILE.jsonl",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The lines to give, in the form of memories.jsonl; else those of the project.",
)
@click.option("--words", "arms", flag_value="words", multiple=True, help="Play FTS5 on the same lines, without a gate.")
@click.option("--random", "arms", flag_value="random", multiple=True, help="Play the same lines at random.")
@click.option(
    "--instructions", "arms", flag_value="instructions", multiple=True, help="Play the instruction files alone."
)
@click.option(
    "--learned", "arms", flag_value="learned", multiple=True, help="Play what memsync learns of the sessions by itself."
)
@click.option("--none", "arms", flag_value="none", multiple=True, help="Play no memory at all.")
@click.option(
    "--labels",
    metavar="FILE.jsonl",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Classes of failures that a person has defined, instead of the rules.",
)
@click.option("--since", metavar="TIME", help="Count sessions from then on; those before only teach.")
@click.option("--until", metavar="TIME", help="Leave out sessions from then on.")
@click.option(
    "--out", metavar="OUT.jsonl", type=click.Path(path_type=Path), help="Write what became of each repeat there."
)
def replay(
    project: Project,
    /,
    sessions: tuple[Path, ...],
    memories: Path | None,
    arms: tuple[str, ...],
    labels: Path | None,
    since: str | None,
    until: str | None,
    out: Path | None,
) -> Answer:
    """Play recorded sessions again, and count which repeated failures would have met their memory in time.

    SESSIONS are transcripts (Claude Code, Codex, Gemini CLI, Copilot CLI, opencode export, SpecStory), folders of
    them, or git repositories with Entire's checkpoints. A repeat is a session with a failure that an earlier one had;
    a line about it is there from the end of that one. Nothing of a session is run, and nothing is written but OUT.
    Run it in the repository of the sessions: which files there were is looked up in its history.
    docs/evaluation.md says what the figures mean. Without a flag all arms are played.

    \b
    Examples:
      memsync eval replay ~/.claude/projects/-home-me-shop
      memsync eval replay sessions/ --memories lines.jsonl --words --json
    """
    from memsync.agents import trials

    names = [*(["memories"] if memories or not arms else []), *(arms if arms or memories else trials.CONTROLS)]
    start = read_time(since, "--since") if since else None
    end = read_time(until, "--until") if until else None
    trial = trials.prepare(project, sessions, memories=memories, labels=labels, until=end, track=_track)
    reports = [trial.run(name, since=start, track=_track) for name in names]
    if out:
        _write_lines(out, (json.dumps({"arm": one.arm, **row}) for one in reports for row in one.met))
    found = {**trial.as_dict(), "arms": [one.as_dict() for one in reports], "totals": reports[0].totals.as_dict()}
    return Answer(found, _format_replay(found))


_REPLAYED: Final = (
    "repeats",
    "in_time",
    "start",
    "prompt",
    "after_right",
    "after_wrong",
    "silent",
    "lines_per_100_calls",
)


def _format_replay(found: Mapping[str, Any]) -> str:
    """Return the classes and a table of the arms, with the splits of the first."""
    first = found["arms"][0]
    title = f"{render.count(found['sessions'], 'session')}, {found['calls']:,} calls, {found['failures']:,} failures"
    known = [
        f"  {one['sessions']:>4} sessions  {render.one_line(one['class'])} ({one['kind']})"
        for one in found["classes"][:_SHOWN]
    ]
    more = [f"  and {len(found['classes']) - _SHOWN} more"] if len(found["classes"]) > _SHOWN else []
    arms = {one["arm"]: one["totals"] for one in found["arms"]}
    splits = {f"  {name}": row for split in ("by_kind", "by_person") for name, row in first[split].items()}
    reasons = {f"  {why}": row for why, row in first["by_reason"].items()}
    tables = [*_align_rows(_REPLAYED, arms), *_align_more(_REPLAYED[:-1], splits), *_align_more(_REASONED, reasons)]
    return "\n".join([title, *(known or ["no failure came back"]), *more, "", *tables])


_SHOWN: Final = 12


_REASONED: Final = ("in_time", "after_right", "after_wrong", "lines_per_100_calls")


def _align_more(columns: Sequence[str], rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return ["", *_align_rows(columns, rows)] if rows else []


_track_tests: Final = partial(track, label="testing", least=50)
_SHOWN_FAILURES: Final = 100  # characters of a question


@command(cli)
@click.option("--since", metavar="REV", help="Also say which questions get other memories than at that commit.")
@click.option("--junit", metavar="FILE", type=click.Path(path_type=Path), help="Write the results there as JUnit XML.")
@click.option("--github", is_flag=True, help="Print annotations for GitHub Actions.")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a comment on a pull request.")
def test(project: Project, /, since: str | None, junit: Path | None, github: bool, markdown: bool) -> Answer:
    """Run the memory tests in .gobby/tests.jsonl; exit 1 if one fails.

    A line is a question, {"prompt": "…"}, {"command": "…"}, {"path": "…"} or {"error": "…"}, with what a new session
    must be given for it, "given": ["ID"], what it must not, "not": ["ID"], or "silent": true. Each goes to the very
    hook of a client, with the project's own memories and settings alone, as any clone has them. What HEAD has not, or
    what names a changed memory, comes first. A test fails too when a memory that it names is gone or archived.

    \b
    Examples:
      memsync test
      memsync test --since main --markdown
      memsync test --github --junit memory-tests.xml
    """
    cases = put_changed_first(project, load_cases(project))
    with open_as_cloned(project) as cloned, open_past(project, since) if since else nullcontext() as past:
        done = list(run(cloned, cases, past, _track_tests))
    failed = sum(bool(one.problems) for one in done)
    if junit:
        with blaming(junit):
            junit.write_bytes(_make_junit(done))
    lines = _list_markdown(done, since) if markdown else _list_github(done) if github else _list_failures(done)
    end = f"{count(failed, 'test')} of {len(done)} failed" if failed else f"{count(len(done), 'test')}, all passed"
    value = {"tests": len(done), "failed": failed, "results": done}
    return Answer(value, "\n".join([*lines, *([] if markdown else [*_list_changed(done), end])]), 1 if failed else 0)


def _name(one: Outcome) -> str:
    asked = one_line(one.case.question)
    return f"{one.case.door} {asked if len(asked) <= _SHOWN_FAILURES else asked[:_SHOWN_FAILURES] + '…'}"


def _list_failures(done: Sequence[Outcome]) -> Iterator[str]:
    for one in done:
        if one.problems:
            yield f"{STORE_DIR}/{TESTS}:{one.case.number}: {_name(one)}: {'; '.join(one.problems)}"
            yield f"    {one_line(one.command)} says why"


def _list_changed(done: Sequence[Outcome]) -> Iterator[str]:
    for one in done:
        if one.is_changed:
            yield f"{STORE_DIR}/{TESTS}:{one.case.number}: {_name(one)}: {_spell(one.before)} → {_spell(one.given)}"


def _spell(ids: Sequence[str] | None) -> str:
    return ", ".join(map(shown_id, ids or ())) or "nothing"


def _list_github(done: Sequence[Outcome]) -> Iterator[str]:
    """Yield a workflow command for each failure; what it says is escaped, so that no text of a test gives another."""
    for one in done:
        if one.problems:
            said = f"{_name(one)}: {'; '.join(one.problems)}".replace("%", "%25")
            yield f"::error file={STORE_DIR}/{TESTS},line={one.case.number},title=memory test::{said}"


def _list_markdown(done: Sequence[Outcome], since: str | None) -> Iterator[str]:
    failed, changed = [one for one in done if one.problems], [one for one in done if one.is_changed]
    yield f"**Memory tests**: {len(done) - len(failed)} of {len(done)} pass"
    if failed:
        yield "\n| line | question | why it fails |\n|---|---|---|"
        yield from (f"| {one.case.number} | {_cell(_name(one))} | {_cell('; '.join(one.problems))} |" for one in failed)
    if since:
        yield f"\n{count(len(changed), 'question')} of the tests get other memories than at {_cell(since)}."
    if changed:
        yield "\n| line | question | before | now |\n|---|---|---|---|"
    for one in changed:
        yield f"| {one.case.number} | {_cell(_name(one))} | {_cell(_spell(one.before))} | {_cell(_spell(one.given))} |"


def _cell(text: str) -> str:
    plain = text.replace("`", "'").replace("|", "/")
    return f"`{plain}`"


def _make_junit(done: Sequence[Outcome]) -> bytes:
    suite = ET.Element("testsuite", name="memsync", tests=str(len(done)))
    suite.set("failures", str(sum(bool(one.problems) for one in done)))
    for one in done:
        case = ET.SubElement(suite, "testcase", classname=f"{STORE_DIR}/{TESTS}", name=_name(one))
        case.set("line", str(one.case.number))
        if one.problems:
            ET.SubElement(case, "failure", message="; ".join(one.problems)).text = one_line(one.command)
    written: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return written
