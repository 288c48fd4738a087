"""The warm index: records in, ranked matches out. Knows records, not files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from memsync.index.gate import Lens
from memsync.index.lexical import Base, Forward, Grams, Lexical, SlotTerms, Spelling, saturate
from memsync.index.places import place_terms
from memsync.index.query import Query, parse
from memsync.index.rank import Allow, Candidates, Parts, Ranking, Record, rank, take_best
from memsync.index.scale import EXACT, IDENTIFIER, PATIENCE, WEIGHED, WIDENED, WORDLESS
from memsync.index.synonyms import Synonyms
from memsync.index.terms import embedding_text, is_word, live_anchors, text_key
from memsync.index.tokens import Tokenizer
from memsync.index.vectors import Rows, Vectors, quantise
from memsync.records import SCOPES, Change, Memory, Scope
from memsync.system.texts import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memsync.index.embed import Meaning
    from memsync.index.query import Query
    from memsync.index.synonyms import Words

# Lexical evidence of each record for a query: exact terms and words like them.
#
# Owns how term weights and likeness become one number per slot, on a scale that
# holds for every query and store.


_AT_ONCE: Final = 1 << 17  # postings that are added together: 4 MB while it is done


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Per slot: *lexical* score, and the share of the asked identifiers that are there, each as rare as it is.

    *alike* are the words that were taken for one that hardly any record has, *called* what else it is called.
    """

    lexical: NDArray[np.float64]
    exact: NDArray[np.float64]
    alike: Mapping[str, Sequence[tuple[str, float]]]
    called: Mapping[str, Sequence[tuple[Words, float]]]


def gather(query: Query, lexical: Lexical, spelling: Spelling, synonyms: Synonyms, slots: int) -> Evidence:
    """Score *slots* records for *query*.

    The sum of found weights is divided by the sum asked for plus that of
    PATIENCE unseen words: one matching word never looks like a full match,
    and a long prompt is not asked to match in full.
    """
    tally = _Tally(lexical, slots, len(query.chunks))
    asked, exact = 0.0, 0
    alike: dict[str, Sequence[tuple[str, float]]] = {}
    called: dict[str, Sequence[tuple[Words, float]]] = {}
    for term in query.terms:
        weight = lexical.weigh(seen := lexical.frequency(term))
        asked += weight
        if term.startswith(EXACT):
            exact += 1
            tally.add_exact(term, weight)
        elif seen > WIDENED:
            tally.add(term, weight)
        else:
            alike[term] = spelling.alike(term, lexical.frequency)
            called[term] = synonyms.find(term, query, lexical.frequency)
            others = [*(((word,), share) for word, share in alike[term]), *called[term]]
            likes = [(words, share * min(weight, *map(lexical.weight, words))) for words, share in others]
            tally.add_best([((term,), weight), *likes])
    if exact:
        tally.exact /= exact * lexical.ceiling
    scores = tally.scores / (asked + PATIENCE * lexical.ceiling)
    return Evidence(lexical=scores, exact=tally.exact, alike=alike, called=called)


class _Tally:
    """Adds up what the terms of a query count in each slot: not one by one, for that takes six times as long."""

    def __init__(self, lexical: Lexical, slots: int, asked: int) -> None:
        self._lexical = lexical
        self._norms = lexical.norms(asked)
        self._scores, self.exact = np.zeros(slots), np.zeros(slots)
        self._slots: list[NDArray[np.int32]] = []  # of each term that is not yet added
        self._counts: list[NDArray[Any]] = []
        self._weights: list[float] = []
        self._known: list[tuple[int, NDArray[np.float64]]] = []  # gains, by where they stand among those of all terms
        self._waiting = 0

    def add_exact(self, term: str, weight: float) -> None:
        self.add(term, weight)
        for slots, _ in self._lexical.parts(term):
            self.exact[slots] += weight

    def add(self, term: str, weight: float) -> None:
        """Add to each slot the gain that *term* has there."""
        for slots, counts in self._lexical.parts(term):
            self._wait(slots, counts, weight)

    def add_best(self, others: Sequence[tuple[Words, float]]) -> None:
        """Add to each slot the best gain that one of *others* has there, of which a slot has all words."""
        found = [(*self._postings_of_all(words), weight) for words, weight in others]
        found = [one for one in found if len(one[0])]
        if len(found) == 1:
            self._wait(*found[0])
        elif found:
            slots, gains = self._gains_of(*map(list, zip(*found, strict=True)))
            order = slots.argsort()
            slots, gains = slots[order], gains[order]
            first = np.flatnonzero(np.diff(slots, prepend=-1))
            best = np.maximum.reduceat(gains, first)
            self._known.append((self._waiting, best))
            self._wait(slots[first], best, 0.0)

    @property
    def scores(self) -> NDArray[np.float64]:
        """What was added to each slot."""
        self._settle()
        return self._scores

    def _wait(self, slots: NDArray[Any], counts: NDArray[Any], weight: float) -> None:
        self._slots.append(slots)
        self._counts.append(counts)
        self._weights.append(weight)
        self._waiting += len(slots)
        if self._waiting > _AT_ONCE:
            self._settle()

    def _settle(self) -> None:
        if not self._slots:
            return
        slots, gains = self._gains_of(self._slots, self._counts, self._weights)
        for start, known in self._known:
            gains[start : start + len(known)] = known
        self._scores = self._scores + np.bincount(slots, gains, len(self._scores))
        self._slots, self._counts, self._weights, self._known, self._waiting = [], [], [], [], 0

    def _gains_of(
        self, slots: Sequence[NDArray[Any]], counts: Sequence[NDArray[Any]], weights: Sequence[float]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return all *slots*, one after the other, and what a term of that weight, which is there so often, counts in each."""
        every = np.concatenate(slots, dtype=np.intp)
        gains = saturate(np.concatenate(counts), self._norms.take(every))
        gains *= np.repeat(weights, [len(one) for one in slots])
        return every, gains

    def _postings_of_all(self, words: Words) -> tuple[NDArray[np.int32], NDArray[Any]]:
        slots, counts = self._lexical.postings(words[0])
        for word in words[1:]:
            others, their = self._lexical.postings(word)
            slots, ours, theirs = np.intersect1d(slots, others, assume_unique=True, return_indices=True)
            counts = np.minimum(counts[ours], their[theirs])
        return slots, counts


# More changes than this at once, and building anew is quicker than one by one.
_MANY: Final = 500
# So many texts a query may embed on the side; more wait for the next process or a rebuild.
_FEW: Final = 256
_NO_VECTOR: Final = 0  # in the place of a text's key, which is never 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrays:
    """All that is derived from records, slot by slot, as the database has it; `texts` tell what was embedded."""

    texts: NDArray[np.uint64]
    base: Base
    forward: Forward | None  # without it a record is read again when somebody asks what it says
    grams: Grams
    vectors: Rows | None


class Index:
    """Records searchable by words, by likeness of words, and by meaning: *records*, slot by slot of the *arrays*.

    The same records give the same answers, whatever the order they came in. Threads may share it.
    """

    def __init__(
        self, records: Sequence[Record | None], arrays: Arrays, meaning: Meaning | None, *, stop_words: bool = True
    ) -> None:
        self._mutex = threading.RLock()
        self._meaning = meaning
        self._tokenizer = Tokenizer(stop_words=stop_words)
        self._synonyms = Synonyms(self._tokenizer.terms)
        self._made_texts: NDArray[np.uint64] | None = None
        # Apart: pairs of them would take 6 MB of 100,000 records.
        self._memories = [record[1] if record else None for record in records]
        self._scopes = bytearray(SCOPES.index(record[0]) if record else 0 for record in records)
        self._dead: list[int] = []
        self._texts = arrays.texts
        self._lexical, self._spelling = Lexical(arrays.base), Spelling(arrays.grams)
        self._said = SlotTerms(arrays.forward) if arrays.forward else None
        self._vectors = Vectors(arrays.vectors, meaning.unrelated) if arrays.vectors and meaning else None

    def apply(self, scope: Scope, changes: Sequence[Change]) -> bool:
        """Bring the index up to date with *changes* of one store; False if they are so many that making it anew is quicker."""
        if len(changes) > _MANY:
            return False
        with self._mutex:
            vectors = iter(self._vectors_of([change.after for change in changes if change.after]))
            slots = self._find_slots(scope, {change.id for change in changes if change.before})
            for change in changes:
                if (slot := slots.pop(change.id, None)) is not None:
                    self._clear(slot)
                if change.after:
                    slots[change.id] = len(self._memories)
                    self._put((scope, change.after), next(vectors))
        return True

    def _put(self, record: Record, vector: NDArray[np.float32] | None) -> None:
        slot, said = len(self._memories), self._tokenizer.record_terms(record[1])
        terms = said + self._tokenizer.hidden_terms(record[1])
        self._memories.append(record[1])
        self._scopes.append(SCOPES.index(record[0]))
        self._texts = np.append(self._texts, np.uint64(_NO_VECTOR if vector is None else text_key(record[1])))
        self._spelling.add(sorted({t for t in terms if is_word(t) and not self._lexical.frequency(t)}))
        self._lexical.add(slot, terms, place_terms(live_anchors(record[1])))
        if self._said:
            self._said.add(slot, self._lexical.number(terms), len(said))
        self._spelling.forget()
        if self._vectors is not None:
            self._vectors.append(np.zeros(self._vectors.dim, np.float32) if vector is None else vector)

    def _vectors_of(self, memories: Sequence[Memory]) -> Sequence[NDArray[np.float32] | None]:
        """Return the vector of each memory, asked for all at once; None where it cannot be had, or does not fit."""
        can = memories and self._meaning and self._vectors
        rows = self._meaning.embed([embedding_text(memory) for memory in memories]) if can and self._meaning else None
        fits = rows is not None and self._vectors is not None and rows.shape[1] == self._vectors.dim
        return list(rows) if rows is not None and fits else [None] * len(memories)

    def _find_slots(self, scope: Scope, ids: Collection[str]) -> dict[str, int]:
        """Return where the records *ids* of *scope* are: a look at all of them takes milliseconds, where each is takes 14 MB of 100,000."""
        if not ids:  # as after most writes
            return {}
        own, places = SCOPES.index(scope), zip(self._memories, self._scopes, strict=True)
        return {m.id: slot for slot, (m, its) in enumerate(places) if m and m.id in ids and its == own}

    def _clear(self, slot: int) -> None:
        memory, self._memories[slot] = self._memories[slot], None
        assert memory is not None
        terms = self._tokenizer.record_terms(memory) + self._tokenizer.hidden_terms(memory)
        self._dead.append(slot)
        self._lexical.remove(slot, terms + place_terms(live_anchors(memory)))
        if self._said:
            self._said.forget(slot)
        self._spelling.forget()
        if self._vectors is not None:
            self._vectors.clear(slot)

    def __len__(self) -> int:
        return len(self._memories) - len(self._dead)

    def _record(self, slot: int) -> Record | None:
        memory = self._memories[slot]
        return (SCOPES[self._scopes[slot]], memory) if memory else None

    def vectors(self) -> tuple[list[Record | None], Rows | None]:
        """Return the record of each slot, and the vectors."""
        with self._mutex:
            return [*map(self._record, range(len(self._memories)))], self._vectors.rows() if self._vectors else None

    def search(
        self,
        text: str,
        *,
        limit: int,
        allow: Allow,
        is_mine: Callable[[Memory], bool] = lambda _: False,
        weighed: int = WEIGHED,
    ) -> Ranking:
        """Return the best *limit* of the allowed records, and how far to trust the first *weighed*."""
        with self._mutex:
            query = parse(text, self._tokenizer, places=weighed > 0)
            found = gather(query, self._lexical, self._spelling, self._synonyms, len(self._memories))
            candidates = self._candidates(text, query, found)
            return rank(query, candidates, limit=limit, allow=allow, is_mine=is_mine, weighed=weighed)

    def find_sharing(self, terms: Iterable[int], share: float, *, limit: int, allow: Allow) -> list[Record]:
        """Return the *limit* allowed records that have *share* of the words with the numbers *terms*, or of their own, and the rarest."""
        with self._mutex:
            found = _falling(self._lexical.weigh_shared(sorted(terms), share))
            return take_best(found, self._record, limit, allow)

    def _candidates(self, text: str, query: Query, found: Evidence) -> Candidates:
        nothing = np.zeros_like(found.lexical)
        identifier = IDENTIFIER * found.exact if query.led else nothing
        wordy = found.lexical + identifier if query.led else found.lexical.copy()
        placed = query.find_placed(self._lexical.frequency, self._list_live)
        wordy[self._dead] = 0.0
        weight = self._meaning.weight(len(query.chunks)) if self._meaning else 0.0
        semantic = self._semantic(text, wordy, weight)
        meant = nothing if semantic is None else semantic
        scores = wordy + meant
        for slot, gain in placed.items():
            scores[slot] += gain
        wordy_of, meant_of, named_of, placed_of = found.lexical.item, meant.item, identifier.item, placed.get
        return Candidates(
            ordered=_falling(scores),
            record=self._record,
            parts=lambda slot: Parts(wordy_of(slot), meant_of(slot), named_of(slot), 0.0, placed_of(slot, 0.0)),
            lens=Lens(
                weight=self._lexical.weight,
                frequency=self._lexical.frequency,
                ceiling=self._lexical.ceiling,
                alike=found.alike,
                called=found.called,
                said=lambda slot, memory: self._said.read(slot) if self._said else self._tokenizer.read(memory),
                read=self._tokenizer.read,
                tokens=self._tokenizer.terms,
                live=len(self),
                weight_of_meaning=0.0 if semantic is None else weight,
            ),
            degraded=self._what_is_missing(),
            nearest=max(placed.values(), default=0.0),
        )

    def _list_live(self, term: str) -> list[int]:
        slots: list[int] = self._lexical.postings(term)[0].tolist()
        return [slot for slot in slots if self._memories[slot]]

    def _what_is_missing(self) -> str:
        if self._meaning is None or not len(self):
            return ""
        if self._vectors and self._have_vectors():
            return self._meaning.failed
        alive = np.ones(len(self._texts), bool)
        alive[self._dead] = False
        missing = int((self._texts[alive] == _NO_VECTOR).sum()) if self._vectors else len(self)
        if self._meaning.failed or not missing:
            return self._meaning.failed
        return f"{count(missing, 'memory')} without a vector yet; run `memsync index rebuild`"

    @property
    def made(self) -> tuple[int, int]:
        """The length of the vectors, and how many memories have one."""
        with self._mutex:
            live = [slot for slot, memory in enumerate(self._memories) if memory]
            return (self._vectors.dim, int((self._texts[live] != _NO_VECTOR).sum())) if self._vectors else (0, 0)

    def _semantic(self, text: str, wordy: NDArray[np.float64], weight: float) -> NDArray[np.float64] | None:
        asked = self._read_meaning(text)
        if asked is None:
            return None
        self._make_missing(len(asked[0]))
        if self._vectors is None:
            return None
        likeness = self._vectors.likeness(*asked, wordy)
        likeness[(wordy == 0) & (likeness < WORDLESS)] = 0.0
        return weight * likeness

    def _read_meaning(self, text: str) -> tuple[list[int], float] | None:
        """Return the vector of a query, as whole numbers with their scale."""
        return self._meaning.query(text) if self._meaning else None

    def _have_vectors(self) -> bool:
        """Tell whether all slots have one, the dead included; looked at again only when there are others."""
        if self._texts is not self._made_texts and (self._texts != _NO_VECTOR).all():
            self._made_texts = self._texts
        return self._texts is self._made_texts

    def _make_missing(self, dim: int) -> None:
        """Make the vectors that an outage or another model left out, if they are few enough for a query to wait."""
        assert self._meaning is not None
        if self._vectors is not None and self._vectors.dim == dim and self._have_vectors():
            return
        if self._vectors is None or self._vectors.dim != dim:
            empty = quantise(np.zeros((len(self._memories), dim), np.float32))
            self._vectors = Vectors(empty, self._meaning.unrelated)
            self._texts = np.zeros_like(self._texts)
        missing = np.flatnonzero(self._texts == _NO_VECTOR).tolist()
        wanted = [(slot, memory) for slot in missing if (memory := self._memories[slot])]
        if not wanted or len(wanted) > _FEW:
            return
        rows = self._meaning.embed([embedding_text(memory) for _, memory in wanted])
        if rows is not None and rows.shape[1] == dim:
            self._texts = np.array(self._texts)
            for (slot, memory), row in zip(wanted, rows, strict=True):
                self._vectors.put(slot, row)
                self._texts[slot] = text_key(memory)


def _falling(scores: NDArray[np.float64]) -> Iterator[tuple[float, int]]:
    """Yield the scores above zero with their slots, falling; sorts no more than is asked for."""
    slots = np.flatnonzero(scores > 0)
    left, count = scores[slots], 128  # most of a large store has nothing of a query
    while len(slots):
        first = left >= np.partition(left, -count)[-count] if count < len(left) else np.ones(len(left), bool)
        order = np.argsort(-left[first], kind="stable")
        yield from zip(left[first][order].tolist(), slots[first][order].tolist(), strict=True)
        slots, left, count = slots[~first], left[~first], 8 * count
