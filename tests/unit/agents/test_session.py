"""What a session is given, once: the seeds' plans, the ledger and its resets, the rules."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from pathlib import Path

import pytest
from helpers import memory_line
from hypothesis import given, settings
from hypothesis import strategies as st

from memsync import Memsync
from memsync.agents.actions import Turn, run
from memsync.agents.injection import Injection, Rules
from memsync.agents.ledger import LEDGER
from memsync.agents.session import RecallSession, superseded_by
from memsync.memories.results import Entry
from memsync.records import Memory, format_time
from memsync.store.workflow import Step

PORT = "The staging database listens on port 5433"
ASK = "which port does the staging database use?"


@pytest.fixture
def session(project: Memsync) -> RecallSession:
    project.remember(PORT)
    return RecallSession(project, "s1")


def ids(found) -> list[str]:
    return [entry.id for entry in found.entries]


class TestSeed000VerificationPlan:
    """Seed 000: memory injection deduplication, its verification plan step by step."""

    def step(self, session, action, **params):
        turn = Turn(session, {"user_prompt": ASK})
        (outcome,) = run([Step(action, params, "test")], turn)
        for found in turn.injections:
            session.commit(found)
        return outcome.result

    def test_1_the_first_prompt_that_matches_is_given_memories(self, session):
        result = self.step(session, "memory_recall_relevant")
        assert (result["injected"], result["count"], result["filtered"]) == (True, 1, 0)
        assert PORT in result["inject_context"]

    def test_2_the_next_prompt_is_not_given_them_again(self, session):
        self.step(session, "memory_recall_relevant")
        assert self.step(session, "memory_recall_relevant") == {"injected": False, "count": 0, "filtered": 1}

    def test_3_a_compaction_resets_the_tracking(self, session):
        self.step(session, "memory_recall_relevant")
        assert self.step(session, "reset_memory_injection_tracking") == {
            "memory_tracking_reset": True,
            "previous_count": 1,
        }
        assert session.variables()[LEDGER] == {}

    def test_4_after_it_they_are_given_again(self, session):
        self.step(session, "memory_recall_relevant")
        self.step(session, "reset_memory_injection_tracking")
        assert self.step(session, "memory_recall_relevant")["injected"]

    def test_5_and_6_the_log_says_so(self, session, caplog):
        caplog.set_level(logging.DEBUG)
        self.step(session, "memory_recall_relevant")
        self.step(session, "memory_recall_relevant")
        self.step(session, "reset_memory_injection_tracking")
        assert "memory_recall_relevant: All memories already injected this session" in caplog.messages
        assert "reset_memory_injection_tracking: Cleared 1 tracked memories" in caplog.messages


class TestSeed003ThreeLayers:
    """Seed 003: stop injecting the same memories on every iteration of a tool loop."""

    def test_layer_1_a_turn_of_14_tool_iterations_recalls_once(self, session):
        first = session.on_turn(ASK)
        tools = [session.on_tool() for _ in range(13)]
        assert first.entries
        assert [found.text for found in tools] == [""] * 13
        assert session.turn is first

    def test_layer_1_a_message_that_comes_amid_the_loop_recalls_anew(self, session, project):
        project.remember("Invoices are rounded per line, never on the total")
        session.on_turn(ASK)
        session.on_tool()
        assert "Invoices" in session.on_turn("how are invoices rounded?").text

    def test_layer_2_what_was_given_makes_room_for_what_it_crowded_out(self, project):
        for number in range(8):
            project.remember(f"The staging database replica {number} listens on port 600{number} of host h{number}")
        session = RecallSession(project, "s1")
        turns = [ids(session.on_turn(ASK)) for _ in range(3)]
        assert [len(turn) for turn in turns] == [5, 3, 0]
        assert len({id_ for turn in turns for id_ in turn}) == 8

    def test_layer_2_an_exhausted_ledger_begins_anew_only_when_asked_to(self, session):
        session.on_turn(ASK)
        assert session.at_prompt(ASK).reason == "all given before"
        assert session.at_prompt(ASK, restart=True).entries

    def test_layer_3_the_given_ids_are_kept_with_the_session_until_a_compaction(self, session, project):
        (given,) = ids(session.on_turn(ASK))
        again = RecallSession(Memsync.open(project.layout.start, clock=project.clock), "s1")
        assert list(again.variables()[LEDGER]) == [given]
        assert again.on_compaction() == 1
        assert ids(again.on_turn(ASK)) == [given]


def test_sessions_do_not_know_of_each_other(session, project):
    session.on_turn(ASK)
    assert RecallSession(project, "s2").on_turn(ASK).entries


def test_an_edited_memory_comes_again(session, project):
    (id_,) = ids(session.on_turn(ASK))
    project.update(id_, content="The staging database listens on port 6000")
    assert ids(session.on_turn(ASK)) == [id_]


def test_what_was_not_handed_over_is_not_noted(session):
    assert session.at_prompt(ASK).entries
    assert session.at_prompt(ASK).entries


def test_small_talk_and_unrelated_prompts_are_given_nothing(session):
    assert session.at_prompt("ok thanks").reason == "small talk"
    assert session.at_prompt("write a haiku about autumn leaves").reason == "nothing that fits"


def test_a_start_gives_the_most_important_that_the_session_does_not_have(session, project, clock):
    project.remember("Use tabs in Makefiles", memory_type="preference", importance=1.0)
    first = session.at_start(limit=1)
    session.commit(first)
    assert "Makefiles" in first.text
    second = session.at_start()
    assert (PORT in second.text, "Makefiles" in second.text, second.filtered) == (True, False, 1)


def test_a_memory_made_in_this_session_comes_only_after_a_compaction(repo, clock, monkeypatch):
    here = Memsync.open(repo.root, clock=clock, env={"MEMSYNC_SESSION_ID": "s1"})
    made = here.remember(PORT).entry.id
    assert here.get(made).memory.source_session_id == "s1"
    session = RecallSession(here, "s1")
    assert (session.at_prompt(ASK).entries, session.at_start().entries) == ((), ())
    assert RecallSession(here, "s2").at_prompt(ASK).entries
    clock.move(seconds=1)
    session.on_compaction()
    assert ids(session.at_prompt(ASK)) == [made]
    clock.move(seconds=1)
    later = here.remember("The staging database port is forwarded only through the VPN").entry.id
    assert later not in ids(session.at_prompt(ASK))


def test_an_old_text_is_not_given_because_the_session_has_the_new_one_already(repo, line):
    repo.write_memories(line("mm-new", f"{PORT} now", supersedes=["mm-old"]) + line("mm-old", f"{PORT} of old"))
    with Memsync.open(repo.root) as project:
        session = RecallSession(project, "s1")
        assert ids(session.on_turn(ASK)) == ["mm-new"]
        assert ids(session.on_turn(f"{ASK} once more")) == []


def test_archived_conflicting_superseded_and_unimportant_ones_are_left_out(repo, clock, line):
    repo.write_memories(
        line("mm-old", f"{PORT} of host old")
        + line("mm-new", f"{PORT} of host new", supersedes=["mm-old"])
        + line("mm-arc", f"{PORT} of host arc", archived_at=format_time(clock()))
        + line("mm-con", f"{PORT} of host con", conflict_of="mm-new")
        + line("mm-low", f"{PORT} of host low", importance=0.2)
    )
    session = RecallSession(Memsync.open(repo.root, clock=clock), "s1")
    assert ids(session.at_prompt(ASK)) == ["mm-new"]
    assert ids(session.at_start()) == ["mm-new"]


def test_a_question_is_answered_however_old_its_memory_is_and_a_start_is_not(repo, clock, line):
    old = format_time(clock() - timedelta(days=300))
    repo.write_memories(line("mm-old", PORT, importance=0.5, created_at=old, updated_at=old))
    session = RecallSession(Memsync.open(repo.root, clock=clock), "s1")
    assert ids(session.at_prompt(ASK)) == ["mm-old"]
    assert ids(session.at_start(limit=10)) == []


def test_a_directory_without_a_store_stays_without_one(tmp_path, clock, home):
    (home / ".gobby").mkdir()
    Memsync.open(home, clock=clock).remember(PORT, scope="global")
    place = tmp_path / "elsewhere"
    place.mkdir()
    session = RecallSession(Memsync.open(place, clock=clock), "s1")
    assert session.on_turn(ASK).entries
    assert not session.on_turn(ASK).entries
    assert list(place.iterdir()) == []


def test_under_stealth_nothing_is_noted_in_the_work_tree(repo, clock):
    from memsync.setup.installing import turn_stealth
    from memsync.setup.repository import init

    project = Memsync.open(repo.root, clock=clock)
    turn_stealth(project, True, move=True)
    init(project)
    project.remember(PORT)
    session = RecallSession(project, "s1")
    assert session.on_turn(ASK).entries
    assert not session.on_turn(ASK).entries
    assert not (repo.root / ".gobby").exists()


def test_of_two_hooks_for_one_event_one_answers(session, clock):
    assert session.claim("prompt p1")
    assert not session.claim("prompt p1")
    assert session.claim("prompt p2")
    clock.move(seconds=5)
    assert session.claim("prompt p1")


def test_of_memories_worth_the_same_the_first_by_id_is_given_wherever_it_stands(repo, clock, line):
    repo.write_memories("".join(line(f"mm-{letter}", f"text of {letter}", importance=0.5) for letter in "zyxwvutba"))
    session = RecallSession(Memsync.open(repo.root, clock=clock), "s1")
    assert ids(session.at_start(limit=1)) == ["mm-a"]
    assert ids(session.at_start(limit=2)) == ["mm-a", "mm-b"]


def test_a_session_without_an_id_is_given_memories_and_remembers_nothing(session, project):
    nobody = RecallSession(project, "")
    assert nobody.on_turn(ASK).entries
    assert nobody.on_turn(ASK).entries


def test_a_damaged_state_gives_memories_again_and_fails_nothing(session, project):
    session.on_turn(ASK)
    state = project.state("project").path
    state.write_bytes(b"not a database at all, but long enough to be looked at" * 50)
    assert session.on_turn(ASK).entries


def test_a_strange_ledger_counts_as_none(session, project):
    project.state("project").change_variables("s1", project.clock(), lambda _: {LEDGER: ["mm-a"], "claims": 7})
    assert session.on_turn(ASK).entries
    assert session.claim("prompt")


def test_the_use_of_what_was_given_is_counted_and_linked_to_the_session(session, project):
    (id_,) = ids(session.on_turn(ASK))
    assert project.get(id_).access_count == 1
    assert project.state("project").session("s1", "injected") == [id_]


def test_a_memory_of_somebody_else_is_new_until_it_was_given(repo, clock, line):
    repo.write_memories(line("mm-hers", PORT, author="Somebody Else") + line("mm-mine", "x", author="Test User"))
    project = Memsync.open(repo.root, clock=clock)
    session = RecallSession(project, "s1")
    assert "(by Somebody Else)" in session.on_turn(ASK).text
    assert not project.screening.is_new(project.get("mm-hers"))
    assert project.screening.is_new(project.get("mm-mine"))  # whose name it bears is only what it says


LEDGERS = st.dictionaries(st.sampled_from(["mm-a", "mm-b"]), st.sampled_from(["", "x"]))


@given(LEDGERS, st.floats(0, 1), st.floats(0, 1), st.booleans(), st.booleans())
def test_every_refusal_has_a_name_and_a_plain_new_memory_has_none(ledger, threshold, importance, archived, conflict):
    from datetime import UTC, datetime

    memory = Memory(
        "mm-a",
        "text",
        archived_at=datetime(2026, 1, 1, tzinfo=UTC) if archived else None,
        conflict_of="mm-b" if conflict else None,
    )
    entry = Entry(memory=memory, scope="project", effective_importance=importance)
    refusal = Rules(session_id="s1", ledger=ledger, threshold=threshold).refusal(entry)
    assert bool(refusal) == (archived or conflict or importance < threshold)
    assert json.dumps(refusal)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 10), st.integers(0, 700), st.booleans()), max_size=40),
    st.integers(0, 12),
    st.sets(st.integers(0, 39)),
)
def test_a_start_gives_what_looking_at_every_memory_would(rows, limit, seen):
    import tempfile
    from datetime import UTC, datetime, timedelta

    now = datetime(2026, 1, 15, 12, tzinfo=UTC)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / ".gobby").mkdir()
        (root / ".gobby" / "memories.jsonl").write_text(
            "".join(
                memory_line(
                    f"aa-{n:02d}",
                    f"text {n}",
                    importance=importance / 10,
                    created_at=format_time(now - timedelta(days=days)),
                    **({"supersedes": [f"aa-{n - 1:02d}"]} if replaces else {}),
                )
                for n, (importance, days, replaces) in enumerate(rows)
            )
        )
        project = Memsync.open(root, clock=lambda: now)
        session = RecallSession(project, "s1")
        everything = list(project.memories())
        session.commit(Injection(entries=tuple(entry for entry in everything if int(entry.id[3:]) in seen)))
        given_now = session.at_start(limit=limit, budget=9_000)
        project = Memsync.open(root, clock=lambda: now)
        replaced = superseded_by(project.memories())
        rules = session.rules()
        entries = [entry for entry in project.memories() if entry.id not in replaced]
        assert ids(given_now) == [entry.id for entry in entries if not rules.refusal(entry)][:limit]
        assert given_now.filtered == sum(rules.refusal(entry) == "ledger" for entry in entries)


def test_what_a_line_stands_for_is_not_given_again(repo, clock, line):
    again = [f"{PORT}{more}" for more in ("", " as everybody knows", ", which is worth knowing")]
    repo.write_memories("".join(line(f"mm-aaaaa{n}", text) for n, text in enumerate(again)))
    session = RecallSession(Memsync.open(repo.root, clock=clock), "s1")
    given = session.on_turn(ASK)
    (shown,), folded = ids(given), [entry.id for entry in given.folded]
    assert sorted([shown, *folded]) == ["mm-aaaaa0", "mm-aaaaa1", "mm-aaaaa2"]
    assert "(+2 alike)" in given.text
    assert session.on_turn(ASK).as_dict() == {"injected": False, "count": 0, "filtered": 3}


def test_what_was_kept_back_is_counted_down_to_the_last_line_that_would_have_been_given(repo, clock, line):
    texts = [PORT, "Staging database backups run at 02:00 nightly", "Prices are integers in cents"]
    repo.write_memories("".join(line(f"mm-aaaaa{n}", text) for n, text in enumerate(texts)))
    session = RecallSession(Memsync.open(repo.root, clock=clock), "s1")
    given = session.on_turn(ASK)
    assert session.on_turn(ASK).filtered == len(given.entries) > 0


def test_the_settings_move_the_gate_and_the_number_of_lines(project):
    for host in ("red", "blue", "green"):
        project.remember(f"The {host} database of the team listens on a port of its own")
    ask = "which port does the database listen on?"
    assert len(RecallSession(project, "s1").at_prompt(ask).entries) == 3
    assert not RecallSession(project.with_settings(recall_threshold=1.0), "s1").at_prompt(ask).entries


def test_a_weak_match_does_not_count_as_use(project):
    project.remember(PORT)
    weak = project.recall("is there a database of birds, flowers and stones of the alps?")
    assert [weak.is_weak(hit) for hit in weak] == [True]
    project.recall(ASK)
    project.close()
    assert [entry.access_count for entry in project.entries()] == [1]


def test_the_number_of_lines_is_that_of_the_setting_where_somebody_set_it(repo, clock, line):
    hosts = "red blue green grey white black pink".split()
    texts = [f"The {host} staging database of team {host} listens on port {5433 + n}" for n, host in enumerate(hosts)]
    repo.write_memories("".join(line(f"mm-aaaaa{n}", text) for n, text in enumerate(texts)))
    assert len(RecallSession(Memsync.open(repo.root, clock=clock), "s1").at_prompt(ASK).entries) == 5
    (repo.root / ".gobby" / "config.yaml").write_text("memory: {recall_limit: 7}\n")
    assert len(RecallSession(Memsync.open(repo.root, clock=clock), "s2").at_prompt(ASK).entries) == 7


class TestHurry:
    """A hook, whose process ends soon, reads only the records that could be given."""

    PROMPTS = (
        ASK,
        "how do whales sleep below the ice in winter?",
        f"{ASK} " + "We have looked at it for days and found nothing that helps us any further. " * 3 + "\n\n" + ASK,
        "We have looked at it for days. " * 6
        + "\n\nhow do whales sleep below the ice?\n\nand where in winter, if at all?",
    )

    @pytest.mark.parametrize("prompt", PROMPTS, ids=["one is given", "none is", "of several parts", "none of them"])
    def test_it_gives_what_all_records_would_give(self, project, prompt):
        for text in (PORT, "whales are drawn by the splash screen", "the tests need docker"):
            project.remember(text)
        project.finder.rebuild()
        given = []
        for hurries in (True, False):
            with Memsync.open(project.layout.start, env=project.env) as again:
                if hurries:
                    again.be_brief()
                found = RecallSession(again, "s2").at_prompt(prompt)
                given.append((found.text, ids(found), found.reason, found.filtered))
                assert not (hurries and any(store.stamp for store in again.stores.values()))  # no file was read
        assert given[0] == given[1]


@pytest.mark.parametrize("given", [0, 3, 12])
def test_a_session_starts_with_the_same_by_the_rows_of_the_index_as_by_the_files(repo, clock, given):
    """Worth little or much, archived, replaced, scoped to a folder, in three stores; the session has some of them."""
    (repo.root / "src").mkdir()
    with Memsync.open(repo.root, clock=clock) as project:
        for number in range(36):
            where = {5: "private", 7: "global"}.get(number % 9)
            anchors = ["src/"] if number % 5 == 0 and not where else []
            worth = 0.9 if number % 4 else 0.35
            clock.move(
                seconds=1
            )  # so that none of equal worth come in the order of their ids, which differ from run to run
            project.remember(
                f"Rule {number} of the house is rule {number}", importance=worth, scope=where, anchors=anchors
            )
        old = [entry.id for entry in project.list()[:2]]
        project.remember("Rule 99 replaces two of them", supersedes=old, importance=0.5)
        project.search("rule")
        session = RecallSession(project, "s1")
        session.adopt(
            [entry.id for entry in project.list()[::-3][:given]]
        )  # some that come first, and some that come last
    clock.move(days=30)
    found = []
    for read in (False, True):
        with Memsync.open(repo.root, clock=clock) as project:
            if read:
                project.stores.refresh()
            session = RecallSession(project, "s1")
            found.append([session.at_start(limit=3, folder=str(repo.root / folder)) for folder in ("", "src", "docs")])
            found[-1].append(session.find_all(old))
            assert (project.stores["project"].stamp is not None) == read
    assert found[0] == found[1]
    assert [bool(one.filtered) for one in found[0][:3]] == [given > 0] * 3


def test_where_the_rules_keep_back_all_that_comes_first_the_files_are_read(repo, clock):
    (repo.root / "src").mkdir()
    with Memsync.open(repo.root, clock=clock) as project:
        for number in range(80):
            project.remember(f"Rule {number} of one folder only", importance=0.9, anchors=["src/"])
        project.remember("The one that holds everywhere", importance=0.4)
        project.search("rule")
    with Memsync.open(repo.root, clock=clock) as project:
        started = RecallSession(project, "s1").at_start(folder=str(repo.root / "docs"))
        assert [entry.content for entry in started.entries] == ["The one that holds everywhere"]
