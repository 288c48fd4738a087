"""Commands that a server answers: the same bytes and the same exit code, or they answer themselves."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import closing

import pytest
from helpers import GitRepo, memsync

from memsync import Memsync
from memsync.agents import wire
from memsync.agents.endpoint import Endpoint
from memsync.agents.live import Live
from memsync.cli import served

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no local sockets here")
ALONE = {"FORCE_HYPERLINK": "0"}  # asks nobody, and changes nothing


@pytest.fixture
def asked(repo):
    """Give out what a server of the project says to each command: its text, or None."""
    with Memsync.open(repo.root) as project:
        project.remember("The staging database listens on port 5433", tags=["db"], importance=0.8)
        project.remember("Use tabs in Makefiles", memory_type="preference")
        project.remember("The vault is opened on Mondays", scope="private")
        project.remember("My editor is Helix", scope="global")
        project.remember("Databases: \x1b[31mred\x1b[0m <b>bold</b> — ünïcode ☃\nsecond line")
    seen: list = []

    def answer(project, request):
        seen.append(None)
        seen[-1] = served.answer(project, request)
        return seen[-1]

    with closing(Live(repo.root)) as live, Endpoint(live, commands=answer):
        yield seen


def compare(repo: GitRepo, *words: str, **env: str):
    """Return what *words* print, which is the same alone and with a server."""
    with_server = memsync(*words, cwd=repo.root, env=env)
    assert with_server == memsync(*words, cwd=repo.root, env={**env, **ALONE})
    return with_server


@pytest.mark.parametrize(
    "words",
    [
        ("search", "staging", "database"),
        ("search", "which port does the staging database use?", "--json"),
        ("search", "databse", "--explain"),
        ("search", "-n", "1", "the"),
        ("search", "vault", "--scope", "private"),
        ("search", "editor", "--scope", "global", "--full"),
        ("search", "the", "--tag", "db", "--ids"),
        ("search", "port", "--format", "{id} {tags} {content}"),
        ("search", "bold unicode"),
        ("search", "--", "-x"),
        ("search", "- what begins with a dash"),
        ("search", "nothing", "like", "whales"),
        ("search", "port", "--type", "preference", "--min-importance", "0.9"),
        ("recall", "staging"),
        ("show", "staging", "database"),
        ("show", "vault", "--json"),
        ("show", "Helix", "--scope", "global"),
    ],
)
def test_a_server_answers_with_the_same_bytes(repo, asked, words):
    assert compare(repo, *words).code == 0
    assert [text is not None for text in asked] == [True]


@pytest.mark.parametrize(
    "words",
    [
        ("search",),
        ("search", "port", "--limit", "0"),
        ("search", "port", "--full", "--ids"),
        ("search", "port", "--format", "{nonsense}"),
        ("search", "port", "--at", "HEAD"),
        ("search", "port", "--repo", "."),
        ("search", "port", "--all-repos"),
        ("search", "port", "--here"),
        ("search", "port", "--since", "1week"),
        ("search", "port", "--skills"),
        ("search", "port", "--help"),
        ("search", "port", "--no-such-option"),
        ("show", "whales"),
        ("show", "the"),
        ("show", "mm-zzzzzz"),
    ],
)
def test_what_fails_or_looks_further_a_command_does_itself(repo, asked, words):
    compare(repo, *words)
    assert [text for text in asked if text is not None] == []


@pytest.mark.parametrize(
    "env",
    [
        {"MEMSYNC_DEBUG": "1"},
        {"GIT_DIR": "/nowhere"},
        {"XDG_CONFIG_HOME": "/nowhere"},
        {"LC_ALL": "C"},
        {"PYTHONIOENCODING": "latin-1"},
        {"FORCE_COLOR": "1"},
    ],
)
def test_in_another_environment_a_command_does_it_itself(repo, asked, env):
    compare(repo, "search", "tabs", **env)
    assert set(asked) <= {None}


def test_in_another_directory_or_home_a_command_does_it_itself(repo, asked, tmp_path):
    below = repo.root / "src"
    below.mkdir()
    assert memsync("search", "tabs", cwd=below).out == memsync("search", "tabs", cwd=below, env=ALONE).out
    other = {"MEMSYNC_HOME": str(tmp_path / "elsewhere")}
    assert "Helix" not in compare(repo, "search", "editor", **other).out
    assert set(asked) <= {None}


def test_nothing_of_the_environment_is_sent_but_a_hash_and_the_session(repo, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "token")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    sent: list = []
    monkeypatch.setattr(wire, "ask", lambda about, *_: sent.append(about))
    monkeypatch.setattr(sys, "stdout", open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - closed with the test
    served.ask(["search", "tabs"])
    sys.stdout.close()
    (about,) = sent
    assert about.keys() == {"event", "words", "session", "like"}
    assert about["session"] == "s1"
    assert "secret" not in str(about)
    assert "token" not in str(about)


def test_a_line_that_cannot_be_read_is_warned_of(repo, asked):
    with repo.memories.open("a") as file:
        file.write("{broken\n")
    assert "memsync doctor" in compare(repo, "search", "tabs").err
    assert set(asked) == {None}


def test_an_instruction_that_waits_is_told(repo, asked):
    (repo.root / ".gobby" / "config.yaml").write_text("memory_sync:\n  mode: auto-commit\n")
    assert "waits for your approval" in compare(repo, "search", "tabs").err
    assert set(asked) == {None}


def test_a_change_of_the_file_and_of_the_settings_counts_at_once(repo, asked):
    assert "tabs" in compare(repo, "search", "tabs").out
    memsync("remember", "Tabs are four wide", cwd=repo.root)
    assert "four wide" in compare(repo, "search", "tabs").out
    memsync("config", "memory.recall_limit", "1", cwd=repo.root)
    assert compare(repo, "search", "tabs").out.count("\n") == 1
    memsync("forget", "four wide", cwd=repo.root)
    assert "four" not in compare(repo, "search", "tabs").out
    assert None not in asked


def test_a_store_that_appears_further_up_is_asked_at_once(repo, line):
    below = repo.root / "src"
    (below / ".gobby").mkdir(parents=True)
    (below / ".gobby" / "memories.jsonl").write_text(line("mm-below", "Use tabs in Makefiles"))
    with closing(Live(below)) as live, Endpoint(live, commands=served.answer):
        assert "mm-below" in memsync("search", "tabs", cwd=below).out
        repo.write_memories(line("mm-above", "Tabs are four wide"))
        both = memsync("search", "tabs", cwd=below)
        assert {"mm-below", "mm-above"} <= set(both.out.split())
        assert both == memsync("search", "tabs", cwd=below, env=ALONE)


def test_what_a_served_recall_returned_counts_as_used_at_once_and_for_its_session(repo, asked):
    memsync("recall", "staging", cwd=repo.root, env={"CLAUDE_CODE_SESSION_ID": "s9"})
    assert asked[0] is not None
    assert memsync("search", "staging", "--json", cwd=repo.root, env=ALONE).json["memories"][0]["access_count"] == 1
    with Memsync.open(repo.root) as project:
        (used,) = project.state("project").session("s9", "accessed")
        assert project.get(used).content.startswith("The staging database")


def test_a_served_command_loads_next_to_nothing(repo, asked):
    code = (
        "import os, sys; end = os._exit\n"
        "os._exit = lambda code: (os.write(2, ' '.join(sorted(sys.modules)).encode()), end(code))\n"
        "sys.argv = ['memsync', 'search', 'tabs']\n"
        "from memsync.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=repo.root, capture_output=True, text=True, check=False)
    assert "tabs" in done.stdout
    assert {"memsync.memories.project", "click", "orjson", "numpy"} & {*done.stderr.split()} == set()


@pytest.mark.parametrize("env", [{}, ALONE])
def test_a_reader_that_has_seen_enough_is_no_failure(repo, asked, env):
    shell = f"{sys.executable} -P -m memsync search tabs | true; echo ${{PIPESTATUS[0]}}"
    both = {**os.environ, **env}
    done = subprocess.run(["bash", "-c", shell], cwd=repo.root, env=both, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")
