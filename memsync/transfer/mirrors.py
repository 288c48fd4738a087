"""Two-way mirrors: a folder of another tool's Markdown whose statements are the project's memories, and the other way round.

What was the same on both sides is noted in `local/mirrors.json` of this clone; against that each side is looked at. A
file changes only where a statement does, and only if nobody else has written it meanwhile.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property, lru_cache
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from memsync.errors import MemsyncError, NoStore, Remedy, StoreError, UsageError
from memsync.format.jsonl import read_lines
from memsync.format.scopes import read_scope
from memsync.learn.worth import why_dropped
from memsync.memories.imports import Candidate
from memsync.memories.project import Project
from memsync.memories.purging import OURS, lock_mirrors, read_mirrors, write_mirrors
from memsync.records import Memory, content_hash
from memsync.store import files
from memsync.store.checkout import Checkout, is_ignored
from memsync.store.places import MIRRORS, Layout, under_way
from memsync.transfer.notes import explain_left
from memsync.transfer.readers import ORIGIN, Unit, make_candidate, split

KINDS: Final = ("claude-memory", "serena", "cline", "vscode", "letta", "basic-memory", "obsidian")
_HEAD: Final = "# What this project remembers\n\n"
_HEADS: Final[Mapping[str, str]] = {
    "basic-memory": f"---\ntitle: memsync\ntype: note\n---\n\n{_HEAD}",
    # Letta refuses a commit of a block without these two keys.
    "letta": "---\ndescription: What this project remembers, written by memsync\nlimit: 20000\n---\n\n",
}
_MOST_FILES, _MOST_BYTES = 2_000, 1 << 20
_ROOM: Final = 25_000  # characters of our file: what Claude Code reads of an index
_ROOMS: Final[Mapping[str, int]] = {"letta": 20_000}  # of a block, by its limit
_ROWS: Final = 200  # lines of it
_ALIKE: Final = 60.0  # percent of letters in common from which a new statement is an old one, edited
_CONFLICT: Final = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
_READ_ONLY: Final = re.compile(
    r"\A\ufeff?---\r?\n(?:(?!---)[^\n]*\n)*?read_only:[ \t]*true\b", re.IGNORECASE
)  # Letta's
_QUIET: Final = 0.05  # seconds without a write after which a file is whole
_TRIES: Final = 20  # times that long
_FEW: Final = 3  # statements that may be gone all at once


class Row(NamedTuple):
    """What both sides said when they last met: the memory, the file, its statement, and the memory's text ("": undone or not the project's, and left alone)."""

    id: str
    file: str
    said: str
    held: str


class Mirror(NamedTuple):
    """A mirror of this clone: whose files, where, and its rows."""

    kind: str
    path: str
    rows: tuple[Row, ...] = ()

    @property
    def has_observations(self) -> bool:
        """Whether only bullets with a category are statements."""
        return self.kind == "basic-memory"

    def is_kept_out(self, project: Project) -> bool:
        """Whether git has the memories and does not have this folder: it is ignored, or outside of the work tree."""
        folder = _folder_of(project, self)
        is_outside = not folder.is_relative_to(project.layout.root or folder)
        return project.layout.git is not None and (is_outside or is_ignored(folder))


class Mirrored(NamedTuple):
    """What a sync did to one mirror: how many memories and statements changed, and what was left alone and why."""

    path: str
    memories: int = 0
    statements: int = 0
    notes: tuple[str, ...] = ()


def load_mirrors(project: Project) -> list[Mirror]:
    """Return the mirrors of this clone.

    Raises:
        NoStore: there is no project, or it is kept out of the work tree.
    """
    if project.settings.stealth:
        raise NoStore("stealth is on, and a mirror would show what is private; ", Remedy("config --stealth off"))
    return _read(_path_of(project))


def _read(path: Path) -> list[Mirror]:
    return [Mirror(one["kind"], one["path"], tuple(Row(*row) for row in one["rows"])) for one in read_mirrors(path)]


def list_folders(layout: Layout) -> tuple[Path, ...]:
    """Return the folders that are mirrored in this clone; none where that cannot be read."""
    path = layout.project.local / MIRRORS if layout.project else None
    return tuple((layout.root or Path()) / one for one in (_list_paths(path, files.stamp(path)) if path else ()))


@lru_cache(maxsize=8)
def _list_paths(path: Path, _seen: files.Stamp) -> tuple[str, ...]:
    """Return what the file *path* names; a process that stays asks at each call, and the rows are many."""
    with suppress(StoreError):
        return tuple(one.path for one in _read(path))
    return ()


def watch_mirrors(layout: Layout, sync: Callable[[], object]) -> AbstractContextManager[object]:
    """Return what calls *sync* while it runs, whenever a mirrored folder or a memory has changed."""
    from memsync.store.watch import Watcher

    folders = list_folders(layout)
    if not folders:
        return nullcontext()
    root = layout.root
    trees = {folder: root for folder in folders if root and folder.is_relative_to(root)}
    return Watcher(dict.fromkeys([*folders, layout.place("project").memories], sync), trees=trees)


def _path_of(project: Project) -> Path:
    return project.layout.place("project").local / MIRRORS


@contextmanager
def _changing(project: Project) -> Iterator[list[Mirror]]:
    """Yield the mirrors as nobody else changes them meanwhile, and write what the caller made of them."""
    place = project.layout.place("project")
    files.prepare(place)
    with lock_mirrors(place.local) as path:
        mirrors = load_mirrors(project)
        yield mirrors
        _save(path, mirrors)


def _save(path: Path, mirrors: Iterable[Mirror]) -> None:
    write_mirrors(path, (one._asdict() for one in mirrors))


def add_mirror(project: Project, kind: str, path: Path) -> Mirror:
    """Mirror the folder *path* from the next sync on.

    Raises:
        UsageError: it is no folder, or mirrored already.
        NoStore, OutsideTree, StoreError
    """
    load_mirrors(project)
    project.store_to_write("project")
    named = Path(os.path.abspath(path))
    if not (real := files.resolve_named(named, project.layout.root)).is_dir():
        raise UsageError(f"{path} is not a folder; name the one in which {kind} keeps its files")
    root = project.layout.root
    spelled = named.relative_to(root).as_posix() if root and named.is_relative_to(root) else str(named)
    if spelled.split("/")[0] in (".gobby", ".git") or (root and root.is_relative_to(named)):
        raise UsageError(f"{path} is no folder of another tool")
    with _changing(project) as mirrors:
        for one in mirrors:
            other = _folder_of(project, one).resolve()
            if other.is_relative_to(real.resolve()) or real.resolve().is_relative_to(other):
                how = (
                    "mirrored already" if other == real.resolve() else f"one folder with {one.path}, which is mirrored"
                )
                raise UsageError(f"{path} is {how}; ", Remedy("mirror list"), " shows it")
        mirrors.append(made := Mirror(kind, spelled))
    return made


def remove_mirror(project: Project, path: str) -> Mirror:
    """Mirror the folder *path* no more; both sides stay as they are.

    Raises:
        UsageError: it is not mirrored.
        NoStore, StoreError
    """
    with _changing(project) as mirrors:
        found = next((one for one in mirrors if path.rstrip("/") in (one.path, str(_folder_of(project, one)))), None)
        if found is None:
            raise UsageError(f"{path} is not mirrored; ", Remedy("mirror list"), " shows what is")
        mirrors.remove(found)
    return found


def _folder_of(project: Project, mirror: Mirror) -> Path:
    return (project.layout.root or Path()) / mirror.path


def sync_mirrors(project: Project) -> list[Mirrored]:
    """Bring what changed on either side of each mirror to the other.

    Raises:
        StoreError: memories could not be written.
    """
    if project.settings.stealth or project.layout.project is None or not _path_of(project).exists():
        return []
    done = []
    with _changing(project) as mirrors:
        for number, mirror in enumerate(mirrors):
            try:
                mirrors[number], told = _Meeting(project, mirror).settle()
            except (UsageError, StoreError, OSError) as error:
                told = Mirrored(mirror.path, notes=(str(error),))
            done.append(told)
            _save(_path_of(project), mirrors)
    return done


class _Meeting:
    def __init__(self, project: Project, mirror: Mirror) -> None:
        self.project, self.mirror = project, mirror
        self.folder = files.resolve_named(_folder_of(project, mirror), project.layout.root)
        self.unread: set[str] = set()  # files that are there and were not read: what they say is not known, and stays
        self.texts: dict[str, str] = {}  # as read, by name
        self.units: dict[str, list[Unit]] = {}
        self.edits: dict[str, list[tuple[Unit, str | None]]] = {}  # what a statement becomes; None: it goes
        self.rows: list[Row] = []
        self.notes: list[str] = []
        self.memories = 0

    def settle(self) -> tuple[Mirror, Mirrored]:
        self._read()
        self.project.stores.refresh()
        there, gone = self._match()
        if len(gone) >= _FEW and not there and not self.rows:
            raise UsageError(
                f"{self.mirror.path}: all that was mirrored is gone; nothing was removed, ",
                Remedy("mirror rm"),
                " ends it",
            )
        unchanged = {row.id for row, unit in there if unit.text == row.said}
        for row, unit in there:
            self._settle_row(row, unit, is_said_elsewhere=row.id in unchanged)
        for row in gone:
            self._settle_gone(row)
        self._take_new()
        added = self._add_ours()
        failed = {
            name
            for name in {*self.edits, *([OURS] if added else [])}
            if not self._write(name, added if name == OURS else "")
        }
        kept = [row for row in self.rows if row.file not in failed] + [
            row for row in self.mirror.rows if row.file in failed
        ]
        changed = sum(map(len, self.edits.values())) + added.count("\n- ")
        told = Mirrored(self.mirror.path, self.memories, changed, tuple(self.notes))
        return self.mirror._replace(rows=tuple(kept)), told

    def _read(self) -> None:
        """Read the Markdown of the folder: no link, nothing hidden, nothing huge."""
        root = self.folder
        if doing := under_way(self.project.layout.git):
            raise UsageError(f"{self.mirror.path}: waits, because {doing} is under way")
        if not root.is_dir():
            raise UsageError(f"{self.mirror.path}: the folder is gone; ", Remedy("mirror rm"), " ends its mirror")
        found = sorted(path for path in root.rglob("*.md") if _is_theirs(self.mirror.kind, path.relative_to(root)))
        if len(found) > _MOST_FILES:
            raise UsageError(
                f"{self.mirror.path}: has {len(found):,} files, more than {_MOST_FILES:,}; mirror a folder inside of it"
            )
        for path in found:
            name = path.relative_to(root).as_posix()
            try:
                self.texts[name] = _read_text(path, root, has_rows=any(row.file == name for row in self.mirror.rows))
            except ValueError as error:
                self.notes.append(f"{name}: {error}")
                self.unread.add(name)
                continue
            if self.mirror.kind == "claude-memory" and _is_on_user(self.texts[name]):
                self.unread.add(name)  # what is only about its user is not for git
                continue
            self.units[name] = list(split(self.texts[name], observations=self.mirror.has_observations))

    def _match(self) -> tuple[list[tuple[Row, Unit]], list[Row]]:
        """Pair the rows with statements: the same text in the file, then in any file, then the most alike in the file."""
        pairs: list[tuple[Row, Unit]] = []
        self.rows += [row for row in self.mirror.rows if row.file in self.unread]
        todo = [row for row in self.mirror.rows if row.file not in self.unread]
        hashes = {row.said for row in todo if row.said == row.held}  # of a purged memory there is only that
        saying = {name: _by_text(units, hashes) for name, units in self.units.items()}
        taken: set[tuple[str, int]] = set()
        for is_anywhere in (False, True):
            later = []
            for row in todo:
                named = ((name, saying.get(name, {})) for name in (saying if is_anywhere else [row.file]))
                found = ((name, unit) for name, texts in named for unit in texts.get(row.said, ()))
                name, unit = next((one for one in found if (one[0], one[1].start) not in taken), ("", None))
                if unit is None:
                    later.append(row)
                    continue
                taken.add((name, unit.start))
                pairs.append((row._replace(file=name, said=unit.text), unit))
            todo = later
        left = {name: [one for one in units if (name, one.start) not in taken] for name, units in self.units.items()}
        from rapidfuzz import fuzz

        ranks = ((fuzz.ratio(row.said, unit.text), row, unit) for row in todo for unit in left.get(row.file, ()))
        for _, row, unit in sorted((one for one in ranks if one[0] >= _ALIKE), key=lambda one: -one[0]):
            if row in todo and unit in left[row.file]:
                left[row.file].remove(unit)
                todo.remove(row)
                pairs.append((row, unit))
        self.units = left
        return pairs, todo

    def _live(self, id_: str) -> Memory | None:
        memory = self.project.store("project").get(id_)
        return memory if memory and not memory.archived_at else None

    def _is_flagged(self, memory: Memory) -> bool:
        return bool(self.project.screening.screen(self.project.get(memory.id, "project")).flagged)

    def _settle_row(self, row: Row, unit: Unit, *, is_said_elsewhere: bool) -> None:
        memory = self._live(row.id)
        is_edited = unit.text != row.said
        if memory is None:
            self._settle_without(row, unit)
            return
        if (is_edited or not row.held) and _fold(memory.content) == unit.text:
            self.rows.append(Row(row.id, row.file, unit.text, memory.content))
        elif is_edited and is_said_elsewhere:  # where nobody edited it, it stays
            self.units[row.file].append(unit)
        elif is_edited and memory.content != row.held:  # both texts stay: ours where it is written, theirs as a memory
            self.units[row.file].append(unit)
            self.notes.append(f"{row.file}: edited on both sides; both texts are memories now")
        elif is_edited:
            self._update(row, unit)
        elif self._may_follow(row, unit, memory):
            self.edits.setdefault(row.file, []).append((unit, memory.content))
            self.rows.append(Row(row.id, row.file, _fold(memory.content), memory.content))
        else:
            self.rows.append(row)

    def _settle_without(self, row: Row, unit: Unit) -> None:
        """Settle a statement whose memory is gone: it goes too, unless it says something else now, is its owner's, or git put the memory away."""
        if unit.text != row.said:  # it is news now
            self.units[row.file].append(unit)
        elif row.held and (row.file == OURS or row.id not in self.elsewhere):
            self.edits.setdefault(row.file, []).append((unit, None))
        else:
            self.rows.append(row)  # undo or git took the memory back, and the file is its owner's

    @cached_property
    def elsewhere(self) -> set[str]:
        """Return the ids of memories that another branch has, or this one had before a reset, and no commit in reach of HEAD."""
        git = self.project.layout.git
        words = ("log", "-p", "-U0", "--format=", "--no-textconv", "--no-ext-diff")
        path = os.path.relpath(self.project.store("project").place.memories, git.root) if git else ""
        revs = (("--all", "--reflog", "--not", "HEAD"), ("HEAD",)) if git else ()
        asked = [Checkout(git.root).run(*words, *rev, "--", path).out for rev in revs if git]
        other, here = ({line.id for line in read_lines(re.sub(rb"(?m)^[-+]", b"", out))} for out in asked or (b"", b""))
        return {id_ for id_ in other - here if id_}

    def _may_follow(self, row: Row, unit: Unit, memory: Memory) -> bool:
        """Tell whether the statement becomes what the memory says now: not one that said the same in other words."""
        is_its_text = memory.content != row.held and row.said == _fold(row.held)
        return is_its_text and not self._is_flagged(memory) and _is_safe(unit, memory.content, self.mirror)

    def _update(self, row: Row, unit: Unit) -> None:
        try:
            self._refuse_private(unit.text)
            done = self.project.update(row.id, content=unit.text, scope="project")
        except MemsyncError as error:
            self.notes.append(f"{row.file}: {error}")
            self.rows.append(row._replace(said=unit.text))  # not taken again until it says something else
            return
        self.memories += 1
        self.rows.append(Row(done.entry.id, row.file, unit.text, done.entry.content))

    def _refuse_private(self, text: str) -> None:
        """Refuse what says that it is not the project's, or is the text of a memory that is not.

        Raises:
            UsageError
        """
        if where := read_scope(Memory("", text))[1] or self._find_apart(text)[0]:
            raise UsageError(f"not taken: it is {where}")

    def _find_apart(self, text: str) -> tuple[str, str]:
        """Return scope and id of the memory that says *text* and is not the project's; empty if there is none."""
        bare = read_scope(Memory("", text))[0].content
        others = [(one, self.project.stores.get(one)) for one in ("private", "global")]
        found = [(one, store.by_hash(content_hash(bare), text=bare)) for one, store in others if store]
        return next(((one, memory.id) for one, memory in found if memory), ("", ""))

    def _settle_gone(self, row: Row) -> None:
        memory = self._live(row.id)
        if memory and memory.content == row.held and not any(other.id == row.id for other in self.rows):
            self.project.forget(row.id, "project")
            self.memories += 1

    def _take_new(self) -> None:
        found: list[tuple[str, Unit, Candidate]] = []
        for name, units in self.units.items():
            for unit in units:
                if not why_dropped(unit.text):
                    one = make_candidate(f"{self.mirror.path}/{name}", unit.text)
                    extra = {ORIGIN: f"{self.mirror.kind}: {name}"}
                    found.append((name, unit, Candidate(one.where, one.memory and one.memory._replace(extra=extra))))
        if not found:
            return
        # Without a scope, for what is private here, or says so, stays that.
        report = self.project.import_([one for _, _, one in found], is_mine=False)
        memories, taken = self.project.store("project").memories(), list[Row]()
        for (name, unit, _), outcome in zip(found, report.outcomes, strict=True):
            self.memories += outcome.status in ("created", "updated")
            if outcome.status == "skipped":
                self.notes.append(f"{name}: {outcome.reason.partition('; --')[0]}")
            id_ = self._find_apart(unit.text)[1] if outcome.status == "skipped" else outcome.id
            if id_:  # of what is not the project's no text is held: it does not come back once it is forgotten
                held = memories[id_].content if id_ in memories else ""
                taken.append(Row(id_, name, unit.text, held))
        now = {row.id: row.held for row in taken}
        # Where the old text of a memory stands, which another statement says better, nobody has edited it.
        self.rows = [row if row.file == OURS else row._replace(held=now.get(row.id, row.held)) for row in self.rows]
        self.rows += taken

    def _add_ours(self) -> str:
        """Return what our file of the mirror gets at its end: the memories that have no row yet, the most important first, as far as there is room."""
        known = {row.id for row in self.rows}
        if OURS in self.unread:
            return ""
        mark = "- [{}] " if self.mirror.has_observations else "- "
        text = self.texts.get(OURS, "")
        added = "" if text else _HEADS.get(self.mirror.kind, _HEAD)
        rows, room = text.count("\n") + added.count("\n"), _ROOMS.get(self.mirror.kind, _ROOM)
        for entry in sorted(self.project.entries(), key=lambda one: (-one.memory.importance, one.id)):
            memory = entry.memory
            is_ours = entry.scope == "project" and not (memory.conflict_of or memory.archived_at or entry.repo)
            unit = Unit(0, 0, mark.format(memory.memory_type), "")
            if (
                not is_ours
                or memory.id in known
                or self._is_flagged(memory)
                or not _is_safe(unit, memory.content, self.mirror)
            ):
                continue
            line = unit.spell(memory.content) + "\n"
            if len(text) + len(added) + len(line) > room or rows + line.count("\n") > _ROWS:
                self.notes.append(f"{OURS}: is full; the least important memories are not in it")
                break
            added, rows = added + line, rows + line.count("\n")
            self.rows.append(Row(memory.id, OURS, _fold(memory.content), memory.content))
        return added if known != {row.id for row in self.rows} else ""

    def _write(self, name: str, added: str) -> bool:
        """Write the file *name* with its edits and what is *added*; False if somebody else wrote it meanwhile."""
        was = self.texts.get(name, "")
        text = was
        for unit, content in sorted(self.edits.get(name, []), key=lambda one: -one[0].start):
            ends = ("\r\n", "\n") if content is None else ()
            end = unit.end + next((len(one) for one in ends if text.startswith(one, unit.end)), 0)
            text = text[: unit.start] + ("" if content is None else unit.spell(content)) + text[end:]
        if added:
            text += ("\n" if text and not text.endswith("\n") else "") + added
        try:
            temp = _path_of(self.project).with_name("mirror.tmp")  # a kill leaves nothing beside a tool's files
            files.rewrite(self.folder / name, text.encode(), was=was.encode(), temp=temp)
        except StoreError as error:
            self.notes.append(f"{name}: {error}")
            return False
        return True


def _is_theirs(kind: str, name: PurePath) -> bool:
    """Tell whether the file *name* is one in which a tool of *kind* keeps what it knows of the project."""
    return not any(one.startswith(".") for one in name.parts) and not (kind == "letta" and explain_left(name))


def _read_text(path: Path, root: Path, *, has_rows: bool) -> str:
    """Return what the file *path* of the mirror at *root* says; *has_rows* if it has said something before.

    Raises:
        ValueError: why it is not read.
        StoreUnreadable
    """
    if path.is_symlink() or not path.resolve().is_relative_to(root):
        raise ValueError("a link is not followed")
    try:
        text = _read_whole(path).decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    if has_rows and not text.strip():
        raise ValueError("is empty, as a tool leaves it for a moment; remove it if what it said is to go")
    if _READ_ONLY.search(text):
        raise ValueError("is read-only")
    if _CONFLICT.search(text):
        raise ValueError("has conflict markers")
    return text


def _is_on_user(text: str) -> bool:
    from memsync.transfer.sources import is_on_user  # which a server need not load

    return is_on_user(text)


def _read_whole(path: Path) -> bytes:
    """Return the bytes of *path* once nobody is in the middle of writing it."""
    for _ in range(_TRIES):
        if not path.is_file():
            raise ValueError("is not a file")
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError(f"is larger than {_MOST_BYTES:,} bytes")
        data, seen = files.read(path)
        if abs(time.time() - seen.mtime_ns / 1e9) > _QUIET and files.stamp(path) == seen:
            return data
        time.sleep(_QUIET)
    raise ValueError("is being written; the next sync looks again")


def _by_text(units: Iterable[Unit], hashes: Collection[str]) -> dict[str, list[Unit]]:
    found: dict[str, list[Unit]] = {}
    for unit in units:
        found.setdefault(unit.text, []).append(unit)
        if (hash_ := content_hash(unit.text)) in hashes:
            found.setdefault(hash_, []).append(unit)
    return found


def _fold(text: str) -> str:
    return " ".join(text.split())


def _is_safe(unit: Unit, content: str, mirror: Mirror) -> bool:
    """Tell whether a statement that says *content* is read back as that, and as nothing else."""
    found = [one.text for one in split(unit.spell(content) + "\n", observations=mirror.has_observations)]
    return found == [_fold(content)]
