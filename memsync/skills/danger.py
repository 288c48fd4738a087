"""What a skill would have a client do beyond reading it: run hooks, use every tool unasked, run a program beside it that sends files away."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from memsync.errors import MemsyncError
from memsync.poison.screen import find_sending
from memsync.skills import file
from memsync.skills.file import as_tags
from memsync.store import files

_NAMED: Final = (b"hooks", b"allowed-tools")
_MOST: Final = 64  # files beside a skill that are read
_LARGEST: Final = 256 * 1024  # bytes of one


def find_danger(path: Path) -> str:
    """Return what the skill in the file *path*, and what lies beside it, would do unasked; "" if nothing is known."""
    data = b""
    with suppress(MemsyncError, OSError):
        data = files.read(path)[0]
    front = file.read(data, path.parent.name).front if any(name in data for name in _NAMED) else {}
    return _read_front(front) or next(_read_beside(path.parent), "")


def _read_front(front: Mapping[str, Any]) -> str:
    if front.get("hooks"):
        return "brings hooks, which a client runs"
    allowed = front.get("allowed-tools")
    tools = as_tags(allowed) if isinstance(allowed, list) else str(allowed or "").replace(",", " ").split()
    is_open = any(str(tool).strip() in ("*", "Bash(*)", "Bash(*:*)", "Bash(:*)") for tool in tools)
    return "lets its agent use every tool without a question" if is_open else ""


def _read_beside(folder: Path) -> Iterator[str]:
    """Yield what the first files beside a skill would do; no link is followed."""
    number = 0
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(root, name)
            number += name != "SKILL.md"
            if number > _MOST:
                return
            if name == "SKILL.md" or path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
                continue
            with suppress(OSError):
                text = path.read_bytes().decode("utf-8", "replace")
                if why := find_sending(text):
                    yield f"{path.relative_to(folder).as_posix()}: {why}"
