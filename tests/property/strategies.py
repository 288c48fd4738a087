"""What records, lines and files can look like: every field varied, few ids, odd Unicode."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import strategies as st

from memsync.format.codec import KNOWN_KEYS, encode, encode_tombstone
from memsync.records import Memory

# Few, so that the same id meets itself; one sorts before all of ours, one is foreign, one is not ASCII.
IDS = ("0", "mm-aaaaaa", "mm-aaaaab", "mm-b", "b1e2f3a4-5c6d-4e7f-8a9b-0c1d2e3f4a5b", "é")
ODD = (
    "\u2028",
    "\u2029",
    "\x85",
    "\x00",
    "\x1f",
    "\x7f",
    '"',
    "\\",
    "\ufeff",
    "\U0001f642",
    "é",
    "e\u0301",
    "\t",
    "\r\n",
)
# Spellings that a parser would give back differently.
ODD_VALUES = (
    "1.10",
    "1e5",
    "-0",
    "1E+2",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827",
    "NaN",
    "-Infinity",
    '"\\u00e9\\/\\ud83d\\ude42"',
    '"\\ud800"',
    '{ "b" : 1 ,\t"a":[ ], "a": null }',
    '[ 1.0, "two" ,{}]',
    '"\u2028"',
)
MARKERS = (b"<<<<<<< ours", b"||||||| base", b"=======", b">>>>>>> theirs", b"<<<<<<<<< deeper")
JUNK = (
    b'{"id": "mm-aaaaaa", "content": "cut',
    b"[1, 2]",
    b"null",
    b"# a note",
    b"{}",
    b"\xff\x00\xfe",
    b'{"id": 7}',
    b"}",
)

ids = st.sampled_from(IDS)
texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(ODD), max_size=6).map(
    "".join
)
words = texts.filter(bool)
times = st.datetimes(timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
importances = st.floats(0, 1) | st.sampled_from((0.0, 0.5, 0.7, 1.0))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
unknown_keys = (texts | st.sampled_from(("project_id", "zeta", "ID", ""))).filter(
    lambda key: key not in KNOWN_KEYS | {"_deleted"}
)

memories = st.builds(
    Memory,
    id=ids,
    content=texts,
    memory_type=st.sampled_from(("fact", "preference", "pattern", "context")) | words,
    importance=importances,
    tags=st.lists(words, max_size=3).map(tuple),
    source_type=st.sampled_from(("user", "session", "import")) | words,
    source_session_id=st.none() | words,
    author=st.none() | words,
    created_at=st.none() | times,
    updated_at=st.none() | times,
    supersedes=st.lists(ids, max_size=2).map(tuple),
    anchors=st.lists(ids, max_size=2).map(tuple),
    cues=st.lists(words, max_size=2).map(tuple),
    links=st.lists(words, max_size=2).map(tuple),
    triggers=st.lists(words, max_size=2).map(tuple),
    conflict_of=st.none() | ids,
    archived_at=st.none() | times,
    extra=st.dictionaries(unknown_keys, json_values, max_size=3),
)

spaces = st.sampled_from(("", "", " ", "  ", "\t"))
spelled_values = st.sampled_from(ODD_VALUES) | st.builds(
    lambda value, ascii_, wide: json.dumps(value, ensure_ascii=ascii_, separators=(", ", ": ") if wide else (",", ":")),
    json_values,
    st.booleans(),
    st.booleans(),
)


@st.composite
def spelled_objects(draw: st.DrawFn, id_: str | None = None) -> tuple[bytes, list[tuple[str, str]]]:
    """Draw a record as any tool or person might spell it, with its pairs of key and spelled value."""
    pairs = [
        ("id", json.dumps(id_ or draw(ids))),
        ("content", json.dumps(draw(texts), ensure_ascii=draw(st.booleans()))),
    ]
    pairs += draw(
        st.lists(
            st.tuples(st.sampled_from(("type", "memory_type")), st.sampled_from(('"fact"', '"note"')))
            | st.tuples(
                st.sampled_from(("source", "source_type", "source_id", "author")), st.sampled_from(('"user"', '""'))
            )
            | st.tuples(st.just("importance"), st.sampled_from(("0.50", "5e-1", "1", '"high"')))
            | st.tuples(st.just("tags"), st.sampled_from(("[ ]", '["a" ,"b"]', '"a, b"')))
            | st.tuples(st.just("updated_at"), st.sampled_from(('"2026-01-01T00:00:00Z"', '"2026-01-02"', '"soon"')))
            | st.tuples(unknown_keys, spelled_values),
            max_size=6,
        )
    )
    pairs = draw(st.permutations(pairs))
    body = ",".join(
        f"{draw(spaces)}{json.dumps(key, ensure_ascii=False)}{draw(spaces)}:{draw(spaces)}{value}{draw(spaces)}"
        for key, value in pairs
    )
    return f"{draw(spaces)}{{{body}}}{draw(spaces)}".encode(), pairs


our_lines = memories.map(encode)
tombstones = st.builds(encode_tombstone, ids, times)
foreign_lines = spelled_objects().map(lambda drawn: drawn[0])
nameless_lines = texts.map(lambda text: json.dumps({"content": text}).encode())
junk_lines = st.sampled_from(JUNK) | st.binary(max_size=12).map(lambda raw: raw.replace(b"\n", b""))
blank_lines = st.sampled_from((b"", b" ", b"\t", b"\r"))
# Two ids and three texts, spelled both ways: lines that replace, repeat and contradict each other.
short_lines = st.builds(
    lambda id_, text, gap: f'{{"content":{gap}"{text}","id":{gap}"{id_}"}}'.encode(),
    st.sampled_from(IDS[:2]),
    st.sampled_from(("one", "two", "three")),
    st.sampled_from(("", " ")),
)
short_tombstones = st.builds(encode_tombstone, st.sampled_from(IDS[:2]), st.just(datetime(2026, 1, 2, tzinfo=UTC)))
record_lines = short_lines | our_lines | foreign_lines | nameless_lines
plain_lines = short_lines | short_tombstones | record_lines | tombstones | junk_lines | blank_lines


@st.composite
def files(draw: st.DrawFn, lines: st.SearchStrategy[bytes] = plain_lines) -> bytes:
    """Draw a whole file: mixed line ends, stray byte order marks, perhaps a torn last line."""
    ends = st.sampled_from((b"\n", b"\n", b"\n", b"\r\n", b"\r\r\n"))
    starts = st.sampled_from((b"", b"", b"", b"", b"\xef\xbb\xbf"))
    data = b"".join(draw(starts) + raw + draw(ends) for raw in draw(st.lists(lines, max_size=10)))
    return data[: -draw(st.integers(1, 9))] if draw(st.booleans()) else data


conflicted_files = files(plain_lines | st.sampled_from(MARKERS))
