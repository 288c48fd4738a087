"""The user's name in git's own settings, where they say it plainly; git, who knows all that they may say, takes most of a bare Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from memsync.store.places import GitDirs
from memsync.system.home import find_home

_BELOW: Final = ("GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")  # about settings that the user's stand above
_ELSEWHERE: Final = ("include", "[user", "worktreeconfig")  # what in the settings of a repository has git asked


def read_user_name(git: GitDirs | None, env: Mapping[str, str] = os.environ) -> str | None:
    """Return user.name of the user's settings; None where git must be asked: another file may say something else, or say it oddly."""
    home = find_home(env)
    if not home or any(name.startswith("GIT_CONFIG") and name not in _BELOW for name in env):
        return None
    if git and ((text := _read(git.common / "config")) is None or any(word in text.lower() for word in _ELSEWHERE)):
        return None
    text = _read(Path(home, ".gitconfig"))
    return _find_name(text) if text and "include" not in text.lower() else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _find_name(text: str) -> str | None:
    """Return the last user.name of *text*; None where a line of it is not plain."""
    name, is_inside = None, False
    for line in map(str.strip, text.split("\n")):
        key, equals, value = line.partition("=")
        if line.endswith("\\") or (line.startswith("[") and (not line.endswith("]") or "]" in line[:-1])):
            return None
        if line.startswith("["):
            is_inside = line[1:-1].strip().lower() == "user"
        elif is_inside and key.strip().lower() == "name":
            if not equals or any(mark in value for mark in '"\\#;'):
                return None
            name = value.strip()
    return name or None
