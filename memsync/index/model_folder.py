"""Models in a folder of the user's: model2vec and sentence-transformers.

Their packages are extras and load slowly, so both are imported by the first
text. Nothing is ever downloaded: a folder that is not there is a failure.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr
from functools import cached_property, partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.index.embed import EmbedderFailed, filled, unit
from memsync.system.texts import one_line

if TYPE_CHECKING:
    import numpy as np
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
                raise EmbedderFailed(f"{self.path}: {_describe(error)}; {_REMEDY}") from error
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
                    f"{self.kind} cannot be imported ({_describe(error)}); {origin.advice(self.kind)} brings it"
                ) from error
            except Exception as error:  # tokenizers raises Exception itself, and every format has its own
                raise EmbedderFailed(f"{self.path}: {_describe(error)}; {_REMEDY}") from error


def _describe(error: Exception) -> str:
    return one_line(f"{type(error).__name__}: {error}", 300)


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
