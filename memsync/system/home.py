"""Where the user's home is, and our folder in it. Imports next to nothing: hooks wait for it."""

from __future__ import annotations

import os
import sys
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def find_home(env: Mapping[str, str] = os.environ) -> str:
    """Return the user's home directory; "" where none is known.

    `HOME` says so, on Windows `USERPROFILE`; where it is not set, what the system knows of the user.
    """
    name = "USERPROFILE" if sys.platform == "win32" else "HOME"
    said = env.get(name, os.environ.get(name))
    home = os.path.expanduser("~") if said is None else said
    return home if os.path.isabs(home) else ""


def find_own(env: Mapping[str, str] = os.environ) -> str:
    """Return `MEMSYNC_HOME`, else `.gobby` in the user's home; "" where no home is known, or what is there is another user's."""
    if said := env.get("MEMSYNC_HOME"):
        return os.path.abspath(os.path.expanduser(said))
    home = find_home(env)
    return "" if find_foreign_part(env) else home and os.path.join(home, ".gobby")


def find_foreign_part(env: Mapping[str, str] = os.environ) -> str:
    """Return the part of `.gobby` in the user's home that another user owns, as with `sudo -E`; "" if none does.

    What root owns counts as the user's, but what the caller of sudo owns does not: its settings start programs. Who names
    a directory in `MEMSYNC_HOME` has chosen it.
    """
    home = find_home(env)
    if sys.platform == "win32" or not home or env.get("MEMSYNC_HOME"):
        return ""
    own = os.path.join(home, ".gobby")
    for path in (own, os.path.join(own, "config.yaml"), os.path.join(own, "memories.jsonl")):
        try:
            if os.lstat(path).st_uid not in (0, os.geteuid()):
                return path
        except OSError:  # it is not there
            continue
    return ""


def run_dir(root: str, env: Mapping[str, str] = os.environ) -> str:
    """Return where the servers of the project at *root* (a real path) listen; what is known of it for hooks is beside that."""
    home = find_own(env) or os.devnull  # nobody listens below it
    return os.path.join(home, "run", f"{zlib.crc32(os.fsencode(root)):08x}")
