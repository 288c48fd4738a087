"""Why a recall found what it did, as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from memsync.index.synonyms import find_word
from memsync.memories.results import Hit, Recall

_PARTS: Final = ("lexical", "semantic", "identifier", "phrase", "place", "wording")


def explain_hit(found: Recall, hit: Hit) -> Iterator[str]:
    """Yield where the score of *hit* comes from, and by which other names it was found."""
    parts = " + ".join(f"{name} {hit.parts[name]:.3f}" for name in _PARTS if hit.parts[name])
    boost = f", moved by importance x {hit.parts['boost']:.2f}"
    yield f"confidence {hit.confidence:.2f}, score {hit.score:.3f} = {parts}{boost}"
    called = [
        f"{find_word(term, found.query or '')} as {' '.join(find_word(word, hit.content) for word in words)}"
        for term, words in found.find_called(hit).items()
    ]
    if called:
        yield f"found by another name: {', '.join(called)}"
