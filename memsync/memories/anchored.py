"""Which memories are anchored to what a tool touches, how closely, or due there; and the lookup file that says where there are none at all."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.index import places
from memsync.memories import anchors, commands, lookup, triggers
from memsync.memories.anchors import Anchor, find_block
from memsync.memories.filters import Filters
from memsync.memories.reach import list_hidden, search_all, walk
from memsync.memories.results import Entry
from memsync.memories.screening import is_whole_command
from memsync.records import Memory, Scope

if TYPE_CHECKING:
    from memsync.memories.project import Project
    from memsync.skills.store import Anchored
    from memsync.store.places import Place

# How closely an anchor fits; files that many memories are about are the least. A trigger says that it is due.
DUE: Final = 5
SYMBOL: Final = 4
COMMAND: Final = 3
FILE: Final = 2
NAMED: Final = 1.5  # not anchored: it is about a name that is used
FOLDER: Final = 1
_FEW: Final = 2  # memories about one name: of more, the name tells none
_POOL: Final = 20


class Touched(NamedTuple):
    """What a tool touches: files below the root, commands without what only starts them, what is replaced, and all that is said.

    `is_whole`: which part of the files it is cannot be told. `reads` are files that are only read. `lines` are the commands
    as they are spelled, `names` the paths and patterns, `used` the names in all of it.
    """

    paths: Sequence[str] = ()
    commands: Sequence[commands.Words] = ()
    old: Sequence[str] = ()
    text: str = ""
    is_whole: bool = False
    reads: Sequence[str] = ()
    lines: Sequence[commands.Words] = ()
    names: Sequence[str] = ()
    used: Sequence[str] = ()

    def seen_from(self, prefix: str) -> Touched:
        """Return the same for a root above, from where the files are in the folder *prefix*."""
        paths, reads = ([f"{prefix}{path}" for path in named] for named in (self.paths, self.reads))
        return self._replace(paths=paths, reads=reads)

    @property
    def keys(self) -> list[str]:
        """Under which something may be anchored to it."""
        return [*lookup.keys_of((*self.paths, *self.reads), self.commands), *triggers.keys_of((self.text, *self.names))]

    def find_due(self, memory: Memory, keys: Collection[str]) -> str:
        """Return the trigger of *memory* that says that it is due here; "" if none does. *keys* are those of all that is touched."""
        due = (text for text in memory.triggers if triggers.key(text) in keys)
        written = "" if self.lines else self.text
        return next((t for t in due if triggers.is_used(t[5:], self.lines, self.names, written, self.old)), "")


class Match(NamedTuple):
    """A memory that is anchored to what is touched, or due there: by what, and how closely. `is_read`: only because that is read."""

    entry: Entry
    by: str
    rank: float
    is_read: bool = False

    @property
    def is_sure(self) -> bool:
        """Whether it is due for certain: at a name that is wrong, at a failure that it waits for, or at a whole command."""
        return self.rank == DUE or (self.rank == COMMAND and not self.is_read and is_whole_command(self.by))

    @property
    def where(self) -> str:
        """The place, the command or the name that a line says it is for."""
        return self.by.partition(": ")[2] if self.rank == DUE else self.by


def find_anchored(project: Project, touched: Touched) -> list[Match]:
    """Return the memories that are due where that is *touched*, or anchored to it, each by the anchor that fits best."""
    root, keys = project.layout.root, frozenset(touched.keys)
    matches: list[Match] = []
    blocks = _Blocks(root, touched) if root else None
    read = Touched(touched.reads, is_whole=True)
    programs = {name for words in touched.commands for name in (words[0], words[0].rpartition("/")[2])}
    for scope, memory, skill in _list_anchored(project):
        may_fit = [text for text in memory.anchors if _may_fit(text, keys, programs)]
        near = [one for one in map(anchors.parse, may_fit) if one.key in keys]
        if places.is_of_wrong(memory):  # the folder is where the right one is
            near = [one for one in near if not one.path.endswith("/")]
        if due := touched.find_due(memory, keys):
            matches.append(Match(project.entry(scope, memory), due, DUE))
            continue
        if not near:
            continue
        entry = project.entry(scope, memory)
        ranked = [(rank, one) for one in near if (rank := _rank(one, touched, blocks))]
        as_read = [(rank, one) for one in near if (rank := _rank(one, read, None))]
        if ranked or as_read:
            rank, anchor = max(ranked or as_read, key=lambda pair: pair[0])
            if skill:
                entry = replace(entry, flagged=skill.flagged)
            matches.append(Match(entry, str(anchor._replace(blob="")), rank, is_read=not ranked))
    if project.above is None:
        return matches
    far, hidden = find_anchored(project.above, touched.seen_from(_find_prefix(project))), list_hidden(project)
    return [*matches, *(one for one in far if one.entry.scope == "project" and one.entry.id not in hidden)]


def find_failing(project: Project, error: str) -> list[Match]:
    """Return the memories that wait for a failure that says *error*."""
    found = []
    for scope, memory, _ in _list_anchored(project):
        if due := next((text for text in memory.triggers if triggers.fails(text, error)), ""):
            found.append(Match(project.entry(scope, memory), due, DUE))
    if project.above is None:
        return found
    hidden = list_hidden(project)
    far = (one for one in find_failing(project.above, error) if one.entry.scope == "project")
    return [*found, *(one for one in far if one.entry.id not in hidden)]


def find_about(project: Project, used: Sequence[str]) -> list[Match]:
    """Return the memories that are about one of the names *used*, which no more than a few are."""
    if project.layout.root is None or not used:
        return []
    refresh_lookup(project)
    known = lookup.Lookup(lookup.path_of(os.path.realpath(project.layout.root), project.env))
    due = [name for name in used if known.has_any(places.keys_of((name,)))][:_POOL]
    due = [name.partition(" ")[0] for name in due]  # of a word, not in which language
    found = search_all(project, " ".join(due), Filters(), limit=_POOL).hits if due else ()
    about = ((hit, set(places.subjects_of(hit.memory))) for hit in found)
    return [Match(hit, name, NAMED) for hit, own in about for name in due if name in own]


def _list_names(project: Project, known: Collection[str]) -> list[str]:
    """Return the keys of the names that memories are about, paths of any number, others of a few; *known* are the keys of what is anchored."""
    from memsync.memories.listing import read_names

    counts: Counter[str] = Counter()
    if (found := read_names(project)) is not None:
        counts.update(found)
    else:
        held = (memory for _, _, store in walk(project) for memory in store.memories().values())
        for memory in held:
            counts.update(places.subjects_of(memory) if memory.archived_at is None else ())
    few = [name for name, count in counts.items() if count <= _FEW or places.is_path(name)]
    return places.keys_of(few, (*known, *counts))


def _find_prefix(project: Project) -> str:
    above = project.above and project.above.layout.root
    return (
        f"{os.path.relpath(project.layout.root, above).replace(os.sep, '/')}/" if project.layout.root and above else ""
    )


def _list_keys(project: Project) -> Iterator[str]:
    """Yield the keys of all that is anchored, from the root of *project* on."""
    for _, memory, _ in _list_anchored(project):
        yield from (anchors.parse(text).key for text in memory.anchors)
        yield from map(triggers.key, memory.triggers)
    prefix = _find_prefix(project)
    for key in _list_keys(project.above) if project.above else ():
        if key.startswith(("$", "*", triggers.MARK)) or not prefix:
            yield key
        elif key.startswith(prefix):
            yield key.removeprefix(prefix) or "*"
        elif prefix.startswith(key):
            yield "*"


def _may_fit(text: str, keys: Collection[str], programs: Collection[str]) -> bool:
    """Tell without reading the anchor *text* whether it can have one of *keys*; most have none."""
    if text.startswith("$"):
        return any(name in text for name in programs)
    path = text.partition("#")[0]
    path = path[:-13] if path[-13:-12] == "@" else path
    return anchors.spell_path(path) in keys or "*" in path or "?" in path


def _list_anchored(project: Project) -> Iterator[tuple[Scope, Memory, Anchored | None]]:
    """Yield what is anchored in the project: memories, and skills as memories, where there is a store to note beside what was given.

    The memories of a store come in the order of their ids, whether they were found by the heads in the cache or among all.
    """
    from memsync.memories.listing import read_anchored

    if (found := read_anchored(project)) is None:
        project.stores.refresh()
        held = ((scope, store.memories().values()) for scope, store in project.stores.items())
        found = [(scope, memory) for scope, memories in held for memory in memories]
    anchored = [one for one in found if (one[1].anchors or one[1].triggers) and one[1].archived_at is None]
    anchored.sort(key=lambda one: one[1].id)
    for scope, store in project.stores.items():
        if scope == "global":  # its anchors are places of other repositories
            yield from ((where, memory._replace(anchors=()), None) for where, memory in anchored if where == scope)
            continue
        yield from ((where, memory, None) for where, memory in anchored if where == scope)
        if store.place.skills.is_dir():
            from memsync.skills.store import list_anchored

            yield from ((scope, skill.memory, skill) for skill in list_anchored(store.place))


class _Blocks:
    """Where the symbols of the touched files are, each file read once."""

    def __init__(self, root: Path, touched: Touched) -> None:
        self._root = root
        self._touched = touched
        self._rows: dict[str, list[str]] = {}

    def is_touched(self, path: str, symbol: str) -> bool:
        """Tell whether what is replaced lies in *symbol*, or names it."""
        name = re.split(r"\.|::|#", symbol)[-1]
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", "\n".join((self._touched.text, *self._touched.old))):
            return True
        if path not in self._rows:
            self._rows[path] = anchors.read_rows(self._root / path) or []
        rows = self._rows[path]
        block = find_block(rows, symbol)
        if block is None:
            return False
        inner = "\n".join(rows[block.first : block.end])
        return any(old.strip() and (old.strip() in inner or inner.strip() in old) for old in self._touched.old)


def _rank(anchor: Anchor, touched: Touched, blocks: _Blocks | None) -> int:
    if anchor.command:
        return COMMAND * any(commands.fits(anchor.command, words) for words in touched.commands)
    if anchor.symbol:
        if anchor.path not in touched.paths:
            return 0
        return SYMBOL * (touched.is_whole or (blocks is not None and blocks.is_touched(anchor.path, anchor.symbol)))
    if anchor.is_glob:
        return FOLDER * any(fits_glob(anchor.path, path) for path in touched.paths)
    if anchor.path.endswith("/"):
        return FOLDER * any(path.startswith(anchor.path) for path in touched.paths)
    return FILE * (anchor.path in touched.paths)


def fits_glob(glob: str, path: str) -> bool:
    """Tell whether *glob* names *path*: `**` is any number of folders, one without a slash fits in every folder. In linear steps."""
    from fnmatch import fnmatchcase

    names = path.split("/")
    at = {0}
    for part in glob.split("/") if "/" in glob else ("**", glob):
        if part == "**":
            at = set(range(min(at), len(names) + 1)) if at else at
        else:
            at = {i + 1 for i in at if i < len(names) and fnmatchcase(names[i], part.replace("[", "[[]"))}
    return len(names) in at


def refresh_lookup(project: Project) -> bool:
    """Write the lookup file where it is not as the stores are now, and tell whether it was written.

    What a store changes later is not in it, and it is not fresh then. Never fails.
    """
    root = project.layout.root
    if root is None:
        return False
    path = lookup.path_of(os.path.realpath(root), project.env)
    if lookup.Lookup(path).fresh:
        return False
    files = [lookup.stamp_of(str(skill)) for _, _, store in walk(project) for skill in _skill_files(store.place)]
    keys: set[str] = set()
    for _, _, store in walk(project):
        place = store.place
        paths = (place.memories, place.pending, place.config)  # not where a link leads, which may be another tomorrow
        files += [_spell(one, seen) for one, seen in zip(paths, (*store.look(), None), strict=True)]
    if project.settings.enabled:
        keys = {*_list_keys(project)}
        keys.update(_list_names(project, keys))
    keys.discard("")
    lookup.save(path, keys, files)
    return True


def _skill_files(place: Place) -> Iterator[Path]:
    """Yield the folder of skills, and the file of each, whether it is there or not."""
    yield place.skills
    with suppress(OSError):
        yield from (Path(entry.path) / "SKILL.md" for entry in os.scandir(place.skills))


def _spell(path: Path, seen: Any) -> list[Any]:
    """Return what `lookup.stamp_of` says of the file as it was *seen*."""
    if seen is None or seen.size < 0:
        return lookup.stamp_of(str(path)) if seen is None else [str(path)]
    return [str(path), seen.inode, seen.size, seen.mtime_ns]
