"""The step at a session's end that makes old memories easier to find, as an agent gets it and does it."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from helpers import memory_line, memsync

SKILL = Path(__file__).parents[2] / "templates/plugin/skills/remember/SKILL.md"
LINT = "the config of the linter is `.golangci.yaml`, not `.golangci.yml`"
OLD = {
    "mm-aaaaaa": "Session cookies are SameSite=Lax",
    "mm-bbbbbb": LINT,
    "mm-cccccc": "Stock is decreased under select_for_update",
    "mm-dddddd": "The moon is far",
}


def test_the_step_as_an_agent_gets_it_gives_old_memories_cues_and_recall_finds_them_by_these(server, repo):
    repo.write_memories(
        "".join(memory_line(id_, text, importance=0.9 - n / 10) for n, (id_, text) in enumerate(OLD.items()))
    )
    (repo.root / ".golangci.yaml").write_text("run: {}\n")
    said = server.ask("get_prompt", "remember_this_session").messages[0].content.text
    for text in (said, SKILL.read_text(encoding="utf-8")):
        asking, giving = re.findall(r"`memsync (memory enrich [^`]+)`", text)
        assert (asking, giving) == ("memory enrich --due --json", "memory enrich -")
    question = "which shoppers were logged out when they came back from paying?"
    assert memsync("recall", question, "--ids", cwd=repo.root).out.split() == []
    listed = memsync(*asking.split(), cwd=repo.root).json
    assert [one["id"] for one in listed["memories"]] == ["mm-aaaaaa", "mm-bbbbbb", "mm-cccccc"]
    assert listed["memories"][1]["about"] == [".golangci.yaml", "not: .golangci.yml"]
    listed["memories"][0]["cues"] = ["logged out after paying"]
    done = memsync(*giving.split(), cwd=repo.root, stdin=json.dumps(listed))
    assert (done.code, "2 enriched" in done.out) == (0, True), done.err
    assert memsync("recall", question, "--ids", cwd=repo.root).out.split() == ["mm-aaaaaa"]
    stored = {one["id"]: one for one in map(json.loads, repo.memories.read_text().splitlines())}
    assert (stored["mm-bbbbbb"]["anchors"], stored["mm-bbbbbb"]["triggers"]) == (
        [".golangci.yaml"],
        ["not: .golangci.yml"],
    )
    again = memsync(*asking.split(), cwd=repo.root).json
    assert [one["id"] for one in again["memories"]] == ["mm-dddddd"]
    assert memsync(*asking.split(), cwd=repo.root).json["memories"] == []
    assert memsync("undo", cwd=repo.root).code == 0
    assert memsync("recall", question, "--ids", cwd=repo.root).out.split() == []
    assert all(
        not {"cues", "anchors", "triggers"} & set(json.loads(one)) for one in repo.memories.read_text().splitlines()
    )


def test_agents_that_end_at_once_are_asked_for_different_memories(repo):
    repo.write_memories("".join(memory_line(f"mm-{n:06}", f"fact {n} of the shop") for n in range(12)))
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: memsync("enrich", "--due", "--json", cwd=repo.root), range(4)))
    ids = [one["id"] for said in done for one in said.json["memories"]]
    assert (len(ids), len(set(ids))) == (12, 12)
