"""Which texts are looked at when a whole file is taken in: the nearest six, by shared words."""

from __future__ import annotations

from memsync.dedup.nominate import Nominees

TEXT = "the staging database listens on port 5433"


def test_the_six_nearest_are_nominated_the_nearest_first_and_ties_by_id():
    alike = [(f"mm-{n}", f"{TEXT} number{n}") for n in range(8)]
    nominees = Nominees([*reversed(alike), ("mm-same", TEXT), ("mm-far", "Marta dislikes emojis in the staging notes")])
    assert nominees.near(f"{TEXT} number5") == ["mm-5", "mm-same", "mm-0", "mm-1", "mm-2", "mm-3"]


def test_a_text_that_was_put_again_is_found_by_its_new_words_only():
    nominees = Nominees([("mm-a", TEXT)])
    nominees.put("mm-a", "release notes are written by hand")
    assert nominees.near(TEXT) == []
    assert nominees.near("release notes are written by hand on Fridays") == ["mm-a"]
