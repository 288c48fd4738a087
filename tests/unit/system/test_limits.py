"""What a stranger's file may ask of us: little text that costs much is refused before anything is built of it."""

from __future__ import annotations

import itertools
import json
import time

import pytest

from memsync.store import yamltext
from memsync.system import limits
from memsync.system.limits import DEEPEST, MOST_NODES

_ROOM = 120_000  # characters, just below the limit


def laughs(levels: int = 12) -> str:
    """Return lists of lists of lists, each nine times the one before."""
    names = "abcdefghijkl"[:levels]
    rows = "".join(f"  - &{two} [{','.join([f'*{one}'] * 9)}]\n" for one, two in itertools.pairwise(names))
    return f"x:\n  - &a [{','.join(['lol'] * 9)}]\n{rows}memory:\n  recall_limit: *{names[-1]}\n"


HOSTILE = {
    "aliases of aliases": laughs(),
    "merges of merges": "a0: &a0 {x: 1}\n"
    + "".join(f"a{n}: &a{n}\n  <<: [*a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 20)),
    "a list in itself": "a: &a [*a]\n",
    "a mapping in itself": "a: &a {b: *a}\n",
    "a key that holds itself": "? &a [*a]\n: 1\n",
    "brackets": "a: " + "[" * 3000 + "]" * 3000,
    "brackets without an end": "a: " + "[" * 100_000,
    "braces": "a: " + "{a: " * 3000 + "}" * 3000,
    "brackets and braces": "[{a: " * 3000,
    "brackets apart": "a: " + "[ 1234567890, " * 3000,
    "dashes": "- " * 50_000,
    "question marks": "? " * 50_000,
    "indentation": "".join(" " * n + "a:\n" for n in range(400)),
    "long list": "a: [" + "x," * (_ROOM // 2) + "]\n",
    "long list of rows": "a:\n" + "- x\n" * (_ROOM // 4),
    "many keys": "".join(f"k{n}: [1]\n" for n in range(9000)),
    "too long": "a: " + "x" * 50_000_000,
    "NUL": "a: 1\nb: \0\n",
    "a key twice": "a: 1\na: 2\n",
    "many digits": f"a: {'1' * _ROOM}\n",
    "many hexadecimal digits": f"a: 0x{'1' * _ROOM}\n",
    "a truth that is none": "a: !!bool perhaps\n",
    "a time that is none": "a: 2020-13-45\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("parse", [yamltext.read, yamltext.load_tree])
def test_hostile_yaml_is_refused_in_no_time_and_built_of_nothing(text, parse):
    began = time.process_time()
    with pytest.raises(yamltext.NotYaml) as caught:
        parse(text)
    assert time.process_time() - began < 2
    assert len(str(caught.value)) < 300


def test_a_tag_that_names_code_is_refused():
    with pytest.raises(yamltext.NotYaml):
        yamltext.read("a: !!python/object/apply:os.system [id]\n")


@pytest.mark.parametrize("name", ["aliases of aliases", "brackets", "dashes", "NUL", "a key twice", "many digits"])
def test_the_refusal_names_the_line(name):
    with pytest.raises(yamltext.NotYaml) as caught:
        yamltext.read(HOSTILE[name])
    assert caught.value.line is not None


@pytest.mark.parametrize(
    "text",
    [
        "a: 'x" + " y" * 50_000 + "'\n",
        "a: x" + " " * _ROOM + "# why\n",
        " " * _ROOM + "a: 1\n",
        "# why\n" * 20_000,
        "a: |\n" + "  x\n" * 20_000,
        "a: &b {c: 1}\nd: {<<: *b, e: 2}\n",
        "a: &b [1, 2]\nd: *b\ne: *b\n",
        "description: " + "see [1] and {2}, " * 500 + "\n",
        "a: " + "[" * (DEEPEST - 2) + "]" * (DEEPEST - 2) + "\n",
    ],
)
def test_long_texts_aliases_and_brackets_in_sentences_are_read(text):
    began = time.process_time()
    yamltext.read(text)
    assert time.process_time() - began < 2


def test_as_many_values_as_are_allowed_are_read():
    assert len(yamltext.read("- 1\n" * (MOST_NODES - 1))) == MOST_NODES - 1


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 100 + "]" * 100,
        '{"a":' * 500 + "1" + "}" * 500,
        '["]",' * 5000,
        '"' + '\\"' * 500_000,
        '["' + "\\\\" * 500_000 + '",' + "[" * 70,
        "[1" + "," * 10,
        b"\xff\xfe",
        "9" * 5000,
    ],
)
def test_hostile_json_is_refused_as_a_value_error(text):
    began = time.process_time()
    with pytest.raises(ValueError):
        limits.read_json(text)
    assert time.process_time() - began < 2


def test_brackets_in_strings_and_side_by_side_nest_nothing():
    value = {"a": ["[[[[" * 100, '"{' * 100], "b": [[]] * 1000}
    assert limits.read_json(json.dumps(value)) == value
    assert limits.read_json(b"\xef\xbb\xbf" + json.dumps(value).encode()) == value


def test_a_text_that_is_longer_than_allowed_is_refused():
    with pytest.raises(limits.TooMuch, match=r"12 characters, more than 10"):
        limits.read_json('"0123456789"', 10)


@pytest.mark.parametrize(
    "text",
    [
        "a." * 100_000 + "a = 1",
        "[" + "a . " * 100_000 + "a]",
        "x = {" + "a." * 100 + "a = 1}",
        '"a".' * 1000 + "a = 1",
        "a = " + "[" * 50_000,
        "a = [" + "1," * 500_000 + "]",
        "a = " + "{b = " * 3000 + "1" + "}" * 3000,
    ],
)
def test_hostile_toml_is_refused_as_a_value_error(text):
    began = time.process_time()
    with pytest.raises(ValueError):
        limits.read_toml(text)
    assert time.process_time() - began < 2


def test_sentences_with_dots_in_toml_are_read():
    text = "One thing. " * 200
    assert limits.read_toml(f'a = "{text}"\n[b.c.d]\ne = 1\n') == {"a": text, "b": {"c": {"d": {"e": 1}}}}


@pytest.mark.parametrize(("depth", "deep"), [(1, False), (DEEPEST, False), (DEEPEST + 1, True), (900, True)])
def test_a_built_value_tells_how_deep_it_is(depth, deep):
    value: object = 1
    for n in range(depth):
        value = [value, 2] if n % 2 else {"a": value}
    assert limits.is_deep(value) is deep
    assert not limits.is_deep("text")
