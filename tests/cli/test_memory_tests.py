"""`memsync test`: what a question must be given, through the command line, the commit, the janitor and the merge."""

from __future__ import annotations

import json
import os
import subprocess
from xml.etree import ElementTree as ET

import pytest
from helpers import memory_line, memsync

from memsync.git.install import install
from memsync.store.places import locate

PORT, TABS = "The staging database listens on port 5433", "Use tabs in Makefiles"
ASKED = "which port does the staging database use?"


def write_tests(repo, *cases: dict | str) -> None:
    rows = (case if isinstance(case, str) else json.dumps(case) for case in cases)
    (repo.root / ".gobby" / "tests.jsonl").write_text("".join(f"{row}\n" for row in rows))


def run_git(repo, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **env}
    return subprocess.run(["git", *words], cwd=repo.root, capture_output=True, text=True, check=False, env=env)


@pytest.fixture
def known(repo):
    """Return a repository with memories about a port, about tabs, about a file and about a command."""
    (repo.root / "api.py").write_text("PORT = 5433\n")
    repo.write_memories(
        memory_line("mm-port11", PORT)
        + memory_line("mm-tabs11", TABS)
        + memory_line("mm-file11", "The API answers in UTC only", anchors=["api.py"])
        + memory_line("mm-push11", "Releases are never pushed by hand", anchors=["$ git push"])
    )
    return repo


def test_each_door_is_asked_as_a_client_asks_it_and_what_it_gives_is_judged(known):
    write_tests(
        known,
        {"prompt": ASKED, "given": ["mm-port11"], "not": ["mm-tabs11"]},
        {"path": "api.py", "given": ["mm-file11"]},
        {"command": "git push origin main", "given": ["mm-push11"]},
        {
            "error": "Error: the staging database does not listen on port 5432",
            "command": "make",
            "given": ["mm-port11"],
        },
        {"prompt": "ok thanks", "silent": True},
        {"prompt": "how do whales sleep?", "silent": True},
    )
    done = memsync("test", cwd=known.root)
    assert (done.code, done.out) == (0, "6 tests, all passed\n")
    assert memsync("sessions", cwd=known.root).out == "no session yet\n"


def test_a_test_that_fails_is_named_with_its_line_and_the_command_that_says_why(known):
    write_tests(
        known, "", {"prompt": ASKED, "given": ["mm-tabs11"], "not": ["mm-port"]}, {"prompt": ASKED, "silent": True}
    )
    done = memsync("test", cwd=known.root)
    assert done.code == 1
    assert f".gobby/tests.jsonl:2: prompt {ASKED}: mm-tabs11 was not given; mm-port11 was given" in done.out
    assert f"memsync inject --prompt '{ASKED}' --explain says why" in done.out
    assert ".gobby/tests.jsonl:3: " in done.out
    assert "mm-port11 given, and nothing may be" in done.out
    assert done.out.endswith("2 tests of 2 failed\n")


def test_a_memory_that_went_or_was_archived_fails_its_test_and_what_replaced_it_is_named(known):
    known.write_memories(
        memory_line("mm-new111", "Staging listens on 6000", supersedes=["mm-port11"])
        + memory_line("mm-tabs11", TABS, archived_at="2026-01-02T00:00:00.000Z")
    )
    write_tests(known, {"prompt": ASKED, "not": ["mm-port11"]}, {"prompt": "tabs?", "not": ["mm-tabs11"]})
    done = memsync("test", cwd=known.root)
    assert done.code == 1
    assert "mm-port11 is gone; mm-new111 replaces it: name that" in done.out
    assert "mm-tabs11 is archived; take it out of the test" in done.out


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"prompt": "a", "givn": ["b"]}', "unknown key 'givn'"),
        ('{"prompt": "a", "path": "b", "silent": true}', "must ask one thing"),
        ('{"prompt": "a", "given": "mm-a"}', "ids as lists of text"),
        ('{"prompt": "a", "given": []}', "must say what is given"),
        ('{"prompt": "a", "silent": true, "not": ["b"]}', "must say what is given"),
        ('{"given": ["a"]}', "must ask one thing"),
    ],
)
def test_a_line_that_is_no_test_is_an_error_at_its_line(known, row, why):
    write_tests(known, {"prompt": "a", "silent": True}, row)
    done = memsync("test", cwd=known.root)
    assert done.code == 1
    assert ".gobby/tests.jsonl:2: " in done.err
    assert why in done.err
    assert 'write {"prompt": "…", "given": ["ID"]}' in done.err


def test_without_a_file_the_error_shows_a_line_to_write(known):
    done = memsync("test", cwd=known.root)
    assert done.code == 1
    assert '"given": ["ID"]' in done.err


def test_what_this_user_has_beside_the_repository_changes_no_result(known):
    memsync("remember", "The staging database uses port 9999 on my laptop", "--private", cwd=known.root)
    memsync("remember", "Whales sleep with one half of the brain", "--global", cwd=known.root)
    memsync("config", "memory.enabled", "off", "--global", cwd=known.root)
    write_tests(known, {"prompt": ASKED, "given": ["mm-port11"]}, {"prompt": "how do whales sleep?", "silent": True})
    assert memsync("test", cwd=known.root).code == 0


def test_what_changed_since_head_is_tested_first(known):
    cases = [{"prompt": f"{word} {TABS}", "not": [id_]} for word, id_ in (("a", "mm-port11"), ("b", "mm-tabs11"))]
    write_tests(known, *cases)
    known.git("add", "-A")
    known.git("commit", "-qm", "tests")
    write_tests(known, *cases, {"prompt": "new", "silent": True})
    memsync("update", "mm-tabs11", "--importance", "0.9", cwd=known.root)
    done = memsync("test", "--json", cwd=known.root).json
    assert [one["line"] for one in done["results"]] == [3, 2, 1]


def test_the_questions_that_a_branch_changes_are_said_for_a_comment(known):
    write_tests(known, {"prompt": ASKED, "given": ["mm-port11"]}, {"path": "api.py", "given": ["mm-file11"]})
    known.git("add", "-A")
    known.git("commit", "-qm", "base")
    memsync("remember", "The staging database moved: its port is `6000`", cwd=known.root)
    plain = memsync("test", "--since", "HEAD", cwd=known.root)
    assert f".gobby/tests.jsonl:1: prompt {ASKED}: mm-port11 → " in plain.out
    said = memsync("test", "--since", "HEAD", "--markdown", cwd=known.root)
    assert said.out.startswith("**Memory tests**: 2 of 2 pass\n")
    assert "1 question of the tests get other memories than at `HEAD`." in said.out
    assert f"| 1 | `prompt {ASKED}` | `mm-port11` | `" in said.out


def test_results_are_written_for_junit_and_for_github(known):
    write_tests(
        known,
        {"prompt": f"100% <b> {ASKED}\n::error::x\x1b[31m\ud800", "given": ["mm-tabs11"]},
        {"path": "api.py", "given": ["mm-file11"]},
    )
    done = memsync("test", "--github", "--junit", "out.xml", cwd=known.root)
    assert done.code == 1
    row = done.out.splitlines()[0]
    assert row.startswith("::error file=.gobby/tests.jsonl,line=1,title=memory test::prompt 100%25 <b>")
    assert not any(line.startswith("::error::") for line in done.out.splitlines())
    suite = ET.parse(known.root / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "mm-tabs11 was not given" in suite.find("testcase/failure").get("message")


def test_at_a_commit_a_failing_test_stops_only_who_asked_for_that(known):
    install(locate(known.root))
    write_tests(known, {"prompt": ASKED, "given": ["mm-tabs11"]})
    known.git("add", "-A")
    known.git("commit", "-qm", "nobody asked")
    memsync("config", "memory_sync.test_on_commit", "on", "--global", cwd=known.root)
    memsync("update", "mm-tabs11", "--importance", "0.9", cwd=known.root)
    known.git("add", "-A")
    stopped = run_git(known, "commit", "-qm", "stopped")
    assert stopped.returncode != 0
    assert "mm-tabs11 was not given" in stopped.stderr
    assert "memory_sync.test_on_commit off" in stopped.stderr
    write_tests(known, {"prompt": ASKED, "given": ["mm-port11"]})
    known.git("add", "-A")
    known.git("commit", "-qm", "goes through")
    (known.root / "code.py").write_text("x = 1\n")
    write_tests(known, {"prompt": ASKED, "given": ["mm-tabs11"]})
    known.git("add", "code.py")
    known.git("commit", "-qm", "has no memories in it")


def test_memory_tests_that_take_too_long_say_so_and_stop_no_commit(known):
    install(locate(known.root))
    write_tests(known, *[{"prompt": f"{ASKED} {number}", "given": ["mm-gone11"]} for number in range(20_000)])
    memsync("config", "memory_sync.test_on_commit", "on", "--global", cwd=known.root)
    known.git("add", "-A")
    done = run_git(known, "commit", "-qm", "many tests", MEMSYNC_GIT_SECONDS="8")
    assert done.returncode == 0, done.stderr
    assert "the memory tests took more than 4 seconds and stop nothing" in done.stderr
    assert "NOT CHECKED" not in done.stderr


def test_a_repository_may_not_have_its_tests_stop_commits_until_its_user_agrees(known):
    (known.root / ".gobby" / "config.yaml").write_text("memory_sync.test_on_commit: true\n")
    shown = memsync("trust", "--show", cwd=known.root)
    assert "memory_sync.test_on_commit" in shown.out
    assert memsync("config", "memory_sync.test_on_commit", cwd=known.root).out.split()[-1] == "false"


def test_the_janitor_says_which_tests_name_what_it_takes_away(known):
    known.write_memories(
        memory_line("mm-long11", PORT + ", and the password is in the vault", updated_at="2026-01-02T00:00:00.000Z")
        + memory_line("mm-port11", PORT)
    )
    write_tests(known, {"prompt": ASKED, "given": ["mm-port11", "mm-long11"]})
    for words in (["--dry-run"], []):
        done = memsync("janitor", "run", "--task", "dedup", *words, cwd=known.root)
        assert "note: tests.jsonl:1 tests mm-port11, which no session is given any more" in done.out


def test_a_merge_that_takes_away_what_a_test_names_says_so(known):
    install(locate(known.root))
    write_tests(known, {"prompt": ASKED, "given": ["mm-port11"]})
    known.git("add", "-A")
    known.git("commit", "-qm", "base")
    known.git("switch", "-qc", "other")
    memsync("forget", "mm-port11", cwd=known.root)
    known.git("commit", "-qam", "gone")
    known.git("switch", "-q", "main")
    merged = run_git(known, "merge", "-q", "other")
    assert "tests.jsonl:1 tests mm-port11, which no session is given any more" in merged.stderr
    assert "`memsync test`" in merged.stderr


def test_a_secret_in_a_test_stops_the_commit_like_one_in_a_memory_and_a_test_is_no_broken_memory(known):
    install(locate(known.root))
    write_tests(known, {"prompt": ASKED, "given": ["mm-port11"]})
    known.git("add", "-A")
    assert memsync("git", "check", cwd=known.root).out == "all is well\n"
    write_tests(known, {"prompt": "the token ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5", "silent": True})
    known.git("add", "-A")
    stopped = run_git(known, "commit", "-qm", "secret")
    assert stopped.returncode != 0
    assert ".gobby/tests.jsonl:1: looks like a secret" in stopped.stderr


def test_a_key_at_a_shown_session_makes_a_test_of_a_prompt(known, monkeypatch):
    pytest.importorskip("pty", reason="terminals are POSIX")
    from test_dedup_review import talk

    payload = json.dumps({"session_id": "s-one", "cwd": str(known.root), "prompt": ASKED, "prompt_id": "1"})
    memsync("hook", "prompt", "--client", "claude", cwd=known.root, stdin=payload)
    monkeypatch.chdir(known.root)
    monkeypatch.setenv("TERM", "dumb")
    shown = talk(["sessions", "show"], ["t", f"{ASKED}\r", "port11\r"], " > ")
    assert "`memsync test` runs it" in shown
    assert memsync("test", cwd=known.root).out == "1 test, all passed\n"
