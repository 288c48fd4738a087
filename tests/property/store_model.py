"""The other opinion on a memory file: json.loads and "the last line wins", nothing of ours."""

from __future__ import annotations

import json
from typing import NamedTuple

from hypothesis import strategies as st

BOM = b"\xef\xbb\xbf"
HAND_IDS = ("hand-1", "hand-2", "0b5f7c1e-2f0a-4b6e-9d3c-2a1f0e5d4c3b")
TEXTS = ("use uv", "Use  UV", "port 8080", "port 8081", "naïve Ünïcode \u2028 line", 'quote " and \\ slash', "a\nb")
JUNK = (b"{broken", b"[1,2]", b'{"id":"no-content"}', b"\xfe not utf-8", b'"text"', b"# a heading")

texts = st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda text: text.strip()
)
importances = st.sampled_from((0.0, 0.1, 0.5, 1.0))
tags = st.lists(st.sampled_from(("ci", "db", "ü")), max_size=2, unique=True).map(tuple)
whole = st.integers(0, 10**6)


class Fact(NamedTuple):
    """What of a memory the model keeps."""

    content: str
    importance: float = 0.5
    tags: tuple[str, ...] = ()

    @property
    def folded(self) -> str:
        return " ".join(self.content.lower().split())


def bare(row: bytes) -> bytes:
    return row.removeprefix(BOM).rstrip(b"\r")


def read_by_hand(data: bytes) -> dict[str, Fact]:
    found: dict[str, Fact] = {}
    for raw in data.split(b"\n"):
        try:
            value = json.loads(raw.removeprefix(BOM))
        except ValueError:
            continue
        if isinstance(value, dict) and "deleted_at" in value:
            found.pop(value["id"], None)
        elif isinstance(value, dict) and "content" in value:
            found[value["id"]] = Fact(value["content"], value.get("importance", 0.5), tuple(value.get("tags", ())))
    return found
