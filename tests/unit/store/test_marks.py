"""What was found of a memory is known by its mark, among few questions and among many."""

from __future__ import annotations

from hashlib import blake2b

from memsync.store.marks import MARK, Marks


def mark(number: int) -> bytes:
    return blake2b(str(number).encode(), digest_size=MARK).digest()


def test_each_mark_has_its_flaw_and_no_other_has_one():
    plain, flawed = [mark(number) for number in range(100)], [mark(200), mark(201)]
    marks = Marks([(b"".join(plain), ""), (flawed[0], "an order"), (flawed[1], "another")])
    strange = [plain[n][5:] + plain[n + 1][:5] for n in range(40)]  # across two of them
    for one in strange + plain:
        assert marks.get(one) == ("" if one in plain else None)
    assert [marks[one] for one in flawed] == ["an order", "another"]
    assert sorted(marks) == sorted(plain + flawed)
    assert len(marks) == 102
    assert Marks([]).get(mark(1)) is None
