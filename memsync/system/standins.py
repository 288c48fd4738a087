"""Stand-ins for `json`, `re` and `typing`, of which a hook needs little and which take it half a bare Python to import.

A stand-in does some things as the module does them, by the C functions that this has itself, and hands over to the real one
for all else. It is only there for modules that are imported between `put_in` and `take_out`. Imports next to nothing.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module

from memsync.system.late import Late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BLANK = " \t\n\r"
_MARKS = (b"\xef\xbb", b"\xff\xfe", b"\xfe\xff")  # the first bytes of a text that names its encoding
_FLAGS = {"IGNORECASE": 2, "MULTILINE": 8, "DOTALL": 16, "VERBOSE": 64}  # of patterns, as they are in Python's C code


def put_in() -> None:
    """Have the stand-ins imported instead of what nobody has imported yet."""
    given: dict[str, dict[str, Any]] = {
        "json": {"loads": loads, "dumps": dumps},
        "re": {**_FLAGS},
        "typing": {"TYPE_CHECKING": False, **dict.fromkeys(_ANNOTATIONS, _Type), "get_args": _get_args},
    }
    for name, what in given.items():
        if name not in sys.modules:
            made: Any = Late(name)
            vars(made).update(what)
            sys.modules[name] = made


def take_out() -> None:
    """Have the real modules imported from now on; who has a stand-in keeps it."""
    for name in ("json", "re", "typing"):
        if isinstance(sys.modules.get(name), Late):
            del sys.modules[name]


def loads(text: str | bytes, *, parse_int: Callable[[str], Any] = int, **more: Any) -> Any:
    """Return what `json.loads` does.

    Raises:
        ValueError: it is not JSON.
    """
    if not more:
        try:
            said = text if isinstance(text, str) else _decode(text)
            found, end = _make_scanner(parse_int)(said, len(said) - len(said.lstrip(_BLANK)))
            if not said[end:].strip(_BLANK):
                return found
        except (AttributeError, ImportError, StopIteration, ValueError):
            pass
    return Late("json").loads(text, parse_int=parse_int, **more)


def dumps(value: Any, *, ensure_ascii: bool = True, **more: Any) -> str:
    """Return what `json.dumps` does.

    Raises:
        TypeError, ValueError: it has no JSON.
    """
    if not more:
        try:
            own: Any = import_module("_json")
            spell = own.encode_basestring_ascii if ensure_ascii else own.encode_basestring
            return "".join(own.make_encoder({}, _refuse, spell, None, ": ", ", ", False, False, True)(value, 0))
        except (AttributeError, ImportError, TypeError, ValueError):
            pass
    said: str = Late("json").dumps(value, ensure_ascii=ensure_ascii, **more)
    return said


@cache
def _make_scanner(parse_int: Callable[[str], Any]) -> Any:
    reader = Late("json")  # anything that has what the scanner asks for: the defaults of `json.loads`
    vars(reader).update(
        strict=True,
        object_hook=None,
        object_pairs_hook=None,
        parse_float=float,
        parse_int=parse_int,
        parse_constant=float,  # NaN, Infinity and -Infinity
    )
    return import_module("_json").make_scanner(reader)


def _decode(raw: bytes) -> str:
    """Return *raw* as text.

    Raises:
        ValueError: it may be of another encoding than UTF-8.
    """
    if 0 in raw[:4] or raw[:2] in _MARKS:
        raise ValueError
    return raw.decode("utf-8", "surrogatepass")


def _refuse(value: object) -> None:
    raise TypeError(type(value))


class _Type:
    """Any name of an annotation, which nobody evaluates here."""

    def __new__(cls, *_: Any, **__: Any) -> Any:
        return object.__new__(cls)

    def __class_getitem__(cls, of: Any) -> Any:
        from types import GenericAlias

        return GenericAlias(cls, of)


_ANNOTATIONS = ("Any", "BinaryIO", "Final", "Literal", "NoReturn", "Protocol", "Self", "TypeVar")


def _get_args(alias: Any) -> tuple[Any, ...]:
    args: tuple[Any, ...] = getattr(alias, "__args__", ())
    return args
