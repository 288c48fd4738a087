"""The rules of the merge, case by case; the laws are in tests/property."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import memory_line

from memsync.format.merge import merge
from memsync.format.versions import copy_id

ROOT = Path(__file__).parents[3]
OLD, EARLY, LATE = "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z"


def record(id_: str = "a", text: str = "text", **fields: object) -> bytes:
    return memory_line(id_, text, **{"created_at": OLD, **fields}).encode()


def merged(base: bytes, ours: bytes, theirs: bytes) -> dict[str, dict]:
    done = merge(base, ours, theirs)
    assert done == merge(base, theirs, ours)
    assert done.unsettled == 0
    return {value["id"]: value for value in map(json.loads, done.data.splitlines())}


def test_two_lines_that_a_hand_wrote_with_one_id_both_stay():
    shared, by_hand = record("b"), record(text="one") + record(text="two", updated_at=EARLY)
    done = merge(shared, shared, by_hand + shared)
    assert done == merge(shared, by_hand + shared, shared)
    assert [json.loads(row)["content"] for row in done.data.splitlines()] == ["one", "two", "text"]


@pytest.mark.parametrize(
    ("field", "base", "ours", "theirs", "result"),
    [
        ("tags", ["a", "b"], ["b"], ["a", "b", "c"], ["b", "c"]),
        ("tags", ["a", "b"], ["b", "z", "y"], ["x", "b"], ["b", "x", "y", "z"]),
        ("tags", "a, b", ["a"], ["a", "b", "c"], ["a", "c"]),
        ("tags", None, ["b"], ["a"], ["a", "b"]),
        ("supersedes", ["mm-1"], [], ["mm-1", "mm-2"], ["mm-2"]),
        ("links", ["see:mm-1"], [], ["see:mm-1", "because:mm-2"], ["because:mm-2"]),
        ("importance", 0.5, 0.9, 0.7, 0.9),
        ("importance", 0.5, 0.2, 0.3, 0.3),
        ("importance", 0.9, None, 0.3, None),  # without a number it is 0.5
        ("importance", 0.5, "high", 0.3, 0.3),
        ("archived_at", None, EARLY, LATE, LATE),
        ("updated_at", OLD, EARLY, LATE, LATE),
        ("memory_type", "fact", "pattern", "rule", "rule"),
        ("author", "x", "y", None, "y"),
        ("x_number", 1, 2, 3, 3),
        ("x_time", OLD, LATE, EARLY, LATE),
        ("x_list", [1, 2], [2], [1, 2, 3], [2, 3]),
        ("x_map", {"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "c": 3}, {"a": 2, "c": 3}),
        ("x_gone", "x", None, "y", "y"),
    ],
)
def test_both_sides_changed_one_field(field, base, ours, theirs, result):
    def version(value: object, updated_at: str) -> bytes:
        fields = {"updated_at": updated_at} if field != "updated_at" else {}
        return record(**fields, **({field: value} if value is not None else {}))

    found = merged(version(base, OLD), version(ours, EARLY), version(theirs, LATE))
    assert {id_: value.get(field) for id_, value in found.items()} == {"a": result}


def test_each_side_changed_another_field():
    base = record(tags=["x"], importance=0.5, zeta=1)
    assert merged(base, record(text="new", tags=["x"], importance=0.5, zeta=1), record(tags=["y"], importance=0.1))["a"] == {
        "content": "new", "created_at": OLD, "id": "a", "importance": 0.1, "tags": ["y"]
    }  # fmt: skip


def test_both_sides_changed_the_text():
    found = merged(record(), record(text="late", updated_at=LATE), record(text="early", updated_at=EARLY, zeta=[1]))
    other = copy_id("a", "early")
    assert {id_: value["content"] for id_, value in found.items()} == {"a": "late", other: "early"}
    assert (found[other]["conflict_of"], found[other]["zeta"]) == ("a", [1])


def test_a_text_of_an_unknown_key_that_loses_is_kept():
    found = merged(record(note="base"), record(note="ours", updated_at=LATE), record(note="theirs", updated_at=EARLY))
    assert sorted((value["note"], value.get("conflict_of")) for value in found.values()) == [
        ("ours", None),
        ("theirs", "a"),
    ]


def test_what_one_side_replaced_does_not_come_back_by_the_others_edit_or_copy():
    base = record("a", "port 8080")
    ours = record("a", "port 8080", archived_at=EARLY, updated_at=EARLY) + record("b", "port 8081", supersedes=["a"])
    theirs = record("a", "port 8080", tags=["net"], updated_at=LATE) + record("c", "Port 8080")
    done = merged(base, ours, theirs)
    assert {id_: one.get("archived_at") for id_, one in done.items()} == {"a": EARLY, "b": None, "c": EARLY}
    assert done["a"]["tags"] == ["net"]


def test_a_copy_that_was_there_before_stays_beside_what_was_replaced():
    base = record("a", "port 8080") + record("c", "port 8080")
    ours = (
        record("a", "port 8080", archived_at=EARLY) + record("b", "other", supersedes=["a"]) + record("c", "port 8080")
    )
    assert "archived_at" not in merged(base, ours, base + record("d", "news"))["c"]


def test_a_removal_holds_against_an_untouched_record():
    assert merged(record("a") + record("b"), record("a") + record("b"), record("b")).keys() == {"b"}


def test_an_edit_wins_over_a_removal():
    assert merged(record("a"), b"", record("a", importance=0.9))["a"]["importance"] == 0.9


def test_an_edit_by_hand_that_outlived_a_removal_is_not_taken_for_the_birth_of_another_edit():
    """As where a push was beaten twice: rebased onto the removal, then onto another edit that has outlived it."""
    base = record(text="born", created_at=EARLY, updated_at=EARLY)
    by_hand = record(text="by hand", created_at=EARLY, updated_at=EARLY)
    edited = record(text="edited", created_at=EARLY, updated_at=LATE)
    rebased = merge(base, b"", by_hand).data
    assert {value["content"] for value in merged(b"", edited, rebased).values()} == {"by hand", "edited"}
    assert merge(base, rebased, b"").data == rebased


def test_a_record_edited_in_the_very_moment_of_its_removal_stays():
    removal = b'{"deleted_at":"%s","id":"a"}\n' % LATE.encode()
    assert merged(b"", record("a", updated_at=LATE), removal)["a"]["content"] == "text"
    assert merged(b"", record("a", updated_at=EARLY), removal).get("a", {}).get("content") is None


def test_a_copy_that_both_sides_had_before_is_not_taken_for_a_stale_one():
    copy = record(copy_id("a", "base"), "base", conflict_of="a")
    base, ours, theirs = (record("a", text, updated_at=at) for text, at in (("base", OLD), ("x", EARLY), ("y", LATE)))
    found = merged(base + copy, ours + copy, theirs + copy)
    assert sorted(value["content"] for value in found.values()) == ["base", "x", "y"]


def test_a_copy_that_both_sides_keep_outlives_the_edits_that_they_kept_it_against():
    copy = record(copy_id("a", "one"), "one", conflict_of="a", updated_at=OLD)
    ours, theirs = (record(text=text, updated_at=time) + copy for text, time in (("two", EARLY), ("three", LATE)))
    found = merged(record(text="one", updated_at=OLD), ours, theirs)
    assert sorted(row["content"] for row in found.values()) == ["one", "three", "two"]


def test_a_copy_that_one_side_forgot_and_the_other_tagged_is_not_stale():
    copy, tagged = (record(copy_id("a", "one"), "one", conflict_of="a", tags=tags) for tags in ([], ["mine"]))
    base, ours, theirs = (
        record(text=text, updated_at=at) for text, at in (("one", OLD), ("two", EARLY), ("three", LATE))
    )
    found = merged(base + copy, ours, theirs + tagged)
    assert sorted(row["content"] for row in found.values()) == ["one", "three", "two"]


def test_an_unreadable_line_whose_record_is_gone_on_both_sides_stays_once():
    base, junk = record("b") + record("d"), b"# a note\n"
    ours, theirs = record("b") + junk, record("b") + record("c") + junk
    assert merge(base + junk, ours, theirs).data.count(junk) == 1
    assert merge(base + junk, theirs, ours).data.count(junk) == 1
    assert junk not in merge(base + junk, ours, base).data


def test_another_spelling_is_no_edit():
    spelled = b'{"id":"a", "created_at":"2026-01-01T00:00:00.000Z", "content":"\\u0074ext"}\n'
    assert merged(record("a"), b"", spelled) == {}
    assert merged(record("a"), spelled, record("a", text="new"))["a"]["content"] == "new"


def test_two_records_with_one_id_both_stay_and_references_follow():
    ours = record("a", "born first", created_at=EARLY) + record("b", "b", supersedes=["a"])
    theirs = record("a", "born later", created_at=LATE) + record("c", "c", supersedes=["a", "x"], links=["because:a"])
    found = merged(b"", ours, theirs)
    (renamed,) = found.keys() - {"a", "b", "c"}
    assert {id_: found[id_]["content"] for id_ in ("a", renamed)} == {"a": "born first", renamed: "born later"}
    assert (found["b"]["supersedes"], found["c"]["supersedes"]) == (["a"], [renamed, "x"])
    assert found["c"]["links"] == [f"because:{renamed}"]


def test_a_record_that_got_a_new_id_goes_on_merging_under_it():
    ours, theirs = record("a", "born first", created_at=EARLY), record("a", "born later", created_at=LATE)
    both = merge(b"", ours, theirs).data
    edited = record("a", "born later, edited", created_at=LATE)
    assert sorted(value["content"] for value in merged(theirs, both, edited).values()) == [
        "born first",
        "born later, edited",
    ]


def test_one_text_that_two_people_imported_is_one_record():
    found = merged(b"", record("a", tags=["x"]), record("a", created_at=LATE, tags=["y"]))
    assert {id_: value["tags"] for id_, value in found.items()} == {"a": ["x", "y"]}


@pytest.mark.parametrize(
    "value",
    ["123456789012345678901234567890", "1.10", "1e5", '"\\u00e9\\/"', '{ "b" : 1 , "a":[ ] }', "NaN", '"\\ud800"'],
)
def test_values_that_a_parser_would_change_keep_their_bytes(value):
    def line(text: str, tag: str) -> bytes:
        return f'{{"id":"a","content":"{text}","tags":["{tag}"],"zeta":{value},"zeta":{value}}}\n'.encode()

    done = merge(line("x", "t"), line("new", "t"), line("x", "u"))
    assert done.data == f'{{"content":"new","id":"a","tags":["u"],"zeta":{value},"zeta":{value}}}\n'.encode()


def test_a_file_in_utf_16_is_merged_and_comes_out_as_utf_8():
    ours = (record("a") + record("b", "é")).decode().encode("utf-16")
    assert {id_: value["content"] for id_, value in merged(record("a"), ours, record("a") + record("c")).items()} == {
        "a": "text", "b": "é", "c": "text"
    }  # fmt: skip


def test_the_bytes_do_not_depend_on_the_order_of_sets():
    code = (
        "import sys; from memsync.format.merge import merge; sys.path.insert(0, 'tests'); from helpers import memory_line as m\n"
        "side = lambda s, day: ''.join(m(f'i{n}', f'{s}{n}', tags=[s, f'{s}x', str(n)], updated_at=day, u={s: 1}) for n in range(9))\n"
        "junk = lambda s: f'{s} one\\n{s} two\\n'\n"
        "files = [(side(s, d) + junk(s)).encode() for s, d in zip('bot', ('2026-01-01', '2026-01-03', '2026-01-02'))]\n"
        "print(merge(*files))"
    )
    results = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    }
    assert len(results) == 1


CLAIMS = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "merge.md").read_text(encoding="utf-8"))


def test_every_claim_of_the_document_names_a_test_that_exists():
    written = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert len(CLAIMS) > 30
    assert set(CLAIMS) <= written
