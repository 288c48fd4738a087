"""Whole sessions of the command line against what people will see.

After a wanted change: `MEMSYNC_UPDATE=1 make test ARGS=tests/cli`, and read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import transcripts

SESSIONS = sorted(Path(__file__).parent.glob("transcripts/*.txt"))


# Read when the tests are collected: the sandbox clears MEMSYNC_* before each of them.
UPDATE = bool(os.environ.get("MEMSYNC_UPDATE"))


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_session_goes_as_written(path, repo, home):
    written = path.read_text(encoding="utf-8")
    went = transcripts.run(written, repo.root, home)
    if UPDATE:
        path.write_text(went + "\n", encoding="utf-8")
    assert transcripts.same(went) == transcripts.same(written)
