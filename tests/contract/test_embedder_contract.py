"""What every embedder keeps, whatever makes its vectors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from loopback import Loopback

from memsync.index.embed import Embedder
from memsync.index.embedders import choose, open_named
from memsync.index.static import StaticEmbedder

WORDS = "[UNK] the tests need docker deploy runs on friday use tabs not spaces café 日本語 naïve".split()
TEXTS = ("the tests need docker", "deploy runs on friday", "use tabs not spaces")
ODD = ("", "  \n\t", "\0", "\ud800", "🤷🏽‍♀️", "日本語 café naïve", "zzzz", "x" * 40_000, "the " * 3_000)


def tokenizer():
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    made = Tokenizer(WordLevel({word: row for row, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    return made


def table():
    return np.random.default_rng(7).normal(size=(len(WORDS), 24)).astype(np.float32)


def model2vec_folder(path: Path) -> Path:
    reason = "NOT TESTED: model2vec is not installed; `pip install model2vec`"
    model2vec = pytest.importorskip("model2vec", reason=reason)
    model2vec.StaticModel(vectors=table(), tokenizer=tokenizer(), config={}).save_pretrained(path)
    return path


@pytest.fixture(scope="session")
def sentence_transformers_folder(tmp_path_factory) -> Path:
    reason = "NOT TESTED: sentence-transformers is not installed; `pip install sentence-transformers`"
    package = pytest.importorskip("sentence_transformers", reason=reason)
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    path = tmp_path_factory.mktemp("models") / "tiny"
    module = StaticEmbedding(tokenizer(), embedding_weights=table())
    package.SentenceTransformer(modules=[module], device="cpu").save(str(path))
    return path


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as made:
        yield made


@pytest.fixture(params=["builtin", "model2vec", "sentence-transformers", "openai"])
def embedder(request, tmp_path) -> Embedder:
    match request.param:
        case "builtin":
            return StaticEmbedder()
        case "model2vec":
            return open_named(f"model2vec:{model2vec_folder(tmp_path / 'model')}")
        case "sentence-transformers":
            return open_named(f"sentence-transformers:{request.getfixturevalue('sentence_transformers_folder')}")
        case _:
            return open_named(request.getfixturevalue("server").spec)


class TestEmbedderContract:
    def test_every_row_has_length_one_or_none_and_is_float32(self, embedder):
        rows = embedder.embed((*TEXTS, *ODD))
        lengths = np.linalg.norm(rows, axis=1)
        assert (rows.dtype, len(rows)) == (np.float32, len(TEXTS) + len(ODD))
        assert all(length == pytest.approx(1, abs=1e-5) or length == 0 for length in lengths)
        assert lengths[: len(TEXTS)] == pytest.approx(1, abs=1e-5)

    def test_a_blank_text_has_no_meaning(self, embedder):
        assert not embedder.embed(["", "  \n\t", TEXTS[0]])[:2].any()
        assert not any(embedder.query(" "))

    def test_no_text_is_no_row_of_the_usual_length(self, embedder):
        assert embedder.embed([]).shape == (0, embedder.embed([TEXTS[0]]).shape[1])
        assert embedder.embed([""]).shape == embedder.embed([TEXTS[0]]).shape

    def test_a_row_does_not_hang_on_its_neighbours_or_its_place(self, embedder):
        together = embedder.embed(TEXTS)
        assert np.allclose(embedder.embed(TEXTS[::-1]), together[::-1], atol=1e-5)
        assert np.allclose(np.vstack([embedder.embed([text]) for text in TEXTS]), together, atol=1e-5)

    def test_more_texts_than_a_batch_keep_their_order(self, embedder):
        many = [TEXTS[number % 3] for number in range(1500)]
        assert np.allclose(embedder.embed(many), embedder.embed(TEXTS)[np.arange(1500) % 3], atol=1e-5)

    def test_a_query_is_embedded_as_a_text_is(self, embedder):
        asked = [embedder.query(text) for text in (*TEXTS, *ODD)]
        assert np.allclose(asked, embedder.embed((*TEXTS, *ODD)), atol=1e-5)
        assert all(type(x) is float for x in asked[0])

    def test_texts_with_the_same_words_are_more_alike_than_others(self, embedder):
        a, b, c = embedder.embed(["the tests need docker", "tests need docker", "use tabs not spaces"])
        assert a @ b > a @ c

    def test_the_id_stays_before_and_after_use_and_says_no_secret(self, embedder, monkeypatch):
        monkeypatch.setenv("MEMSYNC_EMBEDDER_KEY", "sk-secret")
        before = embedder.id
        embedder.embed(TEXTS)
        assert (embedder.id, "secret" in before, before == before.strip() != "") == (before, False, True)


def test_naming_an_embedder_loads_no_package_of_a_provider(tmp_path):
    code = (
        "import sys; from memsync.index.embedders import choose; choose(sys.argv[1]).id; "
        "print(*sorted({m.split('.')[0] for m in sys.modules} & set(sys.argv[2].split())))"
    )
    heavy = "torch transformers sentence_transformers model2vec tokenizers openai httpx"
    for spec in (f"model2vec:{tmp_path}", f"sentence-transformers:{tmp_path}", "openai:m@http://127.0.0.1:1/v1"):
        done = subprocess.run([sys.executable, "-c", code, spec, heavy], capture_output=True, text=True, check=True)
        assert done.stdout.split() == []
    assert choose("none") is None
