"""The record: ids, normal form, times, and what may be stored."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from helpers import memory_line

from memsync.errors import InvalidMemory
from memsync.records import (
    FIELDS,
    MAX_CONTENT,
    Fields,
    Memory,
    clean_content,
    clean_importance,
    clean_tags,
    clean_type,
    content_hash,
    derive_id,
    format_time,
    id_length,
    new_id,
    normal_form,
    parse_time,
    tick,
    valid_text,
)
from memsync.transfer import sources

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-15T12:00:00Z", NOON),
        ("2026-01-15T12:00:00.000Z", NOON),
        ("2026-01-15T12:00:00", NOON),
        ("2026-01-15 13:00:00+01:00", NOON),
        ("2026-01-15T12:00:00.123456+00:00", NOON + timedelta(microseconds=123456)),
        ("2026-01-15", NOON - timedelta(hours=12)),
        ("yesterday", None),
        ("", None),
        ("2026-02-30", None),
        ("0001-01-01T00:00:00+10:00", None),
        (1768478400, None),
        (None, None),
    ],
)
def test_a_time_is_read_as_utc_however_it_is_spelled(text, moment):
    assert parse_time(text) == moment


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (NOON, "2026-01-15T12:00:00.000Z"),
        (NOON + timedelta(microseconds=1999), "2026-01-15T12:00:00.001Z"),
        (datetime(2026, 1, 15, 13, tzinfo=timezone(timedelta(hours=1))), "2026-01-15T12:00:00.000Z"),
    ],
)
def test_a_time_is_written_in_utc_with_milliseconds(moment, text):
    assert format_time(moment) == text


@pytest.mark.parametrize("ahead", [timedelta(), timedelta(hours=1), timedelta(microseconds=-1)])
def test_an_edit_is_later_than_what_it_edits_even_if_the_clock_went_back(ahead):
    previous = NOON + ahead
    assert format_time(previous) < format_time(tick(NOON, previous))


def test_an_edit_of_a_record_from_the_end_of_time_is_possible():
    assert tick(NOON, parse_time("9999-12-31T23:59:59.999Z"))


def test_the_present_is_cut_to_the_milliseconds_that_a_line_can_hold():
    assert tick(NOON + timedelta(microseconds=1999), None) == NOON + timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Use tabs", "use TABS", True),
        ("Use tabs", "  use \t\n tabs  ", True),
        ("Use\u00a0tabs", "use tabs", True),
        ("Use tabs", "Use tabs.", False),
        ("port 8080", "port 8081", False),
        ("", "x", False),
    ],
)
def test_texts_are_the_same_when_only_case_and_white_space_differ(one, other, same):
    assert (content_hash(one) == content_hash(other)) is same


@pytest.mark.parametrize("space", [chr(code) for code in range(0x3001) if chr(code).isspace()])
def test_white_space_of_every_kind_is_folded_wherever_it_stands(space):
    assert [normal_form(f"{at}A{inside}B{at}") for at in ("", space) for inside in (f"{space}{space}", space)] == [
        "a b"
    ] * 4


def test_a_content_hash_of_text_that_is_not_unicode_can_be_had():
    assert len(content_hash("\ud800")) == 64


@pytest.mark.parametrize(
    ("count", "length"), [(0, 6), (1_000, 6), (4_633, 6), (4_635, 7), (10_000, 7), (100_000, 8), (1_000_000, 10)]
)
def test_ids_grow_with_the_store_so_that_two_branches_hardly_ever_choose_the_same(count, length):
    assert id_length(count) == length


def test_a_new_id_is_short_and_readable():
    assert re.fullmatch("mm-[a-z2-7]{6}", new_id("x", NOON, is_taken=lambda _: False, count=0))


def test_a_new_id_differs_for_the_same_text_at_the_same_time():
    assert len({new_id("x", NOON, is_taken=lambda _: False, count=10**6) for _ in range(50)}) == 50


def test_a_new_id_grows_while_it_is_taken():
    assert len(new_id("x", NOON, is_taken=lambda id_: len(id_) < len("mm-") + 9, count=0)) == len("mm-") + 9


def test_a_line_without_an_id_is_known_by_its_text():
    assert derive_id("Use tabs") == derive_id(" use  TABS") != derive_id("use spaces")
    assert re.fullmatch("mm-[a-z2-7]{10}", derive_id("Use tabs"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the content is empty"),
        (" \t\n\u2003", "the content is empty"),
        ("x" * (MAX_CONTENT + 1), "32,769 characters, more than 32,768"),
        ("caf\udce9", "not valid UTF-8 (at character 4)"),
    ],
)
def test_content_that_cannot_be_stored_is_refused_with_the_reason(text, why):
    with pytest.raises(InvalidMemory, match=re.escape(why)):
        clean_content(text)


def test_content_keeps_everything_but_the_white_space_around_it():
    assert clean_content("\n  two\u2028 lines\n\n  and \U0001f642 \n") == "two\u2028 lines\n\n  and \U0001f642"


def test_content_of_the_greatest_length_is_kept():
    assert clean_content("x" * MAX_CONTENT) == "x" * MAX_CONTENT


@pytest.mark.parametrize(("value", "kept"), [(0, 0.0), (1, 1.0), (0.123456, 0.1235), (0.7, 0.7)])
def test_importance_is_kept_to_four_decimals(value, kept):
    assert clean_importance(value) == kept


@pytest.mark.parametrize("value", [-0.0001, 1.0001, float("nan"), float("inf"), 7])
def test_importance_outside_0_to_1_is_refused(value):
    with pytest.raises(InvalidMemory, match="is not between 0 and 1"):
        clean_importance(value)


def test_tags_are_trimmed_and_named_once_in_their_order():
    assert clean_tags([" b ", "a", "", "b", "  ", "A"]) == ("b", "a", "A")


def test_a_type_of_any_name_is_allowed_but_not_an_empty_one():
    assert clean_type(" gotcha ") == "gotcha"
    with pytest.raises(InvalidMemory, match="the type is empty"):
        clean_type("  ")


def test_what_is_not_unicode_is_named_with_its_place():
    with pytest.raises(InvalidMemory, match=re.escape("the tag is not valid UTF-8 (at character 2)")):
        valid_text("a\ud800", "tag")


@pytest.mark.parametrize(
    "given",
    [
        {"tags": [f"t{n}" for n in range(101)]},
        {"tags": ["x" * 201]},
        {"memory_type": "x" * 201},
        {"source_type": "x" * 201},
    ],
)
def test_nobody_writes_hundreds_of_tags_or_names_as_long_as_a_text(project, given):
    with pytest.raises(InvalidMemory, match="more than"):
        project.remember("CI needs Node 20", **given)
    assert project.remember("CI needs Node 20", tags=[f"t{n}" for n in range(100)]).status == "created"


def test_a_record_that_has_too_much_already_is_read_and_kept(repo, project):
    tags = [f"t{n}" for n in range(1000)]
    line = memory_line("mm-aaaaaa", "CI needs Node 20", tags=tags)
    repo.write_memories(line)
    assert project.get("mm-aaaaaa").memory.tags == tuple(tags)
    assert project.remember("CI needs Node 20", tags=["one more"]).status == "exists"


@pytest.mark.parametrize(
    "fields",
    [
        {"id_": "m" * 300},
        {"tags": [f"t{n}" for n in range(1000)]},
        {"anchors": ["x" * 300]},
        {"supersedes": [f"mm-{n}" for n in range(200)]},
        {"unknown": "x" * 100_000},
    ],
)
def test_an_import_leaves_out_records_without_measure(repo, project, fields):
    path = repo.root / "other.jsonl"
    odd = {"id_": "mm-cccccc", "content": "CI needs Node 20", **fields}
    path.write_text(memory_line("mm-bbbbbb", "the tests need docker") + memory_line(**odd))
    report = project.import_(sources.read(path))
    assert (report.count("created"), report.count("skipped")) == (1, 1)


def test_the_table_of_fields_has_each_field_of_a_record_once_in_its_order():
    assert [*(field.name for field in FIELDS), "extra"] == [*Memory._fields]
    lists = {field.name for field in FIELDS if isinstance(field.default, tuple)}
    assert lists == {field.name for field in FIELDS if field.kind in ("list", "ids")}


def test_what_a_call_may_say_of_a_record_are_its_fields_but_for_those_that_are_ours_to_fill_in():
    ours = {"id", "content", "source_type", "source_session_id", "author", "conflict_of"}
    assert set(Fields.__annotations__) == {f.name for f in FIELDS if f.kind != "time"} - ours
