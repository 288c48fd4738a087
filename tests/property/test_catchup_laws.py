"""Whatever others do to the files, what the rows say of them is what a fresh index and the files say, to the last bit."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import sample
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from searching import ask, finder, stores_in, write
from test_index_laws import IDS, contents, queries, records_of, said, texts, write_some

from memsync.format import codec
from memsync.index.database import head_of
from memsync.memories import index_file
from memsync.records import SCOPES, Scope

Lines = list[bytes]


def read(path: Path) -> Lines:
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


def swap_ids(lines: Lines) -> Lines:
    """Give the first two lines each other's ids."""
    found = [codec.decode(raw.rstrip(b"\r\n")).memory for raw in lines[:2]]
    if len(lines) < 2 or None in found:
        return lines
    one, other = found
    return [codec.encode(m._replace(id=n.id)) + b"\n" for m, n in ((one, other), (other, one))] + lines[2:]


HANDS: dict[str, Callable[[Lines], Lines]] = {
    "touch": lambda lines: lines,
    "reverse": lambda lines: lines[::-1],
    "rotate": lambda lines: lines[1:] + lines[:1],
    "sort": sorted,
    "a line twice": lambda lines: lines + lines[:1],
    "an id twice": lambda lines: lines + [raw.replace(b"content", b"content", 1).replace(b" ", b"") for raw in lines[:1]],
    "cut off": lambda lines: [*lines[:-1], lines[-1][: len(lines[-1]) // 2]] if lines else lines,
    "no newline at the end": lambda lines: [*lines[:-1], lines[-1].rstrip(b"\n")] if lines else lines,
    "a line gone": lambda lines: lines[1:],
    "all gone": lambda lines: [],
    "carriage returns": lambda lines: [raw.rstrip(b"\r\n") + b"\r\n" for raw in lines],
    "one carriage return": lambda lines: [raw.rstrip(b"\r\n") + b"\r\n" for raw in lines[:1]] + lines[1:],
    "newlines": lambda lines: [raw.rstrip(b"\r\n") + b"\n" for raw in lines],
    "a byte order mark": lambda lines: [b"\xef\xbb\xbf" + raw for raw in lines[:1]] + lines[1:],
    "another text of the same size": lambda lines: [raw.replace(b"deploy", b"caches") for raw in lines],
    "spaces": lambda lines: [raw.replace(b'","', b'", "', 1) for raw in lines],
    "ids swapped": swap_ids,
    "a conflict": lambda lines: [b"<<<<<<< ours\n", *lines[:1], b"=======\n", *lines[:1], b">>>>>>> theirs\n", *lines[1:]],
    "a blank line": lambda lines: [*lines[:1], b"\n", *lines[1:]],
    "not UTF-8": lambda lines: [raw.replace(b"e", b"\xff", 1) for raw in lines],
    "no id": lambda lines: [*lines, b'{"content":"deploy without an id"}\n'],
    "a removal": lambda lines: [*lines, b'{"deleted_at":"2026-11-22T00:00:00Z","id":"a"}\n'],
    "importance out of bounds": lambda lines: [*lines, b'{"content":"deploy","id":"zz","importance":7}\n'],
}  # fmt: skip
WAYS = ("in place", "in place, at the same time", "by rename", "in the pending file")
hands = st.tuples(st.just("hand"), st.sampled_from(SCOPES), st.sampled_from(sorted(HANDS)), st.sampled_from(WAYS))
puts = st.tuples(st.just("put"), st.sampled_from(SCOPES), st.sampled_from(IDS), said)
backs = st.tuples(st.just("back"), st.sampled_from(SCOPES), st.integers(1, 4), st.sampled_from(WAYS))
ours = st.tuples(
    st.just("write"),
    st.sampled_from(SCOPES),
    st.lists(st.tuples(st.sampled_from(IDS), st.none() | said), min_size=1, max_size=2),
    st.sampled_from(("export", "append", "die")),
)
damages = st.tuples(st.just("damage"), st.just("project"), st.floats(0, 1, exclude_max=True), st.none())
asks = st.tuples(st.just("ask"), st.just("project"), queries | texts, st.sampled_from(("once", "at once")))
steps = st.lists(hands | hands | puts | puts | backs | ours | damages | asks | asks, min_size=2, max_size=8)


class World:
    """Three stores on disk, to which things are done, each by a process of its own."""

    def __init__(self, directory: Path, embedder: str) -> None:
        self._directory, self._embedder = directory, embedder
        self._history: dict[Scope, list[bytes]] = {scope: [] for scope in SCOPES}

    def path(self, scope: Scope) -> Path:
        return self._directory / scope / "memories.jsonl"

    def _overwrite(self, scope: Scope, data: bytes, way: str) -> None:
        path = self.path(scope)
        self._history[scope].append(path.read_bytes() if path.exists() else b"")
        seen = os.stat(path) if path.exists() else None
        if way == "by rename":
            path.with_name("other").write_bytes(data)
            path.with_name("other").replace(path)
        elif way == "in the pending file":
            pending = stores_in(self._directory)[scope].place.pending
            pending.parent.mkdir(parents=True, exist_ok=True)
            pending.write_bytes(data)
        else:
            path.write_bytes(data)
            if seen and way == "in place, at the same time":
                os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))

    def do(self, kind: str, scope: Scope, what: object, how: object) -> None:
        lines = read(self.path(scope))
        if kind == "hand":
            self._overwrite(scope, b"".join(HANDS[what](lines)), how)
        elif kind == "put":
            text, tags, cues, anchors = how
            new = records_of({(scope, what): (text, tags, cues, anchors)})[0][1]
            others = [raw for raw in lines if (found := codec.decode(raw.rstrip(b"\r\n"))).id != what or found.problem]
            self._overwrite(scope, b"".join([*others, codec.encode(new) + b"\n"]), "in place")
        elif kind == "back":
            old = self._history[scope]
            self._overwrite(scope, old[-min(what, len(old))] if old else b"", how)
        elif kind == "write":
            self._write(scope, what, how)
        elif kind == "damage":
            self._damage(what, how)
        else:
            self._ask(what, how)

    def _write(self, scope: Scope, changes: object, then: object) -> None:
        stores = stores_in(self._directory)
        made = finder(stores, embedder=self._embedder)
        stores[scope].known = made.file.known_of(scope)
        write_some(stores, scope, changes)
        if then == "export":
            stores[scope].export()
        if then != "die":
            made.save()
        made.file.close()

    def _damage(self, at: float, _: object) -> None:
        path = self._directory / "project" / "local" / index_file.NAME
        if path.exists() and (data := path.read_bytes()):
            path.unlink()
            path.write_bytes(data[: int(at * len(data))])

    def _ask(self, query: str, how: object) -> None:
        expected = ask(finder(stores_in(self._directory), embedder=self._embedder, cached=False), query)
        made = [finder(stores_in(self._directory), embedder=self._embedder) for _ in range(2)]
        if how == "at once":  # each finds the files changed, and says so after the other
            assert [ask(one, query) for one in made] == [expected] * 2
        assert ask(made[0], query) == expected
        for one in made:
            one.file.close()
        self.check()

    def check(self) -> None:
        """See whether the rows say of the files what stores that read them do, if they fit them."""
        stores = stores_in(self._directory)
        made = finder(stores, embedder=self._embedder)
        held = made.file.ask(read_heads)
        made.file.close()
        if held is None:
            return
        for scope, store in stores.items():
            store.refresh()
            assert tuple(made.file.problems[scope] or ()) == (store.first_problem() or ())
        assert sorted(held) == sorted(
            (scope, *head_of(memory)) for scope, store in stores.items() for memory in store.memories().values()
        )


def read_heads(rows) -> list[tuple[object, ...]]:
    query = "SELECT scope, id, form, importance, moment, replaces, archived, anchored, author FROM record"
    return [(SCOPES[scope], *rest) for scope, *rest in rows.ask(query)]


@pytest.mark.parametrize("embedder", ["none", "builtin"])
@pytest.mark.parametrize("most", [3, index_file.MOST])
@settings(max_examples=sample(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=contents, history=steps, query=queries)
def test_what_others_write_is_answered_as_by_a_fresh_index(tmp_path, embedder, most, before, history, query):
    for scope in SCOPES:
        shutil.rmtree(tmp_path / scope, ignore_errors=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_file, "MOST", most)
        write(tmp_path, records_of(before))
        first = finder(stores_in(tmp_path), embedder=embedder)
        assert len(first.index) == len(before)
        first.file.close()
        world = World(tmp_path, embedder)
        for step in (*history, ("ask", "project", query, "once")):
            world.do(*step)
