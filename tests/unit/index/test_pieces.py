"""Tables of numbers: rows one after the other, and what the numbers of each stand for."""

from __future__ import annotations

from memsync.index.pieces import Table


def _rows(table):
    return [table.flat[start:end].tolist() for start, end in zip(table.starts, table.starts[1:], strict=False)]


def test_what_the_numbers_of_each_row_stand_for_does_not_depend_on_how_many_rows_there_are():
    meant = [[7], [], [1, 2, 3], [4, 4]]
    rows = [[number % 4 for number in range(row % 6)] for row in range(2_000)]
    found = Table.of(rows).through(Table.of(meant))
    assert _rows(found) == [[one for number in row for one in meant[number]] for row in rows]


def test_no_rows_stand_for_no_rows():
    assert _rows(Table.of([]).through(Table.of([[1]]))) == []
