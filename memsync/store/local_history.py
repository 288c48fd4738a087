"""The local history of a store: each line that was written here, and each that an edit or a removal took the place of.

So what was acknowledged can be found again, whatever a checkout, a hook manager or a lost merge did to the
file. Private, never shared, and bounded: two files of 10 MB or 90 days each. The last line that it has
of an id is the last that this machine wrote or replaced (docs/adr/0057). What a worktree that is gone or an older
memsync left elsewhere is taken in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Final

from memsync.errors import MemsyncError, StoreError, blaming
from memsync.format import jsonl, pending
from memsync.format.codec import Line, spell
from memsync.records import Memory, format_time, parse_time, same_but_for_time, utc_now
from memsync.store import files
from memsync.store.lock import lock
from memsync.store.places import STORE_DIR, WORKTREES, GitDirs, Layout, Place
from memsync.system import local
from memsync.system.logs import Log
from memsync.system.texts import count

log = Log(__name__)

DECISIONS: Final = "review.jsonl"  # what was decided in the queue of reviews (janitor/deciding.py)
_OLD, _NEW = "history.1.jsonl", "history.jsonl"
_SIZE: Final = 10 * 2**20 - 2**16
_SPAN: Final = timedelta(days=90)
_SINCE: Final = b'{"since":'  # the first line of a file, which is no record


def read(local: Path, get: Callable[[str], Memory | None]) -> dict[str, bytes]:
    """Return, by id, the last record that says something else than *get* does."""
    return {
        line.id: line.raw
        for line in _read_lines(local)
        if line.id and line.memory and not same_but_for_time(line.memory, get(line.id))
    }


def find_versions(local: Path, *ids: str) -> list[Line]:
    """Return every version of *ids* that the local history has, the last first."""
    return [line for line in _read_lines(local) if line.id in ids and line.memory][::-1]


def find_last(local: Path, *, removed: bool = True) -> dict[str, Line]:
    """Return the last line of each id: be it a record or a removal, or the last record if not *removed*."""
    return {line.id: line for line in _read_lines(local) if line.id and (removed or line.memory)}


def find_all(local: Path) -> Iterator[Line]:
    """Yield every line that the local history has, the first first."""
    return _read_lines(local)


def _read_lines(local: Path) -> Iterator[Line]:
    for name in (_OLD, _NEW):
        yield from jsonl.read_lines(files.read(local / name)[0])


def keep(local: Path, raws: Sequence[bytes], *, private: bool, durable: bool = True) -> None:
    """Add *raws*; `durable`: they are on the disk before this returns, as they must be before they leave the file."""
    if not raws:
        return
    path = local / _NEW
    with blaming(path):
        stamp = files.stamp(path)
        begun = parse_time(_read_begin(path, stamp.inode)) if stamp.size > 0 else None
        if stamp.size > _SIZE or (begun and utc_now() - begun > _SPAN):
            path.replace(path.with_name(_OLD))
            stamp = files.ABSENT
    head = b"" if stamp.size > 0 else b"%s%s}\n" % (_SINCE, spell(format_time(utc_now())).encode())
    data = head + b"".join(raw.rstrip(b"\r") + b"\n" for raw in raws)
    files.append(path, data, private=private, durable=durable)


@lru_cache(maxsize=64)
def _read_begin(path: Path, _inode: int) -> str:
    """Return when the file *path* was begun; "" if it does not say. Read once for each file."""
    try:
        with files.open_to_read(path) as (file, _):
            first = file.readline(100)
    except StoreError:
        return ""
    return first[len(_SINCE) :].strip(b'"}\n').decode("ascii", "replace") if first.startswith(_SINCE) else ""


def note(local: Path, raws: Sequence[bytes], *, private: bool) -> None:
    """Add *raws*, which are in the file and on the disk already: nothing waits for this, and its failure is none of theirs."""
    try:
        keep(local, raws, private=private, durable=False)
    except (StoreError, OSError) as error:
        log.info("not in the local history: %s", error)


def carry(source: Path, target: Path, only: Collection[str] | None = None, *, private: bool) -> None:
    """Add what *source* has (of *only* these ids) to *target*."""
    lines = [line for line in _read_lines(source) if line.id and (only is None or line.id in only)]
    keep(target, [line.raw for line in lines], private=private)


def drop(local: Path, ids: Collection[str], *, private: bool) -> None:
    """Take all records of *ids* out, of what waits for a commit too; a removal goes on waiting."""
    for name, without in ((_OLD, _leave_out), (_NEW, _leave_out), ("pending.jsonl", pending.leave_out)):
        data, _ = files.read(local / name)
        if (kept := without(data, ids)) != data:
            files.rewrite(local / name, kept, was=data, private=private)


def _leave_out(data: bytes, ids: Collection[str]) -> bytes:
    return b"".join(line.raw + b"\n" for line in jsonl.read_lines(data) if line.id not in ids)


_WAIT: Final = 2.0  # seconds for an older memsync that writes
_STAY: Final = ("pending.jsonl", "history.jsonl", "history.1.jsonl")


def take_over(layout: Layout) -> None:
    """Bring what was left behind to the local files of the project of *layout*. Never fails: what cannot be had now stays."""
    git, place = layout.git, layout.project
    if git is None or place is None:
        return
    # An older memsync may have written there since the last time.
    is_used = layout.former and any((layout.former / name).exists() for name in (*_STAY, "candidates"))
    found = [(layout.former, "")] if layout.former and is_used else []
    found += [(path, name) for name, path in _find_orphans(git, place)]
    for path, name in found:
        try:
            number = _take_one(path, place)
        except (MemsyncError, OSError) as error:
            log.info("%s is not taken over: %s", path, error)
            continue
        if name:
            import shutil  # which loads every compressor

            with suppress(OSError):
                shutil.rmtree(git.common / "memsync" / WORKTREES / name)
            if number:
                waits = f"{count(number, 'change')} that {'waits' if number == 1 else 'wait'} for a commit"
                log.warning("took over from the worktree %s, which is gone: %s", name, waits)


def _find_orphans(git: GitDirs, place: Place) -> list[tuple[str, Path]]:
    """Return name and local files of each worktree that git knows no more, of the same project in it."""
    folder = git.common / "memsync" / WORKTREES
    if not folder.is_dir():
        return []
    below = place.directory.parent.relative_to(git.root)
    gone = [name for name in sorted(os.listdir(folder)) if not (git.common / WORKTREES / name).exists()]
    found = [(name, folder / name / below / local.LOCAL) for name in gone]
    return [(name, path) for name, path in found if path.is_dir()]


def find_lost_folders(git: GitDirs) -> list[tuple[str, str, int]]:
    """Return of each linked worktree whose folder is gone its name, its path, and how many changes wait there."""
    found = []
    for path in sorted((git.common / "memsync" / WORKTREES).glob(f"*/**/{STORE_DIR}/local/pending.jsonl")):
        name = path.relative_to(git.common / "memsync" / WORKTREES).parts[0]
        link = git.common / WORKTREES / name / "gitdir"
        with suppress(OSError):
            top = Path(link.read_text(encoding="utf-8", errors="surrogateescape").strip()).parent
            if not top.exists():
                found.append((name, str(top), _count_waiting(files.read(path)[0])))
    return found


def _count_waiting(data: bytes) -> int:
    return len({line.id for line in pending.read(data) if line.id})


def _take_one(path: Path, place: Place) -> int:
    """Take the local files at *path* over, and return how many changes waited there."""
    if why := local.explain_distrust(path):
        raise OSError(why)
    files.prepare(place)
    with lock(place.local / "lock"), lock(path / "lock", wait=_WAIT, is_told=False):
        carry(path, place.local, private=place.private)
        data, own = files.read(path / "pending.jsonl")[0], files.read(place.pending)[0]
        if data:
            waiting = [
                line.raw for line in pending.read(own + data) if line.id
            ]  # of two versions of one the earlier can be restored
            keep(place.local, waiting, private=place.private)
            files.rewrite(place.pending, pending.join(own, data), was=own, private=place.private)
        with blaming(path):
            for name in _STAY:
                (path / name).unlink(missing_ok=True)
            local.move_into(path, place.local)
    return _count_waiting(data)
