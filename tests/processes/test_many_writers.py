"""Many processes and a hand on one store: what was acknowledged is there, once."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from crew import what_is_known

from memsync import Memsync

WRITERS = 8
ROUNDS = [50] * 4 if os.environ.get("MEMSYNC_EXPLORE") else [8] * 3
SHARED = 3


def ids_in(path: Path) -> Counter[str]:
    return Counter(json.loads(line)["id"] for line in path.read_bytes().splitlines())


def edit_by_hand(path: Path, number: int, hand: dict[str, str]) -> None:
    """Change, delete and add a line in a copy, and put the copy in the place of the file, as an editor does."""
    changed, deleted, added = f"hand-{number}-0", f"hand-{number}-1", f"added-{number}"
    rows = [row for row in path.read_text().splitlines() if f'"{deleted}"' not in row]
    rows = [row.replace(f"by hand {number} 0", f"edited {number}") if f'"{changed}"' in row else row for row in rows]
    swap = path.with_name("memories.jsonl~")
    swap.write_text("\n".join([*rows, json.dumps({"id": added, "content": f"added {number}"}), ""]))
    os.replace(swap, path)
    hand |= {changed: f"edited {number}", added: f"added {number}"}
    del hand[deleted]


@pytest.mark.slow
def test_eight_processes_and_a_hand_lose_nothing_and_write_nothing_twice(crew, root, shown):
    path = root / ".gobby" / "memories.jsonl"
    scribes = [
        crew.start("scribe", root=str(root), name=f"s{n}", seed=n, rounds=ROUNDS, shared=SHARED) for n in range(WRITERS)
    ]
    hand = crew.start("hand", path=str(path), rounds=len(ROUNDS))
    by_hand: dict[str, str] = {}
    for number in range(len(ROUNDS)):
        for actor in (hand, *scribes):
            actor.tell()
        for scribe in scribes:
            scribe.until_round(number)
        hand.tell()
        hand.until_round(number)
        by_hand |= {w["id"]: w["text"] for w in hand.said if w.get("id", "").startswith(f"hand-{number}-")}
        edit_by_hand(path, number, by_hand)
    wanted = dict(by_hand)
    for actor in (hand, *scribes):
        stored, doing = what_is_known(actor.to_the_end())
        assert doing is None
        wanted |= {id_: text for id_, text in stored.items() if actor is not hand}
    agreed = {(w["shared"], w["id"]) for scribe in scribes for w in scribe.said if "shared" in w}
    assert len(agreed) == SHARED * len(ROUNDS)
    wanted |= {id_: text for text, id_ in agreed}

    assert shown(root) == wanted
    assert sum(sum("did" in what for what in scribe.said) for scribe in scribes) == WRITERS * sum(ROUNDS)
    project = Memsync.open(root)
    project.export("project")
    assert ids_in(path) == Counter(wanted.keys())
    assert project.store("project").problems() == []


def test_lines_appended_by_hand_while_others_export_all_stay(crew, root, shown):
    path = root / ".gobby" / "memories.jsonl"
    scribe = crew.start("scribe", root=str(root), name="s", seed=1, rounds=[100])
    exporters = [crew.start("exporter", root=str(root)) for _ in range(2)]
    hand = crew.start("hand", path=str(path), rounds=1)
    for actor in (scribe, hand):
        actor.tell()
    scribe.until_round(0)
    for actor in (hand, *exporters):
        actor.tell()
    wanted: dict[str, str] = {}
    for actor in (hand, scribe, *exporters):
        wanted |= {w["id"]: w["text"] for w in actor.to_the_end() if w.get("did") == "append"}
        wanted |= what_is_known(actor.said)[0] if actor is scribe else {}
    assert shown(root) == wanted


@pytest.mark.parametrize("what", ["state", "local"])
def test_memories_survive_whatever_happens_to_the_local_directory(crew, root, shown, what):
    scribes = [
        crew.start("scribe", root=str(root), name=f"s{n}", seed=n, rounds=[80], may_be_refused=what == "local")
        for n in range(2)
    ]
    vandal = crew.start("vandal", local=str(root / ".gobby" / "local"), what=what)
    for scribe in scribes:
        scribe.tell()
    for scribe in scribes:
        scribe.until_round(0)
    vandal.tell()
    vandal.to_the_end()
    wanted: dict[str, str] = {}
    for scribe in scribes:
        wanted |= what_is_known(scribe.to_the_end())[0]
    assert shown(root) == wanted
    assert Memsync.open(root).store("project").problems() == []
