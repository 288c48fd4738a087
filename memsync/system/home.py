"""Where the user's home is, our folder in it, and whose a directory is: another user's is not used, by the rules of git's safe.directory."""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


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


def find_foreign(paths: Iterable[Path], env: Mapping[str, str] = os.environ) -> Path | None:
    """Return the first of *paths* that belongs to another user; None on Windows, whose rights are not looked at."""
    if sys.platform == "win32":
        return None
    mine = _own_ids(env)
    return next((path for path in paths if owner_of(path) not in mine), None)


def _own_ids(env: Mapping[str, str]) -> set[int | None]:
    """Return the ids that count as the user; root acts for whoever called sudo. What is not there is nobody's."""
    if sys.platform == "win32":
        return {None}
    user = os.geteuid()
    sudo = env.get("SUDO_UID", "")
    return {None, user, int(sudo)} if user == 0 and sudo.isdecimal() else {None, user}


def owner_of(path: Path) -> int | None:
    """Return the number of the user who owns *path* itself, be it a link or not; None if it is not there."""
    try:
        return os.lstat(path).st_uid
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_of_own_group(path: Path) -> bool:
    """Tell whether *path* belongs to a group that the user is in; on Windows nothing does."""
    if sys.platform == "win32":
        return False
    try:
        return os.stat(path).st_gid in {os.getegid(), *os.getgroups()}
    except OSError:
        return False


def is_safe_directory(top: Path) -> bool:
    """Tell whether the user has told git that *top* may be used though it is another user's.

    Only what a repository cannot say counts: git is asked outside of any.
    """
    import subprocess

    from memsync.system import programs

    words = ["config", "--type=path", "-z", "--get-all", "safe.directory"]
    env = {**programs.git_env(), "GIT_CEILING_DIRECTORIES": os.sep, "GIT_DIR": os.devnull}
    try:
        done = subprocess.run([programs.find("git"), *words], cwd=os.sep, env=env, capture_output=True, check=False)
    except OSError:
        return False
    is_safe, real = False, os.path.realpath(top)
    for value in done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        if not value:  # an empty value takes back those before it
            is_safe = False
        elif value in ("*", real, str(top)) or (value.endswith("/*") and real.startswith(value[:-1])):
            is_safe = True
    return is_safe


def is_open_to_all(directory: Path) -> bool:
    """Tell whether every user may put files into *directory*."""
    try:
        return os.name == "posix" and bool(os.stat(directory).st_mode & stat.S_IWOTH)
    except OSError:
        return False


def foreign_text(path: Path, top: Path) -> str:
    """Return what is said of *path*, which belongs to another user: that it is not used, and what allows it."""
    return (
        f"{path} belongs to another user and is not used; "
        f"if you trust it: git config --global --add safe.directory {top}"
    )
