"""The format as a document: the cases of `conformance`, which memsync and a reader that needs docs/format.md alone must both pass."""

from __future__ import annotations

import ast
import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest
import second_reader
from helpers import memsync

from memsync.format import jsonl, merge
from memsync.records import FIELDS, NO_EXTRA, format_time

ROOT = Path(__file__).parents[1]
CASES = ROOT / "conformance"
SCHEMA = json.loads((ROOT / "docs" / "format.schema.json").read_text(encoding="utf-8"))
UPDATE = bool(os.environ.get("MEMSYNC_UPDATE"))


def list_cases(kind: str) -> list[Path]:
    found = sorted(path for path in (CASES / kind).iterdir() if ".expected." not in path.name)
    assert len(found) > 10
    return found


def read(data: bytes) -> dict:
    """Return what memsync reads in a file, in the form of the cases."""
    lines = jsonl.read_lines(data)
    found = (line.memory for _, line in sorted(merge.current(lines).items()) if line.memory)
    records = []
    for memory in found:
        extra = {"extra": dict(memory.extra)} if memory.extra is not NO_EXTRA and memory.extra else {}
        said = {field.name: getattr(memory, field.name) for field in FIELDS}
        shown = {name: list(one) if isinstance(one, tuple) else one for name, one in said.items()}
        times = {
            field.name: format_time(said[field.name]) for field in FIELDS if field.kind == "time" and said[field.name]
        }
        defaults = {field.name: field.default for field in FIELDS}
        records.append({key: one for key, one in {**shown, **times}.items() if said[key] != defaults[key]} | extra)
    return {"records": records, "problems": [number for number, line in enumerate(lines, 1) if line.problem]}


def check(path: Path, done: bytes) -> None:
    if UPDATE:
        path.write_bytes(done)
    assert done == path.read_bytes()


@pytest.mark.parametrize("path", list_cases("read"), ids=lambda path: path.stem)
def test_a_file_is_read_as_the_case_says(path):
    check(path.with_suffix(".expected.json"), (json.dumps(read(path.read_bytes()), indent=1) + "\n").encode())
    assert second_reader.read(path.read_bytes()) == json.loads(path.with_suffix(".expected.json").read_bytes())


@pytest.mark.parametrize("path", list_cases("export"), ids=lambda path: path.stem)
def test_a_file_is_brought_to_canonical_form_as_the_case_says(path):
    data = path.read_bytes()
    check(path.with_suffix(".expected.jsonl"), jsonl.export(jsonl.read_lines(data)))
    assert second_reader.export(data) == path.with_suffix(".expected.jsonl").read_bytes()


@pytest.mark.parametrize("path", list_cases("merge"), ids=lambda path: path.stem)
def test_files_are_merged_as_the_case_says_from_either_side(path):
    base, ours, theirs = ((path / f"{name}.jsonl").read_bytes() for name in ("base", "ours", "theirs"))
    check(path / "expected.jsonl", merge.merge(base, ours, theirs).data)
    expected = (path / "expected.jsonl").read_bytes()
    assert merge.merge(base, theirs, ours).data == expected
    assert second_reader.merge(base, ours, theirs) == second_reader.merge(base, theirs, ours) == expected


# JSON Schema can tell neither depth nor NaN.
UNTOLD = ("nested-too-deep", "importance-out-of-range")


@pytest.mark.parametrize(
    "path", [path for path in list_cases("read") if path.stem not in UNTOLD], ids=lambda path: path.stem
)
def test_a_line_that_the_schema_takes_is_one_that_no_reader_reports(path):
    checker = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
    for raw in path.read_bytes().split(b"\n"):
        line = jsonl.read_line(raw)
        if line.id and checker.is_valid(json.loads(raw.decode("utf-8-sig"))):
            times = [one for one in ("created_at", "updated_at") if f"{one} is not" in (line.problem or "")]
            assert not line.problem or times  # of which the library checks none without another package


def test_the_schema_and_the_document_have_every_field_of_a_record_and_no_other():
    record, removal = SCHEMA["anyOf"]
    keys = {key for field in FIELDS for key in field.keys}
    assert record["properties"].keys() == keys | {"deleted_at"}
    assert removal["required"] == ["id", "deleted_at"]
    page = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    assert [key for key in keys if f"`{key}`" not in page] == []


def test_the_second_reader_is_small_and_knows_the_document_alone():
    text = Path(second_reader.__file__).read_text(encoding="utf-8")
    assert text.count("\n") <= 300
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= set(sys.stdlib_module_names)


def test_a_fault_is_named_with_its_file_and_line(repo):
    (repo.root / "ok.jsonl").write_text('{"content":"a","id":"a"}\n')
    (repo.root / "bad.jsonl").write_text('{"content":"a","id":"a"}\nx\n{"content":"b","id":"b","importance":7}\n')
    (repo.root / "big.jsonl").write_text(json.dumps({"content": "a", "id": "a", "tags": ["t"] * 101}) + "\n")
    (repo.root / "wide.jsonl").write_bytes('{"content":"a","id":"a"}\n'.encode("utf-16"))
    done = memsync("format", "validate", "ok.jsonl", cwd=repo.root)
    assert (done.code, done.out) == (0, "1 file, nothing is wrong\n")
    done = memsync("format", "validate", "ok.jsonl", "bad.jsonl", "big.jsonl", "wide.jsonl", "--json", cwd=repo.root)
    assert done.code == 1
    assert [fault.partition(": ")[0] for fault in done.json["faults"]] == [
        "bad.jsonl:2",
        "bad.jsonl:3",
        "big.jsonl:1",
        "wide.jsonl:1",
    ]


def test_without_a_file_the_projects_own_memories_and_tests_are_checked(repo):
    assert "no such file" in memsync("format", "validate", cwd=repo.root).err
    repo.write_memories('{"content":"a","id":"a"}\n<<<<<<< ours\n')
    (repo.root / ".gobby" / "tests.jsonl").write_text("{}\n")
    done = memsync("format", "validate", cwd=repo.root)
    assert done.code == 1
    assert "memories.jsonl:2: a git conflict" in done.out
    assert "tests.jsonl:1: it must ask one thing" in done.out
