"""A `NamedTuple` of ours is what the standard one is."""

from __future__ import annotations

import pickle
import typing

import pytest

from memsync.system import named


class Ours(named.NamedTuple):
    """What it is."""

    name: str
    size: int = 3

    @property
    def doubled(self) -> int:
        """Twice the size."""
        return 2 * self.size


class Theirs(typing.NamedTuple):
    """What it is."""

    name: str
    size: int = 3


def test_it_has_the_fields_the_defaults_and_the_name_of_a_standard_one():
    for what in ("_fields", "_field_defaults", "__doc__", "__module__"):
        assert getattr(Ours, what) == getattr(Theirs, what)
    assert (Ours.__name__, Ours.__qualname__) == ("Ours", "Ours")
    assert typing.get_type_hints(Ours) == {"name": str, "size": int}
    assert repr(Ours("a")) == "Ours(name='a', size=3)"


def test_it_is_a_tuple_with_methods_that_can_be_kept():
    one = Ours("a", size=4)
    assert one == ("a", 4)
    assert (one._replace(name="b"), one.doubled) == (("b", 4), 8)
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(TypeError):
        Ours()
