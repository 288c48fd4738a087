"""Whose private store is whose: named by the identity of a project, and believed by what stands in it (docs/adr/0105).

Below `projects/` each store has a file `identity`: what it is the store of, and a random token that the clones which
use it keep in `.git/memsync/key`. Works on names and small files of the home store alone.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from memsync.errors import StoreError
from memsync.system import local

if TYPE_CHECKING:
    from memsync.store.places import GitDirs

PROJECTS: Final = "projects"  # of the home store
APPROVALS: Final = "trust.json"  # of a private store
_MARK: Final = "identity"
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_MOST: Final = 1 << 16  # bytes of a file that is ours
_REMOTE: Final = r'(?ms)^\[remote "origin"\](?:(?!^\[).)*?^\s*url\s*=\s*(\S+)'
_DEFAULT_PORT: Final = r":(22|80|443|9418)$"
_SCHEME: Final = r"^[a-z+]+://(?:[^@/]*@)?|^[^@/:]*@"


class PrivateStore(NamedTuple):
    """The directory of a project's private store, and of what it is the store; `refused` says why it is not used."""

    directory: Path
    identity: str
    refused: str = ""


class Mark(NamedTuple):
    """What the file `identity` of a private store says."""

    identity: str
    token: str


def find_private(home: Path, git: GitDirs | None, root: Path) -> PrivateStore:
    """Return the private store of the project at *root*: the one that its clone has used, else the one of its identity."""
    for name, token in read_keys(git):
        mark = read_mark(home / PROJECTS / name) if token else None
        if mark and mark.token == token:  # so a moved folder or another remote does not hide its memories
            return PrivateStore(home / PROJECTS / name, mark.identity)
    identity, slug = identify(git, root)
    own = home / PROJECTS / _name(slug, identity)
    mark = read_mark(own)
    if mark and mark.identity != identity:
        refused = f"{own} is not used, because its file {_MARK} names another project; move it away"
        return PrivateStore(own, identity, refused)
    return PrivateStore(own, identity)


def read_mark(directory: Path) -> Mark | None:
    """Return what the store *directory* says of whose it is; None if nothing."""
    if (said := _read(directory / _MARK)) is None:
        return None
    identity, _, token = said.rstrip("\n").rpartition("\n")
    return Mark(identity, token)


def write_mark(directory: Path, identity: str) -> Mark:
    """Write into the store *directory* whose it is, and return that."""
    mark = Mark(identity, os.urandom(16).hex())
    data = f"{mark.identity}\n{mark.token}\n".encode("utf-8", "surrogatepass")
    local.put(directory / _MARK, [data], mode=0o600, durable=True)
    return mark


def key_file(git: GitDirs) -> Path:
    """Return where a clone keeps which private stores it has used, a line for each: its name, and its token."""
    return git.common / "memsync" / "key"


def read_keys(git: GitDirs | None) -> list[tuple[str, str]]:
    """Return name and token of each private store that the clone has used."""
    lines = ((_read(key_file(git)) if git else "") or "").splitlines()
    rows = [line.partition(" ")[::2] for line in lines]
    return [(name, token) for name, token in rows if name[:1] in _PLAIN and _PLAIN.issuperset(name.replace("-", ""))]


def write_key(git: GitDirs | None, directory: Path, mark: Mark) -> None:
    """Note in `.git` that the clone uses the store *directory*, if it does not say so yet."""
    if git is not None and (directory.name, mark.token) not in read_keys(git):
        fd = local.open_file(key_file(git), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(fd, "ab") as file:
            file.write(f"{directory.name} {mark.token}\n".encode())
            file.flush()
            os.fsync(fd)


def _read(path: Path) -> str | None:
    """Return the text of a small file of ours or of git's; "" if it cannot be read, None if it is not there."""
    try:
        with open(local.open_file(path, os.O_RDONLY), "rb") as file:
            return file.read(_MOST).decode("utf-8", "surrogatepass")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, StoreError):
        return ""


def identify(git: GitDirs | None, root: Path) -> tuple[str, str]:
    """Return what the project at *root* is known by, and a readable name for it.

    By the URL of `origin`, so that clones of one project are one; without one, by the path.
    """
    if git is None:
        return f"path:{root}", root.name
    try:
        config = (git.common / "config").read_text(encoding="utf-8", errors="replace")
    except OSError:
        config = ""
    if found := '[remote "origin"]' in config and re.search(_REMOTE, config):
        url = normal_url(found[1])
        return f"remote:{url}", Path(url).name
    common = os.path.realpath(git.common)
    return f"path:{common}", Path(common).parent.name


def _name(readable: str, identity: str) -> str:
    from memsync.system.digests import sha256

    words = "".join(letter if letter in _PLAIN else " " for letter in readable.lower()).split()
    slug = "-".join(words)[:40] or "project"
    return f"{slug}-{sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def normal_url(url: str) -> str:
    """Return *url* without what differs between two spellings of one remote.

    `git@host:a/b.git`, `https://user:token@host/a/b` and `ssh://host/a/b/` are one.
    """
    url = url.strip('"').removeprefix("file://")
    if os.path.isabs(url):
        return url.rstrip("/").removesuffix(".git")
    rest = re.sub(_SCHEME, "", url, count=1)
    is_scp = "://" not in url and ":" in rest.partition("/")[0]
    host, _, path = rest.partition(":" if is_scp else "/")
    return f"{re.sub(_DEFAULT_PORT, '', host.lower())}/{path.strip('/').removesuffix('.git')}"
