"""`python -m benchmarks.pairs`: trying dedup on labelled pairs: how they are read, what becomes of them, and the figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.pairs import figures, read_pairs, try_all
from memsync.errors import ImportFailed

PAIRS = (
    {"k": "1", "a": "The tests need docker", "b": "the tests need Docker.", "label": "dup"},
    {"k": "2", "a": "The API listens on 8080", "b": "The API listens on 8081", "label": "sibling"},
    {
        "k": "3",
        "a": "GPU tests are skipped by default",
        "b": "GPU tests are skipped by default; pass `-m gpu` to run them",
        "label": "subsumes",
        "richer": "b",
    },
    {"k": "4", "a": "Never deploy on Fridays", "b": "Grandmother keeps bees", "label": "different"},
    {
        "k": "5",
        "a": "Invoices are rounded per line",
        "b": "Round per line when you invoice",
        "label": "dup",
        "lang": "en",
    },
)


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_each_pair_is_tried_alone_and_told(tmp_path):
    tried = list(try_all(read_pairs(written(tmp_path / "p.jsonl", PAIRS)), {"memory.author": "nobody"}))
    assert [each.as_dict() for each in tried[:4]] == [
        {"k": "1", "status": "exists", "kept": "a", "relation": "duplicate"},
        {"k": "2", "status": "created", "kept": "both", "relation": "contradicts"},
        {"k": "3", "status": "updated", "kept": "b", "relation": "contains"},
        {"k": "4", "status": "created", "kept": "both", "relation": "different"},
    ]
    assert (tried[4].status, tried[4].reported) == ("created", True)


def test_precision_and_recall_count_what_was_merged(tmp_path):
    tried = list(try_all(read_pairs(written(tmp_path / "p.jsonl", PAIRS)), {}))
    found = figures(tried)
    assert (found["pairs"], found["precision"], found["recall"]) == (5, 1.0, 0.6667)
    assert found["labels"]["dup"] == {
        "n": 2,
        "created": 0.5,
        "exists": 0.5,
        "updated": 0.0,
        "superseded": 0.0,
        "reported": 1.0,
        "contradicts": 0.0,
        "richer kept": None,
    }
    assert found["labels"]["subsumes"]["richer kept"] == 1.0
    assert figures([])["precision"] is None


def test_settings_count_and_those_of_the_user_do_not_leak_in(tmp_path):
    pairs = read_pairs(written(tmp_path / "p.jsonl", PAIRS[:1]))
    only_the_very_same = {"janitor.dedup.auto_reject_threshold": 1.0}
    assert [each.status for each in try_all(pairs, only_the_very_same)] == ["created"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"k": "1", "a": "x", "b": "y"}], "p.jsonl:1: the label is missing or not text"),
        ([PAIRS[0], PAIRS[0]], "p.jsonl:2: pair '1' is there twice"),
        ([{**PAIRS[0], "richer": "c"}], "p.jsonl:1: richer is 'c', neither a nor b"),
    ],
)
def test_a_line_that_is_no_pair_is_named(tmp_path, rows, said):
    with pytest.raises(ImportFailed) as caught:
        read_pairs(written(tmp_path / "p.jsonl", rows))
    assert said in str(caught.value)


def test_a_missing_file_says_what_it_would_hold(tmp_path):
    with pytest.raises(ImportFailed, match="no such file; pairs are JSON lines with k, a, b and label"):
        read_pairs(tmp_path / "none.jsonl")


def test_the_command_prints_the_figures_of_each_file(tmp_path):
    path = written(tmp_path / "p.jsonl", PAIRS[:2])
    run = [sys.executable, "-m", "benchmarks.pairs", str(path)]
    done = subprocess.run(run, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert (found["pairs"], found["precision"], found["recall"]) == (2, 1.0, 1.0)
    assert found["labels"]["sibling"]["contradicts"] == 1.0
