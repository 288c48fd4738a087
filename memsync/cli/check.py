"""`memsync check`: what instruction files say that is not so, and the patch for it; `memsync format validate` for a file of memories."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from memsync.check.report import Finding, as_annotation, as_sarif, describe
from memsync.check.sessions import count_sessions
from memsync.check.survey import Fix, apply_fix, check, list_unreadable, plan_fixes
from memsync.cli import render
from memsync.cli.app import Answer, cli, command
from memsync.cli.render import one_line
from memsync.cli.words import is_dialogue
from memsync.errors import InvalidMemory, MemsyncError, NoStore, Remedy, UsageError
from memsync.format import jsonl
from memsync.format.cases import TESTS, read_cases
from memsync.learn.transcripts import list_here
from memsync.memories.project import Project
from memsync.records import check_size, shown_id
from memsync.store import files as reading
from memsync.store.tree import Tree
from memsync.system.texts import count


@command(cli, "check", is_quiet=True)
@click.argument("paths", metavar="[FILE]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--fix", is_flag=True, help="Write the new names that are sure: shows a patch and asks.")
@click.option("--yes", is_flag=True, help="With --fix: do not ask.")
@click.option("--remember", is_flag=True, help="Remember the new names, so that an agent that uses an old one is told.")
@click.option("--sarif", is_flag=True, help="Print SARIF, which code scanning takes.")
@click.option("--github", is_flag=True, help="Print annotations of GitHub's actions.")
def check_(
    project: Project, /, paths: tuple[Path, ...], fix: bool, yes: bool, remember: bool, sarif: bool, github: bool
) -> Answer:
    """Look whether what instruction files say is so.

    Looks up the paths, links, imports, commands, options, names, versions and
    ports in CLAUDE.md, AGENTS.md, GEMINI.md, rules, skills, agents and
    memories, or in each FILE: in the work tree, and in git's history since
    when it is not so. Runs nothing of the repository. A line is accepted by a
    comment with a reason, on it or above it: <!-- memsync: accept because
    REASON -->. Exit 1 if something is surely wrong, or a file cannot be read;
    what starts with "perhaps" may be right.
    Where you may not change the file, --remember has agents told in time.

    \b
    Examples:
      memsync check
      memsync check AGENTS.md --json
      memsync check --fix
    """
    root = project.layout.root
    if root is None:
        raise NoStore(f"{project.layout.start} has no work tree to look at; go to a checkout")
    if yes and not fix:
        raise UsageError("--yes is about --fix; ", Remedy("check", "--fix", "--yes"), " writes without a question")
    names, tree = [_name(path, root) for path in paths], Tree(root)
    found = check(root, names, tree)
    fixed = _fix(root, plan_fixes(root, found), yes=yes) if fix else []
    if fixed:
        project.journal.note_change(f"wrote new names into {', '.join(fixed)}, which `git diff` shows")
        tree = Tree(root)
        found = check(root, names, tree)
    kept = _remember(project, found) if remember else []
    found = count_sessions(found, list_here(project)) if found and not sarif and not github else found
    unread = list_unreadable(root, names, tree)
    for one in unread:
        click.echo(f"memsync: {render.one_line(one)}", err=True)
    code = 1 if unread or any(one.sure for one in found) else 0
    if sarif:
        return Answer(as_sarif(found), render.to_json(as_sarif(found)), code)
    text = (
        "\n".join(map(as_annotation, found))
        if github
        else _format(found, [*(f"fixed {name}" for name in fixed), *kept], unread)
    )
    return Answer({"findings": [one.as_dict() for one in found]}, text, code)


def _name(path: Path, root: Path) -> str:
    """Return what *path* is called from *root*.

    Raises:
        UsageError: it is elsewhere, or no file.
    """
    name = os.path.relpath(os.path.realpath(path), os.path.realpath(root)).replace(os.sep, "/")
    if name.startswith("../") or not path.is_file():
        raise UsageError(f"{path} is not a file below {root}; name an instruction file of this project")
    return name


def _fix(root: Path, fixes: Sequence[Fix], *, yes: bool) -> list[str]:
    """Show *fixes* as a patch, and write them if the user says so; return the files that were written."""
    for one in fixes:
        click.echo(one.patch, err=True)
    if fixes and not yes:
        if not is_dialogue():
            raise UsageError("nobody is here to ask; ", Remedy("check", "--fix", "--yes"), " writes without a question")
        click.confirm("Write this?", abort=True, err=True)
    for one in fixes:
        apply_fix(root, one)
    return [one.file for one in fixes]


def _remember(project: Project, found: Sequence[Finding]) -> Iterator[str]:
    """Remember each sure new name, due where the old one is used, and yield what was stored."""
    for said, now, file in dict.fromkeys((one.said, one.now, one.file) for one in found if one.sure and one.now):
        text = f"`{said}` in {file} is wrong: it is `{now}`"
        done = project.remember(text, triggers=[f"not: {said.strip('/').removeprefix('./')}"])
        yield f"{done.status} {shown_id(done.entry.id)} {render.one_line(text)}"


def _format(found: Sequence[Finding], done: Sequence[str], unread: Sequence[str]) -> str:
    lines = list(done)
    for one in found:
        mark = "" if one.sure else click.style("perhaps ", fg="cyan")
        lines.append(f"{render.one_line(one.file)}:{one.line}: {mark}{describe(one)}")
    sure = sum(one.sure for one in found)
    if any(one.sure and one.now for one in found):
        lines.append(f"{render.count(sure, 'line')} surely wrong; `memsync check --fix` writes the new names")
    return "\n".join(lines) or ("what could be read is so" if unread else "all is so")


@cli.group("format")
def format_() -> None:
    """Check files against the format of docs/format.md."""


@command(format_)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def validate(project: Project, /, files: tuple[Path, ...]) -> Answer:
    """Say what in FILE is not as the format says; exit 1 if anything is.

    Without FILE the project's memories and tests are checked. Each fault has
    file:line. A reader may still take the file, and says what it did
    (docs/format.md); a file without a fault is read alike by every
    implementation. Skills have `memsync skill validate`.

    \b
    Examples:
      memsync format validate
      memsync format validate export.jsonl
    """
    place = project.layout.place("project")
    own = [path for path in (place.memories, place.directory / TESTS) if path.exists()]
    if not (checked := list(files) or own):
        raise NoStore(f"{place.memories}: no such file; name a FILE to check")
    found = [fault for path in checked for fault in _list_faults(path)]
    value = {"files": [str(path) for path in checked], "faults": found}
    return Answer(
        value, "\n".join(map(one_line, found)) or f"{count(len(checked), 'file')}, nothing is wrong", 1 if found else 0
    )


def _list_faults(path: Path) -> Iterator[str]:
    data = reading.read(path)[0]
    if path.name == TESTS:
        try:
            read_cases(data, str(path))
        except MemsyncError as error:
            yield str(error)
        return
    if jsonl.is_utf16(data):
        yield f"{path}:1: UTF-16; save it as UTF-8"
        return
    lines = jsonl.read_lines(data)
    faults = [(number, why) for number, why, _ in jsonl.problems(lines)]
    for number, line in enumerate(lines, 1):
        try:
            if line.memory:
                check_size(line.memory)
        except InvalidMemory as error:
            faults.append((number, str(error)))
    yield from (f"{path}:{number}: {why}" for number, why in sorted(faults))
