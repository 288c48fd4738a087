"""A formatter that ran over the memory file: its memories are read, and the next write puts them back on a line each."""

from __future__ import annotations

import json

import pytest
from helpers import GitRepo, memsync
from hypothesis import given
from hypothesis import strategies as st

from memsync import Memsync
from memsync.format import jsonl
from memsync.format.merge import merge

RECORDS = [
    b'{"content":"first kettle","id":"mm-aaaaa1","updated_at":"2026-01-01T00:00:00.000Z"}',
    b'{"big":123456789012345678901234567890,"content":"second","id":"mm-aaaaa2","tags":["x","y"]}',
    b'{"content":"third","deep":{"a":[{"b":1.50}]},"id":"mm-aaaaa3","twice":1,"twice":2}',
]
GOOD = b'{"content":"a good line","id":"mm-bbbbb1"}'


@pytest.fixture
def repo(repo) -> GitRepo:
    """Return a repository with a folder for memories."""
    repo.memories.parent.mkdir(exist_ok=True)
    return repo


def spread_out(raw: bytes, indent: str = "  ") -> bytes:
    """Do what a formatter does, but keep the text of every value."""
    return raw.replace(b"{", b"{\n" + indent.encode()).replace(b",", b",\n" + indent.encode()).replace(b"}", b"\n}")


LAYOUTS = {
    "objects": lambda raws: b"\n".join(map(spread_out, raws)) + b"\n",
    "tabs and CRLF": lambda raws: b"\n".join(spread_out(raw, "\t") for raw in raws).replace(b"\n", b"\r\n") + b"\r\n",
    "an array": lambda raws: b"[\n" + b",\n".join(map(spread_out, raws)) + b"\n]\n",
    "an array on one line": lambda raws: b"[" + b",".join(raws) + b"]\n",
    "an array of lines": lambda raws: b"[\n" + b",\n".join(raws) + b"\n]\n",
    "blank lines between": lambda raws: b"\n\n".join(map(spread_out, raws)) + b"\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_a_formatter_did_is_read_said_once_and_fixed_to_the_byte(repo, layout):
    repo.memories.write_bytes(LAYOUTS[layout](RECORDS) + GOOD + b"\n")
    assert len(memsync("list", "--json", cwd=repo.root).json["memories"]) == 4
    said = memsync("doctor", cwd=repo.root)
    assert said.out.count("3 memories over several lines or in an array") == 1
    assert "not JSON" not in said.out
    memsync("doctor", "--fix", cwd=repo.root)
    assert repo.memories.read_bytes() == b"\n".join([*RECORDS, GOOD]) + b"\n"


@pytest.mark.parametrize("mode", ["worktree", "on-commit"])
def test_the_next_write_puts_each_on_its_line_and_an_edit_replaces_its_record(repo, mode):
    memsync("config", "memory_sync.mode", mode, "--global", cwd=repo.root)
    repo.memories.write_bytes(LAYOUTS["an array"](RECORDS))
    repo.git("add", "-A")
    repo.git("commit", "-qm", "formatted")
    memsync("update", "mm-aaaaa1", "-c", "first kettle, descaled", cwd=repo.root)
    memsync("forget", "mm-aaaaa2", cwd=repo.root)
    memsync("sync", cwd=repo.root)
    texts = {row["id"]: row["content"] for row in map(json.loads, repo.memories.read_text().splitlines())}
    assert texts == {"mm-aaaaa1": "first kettle, descaled", "mm-aaaaa3": "third"}


def test_who_follows_the_file_reads_what_others_append_to_it_over_several_lines(repo):
    repo.memories.write_bytes(GOOD + b"\n")
    with Memsync.open(repo.root) as project:
        assert len(project.list()) == 1
        with repo.memories.open("ab") as file:
            file.write(LAYOUTS["objects"](RECORDS))
        assert {entry.memory.id for entry in project.list()} == {"mm-bbbbb1", *(f"mm-aaaaa{n}" for n in (1, 2, 3))}


def test_whole_objects_between_conflict_markers_are_merged(repo):
    sides = (spread_out(raw) + b"\n" for raw in RECORDS[:2])
    repo.memories.write_bytes(b"<<<<<<< a\n" + b"=======\n".join(sides) + b">>>>>>> b\n")
    memsync("sync", cwd=repo.root)
    assert repo.memories.read_bytes() == b"\n".join(RECORDS[:2]) + b"\n"


def test_a_side_that_was_formatted_is_merged_record_by_record():
    base, edited = b"\n".join(RECORDS) + b"\n", b"\n".join([RECORDS[0].replace(b"first", b"1st"), *RECORDS[1:]]) + b"\n"
    for layout in LAYOUTS.values():
        assert merge(base, layout(RECORDS), edited).data == merge(base, edited, layout(RECORDS)).data == edited


def test_the_gate_reads_a_secret_that_only_the_record_shows(repo):
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in "AKIAQYLPMN5HHHFPZAM2")
    repo.memories.write_text(f'[\n{{\n"content": "the key is {escaped}",\n"id": "mm-a"\n}}\n]\n')
    repo.git("add", "-A")
    said = memsync("git", "check", cwd=repo.root)
    assert "memories.jsonl:1: looks like a secret" in said.out + said.err


@pytest.mark.parametrize(
    "text",
    [
        b'{\n  // a comment\n  "content": "x",\n  "id": "mm-a"\n}\n',
        b'{\n  "content": "x",\n  "links": [\n    {"content": "inner", "id": 5},\n  ],\n}\n',
        b'{\n  "memories": [\n    {\n      "content": "x"\n    }\n  ]\n}\n',
        b'[\n  {\n    "content": "x"\n  }\n] trailing\n',
        b"- content: x\n  id: mm-a\n",
        b"[]\n",
        b'[\n  "a",\n  "b"\n]\n',
        b'[[\n  {"content": "x", "id": "mm-a"}\n]]\n',
    ],
)
def test_what_is_not_json_of_records_stays_and_is_named(repo, text):
    repo.memories.write_bytes(text)
    memsync("doctor", "--fix", cwd=repo.root)
    assert repo.memories.read_bytes() == text
    assert "memories.jsonl:1: " in memsync("doctor", cwd=repo.root).out


def test_damage_ends_with_its_own_record():
    torn = b'{\n  "content": "torn",\n'
    found = jsonl.find(jsonl.read_lines(torn + LAYOUTS["objects"](RECORDS)))
    assert [record.raw for stretch in found for record in stretch.records] == RECORDS


@pytest.mark.parametrize(("damaged", "read"), [(999, 3), (1_000, 0)])
def test_after_a_thousand_damaged_records_the_rest_stays_as_it_is(damaged, read):
    lines = jsonl.read_lines(b'{\n  "content": "torn",\n' * damaged + LAYOUTS["an array"](RECORDS))
    assert sum(len(stretch.records) for stretch in jsonl.find(lines)) == read


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.lists(st.dictionaries(st.sampled_from(["x", "tags", "zeta"]), VALUES), min_size=1, max_size=4),
    st.sampled_from([0, 1, 2, 4, "\t"]),
    st.booleans(),
    st.booleans(),
)
def test_records_among_good_lines_come_back_whatever_the_indent(extras, indent, is_array, is_ascii):
    records = [{**extra, "id": f"mm-{number}", "content": "text"} for number, extra in enumerate(extras)]
    spell = lambda value: json.dumps(value, indent=indent, ensure_ascii=is_ascii)  # noqa: E731
    text = spell(records) if is_array else "\n".join(map(spell, records))
    data = GOOD + b"\n" + text.encode("utf-8", "surrogatepass") + b"\n" + GOOD + b"\n"
    mended = jsonl.mend(jsonl.read_lines(data))
    assert [line.raw for line in (mended[0], mended[-1])] == [GOOD, GOOD]
    assert [json.loads(line.raw) for line in mended[1:-1]] == records
