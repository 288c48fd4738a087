"""SKILL.md: a change touches its own lines and no others."""

from __future__ import annotations

import pytest

from memsync.errors import InvalidSkill
from memsync.skills import file as skillfile

BY_HAND = """\
---
# how we test
name: run-tests  # as the folder
description: >-
  How to run
  the tests

license: 'MIT'
tags: [testing,  "py test"]   # two of them
metadata:
  version: "1.0"
  # more to come

---

Run `make test`.

---

And read what it says."""


def changed(old: bytes, new: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return the lines that are only in the old and only in the new file, in order."""
    before, after = old.split(b"\n"), new.split(b"\n")
    same_start = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    rest = list(zip(reversed(before[same_start:]), reversed(after[same_start:]), strict=False))
    same_end = next((i for i, (a, b) in enumerate(rest) if a != b), len(rest))
    return before[same_start : len(before) - same_end], after[same_start : len(after) - same_end]


@pytest.fixture(params=["LF", "CRLF", "CRLF with BOM"])
def written(request) -> bytes:
    text = BY_HAND if request.param == "LF" else BY_HAND.replace("\n", "\r\n")
    return (("\ufeff" if "BOM" in request.param else "") + text).encode()


def test_a_file_by_hand_is_read_whole(written):
    file = skillfile.read(written, "run-tests")
    assert file.problems == ()
    assert file.skill.description == "How to run the tests"
    assert file.skill.tags == ("testing", "py test")
    assert file.skill.instructions == "Run `make test`.\n\n---\n\nAnd read what it says."
    assert file.skill.id.startswith("sk-")


@pytest.mark.parametrize(
    ("field", "value", "gone", "come"),
    [
        ("tags", ("ci",), b'tags: [testing,  "py test"]   # two of them', b"tags: [ci]   # two of them"),
        ("trigger_pattern", "a|b", None, b"  trigger-pattern: a|b"),
        ("trigger_pattern", "^a: b", None, b'  trigger-pattern: "^a: b"'),
        ("name", "test", b"name: run-tests  # as the folder", b"name: test  # as the folder"),
        ("tags", (), b'tags: [testing,  "py test"]   # two of them', None),
    ],
)
def test_an_edit_changes_exactly_the_touched_line(written, field, value, gone, come):
    new = skillfile.edit(written, {field: value})
    end = b"\r" if b"\r\n" in written else b""
    assert changed(written, new) == ([gone + end] if gone else [], [come + end] if come else [])
    assert getattr(skillfile.read(new, "test").skill, field) == value


def test_a_folded_value_gives_way_whole_and_its_neighbours_stay(written):
    new = skillfile.edit(written, {"description": "Use when: red"})
    end = b"\r" if b"\r\n" in written else b""
    gone, come = changed(written, new)
    assert [line.rstrip(b"\r") for line in gone] == [b"description: >-", b"  How to run", b"  the tests"]
    assert come == [b'description: "Use when: red"' + end]


def test_new_instructions_leave_the_front_matter_alone(written):
    new = skillfile.edit(written, {"instructions": "Do\nthat."})
    head = written.index(b"---", 10)
    assert new[:head] == written[:head]
    assert skillfile.read(new, "x").skill.instructions == "Do\nthat."


def test_an_edit_with_nothing_new_changes_no_byte(written):
    skill = skillfile.read(written, "run-tests").skill
    assert skillfile.edit(written, {"tags": skill.tags, "description": skill.description}) == written


@pytest.mark.parametrize(
    ("head", "changes", "wanted"),
    [
        ("name: x\nmetadata: {tags: a b, v: '1'}\n", {"tags": ("c",)}, "name: x\nmetadata: {tags: c, v: '1'}\n"),
        ("name: x\nmetadata: {}\n", {"tags": ("c",)}, "name: x\nmetadata: {tags: c}\n"),
        ("name: x\nmetadata:\nlicense: MIT\n", {"id": "sk-1"}, "name: x\nmetadata:\n  id: sk-1\nlicense: MIT\n"),
        ("tags:\n- a\n# end\n- b # c\nname: x\n", {"tags": ("z",)}, "tags:\n- z # c\nname: x\n"),
        ("name: x\nmetadata:\n  tags: a\n", {"tags": ()}, "name: x\n"),
        ("name: 'x'\n", {"name": "it's"}, "name: 'it''s'\n"),
        ('name: "x"\n', {"name": "y"}, 'name: "y"\n'),
        ("name: x\nmetadata:\n  a: b\n", {"description": "d"}, "name: x\ndescription: d\nmetadata:\n  a: b\n"),
        ("", {"name": "yes"}, 'name: "yes"\n'),
        ("name: x", {"tags": ("a b",)}, "name: x\nmetadata:\n  tags: a b,\n"),
    ],
)
def test_a_value_stays_where_and_how_the_file_has_it(head, changes, wanted):
    text = f"---\n{head}---\nbody" if head.endswith("\n") or not head else f"---\n{head}\n---\nbody"
    assert skillfile.edit(text.encode(), changes).decode() == f"---\n{wanted}---\nbody"


def test_a_file_without_front_matter_gets_one_and_keeps_its_text():
    new = skillfile.edit(b"\xef\xbb\xbfjust text", {"name": "x", "description": "d"})
    assert new == b"\xef\xbb\xbf---\nname: x\ndescription: d\n---\n\njust text"


@pytest.mark.parametrize("head", ["{name: x}\n", "a: &b c\nname: *b\n", "<<: {name: x}\n"])
def test_what_cannot_be_changed_alone_is_refused(head):
    with pytest.raises(InvalidSkill, match="by hand"):
        skillfile.edit(f"---\n{head}---\n".encode(), {"tags": ("z",), "name": None})


@pytest.mark.parametrize(
    ("data", "line", "why"),
    [
        (b"", 1, "no front matter"),
        (b"name: x\n", 1, "no front matter"),
        (b"---\nname: x\n", 1, "no front matter"),
        (b"---\nname: x\ndescription: Use when: y\n---\n", 3, "not YAML"),
        (b"---\nname: [a\n---\n", 3, "not YAML"),
        (b"---\n- a\n---\n", 2, "not a mapping"),
        (b"---\nname: x\n---\nok\n\xff\n", 5, "not UTF-8"),
        (b"---\nname: x\n<<<<<<< HEAD\ntags: a\n=======\ntags: b\n>>>>>>> b\n---\n", 3, "conflict"),
        (b"---\nname: \x00\n---\n", 2, "not YAML"),
    ],
)
def test_what_stands_in_the_way_is_told_with_its_line(data, line, why):
    problem = skillfile.read(data, "x").problems[0]
    assert (problem.number, why in problem.why) == (line, True), problem


def test_a_value_that_is_no_yaml_is_read_as_the_clients_do():
    file = skillfile.read(b"---\nname: x\ndescription: Use when: it rains\n---\nGo in.", "x")
    assert (file.skill.description, file.skill.instructions) == ("Use when: it rains", "Go in.")


def test_the_seeds_spelling_is_read():
    data = b"---\nid: sk-a1b2c3\nname: run-tests\ntrigger_pattern: test|pytest\ntags: [testing, pytest]\n---\n\n# Go\n"
    skill = skillfile.read(data, "run-tests").skill
    assert (skill.id, skill.trigger_pattern, skill.tags) == ("sk-a1b2c3", "test|pytest", ("testing", "pytest"))
