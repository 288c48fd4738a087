"""Reading other tools' files, and deciding on each item."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest
from helpers import memory_line

from memsync.errors import ImportFailed, UsageError
from memsync.format.codec import decode
from memsync.index.dedup import Thresholds
from memsync.memories.imports import Nominees, Plan
from memsync.records import Memory, content_hash
from memsync.transfer import sources
from memsync.transfer.readers import check_mapping, read_bytes

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def contents(data: str | bytes, name: str = "file.md", **settings: object) -> list[str]:
    data = data.encode() if isinstance(data, str) else data
    return [found.memory.content for found in read_bytes(data, name, **settings) if found.memory]


def told(data: str, name: str = "file.jsonl", **settings: object) -> list[tuple[str, str]]:
    """Return what was not read, and why."""
    return [(found.where, found.problem) for found in read_bytes(data.encode(), name, **settings) if not found.memory]


def planned(
    data: str, stored: tuple[Memory, ...] = (), name: str = "f.jsonl"
) -> tuple[Plan, list[tuple[str, str, str]]]:
    """Return the plan for *data* in a store that holds *stored*, with the outcome of each item."""
    by_id = {memory.id: memory for memory in stored}
    by_hash = {content_hash(memory.content): memory for memory in stored}
    plan = Plan(
        get=by_id.get,
        by_hash=by_hash.get,
        vet=lambda memory: memory,
        newer=lambda id_: [memory.id for memory in stored if id_ in memory.supersedes],
        like=Nominees((memory.id, memory.content) for memory in stored),
        thresholds=Thresholds(),
        is_taken=by_id.__contains__,
        count=len(by_id),
        now=NOW,
    )
    plan.take(read_bytes(data.encode(), name))
    return plan, [(o.status, o.id, o.reason) for o in plan.outcomes]


def test_gobbys_file_is_read_record_by_record():
    line = memory_line("uuid-1", "Use tabs", type="preference", importance=0.8, source="session", project_id="p")
    (found,) = read_bytes(line.encode(), "memories.jsonl")
    expected = Memory(
        id="uuid-1",
        content="Use tabs",
        memory_type="preference",
        importance=0.8,
        source_type="session",
        extra={"project_id": "p"},
    )
    assert (found.where, found.memory) == ("memories.jsonl:1", expected)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("m.jsonl", '{"content":"one"}\n{"content":"two"}\n'),
        ("m.NDJSON", '{"content":"one"}\n\n{"content":"two"}'),
        ("m.json", '[{"content":"one"},{"content":"two"}]'),
        ("m.json", '["one","two"]'),
        ("m.json", '{"version":1,"memories":[{"content":"one"},{"content":"two"}]}'),
        ("m.md", "# Facts\n- one\n* two\n"),
        ("m.markdown", "1. one\n2) two\n"),
        ("m", '{"content":"one"}\n{"content":"two"}\n'),
        ("m", '\n [{"content":"one"},"two"]'),
        ("m.txt", "Some text\n\n+ [ ] one\n+ [x] two\n"),
        ("m.json", '\ufeff["one","two"]'),
        ("m.md", "\ufeff- one\r\n- two\r\n"),
    ],
)
def test_the_format_is_known_by_the_name_and_else_by_the_content(name, data):
    assert contents(data, name) == ["one", "two"]


def test_the_format_can_be_said():
    assert contents('["one"]', "m.md", format_="json") == ["one"]


@pytest.mark.parametrize("tags", ["tags", "supersedes", "files"])
def test_a_json_file_that_is_one_record_is_one_memory(tags):
    assert contents(json.dumps({"content": "one", tags: ["a", "b"]}), "m.json") == ["one"]


def test_a_record_without_an_id_gets_none_from_the_reader():
    for name, data in (("m.jsonl", '{"content":"x"}'), ("m.json", '[{"content":"x"}]'), ("m.md", "- x")):
        assert [found.memory.id for found in read_bytes(data.encode(), name)] == [""]


def test_a_mapping_names_the_key_of_each_field_with_dots_for_nesting():
    item = {"uid": 7, "text": "Use tabs", "meta": {"kind": "preference", "at": EARLY}, "labels": ["a"], "content": "no"}
    mapping = {"id": "uid", "content": "text", "memory_type": "meta.kind", "created_at": "meta.at", "tags": "labels"}
    expected = Memory(
        id="7",
        content="Use tabs",
        memory_type="preference",
        tags=("a",),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    for name, data in (("m.jsonl", json.dumps(item)), ("m.json", json.dumps([item]))):
        assert [found.memory for found in read_bytes(data.encode(), name, mapping=mapping)] == [expected]


def test_what_a_mapping_leaves_out_is_left_out():
    (found,) = read_bytes(b'{"text":"x","importance":0.9,"more":1}', "m.jsonl", mapping={"content": "text"})
    assert found.memory == Memory(id="", content="x")


def test_a_mapping_to_a_field_that_there_is_not_is_refused():
    with pytest.raises(UsageError, match=re.escape("--map text=…: a memory has no field 'text'; it has anchors,")):
        check_mapping({"text": "content"})
    with pytest.raises(UsageError, match="Markdown bullets have no keys"):
        list(read_bytes(b"- x", "m.md", mapping={"content": "text"}))


def test_every_line_that_cannot_be_read_is_named_with_its_reason():
    data = '{"text":"x","n":1}\n\nnote\n[1]\n{"id":7,"content":"x"}\n{"content":"cut'
    assert told(data) == [
        ("file.jsonl:1", "no content; say which key holds it: --map content=KEY (here: text, n)"),
        ("file.jsonl:3", "not JSON: Expecting value at column 1"),
        ("file.jsonl:4", "not a JSON object"),
        ("file.jsonl:5", "the id is not text"),
        ("file.jsonl:6", "the last line was cut off (not JSON: Unterminated string starting at at column 12)"),
    ]


def test_every_item_that_cannot_be_read_is_named_with_its_reason():
    assert told('[7,{"text":"x"},"fine",null]', "m.json") == [
        ("m.json[1]", "not a JSON object"),
        ("m.json[2]", "no content; say which key holds it: --map content=KEY (here: text)"),
        ("m.json[4]", "not a JSON object"),
    ]


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("m.json", b"[1,", "m.json: not JSON"),
        ("m.json", b"7", "m.json: neither a list of objects nor an object"),
        ("m.json", b"[" * 100_000, "m.json: not JSON"),
        ("m.json", b'["caf\xe9"]', "m.json: not JSON"),
        ("m.md", b"- caf\xe9", "m.md: not UTF-8 at byte 6; save it as UTF-8"),
        ("m.md", "- x".encode("utf-16"), "m.md: is UTF-16; save it as UTF-8"),
        ("m.jsonl", "{}".encode("utf-16"), "m.jsonl: is UTF-16; save it as UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_at_all_is_refused_with_the_reason(name, data, why):
    with pytest.raises(ImportFailed, match=re.escape(why)):
        list(read_bytes(data, name))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ImportFailed, match=r"missing[.]md: no such file"):
        sources.read(tmp_path / "missing.md")


def test_an_empty_file_holds_nothing():
    assert [contents("", name) for name in ("m.jsonl", "m.md", "m")] == [[], [], []]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- one\n  goes on\n- two\n", ["one goes on", "two"]),
        ("- one\n  - and more\n    - and still\n- two\n", ["one and more and still", "two"]),
        ("- one\n\n  second paragraph\n\n- two\n", ["one second paragraph", "two"]),
        ("- one\n\n  - nested\n", ["one nested"]),
        ("- one\ngoes on\n\nno bullet\n", ["one goes on"]),
        ("- one\n\nno bullet\n\n- two\n", ["one", "two"]),
        ("- one\n# Heading\n- two\n", ["one", "two"]),
        ("```\n- code\n```\n- one\n", ["one"]),
        ("```\n~~~\n- code\n```\n- one\n", ["one"]),
        ("- one:\n  ```\n  - code\n  ```\n  then more\n", ["one: then more"]),
        ("- one\u2028still one\n- two\u0085\n", ["one\u2028still one", "two"]),
        ("- **bold** `code`\n", ["**bold** `code`"]),
        ("**bold**\n---\n-not a bullet\n*neither*\n1.5 is a number\n", []),
        ("-\n- \n- one\n", ["one"]),
    ],
)
def test_each_top_level_bullet_is_a_memory_with_all_that_belongs_to_it(text, expected):
    assert contents(text) == expected


def test_a_heading_gives_the_type_of_the_bullets_below_it():
    text = "- a\n# Preferences\n- b\n## Patterns ##\n- c\n# Project Context\n- d\n# Anything\n- e\n"
    found = [(one.where, one.memory.memory_type, one.memory.source_type) for one in read_bytes(text.encode(), "m.md")]
    assert found == [
        ("m.md:1", "fact", "import"),
        ("m.md:3", "preference", "import"),
        ("m.md:5", "pattern", "import"),
        ("m.md:7", "context", "import"),
        ("m.md:9", "fact", "import"),
    ]


def test_a_new_record_is_created_under_its_own_id_with_the_times_it_lacks():
    plan, outcomes = planned(memory_line("uuid-1", " x ", tags=["a", "a"]))
    assert outcomes == [("created", "uuid-1", "")]
    assert plan.added == {"uuid-1": Memory(id="uuid-1", content="x", tags=("a",), created_at=NOW, updated_at=NOW)}


def test_a_record_without_an_id_is_created_under_one_of_ours():
    plan, outcomes = planned("- x\n", name="m.md")
    ((status, id_, _),) = outcomes
    assert status == "created"
    assert re.fullmatch("mm-[a-z2-7]{6}", id_)
    assert list(plan.added) == [id_]


def test_copies_are_told_from_what_is_new():
    stored = (Memory(id="mm-a", content="Use tabs"),)
    data = (
        memory_line("mm-a", "use  TABS") + memory_line("b", "Use tabs") + memory_line("c", "x") + memory_line("d", "X")
    )
    assert planned(data, stored)[1] == [
        ("duplicate", "mm-a", "the same id and text"),
        ("duplicate", "mm-a", "the same text as mm-a"),
        ("created", "c", ""),
        ("duplicate", "c", "the same text as c"),
    ]


@pytest.mark.parametrize(
    ("theirs", "ours", "outcome"),
    [
        (LATE, EARLY, ("updated", "a", "newer than what was stored")),
        (EARLY, LATE, ("skipped", "a", "older than what is stored as a")),
        (EARLY, EARLY, ("skipped", "a", "older than what is stored as a")),
    ],
)
def test_of_two_texts_with_one_id_the_later_is_kept(theirs, ours, outcome):
    stored = (Memory(id="a", content="ours", updated_at=datetime.fromisoformat(ours)),)
    plan, outcomes = planned(memory_line("a", "theirs", updated_at=theirs), stored)
    assert outcomes == [outcome]
    assert [memory.content for memory in plan.edited.values()] == (["theirs"] if outcome[0] == "updated" else [])


@pytest.mark.parametrize(
    ("day", "tags", "status"), [("03", ["a", "b"], "updated"), ("02", ["a", "b"], "updated"), ("01", None, "duplicate")]
)
def test_of_one_text_with_one_id_the_tags_of_both_are_kept_unless_the_file_is_older(day, tags, status):
    stored = (Memory(id="a", content="x", tags=("a",), importance=0.9, updated_at=datetime(2026, 1, 2, tzinfo=UTC)),)
    plan, outcomes = planned(memory_line("a", "x", tags=["b"], importance=0.2, updated_at=f"2026-01-{day}"), stored)
    assert [outcome[0] for outcome in outcomes] == [status]
    assert [(list(m.tags), m.importance) for m in plan.edited.values()] == ([(tags, 0.9)] if tags else [])


def test_what_says_the_same_is_folded_in_as_by_remember():
    stored = (Memory(id="a", content="The tests need docker", tags=("ci",), created_at=NOW, updated_at=NOW),)
    data = (
        memory_line("b", "the tests need `docker`.")
        + memory_line("c", "The tests need docker; start it with `make up`.", tags=["make"])
        + memory_line("d", "The tests do not need docker")
    )
    plan, outcomes = planned(data, stored)
    assert [(status, id_) for status, id_, _ in outcomes] == [("duplicate", "a"), ("updated", "a"), ("created", "d")]
    assert plan.edited["a"].content == "The tests need docker; start it with `make up`."
    assert plan.edited["a"].tags == ("ci", "make")
    texts = [decode(row.rejected or b"").memory.content for row in plan.list_decisions("me")]
    assert texts == ["the tests need `docker`.", "The tests need docker"]


def test_items_of_one_file_are_folded_into_each_other():
    plan, outcomes = planned("- The tests need docker\n- the tests need `docker`.\n", name="notes.md")
    assert [status for status, *_ in outcomes] == ["created", "duplicate"]
    assert len(plan.added) == 1


def test_a_file_in_log_form_gives_its_last_word_on_each_id():
    data = memory_line("a", "one", updated_at=EARLY) + memory_line("a", "two", updated_at=LATE)
    assert [memory.content for memory in planned(data)[0].added.values()] == ["two"]


def test_what_the_file_says_was_removed_is_not_brought_in():
    data = memory_line("a", "x") + memory_line("b", "y") + '{"id":"a","deleted_at":"2026-01-03T00:00:00Z"}\n'
    assert list(planned(data)[0].added) == ["b"]


def test_what_only_the_base_of_a_conflict_has_is_not_brought_in():
    ours, base, theirs = memory_line("a", "x"), memory_line("b", "y"), memory_line("c", "z")
    data = f"<<<<<<< HEAD\n{ours}||||||| base\n{base}=======\n{theirs}>>>>>>> other\n"
    assert list(planned(data)[0].added) == ["a", "c"]


def test_a_text_that_the_same_import_replaces_is_no_reason_to_call_another_a_copy():
    stored = (Memory(id="a", content="old", updated_at=datetime(2026, 1, 1, tzinfo=UTC)),)
    plan, outcomes = planned(memory_line("a", "new", updated_at=LATE) + memory_line("b", "old"), stored)
    assert [status for status, _, _ in outcomes] == ["updated", "created"]
    assert list(plan.added) == ["b"]


def test_what_may_not_be_stored_is_skipped_with_the_reason():
    assert planned(memory_line("a", "  ") + '{"id":"b","content":"\\ud800"}\n' + "note\n")[1] == [
        ("skipped", "a", "the content is empty; say what to remember"),
        ("skipped", "b", "the content is not valid UTF-8 (at character 1); save or send it as UTF-8"),
        ("skipped", None, "not JSON: Expecting value at column 1"),
    ]


def test_an_import_does_not_bring_back_what_was_replaced():
    when = datetime(2026, 1, 2, tzinfo=UTC)
    old = Memory(id="mm-old", content="The API listens on port 8080", archived_at=when)
    new = Memory(id="mm-new", content="The platform chooses the ports", supersedes=("mm-old",))
    texts = ("The API listens on port 8080", "the API listens on port `8080`.")
    lines = "\n".join(memory_line(f"mm-{number}", text, created_at=LATE) for number, text in enumerate(texts))
    plan, outcomes = planned(f"{lines}\n{memory_line('mm-old', texts[0], updated_at=LATE)}", (old, new))
    assert [(status, id_) for status, id_, _ in outcomes] == [("duplicate", "mm-old")] * 3
    assert "was replaced by mm-new; `memsync restore mm-old` brings it back" in outcomes[0][2]
    assert (plan.added, plan.edited) == ({}, {})
