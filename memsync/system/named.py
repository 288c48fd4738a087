"""`NamedTuple` for what cold commands load: the standard one compiles the type of each field, which nobody asks it for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple
else:
    from collections import namedtuple

    class _Meta(type):
        def __new__(cls, name: str, _: tuple[type, ...], body: dict[str, Any]) -> type:
            types = body.pop("__annotations__", {})
            given = [body.pop(field) for field in types if field in body]
            made = namedtuple(name, types, defaults=given, module=body.pop("__module__"))  # noqa: PYI024
            for key, value in body.items():
                setattr(made, key, value)
            made.__annotations__ = made.__new__.__annotations__ = types
            return made

    NamedTuple = type.__new__(_Meta, "NamedTuple", (), {})

__all__ = ["NamedTuple"]
