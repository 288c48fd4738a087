"""What a repository has on its default branch, asked of git without a checkout.

A repository is a stranger's. Git runs in an empty repository of ours that is thrown away, with no hooks, filters,
submodules or helpers that a repository could name, and with the transports alone that are listed here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from memsync.errors import MemsyncError, UsageError
from memsync.hub.intake import LARGEST, MEMORIES, SKILLS
from memsync.store.checkout import clean_env
from memsync.system import programs

_PATIENCE: Final = 300.0  # seconds for a fetch; a look takes one round trip
_LOOKING: Final = 60.0
_MOST_SKILLS: Final = 500
_SCHEMES: Final = frozenset({"https", "http", "ssh", "git", "file"})
_MOST_FETCHED: Final = 512 * 1024 * 1024  # bytes of a fetch on the disk: how large a file is, git tells once it is here
_SCP: Final = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!//)[\w./~-]+")
_SAFE: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=20",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C.UTF-8",
}
_CALLS: Final = frozenset({"init", "ls-remote", "fetch", "ls-tree", "cat-file"})
_QUIET: Final = ("core.hooksPath=/dev/null", "gc.auto=0", "maintenance.auto=false", "fetch.recurseSubmodules=no",
                 "core.fsmonitor=false", "core.attributesFile=/dev/null", "protocol.ext.allow=never",
                 "http.lowSpeedLimit=1000", "http.lowSpeedTime=60")  # fmt: skip
# A clone on this machine lets nobody choose what to fetch, unless it is asked this way.
_CHOOSING: Final = "git -c uploadpack.allowFilter=true -c uploadpack.allowAnySHA1InWant=true upload-pack"
_GONE: Final = re.compile(
    r"(?i)not found|does not exist|does not appear to be a git repo|repository .* (?:unavailable|disabled)|access denied"
)
_HEADS: Final = ("refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master")
_OWN_HEADS: Final = ("refs/heads/main", "refs/heads/master", "HEAD")


class RemoteFailed(MemsyncError):
    """Git could not ask, or not fetch; `is_gone`: it says that there is no such repository, or not for us."""

    def __init__(self, why: str, *, is_gone: bool = False) -> None:
        super().__init__(why)
        self.is_gone = is_gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Tip:
    """The default branch of a repository and its commit; both empty while it has none."""

    branch: str = ""
    commit: str = ""


def clean_address(text: str) -> str:
    """Return *text*, a URL or a path, as the hub knows the repository.

    Raises:
        UsageError: it is neither; the message does not repeat what may be a password.
    """
    text = text.strip()
    if text.startswith("-") or not text.isprintable():
        raise UsageError("a repository is named by a URL or a directory, without an option or a control character")
    if "://" in text:
        parts = urlsplit(text)
        # Git reads HELPER::ADDRESS as a program of that name, whatever the address is.
        if parts.scheme not in _SCHEMES or not text.lower().startswith(f"{parts.scheme}://") or " " in text:
            raise UsageError("a repository is named by an https, http, ssh, git or file URL")
        if parts.query or parts.fragment:
            raise UsageError("a repository is named by a URL without a query")
        if parts.password is not None:
            raise UsageError("the URL holds a password; give it to git's credential helper instead")
        return text.rstrip("/")
    if _SCP.fullmatch(text) and not Path(text).exists():
        return text
    if not text or not Path(text).is_dir():
        raise UsageError(f"{text!r} is neither the URL of a repository nor a directory")
    return str(Path(text).resolve())


def name_of(address: str) -> str:
    """Return how a repository is shown: its owner and its name, or the last two parts of its path."""
    path = urlsplit(address).path if "://" in address else address.partition(":")[2] or address
    parts = [part for part in path.removesuffix("/").removesuffix(".git").split("/") if part]
    return "/".join(parts[-2:]) or address


def look(address: str) -> Tip:
    """Return what the default branch of *address* is, in one round trip.

    Of a clone on this machine it is what its origin calls the default: the branch that is checked out there may be
    anybody's, and what is not merged is not taken.

    Raises:
        RemoteFailed
    """
    heads = (*_HEADS, *_OWN_HEADS) if _is_path(address) else ("HEAD",)
    out = _run(None, "ls-remote", "--symref", "--", address, *heads, patience=_LOOKING)
    names: dict[str, str] = {}
    commits: dict[str, str] = {}
    for row in out.decode("utf-8", "replace").splitlines():
        what, _, ref = row.partition("\t")
        if what.startswith("ref: "):
            names[ref] = what[5:]
        else:
            commits[ref] = what
    has_origin = any(ref.startswith("refs/remotes/") for ref in commits)
    for ref in heads:
        if ref in commits and not (has_origin and ref in _OWN_HEADS):
            return Tip(branch=names.get(ref, ref).rpartition("/")[2], commit=commits[ref])
    return Tip()


def fetch(address: str, commit: str) -> dict[str, bytes]:
    """Return the memory file and each SKILL.md of *commit* by their paths; nothing else is asked for where the server can choose.

    Raises:
        RemoteFailed
    """
    with tempfile.TemporaryDirectory(prefix="memsync-hub-") as name:
        directory = Path(name)
        _run(directory, "init", "-q", "--bare", "--template=", ".")
        if len(commit) == 64:
            _run(directory, "init", "-q", "--bare", "--template=", "--object-format=sha256", ".")
        source = [f"remote.hub.url={address}", "remote.hub.promisor=true", "remote.hub.partialclonefilter=blob:none"]
        own = [f"remote.hub.uploadpack={_CHOOSING}"] if _is_path(address) else []
        settings = [part for setting in (*source, *own) for part in ("-c", setting)]
        common = (*settings, "fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--depth=1")
        _run(directory, *common, "--filter=blob:none", "hub", commit)
        blobs = _find_blobs(directory, commit)
        missing = _find_missing(directory, blobs)
        if missing:
            _run(directory, *common, "hub", *missing)
        return _read_blobs(directory, blobs)


def _find_blobs(directory: Path, commit: str) -> dict[str, str]:
    """Return the objects of the files that we read, by their paths; links are none."""
    out = _run(directory, "ls-tree", "-r", "-z", "--full-tree", commit, "--", MEMORIES, SKILLS)
    found: dict[str, str] = {}
    for row in out.decode("utf-8", "replace").split("\0"):
        about, _, path = row.partition("\t")
        mode, _, blob = about.partition(" blob ")
        is_ours = path == MEMORIES or (path.endswith("/SKILL.md") and path.count("/") == 3)
        if mode.startswith("100") and is_ours and (path == MEMORIES or len(found) < _MOST_SKILLS):
            found[path] = blob
    return found


def _find_missing(directory: Path, blobs: Mapping[str, str]) -> list[str]:
    asked = "".join(f"{blob}\n" for blob in blobs.values())
    out = _run(directory, "cat-file", "--batch-check=%(objectname)", stdin=asked.encode()) if blobs else b""
    return [row.split()[0] for row in out.decode().splitlines() if row.endswith(" missing")]


def _read_blobs(directory: Path, blobs: Mapping[str, str]) -> dict[str, bytes]:
    """Return the bytes of *blobs*; of one that is too large no more than tells so."""
    asked = "".join(f"{blob}\n" for blob in blobs.values())
    sizes = _run(directory, "cat-file", "--batch-check=%(objectsize)", stdin=asked.encode()).split() if blobs else []
    found: dict[str, bytes] = {}
    for (path, blob), size in zip(blobs.items(), sizes, strict=True):
        found[path] = bytes(LARGEST + 1) if int(size) > LARGEST else _run(directory, "cat-file", "blob", blob)
    return found


def _is_path(address: str) -> bool:
    return "://" not in address and Path(address).is_absolute()


def _bound(name: str) -> Sequence[str]:
    """Return the words before a command of git whose files may not grow without end."""
    if name != "fetch" or sys.platform == "win32":
        return ()
    return (programs.find("sh"), "-c", f'ulimit -f {_MOST_FETCHED // 512}; exec "$@"', "sh")


def _run(directory: Path | None, *words: str, stdin: bytes = b"", patience: float = _PATIENCE) -> bytes:
    """Run git in *directory*, a bare repository of ours, or nowhere; return what it prints.

    Raises:
        RemoteFailed
    """
    settings: Sequence[str] = [part for setting in _QUIET for part in ("-c", setting)]
    place = ["--git-dir=."] if directory and words[0] != "init" else []
    name = next(word for word in words if word in _CALLS)
    try:
        done = subprocess.run(
            [*_bound(name), programs.find("git"), *settings, *place, *words],
            cwd=directory or tempfile.gettempdir(),
            input=stdin,
            capture_output=True,
            env={**clean_env(), **_SAFE},
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RemoteFailed(f"git {name} took longer than {patience:g} seconds") from None
    except OSError as error:
        raise RemoteFailed(f"git cannot be run ({error.strerror or error})") from None
    if done.returncode:
        said = [line.strip() for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        why = next((line for line in said if line.startswith(("fatal:", "error:", "ERROR:"))), "it printed no reason")
        raise RemoteFailed(f"git {name}: {why[:300]}", is_gone=any(map(_GONE.search, said)))
    return done.stdout
