"""Classes with declared fields that are made without `dataclasses`, and are dataclasses for whoever asks."""

import dataclasses

import pytest

from memsync.system.dataclass import dataclass, field, fields, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    name: str
    marks: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class More(Base):
    score: float
    kind: str = field(default="fact", metadata={"help": "what it is"})


@dataclass
class Open:
    one: int
    two: int = 2


def test_fields_are_set_by_name_with_defaults_made_anew_for_each():
    first, second = Base(name="a"), Base(name="a")
    assert (first.name, first.marks, first.notes) == ("a", (), [])
    assert first == second
    assert first.notes is not second.notes
    assert repr(More(name="a", score=0.5)) == "More(name='a', marks=(), notes=[], score=0.5, kind='fact')"


def test_fields_are_set_in_order_where_names_are_not_asked_for():
    made = Open(1)
    made.two = 3
    assert made == Open(1, 3)
    assert made != Open(1)


@pytest.mark.parametrize("wrong", [{}, {"name": "a", "score": 1.0, "unknown": 1}, {"score": 1.0}])
def test_what_is_missing_or_unknown_is_refused(wrong):
    with pytest.raises(TypeError, match=r"More\(\)"):
        More(**wrong)


def test_values_without_a_name_are_refused_where_names_are_asked_for():
    with pytest.raises(TypeError):
        Base("a")
    with pytest.raises(TypeError):
        Open(1, 2, 3)


def test_what_is_frozen_cannot_be_changed_and_can_be_a_key():
    made = dataclasses.replace(Base(name="a"), notes=())
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.name
    assert {made: 1}[Base(name="a", notes=())] == 1
    with pytest.raises(TypeError):
        hash(Open(1))


def test_a_class_is_one_of_dataclasses_for_whoever_asks():
    made = More(name="a", score=0.5)
    assert [one.name for one in dataclasses.fields(More)] == ["name", "marks", "notes", "score", "kind"]
    assert dataclasses.asdict(made)["kind"] == "fact"
    assert dataclasses.fields(More)[4].metadata["help"] == fields(More)[4].metadata["help"] == "what it is"
    assert dataclasses.replace(made, score=1.0) == replace(made, score=1.0) == More(name="a", score=1.0)

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Own(Base):
        also: int = 1

    assert Own(name="a").also == 1
