"""`memsync replay`: what memory would have saved in the sessions of this machine."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from helpers import GitRepo, memsync
from recorder import Recorder, make_shop, record

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-02-01T00:00:00Z")
    return make_shop(tmp_path / "shop")


def keep(shop: Path, *sessions: Recorder) -> Path:
    """Write *sessions* where Claude Code keeps those of *shop*."""
    folder = Path(os.environ["HOME"]) / ".claude" / "projects" / "-shop"
    folder.parent.mkdir(parents=True, exist_ok=True)
    return record(folder, *sessions)


def replay(shop: Path, *words: str | Path) -> dict[str, object]:
    ran = memsync("replay", *map(str, words), "--json", cwd=shop)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_a_failure_that_came_back_has_its_cost_and_a_memory_that_would_have_been_in_time(shop):
    taught = Recorder("a", 1, shop).prompt("sync the shop").flag().call("Bash", "ok", command="shopctl sync --quick")
    again = Recorder("b", 2, shop).prompt("again").flag().fine().call("Bash", "ok", command="shopctl sync --quick")
    other = Recorder("c", 3, shop.parent).prompt("elsewhere").flag()
    keep(shop, taught, again, other)
    found = replay(shop)
    assert {name: found[name] for name in ("sessions", "calls", "failures", "repeats", "in_time", "proposed")} == {
        "sessions": 2, "calls": 5, "failures": 2, "repeats": 1, "in_time": 1, "proposed": [],
    }  # fmt: skip
    assert found["cost"] == {"calls": 2, "minutes": 4.0}
    (one,) = found["back"]
    assert one["memory"].pop("id").startswith("mm-")
    assert one == {
        "class": "flag shopctl --fast", "kind": "command", "times": 1, "sessions": 1, "people": 1, "calls": 2,
        "minutes": 4.0, "first": "2026-03-01T10:02:00.000Z", "last": "2026-03-02T10:02:00.000Z", "in_time": 1,
        "about": "`shopctl` has no option `--fast`",
        "memory": {
            "content": "`shopctl sync` has no `--fast`; `shopctl sync --quick` works.",
            "triggers": ["fails: Error: unknown flag: --fast"], "anchors": ["$ shopctl sync"],
        },
    }  # fmt: skip


def test_a_call_that_nothing_made_good_before_the_next_prompt_counts_alone_and_a_pause_five_minutes(shop):
    days = [Recorder(name, day, shop).prompt("x").flag().prompt("y").fine() for day, name in enumerate("ab", 1)]
    for row in days[1].rows[3:]:
        row["timestamp"] = row["timestamp"].replace("T10", "T17")
    days[1].rows[2]["timestamp"] = "2026-03-02T16:00:00Z"
    keep(shop, *days)
    assert replay(shop)["cost"] == {"calls": 1, "minutes": 5.0}


def test_each_kind_of_name_has_its_memory_and_trigger_and_what_is_there_again_has_none(shop, monkeypatch):
    said = {
        "Error: Missing script: deploy": ("There is no command, script or target `deploy`", ["not: deploy"], []),
        "No module named 'shoplib'": ("The module `shoplib` is not installed", ["fails: shoplib"], []),
        "bash: shopfmt: command not found": ("The program `shopfmt` is not installed", [], ["$ shopfmt"]),
        "src/invoice.py:3: line 80 is too long (lll)": ("The linter's rule `lll` fails here again and again", ["fails: lll"], []),
    }  # fmt: skip
    days = [Recorder(name, day, shop).prompt("x").name_wrong() for day, name in enumerate("ab", 1)]
    for one in days:
        one.call("Read", "a", file_path=f"{shop}/config/shop.yaml")
        for text in said:
            one.call("Bash", text, failed=True, command="make all")
        one.call("Read", "File does not exist.", failed=True, file_path=f"{shop}/src/made.py")
    (shop / "src" / "made.py").write_text("made since\n")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-04-01T00:00:00Z")
    GitRepo(shop).git("add", "-A")
    GitRepo(shop).git("commit", "-qm", "later")
    keep(shop, *days)
    memories = {one["class"]: one["memory"] for one in replay(shop)["back"]}
    assert memories.pop("path src/made.py") is None
    path = memories.pop("path config/shop.yml")
    assert path["content"] == "There is no `config/shop.yml`; it is `config/shop.yaml`."
    assert (path["triggers"], path["anchors"]) == (["not: config/shop.yml"], ["config/shop.yaml"])
    assert len(memories) == len(said)
    for content, triggers, anchors in said.values():
        (memory,) = (one for one in memories.values() if content in one["content"])
        assert (memory["triggers"], memory["anchors"]) == (triggers, anchors)


def test_proposed_memories_wait_for_review_and_what_is_refused_does_not_come_again(shop):
    memsync("init", "--agent", "none", cwd=shop)
    keep(shop, *(Recorder(name, day, shop).prompt("x").flag().name_wrong() for day, name in enumerate("ab", 1)))
    assert memsync("list", "--json", cwd=shop).out.count('"content"') == 0
    found = replay(shop, "--propose")
    flag, path = (
        next(one["memory"]["id"] for one in found["back"] if word in one["class"]) for word in ("flag", "path")
    )
    assert {flag, path} == set(found["proposed"])
    assert "failed again 1 time in 1 session, 1 call" in memsync("review", cwd=shop).out
    assert memsync("approve", path, cwd=shop).code == memsync("reject", flag, cwd=shop).code == 0
    (kept,) = json.loads(memsync("list", "--json", cwd=shop).out)["memories"]
    assert (kept["content"][:30], kept["triggers"]) == ("There is no `config/shop.yml` ", ["not: config/shop.yml"])
    assert replay(shop, "--propose")["proposed"] == []


def test_the_page_stands_alone_and_shows_words_only_when_asked(shop, tmp_path):
    text = f"Error: unknown flag: --fast\n<script>alert(1)</script> \x1b[31m Ann said no {SECRET}"
    days = [
        Recorder(name, day, shop)
        .prompt("Ann wants it")
        .call("Bash", text, failed=True, command="shopctl sync --fast")
        .call("Bash", "ok", command="shopctl sync --quick ann/branch")
        for day, name in enumerate(("session-of-ann", "session-of-ben"), 1)
    ]
    keep(shop, *days)
    page = tmp_path / "page.html"
    replay(shop, "--html", page)
    shared = page.read_text()
    assert "`shopctl` has no option `--fast`" in shared
    assert "1 of 1" in shared
    for word in ("Ann", "ann/branch", "session-of", str(shop), "://", "src=", "<script", SECRET):
        assert word not in shared
    ran = memsync("replay", "--html", str(page), "--words", cwd=shop)
    assert (ran.code, "session-of-ben:2 shopctl sync --fast" in ran.out) == (0, True)
    whole = page.read_text()
    assert "`shopctl sync --quick ann/branch` works." in whole
    assert "Ann said no" in whole
    assert not re.search(f"<script|\x1b|{SECRET}", whole)
    page.write_text("mine")
    assert memsync("replay", "--html", str(page), cwd=shop).code == 2
    assert page.read_text() == "mine"


def test_sessions_can_be_named_and_since_counts_later_ones_only(shop, tmp_path):
    sessions = record(tmp_path / "s", *(Recorder(name, day).prompt("x").flag() for day, name in enumerate("abc", 1)))
    assert replay(shop)["sessions"] == 0
    assert memsync("replay", cwd=shop).out.endswith("no session of this repository is here; name some\n")
    assert [replay(shop, sessions, *words)["repeats"] for words in ((), ("--since", "2026-03-03"))] == [2, 1]
    assert memsync("replay", "--since", "soon", cwd=shop).code == 2


def test_init_names_replay_where_sessions_were_recorded(shop):
    assert "`memsync replay`" not in memsync("init", "--agent", "none", cwd=shop).out
    keep(shop, Recorder("a", 1, shop / "src").prompt("x").flag())
    assert "1 recorded session of yours ran here: `memsync replay`" in memsync("init", "--agent", "none", cwd=shop).out


def test_calls_that_failed_again_become_memory_tests_of_what_the_project_gives_for_them_now(shop):
    days = [Recorder(name, day, shop).prompt("x").flag().name_wrong() for day, name in enumerate("abc", 1)]
    homes = ("-o /home/ann/x", f"-o {Path.home()}/x", "-o C:\\Users\\ann")
    for one in days:
        for words in (*homes, f"--key {SECRET}", "x" * 400, "a\x00b"):
            one.call("Bash", "Error: unknown flag: --fast", failed=True, command=f"shopctl sync --fast {words}")
        beside = f"cd {shop} && shopctl login ann hunter2secret99 && shopctl sync --fast -o {shop}/out"
        one.call("Bash", "Error: unknown flag: --fast", failed=True, command=beside)
    keep(shop, *days)
    memsync("init", "--agent", "none", cwd=shop)
    assert replay(shop, "--tests")["tests"] == []  # there is no memory yet
    waiting = replay(shop, "--propose")["proposed"]
    assert memsync("approve", *waiting, cwd=shop).code == 0
    found = replay(shop, "--tests")["tests"]
    assert {
        ("command", "shopctl sync --fast"),
        ("command", "shopctl sync --fast -o out"),
        ("path", "config/shop.yml"),
    } == {next((door, one[door]) for door in ("command", "path") if door in one) for one in found}
    told = memsync("test", cwd=shop)
    assert (told.code, told.out.splitlines()[-1]) == (0, f"{len(found)} tests, all passed")
    assert (
        "no memory test is new: each of these calls has one, or gets no memory"
        in memsync("replay", "--tests", cwd=shop).out
    )
    assert SECRET not in (shop / ".gobby" / "tests.jsonl").read_text()


def test_a_hostile_transcript_is_shown_harmless_and_nothing_of_it_is_run_or_stored(shop, tmp_path):
    mark = tmp_path / "ran"
    for name, day in (("a\x1b[2J", 1), ("b", 2)):
        evil = Recorder(name, day, shop).prompt("x")
        for word in ("\x1b[31m", "`$(touch x)`", "{0.__class__}", "x" * 5_000, f"$(touch {mark})", "a\nb"):
            evil.call("Read", "File does not exist.", failed=True, file_path=f"{shop}/{word}")
            evil.call("Bash", f"unknown flag: --{word}", failed=True, command=f"shopctl --{word}; touch {mark}")
        (keep(shop) / f"{day}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in evil.rows))
    before = GitRepo(shop).status()
    ran = memsync("replay", "--words", "--propose", "--html", str(tmp_path / "page.html"), cwd=shop)
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.out + (tmp_path / "page.html").read_text()
    assert not mark.exists()
    assert GitRepo(shop).status() == before
    assert all(len(one["text"]) < 300 for one in json.loads(memsync("review", "--json", cwd=shop).out)["cards"])
