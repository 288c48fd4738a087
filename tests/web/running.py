"""`memsync ui` in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running(root: Path, *words: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """Run the desk of *root*, and give out the process and the address that it prints."""
    started = [sys.executable, "-m", "memsync", "ui", "--no-open", *words]
    with subprocess.Popen(started, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()
