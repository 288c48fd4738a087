"""Stand-ins for modules of which a hook needs little, and which take it most of a bare Python to import.

A stand-in does some things as the module does them, by the C functions that this has itself, and hands over to the real one
for all else. It is only there for modules that are imported between `put_in` and `take_out`. Imports next to nothing.
"""

from __future__ import annotations

import sys

from memsync.system.late import Late, import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BLANK = " \t\n\r"
_MARKS = (b"\xef\xbb", b"\xff\xfe", b"\xfe\xff")  # the first bytes of a text that names its encoding
_PARTS = {
    "collections": "_collections",
    "collections.abc": "_collections_abc",
    "functools": "_functools",
    "operator": "_operator",
    "bisect": "_bisect",
    "heapq": "_heapq",
}
_KNOWN = ("memsync", "Stemmer")  # the second is a module in C that imports nothing
# of patterns, as they are in Python's C code
_FLAGS = {"IGNORECASE": 2, "MULTILINE": 8, "DOTALL": 16, "VERBOSE": 64, "ASCII": 256}


def put_in() -> None:
    """Have the stand-ins imported instead of what nobody has imported yet."""
    given: dict[str, dict[str, Any]] = {
        "json": {"loads": loads, "dumps": dumps},
        "re": {**_FLAGS},
        "typing": {
            "TYPE_CHECKING": False,
            **dict.fromkeys(_ANNOTATIONS, _Type),
            "get_args": _get_args,
            "overload": _pass,
            "Generic": _Generic,
        },
        "collections": {},
        "collections.abc": {},
        "contextlib": {"suppress": _Suppress, "contextmanager": _contextmanager},
        "functools": {
            "cached_property": _CachedProperty,
            "cache": _lru_cache(None),
            "lru_cache": _lru_cache,
            "wraps": _wraps,
        },
        "types": {"MappingProxyType": type(vars(type)), "GenericAlias": _ALIAS},
        "operator": {},
        "bisect": {},
        "heapq": {},
    }
    for name, what in given.items():
        outer, _, part = name.rpartition(".")
        is_of_real = bool(outer) and not isinstance(sys.modules[outer], _StandIn)  # which must have its own part
        if name not in sys.modules and not is_of_real:
            made: Any = _StandIn(name)
            vars(made).update(what)
            sys.modules[name] = made
            if outer:
                vars(sys.modules[outer])[part] = made
    sys.meta_path.insert(0, _Watch)


def take_out() -> None:
    """Have the real modules imported from now on; who has a stand-in keeps it."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not _Watch]
    for name in [name for name, module in sys.modules.items() if isinstance(module, _StandIn)]:
        del sys.modules[name]


class _Watch:
    """Takes the stand-ins out when anybody imports what is neither ours nor of the standard library: who knows what that does with them."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Find nothing."""
        if (top := name.partition(".")[0]) not in _KNOWN and top not in sys.stdlib_module_names:
            take_out()


class _StandIn(Late):
    """Has what it was given, what the part of the module has that is written in C or loaded at every start, and what the module has."""

    def __getattr__(self, name: str) -> Any:
        if (part := _PARTS.get(self._late_name)) and name[:2] != "__":
            with _Suppress(ImportError, AttributeError):
                found = vars(self)[name] = getattr(import_module(part), name)
                return found
        return super().__getattr__(name)


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
        except (AttributeError, ImportError, StopIteration, SystemError, ValueError):
            pass  # a system error: in 3.11 the scanner raises nothing where `json.decoder` is not loaded
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


class _Suppress:
    """What `contextlib.suppress` is; of a group of errors it leaves to that what to let pass."""

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None = None, *error: object) -> Any:
        if kind is not None and issubclass(kind, BaseExceptionGroup):
            return Late("contextlib").suppress(*self._errors).__exit__(kind, *error)
        return kind is not None and issubclass(kind, self._errors)


def _contextmanager(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what `contextlib.contextmanager` makes of *function*."""
    return lambda *args, **named: _Managed(function, args, named)


class _Managed:
    """A generator as a context manager. How an error passes through it, and what else there is to it, `contextlib` knows."""

    def __init__(self, function: Callable[..., Any], args: Any, named: Any) -> None:
        self._again = function, args, named
        self.gen = function(*args, **named)

    def __enter__(self) -> Any:
        return next(self.gen)

    def __exit__(self, kind: type[BaseException] | None = None, *error: object) -> Any:
        if kind is None:
            if next(self.gen, _NONE) is _NONE:
                return False
            raise RuntimeError("generator didn't stop")
        return Late("contextlib")._GeneratorContextManager.__exit__(self, kind, *error)  # noqa: SLF001

    def __call__(self, function: Callable[..., Any]) -> Any:
        made, args, named = self._again
        return Late("contextlib").contextmanager(made)(*args, **named)(function)


_NONE = object()


class _CachedProperty:
    """What `functools.cached_property` is."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function, self.__doc__ = function, function.__doc__

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, thing: Any, _: type | None = None) -> Any:
        if thing is None:
            return self
        value = thing.__dict__[self._name] = self._function(thing)
        return value


def _lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:  # noqa: FBT002 - as it is there
    """Do what `functools.lru_cache` does."""
    wrap = import_module("_functools")._lru_cache_wrapper  # noqa: SLF001
    most = 128 if callable(maxsize) else maxsize

    def decorate(function: Any) -> Any:
        return _wraps(function)(wrap(function, most, typed, _CacheInfo))

    return decorate(maxsize) if callable(maxsize) else decorate


def _wraps(function: Any, **more: Any) -> Any:
    """Do what `functools.wraps` does."""
    if more:
        return Late("functools").wraps(function, **more)

    def liken(made: Any) -> Any:
        for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
            if hasattr(function, name):
                setattr(made, name, getattr(function, name))
        vars(made).update(getattr(function, "__dict__", {}))
        made.__wrapped__ = function
        return made

    return liken


class _CacheInfo:
    def __init__(self, hits: int, misses: int, maxsize: int | None, currsize: int) -> None:
        self.hits, self.misses, self.maxsize, self.currsize = hits, misses, maxsize, currsize


class _Type:
    """Any name of an annotation, which nobody evaluates here."""

    def __new__(cls, *_: Any, **__: Any) -> Any:
        return object.__new__(cls)

    def __class_getitem__(cls, of: Any) -> Any:
        return _ALIAS(cls, of)


class _Generic:
    __slots__ = ()

    def __class_getitem__(cls, _: Any) -> Any:
        return cls


_ALIAS: Any = type(list[int])  # `types.GenericAlias`
_ANNOTATIONS = ("Any", "BinaryIO", "Final", "Literal", "NoReturn", "Protocol", "Self", "TypeVar")


def _pass(function: Any) -> Any:
    return function


def _get_args(alias: Any) -> tuple[Any, ...]:
    args: tuple[Any, ...] = getattr(alias, "__args__", ())
    return args
