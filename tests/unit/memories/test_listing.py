"""Lists and single memories by the rows of the index: what the stores say when they are read whole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random

import pytest
from helpers import memory_line

from memsync import Filters, Memsync
from memsync.errors import MemsyncError
from memsync.memories.index_file import open_index
from memsync.memories.listing import count_all, count_current, knows, read_anchored, read_foremost, read_named

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
TEXTS = [f"{word} waits for the queue of {word}s" for word in "ant bee cat dog eel fox gnu hen".split()]
FILTERS = (
    Filters(),
    Filters(archived=True, tags_any=["odd"]),
    Filters(min_importance=0.4, scopes=("project",)),
    Filters(keep=lambda entry: "e" in entry.content),
)


def opened(repo, *, read: bool, days: int = 0) -> Memsync:
    project = Memsync.open(repo.root, clock=lambda: NOW + timedelta(days=days))
    if read:
        project.stores.refresh()
    return project


def write(repo, deeds) -> None:
    """Write in processes of their own, each of which leaves the index as the files are."""
    for day, (text, importance, deed) in enumerate(deeds):
        with opened(repo, read=False, days=day) as project:
            tags = ["odd"] if text % 2 else []
            project.remember(
                TEXTS[text], importance=importance, tags=tags, scope="global" if deed == "global" else None
            )
            if deed == "replace" and (old := project.list(limit=1)):
                project.remember(f"{TEXTS[text]} at last", supersedes=[old[0].id], anchors=["$ make"])
            if deed == "forget":
                project.forget(project.list(limit=1)[0].id)
            if deed == "use":
                project.recall(TEXTS[text], limit=1)
    with opened(repo, read=False) as project:
        project.search("queue")  # where nobody has left an index


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_list_by_rows_is_that_of_the_stores_after_any_writes(repo, seed):
    draw = Random(seed)
    kinds = ["", "", "global", "forget", "use"]
    write(repo, [(draw.randrange(8), draw.choice([0.2, 0.5, 0.9]), draw.choice(kinds)) for _ in range(7)])
    for filters in FILTERS:
        for limit in (1, 3, 50):
            with opened(repo, read=False, days=40) as short, opened(repo, read=True, days=40) as whole:
                assert short.list(filters, limit=limit) == whole.list(filters)[:limit]
                assert short.stores["project"].stamp is None


def test_what_is_worth_the_same_is_ordered_by_id_however_long_reading_takes(repo):
    same = '"created_at":"2026-11-20T12:00:00Z","updated_at":"2026-11-20T12:00:00Z","importance":0.5}'
    ids = ("mm-d", "mm-a", "mm-c", "mm-b")
    repo.write_memories("".join(f'{{"id":"{id_}","content":"the queue of {id_}",{same}\n' for id_ in ids))
    seconds = count()
    with Memsync.open(repo.root, clock=lambda: NOW + timedelta(seconds=next(seconds))) as project:
        assert [entry.id for entry in project.list()] == sorted(ids)
        assert [entry.id for entry in project.list(limit=3)] == sorted(ids)[:3]


@pytest.mark.parametrize("settings", ["{}", "{decay_floor: 0.45, decay_rate: 0.2}", "{decay_enabled: false}"])
def test_what_fades_is_ordered_by_the_rows_as_by_the_files(repo, settings):
    """SQLite computes what a row is worth: of memories without a time, from the future, and of the same id in two stores, too."""
    draw = Random(4)
    times = [{}, *({"created_at": (NOW - timedelta(days=days)).isoformat()} for days in (-30, 1, 7, 40, 90, 365, 2000))]
    worths = [0.05, 0.4, 0.41, *(draw.random() for _ in range(9))]
    every = [
        memory_line(f"mm-{n:02d}", f"queue {n}", importance=draw.choice(worths), **draw.choice(times))
        for n in range(80)
    ]
    with opened(repo, read=False) as project:
        places = [project.layout.place(scope) for scope in ("project", "global")]
    for place in places:
        place.memories.parent.mkdir(parents=True, exist_ok=True)
        place.memories.write_text("".join(every))
    places[0].config.write_text(f"memory: {settings}\n")
    with opened(repo, read=False) as project:
        project.search("queue")  # makes the index
    with opened(repo, read=False) as short, opened(repo, read=True) as whole:
        listed = whole.list()
        assert len(listed) == 2 * len(every)
        for limit in (1, 20, 200):
            assert short.list(limit=limit) == listed[:limit]
        assert short.stores["project"].stamp is None


def test_one_memory_is_shown_as_the_stores_have_it(repo):
    write(repo, [(0, 0.5, ""), (1, 0.9, "global"), (2, 0.2, "use")])
    with opened(repo, read=True) as whole:
        known = whole.list()
    for entry in known:
        for ref in (entry.id, entry.id[:7]):
            with opened(repo, read=False) as short:
                assert short.show(ref) == next(one for one in known if one.id == entry.id)
                assert short.stores["project"].stamp is None
    with opened(repo, read=False) as short, pytest.raises(MemsyncError):
        short.show("mm-nobody")
    with opened(repo, read=False) as short:
        assert [knows(short, ref) for ref in (known[0].id, known[0].id[:7], "mm-nobody")] == [True, False, False]
        assert short.stores["project"].stamp is None


@pytest.mark.parametrize("read", [False, True], ids=["by rows", "by files"])
def test_eight_digits_of_a_uuid_name_it_where_no_other_begins_so(repo, read):
    ids = ("cdc84ad0-51eb-50b9", "cdc84ad1-51eb-50b9", "cdc84ad1-9a77-4033")
    repo.write_memories("".join(f'{{"content":"cdc84ad0 and cdc8 {n}","id":"{id_}"}}\n' for n, id_ in enumerate(ids)))
    with opened(repo, read=False) as project:
        project.search("cdc8")  # makes the index
    with opened(repo, read=read) as project:
        found = [
            ref
            for ref in ("cdc84ad0", "cdc84ad0-51", "cdc84ad", "cdc84ad1", "cdc84ad1-9", "cdc84ad2")
            if knows(project, ref)
        ]
    assert found == ["cdc84ad0", "cdc84ad0-51", "cdc84ad1-9"]


def test_a_file_that_was_edited_by_hand_is_read(repo):
    write(repo, [(0, 0.5, "")])
    before = repo.memories.read_bytes()
    repo.memories.write_bytes(before.replace(b"ant waits", b"ape waits"))
    with opened(repo, read=False) as short:
        (entry,) = short.list(limit=5)
        assert entry.content.startswith("ape waits")
        assert short.show(entry.id).content == entry.content


def test_many_that_filters_leave_out_have_the_stores_read(repo):
    repo.write_memories("".join(f'{{"content":"note {n} of many","id":"mm-{n:06d}"}}\n' for n in range(300)))
    with opened(repo, read=False) as project:
        project.search("note")
        rare = Filters(keep=lambda entry: entry.id == "mm-000299")
        assert [entry.id for entry in project.list(rare, limit=1)] == ["mm-000299"]


def read_whole(repo, *, days: int):
    """Return all memories as the stores have them, the nearer store's first."""
    with opened(repo, read=True, days=days) as whole:
        return [(scope, one) for scope, store in whole.stores.items() for one in store.memories().values()]


def in_order(records):
    return sorted(records, key=lambda one: (one[0], one[1].id))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_the_rows_choose_is_what_the_stores_have(repo, seed):
    draw = Random(seed)
    kinds = ["", "", "global", "forget", "use", "replace", "replace"]
    write(repo, [(draw.randrange(8), draw.choice([0.2, 0.5, 0.9]), draw.choice(kinds)) for _ in range(9)])
    every = read_whole(repo, days=40)
    ids = {one.id for _, one in every[::2]} | {"mm-nobody"}
    with opened(repo, read=False, days=40) as short:
        current = open_index(short.layout, short.settings).ask(count_current)
        assert current == sum(one.archived_at is None for _, one in every)
        assert count_all(short) == len(every)
        assert in_order(read_named(short, ids)) == in_order([one for one in every if one[1].id in ids])
        anchored = [one for one in every if one[1].anchors and one[1].archived_at is None]
        assert in_order(read_anchored(short)) == in_order(anchored)
        assert short.stores["project"].stamp is None


def test_the_foremost_are_those_of_a_list_with_what_is_named_and_what_replaces_others(repo):
    write(repo, [(0, 0.9, ""), (1, 0.9, "replace"), (2, 0.5, "global"), (3, 0.2, ""), (4, 0.3, "")])
    with opened(repo, read=True, days=40) as whole:
        listed = whole.list(Filters(archived=True))
        named = listed[-1].id
        replacing = {entry.id for entry in listed if entry.memory.supersedes}
    with opened(repo, read=False, days=40) as short:
        some = read_foremost(short, {named}, 2, 0.0, short.clock(), {})
        assert {one.id for _, one in some.records} == {listed[0].id, listed[1].id, named, *replacing}
        assert some.rest == (-listed[2].effective_importance, listed[2].id, listed[2].scope)
        least = listed[1].effective_importance
        assert read_foremost(short, (), 2, least, short.clock(), {}).rest is None
        assert read_foremost(short, (), 99, 0.0, short.clock(), {}).rest is None


def test_what_others_wrote_is_among_what_is_anchored(repo):
    write(repo, [(0, 0.5, "replace")])
    repo.memories.write_bytes(repo.memories.read_bytes().replace(b"ant waits", b"ape waits"))
    with opened(repo, read=False) as short:
        found = read_anchored(short)
    assert found is not None
    assert [memory.content.split()[0] for _, memory in found] == ["ape"]


def test_without_rows_the_choice_is_left_to_the_stores(repo):
    write(repo, [(0, 0.5, "replace")])
    path = repo.root / ".gobby" / "local" / "index.db"
    path.unlink()
    path.mkdir()
    with opened(repo, read=False) as short:
        assert (read_named(short, {"x"}), read_anchored(short)) == (None, None)
        assert open_index(short.layout, short.settings).ask(count_current) is None
        assert count_all(short) == len(short.list(Filters(archived=True)))


def test_a_line_that_is_no_record_is_counted_by_nobody(repo):
    write(repo, [(0, 0.5, "")])
    repo.memories.write_bytes(repo.memories.read_bytes() + b"no record\n")
    with opened(repo, read=False) as short:
        assert count_all(short) == open_index(short.layout, short.settings).ask(count_current) == 1
