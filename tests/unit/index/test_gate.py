"""How sure it is that a record answers: what raises it, and what must not."""

from __future__ import annotations

import pytest
from searching import BUILTIN, ask, everything, index, record

from memsync.index.bulk import make_index

SHOP = (
    "CI needs Node 20, because the bundler fails with 18",
    "Always use uv for Python, never pip",
    "The staging database listens on port 5433",
    "Invoices are rounded per line, never on the total",
)
FLOOR = 0.35


@pytest.mark.parametrize(
    "prompt", ["which node version?", "what port does staging use?", "how are invoices rounded?", "pip or uv?"]
)
def test_a_short_question_whose_rare_word_is_there_passes(prompt):
    assert ask(index(*SHOP, meaning=BUILTIN), prompt).gate >= FLOOR


@pytest.mark.parametrize(
    "prompt",
    [
        "undo that",
        "lint it again",
        "make it blue",
        "format main.py",
        "sort the keys in config.yaml",
        "please review `app.py`",
        "how do I centre a div with `display: grid`?",
        "write a haiku about autumn",
    ],
)
def test_small_tasks_generic_file_names_and_backticks_do_not(prompt):
    files = ("main.py", "app.py", "config.yaml")
    crowd = [f"note {n} about the worker pool and its queue, see {files[n % 3]} and `make up`" for n in range(40)]
    assert ask(index(*SHOP, *crowd, meaning=BUILTIN), prompt).gate < FLOOR


def test_more_of_the_question_and_rarer_words_make_surer():
    made = index(*SHOP, meaning=BUILTIN)
    gates = [
        ask(made, text).gate for text in ("xylophone yak", "database yak", "staging database", "staging database port")
    ]
    assert gates == sorted(gates)
    assert gates[0] == 0 < gates[1] < gates[3] < 1


def test_everyday_words_make_a_hit_in_a_small_store_less_sure_than_names_do():
    made = index(*SHOP, "Take the museum, but change the kiosk")
    assert ask(made, "change, take").gate < ask(made, "museum, kiosk").gate


@pytest.mark.parametrize(
    ("anywhere", "telling"), [("release", "symlink"), ("update", "postgres"), ("state", "kubernetes")]
)
def test_of_two_words_that_one_memory_has_that_tells_more_which_fewer_texts_have(anywhere, telling):
    made = index(*SHOP, f"The {anywhere} of the museum", f"The {telling} of the kiosk")
    assert ask(made, f"what about the {anywhere} of mine?").gate < ask(made, f"what about the {telling} of mine?").gate


def test_a_prompt_of_another_project_is_given_nothing_for_words_that_all_projects_have():
    rules = ("Releases are merged from dev to main and tagged", "Update the list of tasks when you add a file")
    notes = (f"note {n} about the worker pool and its queue" for n in range(40))
    made = index(*SHOP, *rules, *notes, meaning=BUILTIN)
    assert ask(made, "the release 1.5 is coming, add a section on its changes to the README").gate < FLOOR
    assert ask(made, "how are releases merged?").gate >= FLOOR


def test_a_word_counts_once_however_many_names_of_the_prompt_have_it():
    made = index(*SHOP, *NOTES, "Kiosks are opened by a member of the museum", meaning=BUILTIN)
    once = "why does kioskPath of our viewer come back empty?"
    often = (
        "why do kioskPath, kioskName, KioskView, kiosk.ts, kiosk_loader and kioskById of our viewer come back empty?"
    )
    assert ask(made, often).gate <= ask(made, once).gate


def test_a_typo_counts_as_the_word_that_was_meant_and_a_known_word_is_not_taken_for_one_like_it():
    made = index(*SHOP, "Whoever makes a change signs it", meaning=BUILTIN)

    def by(prompt: str) -> set[str]:
        found = made.search(prompt, limit=5, allow=everything)
        assert found.account is not None
        return {word for match in found.matches for one in found.account(match.memory) for word in one.by}

    assert by("the schange") == {"chang"}
    assert by("does it hang") == set()
    assert made.search("does it hang", limit=5, allow=everything).matches  # but as a weak match


def test_a_match_is_less_sure_where_many_records_could_match_by_chance():
    few = index(SHOP[0], meaning=BUILTIN)
    many = index(SHOP[0], *(f"note {n} on queue {n}" for n in range(500)), meaning=BUILTIN)
    assert ask(many, "which node version?").gate < ask(few, "which node version?").gate


def test_a_broad_question_in_a_store_on_one_subject_gets_its_best():
    subject = [
        f"Payments of kind {n} go through the {word} queue" for n, word in enumerate("red blue green grey".split() * 3)
    ]
    made = index(*subject, meaning=BUILTIN)
    assert ask(made, "how do payments work?").gate >= FLOOR
    assert ask(made, "how do refunds work?").gate < FLOOR
    assert ask(index(subject[0], "use tabs"), "how do payments work?").gate < 0.6


def test_without_an_embedder_the_same_questions_pass():
    made = index(*SHOP, *(f"note {n} about the worker pool and its queue" for n in range(40)))
    assert ask(made, "what port does staging use?").gate >= FLOOR
    assert ask(made, "how is the weather in port elizabeth over the summer?").gate < FLOOR


def test_a_word_that_only_a_cue_has_counts_but_less():
    said = index("The cart times out after 14 days of silence", *SHOP, meaning=BUILTIN)
    shop = [record(str(number), text) for number, text in enumerate(SHOP)]
    cued = make_index([record("a", "The cart times out after 14 days", cues=("silence",)), *shop], BUILTIN)
    bare = index("The cart times out after 14 days", *SHOP, meaning=BUILTIN)
    gates = [ask(made, "silence in the cart").gate for made in (bare, cued, said)]
    assert gates[0] < gates[1] < gates[2]


def test_a_hit_is_surer_beside_a_surer_one_that_tells_of_the_same_and_less_sure_beside_one_that_does_not():
    surest = "The staging deploy waits for the migration lock of the ledger service"
    same = "Release the migration lock of the ledger service by hand when a deploy dies"
    other = "Wash the windows before a deploy of the new curtains and carpets on the third floor"

    def sureness(*texts: str) -> dict[str, float]:
        found = ask(index(*texts, *SHOP, meaning=BUILTIN), "why does my staging deploy wait forever?")
        return {memory.content: sure for _, _, memory, *_, sure in found.matches}

    alone = sureness(same) | sureness(other)
    beside = sureness(surest, same, other)
    assert beside[surest] >= beside[same] > alone[same]
    assert beside[other] < alone[other]


NAMED = (
    "Whoever touches get_total_of_cart has to keep the order of the lines, since the report of the warehouse, the mail \
to the customer and the export for the accountants are all made from it and nobody compares them by hand or by a test"
)
REPORT = (
    "Since the update of Monday our nightly build shows forty lines of warnings in the log. I expected none. I tried \
another browser, another machine and an empty basket. The trace ends in get_total_of_cart, then the page stays white and \
the spinner never stops. My colleague in Oslo sees the same on her phone."
)
NOTES = tuple(f"note {n} about the worker pool and its queue, the log and the warnings of the build" for n in range(60))


def test_a_name_that_one_memory_has_makes_it_sure_in_a_report_of_many_other_words():
    assert ask(index(*NOTES, NAMED, meaning=BUILTIN), REPORT).gate >= FLOOR
    others = tuple(f"In release {n} get_total_of_cart was made quicker" for n in range(4))
    assert ask(index(*NOTES, NAMED, *others, meaning=BUILTIN), REPORT).gate < FLOOR


def test_what_is_to_be_done_says_nothing_of_what_it_is_about():
    entries = "Changelog entries list what was added, under the version that is written next"
    made = index(*SHOP, *NOTES, entries, meaning=BUILTIN)
    assert ask(made, "add pagination to the admin user list").gate < FLOOR
    assert ask(made, "where are changelog entries written?").gate >= FLOOR


MANY_SUBJECTS = (
    "how should the checkout page treat exceptions, and the thumbnails of pictures, while Kestrel queue is drained?"
)


@pytest.mark.parametrize(
    ("tags", "is_sure"), [((), False), (("kestrel",), True), (("kestrel queue",), True), (("kestrel pipeline",), False)]
)
def test_a_rare_tag_that_is_said_whole_makes_sure_in_a_prompt_on_several_subjects(tags, is_sure):
    made = make_index(
        [
            record("0", "Mail leaves through Kestrel", tags=tags),
            *(record(f"n{n}", text) for n, text in enumerate(NOTES)),
        ],
        BUILTIN,
    )
    assert (ask(made, MANY_SUBJECTS).gate >= FLOOR) is is_sure


def test_a_tag_that_many_memories_have_is_no_name():
    def sureness(often: int) -> float:
        told = [record(f"t{n}", f"Mail {n} leaves through the relay", tags=("kestrel",)) for n in range(often)]
        made = make_index([*told, *(record(f"n{n}", text) for n, text in enumerate(NOTES))], BUILTIN)
        return ask(made, MANY_SUBJECTS).gate

    assert sureness(1) >= FLOOR > sureness(4)
