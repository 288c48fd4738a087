"""How well recall answers questions that somebody has judged: suites, answers, figures."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from memsync.errors import ImportFailed
from memsync.format import jsonl
from memsync.format.codec import bare
from memsync.records import Memory
from memsync.store import files

if TYPE_CHECKING:
    from memsync.agents.injection import Injection
    from memsync.index.embed import Meaning

METRICS: Final = ("hit@1", "hit@5", "hit@10", "recall@10", "nDCG@5", "nDCG@10", "MRR")
KEPT: Final = 10  # hits kept of each answer, unless another depth is asked for
FACETS: Final = "facets.jsonl"
_FILES: Final = "a suite has corpus.jsonl, queries.jsonl and qrels.jsonl"
BINS: Final = 10  # of confidence, of equal width, from 0 to 1
FIGURES: Final = ("facts", "repeats", "off", "fact recall")
_FIRST: Final = 5  # facts that are enough
_MOST: Final = 10  # the highest judgement; its gain is 2^10 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question of a suite; `rels` says how relevant each judged record is, 0: not at all.

    `facts` names the distinct facts of the relevant records, where somebody has told them apart.
    """

    qid: str
    kind: str
    text: str
    rels: dict[str, int]
    facts: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_unanswerable(self) -> bool:
        """Whether the suite has no answer to it."""
        return self.kind.startswith("na_")

    @property
    def counts(self) -> bool:
        """Whether there is a judged answer to find."""
        return not self.is_unanswerable and any(rel > 0 for rel in self.rels.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Records, and questions about them."""

    name: str
    records: Sequence[Memory]
    queries: Sequence[Query]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What recall said to one question: ids with their scores, best first, and how far to trust them.

    `injected` are the ids of the lines that a session would be given for it; None if no session was asked.
    `folded` are those that such a line stands for, `headlines` those that it would be named where nothing is given. `confidences` say by id how sure each of the ranked is, 0 where nobody looked.
    """

    query: Query
    ranked: Sequence[tuple[str, float]]
    gate: float = 0.0
    degraded: str = ""
    injected: Sequence[str] | None = None
    folded: Sequence[str] = ()
    headlines: Sequence[str] = ()
    confidences: Mapping[str, float] = field(default_factory=dict)

    @property
    def ids(self) -> list[str]:
        """The ids, best first."""
        return [id_ for id_, _ in self.ranked]

    @property
    def shown(self) -> Sequence[str]:
        """The ids whose facts are counted: what is injected, else the first five."""
        return self.ids[:5] if self.injected is None else self.injected

    def as_dict(self) -> dict[str, Any]:
        """Return the line of a run."""
        sure = self.confidences
        ranked = [
            {"id": id_, "score": score, **({"confidence": sure[id_]} if id_ in sure else {})}
            for id_, score in self.ranked
        ]
        line = {"qid": self.query.qid, "ranked": ranked, "gate": self.gate}
        if self.injected is None:
            return line
        named = {"headlines": list(self.headlines)} if self.headlines else {}
        return line | {"injected": list(self.injected), "folded": list(self.folded)} | named


def read_suite(path: Path) -> Suite:
    """Read the folder *path*: corpus.jsonl, queries.jsonl and qrels.jsonl.

    Raises:
        ImportFailed: a file is missing, a line cannot be read, or names what is not there.
        StoreUnreadable: a file may not be read.
    """
    records = _read_corpus(path / "corpus.jsonl")
    queries: dict[str, Query] = {}
    for where, value in objects(path / "queries.jsonl"):
        qid, kind, text = (text_of(where, value, name) for name in ("qid", "kind", "text"))
        if qid in queries:
            raise ImportFailed(f"{where}: query {qid!r} is there twice; give each its own qid")
        queries[qid] = Query(qid=qid, kind=kind, text=text, rels={})
    for where, value in objects(path / "qrels.jsonl"):
        qid, id_, rel = text_of(where, value, "qid"), text_of(where, value, "id"), value.get("rel")
        if qid not in queries or id_ not in records:
            missing = f"query {qid!r} in queries" if qid not in queries else f"record {id_!r} in corpus"
            raise ImportFailed(f"{where}: there is no {missing}.jsonl; add it, or remove the line")
        if type(rel) is not int or not 0 <= rel <= _MOST:
            raise ImportFailed(f"{where}: rel is not a whole number from 0 (irrelevant) to {_MOST}; mend the line")
        queries[qid].rels[id_] = rel
    if (path / FACETS).exists():
        _read_facets(path / FACETS, queries)
    return Suite(name=str(path), records=list(records.values()), queries=list(queries.values()))


def _read_facets(path: Path, queries: Mapping[str, Query]) -> None:
    for where, value in objects(path):
        qid, id_, facts = text_of(where, value, "qid"), text_of(where, value, "id"), value.get("facts")
        if qid not in queries or type(facts) is not list:
            raise ImportFailed(f"{where}: the query is not in queries.jsonl, or facts is not a list; fix the line")
        queries[qid].facts[id_] = tuple(map(str, facts))


def _read_corpus(path: Path) -> dict[str, Memory]:
    lines = jsonl.read_lines(_read(path))
    for number, line in enumerate(lines, 1):
        if line.problem and line.id is None:
            raise ImportFailed(f"{path}:{number}: {line.problem}; mend or remove the line")
    return {id_: line.memory for id_, line in jsonl.current(lines).items() if line.memory}


def _read(path: Path, expected: str = _FILES) -> bytes:
    if not path.exists():
        raise ImportFailed(f"{path}: no such file; {expected}")
    return files.read(path)[0]


def objects(path: Path, expected: str = _FILES) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the object of each line that is not blank, and where it stands; *expected* says what a missing file is for.

    Raises:
        ImportFailed: the file is missing, or a line is no JSON object.
    """
    for number, raw in enumerate(_read(path, expected).split(b"\n"), 1):
        if not (raw := bare(raw)).strip():
            continue
        where = f"{path}:{number}"
        try:
            value = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise ImportFailed(f"{where}: not JSON ({error.msg} at column {error.colno}); mend the line") from None
        if type(value) is not dict:
            raise ImportFailed(f"{where}: not a JSON object; mend the line")
        yield where, value


def text_of(where: str, value: Mapping[str, Any], name: str) -> str:
    """Return the text under *name*.

    Raises:
        ImportFailed: there is none.
    """
    if type(found := value.get(name)) is str and found:
        return found
    raise ImportFailed(f"{where}: the {name} is missing or not text; mend the line")


def ask(
    suite: Suite,
    meaning: Meaning | None,
    *,
    stop_words: bool = True,
    depth: int = KEPT,
    inject: Callable[[str], Injection] | None = None,
    track: Callable[[Sequence[Query]], Iterable[Query]] = iter,
) -> Report:
    """Index the records of *suite* as a project's are, and put its questions to them, in order, through *track*.

    Archived records are left out, as in a recall. Importance and use do not reorder the first *depth*, so that the
    same suite gives the same figures on any day. What *inject* returns for a question is what a session is given.
    """
    from memsync.index.bulk import make_index

    index = make_index([("project", memory) for memory in suite.records], meaning, stop_words=stop_words)
    answers = []
    for query in track(suite.queries):
        found = index.search(query.text, limit=depth, allow=lambda _, memory: None if memory.archived_at else 0.0)
        ranked = [(match.memory.id, match.parts.score) for match in found.matches]
        given = inject(query.text) if inject else None
        answers.append(
            Answer(
                query=query,
                ranked=ranked,
                gate=found.gate,
                degraded=found.degraded,
                injected=[entry.id for entry in given.entries] if given else None,
                folded=[entry.id for entry in given.folded] if given else (),
                headlines=[entry.id for entry in given.headlines] if given else (),
                confidences={match.memory.id: match.confidence for match in found.matches},
            )
        )
    return Report(name=suite.name, records=len(index), answers=answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The answers to one suite or to several, and what they are worth."""

    name: str
    records: int
    answers: Sequence[Answer]

    def as_dict(self) -> dict[str, Any]:
        """Return the figures by kind and in all; a figure of nothing is None."""
        counted = [answer for answer in self.answers if answer.query.counts]
        nothing = [answer for answer in self.answers if answer.query.is_unanswerable]
        kinds = {kind: _figures(some) for kind, some in _by_kind(counted).items()}
        return {
            "suite": self.name,
            "records": self.records,
            "left_out": len(self.answers) - len(counted) - len(nothing),
            "degraded": next((answer.degraded for answer in self.answers if answer.degraded), ""),
            "kinds": kinds | {kind: _count(some) for kind, some in _by_kind(nothing).items()},
            "answerable": _figures(counted),
            "unanswerable": _count(nothing),
            "calibration": count_bins(self.answers),
            "auroc": auroc([answer.gate for answer in counted], [answer.gate for answer in nothing]),
        }


def together(reports: Sequence[Report]) -> Report:
    """Return one report over all answers of *reports*, each question counting once."""
    answers = [answer for report in reports for answer in report.answers]
    return Report(name="overall", records=sum(report.records for report in reports), answers=answers)


def _by_kind(answers: Iterable[Answer]) -> dict[str, list[Answer]]:
    kinds: dict[str, list[Answer]] = {}
    for answer in answers:
        kinds.setdefault(answer.query.kind, []).append(answer)
    return kinds


def _figures(answers: Sequence[Answer]) -> dict[str, Any]:
    each = [measure(answer.query.rels, answer.ids) for answer in answers]
    figures: dict[str, Any] = {name: _mean([one[name] for one in each]) for name in METRICS}
    given = [measure(a.query.rels, a.injected)["hit@5"] for a in answers if a.injected is not None]
    if given:
        figures["injected hit@5"] = _mean(given)
        named = [measure(a.query.rels, a.injected or a.headlines)["hit@5"] for a in answers if a.injected is not None]
        figures["served"] = _mean(named)
    if counted := [count_facts(a.shown, a.query.facts, a.query.rels) for a in answers if a.query.facts]:
        figures |= {name: _mean([value for one in counted if (value := one[name]) is not None]) for name in FIGURES}
    return _count(answers) | figures


def _count(answers: Sequence[Answer]) -> dict[str, Any]:
    given = [bool(answer.injected) for answer in answers if answer.injected is not None]
    named = {"headlines": _mean([bool(answer.headlines) for answer in answers])} if given else {}
    return {"n": len(answers), **({"injected": _mean(given)} if given else {}), **named}


def measure(rels: Mapping[str, int], ids: Sequence[str]) -> dict[str, float]:
    """Return every metric of one ranking, 0 to 1; *rels* has at least one above 0.

    A hit is a record of the best level that the question has; recall counts every relevant one,
    of at most 10. The gain of nDCG is 2^rel - 1, its ideal the best order of all that was judged.
    """
    best = max(rels.values())
    ranks = [rank for rank, id_ in enumerate(ids, 1) if rels.get(id_, 0) == best]
    first = ranks[0] if ranks else math.inf
    relevant = {id_ for id_, rel in rels.items() if rel > 0}
    hits = {f"hit@{k}": float(first <= k) for k in (1, 5, 10)}
    recall = len(relevant.intersection(ids[:10])) / min(10, len(relevant))
    gains = {f"nDCG@{k}": _ndcg(rels, ids, k) for k in (5, 10)}
    return {**hits, "recall@10": recall, **gains, "MRR": 1 / first}


def _ndcg(rels: Mapping[str, int], ids: Sequence[str], k: int) -> float:
    return _gain([rels.get(id_, 0) for id_ in ids[:k]]) / _gain(sorted(rels.values(), reverse=True)[:k])


def _gain(rels: Iterable[int]) -> float:
    return math.fsum((2.0**rel - 1) / math.log2(rank + 1) for rank, rel in enumerate(rels, 1))


def auroc(answerable: Sequence[float], unanswerable: Sequence[float]) -> float | None:
    """Return how often a gate of the first lies above one of the second, ties as half; None without a pair."""
    below = sorted(unanswerable)
    ranks = [(bisect_left(below, gate) + bisect_right(below, gate)) / 2 for gate in answerable]
    return round(sum(ranks) / (len(ranks) * len(below)), 4) if ranks and below else None


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def count_facts(
    shown: Sequence[str], facts: Mapping[str, Collection[str]], rels: Mapping[str, int]
) -> dict[str, float | None]:
    """Return the distinct facts of the list, the shares of it that only repeat or are off, and its share of the facts.

    An empty list has no shares; of more than five facts five are enough.
    """
    seen: set[str] = set()
    repeats = 0
    for id_ in shown:
        own = set(facts.get(id_, ()))
        repeats += bool(own) and own <= seen
        seen |= own
    off = sum(id_ not in facts and rels.get(id_, 0) < 1 for id_ in shown)
    first = {fact for id_ in shown[:_FIRST] for fact in facts.get(id_, ())}
    exist = {fact for own in facts.values() for fact in own}
    shares = (repeats / len(shown), off / len(shown)) if shown else (None, None)
    return dict(zip(FIGURES, (len(seen), *shares, min(1.0, len(first) / max(1, min(_FIRST, len(exist))))), strict=True))


def count_bins(answers: Iterable[Answer]) -> list[dict[str, Any]]:
    """Return for each tenth of confidence how many hits lie in it, how many of them are relevant, and the share; None of none.

    The hits of questions without an answer are irrelevant, and so is what nobody judged. Hits that nobody weighed are left out.
    """
    counts = [[0, 0] for _ in range(BINS)]
    for answer in answers:
        for id_, sure in answer.confidences.items():
            if sure > 0 and (answer.query.counts or answer.query.is_unanswerable):
                held = counts[min(int(sure * BINS), BINS - 1)]
                held[0] += 1
                held[1] += answer.query.rels.get(id_, 0) > 0
    return [
        {"from": at / BINS, "to": (at + 1) / BINS, "n": n, "relevant": hits, "share": round(hits / n, 4) if n else None}
        for at, (n, hits) in enumerate(counts)
    ]
