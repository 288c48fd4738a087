"""One line: what is forgiven on reading, what an edit leaves alone."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from memsync.format.codec import decode, edit, encode, encode_tombstone, is_canonical
from memsync.records import Memory, derive_id

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
GOBBY = (
    b'{"id": "b1e2f3a4-5c6d-4e7f-8a9b-0c1d2e3f4a5b", "content": "Use tabs", "type": "preference", "importance": 0.8, '
    b'"tags": ["style"], "created_at": "2026-01-01T00:00:00+00:00", "updated_at": "2026-01-01T00:00:00Z", '
    b'"source": "session", "source_id": "s-1", "project_id": "p-1"}'
)


def line(rest: str, head: str = '"content":"x","id":"a"') -> bytes:
    return f"{{{head}{',' if rest else ''}{rest}}}".encode()


def test_gobbys_spelling_is_read():
    assert decode(GOBBY).memory == Memory(
        id="b1e2f3a4-5c6d-4e7f-8a9b-0c1d2e3f4a5b",
        content="Use tabs",
        memory_type="preference",
        importance=0.8,
        tags=("style",),
        source_type="session",
        source_session_id="s-1",
        created_at=NEW_YEAR,
        updated_at=NEW_YEAR,
        extra={"project_id": "p-1"},
    )


@pytest.mark.parametrize("ours", ["memory_type", "source_type", "source_session_id"])
def test_our_spelling_wins_over_gobbys_when_a_line_has_both(ours):
    other = {"memory_type": "type", "source_type": "source", "source_session_id": "source_id"}[ours]
    for rest in (f'"{ours}":"ours","{other}":"gobbys"', f'"{other}":"gobbys","{ours}":"ours"'):
        assert getattr(decode(line(rest)).memory, ours) == "ours"


def test_a_null_under_our_name_does_not_hide_gobbys_value():
    read = decode(line('"memory_type":null,"type":"pattern","source_type":null,"source":"skill"')).memory
    assert (read.memory_type, read.source_type) == ("pattern", "skill")


def test_an_edit_of_gobbys_line_keeps_gobbys_keys():
    changes = {"memory_type": "fact", "source_type": "user", "source_session_id": "s-2"}
    assert edit(GOBBY, changes) == (
        b'{"content":"Use tabs","created_at":"2026-01-01T00:00:00+00:00","id":"b1e2f3a4-5c6d-4e7f-8a9b-0c1d2e3f4a5b",'
        b'"importance":0.8,"project_id":"p-1","source":"user","source_id":"s-2","tags":["style"],"type":"fact",'
        b'"updated_at":"2026-01-01T00:00:00Z"}'
    )


def test_an_edit_sets_both_spellings_when_a_line_has_both():
    assert edit(line('"memory_type":"fact","type":"fact"'), {"memory_type": "pattern"}) == line(
        '"memory_type":"pattern","type":"pattern"'
    )


@pytest.mark.parametrize(
    "kept",
    [
        '"k":123456789012345678901234567890',
        '"k":1.10',
        '"k":1e5',
        '"k":-0',
        '"k":0.1000000000000000055511151231257827',
        '"k":NaN',
        '"k":{ "b" : [ 1,2 ,{} ] ,  "a":"  " }',
        '"k":"\\u00e9\\/\\u2028"',
        '"k":"\u2028\u0085"',
        '"k":"\\ud800"',
        '"importance":0.50',
        '"k":null,"tags":[ ]',
        '"\\u00e9t\\u00e9":1',
    ],
    ids=lambda kept: kept[:24],
)
def test_an_edit_keeps_the_bytes_of_what_it_does_not_name(kept):
    assert edit(line(kept), {"content": "y"}) == line(kept, '"content":"y","id":"a"')


@pytest.mark.parametrize(
    ("hidden", "kept"),
    [
        ('"k":1,"k":2', '"k":2'),
        ('"k":{"k":1,"k":2}', '"k":{"k":2}'),
        ('"k":[ 1.10,{"a":{"b":1},"a":3}]', '"k":[1.10,{"a":3}]'),
    ],
)
def test_an_edit_keeps_only_the_last_of_repeated_keys(hidden, kept):
    assert edit(line(hidden), {"content": "y"}) == line(kept, '"content":"y","id":"a"')


@pytest.mark.parametrize("depth", [100, 900, 1010])
def test_a_line_of_any_depth_can_be_edited_or_is_unreadable(depth):
    raw = line('"k":' + "[" * depth + "]" * depth)
    if decode(raw).memory:
        assert is_canonical(edit(raw, {"content": "y"}))
    else:
        assert decode(raw).problem


def test_an_edit_drops_every_copy_of_the_field_that_it_sets():
    assert edit(line('"author":"one","author":"two"'), {"author": "me"}) == b'{"author":"me","content":"x","id":"a"}'


def test_an_edit_takes_out_a_field_set_to_none():
    assert edit(line('"source":"user"'), {"source_type": None}) == line("")


def test_an_edit_of_a_windows_line_gives_a_plain_one():
    assert edit(b'\xef\xbb\xbf { "id" : "a" , "content" : "x" } \r', {"content": "y"}) == b'{"content":"y","id":"a"}'


def test_the_last_of_two_equal_keys_counts():
    assert decode(b'{"id":"a","content":"one","content":"two"}').memory == Memory(id="a", content="two")


def test_a_memory_is_spelled_with_sorted_keys_and_without_defaults():
    memory = Memory(
        id="mm-a", content="é\n\u2028", tags=("b", "a"), created_at=NEW_YEAR, extra={"zeta": {"b": 1, "a": []}}
    )
    assert (
        encode(memory)
        == (
            '{"content":"é\\n\\u2028","created_at":"2026-01-01T00:00:00.000Z","id":"mm-a","tags":["b","a"],'
            '"zeta":{"a":[],"b":1}}'
        ).encode()
    )


def test_text_that_is_not_unicode_is_escaped():
    assert encode(Memory(id="a", content="\ud800é")) == b'{"content":"\\ud800\\u00e9","id":"a"}'


def test_a_removal_is_read_as_one():
    read = decode(encode_tombstone("mm-a", NEW_YEAR))
    assert (read.id, read.memory, read.deleted_at, read.problem) == ("mm-a", None, NEW_YEAR, None)


@pytest.mark.parametrize(
    ("rest", "when"),
    [
        ('"_deleted":true,"updated_at":"2026-01-01"', NEW_YEAR),
        ('"deleted_at":"2026-01-01T00:00:00Z","updated_at":"2026-02-01"', NEW_YEAR),
        ('"deleted_at":"soon"', datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_removal_of_another_tool_is_one_unless_it_has_a_text(rest, when):
    read = decode(b'{"id":"a",' + rest.encode() + b"}")
    assert (read.id, read.memory, read.deleted_at) == ("a", None, when)
    with_text = decode(line(rest))
    assert (with_text.memory.content, with_text.deleted_at) == ("x", None)
    assert with_text.problem == "says that it was removed, but has a text; read as a memory"


@pytest.mark.parametrize("rest", ['"deleted_at":null', '"deleted_at":""', '"deleted_at":false', '"_deleted":false'])
def test_a_record_that_says_it_was_not_removed_is_alive(rest):
    memory = decode(line(rest)).memory
    assert (memory.id, memory.content) == ("a", "x")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"id":"a","content":"cut', "not JSON: Unterminated string starting at at column 21"),
        (b"", "not JSON: Expecting value at column 1"),
        (b"[1]", "not a JSON object"),
        (b"12", "not a JSON object"),
        (b'"text"', "not a JSON object"),
        (b'{"id":"a"}', "no content"),
        (b"{}", "no content"),
        (b'{"id":"a","content":7}', "the content is not text"),
        (b'{"id":7,"content":"x"}', "the id is not text"),
        (b'{"id":"","content":"x"}', "the id is not text"),
        (b'{"id":"mm-\\ud800","content":"x"}', "the id is not text"),
        (b'{"id":"mm-\\ud800","deleted_at":"2026-01-01T00:00:00Z"}', "the id is not text"),
        (b'{"id":"a","content":"caf\xe9"}', "not UTF-8: byte 0xe9 at byte 25"),
        (b"\xff\xfe{\x00", "not UTF-8: byte 0xff at byte 1"),
        (b"\x00\x01\x02", "not JSON: Expecting value at column 1"),
    ],
)
def test_a_line_that_cannot_be_read_says_why(raw, why):
    read = decode(raw)
    assert (read.id, read.memory, read.deleted_at, read.problem) == (None, None, None, why)


def test_a_line_beyond_what_python_reads_is_a_problem_and_no_crash():
    read = decode(b"[" * 100_000)
    assert read.memory is None
    assert read.problem == "nested more than 64 levels deep"


def test_a_number_of_any_size_is_read_and_keeps_its_digits():
    raw = b'{"content":"x","id":"a","k":' + b"9" * 5_000 + b"}"
    assert (decode(raw).problem, decode(raw).memory.extra) == (None, {"k": float("inf")})
    assert edit(raw, {"content": "y"}) == raw.replace(b'"x"', b'"y"')


@pytest.mark.parametrize(
    ("rest", "field", "value", "why"),
    [
        ('"importance":"high"', "importance", 0.5, "importance is not a number"),
        ('"importance":true', "importance", 0.5, "importance is not a number"),
        ('"importance":NaN', "importance", 0.5, "importance is not a number"),
        ('"importance":7', "importance", 1.0, "importance is not between 0 and 1"),
        ('"importance":-1', "importance", 0.0, "importance is not between 0 and 1"),
        ('"tags":7', "tags", (), "tags is not a list"),
        ('"tags":["a",7,""]', "tags", ("a",), "tags has entries that are not text"),
        ('"created_at":"soon"', "created_at", None, "created_at is not an ISO 8601 time"),
        ('"type":7', "memory_type", "fact", "the type is not text"),
        ('"source":[]', "source_type", "user", "the source is not text"),
    ],
)
def test_a_field_that_cannot_be_read_gives_its_default_and_a_note(rest, field, value, why):
    read = decode(line(rest))
    assert (getattr(read.memory, field), read.problem) == (value, why)


def test_an_importance_too_large_for_a_float_is_the_greatest():
    read = decode(line('"importance":' + "9" * 400))
    assert (read.memory.importance, read.problem) == (1.0, "importance is not between 0 and 1")


@pytest.mark.parametrize("rest", ['"importance":null', '"tags":null', '"tags":""', '"type":""', '"author":null'])
def test_an_empty_field_is_as_good_as_none(rest):
    read = decode(line(rest))
    assert (read.memory, read.problem) == (Memory(id="a", content="x"), None)


def test_tags_in_one_text_are_split_at_commas():
    assert decode(line('"tags":"one, two ,,three"')).memory.tags == ("one", "two", "three")


def test_a_line_written_by_hand_without_an_id_gets_a_stable_one():
    read = decode(b'{"content": "Use tabs"}')
    assert read.memory == Memory(id=derive_id("Use tabs"), content="Use tabs")
    assert (read.nameless, read.problem) == (True, f"no id; known as {derive_id('Use tabs')}")


def test_an_edit_gives_a_nameless_line_the_id_it_is_known_by():
    assert edit(b'{"content": "x"}', {"id": "mm-a", "content": "y"}) == b'{"content":"y","id":"mm-a"}'


@pytest.mark.parametrize("raw", [b'\xef\xbb\xbf{"id":"a","content":"x"}', b' {"id":"a","content":"x"}\r'])
def test_what_an_editor_puts_around_a_line_is_forgiven(raw):
    assert decode(raw).memory == Memory(id="a", content="x")


def test_line_ends_of_other_standards_stay_inside_a_text():
    assert decode(line('"k":"\u2028"', '"content":"a\u0085b\u2029","id":"a"')).memory.content == "a\u0085b\u2029"


def test_unknown_keys_come_in_the_order_of_the_line_in_every_process():
    keys = [f"k{number:02}" for number in range(20)]
    read = decode(json.dumps({"id": "a", "content": "x", **dict.fromkeys(keys)}).encode())
    assert list(read.memory.extra) == keys


@pytest.mark.parametrize(
    ("raw", "ours"),
    [
        (b'{"content":"x","id":"a"}', True),
        (b'{"content":"x","id":"a","k":1.10}', True),
        (b'{"content": "x","id":"a"}', False),
        (b'{"id":"a","content":"x"}', False),
    ],
)
def test_lines_that_memsync_spelled_are_told_from_others(raw, ours):
    assert is_canonical(raw) is ours
