"""The moments of a write, one by one, and what can happen in them."""

from __future__ import annotations

import dis
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from memsync import Memsync
from memsync.janitor.plan import Merge
from memsync.janitor.run import apply

CALLS = frozenset(code for name, code in dis.opmap.items() if name.startswith("CALL"))
FILES = ("memsync/store/files.py", "memsync/store/lock.py")
HAND_LINE = b'{"id": "late", "content": "by a hand"}\n'

DEEDS: dict[str, Callable[[Memsync], object]] = {
    "remember": lambda project: project.remember("new"),
    "update": lambda project: project.update("mm-aaaaaa", content="new"),
    "forget": lambda project: project.forget("mm-aaaaaa"),
    "export": lambda project: project.export("project"),
    "merge": lambda project: apply(project, [Merge("project", "mm-aaaaaa", ("mm-bbbbbb",))]),
}


class Tripwire:
    """A trace function that counts the calls that these modules make, and acts before one of them.

    What others can see changes only in the calls of store/files.py and store/lock.py, so those are all the moments there are.
    """

    def __init__(self, left: int, act: Callable[[], None], modules: tuple[str, ...]) -> None:
        self.left, self.act, self.modules = left, act, modules

    def __call__(self, frame: FrameType, event: str, arg: object) -> Tripwire | None:
        code = frame.f_code
        if not code.co_filename.endswith(self.modules):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and code.co_code[frame.f_lasti] in CALLS:
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                self.act()
        return self


def happening(how: str, moment: int, path: str) -> Tripwire:
    """Return the trace function that makes it happen at that moment."""
    acts: dict[str, Callable[[], None]] = {
        "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "interrupt": interrupt,
        "append": lambda: append_by_hand(path, HAND_LINE),
        "swap": lambda: swap_by_hand(path),
    }
    return Tripwire(
        moment,
        acts[how],
        FILES if how != "interrupt" else (*FILES, "memsync/store/store.py", "memsync/store/reading.py"),
    )


def interrupt() -> None:
    raise KeyboardInterrupt


def append_by_hand(path: str, line: bytes) -> None:
    """Append, and again if the file was swapped between opening and writing: no writer can see a line that is late."""
    while True:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.write(fd, line)
        was_current = os.path.samestat(os.fstat(fd), os.stat(path))
        os.close(fd)
        if was_current:
            return


def swap_by_hand(path: str) -> None:
    """Add a line in a copy, and put the copy in the place of the file."""
    data = Path(path).read_bytes()
    Path(f"{path}~").write_bytes(data + (b"" if data.endswith(b"\n") else b"\n") + HAND_LINE)
    os.replace(f"{path}~", path)
