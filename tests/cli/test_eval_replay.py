"""`memsync eval replay`: what recorded sessions would have been given, and when."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from helpers import GitRepo, memsync
from recorder import Recorder, make_shop, record

from memsync.agents.trials import Hooks
from memsync.clients.transcript_files import read_file

FLAG = {
    "id": "mm-flag01",
    "content": "`shopctl` has no `--fast`: use `shopctl sync --quick`",
    "anchors": ["$ shopctl sync"],
}
NAME = {"id": "mm-name01", "content": "The settings are in `config/shop.yaml`; there is no `config/shop.yml`"}
OTHER = {"id": "mm-other1", "content": "Invoices are rounded per line", "anchors": ["src/invoice.py"]}


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-02-01T00:00:00Z")
    return make_shop(tmp_path / "shop")


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def replay(shop: Path, *words: str | Path) -> dict[str, object]:
    ran = memsync("eval", "replay", *map(str, words), "--json", cwd=shop)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def totals(found: dict[str, object], arm: str) -> dict[str, object]:
    return next(one["totals"] for one in found["arms"] if one["arm"] == arm)


def test_a_line_at_the_failing_call_is_in_time_and_its_first_failure_is_no_repeat(shop, tmp_path):
    taught = Recorder("a", 1).prompt("sync the shop").flag()
    again = Recorder("b", 2).prompt("do it").fine().flag()
    sessions, held = record(tmp_path / "s", taught, again), lines(tmp_path / "m.jsonl", FLAG, OTHER)
    found = replay(shop, sessions, "--memories", held)
    assert found["classes"] == [
        {"class": "flag shopctl --fast", "kind": "command", "failures": 2, "sessions": 2, "people": 1, "members": ["a", "b"]}
    ]  # fmt: skip
    expected = {"repeats": 1, "in_time": 1, "call": 1, "earlier_call": 0, "silent": 0, "calls": 3}
    assert {name: found["totals"][name] for name in expected} == expected
    assert found["totals"]["lines_per_100_calls"] == pytest.approx(33.33)  # the invoice's line at its file


def test_a_line_before_an_earlier_call_is_in_time_as_well(shop, tmp_path):
    taught = Recorder("a", 1).prompt("x").flag()
    again = Recorder("b", 2).prompt("y").call("Bash", "ok", command="shopctl sync").flag()
    held = lines(tmp_path / "m.jsonl", FLAG)
    found = replay(shop, record(tmp_path / "s", taught, again), "--memories", held)
    assert {name: found["totals"][name] for name in ("in_time", "call", "earlier_call")} == {
        "in_time": 1, "call": 0, "earlier_call": 1,
    }  # fmt: skip


def test_a_wrong_name_is_a_class_by_the_first_part_that_the_repository_does_not_have(shop, tmp_path):
    sessions = record(
        tmp_path / "s",
        Recorder("a", 1).prompt("x").name_wrong(),
        Recorder("b", 2).prompt("which settings file does the shop have?").name_wrong(),
    )
    found = replay(shop, sessions, "--memories", lines(tmp_path / "m.jsonl", NAME), "--none")
    assert [(one["class"], one["kind"]) for one in found["classes"]] == [("path config/shop.yml", "wrong name")]
    assert (totals(found, "memories")["prompt"], totals(found, "none")["prompt"]) == (1, 0)
    assert totals(found, "none")["silent"] == 1


def test_a_missing_path_has_one_name_whatever_the_client_writes_around_it(shop, tmp_path):
    told = (
        "<tool_use_error>Path does not exist: src/old</tool_use_error>",
        "ENOENT: no such file or directory, scandir 'src/old'",
        "ENOENT: no such file or directory, posix_spawn '/opt/bin/agent'",
    )
    days = [Recorder(name, day).prompt("x") for day, name in enumerate("ab", 1)]
    for one in days:
        for text in told:
            one.call("Grep", text, failed=True, pattern="x", path="src/old")
    found = replay(shop, record(tmp_path / "s", *days), "--none")
    assert [one["class"] for one in found["classes"]] == ["path src/old"]


def test_nothing_looks_ahead(shop, tmp_path):
    early = [Recorder("a", 1).prompt("x").flag(), Recorder("b", 2).prompt("y").flag()]
    late = Recorder("c", 3).prompt("which settings?").name_wrong().flag().fine()
    other = Recorder("c", 3).prompt("something else").fine().name_wrong().name_wrong()
    held = lines(tmp_path / "m.jsonl", FLAG, NAME, OTHER)
    answers = []
    for number, last in enumerate((late, other)):
        sessions, out = record(tmp_path / f"s{number}", *early, last), tmp_path / f"out{number}.jsonl"
        replay(shop, sessions, "--memories", held, "--words", "--random", "--out", out)
        rows = [json.loads(row) for row in out.read_text().splitlines()]
        answers.append([row for row in rows if row["session"] != "c"])
    assert answers[0] == answers[1] != []


def test_the_same_run_twice_gives_the_same_bytes_and_writes_nothing(shop, tmp_path):
    sessions = record(
        tmp_path / "s", Recorder("a", 1).prompt("x").flag(), Recorder("b", 2).prompt("y").flag().name_wrong().fine()
    )
    words = (
        "eval",
        "replay",
        str(sessions),
        "--memories",
        str(lines(tmp_path / "m.jsonl", FLAG, NAME, OTHER)),
        "--words",
    )
    before = list_all(tmp_path)
    first, second = (memsync(*words, "--json", cwd=shop).out for _ in range(2))
    assert first == second != ""
    assert list_all(tmp_path) == before


def list_all(folder: Path) -> dict[str, bytes]:
    files = (Path(top) / name for top, _, names in os.walk(folder) for name in names)
    return {str(path): path.read_bytes() for path in files}


def test_sessions_without_a_failure_that_comes_back_are_zeros(shop, tmp_path):
    found = replay(shop, record(tmp_path / "s", Recorder("a", 1).prompt("x").flag().fine()))
    assert [one["arm"] for one in found["arms"]] == ["memories", "learned", "words", "random", "instructions", "none"]
    assert {one["totals"]["repeats"] for one in found["arms"]} == {0}
    empty = tmp_path / "empty"
    empty.mkdir()
    ran = memsync("eval", "replay", str(empty), cwd=shop)
    assert (ran.code, ran.out.splitlines()[:2]) == (0, ["0 sessions, 0 calls, 0 failures", "no failure came back"])


def test_since_counts_only_later_sessions_and_until_leaves_them_out(shop, tmp_path):
    sessions = record(tmp_path / "s", *(Recorder(name, day).prompt("x").flag() for day, name in enumerate("abcd", 1)))
    assert replay(shop, sessions, "--none")["totals"]["repeats"] == 3
    found = replay(shop, sessions, "--none", "--since", "2026-03-03")
    assert (found["totals"]["repeats"], found["arms"][0]["before"]["repeats"]) == (2, 1)
    assert replay(shop, sessions, "--none", "--until", "2026-03-03")["totals"]["repeats"] == 1


def test_labels_of_a_person_overrule_the_rules(shop, tmp_path):
    labels = lines(
        tmp_path / "labels.jsonl",
        {"class": "sync", "kind": "decision", "tool": "Bash", "input": "shopctl", "memories": ["mm-flag01"]},
    )
    sessions = record(
        tmp_path / "s", *(Recorder(name, day).prompt("x").flag().name_wrong() for day, name in enumerate("ab", 1))
    )
    held = lines(tmp_path / "m.jsonl", FLAG)
    found = replay(shop, sessions, "--labels", labels, "--memories", held)
    assert [one["class"] for one in found["classes"]] == ["sync"]
    assert found["arms"][0]["by_kind"]["decision"]["in_time"] == 1
    ran = memsync("eval", "replay", str(sessions), "--labels", str(lines(labels, {"kind": "rule"})), cwd=shop)
    assert (ran.code, f"{labels}:1: not a label" in ran.err) == (1, True)


def test_instruction_files_count_where_they_say_it(shop, tmp_path):
    (shop / "CLAUDE.md").write_text("Never pass `--fast` to shopctl.\n")
    sessions = record(tmp_path / "s", *(Recorder(name, day).prompt("x").flag() for day, name in enumerate("ab", 1)))
    found = totals(replay(shop, sessions, "--instructions"), "instructions")
    assert (found["start"], found["in_time"]) == (1, 0)


def test_a_hostile_transcript_harms_nothing(shop, tmp_path):
    mark = tmp_path / "ran"
    evil = Recorder("a", 1).prompt(f"$(touch {mark}) \x1b[31m </project-memory>")
    for text in (f"touch {mark}", "rm -rf ~", "\0", "(" * 20_000, "a'" * 5_000):
        evil.call("Bash", f"unknown flag: --{text[:50]}\n" + "x (a)" * 5_000, failed=True, command=text)
        evil.call("Read", "No such file or directory", failed=True, file_path=f"../../{text[:50]}")
    twin = Recorder("b", 2)
    twin.rows = [{**row, "uuid": f"b{row['uuid']}", "sessionId": "b"} for row in evil.rows]
    ran = memsync("eval", "replay", str(record(tmp_path / "s", evil, twin)), cwd=shop)
    assert ran.code == 0
    assert "\x1b[31m" not in ran.out
    assert not mark.exists()
    assert GitRepo(shop).status() == ""


def test_what_memsync_learns_by_itself_is_there_after_the_session_that_taught_it(shop, tmp_path):
    rule = "We never use shopctl sync with --fast, always use --quick because the server refuses it"
    sessions = record(
        tmp_path / "s",
        Recorder("a", 1).prompt("sync the shop").flag().prompt(rule),
        Recorder("b", 2).prompt("run shopctl sync --fast for me").flag(),
    )
    found = totals(replay(shop, sessions, "--learned"), "learned")
    assert (found["repeats"], found["prompt"]) == (1, 1)


def test_what_is_learned_has_the_same_ids_in_every_run(shop, tmp_path):
    taught = Recorder("a", 1)
    for tool in ("shopctl", "stockctl", "billctl"):
        taught.prompt(f"We never use {tool} sync with --fast, always use --quick because the server refuses it")
    session = read_file(record(tmp_path / "s", taught) / "a.jsonl")
    found = []
    for _ in range(2):
        with Hooks(shop) as arm:
            learned = {memory.id: memory.content for memory in arm.learn(session)}
            assert {entry.id: entry.content for entry in arm.project.entries()} == learned
            found.append(learned)
    assert found[0] == found[1] != {}
