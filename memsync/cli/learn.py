"""`memsync skill learn|candidates|approve|reject`: parse, one call, render."""

from __future__ import annotations

from pathlib import Path

import click

from memsync.cli import render_skill as render
from memsync.cli.app import Answer, command
from memsync.cli.consent import require_person
from memsync.cli.options import model_option, stack, yes_option
from memsync.cli.skill import skill
from memsync.learn.candidates import Candidates
from memsync.memories.project import Project

_source_options = stack(
    click.option("--from-session", "session", metavar="ID", help="Its session.  [default: the one this runs in]"),
    click.option(
        "--transcript",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Its transcript: the .jsonl file that the client keeps.",
    ),
)


@command(skill)
@click.argument("name")
@_source_options
@model_option
@yes_option
def learn(
    project: Project, /, name: str, session: str | None, transcript: Path | None, no_llm: bool, yes: bool
) -> Answer:
    """Draft the skill NAME from an agent's session.

    Reads Claude Code, Codex and Gemini CLI. Takes the commands that worked, what had failed before them, the files that
    were changed and what you corrected. With llm.provider set a model writes
    it up. It waits in .gobby/local/candidates until you approve it.

    \b
    Examples:
      memsync skill learn run-tests --transcript ~/.codex/sessions/2026/11/21/rollout-….jsonl
      memsync skill learn release --from-session 7970d88b-31d1-4d06-b145-c11df6b86bfc
    """
    from memsync.learn.lessons import learn_skill

    done = learn_skill(project, name, session=session, transcript=transcript, approve=yes, use_model=not no_llm)
    return Answer(done, render.learned(done))


@command(skill)
def candidates(project: Project, /) -> Answer:
    """Show the learned skills that wait for approval, as diffs.

    \b
    Example:
      memsync skill candidates
    """
    waiting = Candidates(project)
    found = {name: waiting.skill_diff(name) for name in waiting.skills()}
    value = {"candidates": [{"name": n, "path": str(waiting.skill_path(n)), "diff": d} for n, d in found.items()]}
    return Answer(value, "\n".join(map(render.diff, found.values())) or "no skill waits for approval")


@command(skill)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def approve(project: Project, /, names: tuple[str, ...]) -> Answer:
    """Take learned skills into the repository, and show what changes.

    Over a skill of that name it is an update; `memsync skill restore NAME` undoes it.

    \b
    Example:
      memsync skill approve run-tests
    """
    require_person(project, "approve skills")
    waiting = Candidates(project)
    diffs = [waiting.skill_diff(name) for name in names]
    done = [waiting.approve_skill(name) for name in names]
    text = "\n".join(f"{render.diff(d)}\n{render.done('approved', e)}" for d, e in zip(diffs, done, strict=True))
    return Answer({"approved": done}, text)


@command(skill)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def reject(project: Project, /, names: tuple[str, ...]) -> Answer:
    """Drop learned skills that wait for approval.

    \b
    Example:
      memsync skill reject run-tests
    """
    waiting = Candidates(project)
    for name in names:
        waiting.reject_skill(name)
    return Answer({"rejected": list(names)}, "\n".join(f"rejected {name}" for name in names))
