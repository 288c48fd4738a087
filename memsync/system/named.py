"""`NamedTuple` for what cold commands load: the standard one writes and compiles a constructor for each class.

What is made here does all that `typing.NamedTuple` does. A class of which many are made gets the compiled constructor after all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, NamedTuple
else:
    from collections import _tuplegetter

    _FEW = 32  # constructions from which on the compiled constructor, three times as quick, is worth its making
    _make = tuple.__new__

    class _Meta(type):
        def __new__(cls, name: str, _: tuple[type, ...], body: dict[str, Any]) -> type:
            types = body.pop("__annotations__", {})
            fields = tuple(types)
            given = {field: body.pop(field) for field in fields if field in body}
            shape = {
                "__slots__": (),
                "_fields": fields,
                "_field_defaults": given,
                "__match_args__": fields,
                "__annotations__": types,
                **{field: _tuplegetter(at, "") for at, field in enumerate(fields)},
            }
            made = type(name, (_Base,), {**shape, **body})
            made.__new__ = _find_constructor(made)
            return made

    def _find_constructor(made: Any) -> Any:
        """Return what makes one of *made*, and puts the compiled constructor in its own place when it has made a few."""
        fields, given, left = made._fields, made._field_defaults, [_FEW]

        def construct(cls: type, /, *args: Any, **named: Any) -> Any:
            left[0] -= 1
            if not left[0]:
                made.__new__ = _compile_constructor(made)
            if named or len(args) != len(fields):
                values = given | dict(zip(fields, args, strict=False)) | named
                if (
                    len(args) > len(fields)
                    or values.keys() != set(fields)
                    or not named.keys().isdisjoint(fields[: len(args)])
                ):
                    raise TypeError(f"{made.__name__}() takes {', '.join(fields)}")
                args = tuple([values[field] for field in fields])
            return _make(cls, args)

        return construct

    def _compile_constructor(made: Any) -> Any:
        """Return the constructor that `collections.namedtuple` would give *made*, without loading that module."""
        names = "".join(f"{field}, " for field in made._fields)
        words = f"lambda _cls, {names}: _make(_cls, ({names}))"
        compiled = eval(words, {"_make": _make, "__builtins__": {}})  # noqa: S307 - names of ours, as there
        compiled.__defaults__ = tuple(made._field_defaults.values())
        compiled.__name__, compiled.__qualname__ = "__new__", f"{made.__name__}.__new__"
        return compiled

    class _Base(tuple):
        """What every class has."""

        __slots__ = ()

        @classmethod
        def _make(cls, values: Any) -> Any:
            made = _make(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changes: Any) -> Any:
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        __replace__ = _replace

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in zip(self._fields, self, strict=True))})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

    NamedTuple = type.__new__(_Meta, "NamedTuple", (), {})

__all__ = ["NamedTuple"]
