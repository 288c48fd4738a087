"""How the index uses an embedder: calibrated, whole numbers, out of the way when it fails."""

from __future__ import annotations

import logging
import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from searching import ask, change, record

from memsync.index.bulk import fill, make_index, read_vectors
from memsync.index.core import Index
from memsync.index.database import Database, Row
from memsync.index.embed import LEVELS, UNLIKE, EmbedderFailed, Meaning, unrelated_cosine, whole
from memsync.index.embedders import choose
from memsync.index.tokens import Tokenizer
from memsync.records import Memory


class Letters:
    """An embedder that counts letters, and fails while it is told to."""

    id = "letters"

    def __init__(self) -> None:
        self.broken = False
        self.asked: list[str] = []

    def embed(self, texts):
        if self.broken:
            raise EmbedderFailed("nobody answers")
        self.asked += texts
        rows = np.array([[text.count(chr(97 + n)) for n in range(26)] for text in texts], np.float32).reshape(-1, 26)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(lengths > 0, lengths, 1)

    def query(self, text):
        return self.embed([text])[0].tolist()


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=40))
def test_whole_numbers_and_their_scale_are_the_vector_again(vector):
    found = whole(vector)
    if found is None:
        assert not any(vector)
        return
    numbers, scale = found
    assert max(map(abs, numbers)) == LEVELS
    assert all(abs(n * scale - x) <= scale / 2 * 1.001 for n, x in zip(numbers, vector, strict=True))


def test_a_zero_vector_has_no_numbers():
    assert whole([0.0, 0.0]) is whole([]) is None


def test_an_embedder_is_measured_once_and_only_when_it_is_needed():
    letters = Letters()
    meaning = Meaning(letters)
    assert letters.asked == []
    first = meaning.unrelated
    assert (meaning.unrelated, letters.asked) == (first, list(UNLIKE))
    assert first == unrelated_cosine(letters.embed)
    assert 0 <= first <= 0.9


def test_what_was_measured_before_is_taken_over():
    letters = Letters()
    meaning = Meaning(letters)
    meaning.calibrate(0.25)
    assert (meaning.unrelated, letters.asked) == (0.25, [])


def test_a_failure_is_told_once_and_forgotten_when_it_works_again(caplog):
    letters = Letters()
    meaning = Meaning(letters)
    letters.broken = True
    with caplog.at_level(logging.WARNING):
        assert (meaning.embed(["x"]), meaning.query("x"), meaning.failed) == (None, None, "nobody answers")
    assert caplog.messages == ["searching by words only: nobody answers"]
    letters.broken = False
    assert (meaning.query("a"), meaning.failed) == (([127, *[0] * 25], pytest.approx(1 / 127)), "")


def test_the_setting_names_the_embedder():
    assert choose("none") is None
    assert choose("builtin").id.startswith("builtin-")
    with pytest.raises(ValueError, match="builtin"):
        choose("nonsense")


def index(letters: Letters, *contents: str) -> Index:
    return make_index([record(str(n), content) for n, content in enumerate(contents)], Meaning(letters))


def test_without_a_working_embedder_words_are_enough_and_the_answer_says_so():
    letters = Letters()
    letters.broken = True
    found = ask(index(letters, "use tabs", "use docker"), "tabs")
    expected = ask(make_index([record("0", "use tabs"), record("1", "use docker")], None), "tabs")
    assert found == expected._replace(degraded="nobody answers")
    assert found.ids == ["0"]


@pytest.mark.parametrize(
    ("weight", "asked", "counts"),
    [
        (0.12, "quick brown foxes jump over lazy dogs", 0.12),
        (0.12, "every morning quick brown foxes jump above lazy dogs behind painted fences", 0.2),
        (0.24, "every morning quick brown foxes jump above lazy dogs behind painted fences", 0.24),
    ],
)
def test_meaning_counts_for_more_in_a_long_query_unless_it_did_before(weight, asked, counts):
    found = make_index([record("a", asked)], Meaning(Letters(), weight)).search(asked, limit=1, allow=lambda *_: 0.0)
    assert (found.matches[0].parts.semantic, found.weight_of_meaning) == (pytest.approx(counts, rel=0.1), counts)


def test_a_query_that_fails_is_answered_by_words():
    letters = Letters()
    made = index(letters, "use tabs", "use docker")
    whole_answer = ask(made, "tabs")
    letters.broken = True
    found = ask(made, "tabs")
    assert (found.ids, found.degraded) == (["0"], "nobody answers")
    letters.broken = False
    assert ask(made, "tabs") == whole_answer
    assert whole_answer.degraded == ""


def test_a_memory_that_was_not_embedded_is_embedded_by_the_next_query_and_told_until_then():
    letters = Letters()
    made = index(letters, "use tabs", "use docker")
    letters.broken = True
    made.apply("project", [change("2", "kubernetes cluster")])
    answer = ask(made, "kubernetes")
    assert (answer.ids, answer.degraded) == (["2"], "nobody answers")
    letters.broken = False
    whole_answer = ask(index(letters, "use tabs", "use docker", "kubernetes cluster"), "kubernetes")
    assert ask(made, "kubernetes") == whole_answer
    assert whole_answer.degraded == ""


def rows_of(*contents: str) -> list[Row]:
    return [
        Row("project", Memory(id=str(n), content=content), b"", is_plain=True) for n, content in enumerate(contents)
    ]


def test_a_text_is_embedded_once_however_often_the_rows_are_made():
    letters, rows = Letters(), Database(sqlite3.connect(":memory:"))
    fill(rows, rows_of("use tabs", "use docker"), Tokenizer(), Meaning(letters))
    letters.asked.clear()
    fill(
        rows, rows_of("use docker", "kubernetes cluster", "use tabs"), Tokenizer(), Meaning(letters), read_vectors(rows)
    )
    assert letters.asked == ["kubernetes cluster"]
    assert rows.count_vectors() == (26, 3)


def test_what_an_outage_left_out_is_embedded_when_the_rows_are_made_again():
    letters, rows = Letters(), Database(sqlite3.connect(":memory:"))
    letters.broken = True
    fill(rows, rows_of("use tabs", "use docker"), Tokenizer(), Meaning(letters))
    assert rows.count_vectors() == (0, 0)
    letters.broken = False
    fill(rows, rows_of("use tabs", "use docker"), Tokenizer(), Meaning(letters), read_vectors(rows))
    assert rows.count_vectors() == (26, 2)
