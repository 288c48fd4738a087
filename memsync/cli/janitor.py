"""`memsync janitor`: parse, one call, render."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import click

from memsync.cli import render
from memsync.cli.app import Answer, LazyGroup, cli, command, print_answer, wants_json
from memsync.cli.memory import memory
from memsync.cli.terminal import track
from memsync.errors import MemsyncError, UsageError
from memsync.format.cases import TESTS, explain_loss, read_cases
from memsync.format.scopes import mark_text
from memsync.janitor import enrich as enriching
from memsync.janitor import runs
from memsync.janitor.clusters import list_losses
from memsync.janitor.plan import TASKS, Archive, Confirm, Enrich, Merge, Plan, Reverse, Step, Task, parse, spell
from memsync.janitor.review import find_kept
from memsync.janitor.run import Report, apply
from memsync.janitor.survey import survey
from memsync.llm.llm import open_llm
from memsync.memories.project import Project
from memsync.records import short_id
from memsync.store import files
from memsync.system.limits import read_json
from memsync.transfer import writers

_track: Final = partial(track, least=2_000)
_VERBS: Final = {
    Merge: "merged",
    Archive: "archived",
    Enrich: "enriched",
    Confirm: "confirmed",
    Reverse: "brought back",
}


@cli.group(cls=LazyGroup, homes=(("review", "review"),))
def janitor() -> None:
    """Merge copies, archive what faded, review decisions."""


@command(janitor)
@click.option(
    "--task", "tasks", multiple=True, type=click.Choice(TASKS), help="Only this (repeat for several).  [default: all]"
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--plan", "plan_to", metavar="FILE", help='Write what would be done there, to edit ("-": show it).')
@click.option("--apply", "plan_from", metavar="FILE", help="Do what that plan says, and nothing else.")
def run(
    project: Project, /, tasks: tuple[Task, ...], dry_run: bool, plan_to: str | None, plan_from: str | None
) -> Answer:
    """Tidy the memories, or with --plan say how in a file that you may edit.

    dedup merges records of which one says all that the other says; likely
    copies are only proposed in the plan, or go to the model of llm.provider. decay archives what has been at the decay floor for
    janitor.archive_after days; what a person wrote is exempt. review confirms
    or reverses what dedup rejected. Nothing is deleted for good:
    `memsync janitor undo` takes a run back.

    \b
    Examples:
      memsync janitor run --dry-run
      memsync janitor run --task dedup --plan plan.jsonl
      memsync janitor run --apply plan.jsonl
    """
    if plan_from and (plan_to or dry_run or tasks):
        raise UsageError("--apply does what the plan says; leave out --plan, --dry-run and --task")
    if plan_from:
        path = Path(plan_from)
        files.resolve_named(path, project.layout.root)
        if plan_from != "-" and not path.exists():
            raise UsageError(f"no plan at {plan_from}; `memsync janitor run --plan {plan_from}` writes one")
        return _apply(project, Plan(steps=parse(_read(path), plan_from)))
    plan = survey(project, tasks or TASKS, track=_track)
    if plan_to:
        return _write(project, plan, plan_to)
    return _show(project, plan) if dry_run else _apply(project, plan)


def _show(project: Project, plan: Plan) -> Answer:
    steps = ("\n".join(f"  {render.one_line(line)}" for line in _explain_step(project, step)) for step in plan.steps)
    return Answer(plan.as_dict(), "\n".join([_count_steps(plan), *render.first(steps), *_list_notes(project, plan)]))


def _read(path: Path) -> bytes:
    return sys.stdin.buffer.read() if str(path) == "-" else files.read(path)[0]


def _write(project: Project, plan: Plan, path: str) -> Answer:
    text = spell(plan, lambda step: _explain_step(project, step), project.clock(), path)
    if path == "-":
        return Answer(plan.as_dict(), text.rstrip("\n"))
    writers.write(project, Path(path), text, force=True, private=True)
    said = f"{_count_steps(plan)}: {path}; edit it, then run `memsync janitor run --apply {path}`"
    return Answer({"path": path, **plan.as_dict()}, said)


def _count_steps(plan: Plan) -> str:
    if not plan.steps and not plan.guesses:
        return "nothing to do"
    proposed = f", {len(plan.guesses)} only proposed" if plan.guesses else ""
    return f"{render.count(len(plan.steps), 'step')}{proposed}"


def _list_notes(project: Project, plan: Plan) -> list[str]:
    told = [f"note: {render.one_line(note)}" for note in (*plan.notes, *_list_broken_tests(project, plan))]
    if plan.guesses:
        told.append(
            f"{len(plan.guesses)} more only proposed: `memsync janitor review` shows likely copies one after the other,"
            " and `memsync janitor run --plan FILE` lists all that is proposed, to edit"
        )
    return told


def _list_broken_tests(project: Project, plan: Plan) -> Iterator[str]:
    lost = {id_ for step in plan.steps if isinstance(step, Merge) for id_ in step.drop}
    lost |= {step.id for step in plan.steps if isinstance(step, Archive)}
    path = project.layout.project and project.layout.project.directory / TESTS
    if lost and path and path.exists():
        yield from explain_loss(read_cases(files.read(path)[0], TESTS), lost)


def _apply(project: Project, plan: Plan) -> Answer:
    """Do what *plan* says, and return what became of each step.

    Raises:
        MemsyncError: some failed; the answer has been printed.
    """
    report = apply(project, plan.steps, track=_track)
    about = plan.as_dict()
    value = {**report.as_dict(), "guesses": about["guesses"], "notes": about["notes"]}
    undone = (f"  {one.status}: {render.one_line(one.reason)}" for one in report.outcomes if one.status != "done")
    answer = Answer(value, "\n".join([_count_outcomes(report), *render.first(undone), *_list_notes(project, plan)]))
    if failed := report.count("failed"):
        print_answer(answer, as_json=wants_json())
        raise MemsyncError(
            f"{render.count(failed, 'step')} failed, with nothing done; run it again once the cause is fixed"
        )
    return answer


def _count_outcomes(report: Report) -> str:
    if not report.outcomes:
        return "nothing to do"
    counts = [f"{report.count('done', kind)} {verb}" for kind, verb in _VERBS.items() if report.count("done", kind)]
    counts += [f"{report.count(name)} {name}" for name in ("skipped", "failed") if report.count(name)]
    back = f"; `memsync janitor undo {report.run}` takes it back" if report.run else ""
    return ", ".join(counts) + back


def _explain_step(project: Project, step: Step) -> Iterator[str]:
    if isinstance(step, Merge):
        yield f"merge: {step.why}"
        yield from (f"  {line}" for line in _explain_merge(project, step))
    elif isinstance(step, Archive):
        yield f"archive: {step.why}"
        yield f"  {step.id}: {_show_text(project, step.id)}"
    elif isinstance(step, Enrich):
        for how, texts in (("found by", step.cues), ("anchored to", step.anchors), ("due at", step.triggers)):
            if texts:
                yield f"{how}, too: {mark_text('; '.join(texts), step.scope)}"
        yield f"  {step.id}: {_show_text(project, step.id)}"
    elif isinstance(step, Confirm):
        yield f"confirm {render.count(len(step.rows), 'decision')} of the dedup log: {step.why}"
    else:
        yield f"bring back what decision {step.row} of the dedup log rejected: {step.why}"


def _explain_merge(project: Project, step: Merge) -> Iterator[str]:
    """Yield what is kept, what is dropped, and what a proposed merge would lose of it."""
    kept = find_kept(project, step.keep)
    yield f"keep {step.keep}: {_show_text(project, step.keep)}"
    for id_ in step.drop:
        yield f"drop {id_}: {_show_text(project, id_)}"
        dropped = find_kept(project, id_) if step.decision in ("llm_reject", "fallback_reject") else None
        if kept and dropped and (lost := list_losses(kept.memory.content, dropped.memory.content)):
            yield f"  lost: {mark_text('; '.join(lost), dropped.scope)}"


def _show_text(project: Project, id_: str) -> str:
    return mark_text(kept.memory.content, kept.scope) if (kept := find_kept(project, id_)) else "gone"


@command(janitor)
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--list", "only_list", is_flag=True, help="Only list the runs that can be undone.")
def undo(project: Project, /, name: str | None, only_list: bool) -> Answer:
    """Take a run back, the last one unless RUN names another. What was edited since is kept.

    \b
    Examples:
      memsync janitor undo
      memsync janitor undo --list
    """
    if only_list:
        known = runs.names(project)
        return Answer({"runs": known}, "\n".join(known) or "no runs")
    done = runs.undo(project, name)
    return Answer({"done": done}, "\n".join(map(render.one_line, done)) or "nothing was left to take back")


@command(memory)
@click.argument(
    "source",
    metavar="[FILE]",
    required=False,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
@click.option("-n", "--limit", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="How many.")
@click.option("--list", "only_list", is_flag=True, help="Only list memories without cues; with --json, to fill in.")
@click.option("--due", is_flag=True, help="As --list, at most three, each once in two weeks: for the end of a session.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def enrich(project: Project, /, source: Path | None, limit: int, only_list: bool, due: bool, dry_run: bool) -> Answer:
    """Have memories found by an asker's words too: the cues in FILE ("-": standard input), or those of llm.provider.

    Cues are questions that a memory answers, symptoms and other names. They are
    searched and never shown as its text. FILE is what --list --json prints, with
    cues filled in; "about" has the anchors and triggers that stand in the text, and
    what you leave of them is stored too. `memsync janitor undo` takes a run back.

    \b
    Examples:
      memsync enrich --list --json > cues.json
      memsync enrich cues.json --dry-run
      memsync enrich --limit 200
    """
    if only_list or due:
        found = enriching.list_due(project, limit) if due else enriching.list_bare(project, limit)
        lines = [f"{short_id(one['id'])} {render.one_line(one['content'])}" for one in found["memories"]]
        lines += [f"{found['left']} more without cues"] if found["left"] else []
        return Answer(found, "\n".join(lines) or ("nothing is due" if due else "every memory has cues"))
    if source is not None:
        try:
            rows = read_json(_read(source))
        except ValueError as error:
            raise UsageError(f"{source}: {error}") from None
        plan = Plan(steps=[*enriching.read_steps(project, rows)])
    else:
        steps, failed = enriching.ask_model(project, open_llm(project), enriching.find_bare(project)[:limit])
        plan = Plan(steps=[*steps], notes=[f"not every memory was answered for: {failed}"] if failed else [])
    return _show(project, plan) if dry_run else _apply(project, plan)
