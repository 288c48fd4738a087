"""Which of many texts may say the same as a new one, by shared words alone: for whole files at once, without an index."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import chain
from typing import Final

from memsync.dedup.reading import list_content

_COMMON: Final = 64  # texts from which a word says nothing; only texts made of such words alone are missed
_LOOKED_AT: Final = 32  # texts whose words are compared
_MOST: Final = 6  # texts nominated
_ALIKE: Final = 0.8  # share of the shorter text's words that must be in the other


class Nominees:
    """Texts by id, found again by their words; a text that holds all words of another, or nearly, is found by it."""

    def __init__(self, texts: Iterable[tuple[str, str]] = ()) -> None:
        self._ids: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._words: dict[str, frozenset[str]] = {}
        self._last: tuple[str, frozenset[str]] = "", frozenset()
        for id_, text in texts:
            self.put(id_, text)

    def put(self, id_: str, text: str) -> None:
        """Hold *text* under *id_*, in place of what was there."""
        for word in self._words.get(id_, ()):
            self._ids[word].pop(id_, None)
        words = self._words[id_] = self._read(text)
        for word in words:
            self._ids[word][id_] = None

    def near(self, text: str) -> list[str]:
        """Return the ids of the texts that share most words with *text*, the nearest first."""
        words = self._read(text)
        rare = [ids for word in words if 0 < len(ids := self._ids.get(word, {})) < _COMMON]
        most = len(words) - len(rare)  # that any text can have besides those it was found by
        shared = Counter(chain.from_iterable(rare))
        often = [id_ for id_, count in shared.items() if count > 1]
        likely = sorted(often if len(often) >= _LOOKED_AT else shared, key=shared.__getitem__, reverse=True)
        found = list[tuple[float, str]]()
        for id_ in likely[:_LOOKED_AT]:
            size = min(len(words), len(other := self._words[id_])) or 1
            if shared[id_] + most >= _ALIKE * size:
                found.append((len(words & other) / size, id_))
        return [id_ for share, id_ in sorted(found, key=lambda pair: (-pair[0], pair[1]))[:_MOST] if share >= _ALIKE]

    def _read(self, text: str) -> frozenset[str]:
        """Return the words of *text*; the last text is read once, to be looked for and then to be held."""
        if text != self._last[0]:
            self._last = text, frozenset(list_content(text))
        return self._last[1]
