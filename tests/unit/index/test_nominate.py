"""Which texts are looked at when a whole file is taken in: the nearest six, by shared words."""

from __future__ import annotations

from memsync.index.statements import hold, hold_content, read
from memsync.memories.imports import Nominees

TEXT = "the staging database listens on port 5433"


def test_the_six_nearest_are_nominated_the_nearest_first_and_ties_by_id():
    alike = [(f"mm-{n}", f"{TEXT} number{n}") for n in range(8)]
    nominees = Nominees([*reversed(alike), ("mm-same", TEXT), ("mm-far", "Marta dislikes emojis in the staging notes")])
    assert nominees.near(f"{TEXT} number5") == ["mm-5", "mm-same", "mm-0", "mm-1", "mm-2", "mm-3"]


def test_which_of_many_texts_are_looked_at_does_not_depend_on_the_order_of_a_set():
    words = "apple banana cherry damson elder grape hazel juniper".split()
    ids = {word: [f"mm-{len(words) - place}-{n:02}" for n in range(40)] for place, word in enumerate(words)}
    nominees = Nominees((id_, word) for word in words for id_ in ids[word])
    assert nominees.near(" ".join(words)) == ids["apple"][:6]


def test_a_text_that_was_put_again_is_found_by_its_new_words_only():
    nominees = Nominees([("mm-a", TEXT)])
    nominees.put("mm-a", "release notes are written by hand")
    assert nominees.near(TEXT) == []
    assert nominees.near("release notes are written by hand on Fridays") == ["mm-a"]


def test_words_looked_up_chunk_by_chunk_are_those_of_a_reading():
    texts = (
        "Use A, not B. A is good; (A) is `A`, and so is an A",
        "- A\n- cannot, CANNOT, don't; US and IT, it's 5432ms -> no",
        "As observed in turn 12: 日本語のテキストは、keys=value…",
        "A案のサーバー, サービスA",
        "",
    )
    assert [hold_content(text) for text in texts] == [hold(read(text)) for text in texts]
