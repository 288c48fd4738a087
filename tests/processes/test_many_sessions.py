"""Twenty agents at once on one store: none fails, no write is lost, no process stays."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from helpers import memsync, until
from prefork import Prefork

from memsync import Memsync
from memsync.agents.ledger import LEDGER
from memsync.agents.session import RecallSession

SESSIONS = 20
MODULES = (
    "memsync.agents.hooks",
    "memsync.index.cold",
    "memsync.cli.app",
    "memsync.cli.memory",
    "memsync.memories.remember",
    "memsync.index.core",
)
FACT = "The staging database listens on port 5433"
TEXTS = [
    f"{name} is owned by the {name.lower()} crew and released on its own"
    for name in ("Alder Birch Cedar Dogwood Elm Fir Ginkgo Hazel Ironwood Juniper Katsura Larch Maple Nutmeg Oak Pine "
                 "Quince Rowan Spruce Teak").split()
]  # fmt: skip


def session(root: Path, number: int, command: Path) -> list[str]:
    """Play one session; return what its hooks printed."""

    def run(*words: str, stdin: str = "", session_id: str = "") -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "MEMSYNC_SESSION_ID": session_id}
        return subprocess.run(
            [command, *words], cwd=root, input=stdin, env=env, capture_output=True, text=True, check=False
        )

    def hook(event: str, **payload: object) -> str:
        ran = run("hook", event, stdin=json.dumps({"session_id": f"s{number}", **payload}))
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout

    prompt = "which port does the staging database use?"
    out = [hook("session-start", source="startup")]
    added = run("memory", "add", TEXTS[number], session_id=f"s{number}")
    assert added.returncode == 0
    assert not added.stderr or "waiting for another memsync" in added.stderr  # on a machine as busy as this one
    out += [hook("prompt", prompt=prompt, prompt_id="1"), hook("session-end", reason="exit")]
    return out


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="NOT TESTED: processes are counted in /proc")
def test_twenty_sessions_at_once(repo, monkeypatch, tmp_path):
    monkeypatch.setenv("MARK_OF_THIS_TEST", str(tmp_path))
    assert memsync("memory", "add", FACT, "--importance", "1", cwd=repo.root).code == 0
    with closing(Prefork(tmp_path / "prefork", *MODULES)) as prefork, ThreadPoolExecutor(SESSIONS) as pool:
        outs = list(pool.map(lambda number: session(repo.root, number, prefork.bin / "memsync"), range(SESSIONS)))
    until(lambda: not marked(str(tmp_path)))

    assert all(FACT in start and FACT not in prompt for start, prompt, _ in outs)
    with Memsync.open(repo.root) as project:
        assert {entry.content for entry in project.memories()} == {FACT, *TEXTS}
        ledgers = [RecallSession(project, f"s{number}").variables()[LEDGER] for number in range(SESSIONS)]
        (fact,) = (entry.id for entry in project.memories() if entry.content == FACT)
        assert all(fact in ledger for ledger in ledgers)
        assert len(project.state("project").uses_of(fact)) == SESSIONS
        assert project.get(fact).access_count == 0  # nobody asked for it
    assert memsync("doctor", cwd=repo.root).code == 0
    log = (repo.root / ".gobby" / "local" / "hooks.log").read_text()
    assert [json.loads(line)["errors"] for line in log.splitlines()] == [[]] * (3 * SESSIONS)


def marked(mark: str) -> list[int]:
    """Return the other processes that carry *mark* in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue  # it has just ended
    return [pid for pid in found if pid != os.getpid()]
