"""Twenty agents at once on one store: none fails, no write is lost, no process stays."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers import memsync, until

from memsync import Memsync
from memsync.agents.ledger import LEDGER
from memsync.agents.session import RecallSession

SESSIONS = 20
FACT = "The staging database listens on port 5433"
TEXTS = [
    f"{name} is owned by the {name.lower()} crew and released on its own"
    for name in ("Alder Birch Cedar Dogwood Elm Fir Ginkgo Hazel Ironwood Juniper Katsura Larch Maple Nutmeg Oak Pine "
                 "Quince Rowan Spruce Teak").split()
]  # fmt: skip


def session(root: Path, number: int) -> list[str]:
    """Play one session; return what its hooks printed."""

    def hook(event: str, **payload: object) -> str:
        ran = memsync("hook", event, cwd=root, stdin=json.dumps({"session_id": f"s{number}", **payload}))
        assert (ran.code, ran.err) == (0, "")
        return ran.out

    prompt = "which port does the staging database use?"
    out = [hook("session-start", source="startup")]
    added = memsync("memory", "add", TEXTS[number], cwd=root, env={"MEMSYNC_SESSION_ID": f"s{number}"})
    assert added.code == 0
    assert not added.err or "waiting for another memsync" in added.err  # on a machine as busy as this one
    out += [hook("prompt", prompt=prompt, prompt_id="1"), hook("session-end", reason="exit")]
    return out


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="NOT TESTED: processes are counted in /proc")
def test_twenty_sessions_at_once(repo, monkeypatch, tmp_path):
    monkeypatch.setenv("MARK_OF_THIS_TEST", str(tmp_path))
    assert memsync("memory", "add", FACT, "--importance", "1", cwd=repo.root).code == 0
    with ThreadPoolExecutor(SESSIONS) as pool:
        outs = list(pool.map(lambda number: session(repo.root, number), range(SESSIONS)))
    until(lambda: not marked(str(tmp_path)))

    assert all(FACT in start and FACT not in prompt for start, prompt, _ in outs)
    with Memsync.open(repo.root) as project:
        assert {entry.content for entry in project.memories()} == {FACT, *TEXTS}
        ledgers = [RecallSession(project, f"s{number}").variables()[LEDGER] for number in range(SESSIONS)]
        (fact,) = (entry.id for entry in project.memories() if entry.content == FACT)
        assert all(fact in ledger for ledger in ledgers)
        assert project.get(fact).access_count == SESSIONS
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
