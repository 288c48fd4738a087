"""Shell sessions as text: run the commands after `$ `, and compare what they print.

Ids, commit names, times and temporary paths are made equal on both sides, so
that documents can show real ones.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

from prefork import command

_SAME = (
    (re.compile(r"(mm|sk)-[a-z2-7]{6,26}\b"), r"\1-XXXXXX"),
    (re.compile(r"\b[0-9a-f]{7,40}\b"), "COMMIT"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+Z)?| UTC)"), "TIME"),
    (re.compile(r"projects/[a-z0-9-]+-(COMMIT|[0-9a-f]{16})"), "projects/KEY"),
)


def same(text: str, places: dict[str, str] | None = None) -> str:
    """Return *text* without what differs between two runs, and with the commands that go on joined."""
    text = text.replace("\\\n", "")
    for path, name in (places or {}).items():
        text = text.replace(path, name)
    for pattern, name in _SAME:
        text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def run(session: str, cwd: Path, home: Path) -> str:
    """Run the commands of *session* in *cwd* and return the session as it went; only the output is made equal."""
    shims = home / "bin"
    shims.mkdir(exist_ok=True)
    (shims / "memsync").write_text(f'#!/bin/sh\nexec {shlex.join(command())} "$@"\n')
    (shims / "memsync").chmod(0o755)
    env = {
        **os.environ,
        "PATH": f"{shims}:{os.environ['PATH']}",
        "COLUMNS": "100",
        "TRANSCRIPTS": str(Path(__file__).parent / "unit" / "learn" / "transcripts"),
        "MEMSYNC_HOME": str(home / ".gobby"),
    }
    places = {str(home): "~", str(cwd): "/repo"}
    went = []
    for line in commands(session):
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        code = f"[exit {done.returncode}]\n" if done.returncode else ""
        went.append(f"$ {line}\n{same(done.stdout + done.stderr + code, places)}".rstrip())
    return "\n".join(went)


def commands(session: str) -> list[str]:
    """Return the commands of *session*; a line that ends in a backslash goes on."""
    joined = session.replace("\\\n", "")
    return [line.removeprefix("$ ") for line in joined.splitlines() if line.startswith("$ ")]
