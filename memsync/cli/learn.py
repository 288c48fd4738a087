"""`memsync skill learn|candidates|approve|reject`: parse, one call, render."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from memsync.cli import render_skill as render
from memsync.cli.app import json_option, open_project, print_result, stack

if TYPE_CHECKING:
    from memsync.learn.candidates import Candidates

model_option = click.option("--no-llm", is_flag=True, help="By rules, even where a model is configured.")
yes_option = click.option("-y", "--yes", is_flag=True, help="Do not wait for approval.")
_source_options = stack(
    click.option("--from-session", "session", metavar="ID", help="Its session.  [default: the one this runs in]"),
    click.option(
        "--transcript",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Its transcript: the .jsonl file that the client keeps.",
    ),
)


def _candidates(ctx: click.Context) -> Candidates:
    from memsync.learn.candidates import Candidates

    return Candidates(open_project(ctx))


@click.command()
@click.argument("name")
@_source_options
@model_option
@yes_option
@json_option
@click.pass_context
def learn(
    ctx: click.Context,
    /,
    name: str,
    session: str | None,
    transcript: Path | None,
    no_llm: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Draft the skill NAME from a session of Claude Code, Codex or Gemini CLI.

    Takes the commands that worked, what had failed before them, the files that
    were changed and what you put right. With llm.provider set a model writes
    it up. It waits in .gobby/local/candidates until you approve it.

    \b
    Examples:
      memsync skill learn run-tests --transcript ~/.codex/sessions/2026/11/21/rollout-….jsonl
      memsync skill learn release --from-session 7970d88b-31d1-4d06-b145-c11df6b86bfc
    """
    from memsync.learn.lessons import learn_skill

    done = learn_skill(
        open_project(ctx), name, session=session, transcript=transcript, approve=yes, use_model=not no_llm
    )
    print_result(as_json, done.as_dict(), render.learned(done))


@click.command()
@json_option
@click.pass_context
def candidates(ctx: click.Context, /, as_json: bool) -> None:
    """Show the skills that were learned and wait for approval, as diffs.

    \b
    Example:
      memsync skill candidates
    """
    waiting = _candidates(ctx)
    found = {name: waiting.skill_diff(name) for name in waiting.skills()}
    value = {"candidates": [{"name": n, "path": str(waiting.skill_path(n)), "diff": d} for n, d in found.items()]}
    print_result(as_json, value, "\n".join(map(render.diff, found.values())) or "no skill waits for approval")


@click.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@json_option
@click.pass_context
def approve(ctx: click.Context, /, names: tuple[str, ...], as_json: bool) -> None:
    """Take learned skills into the repository, and show what changes.

    Over a skill of that name it is an update; `memsync skill restore NAME` undoes it.

    \b
    Example:
      memsync skill approve run-tests
    """
    waiting = _candidates(ctx)
    diffs = [waiting.skill_diff(name) for name in names]
    done = [waiting.approve_skill(name) for name in names]
    text = "\n".join(f"{render.diff(d)}\n{render.done('approved', e)}" for d, e in zip(diffs, done, strict=True))
    print_result(as_json, {"approved": [entry.as_dict() for entry in done]}, text)


@click.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@json_option
@click.pass_context
def reject(ctx: click.Context, /, names: tuple[str, ...], as_json: bool) -> None:
    """Drop learned skills that wait for approval.

    \b
    Example:
      memsync skill reject run-tests
    """
    waiting = _candidates(ctx)
    for name in names:
        waiting.reject_skill(name)
    print_result(as_json, {"rejected": list(names)}, "\n".join(f"rejected {name}" for name in names))
