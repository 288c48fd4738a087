"""Front matter: python-frontmatter with our fences, our YAML and its limits."""

from __future__ import annotations

import pytest

from memsync.skills import file
from memsync.skills.file import load_front


def test_keys_that_the_library_has_names_for_are_keys_like_others():
    text = "---\ndescription: x\ncontent: y\nhandler: z\nencoding: w\n---\nbody\n"
    assert load_front(text) == ({"description": "x", "content": "y", "handler": "z", "encoding": "w"}, [])
    assert file.read(text.encode(), "s").skill.description == "x"


def test_yaml_is_that_of_the_other_files():
    front, wrong = load_front("---\non: yes\nsince: 0o7\n---\n")
    assert (front, wrong) == ({"on": "yes", "since": 7}, [])


@pytest.mark.parametrize("head", ["a: [" * 40, "a: &a [x]\nb: !!python/object/apply:os.system [ls]\n", "- a\n- b\n"])
def test_what_is_too_much_or_no_mapping_is_a_problem_with_its_line(head):
    _, wrong = load_front(f"---\n{head}\n---\nbody\n")
    assert [problem.number >= 2 for problem in wrong] == [True]


def test_the_indentation_of_the_first_line_stays():
    assert file.read(b"---\nname: s\ndescription: d\n---\n    code\n", "s").skill.instructions == "    code"


def test_without_fences_there_is_nothing():
    assert load_front("no front matter\n") == ({}, [])
