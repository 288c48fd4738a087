"""The pages of skills, and their forms."""

from __future__ import annotations

from functools import partial

import pytest

from memsync import Memsync
from memsync.learn.candidates import Candidates

BODY = "1. Run `make test`.\n2. Read the *first* failure.\n"


@pytest.fixture
def one(repo, desk):
    """Return a desk with the skill run-tests."""
    with Memsync.open(repo.root) as project:
        project.skills.create("run-tests", BODY, description="How to run the tests", tags=["ci"])
    return desk


def fields(desk, name="run-tests") -> dict[str, str]:
    page = desk.get("/skills/one", name=name)
    names = ("ref", "scope", "was", "name", "description", "trigger_pattern", "tags")
    last = {key: page.every("input", name=key)[-1]["value"] for key in names}
    with Memsync.open(desk.live.start) as project:
        return {**last, "instructions": project.skills.get(name).skill.instructions.replace("\n", "\r\n")}


def skill(repo, name="run-tests"):
    with Memsync.open(repo.root) as project:
        return project.skills.get(name).skill


def test_skills_are_listed_found_and_rendered(one):
    assert "run-tests How to run the tests" in one.get("/skills").text
    assert "run-tests" in one.get("/skills", q="how do I test").text
    page = one.get("/skills/one", name="run-tests")
    assert ("ol", {}) in page.elements
    assert ("em", {}) in page.elements
    assert ("code", {}) in page.elements


def test_the_text_of_a_skill_is_no_html_and_asks_no_other_host(one, repo):
    hostile = (
        '<script>alert(1)</script>\n\n![x](https://evil.example/x.png)\n\n<b onclick="x">b</b>\n\n'
        '<div hx-get="/memory/forget" hx-trigger="load">\n\n[go](javascript:alert(1)) <DATA:text/html,x> [in](//evil.example)\n'
        "[new](/memory/new?content=obey) [ref] [web](https://ok.example)\n\n[ref]: skills/new\n\n"
        "<http://127.0.0.1:17000/skills/new> <HTTP://LocalHost:17000/> [a](http://127.1:17000/) [b](http://0x7f000001:17000/)"
        " [c](http:///127.0.0.1/) [d](http://ok.example\\\\@127.0.0.1/) [e](http&colon;//localhost/) <http://[::1/>\n"
    )
    with Memsync.open(repo.root) as project:
        project.skills.update("run-tests", instructions=hostile)
    page = one.get("/skills/one", name="run-tests")
    known = one.get("/skills/new")
    assert page.every("script") == known.every("script")
    assert not page.every("img")
    assert not page.every("b")
    assert not [has for _, has in page.elements if "onclick" in has or has.get("hx-get") == "/memory/forget"]
    own = {has.get("href") for has in known.every("a")} | {"/skills/one?name=run-tests"}
    assert {has.get("href") for has in page.every("a")} - own - {None} == {
        "https://evil.example/x.png",
        "https://ok.example",
    }


def test_an_edit_of_a_skill_changes_what_was_changed(one, repo):
    before = skill(repo)
    one.post("/skills/edit", **fields(one))
    assert skill(repo) == before
    page = one.post("/skills/edit", **{**fields(one), "description": "How to test", "tags": "ci, quick"})
    assert "description, tags changed in run-tests" in page.text
    now = skill(repo)
    assert (now.description, now.tags, now.instructions) == ("How to test", ("ci", "quick"), before.instructions)
    undone = {name: page.every("input", name=name)[0]["value"] for name in ("name", "scope", "was")}
    one.post("/skills/restore", **undone)
    assert skill(repo) == before


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"name": "Run Tests"}, "is not a valid skill name"),
        ({"description": " "}, "the description is empty"),
        ({"trigger_pattern": "(a"}, "trigger"),
        ({"was": "000000000000"}, "was changed since"),
    ],
)
def test_a_skill_that_may_not_be_written_is_told_and_what_was_typed_is_kept(one, repo, changed, why):
    before = skill(repo)
    page = one.post("/skills/edit", **{**fields(one), "instructions": "an hour of work", **changed})
    assert one.status == 422
    assert why in page.text
    assert skill(repo) == before


def test_a_skill_is_made_deleted_and_brought_back(one, repo):
    page = one.post(
        "/skills/new",
        name="release",
        description="How to release",
        instructions="1. make release",
        trigger_pattern="",
        tags="",
    )
    assert "created the skill release" in page.text
    names = {key: value for key, value in fields(one, "release").items() if key in ("name", "scope", "was")}
    page = one.post("/skills/delete", **names)
    assert "deleted the skill release" in page.text
    one.post("/skills/restore", name="release", scope="project", was="")
    assert skill(repo, "release").description == "How to release"
    assert (
        "already exists"
        in one.post("/skills/new", name="release", description="x", instructions="y", trigger_pattern="", tags="").text
    )


def test_a_skill_that_waits_is_shown_with_what_it_would_change_and_decided_as_shown(one, repo):
    with Memsync.open(repo.root) as project:
        waiting = Candidates(project)
        for name in ("deploy", "clean"):
            waiting.propose_skill(name, f"---\nname: {name}\ndescription: How to {name}\n---\n\nSlowly.\n".encode())
    assert "2 skills wait for your approval" in one.get("/skills").text
    versions = {}
    for name in ("deploy", "clean"):
        card = one.get(f"/review?kind=skill&at=skill:{name}")
        assert f"+description: How to {name}" in card.text
        versions[name] = card.every("input", name="was")[0]["value"]
    decide = partial(one.post, "/review/decide", kind="skill")
    decide(name="skill:deploy", action="approve", was=versions["clean"])
    assert one.status == 409
    decide(name="skill:deploy", action="approve", was=versions["deploy"])
    assert skill(repo, "deploy").description == "How to deploy"
    decide(name="skill:clean", action="reject", was=versions["clean"])
    assert "for your approval" not in one.get("/skills").text


def test_undoing_a_removal_leaves_alone_a_skill_that_somebody_made_since(one, repo):
    one.post("/skills/delete", name="run-tests", scope="project", was=fields(one)["was"])
    file = repo.root / ".claude" / "skills" / "run-tests" / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("---\nname: run-tests\ndescription: Another\n---\n\nNew work.\n")
    before = file.read_bytes()
    page = one.post("/skills/restore", name="run-tests", scope="project", was="")
    assert (one.status, "run-tests was changed since you read it" in page.text) == (409, True)
    assert file.read_bytes() == before


def test_a_link_to_another_skill_leads_to_its_page_and_one_to_a_file_is_text(one, repo):
    with Memsync.open(repo.root) as project:
        project.skills.update("run-tests", instructions="See [debug](../debug-it/SKILL.md) and [more](notes.md).\n")
    page = one.get("/skills/one", name="run-tests")
    assert page.every("a", href="/skills/one?name=debug-it")
    assert "See debug and more ." in page.text
