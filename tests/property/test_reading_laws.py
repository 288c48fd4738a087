"""Laws of reading: who reads the files afresh, who follows how they grow, who wrote them and who asks the cache say the same."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from helpers import sample
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from searching import finder

from memsync.format import codec
from memsync.index.database import Database
from memsync.memories.finder import Finder
from memsync.records import Memory, format_time
from memsync.store.places import Place
from memsync.store.store import Store

BORN = datetime(2026, 1, 1, tzinfo=UTC)
ids, moments = st.sampled_from("abc"), st.integers(0, 5).map(lambda hours: BORN + timedelta(hours=hours))
whos = st.sampled_from(("the server", "a command", "a command that knows the cache"))
ours = st.tuples(st.sampled_from(("put", "put", "put without a date", "remove", "export")), ids, moments, whos)
caches = st.tuples(st.just("cache"), ids, moments, whos)
JUNK = (b"junk\n", b"\n", b'{"content":"torn"', b'{"content":"nameless"}\n')
others = st.tuples(
    st.sampled_from(
        ("append", "append", "append with spaces", "append a removal", "append a line again", "append junk")
    ),
    ids,
    moments,
    st.sampled_from(JUNK),
)
modes = st.tuples(st.booleans(), st.booleans())


class World:
    """A store on disk, one who follows it, one who stays and writes to it, and those who come and go."""

    def __init__(self, directory: Path, *, is_private: bool, on_commit: bool) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        self._place, self._on_commit = Place("project", directory, None, private=is_private), on_commit
        self._count = 0
        self.follower, self.server = self._opened(), self._opened()
        self._writer = self.server
        self.follower.follow(lambda _: None, self.follower.memories())

    def _opened(self) -> Store:
        store = Store(self._place)
        store.refresh()
        return store

    def do(self, kind: str, id_: str, at: datetime, how: object) -> None:
        self._count += 1
        text = f"text {self._count}"
        if kind == "cache":
            finder({"project": self._opened()}).index  # noqa: B018 - made and saved by looking at it
        elif kind.startswith("append"):
            self._append(kind, Memory(id_, text, created_at=BORN, updated_at=at), how)
        else:
            self._write(kind, Memory(id_, text, created_at=BORN, updated_at=at), how)

    def _append(self, kind: str, memory: Memory, junk: bytes) -> None:
        path = self._place.memories
        raws = {
            "append a removal": codec.encode_tombstone(memory.id, memory.updated_at) + b"\n",
            "append a line again": (path.read_bytes() if path.exists() else b"").split(b"\n")[0] + b"\n",
            "append junk": junk,
            "append with spaces": codec.encode(memory).replace(b'","', b'", "') + b"\n",
        }
        with open(path, "ab") as file:
            file.write(raws.get(kind, codec.encode(memory) + b"\n"))

    def _write(self, kind: str, memory: Memory, who: str) -> None:
        store = self._writer = self.server if who == "the server" else Store(self._place)
        if who == "a command that knows the cache":
            store.known = finder({"project": store}).file.known_of("project")
        store.refresh()
        store.on_commit = self._on_commit
        if kind == "export":
            store.export()
            return
        with store.writing():
            if not store.get(memory.id):
                if kind != "remove" and not store.knows(memory.id):
                    store.add([memory])
            elif kind == "remove":
                store.remove([memory.id], memory.updated_at)
            else:
                date = {"updated_at": format_time(memory.updated_at)} if kind == "put" else {}
                store.update({memory.id: {"content": memory.content, **date}})

    def check(self, kind: str) -> dict[str, Memory]:
        """See whether all say the same, and return it."""
        fresh = self._opened()
        found = fresh.memories()
        if kind != "cache" and not kind.startswith("append"):
            assert (self._writer.memories(), self._writer.problems()) == (found, fresh.problems())
        self.follower.refresh()
        assert self.follower.memories() == found
        for ask in (Store.problems, Store.is_plain, Store.is_canonical):
            assert ask(self.follower) == ask(fresh)
        made = finder({"project": Store(self._place)})
        rows = made.file.ask(partial(read_records, made))
        assert rows in (None, found)
        assert rows is None or tuple(made.file.problems["project"] or ()) == (fresh.first_problem() or ())
        made.file.close()
        return found


def read_records(made: Finder, rows: Database) -> dict[str, Memory]:
    slots = [slot for (slot,) in rows.ask("SELECT slot FROM record").fetchall()]
    return {memory.id: memory for slot in slots for _, memory in [made.file.read_record(rows, slot)]}


def world(directory: Path, mode: tuple[bool, bool]) -> World:
    return World(directory / "store", is_private=mode[0], on_commit=mode[1])


@settings(max_examples=sample(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mode=modes, steps=st.lists(ours | caches | others | others, min_size=2, max_size=7))
def test_whatever_is_appended_with_whatever_date_all_readers_say_the_same(tmp_path, mode, steps):
    made = world(tmp_path, mode)
    for step in steps:
        made.do(*step)
        made.check(step[0])


@settings(max_examples=sample(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mode=modes, steps=st.lists(ours | caches, min_size=2, max_size=7))
def test_what_memsync_writes_by_any_clock_is_never_taken_for_a_merge_of_text(tmp_path, mode, steps):
    made = world(tmp_path, mode)
    for step in steps:
        made.do(*step)
        assert [memory for memory in made.check(step[0]).values() if memory.conflict_of] == []
