"""A write that takes from the cache what it knows of the lines says what one says that reads the whole file, and leaves the same bytes."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import ODD, files, plain_lines

from memsync import Memsync
from memsync.errors import MemsyncError
from memsync.format.codec import LateLine
from memsync.memories.imports import Candidate
from memsync.memories.undoing import note_steps, undo
from memsync.records import Memory
from memsync.store.database import remove

_ID = re.compile(r'"id": ?"([-\w]+)"')
NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
TEXTS = (
    "the port of the api is 8080",
    "The  port of the API is 8080",
    "the port of the api is 8081",
    "deploys wait for the queue",
    "deploys wait for the queue of the kiosk",
    "K and k are İ",
    *(f"an odd one {letter} is here" for letter in ODD if letter.isprintable()),
)


def change(how: Callable[[bytes], bytes], path: Path) -> None:
    """Edit the file as a person or another tool would."""
    if path.exists():
        path.write_bytes(how(path.read_bytes()))


HANDS: dict[str, Callable[[bytes], bytes]] = {
    "carriage returns": lambda data: data.replace(b"\n", b"\r\n"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "no last newline": lambda data: data.removesuffix(b"\n"),
    "another order": lambda data: b"".join(sorted(data.splitlines(keepends=True), reverse=True)),
    "an id twice": lambda data: data + data[: data.find(b"\n") + 1].replace(b"the", b"a"),
    "a line without an id": lambda data: data + b'{"content":"no id at all"}\n',
    "a torn line": lambda data: data + b'{"id":"mm-torn","cont',
    "a conflict": lambda data: b"<<<<<<< ours\n" + data + b"=======\n>>>>>>> theirs\n",
    "another text of the same size": lambda data: data.replace(b"queue", b"quays"),
    "escapes": lambda data: data.replace(b"supersedes", b"super\\u0073edes").replace(b"port", b"p\\u006frt"),
}
texts = st.sampled_from(TEXTS)
deeds = st.lists(
    st.tuples(st.just("remember"), texts, st.booleans())
    | st.tuples(st.just("remember"), texts, st.booleans())
    | st.tuples(st.just("update"), texts, st.integers(0, 3))
    | st.tuples(st.just("forget"), st.just(""), st.integers(0, 3))
    | st.tuples(st.just("import"), texts, texts)
    | st.tuples(st.just("undo"), st.just(""), st.just(0))
    | st.tuples(st.just("search"), texts, st.just(0))
    | st.tuples(st.just("hand"), st.sampled_from(sorted(HANDS)), st.just(0)),
    min_size=2,
    max_size=6,
)


def act(project: Memsync, ids: list[str], kind: str, text: str, which: Any) -> object:
    """Do one thing to a store with these *ids*, and return what was said of it."""
    if kind == "search":
        return [hit.memory for hit in project.search(text, limit=3)]
    if kind == "import":
        given = [Candidate(where=text, memory=Memory(id="", content=text)) for text in (text, which)]
        return project.import_(given).outcomes
    if kind == "undo":
        undone = undo(project)
        return [entry.memory for entry in (*undone.brought, *undone.removed)]
    if kind == "remember":
        done = project.remember(text, supersedes=ids[:1] if which else ())
        return done.status, done.entry.memory, done.reason, [(one.id, one.score, one.relation) for one in done.similar]
    if not ids:
        return None
    ref = ids[which % len(ids)]
    return project.forget(ref).memory if kind == "forget" else project.update(ref, content=text).entry.memory


class Side:
    """A project of its own, to which each deed is done by a process of its own."""

    def __init__(self, directory: Path, data: bytes, *, has_cache: bool) -> None:
        self._directory, self._has_cache = directory, has_cache
        self.memories = directory / ".gobby" / "memories.jsonl"
        self.memories.parent.mkdir(parents=True)
        self.memories.write_bytes(data)
        (self.memories.parent / "config.yaml").write_text("memory:\n  embedder: none\n")
        self._env = {"HOME": str(directory / "home"), "MEMSYNC_HOME": str(directory / "home")}

    def do(self, step: int, kind: str, text: str, which: Any) -> object:
        if kind == "hand":
            return change(HANDS[text], self.memories)
        if not self._has_cache:
            remove(self.memories.parent / "local" / "index.db")
        try:
            with Memsync.open(self._directory, clock=lambda: NOW + timedelta(hours=step), env=self._env) as project:
                said = act(project, sorted({*_ID.findall(self.memories.read_text("latin-1"))}), kind, text, which)
                note_steps(project, kind)
                return said
        except MemsyncError as error:
            return str(error).replace(str(self._directory), "")


few = settings(max_examples=16, suppress_health_check=[HealthCheck.function_scoped_fixture])


@few
@given(files(plain_lines), deeds)
def test_a_short_write_leaves_the_bytes_of_a_whole_one(tmp_path_factory, data, deeds):
    directory = tmp_path_factory.mktemp("sides", numbered=True)
    short = Side(directory / "short", data, has_cache=True)
    whole = Side(directory / "whole", data, has_cache=False)
    with pytest.MonkeyPatch.context() as patch:
        for step, deed in enumerate(deeds):
            patch.setattr(os, "urandom", partial(int.to_bytes, step, byteorder="big"))
            assert short.do(step, *deed) == whole.do(step, *deed)
            assert short.memories.read_bytes() == whole.memories.read_bytes()
    shutil.rmtree(directory)


def test_a_write_reads_the_lines_that_are_like_its_text_and_no_others(tmp_path):
    filler = "and of what else was said there, " * 8  # a small file is parsed as quickly as it is recognised
    records = (f'{{"content":"note {n} of many {filler}","id":"mm-{n:06d}"}}\n' for n in range(300))
    side = Side(tmp_path, "".join(records).encode(), has_cache=True)
    side.do(0, "search", "note", 0)
    with Memsync.open(tmp_path, env=side._env) as project:
        assert project.remember("the queue of the worker is full").status == "created"
        store = project.stores["project"]
    late = [line for line in store.current_lines().values() if isinstance(line, LateLine)]
    assert len(late) == 300
    assert sum("memory" in vars(line) for line in late) < 20
    assert store.is_canonical()
