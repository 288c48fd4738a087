"""The desk that is asked over a real socket: as `memsync ui` in a process of its own, or beside the test, which starts at once."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from memsync.agents.live import Live
from memsync.store.places import locate
from memsync.web.desk import Changes, make_watcher
from memsync.web.health import Checkup
from memsync.web.serve import Keys, listen
from memsync.web.server import build


@contextmanager
def running(root: Path, *words: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """Run the desk of *root*, and give out the process and the address that it prints."""
    started = [sys.executable, "-m", "memsync", "ui", "--no-open", *words]
    with subprocess.Popen(started, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@contextmanager
def serving(root: Path) -> Iterator[str]:
    """Serve the desk of *root* in a thread, and give out its address."""
    changes = Changes()
    with listen(root, 0) as listener, make_watcher(locate(root), changes.add):
        live, keys, checkup = Live(root, is_lean=True), Keys(listener.getsockname()[1]), Checkup(root)
        config = uvicorn.Config(build(live, keys, changes, checkup), log_level="warning", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        yield keys.url
        server.should_exit = True
        changes.end()
        thread.join()
        checkup.end()
        live.close()
