"""Which of many texts may say the same as a new one, by shared words alone: for whole files at once, without an index."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import chain, islice
from typing import Final

from memsync.dedup.reading import hold_content

_COMMON: Final = 64  # texts from which a word says nothing; only texts made of such words alone are missed
_LOOKED_AT: Final = 32  # texts whose words are compared
_MOST: Final = 6  # texts nominated
_ALIKE: Final = 0.8  # share of the shorter text's words that must be in the other


class Nominees:
    """Texts by id, found again by their words; a text that holds all words of another, or nearly, is found by it."""

    def __init__(self, texts: Iterable[tuple[str, str]] = ()) -> None:
        self._numbers: dict[str, int] = {}  # by id; they are counted in half the time
        self._ids: list[str] = []
        self._words: list[frozenset[str]] = []
        self._sizes: list[int] = []
        self._having = defaultdict[str, dict[int, None]](dict)
        self._last: tuple[str, frozenset[str]] = "", frozenset()
        self._waiting = [*texts]  # for one that somebody looks for in earnest

    def put(self, id_: str, text: str) -> None:
        """Hold *text* under *id_*, in place of what was there."""
        self._waiting.append((id_, text))

    def _take_in(self, id_: str, text: str) -> None:
        number = self._numbers.setdefault(id_, len(self._ids))
        if number == len(self._ids):
            self._ids.append(id_)
            self._words.append(frozenset())
            self._sizes.append(0)
        for word in self._words[number]:
            del self._having[word][number]
        words = self._words[number] = self._read(text)
        self._sizes[number] = len(words)
        having = self._having
        for word in words:
            having[word][number] = None

    def near(self, text: str) -> list[str]:
        """Return the ids of the texts that share most words with *text*, the nearest first."""
        for each in self._waiting:
            self._take_in(*each)
        self._waiting.clear()
        words, having, sizes = self._read(text), self._having, self._sizes
        in_order = sorted(words)  # a set has another order in each process, and not all texts are looked at
        known = [numbers for word in in_order if (numbers := having.get(word))]
        rare = [numbers for numbers in known if len(numbers) < _COMMON]
        size = len(words)
        most = len(known) - len(rare)  # that any text can have besides those it was found by
        shared = Counter(chain.from_iterable(rare))
        likely = [number for number, count in shared.items() if count > 1]
        likely.sort(key=shared.__getitem__, reverse=True)
        if len(likely) < _LOOKED_AT:  # then those with one word, as they come
            likely += islice((number for number, count in shared.items() if count == 1), _LOOKED_AT - len(likely))
        found = list[tuple[float, str]]()
        for number in likely[:_LOOKED_AT]:
            shorter = min(size, sizes[number])
            least = _ALIKE * shorter
            if shared[number] + most >= least and (both := len(words & self._words[number])) >= least:
                found.append((-both / shorter, self._ids[number]))
        return [id_ for _, id_ in sorted(found)[:_MOST]]

    def _read(self, text: str) -> frozenset[str]:
        """Return the words of *text*; the last text is read once, to be looked for and then to be held."""
        if text != self._last[0]:
            self._last = text, hold_content(text)
        return self._last[1]
