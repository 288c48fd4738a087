"""A mount namespace of its own: a real full disk and a real read-only disk, which the rest of the system never sees."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from helpers import Ran

READ_ONLY = 'mount --bind "$1" "$1"; mount -o remount,ro,bind "$1"'


@dataclass(frozen=True)
class Room:
    """A directory on a disk that only the commands of this room see."""

    pid: int
    directory: Path

    @property
    def door(self) -> list[str]:
        """The words that run what follows them in the room."""
        as_user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        return ["nsenter", "--target", str(self.pid), *as_user, "--mount", f"--wd={self.outside}"]

    def run(self, *words: str, stdin: bytes = b"") -> Ran:
        """Run a command in the room."""
        done = subprocess.run([*self.door, *words], input=stdin, capture_output=True, timeout=60, check=False)
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def memsync(self, *words: str, stdin: bytes = b"") -> Ran:
        """Run the real command in the room's directory."""
        return self.run(sys.executable, "-m", "memsync", "-C", str(self.directory), *words, stdin=stdin)

    @property
    def outside(self) -> Path:
        """The room's directory as this process sees it."""
        return Path(f"/proc/{self.pid}/root{self.directory}")

    def fill(self) -> None:
        """Write until there is no space left."""
        with open(self.outside / "filler", "wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 4096)

    def snapshot(self) -> dict[str, bytes]:
        """Return every file by its path, all but the counts of use, which are not memories."""
        return {
            str(path.relative_to(self.outside)): path.read_bytes()
            for path in self.outside.rglob("*")
            if path.is_file() and not path.name.startswith("state.db")
        }


@contextmanager
def room(directory: Path, mount: str) -> Iterator[Room]:
    """Open a room in which the shell command *mount* was run; skip the test where the system does not allow it."""
    script = f"set -e; {mount}; echo ready; read -r _ || true"
    if not shutil.which("unshare") or not shutil.which("nsenter"):
        pytest.skip("no unshare or nsenter to make mounts of our own with")
    as_user = [] if os.geteuid() == 0 else ["--map-root-user"]
    process = subprocess.Popen(
        ["unshare", *as_user, "--mount", "sh", "-c", script, "sh", str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        if process.stdout.readline() != b"ready\n":
            pytest.skip(f"this system allows no mounts of our own: {process.stderr.read().decode().strip()}")
        yield Room(process.pid, directory)
    finally:
        process.communicate(timeout=10)
