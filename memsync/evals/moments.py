"""What a session would be given for the questions of a suite: a store of its own, and a session's own rules."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from memsync.agents.injection import Injection
from memsync.agents.session import RecallSession
from memsync.format.codec import encode
from memsync.memories.project import Project
from memsync.store.places import locate

if TYPE_CHECKING:
    from memsync.evals.questions import Suite
    from memsync.records import Clock
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
        layout = locate(root, {**os.environ, "MEMSYNC_HOME": str(root / "home")})
        shown = replace(loaded, settings=replace(loaded.settings, stealth=False, author="nobody"))
        with Project(layout, clock=clock, loaded=shown) as project:
            session = RecallSession(project, "")
            yield session.at_prompt
