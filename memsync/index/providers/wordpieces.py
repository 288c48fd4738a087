"""BERT's uncased word pieces, as its tokenizer cuts them. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

LONGEST: Final = 256  # pieces of a text that are read, with both marks
_WORD: Final = 100  # letters of a word, beyond which it is no word


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
