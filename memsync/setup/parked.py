"""What stealth took out of a work tree, kept in the private store until it goes back: files byte for byte, and `local/`.

One directory for each work tree, since those of a clone share the private
store. It is written before anything is taken and removed after everything is
back, so that a process that was killed is finished by running it again.
"""

from __future__ import annotations

import json
import shutil
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from memsync.errors import StoreError, StoreNotWritable, blaming
from memsync.store import files
from memsync.system.limits import LARGEST_IMPORT, read_json

_NAME: Final = "tree.json"
_NOT_KEPT: Final = (
    "lock",
    "lock.database",
    "skills.lock",
    "*.queue",
    "index",
    "index.db*",
    "*.tmp",
    "*.memsync-new",
    ".gitignore",
)
_OWNER: Final = 0o600


class Taken(NamedTuple):
    """One file of the tree before and after; None: there is none. `path` is relative to the root."""

    path: str
    before: bytes
    after: bytes | None
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """All that was taken: files, the memory file as it was, settings that were copied, clients that were moved.

    `shared` has the ids of the memories that were in the work tree, each with a hash of what it was.
    """

    root: str
    files: tuple[Taken, ...] = ()
    memories: bytes | None = None
    shared: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any]
    clients: tuple[str, ...] = ()


def plan_taking(root: Path, path: Path, after: bytes | None) -> Taken:
    """Return what is to be taken of the file *path*, which is there."""
    with blaming(path):
        mode = stat.S_IMODE(path.stat().st_mode)
    return Taken(path.relative_to(root).as_posix(), files.read(path)[0], after, mode)


def directory_of(local: Path, root: Path) -> Path:
    """Return where the private store with *local* keeps what was taken out of *root*."""
    return local / "trees" / sha256(str(root.resolve()).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def load(directory: Path) -> Parked | None:
    """Return what waits in *directory*; None if nothing does.

    Raises:
        StoreError: it cannot be read.
    """
    data, seen = files.read(directory / _NAME)
    if seen == files.ABSENT:
        return None
    try:
        said = read_json(data, LARGEST_IMPORT)
        taken = tuple(
            Taken(one["path"], b64decode(one["before"]), _decode(one["after"]), one["mode"]) for one in said["files"]
        )
        rest = {name: said[name] for name in ("root", "settings")}
        shared = said.get("shared", {})  # an older memsync noted none
        return Parked(
            files=taken, memories=_decode(said["memories"]), shared=shared, clients=tuple(said["clients"]), **rest
        )
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(directory / _NAME, f"is damaged ({error})", "move it away; what it kept is in it") from error


def _decode(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


def save(directory: Path, new: Parked) -> Parked:
    """Write down what is about to be taken, beside what an earlier start took already; return both."""
    if old := load(directory):
        was = {one.path: one for one in old.files}
        still = [one for one in old.files if one.path not in {now.path for now in new.files}]
        # What a first start altered is not what was there before it.
        kept = [was[now.path] if now.path in was and was[now.path].after == now.before else now for now in new.files]
        new = replace(
            new,
            files=(*still, *kept),
            memories=new.memories or old.memories,
            shared={**old.shared, **new.shared},
            settings={**old.settings, **new.settings},
            clients=tuple(dict.fromkeys((*old.clients, *new.clients))),
        )
    fields = {**asdict(new), "files": [one._asdict() for one in new.files]}
    files.make_dirs(directory, private=True)
    path = directory / _NAME
    data = json.dumps(fields, default=lambda value: b64encode(value).decode()).encode()
    files.rewrite(path, data, was=files.read(path)[0], private=True)
    return new


def take(root: Path, taken: Taken) -> None:
    """Write the file as it is meant to stay, unless somebody has just changed it.

    Raises:
        StoreError: it is as it was.
    """
    path = files.resolve_inside(root / taken.path, root)
    files.drop_temp(path)
    if taken.after is None:
        if files.read(path)[0] not in (taken.before, b""):
            raise StoreNotWritable(path, "changed while it was taken away", "try again")
        with blaming(path):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()
    elif files.read(path)[0] != taken.after:
        files.rewrite(path, taken.after, was=taken.before)


def put_back(root: Path, taken: Taken) -> bool:
    """Make the file what it was, with its mode; return False, having done nothing, if somebody has changed it since."""
    path = files.resolve_inside(root / taken.path, root)
    files.drop_temp(path)
    now, seen = files.read(path)
    if now == (taken.after or b"") and (taken.after is None or seen != files.ABSENT):  # or empty, as a kill leaves it
        files.make_dirs(path.parent, private=False)
        files.rewrite(path, taken.before, was=now)
    elif now != taken.before:
        return False
    with blaming(path):
        path.chmod(taken.mode)
    return True


def keep_local(kept: Path, local: Path) -> None:
    """Copy the local files of a project to *kept*, but no link, and nothing that makes itself anew."""
    if not local.is_dir():
        return

    def ignore(where: str, names: list[str]) -> Iterable[str]:
        links = {name for name in names if (Path(where) / name).is_symlink()}
        return links | set(shutil.ignore_patterns(*_NOT_KEPT)(where, names))

    with blaming(kept):
        shutil.copytree(local, kept, ignore=ignore, dirs_exist_ok=True)
        for path in kept.rglob("*"):
            path.chmod(0o700 if path.is_dir() else _OWNER)


def return_local(kept: Path, local: Path) -> None:
    """Copy the local files back, but for those that are there again; the caller has made *local*."""
    for path in sorted(kept.rglob("*")):
        target = local / path.relative_to(kept)
        if path.is_file() and files.stamp(target) == files.ABSENT:
            files.make_dirs(target.parent, private=False)
            files.create(target, path.read_bytes(), private=False)


def forget(directory: Path) -> None:
    """Remove what was kept, now that it is back."""
    with blaming(directory):
        (directory / _NAME).unlink(missing_ok=True)
    shutil.rmtree(directory, ignore_errors=True)


def list_roots(local: Path) -> list[str]:
    """Return the work trees that something was taken out of, by the private store with *local*."""
    found = (load(path.parent) for path in sorted(local.glob(f"trees/*/{_NAME}")))
    return [one.root for one in found if one]
