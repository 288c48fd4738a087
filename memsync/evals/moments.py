"""What a session would be given for the questions of a suite: a store of its own, and a session's own rules."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from memsync.agents.injection import Injection
from memsync.agents.session import RecallSession
from memsync.format.codec import encode
from memsync.memories.anchors import Anchor, fixed_path, is_inside, parse
from memsync.memories.project import Project
from memsync.store.places import locate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memsync.evals.questions import Suite
    from memsync.records import Clock, Memory
    from memsync.store.config import Loaded


@contextmanager
def open_session(suite: Suite, loaded: Loaded, clock: Clock) -> Iterator[Callable[[str], Injection]]:
    """Store the records of *suite* as they are, ages and all, and yield what a new session is given for a prompt.

    What *loaded* says of importance, limits and budget holds, and *clock* says how old a record is.
    """
    with TemporaryDirectory(prefix="memsync-suite-") as name:
        root = Path(name)
        (root / ".gobby").mkdir()
        lines = b"".join(encode(memory) + b"\n" for memory in suite.records)
        (root / ".gobby" / "memories.jsonl").write_bytes(lines)
        make_anchored(root, suite.records)
        layout = locate(root, {**os.environ, "MEMSYNC_HOME": str(root / "home")})
        shown = loaded._replace(settings=loaded.settings._replace(stealth=False, author="nobody"))
        with Project(layout, clock=clock, loaded=shown) as project:
            session = RecallSession(project, "")
            yield session.at_prompt


def make_anchored(root: Path, records: Iterable[Memory]) -> None:
    """Have below *root* what *records* are anchored to: a memory about what is gone would not be given."""
    symbols: dict[str, list[str]] = {}
    for anchor in (parse(text) for one in records for text in one.anchors):
        if not anchor.path.startswith((".gobby", ".git")) and is_inside(fixed_path(anchor), root):
            symbols.setdefault(anchor.path, []).append(anchor.symbol)
    for path, held in symbols.items():
        place = root / fixed_path(Anchor(path))
        with suppress(OSError):  # one record's file is another one's folder
            (place if path != fixed_path(Anchor(path)) or path.endswith("/") else place.parent).mkdir(
                parents=True, exist_ok=True
            )
            if not place.is_dir():
                place.write_text("\n".join(held), encoding="utf-8")
