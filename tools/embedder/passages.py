"""Longer training texts, of the size of a memory, each with a query made from it.

A query is one of its sentences, a few of its rarer words, or a sentence in other words.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tools.embedder.generate import reword
from tools.embedder.sources import Text, good

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
_ASK = ("how to", "why", "what about", "where is", "when", "problem with", "", "", "", "", "", "")


def passages(texts: Iterable[Text], rng: random.Random) -> Iterator[Text]:
    """Join neighbouring texts under one heading to 25 to 75 words and make a query for each."""
    taken = [t for t in _joined(texts) if 25 <= len(t.text.split()) <= 75]
    common = Counter(w for t in taken for w in set(_words(t.text)))
    for t in taken:
        query, text = _query(t, rng, common)
        if query and good(text):
            yield Text(source="passages", text=text, head=query)


def _joined(texts: Iterable[Text]) -> Iterator[Text]:
    last: Text | None = None
    for t in texts:
        if last and t.head == last.head and len(last.text.split()) < 25:
            last = Text(source=t.source, text=f"{last.text} {t.text}", head=t.head)
            continue
        if last:
            yield last
        last = t
    if last:
        yield last


def _words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z_]{3,}", text.lower())


def _query(t: Text, rng: random.Random, common: Counter[str]) -> tuple[str, str]:
    """Return a query and what is left of the text to be found by it."""
    parts: Sequence[str] = _SENTENCE.split(t.text)
    kind = rng.random()
    if kind < 0.35 and len(parts) > 1:
        at = rng.randrange(len(parts))
        return parts[at], " ".join(p for i, p in enumerate(parts) if i != at)
    if kind < 0.65:
        words = list(dict.fromkeys(_words(t.text)))
        rare = set(sorted(words, key=lambda w: common[w])[: max(4, len(words) // 2)])
        chosen = set(rng.sample(sorted(rare), min(len(rare), rng.randint(2, 5))))
        return f"{rng.choice(_ASK)} {' '.join(w for w in words if w in chosen)}".strip(), t.text
    return reword(rng.choice(parts), rng, 0.8), t.text
