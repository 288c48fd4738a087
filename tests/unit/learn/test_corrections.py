"""What a user corrects is replaced everywhere that held it, once somebody approves."""

from __future__ import annotations

import pytest
from sessions import Part, write

from memsync.janitor import queue
from memsync.learn.candidates import Candidates
from memsync.learn.corrections import corrects, find_beside, reword, spread
from memsync.learn.extract import extract
from memsync.setup import clients
from memsync.setup.corrected import decide, undo

OLD, NEW = "The frontend uses yarn for packages", "We use pnpm for packages, not yarn."
SAID = "no, we use pnpm for packages, not yarn"
PLAIN = "The frontend uses pnpm for packages"


@pytest.fixture
def corrected(project, tmp_path):
    """Return the memory that a session corrects, and the candidates of that session."""
    old = project.remember(OLD, tags=["pinned"], importance=0.9).entry
    parts = [Part("U", "build it", "", 0), Part("A", "I will install yarn.", "", 0), Part("U", SAID, "", 0)]
    extract(project, write(parts, "claude", tmp_path / "7970d88b-31d1-4d06-b145-c11df6b86bfc.jsonl"))
    return old, Candidates(project)


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (NEW, OLD, True),
        ("Don't use make test, use make check instead.", "Run the tests with `make test` before a commit.", True),
        ("We switched the editor from helix to neovim.", "The editor is helix.", True),
        ("The port is 8081.", "The port is 8080.", True),
        (NEW, "Never use yarn.", False),
        ("We use Postgres, not MySQL, for analytics.", "The shop's MySQL dump is made at night.", False),
        ("Anna owns billing.", "Billing is written in Go.", False),
    ],
)
def test_a_correction_replaces_what_it_contradicts_or_names(new, old, expected):
    assert corrects(new, old) is expected


@pytest.mark.parametrize(
    ("said", "old", "statement"),
    [
        ("We switched the editor from helix to neovim last month.", "My editor is helix.", "My editor is neovim."),
        ("Coffee is black now, not oat-milk.", "The coffee is oat-milk.", "The coffee is black."),
        ("The helix record saying helix is wrong. It is now neovim.", "My editor is helix.", "My editor is neovim."),
        ("Don't use make test, use make check instead.", "Run `make test` first.", "Run `make check` first."),
        ("The API is on port 9090, not 8080.", "The API listens on port 8080.", "The API listens on port 9090."),
        ("We use pnpm, not yarn.", "We use npm.", "We use pnpm, not yarn."),
        ("We use pnpm, not yarn.", "yarn install, then yarn build", "We use pnpm, not yarn."),
    ],
)
def test_a_plain_correction_is_the_old_statement_with_the_new_value(said, old, statement):
    assert reword(said, [old]) == statement


def test_a_correction_waits_with_what_it_replaces_and_takes_its_place_tags_and_worth(project, corrected):
    old, waiting = corrected
    (one,) = waiting.memories()
    assert (one.memory.content, one.memory.supersedes) == (PLAIN, (old.id,))
    assert one.rationale == f"the user put the agent right: {NEW}"
    assert one.memory.source_session_id == "7970d88b-31d1-4d06-b145-c11df6b86bfc"
    (done,) = waiting.approve([one.memory.id])
    assert (done.status, done.entry.memory.tags, done.entry.memory.importance) == ("superseded", ("pinned",), 0.9)
    assert [entry.content for entry in project.memories()] == [PLAIN]
    assert project.remember(OLD).status == "exists"


@pytest.mark.parametrize("scope", ["private", "global"])
def test_the_correction_of_what_others_do_not_read_stays_where_that_was(project, tmp_path, repo, scope):
    project.remember(OLD, scope=scope)
    extract(project, write([Part("U", SAID, "", 0)], "claude", tmp_path / "s.jsonl"))
    waiting = Candidates(project)
    (done,) = waiting.approve([one.memory.id for one in waiting.memories()])
    assert (done.status, done.entry.content, done.entry.scope) == ("superseded", PLAIN, scope)
    assert not repo.memories.exists()


@pytest.mark.parametrize("scope", ["private", "global"])
def test_what_also_replaces_a_text_of_ones_own_takes_none_of_it_into_the_project(project, tmp_path, repo, scope):
    project.remember("The frontend uses yarn for its packages", scope=scope, tags=["bob"])
    project.remember(OLD)
    extract(project, write([Part("U", SAID, "", 0)], "claude", tmp_path / "s.jsonl"))
    waiting = Candidates(project)
    (one,) = waiting.memories()
    assert len(one.memory.supersedes) == 2
    (done,) = waiting.approve([one.memory.id])
    assert (done.entry.scope, done.entry.memory.tags) == (scope, ("bob",))
    assert "bob" not in repo.memories.read_text()


def test_what_was_corrected_and_is_gone_by_then_is_no_hindrance(project, corrected):
    old, waiting = corrected
    project.forget(old.id)
    (done,) = waiting.approve([one.memory.id for one in waiting.memories()])
    assert done.status == "created"


def test_skills_are_corrected_as_candidates_and_files_of_the_user_are_named(project, repo):
    old = project.remember(OLD).entry
    project.skills.create("release", f"1. Tag it.\n2. {OLD}.\n", description="How to release.")
    (repo.root / "AGENTS.md").write_text(f"# Rules\n\n- {OLD}, mind that.\n- Anna owns billing.\n")
    found = spread(project, NEW, [old])
    assert [(one.where, one.next) for one in found] == [
        ("skill release", "memsync skill approve release"),
        ("AGENTS.md:3", ""),
    ]
    assert OLD in project.skills.get("release").skill.instructions
    assert Candidates(project).approve_skill("release").skill.instructions.strip() == f"1. Tag it.\n2. {NEW}"


def test_a_candidate_is_edited_before_it_is_approved_and_its_old_text_does_not_come_back(project, corrected, tmp_path):
    _, waiting = corrected
    (one,) = waiting.memories()
    new = waiting.edit(one.memory.id, "Packages come from pnpm")
    assert [each.memory.content for each in waiting.memories()] == ["Packages come from pnpm"]
    assert new.memory.supersedes == one.memory.supersedes
    assert extract(project, next(tmp_path.glob("*.jsonl"))).proposed == ()


def test_a_candidate_is_seen_beside_what_it_contradicts(project):
    project.remember("The API is written in Go")
    old = project.remember("The API listens on port 8080").entry
    beside = find_beside(project, "The API listens on port 8081")
    assert (beside.id, beside.relation) == (old.id, "contradicts")
    assert find_beside(project, "Bananas are yellow") is None


@pytest.mark.parametrize("action", ["approve", "edit"])
def test_whichever_way_a_correction_is_approved_the_block_is_renewed_and_the_skill_waits(
    project, repo, corrected, action
):
    project.skills.create("release", f"1. Tag it.\n2. {OLD}.\n", description="How to release.")
    block = repo.root / "AGENTS.md"
    clients.apply(project, clients.plan(project, ["agents-md"], stealth=False))
    assert OLD in block.read_text()
    (name,) = queue.list_names(project)
    done = decide(project, name, action, was=queue.read_card(project, name).version, text=f"{PLAIN} now")
    assert "also in skill release, then `memsync skill approve release`" in done.said
    assert OLD not in block.read_text()
    assert "pnpm" in block.read_text()
    assert "release" in Candidates(project).skills()
    undo(project)
    assert OLD in block.read_text()
