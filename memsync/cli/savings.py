"""`memsync replay`: what memory would have saved in the sessions of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from memsync.cli import render
from memsync.cli.app import Answer, cli, command
from memsync.cli.options import read_time
from memsync.cli.terminal import track
from memsync.errors import SecretFound
from memsync.format.cases import Case
from memsync.learn.candidates import Candidates
from memsync.memories.project import Project

if TYPE_CHECKING:
    from memsync.agents.savings import Savings

_SHOWN: Final = 12
_track: Final = partial(track, label="reading", least=20)


@command(cli)
@click.argument("sessions", metavar="[SESSIONS...]", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--since", metavar="TIME", help="Count what came back from then on; earlier sessions only teach.")
@click.option("--propose", is_flag=True, help="Let the memories wait for `memsync review`; nothing is stored before.")
@click.option("--tests", is_flag=True, help="Write a memory test of each failing call for which there is a memory now.")
@click.option(
    "--html", "page", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Write a page too."
)
@click.option("--force", is_flag=True, help="With --html: replace the file, whosever it is.")
@click.option("--words", is_flag=True, help="Show also what was called and said, in which sessions, and by whom.")
def replay(
    project: Project,
    /,
    sessions: tuple[Path, ...],
    since: str | None,
    propose: bool,
    tests: bool,
    page: Path | None,
    force: bool,
    words: bool,
) -> Answer:
    """Say what memory would have saved you: which failures came back in your sessions, and what they cost.

    SESSIONS are transcripts, folders of them, or git repositories with Entire's checkpoints. Without them it reads
    those of this machine that ran in this repository. For each failure that came back it writes a memory, and plays
    the sessions again: would the hook have given it in time? Nothing of a session is run, and no memory is stored.

    \b
    Examples:
      memsync replay
      memsync replay --since 2026-11-01 --propose
      memsync replay --html saved.html
      memsync replay --tests && memsync test
    """
    from memsync.agents import savings, trials

    start = read_time(since, "--since") if since else None
    trial = trials.prepare(project, sessions or savings.list_sessions(project), track=_track)
    done = savings.try_out(trial, savings.find_savings(trial, start), start, _track)
    about = trial.as_dict()
    read = {name: about[name] for name in ("sessions", "others", "absent", "odd_lines", "calls", "failures")}
    found = {**read, **done.as_dict(words=words)}
    if page:
        from memsync.web.export import write_replay

        write_replay(project, page, found, force=force)
    proposed = Candidates(project).propose(savings.list_proposals(done)) if propose else []
    found["proposed"] = [one.memory.id for one in proposed]
    if tests:
        found["tests"] = _write_tests(project, done)
    return Answer(found, "\n".join(_format(found, page, propose=propose)))


def _write_tests(project: Project, done: Savings) -> list[Case]:
    """Write a test of each failing call that has none: what a secret stands in makes none."""
    from memsync.agents import memory_tests, savings

    there = memory_tests.load_cases(project) if memory_tests.path_of(project).exists() else []
    known = {(case.door, case.question) for case in there}
    written = []
    for (door, said), ids in savings.list_questions(done, project).items():
        if (door, said) not in known:
            with suppress(SecretFound):
                written.append(memory_tests.add_case(project, {door: said}, ids))
    return written


def _format(found: Mapping[str, Any], page: Path | None, *, propose: bool) -> Iterator[str]:
    yield f"{render.count(found['sessions'], 'session')}, {found['calls']:,} calls, {found['failures']:,} failures"
    back, cost = found["back"], found["cost"]
    if not back:
        yield "no failure came back" if found["sessions"] else "no session of this repository is here; name some"
        return
    yield (
        f"{render.count(len(back), 'failure')} came back {render.count(found['repeats'], 'time')} in later sessions, "
        f"and cost {render.count(cost['calls'], 'call')} and {cost['minutes']:.0f} minutes"
    )
    yield f"the memories below would have been given in time in {found['in_time']} of {found['repeats']}"
    for one in back[:_SHOWN]:
        facts = [
            render.count(one["calls"], "call"),
            f"{one['minutes']:.0f} min",
            render.count(one["sessions"], "session"),
        ]
        facts += [f"{one['people']} people"] if one["people"] > 1 else []
        yield f"{click.style(render.one_line(one['class'], 80), bold=True)}: {', '.join(facts)}"
        if memory := one["memory"]:
            due = ", ".join((*memory["triggers"], *memory["anchors"], f"in time {one['in_time']} of {one['sessions']}"))
            yield f"  {render.one_line(memory['content'])} ({render.one_line(due)})"
        yield from (f"  {miss['session']}:{miss['line']} {miss['call']}" for miss in one.get("misses", ()))
    yield from [f"and {len(back) - _SHOWN} more; --json lists all"] if len(back) > _SHOWN else []
    yield from [f"wrote {page}"] if page else []
    if "tests" in found:
        made = render.count(len(found["tests"]), "memory test")
        yield (
            f"wrote {made}; `memsync test` runs them"
            if found["tests"]
            else "no memory test is new: each of these calls has one, or gets no memory"
        )
    if propose:
        yield f"{render.memories(len(found['proposed']))} new for `memsync review`"
    else:
        yield "`memsync replay --propose` lets these memories wait for your review"
