"""`dataclass`, `field`, `fields` and `replace` for what cold commands load.

The standard ones import `inspect` and compile six methods a class, which took a tenth of a prompt's hook. A class that is
made here is one of `dataclasses` for everybody who asks: `dataclasses.replace`, `fields` and `asdict` take it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass, field, fields, replace
    from typing import Any, Never

__all__ = ["dataclass", "field", "fields", "replace"]

_NONE = object()


class _Given:
    """What `field` was told."""

    def __init__(self, **options: Any) -> None:
        self.options = options


class _Shape:
    """The fields of a class: what is told of each, the defaults, and what makes a default."""

    def __init__(self, cls: Any, told: dict[str, Any], *, by_name: bool) -> None:
        self.told, self.by_name = told, by_name
        self.names, self.whole = tuple(told), set(told)
        given = {name: one.options for name, one in told.items() if type(one) is _Given}
        self.made = {
            name: options["default_factory"] for name, options in given.items() if "default_factory" in options
        }
        self.defaults = {name: getattr(cls, name) for name in told if name not in self.made and hasattr(cls, name)}


class _Fields:
    """What `dataclasses` knows a class by, made when somebody asks."""

    def __get__(self, thing: object, cls: Any) -> Any:
        import dataclasses

        types = {name: kind for base in reversed(cls.__mro__) for name, kind in _types_of(base).items()}
        body: dict[str, Any] = {"__annotations__": {name: types[name] for name in cls._shape.names}}
        for name, one in cls._shape.told.items():
            if one is not _NONE:
                body[name] = dataclasses.field(**one.options) if type(one) is _Given else one
        made: Any = dataclasses.dataclass(kw_only=True)(type(cls.__name__, (), body))
        cls.__dataclass_fields__ = made.__dataclass_fields__
        return cls.__dataclass_fields__


class _Params:
    def __init__(self, *, frozen: bool) -> None:
        self.frozen = frozen


def _types_of(cls: Any) -> dict[str, Any]:
    return vars(cls).get("__annotations__") or {}


def _dataclass(
    cls: Any = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,  # noqa: ARG001 - what a process has few of may have a dictionary
    kw_only: bool = False,
) -> Any:
    """Make a class that sets, compares and shows the fields that it declares."""

    def make(cls: Any) -> Any:
        own = {name: cls.__dict__.get(name, _NONE) for name in _types_of(cls)}
        for name, one in own.items():
            if type(one) is _Given:
                delattr(cls, name)
                if "default" in one.options:
                    setattr(cls, name, one.options["default"])
        before = getattr(cls, "_shape", None)
        cls._shape = _Shape(cls, {**(before.told if before else {}), **own}, by_name=kw_only)
        cls.__init__, cls.__eq__, cls.__repr__ = _init, _equal, _show
        cls.__hash__ = _hash if frozen else None
        if frozen:
            cls.__setattr__ = cls.__delattr__ = _refuse
        cls.__dataclass_fields__, cls.__dataclass_params__ = _Fields(), _Params(frozen=frozen)
        return cls

    return make(cls) if cls else make


def _init(self: Any, /, *args: Any, **given: Any) -> None:
    shape, values = self._shape, self.__dict__
    values.update(shape.defaults)
    if args:
        values.update(zip(shape.names, args, strict=False))
    values.update(given)
    if shape.made:
        values.update({name: make() for name, make in shape.made.items() if name not in values})
    if values.keys() != shape.whole or (args and (shape.by_name or len(args) + len(given) > len(shape.names))):
        wrong = ", ".join(sorted(values.keys() ^ shape.whole))
        raise TypeError(f"{type(self).__name__}() does not take that; missing or unknown: {wrong or 'names'}")


def _equal(self: Any, other: Any) -> Any:
    if type(self) is not type(other):
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in self._shape.names)


def _hash(self: Any) -> int:
    return hash(tuple([getattr(self, name) for name in self._shape.names]))


def _show(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._shape.names)})"


def _refuse(_self: Any, name: str, *_: object) -> Never:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot change {name!r}")


class _Field:
    """What there is to know of one field."""

    def __init__(self, name: str, told: Any) -> None:
        options = told.options if type(told) is _Given else {"default": told}
        self.name, self.default, self.metadata = name, options.get("default"), options.get("metadata", {})


def _fields(cls: Any) -> tuple[_Field, ...]:
    """Return the fields of a class that is made here: the name, the default and the metadata of each."""
    return tuple(_Field(name, told) for name, told in cls._shape.told.items())


def _replace(thing: Any, /, **changes: Any) -> Any:
    """Return *thing* with *changes*."""
    return type(thing)(**{name: getattr(thing, name) for name in vars(type(thing))["_shape"].names} | changes)


if not TYPE_CHECKING:
    dataclass, field, fields, replace = _dataclass, _Given, _fields, _replace
