"""The derived index in SQLite: records with their lines, terms with postings, words with trigrams, vectors.

The files are the truth; all of this may be deleted at any time. Each live memory is a row with a number, its *slot*.
Numbers of terms are 64-bit checksums (`terms.term_key`), which SQLite holds with a sign.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

from memsync.index.embed import LEVELS, Meaning
from memsync.index.terms import (
    embedding_text,
    is_word,
    length_of,
    live_anchors,
    number_form,
    term_key,
    text_key,
    trigrams,
)
from memsync.records import SCOPES, Memory, Scope, is_whole, normal_form

if TYPE_CHECKING:
    from memsync.index.tokens import Tokenizer

NEVER: Final = -(1 << 62)  # the moment of a record without a time
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
VERSION: Final = 6  # of the tables; rows of another version are made anew
_BLOCK: Final = 256  # slots whose shapes are one row: every query reads those of all, and a row of each would take as long as the rest
PAIR: Final = 8  # bytes of two numbers: a slot and a count, or a word and how many trigrams it has
_TABLES: Final = (
    "meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """record (
    slot INTEGER PRIMARY KEY, scope INTEGER NOT NULL, id TEXT NOT NULL, form INTEGER NOT NULL, importance REAL NOT NULL,
    moment INTEGER NOT NULL, replaces INTEGER NOT NULL, archived INTEGER NOT NULL, anchored INTEGER NOT NULL, author TEXT,
    names TEXT NOT NULL, UNIQUE (scope, id))""",
    """shape (
    block INTEGER PRIMARY KEY, slots BLOB NOT NULL, lengths BLOB NOT NULL, scales BLOB NOT NULL, signs BLOB NOT NULL)""",
    "line (slot INTEGER PRIMARY KEY, plain INTEGER NOT NULL, sum INTEGER NOT NULL, raw BLOB NOT NULL)",
    """said (
    slot INTEGER PRIMARY KEY, text INTEGER NOT NULL, spoken INTEGER NOT NULL, terms BLOB NOT NULL,
    places BLOB NOT NULL)""",
    "vector (slot INTEGER PRIMARY KEY, numbers BLOB NOT NULL)",
    "term (key INTEGER PRIMARY KEY, pairs BLOB NOT NULL)",
    "word (number INTEGER PRIMARY KEY, key INTEGER NOT NULL UNIQUE, word TEXT NOT NULL)",
    "gram (key INTEGER PRIMARY KEY, pairs BLOB NOT NULL)",
)


def head_of(memory: Memory) -> tuple[Any, ...]:
    """Return what a list and a writer ask of *memory*, as the table `record` has it from `id` to `author`.

    The `moment` is when it was written last, in microseconds since 1970; the `form` is equal where the normal forms of two
    texts are, and seldom else.
    """
    last = max(filter(None, (memory.updated_at, memory.created_at)), default=None)
    flags = bool(memory.supersedes), memory.archived_at is not None, bool(memory.anchors or memory.triggers)
    form = number_form(normal_form(memory.content))
    author = memory.author if is_whole(memory.author or "") else None  # half a character is no text to SQLite
    return (memory.id, form, memory.importance, count_moment(last) if last else NEVER, *flags, author)


def count_moment(moment: datetime) -> int:
    """Return the microseconds from 1970 to *moment*."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


class Row(NamedTuple):
    """A live memory as its file has it: the bytes of its line, and whether nothing is to be said of that."""

    scope: Scope
    memory: Memory
    raw: bytes
    is_plain: bool


# The id of a memory, its slot, its line, the form of its text, whether it replaces others, and whether nothing is to be said of it.
KnownLine = tuple[str, int, bytes, int, int, int]


class Vector(NamedTuple):
    """One row of `vectors.Rows`, made without numpy."""

    numbers: bytes = b""
    scale: float = 0.0
    signs: bytes = b""


class Shapes:
    """Of some records, in the order of their slots, how long they are, and the scales of their vectors; the sign bits of those that have one."""

    def __init__(self) -> None:
        self.slots, self.lengths, self.scales, self.signs = array("i"), array("i"), array("f"), bytearray()

    @property
    def step(self) -> int:
        """How many bytes the sign bits of one vector have."""
        return len(self.signs) // max(len(self.scales) - self.scales.count(0.0), 1)

    def add(self, slot: int, length: int, made: Vector) -> None:
        """Add the record of *slot*, which is larger than those that are there."""
        self.slots.append(slot)
        self.lengths.append(length)
        self.scales.append(made.scale)
        self.signs += made.signs if made.scale else b""

    def remove(self, slot: int) -> None:
        """Remove the record of *slot*."""
        at, step = self.slots.index(slot), self.step
        if self.scales[at]:
            start = step * (at - self.scales[:at].count(0.0))
            del self.signs[start : start + step]
        for numbers in (self.slots, self.lengths, self.scales):
            del numbers[at]

    def list_vectors(self) -> dict[int, tuple[float, bytes]]:
        """Return the scale and the sign bits of each slot that has a vector."""
        scales = [(slot, scale) for slot, scale in zip(self.slots, self.scales, strict=True) if scale]
        step, signs = self.step, bytes(self.signs)
        return {slot: (scale, signs[at * step : (at + 1) * step]) for at, (slot, scale) in enumerate(scales)}

    def seal(self) -> tuple[bytes, bytes, bytes, bytes]:
        """Return the columns of a row."""
        return pack("i", self.slots), pack("i", self.lengths), pack("f", self.scales), seal(self.signs)

    def unseal(self, row: Sequence[bytes]) -> None:
        """Add what `seal` has returned.

        Raises:
            ValueError: it did not, or the disk has changed it since.
        """
        self.slots.frombytes(unseal(row[0]))
        self.lengths.frombytes(unseal(row[1]))
        self.scales.frombytes(unseal(row[2]))
        self.signs += unseal(row[3])


class Database:
    """The rows behind one connection. The caller begins and ends transactions; `sqlite3.Error` is the caller's to handle."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection
        self.ask = connection.execute

    def read_meta(self) -> dict[str, Any]:
        """Return what was said about the rows by `write_meta`; nothing where there are no tables yet."""
        if self.ask("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is None:
            return {}
        return {name: json.loads(value) for name, value in self.ask("SELECT name, value FROM meta")}

    def write_meta(self, values: Mapping[str, Any]) -> None:
        """Say *values*, which JSON can spell, about the rows."""
        rows = [(name, json.dumps(value)) for name, value in values.items()]
        self._sql.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    def count(self) -> int:
        """Return how many rows there are."""
        found: int = self.ask("SELECT count(*) FROM record").fetchone()[0]
        return found

    def count_bytes(self) -> int:
        """Return how large all of it is, what is not yet written to the file itself included."""
        found: int = self.ask("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()[0]
        return found

    def count_vectors(self) -> tuple[int, int]:
        """Return the length of the vectors, and how many rows have one, as `core.Index.made` does."""
        (length,) = self.ask("SELECT max(length(numbers)) - 4 FROM vector").fetchone()
        (count,) = self.ask("SELECT count(*) FROM said WHERE text != 0").fetchone()
        return length or 0, count if length else 0

    def read_lines(self, scope: Scope) -> list[KnownLine]:
        """Return the line of each memory of *scope*."""
        query = "SELECT id, slot, raw, form, replaces, plain FROM line CROSS JOIN record USING (slot) WHERE scope = ?"
        return self.ask(query, (SCOPES.index(scope),)).fetchall()

    def read_plain(self, scope: Scope) -> dict[bytes, int] | None:
        """Return the slot of each line of *scope*, whose store is beside the rows; None where something is to be said of one."""
        found: dict[bytes, int] = dict(self.ask("SELECT raw, slot FROM line WHERE plain"))
        (count,) = self.ask("SELECT count(*) FROM record WHERE scope = ?", (SCOPES.index(scope),)).fetchone()
        return found if len(found) == count else None

    def read_line(self, slot: int) -> tuple[Scope, str, bytes] | None:
        """Return the scope, the id and the line of *slot*; None if there is none.

        Raises:
            ValueError: the disk has changed it.
        """
        query = "SELECT scope, id, sum, raw FROM record JOIN line USING (slot) WHERE slot = ?"
        if (found := self.ask(query, (slot,)).fetchone()) is None:
            return None
        scope, id_, sum_, raw = found
        if crc32(raw) != sum_:
            raise ValueError("the checksum of a line does not match")
        return SCOPES[scope], id_, raw

    def find_slots(self, scope: Scope, ids: Iterable[str]) -> list[int]:
        """Return the slots of those of *ids* that *scope* has."""
        query = "SELECT slot FROM record WHERE scope = ? AND id = ?"
        rows = (self.ask(query, (SCOPES.index(scope), id_)).fetchone() for id_ in ids)
        return [row[0] for row in rows if row]

    def add(self, rows: Sequence[Row], tokenizer: Tokenizer, meaning: Meaning | None) -> None:
        """Add *rows* one by one; of many, `bulk.fill` is quicker."""
        from memsync.index.places import place_terms  # who only asks loads none of it

        first = (self.ask("SELECT max(slot) FROM record").fetchone()[0] or 0) + 1
        postings: dict[int, list[int]] = {}
        words: dict[str, None] = {}
        for slot, row in enumerate(rows, first):
            memory = row.memory
            said, hidden = tokenizer.record_terms(memory), tokenizer.hidden_terms(memory)
            terms, places = [*said, *hidden], place_terms(live_anchors(memory))
            keys, place_keys = [*map(term_key, terms)], [*map(term_key, places)]
            for key, times in Counter(chain(keys, place_keys)).items():
                postings.setdefault(key, []).extend((slot, times))
            words |= dict.fromkeys(filter(is_word, terms))
            vector = meaning.row(embedding_text(memory)) if meaning else None
            text, made = (text_key(memory), quantise(vector)) if vector else (0, Vector())
            self.insert("record", [record_row(slot, row)])
            self.add_shapes([(slot, length_of(terms, places), made)])
            self.insert("line", [line_row(slot, row)])
            self.insert("said", [(slot, signed(text), len(said), pack("Q", keys), pack("Q", place_keys))])
            self.insert("vector", [(slot, seal(made.numbers))])
        self._add_pairs("term", postings)
        self._add_words(words)

    def read_shapes(self) -> Shapes:
        """Return the shapes of all records."""
        shapes = Shapes()
        for row in self.ask("SELECT slots, lengths, scales, signs FROM shape ORDER BY block"):
            shapes.unseal(row)
        return shapes

    def add_shapes(self, rows: Iterable[tuple[int, int, Vector]]) -> None:
        """Add the slot, the length and the vector of each record, in the order of their slots."""
        for block, some in groupby(rows, key=lambda row: row[0] // _BLOCK):
            shapes = self._read_block(block)
            for row in some:
                shapes.add(*row)
            self._write_block(block, shapes)

    def _read_block(self, block: int) -> Shapes:
        shapes = Shapes()
        for row in self.ask("SELECT slots, lengths, scales, signs FROM shape WHERE block = ?", (block,)):
            shapes.unseal(row)
        return shapes

    def _write_block(self, block: int, shapes: Shapes) -> None:
        self.ask("INSERT OR REPLACE INTO shape VALUES (?, ?, ?, ?, ?)", (block, *shapes.seal()))

    def insert(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add *rows* to *table*."""
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            self._sql.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def clear(self) -> None:
        """Hold no row; the tables may be those of another version."""
        for table in _TABLES:
            self.ask(f"DROP TABLE IF EXISTS {table.partition(' ')[0]}")
            self.ask(f"CREATE TABLE {table}")

    def _add_words(self, words: Iterable[str]) -> None:
        grams: dict[int, list[int]] = {}
        for word in words:
            done = self.ask("INSERT OR IGNORE INTO word (key, word) VALUES (?, ?)", (signed(term_key(word)), word))
            if done.rowcount and done.lastrowid:
                own = trigrams(word)
                for gram in own:
                    grams.setdefault(gram, []).extend((done.lastrowid, len(own)))
        self._add_pairs("gram", grams)

    def _add_pairs(self, table: str, found: Mapping[int, Sequence[int]]) -> None:
        for key, pairs in found.items():
            row = self.ask(f"SELECT pairs FROM {table} WHERE key = ?", (signed(key),)).fetchone()
            whole = unpack("i", row[0]) if row else array("i")
            whole.extend(pairs)
            self.ask(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", (signed(key), pack("i", whole)))

    def remove(self, slots: Sequence[int]) -> None:
        """Remove the rows *slots*, and each term and word that no other row has."""
        gone: dict[int, set[int]] = {}
        for slot in slots:
            terms, places = self.ask("SELECT terms, places FROM said WHERE slot = ?", (slot,)).fetchone()
            for key in {*unpack("Q", terms), *unpack("Q", places)}:
                gone.setdefault(key, set()).add(slot)
            for table in ("record", "line", "said", "vector"):
                self.ask(f"DELETE FROM {table} WHERE slot = ?", (slot,))
            shapes = self._read_block(slot // _BLOCK)
            shapes.remove(slot)
            self._write_block(slot // _BLOCK, shapes)
        for key, dead in gone.items():
            if self._drop_pairs("term", signed(key), dead):
                self._remove_word(signed(key))

    def _remove_word(self, key: int) -> None:
        if (found := self.ask("SELECT number, word FROM word WHERE key = ?", (key,)).fetchone()) is not None:
            self.ask("DELETE FROM word WHERE key = ?", (key,))
            for gram in trigrams(found[1]):
                self._drop_pairs("gram", gram, {found[0]})

    def _drop_pairs(self, table: str, key: int, dead: set[int]) -> bool:
        """Take the pairs of *dead* out of a row, and the row away if nothing is left; tell whether that is so."""
        (raw,) = self.ask(f"SELECT pairs FROM {table} WHERE key = ?", (key,)).fetchone()
        pairs = unpack("i", raw)
        for one in dead:
            at = 2 * pairs[::2].index(one)
            del pairs[at : at + 2]
        if pairs:
            self.ask(f"UPDATE {table} SET pairs = ? WHERE key = ?", (pack("i", pairs), key))
        else:
            self.ask(f"DELETE FROM {table} WHERE key = ?", (key,))
        return not pairs


def line_row(slot: int, row: Row) -> tuple[Any, ...]:
    """Return the row of the table `line`."""
    return slot, row.is_plain, crc32(row.raw), row.raw


def record_row(slot: int, row: Row) -> tuple[Any, ...]:
    """Return the row of the table `record`."""
    from memsync.index.places import subjects_of

    about = " ".join(subjects_of(row.memory)) if row.memory.archived_at is None else ""
    return (slot, SCOPES.index(row.scope), *head_of(row.memory), about)


def quantise(vector: Sequence[float]) -> Vector:
    """Return one row as `vectors.quantise` makes it, without numpy."""
    single = array("f", vector)
    scale = array("f", [max(map(abs, single)) / LEVELS])[0]
    numbers = array("b", map(round, array("f", (x / scale if scale else 0.0 for x in single))))
    bits = "".join("1" if x > 0 else "0" for x in single)
    return Vector(numbers.tobytes(), scale, int(bits, 2).to_bytes(len(bits) // 8, "big"))


def signed(key: int) -> int:
    """Return the 64-bit number *key* as SQLite holds it."""
    return key - (1 << 64) if key >= 1 << 63 else key


def seal(raw: bytes | bytearray) -> bytes:
    """Return *raw* behind its checksum, because SQLite has none of what a page holds."""
    return crc32(raw).to_bytes(4, "little") + raw


def seal_all(raws: Sequence[bytes]) -> list[bytes]:
    """Return what `seal` does of each of many, in a third of the time."""
    sums = _sum_up(raws)
    return [sums[4 * at : 4 * at + 4] + raw for at, raw in enumerate(raws)]


def unseal(sealed: bytes) -> bytes:
    """Return what `seal` has sealed.

    Raises:
        ValueError: it did not, or the disk has changed it since.
    """
    raw = sealed[4:]
    if crc32(raw).to_bytes(4, "little") != sealed[:4]:
        raise ValueError("a checksum does not match")
    return raw


def unseal_all(sealed: Sequence[bytes]) -> list[bytes]:
    """Return what `unseal` does of each of many, in a third of the time.

    Raises:
        ValueError
    """
    raws = [one[4:] for one in sealed]
    if _sum_up(raws) != b"".join([one[:4] for one in sealed]):
        raise ValueError("a checksum does not match")
    return raws


def _sum_up(raws: Sequence[bytes]) -> bytes:
    sums = array("I", map(crc32, raws))
    if sys.byteorder == "big":
        sums.byteswap()
    return sums.tobytes()


def pack(kind: str, numbers: Iterable[int] | array[float]) -> bytes:
    """Return *numbers* as sealed bytes, by a type code of `array`."""
    return seal(array(kind, numbers).tobytes())


def unpack(kind: str, sealed: bytes) -> array[int]:
    """Return the numbers that `pack` has packed.

    Raises:
        ValueError: it did not, or the disk has changed them since.
    """
    found = array(kind)
    found.frombytes(unseal(sealed))
    return found
