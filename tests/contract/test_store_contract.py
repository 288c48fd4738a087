"""What a store promises, whichever place it has: project, stealth or global."""

from __future__ import annotations

import json
import os
import stat
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import memory_line
from ops import ONE_FILE, a_memory, add, by_hand, lines, remove, restore, seen_by_others, shown, update

from memsync.errors import AmbiguousId, ExportRefused, LockTimeout, MemoryNotFound
from memsync.format import jsonl
from memsync.records import Change, Memory, content_hash, find_id
from memsync.store import files
from memsync.store.changes import Exported
from memsync.store.lock import lock
from memsync.store.places import locate
from memsync.store.store import Store


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Let every bit of a mode through, so that only our own care keeps a file private."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(directory: Path) -> set[tuple[str, int]]:
    paths = [directory, *directory.rglob("*")]
    return {("d" if path.is_dir() else "f", stat.S_IMODE(path.stat().st_mode)) for path in paths}


def test_reading_a_store_that_is_not_there_shows_nothing_and_makes_nothing(store):
    assert (store.refresh(), store.memories(), store.problems(), store.replaced()) == ([], {}, [], {})
    assert store.export() == Exported(store.place.memories, changed=False)
    assert not store.place.directory.exists()


@ONE_FILE
def test_an_added_memory_is_one_line_and_every_other_reader_sees_it(store):
    memory = a_memory("mm-aaaaaa", "tests run with uv", tags=("ci", "uv"), importance=0.8)
    assert add(store, memory) == [Change("mm-aaaaaa", None, memory)]
    assert seen_by_others(store) == store.memories() == {"mm-aaaaaa": memory}
    line = (
        '{"content":"tests run with uv","created_at":"2026-01-15T12:00:00.000Z","id":"mm-aaaaaa",'
        '"importance":0.8,"tags":["ci","uv"],"updated_at":"2026-01-15T12:00:00.000Z"}'
    )
    assert lines(store) == [line]


@ONE_FILE
def test_an_update_changes_its_fields_and_no_other_byte_of_the_line(store):
    by_hand(store, '{"id": "u1", "content": "old", "type": "fact", "x-score": 1.50, "importance": 0.50}\n')
    update(store, "u1", content="new", memory_type="pattern")
    assert lines(store)[-1] == '{"content":"new","id":"u1","importance":0.50,"type":"pattern","x-score":1.50}'
    assert seen_by_others(store) == {
        "u1": Memory(id="u1", content="new", memory_type="pattern", extra={"x-score": 1.5})
    }


def test_new_memories_and_new_versions_are_written_together(store):
    add(store, a_memory("mm-aaaaaa", "one"))
    with store.writing():
        store.write([a_memory("mm-bbbbbb", "two")], {"mm-aaaaaa": {"content": "one, corrected"}})
    assert shown(store) == {"mm-aaaaaa": "one, corrected", "mm-bbbbbb": "two"}
    assert seen_by_others(store) == store.memories()


@ONE_FILE
def test_a_removed_memory_is_gone_for_all_and_comes_back_byte_for_byte(store):
    memory = a_memory("mm-aaaaaa", "one")
    add(store, memory)
    line = lines(store)
    assert remove(store, "mm-aaaaaa") == [Change("mm-aaaaaa", memory, None)]
    assert seen_by_others(store) == store.memories() == {}
    assert store.knows("mm-aaaaaa")
    store.export()
    assert lines(store) == []
    assert restore(store, "mm-aaaaaa") == [Change("mm-aaaaaa", None, memory)]
    assert lines(store) == line


def test_a_restore_over_a_live_memory_is_an_edit_and_a_second_one_takes_it_back(store):
    add(store, a_memory("mm-aaaaaa", "first"))
    update(store, "mm-aaaaaa", content="second")
    restore(store, "mm-aaaaaa")
    assert shown(store) == {"mm-aaaaaa": "first"}
    restore(store, "mm-aaaaaa")
    assert shown(store) == {"mm-aaaaaa": "second"}


def test_what_was_never_changed_here_cannot_be_restored(store):
    add(store, a_memory("mm-aaaaaa", "one"))
    with pytest.raises(MemoryNotFound, match="mm-aaaaaa"):
        restore(store, "mm-aaaaaa")


def test_export_sorts_by_id_leaves_one_line_an_id_and_is_stable(store):
    add(store, a_memory("mm-cccccc", "three"), a_memory("mm-aaaaaa", "one"), a_memory("mm-bbbbbb", "two"))
    update(store, "mm-aaaaaa", content="uno")
    remove(store, "mm-bbbbbb")
    before = store.memories()
    assert store.export() == Exported(store.place.memories, changed=True)
    bytes_ = store.place.memories.read_bytes()
    assert [json.loads(line)["id"] for line in lines(store)] == ["mm-aaaaaa", "mm-cccccc"]
    assert seen_by_others(store) == store.memories() == before
    assert store.export() == Exported(store.place.memories, changed=False)
    assert store.place.memories.read_bytes() == bytes_
    assert store.is_canonical()


@ONE_FILE
def test_export_leaves_no_temporary_file_and_keeps_the_mode(store):
    add(store, a_memory("mm-bbbbbb", "two"), a_memory("mm-aaaaaa", "one"))
    store.place.memories.chmod(0o640)
    store.export()
    assert stat.S_IMODE(store.place.memories.stat().st_mode) == 0o640
    assert sorted(path.name for path in store.place.directory.iterdir()) == ["local", "memories.jsonl"]
    assert sorted(path.name for path in store.place.local.iterdir()) == [
        ".gitignore",
        "history.jsonl",
        "lock",
        "lock.queue",
    ]


def test_two_objects_on_one_file_see_each_others_writes(store):
    other = Store(store.place)
    add(store, a_memory("mm-aaaaaa", "one"))
    add(other, a_memory("mm-bbbbbb", "two"))
    update(store, "mm-bbbbbb", content="dos")
    remove(other, "mm-aaaaaa")
    store.refresh()
    assert shown(store) == shown(other) == {"mm-bbbbbb": "dos"}


def test_a_listener_is_told_every_change_in_order(store):
    told: list[Change] = []
    add(store, a_memory("mm-aaaaaa", "one"))
    store.follow(told.extend, store.memories())
    update(store, "mm-aaaaaa", content="uno")
    by_hand(store, memory_line("u1", "by hand"))
    store.refresh()
    remove(store, "mm-aaaaaa")
    assert [(c.id, c.before and c.before.content, c.after and c.after.content) for c in told] == [
        ("mm-aaaaaa", "one", "uno"),
        ("u1", None, "by hand"),
        ("mm-aaaaaa", "uno", None),
    ]


@ONE_FILE
def test_a_text_is_known_by_its_hash_after_the_file_was_away(store):
    other = Store(store.place)
    add(store, a_memory("mm-aaaaaa", "one"))
    assert store.by_hash(content_hash("one")) == store.get("mm-aaaaaa")
    store.place.memories.unlink()
    store.refresh()
    add(other, a_memory("mm-bbbbbb", "one"))
    store.refresh()
    assert store.by_hash(content_hash("one")) == store.get("mm-bbbbbb")


def test_a_text_is_found_by_its_hash_as_long_as_one_copy_lives(store):
    add(store, a_memory("mm-aaaaaa", "Same text"))
    by_hand(store, memory_line("u1", "same  TEXT"))
    store.refresh()
    assert store.by_hash(content_hash("same text")) in store.memories().values()
    remove(store, "u1")
    assert store.by_hash(content_hash("same text")) == store.get("mm-aaaaaa")
    remove(store, "mm-aaaaaa")
    assert store.by_hash(content_hash("same text")) is None


@ONE_FILE
def test_a_text_itself_finds_what_its_hash_finds_asked_once_or_often(store):
    texts = ["one", "  Two\n words", "İstanbul waits", "ΣΑΣ ends", "ß", "\u00a0three", "Same", "same"]
    add(store, *(a_memory(f"mm-aaaaa{number}", text) for number, text in enumerate(texts)))
    for _ in range(2):
        fresh = Store(store.place)
        fresh.refresh()
        for text in (*texts, "TWO words", "nobody", ""):
            assert fresh.by_hash(content_hash(text), text=text) == store.by_hash(content_hash(text))
    assert store.by_hash(content_hash("same"), text="same", besides="mm-aaaaa6") == store.get("mm-aaaaa7")


@ONE_FILE
def test_lines_are_adopted_byte_for_byte_and_a_different_text_under_the_same_id_is_not(store, repo):
    by_hand(store, memory_line("u1", "mine"))
    source = Store(locate(repo.root).place("global" if store.place.scope != "global" else "private"))
    by_hand(source, memory_line("u1", "theirs") + '{"id":"u2","content":"x","n":1.0}\n' + memory_line("u3", "mine"))
    source.refresh()
    with store.writing():
        assert store.adopt(source) == ["u2", "u3"]
    assert lines(store)[1:] == ['{"id":"u2","content":"x","n":1.0}', '{"content": "mine", "id": "u3"}']
    assert shown(store) == {"u1": "mine", "u2": "x", "u3": "mine"}


def test_only_one_writer_holds_the_lock_and_another_says_which_file_it_waited_for(store):
    with store.writing(), pytest.raises(LockTimeout, match="lock"), lock(store.place.local / "lock", wait=0.01):
        pass
    with lock(store.place.local / "lock", wait=0.01):
        pass


def test_a_private_store_is_closed_to_others_whatever_the_umask_says(store, open_umask, repo):
    add(store, a_memory("mm-bbbbbb", "two"), a_memory("mm-aaaaaa", "one"))
    update(store, "mm-aaaaaa", content="uno")
    store.export()
    remove(store, "mm-aaaaaa")
    found = modes(store.place.directory)
    if store.place.private:
        assert found == {("d", 0o700), ("f", 0o600)}
        assert repo.status() == ""
    else:
        assert found >= {("d", 0o777), ("f", 0o666)}


def test_git_sees_the_memories_of_the_project_and_nothing_else(store, repo):
    add(store, a_memory("mm-aaaaaa", "one"))
    store.export()
    remove(store, "mm-aaaaaa")
    wanted = "?? .gobby/memories.jsonl\n" if store.place.scope == "project" else ""
    assert repo.status("--untracked-files=all") == wanted


@pytest.mark.parametrize("ref", ["mm-abcdef", "abcdef", "ABC", "mm-ab", "0b5f", "0b5f7c1e-2f0a-4b6e-9d3c-2a1f0e5d4c3b"])
def test_a_beginning_of_an_id_names_it_with_or_without_the_prefix(ref):
    ids = ["mm-abcdef", "mm-bcdefg", "0b5f7c1e-2f0a-4b6e-9d3c-2a1f0e5d4c3b"]
    assert find_id(ref, ids) == ids[0 if "b5f" not in ref else 2]


def test_an_id_that_is_the_beginning_of_another_still_names_itself():
    assert find_id("mm-abc", ["mm-abcdef", "mm-abc"]) == "mm-abc"


@pytest.mark.parametrize(
    ("ref", "error"), [("mm-", AmbiguousId), ("a", AmbiguousId), ("x", MemoryNotFound), ("", MemoryNotFound)]
)
def test_a_beginning_that_fits_none_or_several_is_an_error(ref, error):
    with pytest.raises(error):
        find_id(ref, ["mm-aaaaaa", "mm-aabbbb"])


def test_what_waits_is_seen_though_an_export_moves_it_between_our_two_looks(repo, monkeypatch):
    def opened() -> Store:
        made = Store(locate(repo.root).place("project"))
        made.on_commit = True
        return made

    add(opened(), a_memory("mm-aaaaaa", "tests run with uv"))
    reader, exporter, read, looks = opened(), opened(), files.read, []

    def read_and_be_overtaken(path: Path):
        found = read(path)
        looks.append(path)
        if len(looks) == 1:
            exporter.export()
        return found

    monkeypatch.setattr(files, "read", read_and_be_overtaken)
    reader.refresh()
    assert shown(reader) == {"mm-aaaaaa": "tests run with uv"}


def test_an_export_that_would_lose_a_memory_is_refused_and_changes_nothing(store, monkeypatch):
    by_hand(store, '{"id": "u2", "content": "two"}\n{"id": "u1", "content": "one"}\n')
    before, keep = store.place.memories.read_bytes(), jsonl.keep
    monkeypatch.setattr(jsonl, "keep", lambda lines, **how: keep(lines[1:], **how))
    with pytest.raises(ExportRefused, match="would lose 1 memory"):
        store.export()
    assert store.place.memories.read_bytes() == before


@ONE_FILE
def test_an_export_holds_no_second_copy_of_a_large_file(store):
    by_hand(store, "".join(memory_line(f"u{n:05}", f"{n} " + "x" * 2_000) for n in range(5_000)))
    store.refresh()
    update(store, "u00003", content="another text")
    size = store.path.stat().st_size
    tracemalloc.start()
    try:
        assert store.export().changed
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < size / 2
    assert seen_by_others(store) == store.memories()
