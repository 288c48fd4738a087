"""Laws of one line: what is written is read, what is not named is not touched, nothing raises."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from strategies import json_values, memories, spelled_objects, spelled_values, texts, unknown_keys

from memsync.format.codec import ALIASES, KNOWN_KEYS, decode, edit, encode, is_canonical, split_object

edits = st.fixed_dictionaries(
    {},
    optional={
        "content": texts,
        "memory_type": st.sampled_from(("fact", "note", "déjà")),
        "importance": st.none() | st.floats(0, 1),
        "tags": st.lists(texts, max_size=2),
        "source_session_id": st.none() | texts,
        "author": st.none() | texts,
        "updated_at": st.just("2026-01-03T00:00:00.000Z"),
        "novel": json_values,
    },
)


def pairs_of(raw: bytes) -> list[tuple[str, str]]:
    """Return the keys of a line, each with the text of its value."""
    return [(pair[0], pair[-1]) for pair in split_object(raw)]


@given(memories)
def test_what_is_encoded_decodes_to_the_same_memory(memory):
    read = decode(encode(memory))
    assert (read.id, read.memory, read.problem) == (memory.id, memory, None)


@given(memories)
def test_an_encoded_memory_is_one_line_for_every_tool(memory):
    text = encode(memory).decode()
    assert text.splitlines() == [text]


@given(memories)
def test_what_memsync_encodes_is_canonical(memory):
    assert is_canonical(encode(memory))


@given(spelled_objects(), edits)
def test_an_edit_changes_the_named_fields_and_no_other_value(spelled, changes):
    raw, pairs = spelled
    named = {key for name in changes for key in ALIASES.get(name, (name,))}
    last = dict(pairs)  # of repeated keys the last counts, and only that stays
    untouched = sorted(pair for pair in last.items() if pair[0] not in named)
    assert [pair for pair in pairs_of(edit(raw, changes)) if pair[0] not in named] == untouched


@given(spelled_objects(), edits)
def test_an_edit_says_what_was_set(spelled, changes):
    raw, _ = spelled
    said: dict[str, list[str]] = {}
    for key, text in pairs_of(edit(raw, changes)):
        said.setdefault(key, []).append(text)
    for name, value in changes.items():
        keys = [key for key in ALIASES.get(name, (name,)) if key in said]
        assert all([json.loads(text) for text in said[key]] == [value] for key in keys)
        assert bool(keys) == (value is not None)


@given(spelled_objects(), edits)
def test_an_edited_line_is_canonical_and_editing_it_again_changes_nothing(spelled, changes):
    once = edit(spelled[0], changes)
    assert is_canonical(once)
    assert edit(once, changes) == once


@given(st.binary(max_size=80) | spelled_objects().map(lambda drawn: drawn[0]))
def test_decoding_any_bytes_gives_a_memory_a_removal_or_a_reason(raw):
    read = decode(raw)
    assert bool(read.memory) + bool(read.deleted_at) == (read.id is not None)
    assert read.id or read.problem


@given(
    st.dictionaries(st.sampled_from(sorted(KNOWN_KEYS)) | unknown_keys, json_values | st.integers(), max_size=8),
    st.lists(st.tuples(st.sampled_from(sorted(KNOWN_KEYS)), spelled_values | st.just("9" * 400)), max_size=3),
)
def test_decoding_values_of_any_kind_never_raises(fields, odd):
    """A second spelling of a key replaces the first, so odd values reach every field."""
    body = ", ".join([f"{json.dumps(key)}: {json.dumps(value)}" for key, value in fields.items()])
    tail = "".join(f', "{key}": {text}' for key, text in odd)
    read = decode(f'{{"content": "x", "id": "a"{", " if body else ""}{body}{tail}}}'.encode())
    assert read.id or read.problem
