"""What arrives in each real client, by where and how a turn begins. The table in docs/clients.md is what was seen here.

`MEMSYNC_UPDATE=1` writes what is seen into the table, with the version that it was seen in.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from helpers import until
from programs import CHATTING, CLIENTS, Client, Codex

from memsync.clients import facts

pytestmark = pytest.mark.slow  # real clients, in processes of their own

DOCS = Path(__file__).parents[2] / "docs" / "clients.md"
UPDATES = bool(os.environ.get("MEMSYNC_UPDATE"))  # the sandbox clears it before each test
FACT = "CI needs Node 20: the build breaks on 22"
QUESTION = "Which Node version does CI need for the build?"
HELLO = "Hello there, please introduce yourself."
_COMMAND = "---\ndescription: Answers\n---\nAnswer this: {}\n"
_SKILL = "---\nname: ask\ndescription: Answers questions\n---\nAnswer briefly.\n"
# a command of the user's own, and how it is called
COMMANDS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "claude": (".claude/commands/ask.md", _COMMAND.format("$ARGUMENTS"), ("-p", f"/ask {QUESTION}")),
    "codex": (".agents/skills/ask/SKILL.md", _SKILL, ("exec", "--dangerously-bypass-hook-trust", f"$ask {QUESTION}")),
    "gemini": (".gemini/commands/ask.toml", 'prompt = "Answer this: {{args}}"\n', ("-p", f"/ask {QUESTION}")),
    "copilot": (".github/skills/ask/SKILL.md", _SKILL, ("-p", f"/ask {QUESTION}")),
    "opencode": (".opencode/command/ask.md", _COMMAND.format("$ARGUMENTS"), ("run", "--command", "ask", QUESTION)),
    "qwen": (".qwen/commands/ask.md", _COMMAND.format("{{args}}"), ("-p", f"/ask {QUESTION}")),
}


def sent(client: Client, *words: str) -> str:
    """Return the last conversation that the model saw which has all of *words*; "" if there is none."""
    seen = (json.dumps(client.new_in(turn), ensure_ascii=False) for turn in reversed(client.model.turns))
    return next((one for one in seen if all(word in one for word in words)), "")


def at_the_root(client: Client) -> str:
    return client.ask(QUESTION)


def in_a_subfolder(client: Client) -> str:
    client.place = client.root / "packages" / "web"
    client.place.mkdir(parents=True, exist_ok=True)
    return client.ask(QUESTION)


def in_a_worktree(client: Client) -> str:
    client.place = client.root.parent / "side"
    if not client.place.exists():
        for words in (["add", "-A"], ["commit", "-qm", "all"], ["worktree", "add", "-q", str(client.place)]):
            subprocess.run(["git", *words], cwd=client.root, check=True)
    return client.ask(QUESTION)


def in_a_subagent(client: Client) -> str:
    """Ask the subagent what its parent was not asked."""
    name, given = client.helper
    asked = f"Please find out: {QUESTION}"
    client.model.tool = (name, {**given, next(key for key in ("prompt", "message") if key in given): asked})

    def sent_to_it() -> list[str]:
        bodies = (json.dumps(client.new_in(turn), ensure_ascii=False) for turn in list(client.model.turns))
        return [body for body in bodies if asked in body and HELLO not in body]

    if isinstance(client, Codex):  # which does not wait for it but as a server
        with (client.home / ".codex" / "config.toml").open("a") as file:
            file.write("[features]\nmulti_agent = true\n")
        with client.server() as server:
            thread = server.call("thread/start", {"cwd": str(client.root)})["thread"]["id"]
            server.call("turn/start", {"threadId": thread, "input": [{"type": "text", "text": HELLO}]})
            server.wait_for("turn/completed")
            until(sent_to_it, 3600)
    else:
        client.turn(HELLO, again=False, tools=True)
    assert client.model.tool is None, "it was never offered"
    return (sent_to_it() or [""])[0]


def when_resumed(client: Client) -> str:
    client.ask(HELLO)
    client.ask(QUESTION, again=True)
    return client.ask(f"Remind me please: {QUESTION}", again=True)


def when_compacted(client: Client) -> str:
    client.ask(f"{HELLO}{' Take your time.' * 1_000}")  # one leaves a short one as it is
    client.ask(QUESTION, again=True)
    client.compact()
    return client.ask(f"Remind me please: {QUESTION}", again=True)


def with_a_command(client: Client) -> str:
    path, text, words = COMMANDS[client.name]
    (client.root / path).parent.mkdir(parents=True, exist_ok=True)
    (client.root / path).write_text(text)
    assert client.run(*words).code == 0
    return sent(client, QUESTION)


SITUATIONS: Mapping[str, Callable[[Client], str]] = {
    "root": at_the_root,
    "subfolder": in_a_subfolder,
    "worktree": in_a_worktree,
    "subagent": in_a_subagent,
    "resumed": when_resumed,
    "compacted": when_compacted,
    "slash command": with_a_command,
}


def see(client: Client, situation: str) -> str:
    """Return whether the memory arrives, or what the user has to do for it; never twice."""
    count = SITUATIONS[situation](client).count(FACT)
    assert count <= 1
    if count or situation != "subfolder":
        return "yes" if count else "no"
    assert client.memsync("init", "--user", "--agent", client.name, "--no-git-hooks").code == 0
    client.be_patient()
    count = SITUATIONS[situation](client).count(FACT)
    assert count <= 1
    return "by `--user`" if count else "no"


def find_row(title: str) -> re.Match[str]:
    """Return the row of the client in the table, its title first and then its cells."""
    found = re.search(rf"^\| {re.escape(title)} ([\d.]+) \|(.*)\|$", DOCS.read_text(), re.MULTILINE)
    assert found, f"{DOCS.name} has no row for {title}"
    return found


def write_cell(row: re.Match[str], version: str, number: int, seen: str) -> None:
    """Write what was seen, and keep what is said of it in brackets if it is what was there."""
    cells = [cell.strip() for cell in row[2].split("|")]
    if cells[number].partition(" (")[0] != seen:
        cells[number] = seen
    title = row[0].split("|")[1].strip().rpartition(" ")[0]
    text = DOCS.read_text()
    DOCS.write_text(text.replace(row[0], f"| {title} {version} | {' | '.join(cells)} |"))


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_arrives_is_what_the_table_says(anyone, situation):
    done = anyone.memsync("memory", "remember", FACT, "--importance", "0.9")
    assert done.code == 0, done.err
    for number in range(6):
        anyone.memsync("memory", "remember", f"Sensor {number} is in hall {number * 31}")
    assert anyone.memsync("memory", "config", "memory.injection_limit", "0").code == 0
    row = find_row(facts.find(anyone.name).title)
    seen = see(anyone, situation)
    number = list(SITUATIONS).index(situation)
    if UPDATES:
        found = re.search(r"\d+\.\d+\.\d+", anyone.run("--version").out)
        assert found
        write_cell(row, found[0], number, seen)
    else:
        assert row[2].split("|")[number].strip().partition(" (")[0] == seen


def test_the_table_has_a_row_of_each_client_and_a_cell_of_each_situation():
    for kind in CLIENTS + CHATTING:
        assert len(find_row(facts.find(kind.name).title)[2].split("|")) == len(SITUATIONS)
