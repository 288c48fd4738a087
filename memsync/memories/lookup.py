"""The lookup file: under which keys something is anchored, so that a hook before a tool knows at once that nothing is.

Derived, in the user's home beside the sockets, by the root of the project: sorted hashes of keys, behind a line of JSON that says
which files it was made from. Four bytes a key; a key that is there by chance costs a look at the memories. Imports next to nothing.
"""

from __future__ import annotations

import os
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from memsync.index import places
from memsync.memories import commands, triggers
from memsync.system.home import run_dir

FORMAT = 2
_MOST = 60_000  # keys: a file stays below 256 KB whatever is anchored


def find_path(cwd: str, env: Mapping[str, str]) -> tuple[str, str]:
    """Return the root that *cwd* is in and where its lookup file is; two empty texts if there is none yet."""
    root = os.path.realpath(cwd)
    while True:
        path = path_of(root, env)
        if os.path.exists(path):
            return root, path
        if os.path.exists(os.path.join(root, ".gobby")) or os.path.exists(os.path.join(root, ".git")):
            return "", ""
        if root == (root := os.path.dirname(root)):
            return "", ""


def path_of(root: str, env: Mapping[str, str]) -> str:
    """Return where the lookup file of the project at *root* (a real path) is."""
    return f"{run_dir(root, env)}.anchors"


def keys_of(paths: Iterable[str], words: Iterable[Sequence[str]]) -> list[str]:
    """Return the keys under which something may be anchored to *paths*, below the root, or to the stripped commands *words*."""
    found: list[str] = []
    for path in paths:
        parts = path.split("/")
        found += [path, *("/".join(parts[:end]) + "/" for end in range(1, len(parts))), "*"]
        if ending := os.path.splitext(path)[1]:
            found.append(f"*{ending}")
    for command in words:
        found += commands.keys(command)
    return list(dict.fromkeys(found))


def key_of_glob(pattern: str) -> str:
    """Return the one key of an anchor to the files that *pattern* names: its first folders, else its ending, else all."""
    fixed = pattern[: min(pattern.find(char) for char in "*?" if char in pattern)].rpartition("/")[0]
    ending = os.path.splitext(pattern)[1]
    if fixed:
        return f"{fixed}/"
    return f"*{ending}" if ending and not {"*", "?"} & set(ending) else "*"


def below(path: str, cwd: str, root: str) -> str:
    """Return *path*, as a tool names it in *cwd*, from the real *root* on; "" if it is elsewhere or no path."""
    if not path or len(path) > 4_096 or "\0" in path:
        return ""
    named = os.path.join(cwd, os.path.expanduser(path))
    if "\\" in path and not os.path.lexists(named):  # of a model that writes as on Windows
        named = named.replace("\\", "/")
    real = os.path.join(os.path.realpath(os.path.dirname(named)), os.path.basename(named))
    inside = real.startswith(root.rstrip("/") + os.sep) and real[len(root.rstrip("/")) + 1 :]
    return inside.replace(os.sep, "/") if inside else ""


def all_below(paths: Iterable[str], cwd: str, root: str) -> list[str]:
    """Return each of *paths* that is below *root*, from there on, once."""
    return list(dict.fromkeys(path for one in paths if (path := below(one, cwd, root))))


def name_missing(path: str, cwd: str, root: str | os.PathLike[str] | None) -> list[str]:
    """Return the names by which a text speaks of *path*, which a tool names in *cwd*, if it is not there: of the first part that is not."""
    real = os.path.realpath(root) if root else ""
    inside = below(path, cwd, real) if real else ""
    parts = (inside or path).rstrip("/").split("/")
    for size in range(1, len(parts) + 1) if inside else (len(parts),):
        part = "/".join(parts[:size])
        if not os.path.lexists(os.path.join(real if inside else cwd, part)):
            tail = "/".join(parts[max(size - 2, 0) : size])
            return list(dict.fromkeys((part, tail) if inside else (tail,)))
    return []


class Lookup:
    """What the file at *path* says, as long as the files that it was made from are as they were then; else nothing is `fresh`."""

    def __init__(self, path: str) -> None:
        import json

        self.fresh = self.has_names = False
        try:
            fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            with open(fd, "rb") as file:
                head, _, rest = file.read(1 << 20).partition(b"\n")
            about = json.loads(head)
            self._hashes = memoryview(rest[: len(rest) // 4 * 4]).cast("I")
            self.has_names = about["names"]
            self.fresh = about["format"] == FORMAT and all(stamp_of(one[0]) == one for one in about["files"])
        except (OSError, ValueError, LookupError, TypeError):
            pass

    def has_any(self, keys: Iterable[str]) -> bool:
        """Tell whether one of *keys* is there."""
        for number in map(hash_of, keys):
            at = bisect_left(self._hashes, number)
            if at < len(self._hashes) and self._hashes[at] == number:
                return True
        return False


def hash_of(key: str) -> int:
    """Return the number of *key* in the file."""
    return zlib.crc32(key.encode("utf-8", "surrogatepass"))


def stamp_of(path: str) -> list[Any]:
    """Return *path* and how its file looks: equal if nobody wrote it in between."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return [path]
    return [path, found.st_ino, found.st_size, found.st_mtime_ns]


def save(path: str, keys: Iterable[str], stamps: Sequence[Sequence[Any]]) -> None:
    """Write the lookup file; where that fails there is none."""
    import json
    from array import array

    keys = set(keys)
    hashes = array("I", sorted(map(hash_of, keys))[:_MOST])
    has_names = any(key.startswith((triggers.MARK, places.MARK)) for key in keys)
    head = json.dumps({"format": FORMAT, "names": has_names, "files": list(stamps)}).encode()
    new = f"{path}.{os.getpid()}.new"
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(head + b"\n" + hashes.tobytes())
        os.replace(new, path)
