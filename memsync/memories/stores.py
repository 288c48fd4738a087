"""The stores in reach of a directory, their local state, and which of them may be written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memsync.errors import MemoryNotFound, NoStore, Remedy, StoreError
from memsync.memories.index_file import find_place
from memsync.records import Memory, Scope, as_scope, find_id, new_id
from memsync.store.files import make_dirs
from memsync.store.identity import key_file, read_mark, write_key, write_mark
from memsync.store.local_history import take_over
from memsync.store.places import Layout, Place, under_way
from memsync.store.state import State
from memsync.store.store import Store
from memsync.system.logs import Log

if TYPE_CHECKING:
    from memsync.store.settings import Settings

log = Log(__name__)


class Stores(Mapping[Scope, Store]):
    """The project's store, its private one and the user's, as far as they exist in *layout*, in this order."""

    def __init__(self, layout: Layout) -> None:
        places = layout.places
        take_over(layout)
        self._layout = layout
        self._is_stealth = False
        self._stores = {place.scope: Store(place) for place in places}
        self._states = {
            place.scope: State(place.local / "state.db", private=place.private, place=place) for place in places
        }
        if (project := self._stores.get("project")) is not None:
            project.hold = self._why_hold

    def __getitem__(self, scope: Scope) -> Store:
        return self._stores[scope]

    def __iter__(self) -> Iterator[Scope]:
        return iter(self._stores)

    def __len__(self) -> int:
        return len(self._stores)

    def follow(self, settings: Settings) -> None:
        """Write from now on as *settings* say."""
        self._is_stealth = settings.stealth
        if (project := self._stores.get("project")) is not None:
            project.on_commit = settings.mode == "on-commit" and self._layout.git is not None

    def _why_hold(self) -> str:
        """Return why the project's file should stay as it is for now; "" if it may be written."""
        git, place = self._layout.git, self._layout.project
        if git and under_way(git):
            return f"{under_way(git)} is under way"
        if git is None or place is None or place.memories.exists():
            return ""
        from memsync.store import checkout

        if (git.git_dir / "info" / "sparse-checkout").exists() and checkout.is_left_out(place.memories):
            return "the sparse checkout leaves it out"  # git leaves that file behind when the checkout is whole again
        return checkout.explain_absence(place.memories)

    def state(self, scope: Scope) -> State:
        """Return where the use of memories of *scope* is counted: never in the work tree under stealth."""
        return self._states["private" if scope == "project" and self._is_stealth else as_scope(scope)]

    def be_brief(self) -> None:
        """Open the local state once for all that is asked of it, because the process ends soon; then `close`."""
        for state in self._states.values():
            state.is_brief = True

    def close(self) -> None:
        """Close what `be_brief` has kept open."""
        for state in self._states.values():
            state.close()

    def allow_write(self, scope: Scope, path: Path) -> None:
        """Refuse a write to *path*, which is in *scope*, if stealth forbids it; prepare the private store.

        Raises:
            NoStore: stealth is on, and it is the project's.
        """
        if scope == "project" and self._is_stealth:
            raise NoStore(
                f"stealth is on, so {path} stays as it is; use ", Remedy("--private"), " or ", Remedy("--global"),
                ", or ", Remedy("config --stealth off"),
            )  # fmt: skip
        if scope == "project":
            take_over(self._layout)
        if scope == "private":
            keep_key(self._layout)

    @property
    def index_place(self) -> Place | None:
        """Where the index is kept."""
        return find_place(self._layout, stealth=self._is_stealth)

    def find(self, ref: str, scope: Scope | None = None) -> tuple[Scope, Memory]:
        """Return the memory that *ref* names, an id or an unambiguous prefix, and where it is.

        Raises:
            NoStore: there is none of *scope*.
            MemoryNotFound, AmbiguousId
        """
        scope = scope and self._layout.place(scope).scope
        stores = {scope: self._stores[scope]} if scope else self._stores
        is_whole = any(store.get(ref) for store in stores.values())
        id_ = ref if is_whole else find_id(ref, (id_ for store in stores.values() for id_ in store.ids()))
        for where, store in stores.items():
            if memory := store.get(id_):
                return where, memory
        raise MemoryNotFound(ref)  # another thread removed it just now

    def refresh(self) -> None:
        """Take in what others wrote since; cheap when nothing changed."""
        for store in self._stores.values():
            store.refresh()

    def is_taken(self, id_: str) -> bool:
        """Tell whether any store has a line with that id."""
        return any(store.knows(id_) for store in self._stores.values())

    def count_ids(self) -> int:
        """Return how many ids there are."""
        return sum(map(len, self._stores.values()))

    def make_id(self, content: str, now: datetime) -> str:
        """Return an id for a new record that says *content*, as short as the stores allow."""
        return new_id(content, now, is_taken=self.is_taken, count=self.count_ids())


def keep_key(layout: Layout) -> None:
    """Note in the private store whose it is, and in `.git` that the clone uses it, so that a new remote does not hide it."""
    private = layout.private_store
    if private is None or private.refused:
        return
    try:
        make_dirs(private.directory, private=True)
        mark = read_mark(private.directory) or write_mark(private.directory, private.identity)
        if layout.git:
            make_dirs(key_file(layout.git).parent, private=False)
            write_key(layout.git, private.directory, mark)
    except (StoreError, OSError) as error:
        log.info("the key of the private store is not kept: %s", error)
