"""A result as JSON: its fields by their names, whatever it holds, in the order in which they were declared."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from memsync.memories.results import as_json


class Row(NamedTuple):
    path: Path
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    entry: Row = field(metadata={"json": "memory"})
    counts: dict[str, int]
    held: str | None = None


@dataclass(frozen=True)
class Shaped:
    rows: tuple[Row, ...]

    def as_dict(self):
        return {"count": len(self.rows), "rows": self.rows}


ROW = Row(Path("a/b"), ("x", "y"))


@pytest.mark.parametrize("plain", [None, True, 0, 0.25, "text", "", [], {}, {"a": [1, None]}])
def test_what_json_can_say_stays(plain):
    assert as_json(plain) == plain


def test_a_result_is_said_by_its_fields_in_their_order_and_under_the_name_that_a_field_has_in_json():
    said = as_json(Result(ROW, {"project": 2}))
    assert json.dumps(said) == json.dumps(
        {"memory": {"path": str(Path("a/b")), "tags": ["x", "y"]}, "counts": {"project": 2}, "held": None}
    )


def test_a_result_that_says_itself_may_leave_results_in_it():
    assert as_json([Shaped((ROW,))]) == [{"count": 1, "rows": [{"path": str(Path("a/b")), "tags": ["x", "y"]}]}]
