"""Whether `init`, `status` and `doctor` say that the MCP server answers, and why not."""

from __future__ import annotations

import os
import sys

import pytest
from helpers import memsync

from memsync.setup.client_status import ask_server

WORKS = f'exec "{sys.executable}" -m memsync "$@"'
WITHOUT_SDK = (
    f'exec "{sys.executable}" -c \'import sys; sys.modules["mcp"] = None; from memsync.cli import main; main()\' "$@"'
)


@pytest.fixture
def env(tmp_path):
    """Return a function that makes an environment in whose PATH memsync is the given shell script."""

    def make(script: str) -> dict[str, str]:
        program = tmp_path / "memsync"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"}

    return make


def test_a_server_with_tools_answers(repo, env):
    assert ask_server(repo.root, env(WORKS)) == (True, "")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (WITHOUT_SDK, "needs the package mcp"),
        ("exit 3", "it ended with code 3"),
        ("echo nonsense; echo '[]'; echo 'no such module' >&2", "no such module"),
        ('echo \'{"id": 2, "result": {"tools": []}}\'', "it ended with code 0"),
    ],
)
def test_one_without_tools_says_why(repo, env, script, why):
    found = ask_server(repo.root, env(script))
    assert not found.answers
    assert why in found.why


def test_a_program_that_is_nowhere_or_dead_is_told_with_what_brings_it(repo, env, tmp_path):
    assert "uv tool install" in ask_server(repo.root, {"PATH": str(tmp_path / "empty")}).why
    said = env("")
    (tmp_path / "memsync").write_text("#!/no/such/python\n")
    assert "installs memsync again" in ask_server(repo.root, said).why


def test_init_status_and_doctor_say_whether_the_server_answers(repo, env):
    good, bad = env(WORKS)["PATH"], {}
    done = memsync("init", "--agent", "codex", "--json", cwd=repo.root, env={"PATH": good})
    assert done.json["server"] == {"answers": True, "why": ""}
    assert "the MCP server answers" in done.json["notes"]
    assert "server   answers" in memsync("status", cwd=repo.root, env={"PATH": good}).out
    assert memsync("doctor", cwd=repo.root, env={"PATH": good}).code == 0
    bad = {"PATH": env("exit 3")["PATH"]}
    why = "does not answer: it ended with code 3"
    assert f"the MCP server {why}" in memsync("init", "--agent", "codex", cwd=repo.root, env=bad).out
    assert f"server   {why}" in memsync("status", cwd=repo.root, env=bad).out
    found = memsync("doctor", "--json", cwd=repo.root, env=bad)
    assert (found.code, found.json["findings"][-1]["what"]) == (1, why)


def test_a_project_without_a_client_starts_no_server(repo, env, tmp_path):
    path = {"PATH": env(f"touch {tmp_path}/started")["PATH"]}
    assert memsync("status", "--json", cwd=repo.root, env=path).json["server"] is None
    assert memsync("doctor", cwd=repo.root, env=path).code == 0
    assert not (tmp_path / "started").exists()
