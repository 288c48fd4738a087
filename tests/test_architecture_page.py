"""docs/architecture.md is a map of what is there: every room and every file that it names exists, and no room is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "memsync"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CHANGES = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)[1:]
BLOCKS = re.findall(r"^```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("change", "where", "tests"), CHANGES, ids=[row[0] for row in CHANGES])
def test_the_place_for_a_change_is_there(change, where, tests):
    places = re.findall(r"`([\w./-]+)`", where)
    assert [place for place in places if not (PACKAGE / place).is_file()] == []
    assert [place for place in re.findall(r"`([\w./-]+)`", tests) if not (ROOT / place).exists()] == []
    assert places


def test_there_are_enough_changes_and_none_twice():
    named = [change for change, *_ in CHANGES]
    assert len(named) == len(set(named)) >= 10


def test_the_picture_shows_every_room_and_no_other():
    drawn = set(re.findall(r"\b(\w+)/(?!\w)", BLOCKS[0])) - {"local"}
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert drawn == rooms


def test_the_way_of_a_memory_goes_through_files_that_are_there():
    files = re.findall(r"\b[a-z]+/\w+\.py\b", BLOCKS[1])
    assert len(files) > 10
    assert [name for name in files if not (PACKAGE / name).is_file()] == []
