"""Numbers as bytes that PostgreSQL takes and gives: made and read for many rows at once, and not spelled.

What COPY takes in its binary form, vectors, and the terms of a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import pack
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from psycopg import Cursor

_HEAD: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TAIL: Final = b"\xff\xff"
_COUNTED: Final = 10  # bytes of a term that a record has


def put(cursor: Cursor[Any], table: str, **columns: NDArray[Any]) -> None:
    """Copy *columns*, by their names, into *table*; the types of their numbers are those of the table, of any byte order."""
    with cursor.copy(f"copy {table} ({', '.join(columns)}) from stdin (format binary)".encode()) as copy:
        copy.write(_HEAD + spell(columns) + _TAIL)


def spell(columns: dict[str, NDArray[Any]]) -> bytes:
    """Return the rows of *columns*: how many fields there are, then each with its size in bytes, all big-endian."""
    layout: list[tuple[str, Any]] = [("fields", ">i2")]
    for name, values in columns.items():
        layout += [(f"{name} size", ">i4"), (name, values.dtype.newbyteorder(">"))]
    rows = np.zeros(len(next(iter(columns.values()))), np.dtype(layout))
    rows["fields"] = len(columns)
    for name, values in columns.items():
        rows[f"{name} size"] = values.dtype.itemsize
        rows[name] = values
    return rows.tobytes()


def halves(numbers: NDArray[np.int8]) -> NDArray[Any]:
    """Return the rows of *numbers* as values of pgvector's halfvec: the dimension, nothing, and 16-bit floats."""
    dim = numbers.shape[1]
    made = np.zeros(len(numbers), np.dtype([("dim", ">i2"), ("unused", ">i2"), ("numbers", ">f2", (dim,))]))
    made["dim"], made["numbers"] = dim, numbers
    return made


def read_halves(values: Sequence[bytes | None], dim: int) -> NDArray[np.int8]:
    """Return the whole numbers in such *values* of *dim* numbers, a row each; nothing but 0 for one that is missing."""
    blank = bytes(4 + 2 * dim)
    found = np.frombuffer(b"".join([value or blank for value in values]), ">f2").reshape(len(values), dim + 2)
    return found[:, 2:].astype(np.int8)


def spell_counts(counts: Mapping[int, int]) -> bytes:
    """Return keys of 8 bytes, rising, then how often each is there, in 2: how a record holds its terms; equal ones equally."""
    keys = sorted(counts)
    return pack(f">{len(keys)}q{len(keys)}h", *keys, *map(counts.__getitem__, keys))


def read_counts(values: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int16], NDArray[np.int64]]:
    """Return the keys in such *values*, one after the other, their counts, and how many keys each value has."""
    sizes = np.fromiter(map(len, values), np.int64, len(values)) // _COUNTED
    keys = b"".join([value[: 8 * size] for value, size in zip(values, sizes.tolist(), strict=True)])
    counts = b"".join([value[8 * size :] for value, size in zip(values, sizes.tolist(), strict=True)])
    return np.frombuffer(keys, ">i8").astype(np.int64), np.frombuffer(counts, ">i2").astype(np.int16), sizes
