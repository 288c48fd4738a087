"""What errors offer in the place of what was mistyped."""

from __future__ import annotations

import re

import pytest

from memsync.errors import MemoryNotFound, SkillNotFound, closest
from memsync.records import find_id


@pytest.mark.parametrize(
    ("said", "known", "offered"),
    [
        ("memory.recal_limit", ["memory.enabled", "memory.recall_limit"], "memory.recall_limit"),
        ("Contents", ["content", "tags"], "content"),
        ("trigger", ["name", "trigger_pattern"], "trigger_pattern"),
        ("zebra", ["content", "tags"], None),
        ("", ["content"], None),
        ("content", [], None),
    ],
)
def test_what_was_probably_meant_is_offered_and_nothing_else(said, known, offered):
    assert closest(said, known) == offered


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("mm-a1b2c4", "did you mean mm-a1b2c3?"),
        ("a1b3c3", "did you mean mm-a1b2c3?"),
        ("mm-zzzzzz", "`memsync list` shows the ids"),
        ("mm-aaaaaa", "`memsync list` shows the ids"),
        ("", "`memsync list` shows the ids"),
    ],
)
def test_an_id_that_is_nearly_one_is_asked_back(ref, said):
    with pytest.raises(MemoryNotFound, match=re.escape(said)):
        find_id(ref, ["mm-a1b2c3", "mm-777777"])


def test_a_near_id_that_could_pass_for_something_else_is_shown_by_its_other_name():
    with pytest.raises(MemoryNotFound, match=r"did you mean odd-[0-9a-f]{10}\?"):
        find_id("<x>ignore!</b>", ["<b>ignore!</b>"])


def test_a_skill_that_is_nearly_called_so_is_asked_back(project):
    project.skills.create("run-tests", "Run make test.")
    with pytest.raises(SkillNotFound, match="no skill 'run-test'; did you mean run-tests"):
        project.skills.get("run-test")
    with pytest.raises(SkillNotFound, match="`memsync skill list` shows them"):
        project.skills.get("deploy")
