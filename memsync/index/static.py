"""The embedder that ships with memsync: static token vectors, a table in one mapped file.

Knows the tokenizer and the file; not where texts come from, nor how the table
was trained (docs/embedder.md). A query needs no numpy.
"""

from __future__ import annotations

import mmap
import re
import sys
import zlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from math import hypot
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memsync.index.scale import NOTHING, TELLING
from memsync.system.texts import Memo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MAGIC: Final = b"MSEMB002"
HEAD: Final = 56  # bytes: magic, SHA-256 of the rest, then in four each rows, dim, vocabulary bytes, notes bytes
_NUMBERS: Final = 40  # where these four stand
HASHED: Final = 509  # rows `#0` to `#508` stand for trigrams of unknown words
BUILTIN: Final = Path(__file__).with_name("embedder.bin")
WORDS: Final = "embedder.words"  # beside it: of each word the checksum, where it stands, and its row, sorted

_WORDS: Final = re.compile(r"[^\W_]+")
_EDGE: Final = "`'\",;:.!?()[]{}<>*-_"  # what stands around a word, and is none
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\x00-\x7f]+")
_MAX_WORD: Final = 256
_MAX_PIECE: Final = 24
_MEMO_CHUNKS: Final = 50_000


class FewWords:
    """The rows of a vocabulary, each looked up in a sorted file: a query has a dozen words, and a dictionary of 30,000 takes longer."""

    def __init__(self, text: memoryview, table: memoryview) -> None:
        count = len(table) // 3
        self._text = text
        self._checks, self._places, self._rows = table[:count], table[count : 2 * count], table[2 * count :]

    def get(self, word: str) -> int | None:
        """Return the row of *word*; None without one."""
        raw = word.encode("utf-8", "surrogatepass")
        check = zlib.crc32(raw)
        at = bisect_left(self._checks, check)
        while at < len(self._checks) and self._checks[at] == check:
            place = self._places[at]
            if bytes(self._text[place : place + len(raw) + 1]).removesuffix(b"\n") == raw:
                return self._rows[at]
            at += 1
        return None


class WordPieces:
    """Split developer prose into rows of the vocabulary, once per word.

    A word is looked up whole, then by the parts of its identifier
    (`readSymbolV2`: read symbol v 2), each cut greedily into the longest
    known pieces (`##` marks a piece inside a word, as in WordPiece).
    """

    def __init__(self, vocabulary: Mapping[str, int] | FewWords) -> None:
        self._rows = vocabulary
        self._memo = Memo(self.read_chunk, _MEMO_CHUNKS)
        self._words = Memo(self._read_word, _MEMO_CHUNKS)
        self._parts = Memo(self._cut, _MEMO_CHUNKS)

    def rows(self, text: str) -> list[int]:
        """Return the rows that *text* needs, in order, repeats kept."""
        return list(chain.from_iterable(map(self._memo.__getitem__, text.split())))

    def find(self, word: str) -> int | None:
        """Return the row of a whole *word*; None without one."""
        return self._rows.get(fold(word.strip(_EDGE)).casefold())

    def read_chunk(self, chunk: str) -> tuple[int, ...]:
        """Return the rows of what stands between white space: no word has any in it. It is not remembered."""
        if (bare := chunk.strip(_EDGE)).isalnum():  # as most are: one word
            return self._read_word(bare)
        return tuple(chain.from_iterable(map(self._words.__getitem__, _WORDS.findall(chunk))))

    def _read_word(self, word: str) -> tuple[int, ...]:
        plain = word[:_MAX_WORD]
        if not plain.isascii():
            plain = fold(plain)
        whole = self._rows.get(plain.casefold())
        if whole is not None:
            return (whole,)
        rows: list[int] = []
        for part in _PARTS.findall(plain):
            rows += self._parts[part.casefold()]
        return tuple(rows)

    def _cut(self, part: str) -> tuple[int, ...]:
        rows: list[int] = []
        rest, mark, find = part, "", self._rows.get
        while rest:
            for end in range(min(len(rest), _MAX_PIECE), 0, -1):
                row = find(mark + rest[:end])
                if row is not None:
                    rows.append(row)
                    rest, mark = rest[end:], "##"
                    break
            else:
                return tuple(self._grams(part))
        return tuple(rows)

    def _grams(self, part: str) -> list[int]:
        """Stand-ins for a word in letters that the vocabulary lacks: its hashed trigrams.

        They mean nothing, but a word then resembles itself and its inflections.
        """
        edged = f" {part} "
        grams = (edged[i : i + 3] for i in range(len(edged) - 2))
        names = (f"#{zlib.crc32(gram.encode('utf-8', 'replace')) % HASHED}" for gram in grams)
        return [row for name in names if (row := self._rows.get(name)) is not None]


def fold(word: str) -> str:
    """Drop accents and unify compatibility forms; case is kept for splitting."""
    if word.isascii():
        return word
    import unicodedata

    marks = unicodedata.normalize("NFKD", word.replace("ß", "ss"))
    return "".join(letter for letter in marks if not unicodedata.combining(letter))


class StaticEmbedder:
    """Weighted sum of the vectors of a text's tokens, of length 1.

    Opening reads only the head; the table is mapped and the vocabulary is
    parsed by the first text. Threads may share it.

    Raises:
        ValueError: *path* is no such file.
    """

    def __init__(self, path: Path = BUILTIN) -> None:
        with path.open("rb") as file:
            head = file.read(HEAD)
            if len(head) < HEAD or not head.startswith(MAGIC):
                raise ValueError(f"{path} is no memsync embedder; install memsync again")
            rows, dim, words, notes = (int.from_bytes(head[at : at + 4], "little") for at in range(_NUMBERS, HEAD, 4))
            self._digest = head[len(MAGIC) : _NUMBERS]
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._words_path = path.with_name(WORDS)
        self.dim: int = dim
        self._rows: int = rows
        self._text = slice(HEAD, HEAD + words)
        self._scales_at = -(-(HEAD + words + notes) // 64) * 64
        self._table_at = self._scales_at + 4 * rows

    @property
    def id(self) -> str:
        """The name of the vectors' space: the hash of the model's content."""
        return f"builtin-{self.dim}-{self._digest.hex()[:12]}"

    def intact(self) -> bool:
        """Tell whether the file is as it was made."""
        from hashlib import sha256

        return bool(sha256(self._map[_NUMBERS:]).digest() == self._digest)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; a text without a known word is all zeros."""
        import numpy as np

        totals = np.zeros((len(texts), self.dim))
        for total, text in zip(totals, texts, strict=True):
            self._sum_up(text, total)
        return _scale(totals)

    def query(self, text: str) -> list[float]:
        """Return the vector of one text, as `embed` does before it rounds to single precision, without numpy where that is not loaded: its import costs more.

        Both ways add the same numbers in the same order, so they agree to the last bit.
        """
        if "numpy" in sys.modules:
            return self._query_by_numpy(text)
        total = self._summed((self._few_tokens or self._tokens).rows(text))
        length = _length_of(total)
        return [x / length for x in total] if length else total

    def length_of(self, word: str) -> float | None:
        """Return the length of the row of a whole *word*: the rarer it is in all that the table was trained on, the longer; None of one that it lacks."""
        row = (self._few_tokens or self._tokens).find(word)
        if row is None:
            return None
        start = self._table_at + row * self.dim
        numbers = memoryview(self._map)[start : start + self.dim].cast("b").tolist()
        return memoryview(self._map)[self._scales_at : self._table_at].cast("f")[row] * hypot(*numbers)

    def _summed(self, rows: list[int]) -> list[float]:
        total = [0.0] * self.dim
        scales = memoryview(self._map)[self._scales_at : self._table_at].cast("f")
        for row in rows:
            start = self._table_at + row * self.dim
            scale = scales[row]
            numbers = memoryview(self._map)[start : start + self.dim].cast("b")
            total = [a + scale * b for a, b in zip(total, numbers, strict=True)]
        return total

    def _query_by_numpy(self, text: str) -> list[float]:
        import numpy as np

        total = np.zeros(self.dim)
        self._sum_up(text, total)
        length = _length_of(total.tolist())
        numbers: list[float] = (total / (length or 1.0)).tolist()
        return numbers

    def _sum_up(self, text: str, total: NDArray[np.float64]) -> None:
        import numpy as np

        rows, (scales, table) = np.array(self._tokens.rows(text), np.intp), self._arrays
        np.einsum("i,ij->j", scales[rows], table[rows], out=total)

    @cached_property
    def _arrays(self) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        import numpy as np

        scales = np.frombuffer(self._map, np.float32, self._rows, self._scales_at)
        table = np.frombuffer(self._map, np.int8, self._rows * self.dim, self._table_at)
        return scales.astype(np.float64), table.reshape(self._rows, self.dim)

    @cached_property
    def _few_tokens(self) -> WordPieces | None:
        """The same for few texts; None where there is no file for it, or one of another model."""
        try:
            with self._words_path.open("rb") as file:
                mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):  # missing, or empty
            return None
        digest, table = mapped[: len(self._digest)], mapped[len(self._digest) :]
        if digest != self._digest or len(table) != 12 * self._rows or sys.byteorder != "little":
            return None
        return WordPieces(FewWords(memoryview(self._map)[self._text], table.cast("I")))

    @cached_property
    def _tokens(self) -> WordPieces:
        words = str(self._map[self._text], "utf-8").split("\n")
        return WordPieces(dict(zip(words, range(len(words)), strict=True)))


@cache
def open_builtin() -> StaticEmbedder:
    """Return the one that ships with memsync, opened once for all projects of the process: each map takes a file descriptor."""
    return StaticEmbedder()


def tell(word: str) -> float:
    """Return how much it tells that a text has *word*, 0 to 1, however few records of a store have it: 1 of one that the table lacks, such as a name."""
    length = _LENGTHS[word]
    return 1.0 if length is None else min(max((length - NOTHING) / TELLING, 0.0), 1.0)


def is_known(word: str) -> bool:
    """Tell whether the table has *word* as it is written: then it is no typo."""
    return _LENGTHS[word] is not None


_LENGTHS: Final[Memo[str, float | None]] = Memo(lambda word: open_builtin().length_of(word), _MEMO_CHUNKS)


def _length_of(vector: Sequence[float]) -> float:
    return float(sum(map(mul, vector, vector)) ** 0.5)


def _scale(totals: NDArray[np.float64]) -> NDArray[np.float32]:
    import numpy as np

    lengths = np.sqrt(np.einsum("ij,ij->i", totals, totals))
    lengths[lengths == 0] = 1.0
    scaled: NDArray[np.float32] = (totals / lengths[:, None]).astype(np.float32)
    return scaled
