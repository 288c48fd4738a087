"""Rows of numbers as PostgreSQL's COPY takes them in its binary form: made for many rows at once, and not spelled and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from psycopg import Cursor

_HEAD: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TAIL: Final = b"\xff\xff"


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


def read_half(data: bytes) -> NDArray[np.int8]:
    """Return the whole numbers in one such value."""
    return np.frombuffer(data, ">f2", offset=4).astype(np.int8)
