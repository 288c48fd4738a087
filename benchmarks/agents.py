"""Agents: what a hook costs, and what a made-up session of 144 model calls is given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from benchmarks.corpus import records
from benchmarks.made_session import CALLS, replay
from benchmarks.timing import paired
from memsync.agents.endpoint import Endpoint
from memsync.agents.live import Live
from memsync.format.codec import decode, encode
from memsync.records import utc_now

SIZE = 5_000
RUNS = 41
_ASKED = 12  # words of a memory that a prompt has, so that it is given
_PASS = (sys.executable, "-c", "pass")


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("what", "records", "ours, ms p50 / p95", "baseline, ms p50 / p95", "ratio", "ratio of p95")
    with tempfile.TemporaryDirectory(dir="/tmp" if os.path.isdir("/tmp") else None) as name:  # sockets want short paths
        directory = Path(name)
        (directory / ".gobby").mkdir()
        (directory / ".gobby" / "memories.jsonl").write_bytes(b"".join(map(_recent, records(SIZE))))
        os.environ["MEMSYNC_HOME"] = f"{name}/home"
        live = Live(directory)
        live.call(lambda project: project.finder.index)
        yield from (_cold(directory, event, "in process") for event in ("prompt", "session-start"))
        with Endpoint(live):
            yield from (_cold(directory, event, "through a server") for event in ("prompt", "session-start"))
        live.close()
    with tempfile.TemporaryDirectory() as name:
        yield _replayed(Path(name))


def _recent(line: bytes) -> bytes:
    """Return the record as written today, and important enough to be given."""
    memory = decode(line).memory
    assert memory is not None
    now = utc_now()
    return encode(memory._replace(importance=max(memory.importance, 0.4), created_at=now, updated_at=now)) + b"\n"


def _cold(directory: Path, event: str, how: str) -> tuple[str, ...]:
    """Time the command of a hook in a session that was given nothing yet, so that it has something to say and to note."""
    numbers, texts = count(), records(RUNS + 1)
    script = str(Path(sys.executable).with_name("memsync"))

    def ours() -> None:
        number = next(numbers)
        asked = " ".join(json.loads(texts[number])["content"].split()[-_ASKED:])
        payload = {"session_id": f"{how} {event} {number}", "prompt": asked}
        command = (script, "hook", event, "--client", "claude")
        said = json.dumps(payload).encode()
        assert subprocess.run(command, cwd=directory, input=said, stdout=subprocess.PIPE, check=True).stdout

    def base() -> None:
        subprocess.run(_PASS, cwd=directory, input=b"", stdout=subprocess.PIPE, check=True)

    times = paired(ours, base, RUNS)
    spans = [f"{times.ms(which):.1f} / {times.ms(which, 0.95):.1f}" for which in ("ours", "base")]
    worst = times.ms(at=0.95) / times.ms("base", 0.95)
    return (f"hook {event}, {how} ÷ python -c pass", f"{SIZE:,}", *spans, f"{times.ratio:.1f}", f"{worst:.1f}")


def _replayed(directory: Path) -> tuple[str, ...]:
    done = replay(directory)
    came = sum(times == 1 for times in done.needed.values())
    what = f"{CALLS} model calls, characters ÷ always the best three; {came} of {len(done.needed)} needed memories, each once"
    return (what, "316", f"{done.ours:,}", f"{done.always:,}", f"{done.ours / done.always:.3f}", "")
