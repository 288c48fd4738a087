"""`memsync test`: run the memory tests, and say what failed as people, GitHub or JUnit read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import click

from memsync.cli.app import Answer, cli, command
from memsync.cli.render import one_line
from memsync.cli.terminal import track
from memsync.errors import blaming
from memsync.evals.memory_tests import Outcome, load_cases, open_as_cloned, open_past, put_changed_first, run
from memsync.format.cases import TESTS
from memsync.memories.project import Project
from memsync.records import shown_id
from memsync.store.places import STORE_DIR
from memsync.system.texts import count

_track: Final = partial(track, label="testing", least=50)
_SHOWN: Final = 100  # characters of a question


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
        done = list(run(cloned, cases, past, _track))
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
    return f"{one.case.door} {asked if len(asked) <= _SHOWN else asked[:_SHOWN] + '…'}"


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
    """Return *text* as code in a table, where it is no markup and calls nobody."""
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
