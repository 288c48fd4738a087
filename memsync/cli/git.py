"""`memsync git …`: our hooks in the clone, and what git calls."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click

from memsync import origin
from memsync.cli.app import Answer, cli, command
from memsync.cli.drivers import run
from memsync.cli.options import stack
from memsync.cli.render import one_line
from memsync.errors import NoStore, UsageError
from memsync.git import attributes
from memsync.git.check import AllowLists, check_staged, list_staged
from memsync.git.hooks import main
from memsync.git.install import install as put
from memsync.git.install import status as ask
from memsync.git.install import uninstall as take_out
from memsync.memories.project import Project
from memsync.store.checkout import Checkout
from memsync.store.places import Layout

_SOURCE: Final = "MEMSYNC_SOURCE"
RECIPE: Final = "ci/memsync-merge.yml"


@cli.group()
def git() -> None:
    """Set memsync up in a clone, so that memories travel with commits."""


def _require_git(project: Project) -> tuple[Layout, Path]:
    """Return where things are, and the top of the work tree."""
    layout = project.layout
    if layout.git is None or layout.root is None:
        raise NoStore(f"{layout.start} is in no work tree of git; run `git init` first, or go to a checkout")
    return layout, layout.git.root


@command(git)
@click.option("--no-hooks", is_flag=True, help="Only tell git how to merge and show memories, as in CI.")
def install(project: Project, /, no_hooks: bool) -> Answer:
    """Put our hooks beside yours, and our merge drivers into git.

    They are for this clone and its worktrees. pre-commit takes new memories into your commit; post-merge, post-checkout
    and post-rewrite say what came. A script of yours keeps its text and gets a
    marked block; any other hook goes on after ours. Works with husky and
    core.hooksPath; for lefthook it prints what to add.

    \b
    Example:
      memsync git install
    """
    layout, top = _require_git(project)
    done = attributes.install(top) if no_hooks else put(layout)
    if done:
        project.journal.note_change("installed git's hooks or merge driver", "git uninstall")
    return Answer({"done": done}, "\n".join(done) or "nothing to do")


@command(git)
def uninstall(project: Project, /) -> Answer:
    """Take our hooks out, so that every hook is what it was before.

    \b
    Example:
      memsync git uninstall
    """
    done = take_out(_require_git(project)[0])
    if done:
        project.journal.note_change("took our hooks out of git", "git install")
    return Answer({"done": done}, "\n".join(done) or "nothing to do")


@command(git)
def status(project: Project, /) -> Answer:
    """Ask git what is set up in this clone.

    \b
    Example:
      memsync git status --json
    """
    value: dict[str, Any] = ask(_require_git(project)[0])
    keeper = value["keeper"]
    kept = "outside the repository" if keeper == "outside" else f"kept by {keeper}"
    lines = [f"hooks in {one_line(value['hooks_path'])} ({kept})"]
    lines += [f"  {name:14} {state}" for name, state in value["hooks"].items()]
    if keeper == "outside":
        lines.append("call `memsync git hook NAME` from those, or set core.hooksPath for this clone")
    elif any(state != "installed" for state in value["hooks"].values()):
        lines.append("`memsync git install` puts in what is missing")
    merging = value["merging"]
    lines += map(one_line, merging.describe_filter() if merging else ())
    lines += map(one_line, value["problems"] or (["memories are merged record by record"] if merging else []))
    return Answer(value, "\n".join(lines))


@command(git)
@click.argument("paths", metavar="[FILE]...", nargs=-1)
def check(project: Project, /, paths: tuple[str, ...]) -> Answer:
    """Look for secrets and broken lines in what is staged.

    Looks at FILEs, or everywhere; exit 1 if something is wrong. Finds what looks like a secret or says that it is private, conflict markers and lines that cannot be
    read, in lines that are new since HEAD. Writes nothing, so it may run as a
    hook of the pre-commit framework; the native hook does the staging.

    \b
    Examples:
      memsync git check
      memsync git check .gobby/memories.jsonl --json
    """
    checkout = Checkout(_require_git(project)[1], in_hook=True)
    changed = list_staged(checkout)
    asked = [one for one in changed if not paths or one.path in paths]
    found = list(check_staged(checkout, asked, AllowLists(checkout.top)))
    text = "\n".join(one_line(str(trouble)) for trouble in found)
    return Answer({"checked": [one.path for one in changed], "found": found}, text or "all is well", 1 if found else 0)


@git.command()
@click.argument("words", metavar="NAME [ARGUMENT]...", nargs=-1, required=True)
def hook(words: tuple[str, ...]) -> None:
    """Do what the git hook NAME does; the hooks call this.

    Exits with 0, and with 65 to stop a commit; nothing else of ours may.

    \b
    Example:
      memsync git hook pre-commit
    """
    click.get_current_context().exit(main(words))


@git.command()
@click.option(
    "--from", "source", metavar="URL@REV", help="Install memsync from there; otherwise, where this copy is from."
)
def ci(source: str | None) -> None:
    """Print a GitHub workflow that merges pull requests.

    It merges with our drivers, and comments what changes in memory. The workflow may write to your repository, so it takes memsync from a place
    that is named and pinned, never by its name from a package index: a git URL
    with a tag or, better, a commit, or an archive with its #sha256=.

    \b
    Example:
      memsync git ci --from git+https://github.com/you/memsync@v0.1.0 > .github/workflows/memsync-merge.yml
    """
    known = source or origin.find_source()
    if not origin.is_pinned(known):
        raise UsageError(
            f"{known!r} is not a source that CI can install; name one: --from git+https://HOST/PATH@COMMIT, "
            "or --from https://HOST/ARCHIVE.whl#sha256=HASH"
            if known
            else "nothing says where this copy is from; name it: --from git+https://HOST/PATH@COMMIT"
        )
    click.echo((origin.templates() / RECIPE).read_text(encoding="utf-8").replace(_SOURCE, known), nl=False)


_VERSIONS = stack(
    click.argument("base"), click.argument("ours"), click.argument("theirs"), click.argument("path", required=False),
    click.argument("size", type=int, required=False),
)  # fmt: skip


@git.command("merge-driver")
@_VERSIONS
def merge_driver(**words: Any) -> None:
    """Merge memory files: OURS and THEIRS, which came from BASE. The result goes over OURS.

    git calls this once `memsync git install` has configured it. Exit code 0:
    merged; 1: lines that cannot be read differ, and stand between markers.

    \b
    Example:
      memsync git merge-driver base.jsonl ours.jsonl theirs.jsonl
    """
    _run_driver("merge-driver", words)


@git.command("merge-skill")
@_VERSIONS
def merge_skill(**words: Any) -> None:
    """Merge SKILL.md files as text, a front matter in conflict by field.

    \b
    Example:
      memsync git merge-skill base.md ours.md theirs.md
    """
    _run_driver("merge-skill", words)


@git.command()
@click.argument("file")
def textconv(**words: Any) -> None:
    """Print the memory file FILE as people read it, in blocks.

    \b
    Example:
      memsync git textconv .gobby/memories.jsonl
    """
    _run_driver("textconv", words)


def _run_driver(name: str, words: dict[str, Any]) -> None:
    sys.exit(run(name, [str(word) for word in words.values() if word is not None]))
