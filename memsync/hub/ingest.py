"""One repository into the hub: what changed since is written in one transaction, and counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from orjson import loads

from memsync.errors import HubError
from memsync.format.codec import decode
from memsync.hub import binary
from memsync.hub.intake import Key, Row, Taken, diff, plain
from memsync.hub.schema import COUNTED
from memsync.index.embed import Meaning
from memsync.index.lexical import build_grams
from memsync.index.places import place_terms
from memsync.index.terms import embedding_text, is_word, length_of, live_anchors, term_key
from memsync.index.tokens import Tokenizer
from memsync.index.vectors import Rows, quantise
from memsync.records import Memory, normal_form
from memsync.skills.file import read as read_skill
from memsync.skills.skills import make_record

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from psycopg import Connection, Cursor

Figures = dict[str, tuple[int, float, float]]  # by kind: records, their lengths, and the squares of these

_LONGEST: Final = 32_767  # of what a smallint holds
VECTORLESS: Final = "vectors_missing"  # what the hub notes while records may be there without a vector
_STEP: Final = 2_000  # rows that are prepared at once
_WORDS: Final = 100_000  # words whose trigrams are made at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A row with its terms, ready to be written."""

    row: Row
    counts: Mapping[int, int]
    length: int
    said: int  # equal for texts of the same words
    text_hash: int  # equal for the same texts


@cache
def _tokenizer() -> Tokenizer:
    return Tokenizer()


def signed(key: int) -> int:
    """Return the 64-bit number *key* as PostgreSQL's bigint has it."""
    return key - (1 << 64) if key >> 63 else key


@lru_cache(1 << 16)
def key_of(kind: str, term: str) -> int:
    """Return by what *term* is known in records of this *kind*: memories and skills are counted apart, as on a laptop."""
    return signed(term_key(term if kind == "memory" else f"{kind}\0{term}"))


def prepare(rows: Sequence[Row]) -> tuple[list[Prepared], set[str]]:
    """Return *rows* with their terms, and the words in them; needs no database."""
    tokenizer = _tokenizer()
    words: set[str] = set()
    made: list[Prepared] = []
    for row in rows:
        terms = tokenizer.record_terms(row.memory) + tokenizer.hidden_terms(row.memory)
        words.update(filter(is_word, terms))
        places = place_terms(live_anchors(row.memory))  # which make it no longer, as on a laptop
        counts = {key_of(row.kind, term): min(n, _LONGEST) for term, n in Counter([*terms, *places]).items()}
        said = signed(term_key(" ".join(sorted(tokenizer.terms(row.memory.content)))))
        text = signed(term_key(normal_form(row.memory.content)))
        made.append(Prepared(row=row, counts=counts, length=length_of(terms, places), said=said, text_hash=text))
    return made, words


def spell_vector(numbers: Iterable[int]) -> str:
    """Spell a vector as pgvector reads it; the whole numbers of the index, which a halfvec holds exactly."""
    return f"[{','.join(map(str, numbers))}]"


def known_rows(connection: Connection[Any], repo: int) -> dict[Key, bytes]:
    """Return the hash of each row that the hub has of *repo*."""
    found = connection.execute("select kind, name, hash from record where repo = %s", [repo])
    return {(kind, name): bytes(hash_) for kind, name, hash_ in found}


def write(
    connection: Connection[Any],
    repo: int,
    taken: Taken,
    commit: str,
    meaning: Meaning | None,
    *,
    counts: bool = True,
    anew: bool = False,
) -> tuple[int, int]:
    """Make what the hub has of *repo* what was *taken* from *commit*; return how many rows were written and removed.

    The caller's transaction holds the lock of writers. Without *counts* the frequencies are left for `recount`; *anew*
    writes what is as it was, too, because other terms are made of it now.
    """
    known = known_rows(connection, repo)
    put, gone = diff(dict.fromkeys(known, b"") if anew else known, taken)
    changed = Counter[int]()
    figures: Figures = {}
    with connection.cursor() as cursor:
        _remove(cursor, repo, [*gone, *(row.key for row in put)], changed, figures)
        for start in range(0, len(put), _STEP):
            step = put[start : start + _STEP]
            made, words = prepare(step)
            ids = _insert(cursor, repo, made, commit)
            _insert_vectors(cursor, ids, np.full(len(ids), repo, np.int32), [row.memory for row in step], meaning)
            if not counts:
                _note_words(cursor, words)
                continue
            _learn_words(cursor, words)
            for one in made:
                changed.update(one.counts.keys())
                _add(figures, one.row.kind, 1, one.length)
        if counts:
            _count(cursor, changed, figures)
    return len(put), len(gone)


def _add(figures: Figures, kind: str, records: int, length: int) -> None:
    live, total, squares = figures.get(kind, (0, 0.0, 0.0))
    figures[kind] = live + records, total + records * float(length), squares + records * float(length) ** 2


def _remove(cursor: Cursor[Any], repo: int, keys: Sequence[Key], changed: Counter[int], figures: Figures) -> None:
    if not keys:
        return
    kinds, names = [kind for kind, _ in keys], [name for _, name in keys]
    cursor.execute(
        "delete from record r using unnest(%s::text[], %s::text[]) as k (kind, name)"
        " where r.repo = %s and r.kind = k.kind and r.name = k.name returning r.id, r.term_counts, r.length, r.kind",
        [kinds, names, repo],
    )
    rows = cursor.fetchall()
    terms = binary.read_counts([row[1] for row in rows])[0].tolist()
    if rows:
        cursor.execute(
            "delete from posting where term = any(%s) and repo = %s and record = any(%s)",
            [list(set(terms)), repo, [row[0] for row in rows]],
        )
    changed.subtract(terms)
    for _, _, length, kind in rows:
        _add(figures, kind, -1, length)


def _insert(cursor: Cursor[Any], repo: int, made: Sequence[Prepared], commit: str) -> NDArray[np.int64]:
    """Write *made* with their postings, and return their ids."""
    cursor.execute("select nextval('record_id_seq') from generate_series(1, %s)", [len(made)])
    ids = np.array([row[0] for row in cursor.fetchall()], np.int64)
    columns = "id, repo, kind, name, hash, line, number, commit, memory_type, importance, tags, written, length, term_counts, said, text_hash"
    with cursor.copy(f"copy record ({columns}) from stdin".encode()) as copy:
        for id_, one in zip(ids.tolist(), made, strict=True):
            row, memory = one.row, one.row.memory
            tags = [plain(tag.lower()) for tag in memory.tags]
            copy.write_row((id_, repo, row.kind, row.key[1], row.hash, row.line, row.number, commit,
                            plain(memory.memory_type), memory.importance, tags, memory.written_at, one.length,
                            binary.spell_counts(one.counts), one.said, one.text_hash))  # fmt: skip
    sizes = [len(one.counts) for one in made]
    binary.put(
        cursor,
        "posting",
        term=np.fromiter(chain.from_iterable(one.counts for one in made), np.int64),
        repo=np.full(sum(sizes), repo, np.int32),
        record=np.repeat(ids, sizes),
        count=np.fromiter(chain.from_iterable(one.counts.values() for one in made), np.int16),
        length=np.repeat(np.array([min(one.length, _LONGEST) for one in made], np.int16), sizes),
    )
    return ids


def _insert_vectors(
    cursor: Cursor[Any],
    ids: NDArray[np.int64],
    repos: NDArray[np.int32],
    memories: Sequence[Memory],
    meaning: Meaning | None,
) -> int:
    """Write the vectors of *memories* and return how many have one; 0 without an embedder, and while it fails."""
    vectors = meaning.embed([embedding_text(memory) for memory in memories]) if meaning and memories else None
    if vectors is None:
        if memories:
            cursor.execute("insert into meta values (%s, '1') on conflict (key) do nothing", [VECTORLESS])
        return 0
    rows: Rows = quantise(vectors)
    has = rows.scales > 0
    numbers = binary.halves(rows.numbers[has])
    binary.put(cursor, "embedding", record=ids[has], repo=repos[has], scale=rows.scales[has], numbers=numbers)
    return len(numbers)


def _note_words(cursor: Cursor[Any], words: set[str]) -> None:
    """Keep *words* for the end of a first load, which learns all at once."""
    with cursor.copy("copy loaded_word from stdin") as copy:
        for word in words:
            if plain(word) == word:
                copy.write_row((word,))


def learn_noted(connection: Connection[Any]) -> None:
    """Take in the words that a first load has noted."""
    with connection.cursor() as cursor:
        cursor.execute("select distinct word from loaded_word where word not in (select word from word) order by word")
        words = [row[0] for row in cursor.fetchall()]
        for start in range(0, len(words), _WORDS):
            _put_words(cursor, words[start : start + _WORDS])


def _put_words(cursor: Cursor[Any], words: Sequence[str]) -> None:
    """Write *words*, none of which the hub has, with their trigrams."""
    cursor.execute("select nextval('word_id_seq') from generate_series(1, %s)", [len(words)])
    ids = np.array([row[0] for row in cursor.fetchall()], np.int32)
    made = build_grams(words)
    with cursor.copy("copy word (id, word, grams) from stdin") as copy:
        for row in zip(ids.tolist(), words, made.sizes.astype(int).tolist(), strict=True):
            copy.write_row(row)
    binary.put(cursor, "gram", gram=np.repeat(made.keys, np.diff(made.starts)), word=ids[made.places])


def _learn_words(cursor: Cursor[Any], words: set[str]) -> None:
    """Take in the words that are new, with their trigrams; they stay, and count while a record has them."""
    clean = sorted(word for word in words if plain(word) == word)
    cursor.execute(
        "select w from unnest(%s::text[]) as u (w) where not exists (select from word where word = w)", [clean]
    )
    if new := [row[0] for row in cursor.fetchall()]:
        _put_words(cursor, new)


def _count(cursor: Cursor[Any], changed: Counter[int], figures: Figures) -> None:
    deltas = {term: delta for term, delta in changed.items() if delta}
    cursor.execute(
        "insert into df (term, n) select * from unnest(%s::bigint[], %s::int[])"
        " on conflict (term) do update set n = df.n + excluded.n",
        [list(deltas), list(deltas.values())],
    )
    for kind, (live, total, squares) in figures.items():
        cursor.execute(
            "insert into stats values (%s, %s, %s, %s) on conflict (kind) do update set live = stats.live + excluded.live,"
            " total = stats.total + excluded.total, squares = stats.squares + excluded.squares",
            [kind, live, total, squares],
        )


def recount(connection: Connection[Any]) -> None:
    """Count all terms and records anew, after a load that did not."""
    connection.execute("truncate df")
    connection.execute("insert into df select term, count(*) from posting group by term")
    connection.execute("truncate stats")
    connection.execute(
        "insert into stats select kind, count(*), sum(length), sum(length::float8 ^ 2) from record group by kind"
    )


def note(connection: Connection[Any], repo: int, taken: Taken, **fields: Any) -> None:
    """Write down what was taken from *repo*, and when."""
    query = (
        "update repo set branch = %(branch)s, commit = %(commit)s, made_by = %(made_by)s, state = %(state)s,"
        " note = %(note)s, left_out = %(left_out)s, changed_at = now(), pushed = %(pushed)s, committed_at = %(committed_at)s, failures = 0, retry_at = null, gone_at = null,"
        f" {COUNTED} where id = %(id)s"
    )
    connection.execute(
        query.encode(),
        {
            "committed_at": None,
            **fields,
            "id": repo,
            "note": plain("; ".join(taken.notes)),
            "state": "broken" if taken.notes else "ok",
            "left_out": json.dumps(dict(taken.left_out)),
        },
    )


def delete(connection: Connection[Any], repo: int, names: Sequence[str]) -> None:
    """Take the memories and skills of *repo* with these *names* out, and let them not come in again.

    Raises:
        HubError: it has none of that name.
    """
    rows = connection.execute(
        "insert into deleted (repo, kind, name) select repo, kind, name from record where repo = %s and name = any(%s)"
        " returning kind, name",
        [repo, list(names)],
    ).fetchall()
    if missing := set(names).difference(name for _, name in rows):
        raise HubError(f"the hub has no {min(missing)!r} of this repository; name memories by their whole ids")
    changed: Counter[int] = Counter()
    figures: Figures = {}
    with connection.cursor() as cursor:
        _remove(cursor, repo, rows, changed, figures)
        _count(cursor, changed, figures)
    connection.execute(f"update repo set {COUNTED} where id = %s".encode(), [repo])


def leave_out_deleted(connection: Connection[Any], repo: int, taken: Taken) -> Taken:
    """Return what was *taken* of *repo* but for what somebody has deleted here, counted."""
    keys = set(connection.execute("select kind, name from deleted where repo = %s", [repo]).fetchall())
    rows = tuple(row for row in taken.rows if row.key not in keys) if keys else taken.rows
    if gone := len(taken.rows) - len(rows):
        return replace(taken, rows=rows, left_out={**taken.left_out, "deleted": gone})
    return taken


def remove_repository(connection: Connection[Any], repo: int) -> None:
    """Take all that the hub has of *repo* out, its grants included."""
    write(connection, repo, Taken(rows=()), "", None)
    connection.execute("delete from repo where id = %s", [repo])


def read_row(kind: str, name: str, line: bytes) -> Memory:
    """Return what a row of the hub says, as it was read when it was taken in."""
    if kind == "skill":
        return make_record(read_skill(line, name).skill)._replace(id=name)
    memory = decode(line, loads).memory
    assert memory is not None
    return memory._replace(id=name)


def may_lack_vectors(connection: Connection[Any]) -> bool:
    """Tell whether records may be there without a vector: to look for them takes a second of a million records."""
    return connection.execute("select 1 from meta where key = %s", [VECTORLESS]).fetchone() is not None


def note_vectors(connection: Connection[Any]) -> None:
    """Write down that no record is there without a vector that it could have."""
    connection.execute("delete from meta where key = %s", [VECTORLESS])


def find_without_vector(connection: Connection[Any], *, after: int) -> list[tuple[int, int, str, str, bytes]]:
    """Return rows behind the id *after* that have no vector: id, repository, kind, name and line."""
    return connection.execute(
        "select r.id, r.repo, r.kind, r.name, r.line from record r left join embedding v on v.record = r.id"
        " where v.record is null and r.id > %s order by r.id limit 512",
        [after],
    ).fetchall()


def put_vectors(connection: Connection[Any], rows: Sequence[tuple[int, int, str, str, bytes]], meaning: Meaning) -> int:
    """Make the vectors of *rows* and return how many there are now; 0 while the embedder fails."""
    ids = np.array([row[0] for row in rows], np.int64)
    repos = np.array([row[1] for row in rows], np.int32)
    memories = [read_row(kind, name, bytes(line)) for _, _, kind, name, line in rows]
    with connection.cursor() as cursor:
        return _insert_vectors(cursor, ids, repos, memories, meaning)
