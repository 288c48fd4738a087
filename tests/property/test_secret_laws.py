"""What the marks of its chunks allow in a text is all that there is: looking for everything finds the same secrets."""

from __future__ import annotations

import base64
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memsync.safety import chunks, secrets
from memsync.safety.formats import FORMATS, SEEDS
from memsync.safety.hints import STEMS
from memsync.safety.issuers import rules
from memsync.safety.samples import random_values, sample
from memsync.safety.values import find_runs, is_odd

SAID = "the token is ghp_" + "aB3d" * 9
PAIRS = [f"{byte:02x}" for byte in b"password: hunter2!Xy9z"]
EVERYTHING = (1 << chunks._FIRST_STEM + len(STEMS)) - 1
words = st.sampled_from(
    ("the", "deploy", "be", "face", "It's", "(10)", "2026-11-22", "tests/unit/a.py", "x=1", "İ", "Ωmega", "as", "is", "use", "--flag", "1a2b3c4d5e6f7a8b")
)  # fmt: skip
hints = st.sampled_from([hint for row in (*FORMATS, *SEEDS) for hint in row.hints] + [stem for stem, _ in STEMS])
tokens = st.builds(sample, st.sampled_from([rule.shape for rule in rules()]), st.integers(0, 9))
values = st.sampled_from(
    (*random_values(), "Tr0ub4dor&3x", "Summer2024", "7xdeadbe12", "hunter2!Xy9z", "root:Xk39!fPq2z")
)
coded = st.sampled_from(
    (base64.b64encode(SAID.encode()).decode(), "".join(f"%{byte:02x}" for byte in SAID.encode()), "".join(f"&#{byte};" for byte in SAID.encode()))
) | st.builds(str.join, st.sampled_from(("", " ", ":", "-", ", 0x", " 0x")), st.just(PAIRS))  # fmt: skip
broken = st.builds(lambda token, at, seam: token[:at] + seam + token[at:], tokens, st.integers(1, 30), st.sampled_from((" ", "\n", '" + "', "\u200b", "-\n")))  # fmt: skip
seams = st.sampled_from((" ", " ", " ", "", "\n", "\t", "\x00", "\x1c", "\xa0", ": ", "=", '="', ", ", "  "))
texts = st.lists(st.tuples(words | words | hints | tokens | values | coded | broken, seams), max_size=8).map(
    lambda parts: "".join(piece + seam for piece, seam in parts)
)


def mark_everything(text: str) -> int:
    """Return every mark for *text*; those of its runs, which are an answer and no hint, as they are found in the whole of it."""
    runs = find_runs(text) if any(map(is_odd, text.split())) else []
    marks = EVERYTHING if runs else EVERYTHING & ~chunks.PLACES
    return marks if any(end - start >= chunks.SHORTEST for start, end in runs) else marks & ~chunks.LONG


def scan(text: str) -> list[secrets.Secret]:
    """Return what is in *text*, which may have been looked at before."""
    secrets._clean.clear()
    secrets._last[0] = ""
    return secrets.scan(text)


@given(texts)
@example("synthesize()runs\x1cQUtJQVEyWDdRMlg3UTJYN1EyWDc=\x1cas password Tr0ub4dor&3x")
@example("login $2b$12$" + "Ab1/" * 12)
@example(" ".join(PAIRS))
@example("DB_PASSWORD: 9xdeadbe1")
def test_what_no_chunk_allows_is_not_in_the_text(text):
    found = scan(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "find_marks", mark_everything)
        assert found == scan(text)


@given(st.uuids(version=4) | st.uuids(version=5), st.sampled_from(("id", "source_session_id", "conflict_of")))
def test_an_id_of_another_tool_is_passed_over_only_where_a_search_finds_nothing(drawn, name):
    if secrets.is_ours(name, str(drawn)):
        assert scan(f"{name}: {drawn}") == []


def test_a_text_spelled_in_the_digits_of_an_id_is_searched():
    assert not secrets.is_ours("id", str(UUID(bytes=b"pw: x9A\xef\xbc\xa1secret")))
    assert secrets.is_ours("id", str(UUID(bytes=b"pw: x9A\xf7\xbc\xa1secret")))
