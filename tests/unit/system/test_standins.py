"""What stands in for a module does what that does, and leaves to it what it does not do itself."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.system import standins

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
BLANK = st.text(" \t\r\n", max_size=3)


def outcome(call, *args, **named):
    """Return what *call* returns, or how it fails."""
    try:
        return call(*args, **named)
    except Exception as error:  # noqa: BLE001 - whatever it is, both must fail so
        return type(error), str(error)


@given(VALUES, st.booleans())
def test_a_value_is_spelled_as_json_spells_it(value, ascii_only):
    assert standins.dumps(value, ensure_ascii=ascii_only) == json.dumps(value, ensure_ascii=ascii_only)


@pytest.mark.parametrize("value", [float("nan"), {1: 2, None: True}, {(1, 2): 3}, {1, 2}, b"x", "\ud800", object])
def test_an_odd_value_is_spelled_or_refused_as_by_json(value):
    assert outcome(standins.dumps, value) == outcome(json.dumps, value)


def test_a_value_that_is_in_itself_is_refused_as_by_json():
    value: list[object] = []
    value.append(value)
    assert outcome(standins.dumps, value) == outcome(json.dumps, value)


@given(VALUES, BLANK, BLANK, st.sampled_from(["utf-8", "utf-16", "utf-32-le", "utf-8-sig"]))
def test_a_text_is_read_as_json_reads_it(value, before, after, encoding):
    text = before + json.dumps(value, ensure_ascii=False) + after
    assert standins.loads(text) == json.loads(text)
    raw = text.encode(encoding, "surrogatepass")
    assert outcome(standins.loads, raw) == outcome(json.loads, raw)


@given(st.text('{}[]":,0123456789.eE+- \\ntrufalsNI\ufeff', max_size=12))
def test_a_text_that_may_be_none_is_read_or_refused_as_by_json(text):
    for one in (text, text.encode()):
        assert repr(outcome(standins.loads, one)) == repr(outcome(json.loads, one))
    assert repr(outcome(standins.loads, text, parse_int=str)) == repr(outcome(json.loads, text, parse_int=str))


@pytest.mark.parametrize("text", ['{"a": "b', '{"a" 1}', '["\\x"]', "[1,", '{"a": 1,}'])
def test_what_is_no_json_is_refused_as_by_json_where_nobody_has_loaded_that(text):
    code = "import sys\nfrom memsync.system import standins\nstandins.loads(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, text], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == f"json.decoder.JSONDecodeError: {outcome(json.loads, text)[1]}"


def test_the_stand_ins_are_there_between_putting_in_and_taking_out_and_become_the_modules_when_needed():
    code = """
import sys
from memsync.system import standins
standins.put_in()
import datetime, json, re, typing
from typing import Any, Literal, get_args
print([name for name in ("json", "re", "typing") if sys.modules[name].__spec__], get_args(Literal["a", "b"]))
print(json.loads('[1]'), re.IGNORECASE | re.DOTALL, datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC).isoformat())
print(typing.NamedTuple.__name__, sys.modules["typing"].__spec__.name)
standins.take_out()
print("json" in sys.modules, json.JSONDecoder.__name__, re.compile("a(b)").match("ab")[1], json.dumps([1], indent=1))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[] ('a', 'b')",
        "[1] 18 2026-01-02T00:00:00+00:00",
        "NamedTuple typing",
        "False JSONDecoder b [",
        " 1",
        "]",
    ]


LIBRARY = """
import sys, warnings
from memsync.system import standins
warnings.simplefilter("ignore")
kept = {*sys.modules}
failed = {}
for name in sys.argv[1:]:
    standins.put_in()
    try:
        __import__(name)
    except ImportError as error:
        if error.name != name:  # what is not of this system, or was not built
            failed[name] = repr(error)
    except Exception as error:
        failed[name] = repr(error)
    standins.take_out()
    for one in [*sys.modules]:
        if one not in kept and str(getattr(sys.modules[one], "__file__", "")).endswith(".py"):
            del sys.modules[one]
print(failed)
"""
# Whose import opens a window, prints a poem, or takes long.
LEFT_OUT = {"antigravity", "this", "idlelib", "turtledemo", "tkinter", "turtle", "lib2to3", "test"}


def test_every_module_of_the_standard_library_can_be_imported_beside_the_stand_ins():
    names = sorted(name for name in sys.stdlib_module_names if name[0] != "_" and name not in LEFT_OUT)
    done = subprocess.run([sys.executable, "-c", LIBRARY, *names], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "{}"


def test_a_module_that_was_loaded_before_the_stand_ins_has_its_own_part():
    code = """
import collections, sys  # as `python -m` and whatever a site loads do, without its part
sys.modules.pop("collections.abc", None)
vars(collections).pop("abc", None)
from memsync.system import standins
standins.put_in()
import collections.abc
print(collections.abc.Mapping.__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("Mapping\n", "")


def test_what_is_of_others_is_imported_without_stand_ins():
    code = """
import sys
from memsync.system import standins
standins.put_in()
from typing import Generic, TypeVar
T = TypeVar("T")
class Ours(dict[str, T], Generic[T]): pass
import numpy
print(Ours(a=1), [name for name in ("typing", "functools") if sys.modules[name].__spec__ is None], standins._Watch in sys.meta_path)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "{'a': 1} [] False\n"


def run_as(code: str, *, with_stand_ins: bool) -> str:
    """Return what *code* prints, with the stand-ins in or without."""
    before = "from memsync.system import standins; standins.put_in()\n" if with_stand_ins else ""
    return subprocess.run([sys.executable, "-c", before + code], capture_output=True, text=True, check=True).stdout


TOOLS = """
from contextlib import contextmanager, suppress
from functools import cache, cached_property, lru_cache, partial, reduce, wraps
from types import MappingProxyType

class Thing:
    made = 0
    @cached_property
    def size(self):
        "how large it is"
        self.made += 1
        return 7

one = Thing()
print(one.size, one.size, one.made, Thing.size.__doc__)

@cache
def double(x): return 2 * x
@lru_cache
def third(x): return 3 * x
@lru_cache(maxsize=2)
def fourth(x): return 4 * x
for call in (double, third, fourth):
    print([call(x) for x in (1, 2, 3, 1)], call.cache_info().hits, call.cache_info().misses, call.cache_info().currsize)

@contextmanager
def opened(name):
    print("in", name)
    try:
        yield name.upper()
    except ValueError:
        print("taken")
    finally:
        print("out", name)

with opened("a") as name:
    print(name)
with opened("b"):
    raise ValueError
for wrong in (KeyError, StopIteration, GeneratorExit):
    try:
        with opened("c"):
            raise wrong(1)
    except BaseException as error:
        print(repr(error))
@opened("d")
def inside(): print("inside")
inside()
@contextmanager
def twice():
    yield 1
    yield 2
try:
    with twice(): pass
except RuntimeError as error:
    print(repr(error))

with suppress(KeyError, ValueError):
    {}[1]
with suppress(ValueError):
    raise ExceptionGroup("some", [ValueError(1)]) if __import__("sys").version_info >= (3, 12) else ValueError
try:
    with suppress():
        {}[1]
except KeyError as error:
    print(repr(error))
print(reduce(lambda a, b: a * b, [1, 2, 3]), partial(max, 3)(2), MappingProxyType({1: 2}), wraps(double)(lambda x: x).__name__)
"""


def test_the_tools_of_functools_and_contextlib_do_what_those_do():
    assert run_as(TOOLS, with_stand_ins=True) == run_as(TOOLS, with_stand_ins=False)


def test_parts_of_collections_are_found_by_each_spelling_with_the_stand_ins_in():
    code = """
import collections
import collections.abc
from collections import Counter, OrderedDict, abc, defaultdict, namedtuple
from heapq import heappush, nlargest
from operator import itemgetter
print(isinstance({}, collections.abc.Mapping), abc.Mapping is collections.abc.Mapping, Counter("aab"), nlargest(1, [1, 2]))
print(issubclass(OrderedDict, abc.MutableMapping), namedtuple("N", "a")(1), itemgetter(0)("b"), collections.ChainMap({1: 2}))
"""
    assert run_as(code, with_stand_ins=True) == run_as(code, with_stand_ins=False)


def test_what_is_loaded_already_has_no_stand_in():
    standins.put_in()
    assert sys.modules["json"] is json
    standins.take_out()
    assert sys.modules["json"] is json


@pytest.mark.parametrize("loaded", ["json", "re", "typing", "collections", "contextlib", "functools", "types", "runpy"])
def test_they_go_with_what_was_loaded_before(loaded):
    code = f"""
import {loaded}
from memsync.system import standins
standins.put_in()
import collections, collections.abc, contextlib, functools, json, re, typing
assert issubclass(dict, collections.abc.Mapping) and re.compile("a") and json.loads("[1]") == [1]
assert collections.Counter("aa")["a"] == 2 and typing.get_args(list[int]) == (int,)
import dataclasses, logging, sqlite3, unittest
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True).stderr == ""
