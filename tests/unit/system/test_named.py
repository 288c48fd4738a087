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


@pytest.mark.parametrize("made_before", [0, 100])
def test_it_is_made_as_a_standard_one_however_many_there_are(made_before):
    class Mine(named.NamedTuple):
        name: str
        size: int = 3

    for number in range(made_before):
        assert Mine("a", number) == ("a", number)
    assert [Mine("a"), Mine(size=4, name="b"), Mine("c", size=5)] == [("a", 3), ("b", 4), ("c", 5)]
    assert (type(Mine("a")), Mine._make(["d", 1]), Mine("a")._asdict()) == (Mine, ("d", 1), {"name": "a", "size": 3})
    for wrong in ({}, {"name": "a", "other": 1}):
        with pytest.raises(TypeError):
            Mine(**wrong)
    for wrong in (("a", 1, 2), ()):
        with pytest.raises(TypeError):
            Mine(*wrong)
    with pytest.raises(TypeError):
        Mine("a", name="b")
