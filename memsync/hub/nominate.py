"""Which records of the hub may answer a query: PostgreSQL's part. It nominates; the index of memsync scores and ranks.

Runs on a connection that sees only what its principal may read, and names those repositories in each query as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from memsync.hub import binary
from memsync.hub.database import NEAREST, set_locally
from memsync.hub.ingest import key_of, read_row, spell_vector
from memsync.hub.sample import Counted, Whole, alike_words, rows_of
from memsync.index.query import Query
from memsync.index.rank import Record
from memsync.index.scale import NOMINATED, PLACE, WIDENED
from memsync.index.synonyms import Synonyms
from memsync.index.terms import trigrams
from memsync.index.vectors import Rows
from memsync.records import Memory

if TYPE_CHECKING:
    from psycopg import Connection

BY_WORDS: Final = 150
BY_MEANING: Final = NEAREST  # on 11 suites among 103,279 records 250 of each found no more
_FURTHER: Final = (1, 4, 16)  # times as many, where most of them are copies of each other
_ENOUGH: Final = 60  # different texts: more are not ranked for an answer
FEW: Final = 30_000  # records below which all their vectors are compared
_LEAST_TERMS: Final = 2
_MOST_TERMS: Final = 12
_SCANNED: Final = 20_000  # vectors that pgvector looks at, at most, where it is told nothing
_POSTINGS: Final = 10_000  # that one query reads at most, beyond its rarest terms, and of one term at all
_WIDE: Final = 0.2  # share of the hub from which the list of repositories sieves, instead of leading
_CLOSE: Final = 1_000  # words with most trigrams in common, of which it is known then how many more they have
_LIKE: Final = 64  # words that are compared with an unknown one
_WORDS: Final = 4_000  # words that are looked at for one trigram: "item" begins a million names somewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a principal narrows a query to; applied before anything is cut."""

    repositories: tuple[str, ...] = ()
    kind: str = "memory"
    memory_type: str | None = None
    tags_all: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    tags_none: tuple[str, ...] = ()
    min_importance: float = 0.0

    @property
    def is_narrow(self) -> bool:
        """Whether anything but the kind is asked for."""
        return self != Filters(kind=self.kind)

    def where(self) -> tuple[str, dict[str, Any]]:
        """Return the condition on a row `r` of records, "" without one, and its values."""
        parts = {
            "r.memory_type = %(type)s": self.memory_type,
            "r.tags @> %(tags_all)s::text[]": self.tags_all,
            "r.tags && %(tags_any)s::text[]": self.tags_any,
            "not r.tags && %(tags_none)s::text[]": self.tags_none,
            "r.importance >= %(least)s": self.min_importance,
        }
        values = {
            "type": self.memory_type,
            "least": self.min_importance,
            **{name: [tag.lower() for tag in getattr(self, name)] for name in ("tags_all", "tags_any", "tags_none")},
        }
        return " and ".join(part for part, value in parts.items() if value), values


class Nominee(NamedTuple):
    """A record with where it is from."""

    id: int
    repo: int
    kind: str
    memory: Memory
    number: int
    commit: str


def spell(ids: Iterable[int]) -> str:
    """Spell *ids* as an array of PostgreSQL."""
    return f"{{{','.join(map(str, ids))}}}"


_NUL: Final = "\0"  # before all that an id has


class Nominees:
    """What was nominated, each by its place: what ranking needs of all of it, and a record where somebody looks at it."""

    def __init__(self, rows: Sequence[Sequence[Any]], kind: str) -> None:
        self._rows = rows
        self._kind = kind
        self._places = {row[0]: place for place, row in enumerate(rows)}
        self._read: dict[int, Nominee] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> Nominee:
        if place not in self._read:
            id_, repo, name, line, number, commit, *_ = self._rows[place]
            self._read[place] = Nominee(id_, repo, self._kind, read_row(self._kind, name, line), number, commit)
        return self._read[place]

    def find(self, name: str) -> Nominee:
        """Return the one that is ranked under *name*."""
        return self[self._places[int(name.rpartition(_NUL)[2])]]

    def repository(self, place: int) -> int:
        """Return of which repository the one at *place* is."""
        repo: int = self._rows[place][1]
        return repo

    def as_record(self, place: int) -> Record:
        """Return the record at *place* as it is ranked: named by its id, which orders equals, and its number, because two repositories may have one id."""
        one = self[place]
        return "project", one.memory._replace(id=f"{one.memory.id}{_NUL}{one.id}")

    def counted(self) -> Counted:
        """Return the terms of all of them."""
        lengths = np.array([row[6] for row in self._rows], np.float32)
        keys, counts, sizes = binary.read_counts([row[7] for row in self._rows])
        return Counted(
            keys, np.repeat(np.arange(len(sizes), dtype=np.int32), sizes), counts.astype(np.float32), lengths
        )

    def vectors(self, dim: int) -> Rows:
        """Return the vectors of all of them, of *dim* numbers."""
        scales = np.array([row[8] or 0.0 for row in self._rows], np.float32)
        return rows_of(binary.read_halves([row[9] for row in self._rows], dim), scales)


class Place(NamedTuple):
    """Of which repository a record is, and how many others have its text."""

    name: str
    url: str
    copies: int


class Reach(NamedTuple):
    """The repositories that a query looks through, spelled once as PostgreSQL's int[], how many, and of how many records.

    With the lengths of these in terms and the squares of them, added up.
    """

    repos: str
    number: int
    records: int
    length: float
    squares: float
    kind: str


def find_reach(connection: Connection[Any], repositories: Sequence[str], kind: str) -> Reach:
    """Return what may be read, or of that the *repositories* with these names or URLs, and its records of that *kind*."""
    narrowed = " where name = any(%(names)s) or url = any(%(names)s)" if repositories else ""
    counts = (
        "sum(skills), sum(skill_length), sum(skill_squares)"
        if kind == "skill"
        else "sum(memories), sum(memory_length), sum(memory_squares)"
    )
    row = connection.execute(
        f"select array_agg(id)::text, count(*), {counts} from repo{narrowed}".encode(), {"names": list(repositories)}
    ).fetchone()
    repos, number, *sums = row or ("{}", 0)
    records, length, squares = (one or 0 for one in sums or (0, 0, 0))
    return Reach(repos or "{}", number, records, length, squares, kind)


def know_whole(connection: Connection[Any], query: Query, synonyms: Synonyms, reach: Reach) -> tuple[Whole, list[str]]:
    """Return what is known of the terms of *query*, of words like them and of their *synonyms*, and these words.

    Counted is what may be read, where that is little: the words of a million other records made other words rare, and
    the answers of one repository worse. Of more it is the whole hub, whose counts are kept. What matches by chance is counted
    over fewer records than were looked through: many repositories have few that a question could be about.
    """
    counted = reach if reach.records <= FEW else None
    row: Sequence[Any] | None = (reach.records, reach.length, reach.squares)
    if counted is None:
        row = connection.execute("select live, total, squares from stats where kind = %s", [reach.kind]).fetchone()
    live, total, squares = (value or 0 for value in row or (0, 0, 0))
    seen = _count_terms(connection, reach.kind, [*query.terms, PLACE, *list_places(query)], counted)
    rare = [term for term in query.terms if not term.startswith("=") and seen[term] <= WIDENED]
    near = _find_like(connection, rare)
    called = {word for term in rare for words, _ in synonyms.find(term, query, _always) for word in words}
    others = sorted(called.union(near).difference(seen))
    seen |= _count_terms(connection, reach.kind, others, counted)
    alike = alike_words(query, near, lambda word: seen.get(word, 0), WIDENED)
    words = sorted({word for found in alike.values() for word in found}.union(filter(seen.get, called)))
    return Whole(live, float(total), float(squares), seen, round(reach.records / sqrt(max(reach.number, 1)))), words


def list_places(query: Query) -> list[str]:
    """Return the terms of what is anchored where *query* names a place."""
    return [*query.named.terms()] if query.coded else []


def _always(_: str) -> int:
    return 1


def _count_terms(connection: Connection[Any], kind: str, terms: Sequence[str], counted: Reach | None) -> dict[str, int]:
    """Return how many records have each of *terms*: of those that are *counted*, else of the hub."""
    keys = {key_of(kind, term): term for term in terms}
    found = dict.fromkeys(terms, 0)
    if not keys:
        return found
    if counted is None:
        rows = connection.execute("select term, n from df where term = any(%s::bigint[])", [list(keys)])
    else:
        rows = connection.execute(
            "select term, count(*) from posting where term = any(%s::bigint[]) and repo = any(%s::int[]) group by term",
            [list(keys), counted.repos],
        )
    for key, count in rows:
        found[keys[key]] = max(count, 0)
    return found


def _find_like(connection: Connection[Any], terms: Iterable[str]) -> list[str]:
    """Return the words of the hub that share most trigrams with one of *terms*."""
    found: dict[str, None] = {}
    for term in terms:
        grams = trigrams(term)
        rows = connection.execute(
            "select w.word from (select word, count(*) n from unnest(%s::bigint[]) as t (gram) cross join lateral"
            " (select word from gram where gram.gram = t.gram order by word limit %s) as l group by word"
            " order by n desc, word limit %s) g"
            " join word w on w.id = g.word where g.n / sqrt(w.grams::float8 * %s) >= %s"
            " order by g.n / sqrt(w.grams::float8) desc, w.word limit %s",
            [list(grams), _WORDS, _CLOSE, len(grams), NOMINATED, _LIKE],
        )
        found |= dict.fromkeys(row[0] for row in rows)
    return list(found)


def nominate(
    connection: Connection[Any],
    query: Query,
    numbers: Sequence[int] | None,
    whole: Whole,
    words: Sequence[str],
    reach: Reach,
    filters: Filters,
) -> Nominees:
    """Return the records that may answer *query* by its terms and *words* like them, its places, and its vector, if it has one.

    Of copies, as forks have them, there is one; where most are copies and little is left, more is looked at.
    """
    asked, places = len(query.chunks), list_places(query)
    nominees = Nominees((), reach.kind)
    for times in _FURTHER:
        found = by_words(connection, whole, [*query.terms, *words], asked, reach, filters, times)
        if places:
            found += by_words(connection, whole, places, asked, reach, filters, times)
        if numbers is not None:
            found += by_meaning(connection, numbers, whole, reach, filters, times)
        nominees = read(connection, found, reach, has_vectors=numbers is not None)
        if len(nominees) >= min(_ENOUGH, len(set(found)) // 2) or len(found) < BY_WORDS * times:
            break
    return nominees


def by_words(
    connection: Connection[Any],
    whole: Whole,
    terms: Sequence[str],
    asked: int,
    reach: Reach,
    filters: Filters,
    times: int = 1,
) -> list[int]:
    """Return the records with most of the rarest *terms*, each counted as the index counts it in a query of *asked* words."""
    damping = whole.damping(asked)
    chosen = choose_terms(whole, terms, share=reach.records / max(whole.live, 1))
    if not chosen:
        return []
    where, values = filters.where()
    lead = "p.repo" if reach.records <= max(FEW, _WIDE * whole.live) else "p.repo + 0"
    join = f" join record r on r.id = p.record and {where}" if where else ""
    query = (
        "select p.record from unnest(%(terms)s::bigint[], %(weights)s::float8[]) as t (term, weight) cross join lateral"
        " (select p.record, p.count, p.length from posting p"
        f"{join} where p.term = t.term and {lead} = any(%(repos)s::int[]) limit %(postings)s) p"
        " group by p.record order by sum(t.weight * p.count / (p.count + %(offset)s + %(scale)s * p.length)) desc,"
        " p.record limit %(most)s"
    )
    rows = connection.execute(
        query.encode(),
        {
            **values,
            "terms": [key_of(reach.kind, term) for term in chosen],
            "weights": [whole.weight(term) for term in chosen],
            "repos": reach.repos,
            "offset": damping.offset,
            "scale": damping.scale,
            "postings": _POSTINGS,
            "most": BY_WORDS * times,
        },
    )
    return [row[0] for row in rows.fetchall()]


def choose_terms(whole: Whole, terms: Sequence[str], *, share: float = 1.0) -> list[str]:
    """Return the rarest of *terms*: at least two, at most twelve, and no more than their postings may cost."""
    rare = sorted((term for term in terms if whole.seen.get(term, 0)), key=lambda term: (whole.seen[term], term))
    chosen: list[str] = []
    cost = 0.0
    for term in rare[:_MOST_TERMS]:
        cost += share * whole.seen[term]
        if len(chosen) >= _LEAST_TERMS and cost > _POSTINGS:
            break
        chosen.append(term)
    return chosen


def by_meaning(
    connection: Connection[Any],
    numbers: Sequence[int],
    whole: Whole,
    reach: Reach,
    filters: Filters,
    times: int = 1,
) -> list[int]:
    """Return the records whose vectors are nearest to *numbers*: of few repositories exactly, else by the graph.

    The graph is walked on until enough of what may be read is found; without that, a filter would leave next to nothing.
    """
    where, values = filters.where()
    join = f" join record r on r.id = v.record and {where}" if where else ""
    values |= {"repos": reach.repos, "near": spell_vector(numbers), "most": BY_MEANING * times}
    if reach.records <= FEW:
        query = (
            f"select v.record from embedding v{join} where v.repo = any(%(repos)s::int[])"
            " order by (v.numbers <=> %(near)s::halfvec) + 0 limit %(most)s"
        )
    else:
        needed = int(2 * BY_MEANING * times * whole.live / max(reach.records, 1))
        if needed > _SCANNED:
            set_locally(connection, {"hnsw.max_scan_tuples": str(needed)})
        query = (
            f"select v.record from embedding v{join} where v.repo + 0 = any(%(repos)s::int[])"
            " order by v.numbers <=> %(near)s::halfvec limit %(most)s"
        )
    return [row[0] for row in connection.execute(query.encode(), values).fetchall()]


def read(connection: Connection[Any], ids: Iterable[int], reach: Reach, *, has_vectors: bool) -> Nominees:
    """Return what there is of the records *ids*; of those with one text the first."""
    vector = "v.scale, v.numbers" if has_vectors else "null, null"
    join = " left join embedding v on v.record = r.id" if has_vectors else ""
    query = (
        f"select r.id, r.repo, r.name, r.line, r.number, r.commit, r.length, r.term_counts, {vector} from ("
        "select distinct on (coalesce(text_hash, id)) * from record where id = any(%s::bigint[])"
        " and repo + 0 = any(%s::int[]) and kind = %s order by coalesce(text_hash, id), id"
        f") r{join} order by r.id"
    )
    cursor = connection.cursor(binary=True)
    cursor.execute(query.encode(), [spell(set(ids)), reach.repos, reach.kind])
    return Nominees(cursor.fetchall(), reach.kind)


def read_places(connection: Connection[Any], ids: Iterable[int], reach: Reach) -> dict[int, Place]:
    """Return where each of the records *ids* is, as far as it may be read now."""
    rows = connection.execute(
        "select r.id, p.name, p.url, (select count(distinct c.repo) from record c where c.text_hash = r.text_hash"
        " and c.kind = r.kind and c.repo <> r.repo and c.repo + 0 = any(%s::int[]))"
        " from record r join repo p on p.id = r.repo where r.id = any(%s::bigint[])",
        [reach.repos, spell(ids)],
    )
    return {id_: Place(*place) for id_, *place in rows.fetchall()}


def meta(connection: Connection[Any]) -> Mapping[str, str]:
    """Return what the hub notes of itself."""
    return dict(connection.execute("select key, value from meta").fetchall())
