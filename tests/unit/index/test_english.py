"""Irregular forms and everyday words."""

from __future__ import annotations

from Stemmer import Stemmer

from memsync.index.tokens import EVERYDAY, PLAIN


def test_no_plain_form_has_one_of_its_own():
    assert not PLAIN.keys() & set(PLAIN.values())


def test_everyday_words_are_stems_of_plain_forms():
    stemmer = Stemmer("english")
    assert {"take", "chang", "differ"} <= EVERYDAY
    assert not EVERYDAY & PLAIN.keys()
    irregular = {*stemmer.stemWords(list(PLAIN))} - {*stemmer.stemWords(list(PLAIN.values()))}
    assert EVERYDAY & irregular == {"indic"}  # of "indicate"; "indices" is none any more
