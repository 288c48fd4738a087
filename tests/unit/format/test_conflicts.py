"""Files that git left with conflict markers: both sides are read, each record once."""

from __future__ import annotations

from itertools import combinations

import pytest
from helpers import memory_line

from memsync.format.jsonl import export, in_conflict, problems, read_lines
from memsync.format.merge import current, settle
from memsync.format.versions import copy_id

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def at(id_: str, content: str, updated_at: str = EARLY) -> str:
    return memory_line(id_, content, updated_at=updated_at)


def conflict(ours: str, theirs: str, base: str | None = None) -> bytes:
    """Spell a conflict as git does; with a base, in diff3 style."""
    middle = "" if base is None else f"||||||| merged common ancestors\n{base}"
    return f"<<<<<<< HEAD\n{ours}{middle}=======\n{theirs}>>>>>>> branch\n".encode()


def live(data: bytes) -> dict[str, str]:
    return {id_: line.memory.content for id_, line in current(read_lines(data)).items() if line.memory}


def kept(id_: str, text: str) -> dict[str, str]:
    """Return the record that keeps a text that lost."""
    return {copy_id(id_, text): text}


def test_the_records_of_both_sides_are_live():
    assert live(at("a", "x").encode() + conflict(at("b", "ours"), at("c", "theirs"))) == {
        "a": "x",
        "b": "ours",
        "c": "theirs",
    }


@pytest.mark.parametrize("base", [None, "", at("a", "base", LATE)])
def test_the_later_side_wins_whichever_it_is_and_the_other_text_is_kept(base):
    expected = {"a": "late", **kept("a", "early")}
    assert live(conflict(at("a", "early"), at("a", "late", LATE), base)) == expected
    assert live(conflict(at("a", "late", LATE), at("a", "early"), base)) == expected


def test_sides_of_the_same_time_are_decided_alike_on_both_clones():
    one, other = at("a", "one"), at("a", "other")
    assert live(conflict(one, other)) == live(conflict(other, one)) == {"a": "other", **kept("a", "one")}


def test_a_side_without_a_time_is_the_earlier():
    expected = {"a": "dated", **kept("a", "undated")}
    assert live(conflict(memory_line("a", "undated"), at("a", "dated"))) == expected
    assert live(conflict(at("a", "dated"), memory_line("a", "undated"))) == expected


def test_a_version_that_was_never_edited_leaves_no_text_behind():
    """git shows no base by default, and a line that stands beside an edit is in the conflict too."""
    born = memory_line("a", "as it was born", created_at=EARLY, updated_at=EARLY)
    edited = memory_line("a", "edited", created_at=EARLY, updated_at=LATE)
    assert live(conflict(born, edited)) == live(conflict(edited, born)) == {"a": "edited"}


def test_a_base_between_the_markers_decides_field_by_field():
    base = memory_line("a", "text", importance=0.5, tags=["x", "y"]) + memory_line("b", "removed by one")
    ours = memory_line("a", "text", importance=0.9, tags=["x"])
    theirs = memory_line("a", "new text", importance=0.5, tags=["x", "y", "z"]) + memory_line("b", "removed by one")
    lines = read_lines(conflict(ours, theirs, base))
    assert export(settle(lines)) == b'{"content":"new text","id":"a","importance":0.9,"tags":["x","z"]}\n'


@pytest.mark.parametrize(("removed_at", "left"), [(EARLY, {"a": "edited"}), ("2026-01-03T00:00:00Z", {})])
def test_a_removal_on_one_side_counts_by_its_time(removed_at, left):
    gone = f'{{"deleted_at":"{removed_at}","id":"a"}}\n'
    assert live(conflict(gone, at("a", "edited", LATE))) == left
    assert live(conflict(at("a", "edited", LATE), gone)) == left


def test_what_only_the_base_has_is_gone():
    assert live(conflict(at("a", "x"), at("b", "y"), at("c", "removed by both"))) == {"a": "x", "b": "y"}


def test_a_line_after_the_conflict_wins_over_both_sides_and_loses_neither():
    data = conflict(at("a", "ours", LATE), at("a", "theirs", LATE)) + at("a", "mended").encode()
    assert live(data) == {"a": "mended", **kept("a", "ours")}


def test_every_conflict_of_a_file_is_read():
    data = (
        conflict(at("a", "1"), at("a", "2", LATE)) + at("b", "x").encode() + conflict(at("c", "3", LATE), at("c", "4"))
    )
    assert live(data) == {"a": "2", "b": "x", "c": "3", **kept("a", "1"), **kept("c", "4")}


def test_a_conflict_in_a_windows_file_is_read():
    data = conflict(at("a", "ours"), at("b", "theirs"), at("c", "base")).replace(b"\n", b"\r\n")
    assert live(data) == {"a": "ours", "b": "theirs"}


def test_a_conflict_inside_the_base_is_all_base():
    """git merges several common ancestors first and writes their conflict with longer markers."""
    inner = (
        "<<<<<<<<< Temporary merge branch 1\n" + at("a", "inner one", LATE) + "||||||||| 1234567\n" + at("x", "deepest")
        + "=========\n" + at("b", "inner two", LATE) + ">>>>>>>>> Temporary merge branch 2\n"
    )  # fmt: skip
    data = conflict(at("a", "ours"), at("c", "theirs"), inner + at("d", "base"))
    assert live(data) == {"a": "ours", "c": "theirs"}
    assert in_conflict(read_lines(data))


def test_a_conflict_inside_a_side_is_read_with_both_its_sides():
    inner = "<<<<<<<<< one\n" + at("a", "1") + "=========\n" + at("b", "2") + ">>>>>>>>> two\n"
    data = conflict(inner + at("c", "3"), at("a", "4", LATE))
    assert live(data) == {"a": "4", "b": "2", "c": "3", **kept("a", "1")}


@pytest.mark.parametrize("marker", ["<<<<<<< HEAD", "||||||| base", "=======", ">>>>>>> branch"])
def test_a_marker_that_somebody_forgot_hides_no_record(marker):
    assert live(f"{at('a', 'x')}{marker}\n{at('b', 'y')}".encode()) == {"a": "x", "b": "y"}


def test_a_conflict_without_its_end_is_read():
    assert live(f"<<<<<<< HEAD\n{at('a', 'x')}=======\n{at('b', 'y')}".encode()) == {"a": "x", "b": "y"}
    assert live(f"<<<<<<< HEAD\n{at('a', 'x')}".encode()) == {"a": "x"}


def test_a_marker_that_was_cut_off_is_one():
    assert in_conflict(read_lines(f"<<<<<<< HEAD\n{at('a', 'x')}=======".encode()))


def test_a_conflict_is_reported_once_with_its_first_line():
    found = problems(read_lines(at("a", "x").encode() + conflict(at("b", "1"), at("b", "2")) + b"note\n"))
    assert [(problem.number, problem.why, problem.harmless) for problem in found] == [
        (2, "a git conflict (3 marker lines); both sides are merged", False),
        (7, "not JSON: Expecting value at column 1", False),
    ]


BOTH = (
    conflict(at("a", "ours") + at("b", "same"), at("a", "theirs", LATE) + at("b", "same"))
    .decode()
    .splitlines(keepends=True)
)


@pytest.mark.parametrize("left", ["<", "=", ">", "<=", "<>", "=>", "<=>"])
@pytest.mark.parametrize(
    "before", ["", at("x", "above"), "<<<<<<< HEAD\n" + at("x", "above") + "=======\n>>>>>>> old\n"]
)
def test_whichever_markers_somebody_deleted_no_text_is_lost(left, before):
    rows = [row for row in BOTH if row[0] == "{" or row[0] in left]
    found = live((before + "".join(rows) + at("y", "below")).encode())
    wanted = {"a": "theirs", "b": "same", "y": "below", **kept("a", "ours")} | ({"x": "above"} if before else {})
    assert found == wanted


@pytest.mark.parametrize("times", [(EARLY, LATE), (LATE, EARLY)], ids=["theirs is later", "ours is later"])
@pytest.mark.parametrize("left", ["".join(some) for size in range(1, 5) for some in combinations("<|=>", size)])
def test_no_text_is_lost_where_the_base_is_shown_and_markers_are_missing(left, times):
    moments = (*times, "2025-01-01T00:00:00Z")
    sides = [
        at("a", f"{who} a", when) + at("b", f"{who} b", when)
        for who, when in zip(("ours", "theirs", "base"), moments, strict=True)
    ]
    rows = [row for row in conflict(*sides).decode().splitlines(keepends=True) if row[0] == "{" or row[0] in left]
    assert {"ours a", "ours b", "theirs a", "theirs b"} <= set(live("".join(rows).encode()).values())


def test_a_conflict_whose_inner_end_is_missing_ends_with_the_outer():
    inner = "<<<<<<<<< one\n" + at("a", "1") + "=========\n" + at("b", "2")
    assert live(conflict(inner, at("c", "3"))) == {"a": "1", "b": "2", "c": "3"}
