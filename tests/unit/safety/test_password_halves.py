"""Passwords told in ordinary words, in seven languages: the half that the rules were written with, and the one that was kept back."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from memsync.safety import secrets

_PARTS: Final = {
    head: [line.partition(" ")[2].replace("\\n", "\n") for line in lines]
    for head, *lines in (
        part.splitlines()
        for part in Path(__file__).parents[2].joinpath("password_halves.txt").read_text("utf-8").split("\n= ")[1:]
    )
}


def _missed(part: str) -> list[str]:
    return [text for text in _PARTS[part] if not secrets.scan(text)]


def _flagged(part: str) -> list[str]:
    return [text for text in _PARTS[part] if secrets.scan(text)]


def test_of_the_sentences_that_were_seen_one_is_missed():
    assert _missed("seen, told") == ['For the replica use replicator with "follow-the-leader".']


def test_of_the_sentences_that_were_kept_back_seven_in_eight_are_found():
    """As measured without a look at them: 127 of 144, English 53 of 64.

    The other languages say much the same as each other, and six of their sentences stand in told_passwords.txt too.
    """
    assert len(_PARTS["kept back, told"]) - len(_missed("kept back, told")) >= 127


def test_no_innocent_line_of_either_half_is_flagged():
    assert _flagged("seen, innocent") == []
    assert _flagged("kept back, innocent") == []
