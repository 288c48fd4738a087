"""The lines that a cache knows: found one by one, and new ones put in their places without reading the others."""

from __future__ import annotations

import os
from itertools import accumulate, chain
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync import Memsync
from memsync.format import jsonl
from memsync.format.codec import decode
from memsync.index.delta import UNCHANGED
from memsync.index.heads import Heads, name_arrays, number_form
from memsync.records import normal_form
from memsync.store import files
from memsync.store.table import Before, Moved, Table

RECORDS = {f"mm-{number:04d}": f"note {number} of the queue" for number in range(0, 40, 2)}


def spell(id_: str, text: str, **more: object) -> bytes:
    said = "".join(f',"{name}":{value}' for name, value in more.items())
    return f'{{"content":"{text}","id":"{id_}"{said}}}'.encode()


def make_table(path: Path, raws: list[bytes]) -> Table:
    """Write *raws* to *path*, and return the table of a cache that was made of them."""
    path.write_bytes(b"".join(raw + b"\n" for raw in raws))
    ends = list(accumulate(len(raw) + 1 for raw in raws))
    lines = [*chain.from_iterable((0, end - len(raw) - 1, end - 1) for raw, end in zip(raws, ends, strict=True))]
    memories = [memory for raw in raws if (memory := decode(raw).memory)]
    views = {name: memoryview(column) for name, column in name_arrays(memories).items()}
    return Table(path, files.stamp(path), Heads(views, UNCHANGED), lines, range(len(raws)))


def append(table: Table, raws: list[bytes]) -> None:
    with table.path.open("ab") as file:
        file.writelines(raw + b"\n" for raw in raws)
    table.added += map(decode, raws)
    table.stamp = files.stamp(table.path)


def export(table: Table) -> None:
    """Put what was added in its place, as a store does."""
    lines = table.put_in_order()
    if not table.is_in_order(lines):
        was, temp = table.path.read_bytes(), table.path.with_name("temp")
        temp.write_bytes(b"".join(table.blocks_in_order(lines)))
        assert b"".join(Before(temp, table.path, lines, table.added)) == was
        temp.replace(table.path)
        table.stamp = files.stamp(table.path)
    table.settle(lines)


@pytest.fixture
def table(tmp_path):
    return make_table(tmp_path / "memories.jsonl", [spell(*one) for one in RECORDS.items()])


def test_a_line_is_found_by_its_id_and_no_other_is_read(table):
    assert table.find("mm-0004").memory.content == "note 4 of the queue"
    assert table.find("mm-0005") is None
    assert table.knows("mm-0038")
    assert not table.knows("mm-0039")
    assert len(table) == len(RECORDS)
    assert list(table._read) == ["mm-0004"]


def test_texts_that_are_alike_and_what_replaces_others_are_found(tmp_path):
    raws = [spell("a", "one"), spell("b", "Two  words", supersedes='["a"]'), spell("c", "two words")]
    table = make_table(tmp_path / "memories.jsonl", raws)
    append(table, [spell("d", "new", supersedes='["c"]')])
    form = number_form(normal_form("two words"))
    assert [line.id for line in table.find_alike(form)] == ["b", "c", "d"]
    assert [line.id for line in table.find_replacing()] == ["b", "d"]


def test_a_line_that_is_not_where_it_was_is_not_taken_for_another(table):
    table.path.write_bytes(table.path.read_bytes().replace(b"mm-0000", b"mm-0001"))
    table.stamp = files.stamp(table.path)  # one that lies
    with pytest.raises(Moved):
        table.find("mm-0000")


def test_lines_that_moved_in_a_file_of_the_same_size_are_noticed(table):
    raws = table.path.read_bytes().splitlines(keepends=True)
    table.path.write_bytes(b"".join([raws[0][:-2] + b" }\n", raws[1].replace(b"note ", b"note"), *raws[2:]]))
    table.stamp = files.stamp(table.path)
    with pytest.raises(Moved):
        table.read_all()
    append(table, [spell("mm-0001", "between them")])
    with pytest.raises(Moved):
        b"".join(table.blocks_in_order(table.put_in_order()))


def test_a_file_that_somebody_wrote_to_is_another(table):
    table.path.write_bytes(table.path.read_bytes() + b"\n")
    with pytest.raises(Moved):
        table.find("mm-0004")


def test_what_somebody_puts_in_the_place_of_what_was_made_is_not_taken_for_that(table):
    append(table, [spell("mm-0001", "between them")])
    temp = table.path.with_name("temp")
    temp.write_bytes(b"".join(table.blocks_in_order(lines := table.put_in_order())))
    before = Before(temp, table.path, lines, table.added)
    was = b"".join(before)
    made = files.stamp(temp)
    assert before.made == made
    temp.replace(table.path)
    table.path.write_bytes(table.path.read_bytes() + b"\n")
    assert b"".join(before) != was
    assert before.made == made


@pytest.mark.parametrize(
    "raw", [spell("mm-0004", "an edit"), b"{torn", b'{"id":"mm-0001","deleted_at":"2026-01-01"}', b""]
)
def test_only_new_records_can_be_taken_in(table, raw):
    assert table.can_take([decode(spell("mm-0001", "new"))])
    assert not table.can_take([decode(spell("mm-0001", "new")), decode(raw)])
    assert not table.can_take([decode(spell("mm-0001", "new"))] * 2)


ids = st.text(st.sampled_from("abé-"), min_size=1, max_size=3)
rounds = st.lists(st.lists(ids, min_size=0, max_size=4), min_size=1, max_size=4)


@given(st.sets(ids, min_size=1), rounds, st.booleans())
def test_what_is_put_in_order_is_what_an_export_writes(tmp_path_factory, first, rest, is_last_exported):
    folder = tmp_path_factory.mktemp("table", numbered=True)
    raws = [spell(id_, f"text of {id_}") for id_ in sorted(first)]
    table, known = make_table(folder / "memories.jsonl", raws), set(first)
    for number, added in enumerate(rest, 1):
        new = [id_ for id_ in dict.fromkeys(added) if id_ not in known]
        known.update(new)
        raws += [spell(id_, f"new {number}") for id_ in new]
        append(table, raws[len(raws) - len(new) :])
        if is_last_exported or number < len(rest):
            raws = sorted(raws, key=lambda raw: decode(raw).id or "")
            export(table)
        assert table.path.read_bytes() == b"".join(raw + b"\n" for raw in raws)
    data = table.path.read_bytes()
    places = table.list_places(table._lines)
    spans = [*zip(places[1::3], places[2::3], strict=True), *(span for span, _ in table.list_new())]
    assert sorted(data[start:end] for start, end in spans) == sorted(raws)
    assert [line.raw for line in table.read_all()] == raws
    assert [table.find(id_).memory for id_ in sorted(known)] == [
        line.memory for line in sorted(jsonl.read_lines(data), key=lambda line: line.id or "")
    ]


@pytest.fixture
def project(tmp_path):
    path = tmp_path / ".gobby" / "memories.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"".join(spell(*one) + b"\n" for one in RECORDS.items()))
    (path.parent / "config.yaml").write_text("memory:\n  embedder: none\n")
    env = {"HOME": str(tmp_path / "home"), "MEMSYNC_HOME": str(tmp_path / "home")}

    def open_() -> Memsync:
        return Memsync.open(tmp_path, env=env)

    with open_() as first:
        first.search("note")  # makes the cache
    return open_


def test_writes_in_a_row_hold_no_other_lines(project):
    for number in range(3):
        with project() as one:
            done = one.remember(f"the kiosk {number} waits for a new printer")
            assert done.status == "created"
            assert isinstance(one.stores["project"].known_lines(), Table)
    with project() as last:
        assert last.remember("The kiosk 1 waits for a new printer").status == "exists"
        assert len(last.memories()) == len(RECORDS) + 3
        assert last.stores["project"].is_canonical()


@pytest.mark.parametrize(
    "edit", [lambda data: data.replace(b"note 4", b"note 5"), lambda data: data + spell("x", "y") + b"\n"]
)
def test_what_somebody_writes_before_the_export_is_kept(project, edit):
    with project() as one:
        new = one.remember("the kiosk waits for a new printer").entry.id
        path = one.stores["project"].path
        path.write_bytes(edited := edit(path.read_bytes()))
    assert sorted(path.read_bytes().splitlines()) == sorted(edited.splitlines())
    with project() as again:
        assert again.get(new).memory.content == "the kiosk waits for a new printer"


def test_a_table_of_another_file_is_read_whole_too(project):
    with project() as one:
        store = one.stores["project"]
        one.finder.expect_write(store)
        store.refresh()
        assert isinstance(store.known_lines(), Table)
        store.path.write_bytes(store.path.read_bytes() + spell("mm-9999", "by hand") + b"\n")
        with project() as other:
            other.search("note")  # makes a cache that fits again
        assert store.ids() == [*RECORDS, "mm-9999"]


def test_a_file_that_a_cache_has_wrong_under_its_own_stamp_is_read_without_it(project):
    with project() as one:
        store = one.stores["project"]
        one.finder.expect_write(store)
        data = store.path.read_bytes()

        def recognise(stamp: files.Stamp, _: object) -> Table:
            found = make_table(store.path.with_name("other"), data.splitlines()[1:])
            found.path, found.stamp = store.path, stamp
            return found

        store.recognise = recognise
        store.refresh()
        assert isinstance(store.known_lines(), Table)
        assert store.ids() == [*RECORDS]


def test_who_asks_while_another_file_is_read_waits_for_it(project):
    with project() as one:
        store, found = one.stores["project"], []
        one.finder.expect_write(store)
        store.refresh()
        asker = Thread(target=lambda: found.append((store.get("mm-0004"), len(store), store.knows("mm-0006"))))

        def recognise(*_: object) -> None:
            asker.start()
            asker.join(0.1)  # it has its answer by then, unless it waits

        store.recognise = recognise
        store.path.write_bytes(store.path.read_bytes() + spell("mm-9999", "by hand") + b"\n")
        store.refresh()
        asker.join()
        assert found == [(store.get("mm-0004"), len(RECORDS) + 1, True)]
        assert found[0][0] is not None


def test_a_line_that_comes_in_the_last_moment_of_an_export_brings_no_other_one_twice(project, monkeypatch):
    with project() as one:
        path = one.stores["project"].path
        with path.open("ab") as file:
            file.writelines(spell(f"nn-{number:03d}", f"{number} {'x' * 1_000}") + b"\n" for number in range(200))
        one.search("note")
    swap, late = os.replace, spell("zz", "late")

    def swap_late(*paths: Path) -> None:
        if Path(paths[1]) == path:
            with open(path, "ab") as editor:
                editor.write(late + b"\n")
        swap(*paths)

    monkeypatch.setattr(os, "replace", swap_late)
    with project() as one:
        one.remember("the kiosk waits for a new printer")
        assert isinstance(one.stores["project"].known_lines(), Table)
    lines = path.read_bytes().splitlines()
    assert (len(lines), lines.count(late)) == (len(RECORDS) + 202, 1)
