"""`memsync format`: whether a file is what docs/format.md says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from memsync.cli.app import Answer, cli, command
from memsync.cli.render import one_line
from memsync.errors import InvalidMemory, MemsyncError, NoStore
from memsync.format import jsonl
from memsync.format.cases import TESTS, read_cases
from memsync.memories.project import Project
from memsync.records import check_size
from memsync.store import files as reading
from memsync.system.texts import count


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
