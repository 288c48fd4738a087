"""The embedder that ships: the same vectors with and without numpy, for any text."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsync.index.static import BUILTIN, HASHED, HEAD, WORDS, StaticEmbedder, WordPieces, tell

EMBEDDER = StaticEmbedder()
TEXTS = (
    "Run the tests with uv, never with pip.",
    "parseJsonFile in src/auth/login.py fails on a1b2c3d since v1.2.3",
    "Wir speichern nichts ohne Sicherung: Größenänderung, Straße, ÖPNV",
    "日本語のテキストも壊れない",
    "мы пишем тесты до кода",
    "اختبار العربية",
    "🙂 naïve café",
    "x" * 300,
)
NOTHING = ("", " \n\t", "...", "—", "\0", "\ud800", "🙂")


def cosine(one: str, other: str) -> float:
    a, b = EMBEDDER.embed([one, other])
    return float(a @ b)


@pytest.mark.parametrize("text", TEXTS + NOTHING)
def test_a_query_in_plain_python_is_the_vector_that_numpy_makes(text):
    assert np.abs(np.array(EMBEDDER.query(text)) - EMBEDDER.embed([text])[0]).max() < 1e-5


@pytest.mark.parametrize("text", [*TEXTS, " ".join(TEXTS)])
def test_a_query_has_the_same_numbers_without_numpy(text, monkeypatch):
    by_numpy = EMBEDDER.query(text)
    monkeypatch.delitem(sys.modules, "numpy")
    assert EMBEDDER.query(text) == by_numpy


@settings(max_examples=60)
@given(st.text(max_size=80))
def test_any_text_at_all_has_a_vector_of_length_one_or_none(text):
    row = EMBEDDER.embed([text])[0]
    length = float(np.linalg.norm(row))
    assert length == pytest.approx(1, abs=1e-5) or not row.any()
    assert np.abs(np.array(EMBEDDER.query(text)) - row).max() < 1e-5


@pytest.mark.parametrize("text", NOTHING)
def test_a_text_without_a_word_has_no_vector(text):
    assert (any(EMBEDDER.query(text)), bool(EMBEDDER.embed([text]).any())) == (False, False)


def test_a_vector_does_not_hang_on_what_it_is_made_with():
    together = EMBEDDER.embed([*TEXTS, *NOTHING] * 60)
    alone = np.vstack([EMBEDDER.embed([text]) for text in (*TEXTS, *NOTHING)])
    assert np.array_equal(together, np.vstack([alone] * 60))
    assert EMBEDDER.embed([]).shape == (0, EMBEDDER.dim)


def test_a_text_of_any_length_has_the_vector_of_its_words():
    words = "the parser drops the last column "
    assert np.abs(EMBEDDER.embed([words * 5_000]) - EMBEDDER.embed([words])).max() < 1e-5


def test_what_means_the_same_is_nearer_than_what_does_not():
    near = cosine("how do we release a new version", "publishing goes through the release job")
    assert near > cosine("how do we release a new version", "the cat sat on the mat") + 0.1


def test_spellings_of_one_identifier_are_near_and_case_does_not_count():
    assert cosine("read_symbol_table", "readSymbolTable") > 0.9
    assert cosine("DEPLOY ON FRIDAY", "deploy on friday") == pytest.approx(1)


def test_the_shipped_file_is_as_it_was_made_and_small():
    assert EMBEDDER.intact()
    assert BUILTIN.stat().st_size <= 8 * 2**20
    assert EMBEDDER.id == StaticEmbedder().id
    assert EMBEDDER.id.startswith(f"builtin-{EMBEDDER.dim}-")


@pytest.mark.parametrize("at", [HEAD, HEAD + 10_000, -1])
def test_a_damaged_copy_is_told(tmp_path, at):
    path = Path(shutil.copy(BUILTIN, tmp_path / "copy.bin"))
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    assert not StaticEmbedder(path).intact()


@pytest.mark.parametrize("data", [b"", b"MSEMB", b"MSEMB002", b"x" * 1000])
def test_another_file_is_refused(tmp_path, data):
    path = tmp_path / "other.bin"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="is no memsync embedder; install memsync again"):
        StaticEmbedder(path)


def test_a_query_loads_no_numpy():
    script = (
        "import sys; from memsync.index.embedders import choose; choose('builtin').query('deploy');"
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


VOCABULARY = {word: row for row, word in enumerate(("read", "symbol", "v", "2", "##s", "cafe", "strasse", "#7"))}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("read", [0]),
        ("Read, SYMBOL!", [0, 1]),
        ("readSymbolV2", [0, 1, 2, 3]),
        ("read_symbols", [0, 1, 4]),
        ("café Straße", [5, 6]),
        ("", []),
    ],
)
def test_identifiers_are_read_by_their_parts_and_words_by_pieces(text, rows):
    assert WordPieces(VOCABULARY).rows(text) == rows


def test_a_word_in_letters_that_the_vocabulary_lacks_has_rows_that_stand_in_and_are_always_the_same():
    vocabulary = {f"#{n}": n for n in range(HASHED)}
    one, again, other = (WordPieces(vocabulary).rows(word) for word in ("тесты", "ТЕСТЫ", "тест"))
    assert one == again
    assert (len(one), len(other), one[:3]) == (5, 4, other[:3])
    assert WordPieces(VOCABULARY).rows("тесты") == []


def test_a_long_word_is_cut_and_not_remembered():
    assert WordPieces(VOCABULARY).rows("read" + "s" * 1000) == [0] + [4] * 252


def test_a_query_finds_each_word_in_the_sorted_file_as_in_the_vocabulary():
    embedder = StaticEmbedder()
    words = str(embedder._map[embedder._text], "utf-8").split("\n")
    few = embedder._few_tokens
    assert few is not None
    assert [few._rows.get(word) for word in words] == list(range(len(words)))
    assert [few._rows.get(word) for word in ("", "nosuchword", "the\nof", "\ud800")] == [None] * 4
    text = "readSymbolV2 waits for an unheardofword in naïve ΩΩ code"
    assert few.rows(text) == embedder._tokens.rows(text)


def test_without_the_sorted_file_or_with_that_of_another_model_the_vocabulary_is_read(tmp_path):
    model = tmp_path / "embedder.bin"
    model.symlink_to(BUILTIN)
    alone = StaticEmbedder(model)
    assert alone._few_tokens is None
    (tmp_path / WORDS).write_bytes(bytes(32) + BUILTIN.with_name(WORDS).read_bytes()[32:])
    assert StaticEmbedder(model)._few_tokens is None
    assert alone.query("deploy the caches") == StaticEmbedder().query("deploy the caches")


def test_a_word_tells_more_the_fewer_texts_have_it_and_a_name_that_no_table_has_tells_all():
    assert tell("the") == 0 < tell("test") < tell("release") < tell("postgres") <= tell("symlink") == 1
    assert tell("get_total_of_cart") == tell("frobnicated") == tell("\ud800") == 1
    assert tell("Release,") == tell("release")
