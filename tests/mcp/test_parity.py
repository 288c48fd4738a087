"""Command line and MCP can do the same, with the same names, and answer with the same objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import click
import pytest
import transcripts
from calling import Caller, connected
from helpers import GitRepo, memory_line

from memsync.agents.live import Live
from memsync.cli.app import cli, run
from memsync.errors import MemsyncError
from memsync.mcp.early import GROUPS, choose
from memsync.mcp.server import OFFERS, build

SAME = {offer.command: offer.name for offer in OFFERS if not offer.command.startswith("janitor")}
COMMAND_OF = {tool: command for command, tool in SAME.items()}
ONLY_COMMAND = {
    "memory search": "recall without counting the use; what an agent looks at is used",
    "memory anchor": "update_memory has anchors",
    "memory candidates": "what was proposed waits for a person to look at it",
    "memory approve": "as above",
    "memory reject": "as above",
    "skill candidates": "what was learned waits for a person to look at it",
    "skill approve": "as above",
    "skill reject": "as above",
    "skill import": "whose instructions agents work by here is for a person to say",
    "skill link": "makes links in and outside of the project: for whoever sets it up",
}
ONLY_COMMAND |= {
    "memory share": "what others get to see is for a person to decide",
    "memory unshare": "what others get to see is for a person to decide",
    "memory audit": "for people and CI; what it finds must not reach a model",
}
ONLY_COMMAND |= {
    "memory edit": "opens an editor; update_memory changes a memory",
    "memory log": "for people; memory_history and memory_diff say it to a model",
    "memory undo": "takes back what a person has done; restore_memory brings one memory back",
    "memory tags list": "memory_stats counts them",
    "memory tags add": "update_memory sets the tags of one; many at once are for a person to see first",
    "memory tags rm": "as above",
    "memory tags rename": "as above",
}
ONLY_TOOL = dict.fromkeys(GROUPS["tidy"], "`janitor review` asks a person, a key a cluster; these are its parts")

# Options that the tool of the command does not have, and why.
_NOT_FOR_A_MODEL = {"allow_secret": "that a text only looks like a secret is for a person to say"}
_FILTERS = "memory_type tags_all tags_any tags_none min_importance archived exclude".split()
_MANY = dict.fromkeys([*_FILTERS, "since", "yes"], "many at once are for a person to see first")
_FORM = dict.fromkeys(
    ["full", "ids", "template", "since"], "how rows look, or who wants to see the last days: for people"
)
NO_PARAMETER = {
    "remember": _NOT_FOR_A_MODEL,
    "update_memory": {**_NOT_FOR_A_MODEL, "no_anchor": "an empty list says the same"},
    "list_memories": {
        **_FORM,
        "here": "as for recall",
        **dict.fromkeys(["sort", "group"], "a model orders what it gets itself"),
    },
    "memory_stats": {"since": _FORM["since"]},
    "import_memories": {
        **_NOT_FOR_A_MODEL,
        "named": "whose part of a store for many is for a person to say",
        "restore": "it looks for no secrets, and takes back what a purge by a person took out",
    },
    "recall": {
        **_FORM,
        **dict.fromkeys(["here", "repos", "all_repos"], "which other stores an agent sees, the user's settings say"),
        "explain": "says the same in words; `parts` is in every answer",
        "hub": "other repositories are for agents to ask where somebody has connected the hub's own server",
    },
    "learn_skill": {
        "transcript": "a model must not be led to other files",
        "yes": "with instructions it is written, as by create_skill; a draft waits for a person",
    },
    "init_memory": {"yes": "what was proposed waits for a person"},
    "enrich_memories": {"list_": "the tool lists where it is given no memories"},
    "forget": {**_MANY, "purge": "a model must not take away what a person could bring back"},
    "memory_diff": {"markdown": "says the same for people"},
    "export_memories": dict.fromkeys(
        ["output", "format_", "force", "all_scopes", "since", *_FILTERS],
        "a tool writes no files where a model says; list_memories has the same filters",
    ),
    "export_skills": {"all_scopes": "a model names the one store; all of them together are for a person to say"},
}
# Parameters that the command of the tool does not have.
NO_OPTION = {
    "include_global": "seed 002's name; the command has --scope",
    "instructions": "what a model has written; the command learns from transcripts",
    "from_session": "seed 002's name",
}
RENAMED = {
    "memory": {"ref": "memory_id", "refs": "memory_id", "words": "memory_id", "pairs": "map"},
    "skill": {"ref": "skill_id", "refs": "skill_id"},
    "skill validate": {"refs": "skill_ids"},
    "memory init": {"scan": "scan_codebase", "instructions": "import_claude_md"},
    "memory extract": {"sources": "paths"},
    "memory enrich": {"source": "memories", "only_list": "list_"},
    "memory dedup confirm": {"refs": "decision_ids"},
    "memory dedup reverse": {"ref": "decision_id"},
}


def commands(group: click.Group, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield the commands of *group*, each under its first name."""
    context = click.Context(cli)
    seen: set[int] = set()
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {word}")
        elif id(command) not in seen:
            seen.add(id(command))
            yield f"{name} {word}", command


COMMANDS = {
    path: command
    for word in ("memory", "skill")
    for path, command in commands(cli.get_command(click.Context(cli), word), word)
}


def options(name: str) -> set[str]:
    """Return the names of what the command takes, as a tool would call them."""
    renamed = RENAMED[name.split(maxsplit=1)[0]] | RENAMED.get(name, {})
    names = set()
    for parameter in COMMANDS[name].params:
        if parameter.name == "scope" and isinstance(parameter, click.Option) and parameter.is_flag:
            names.add("scope")
        elif parameter.name != "as_json":
            names.add(renamed.get(parameter.name, parameter.name))
    return names


def test_every_command_has_a_tool_or_a_reason():
    assert set(COMMANDS) == SAME.keys() | ONLY_COMMAND.keys()


def test_every_tool_has_a_command_or_a_reason(server):
    assert set(server.tools()) == set(SAME.values()) | ONLY_TOOL.keys()


@pytest.mark.parametrize("name", SAME)
def test_a_tool_takes_what_its_command_takes(server, name):
    tool = SAME[name]
    wanted = options(name) - NO_PARAMETER.get(tool, {}).keys()
    assert set(server.tools()[tool].input_schema["properties"]) - NO_OPTION.keys() == wanted - NO_OPTION.keys()


HOWTO = "1. make release\n2. check the tag\n"
SKILL = """---
name: run-tests
description: How to run the tests with pytest when the build is red
metadata:
  id: sk-abcdef
  trigger-pattern: "test|pytest"
  tags: "testing ci"
---
1. Run `make test`
"""

# tool, words of the command, the same for the tool
CASES = [
    (
        "remember",
        ["CI needs Node 20", "--type", "pattern", "--importance", "0.9", "--tag", "ci,node"],
        {"content": "CI needs Node 20", "memory_type": "pattern", "importance": 0.9, "tags": ["ci", "node"]},
    ),
    ("remember", ["Always use uv"], {"content": "Always use uv"}),
    ("remember", ["I use Helix", "--global"], {"content": "I use Helix", "scope": "global"}),
    ("remember", ["the client is Acme", "--private"], {"content": "the client is Acme", "scope": "private"}),
    ("remember", ["x", "--importance", "7"], {"content": "x", "importance": 1.7}),
    ("recall", ["which tool for python", "-n", "2"], {"query": "which tool for python", "limit": 2}),
    ("recall", ["how tall is the tower"], {"query": "how tall is the tower"}),
    ("recall", ["python", "--exclude", "mm-aaa"], {"query": "python", "exclude": ["mm-aaa"]}),
    ("recall", ["-n", "3", "--min-importance", "0.4"], {"limit": 3, "min_importance": 0.4}),
    ("recall", ["pytest build", "--skills"], {"query": "pytest build", "skills": True}),
    ("recall", ["pytest", "--skills", "--scope", "global"], {"query": "pytest", "skills": True, "scope": "global"}),
    ("recall", ["--skills"], {"skills": True}),
    ("recall", ["pytest", "--skills", "--at", "HEAD"], {"query": "pytest", "skills": True, "at": "HEAD"}),
    ("list_memories", ["--type", "preference"], {"memory_type": "preference"}),
    ("list_memories", ["--any-tag", "db", "--any-tag", "py"], {"tags_any": ["db", "py"]}),
    ("list_memories", ["--no-tag", "db", "--archived"], {"tags_none": ["db"], "archived": True}),
    ("get_memory", ["mm-aaa"], {"memory_id": "mm-aaa"}),
    ("get_memory", ["zzz"], {"memory_id": "zzz"}),
    (
        "update_memory",
        ["mm-aaa", "-c", "Never use pip", "--importance", "1", "--tag", "py,rule", "--type", "pattern"],
        {
            "memory_id": "mm-aaa",
            "content": "Never use pip",
            "importance": 1,
            "tags": "py,rule",
            "memory_type": "pattern",
        },
    ),
    ("forget", ["mm-aa"], {"memory_id": "mm-aa"}),
    ("forget", ["mm-a"], {"memory_id": "mm-a"}),
    ("restore_memory", ["mm-aaa"], {"memory_id": "mm-aaa"}),
    ("memory_stats", ["--scope", "project"], {"scope": "project"}),
    ("memory_stats", ["--tag", "db"], {"tags_all": ["db"]}),
    ("import_memories", ["old.jsonl", "--dry-run"], {"paths": ["old.jsonl"], "dry_run": True}),
    (
        "import_memories",
        ["dump.json", "--from", "json", "--map", "content=text"],
        {"paths": ["dump.json"], "source": "json", "map": {"content": "text"}},
    ),
    ("import_memories", ["CLAUDE.md", "--dry-run"], {"paths": ["CLAUDE.md"], "dry_run": True}),
    (
        "import_memories",
        [".", "--from", "claude-md", "--dry-run"],
        {"paths": ["."], "source": "claude-md", "dry_run": True},
    ),
    ("export_memories", [], {}),
    ("export_memories", ["--scope", "global"], {"scope": "global"}),
    ("recall", ["uv", "--at", "HEAD"], {"query": "uv", "at": "HEAD"}),
    ("list_memories", ["--at", "HEAD"], {"at": "HEAD"}),
    ("get_memory", ["mm-old", "--at", "HEAD"], {"memory_id": "mm-old", "at": "HEAD"}),
    ("get_memory", ["mm-old", "--at", "nowhere"], {"memory_id": "mm-old", "at": "nowhere"}),
    ("get_memory", ["mm-old", "--at=--help"], {"memory_id": "mm-old", "at": "--help"}),
    ("restore_memory", ["mm-old"], {"memory_id": "mm-old"}),
    ("restore_memory", ["mm-old", "--at", "HEAD"], {"memory_id": "mm-old", "at": "HEAD"}),
    ("memory_history", ["mm-old"], {"memory_id": "mm-old"}),
    ("memory_history", ["zzz"], {"memory_id": "zzz"}),
    ("memory_diff", [], {}),
    ("memory_diff", ["HEAD..HEAD"], {"span": "HEAD..HEAD"}),
    ("memory_diff", ["nowhere"], {"span": "nowhere"}),
    ("memory_blame", [], {}),
    ("memory_blame", ["mm-aaa"], {"memory_id": "mm-aaa"}),
    ("init_memory", ["--dry-run"], {"dry_run": True}),
    ("init_memory", ["--no-scan"], {"scan_codebase": False}),
    ("init_memory", ["--no-import-claude-md"], {"import_claude_md": False}),
    ("extract_memories", ["CLAUDE.md", "--dry-run"], {"paths": ["CLAUDE.md"], "dry_run": True}),
    ("extract_memories", [], {}),
    ("enrich_memories", ["--list", "-n", "20"], {}),
    (
        "enrich_memories",
        ["cues.json", "--dry-run"],
        {"memories": [{"id": "mm-abb", "cues": ["cannot write"]}], "dry_run": True},
    ),
    ("dedup_log", ["--status", "unreviewed"], {"status": "unreviewed"}),
    ("dedup_log", ["--decision", "nonsense"], {"decision": "nonsense"}),
    ("dedup_confirm", ["1"], {"decision_ids": ["1"]}),
    ("dedup_reverse", ["7"], {"decision_id": "7"}),
    ("learn_skill", ["deploy"], {"name": "deploy"}),
    ("list_skills", [], {}),
    ("list_skills", ["-q", "pytest", "-n", "1"], {"query": "pytest", "limit": 1}),
    ("search_skills", ["the build is red"], {"query": "the build is red"}),
    ("get_skill", ["run-tests"], {"skill_id": "run-tests"}),
    ("get_skill", ["zzz"], {"skill_id": "zzz"}),
    ("apply_skill", ["sk-abc"], {"skill_id": "sk-abc"}),
    ("apply_skill", ["run-tests", "--outcome", "failure"], {"skill_id": "run-tests", "outcome": "failure"}),
    (
        "create_skill",
        ["release", "-i", "howto.md", "-d", "How to release", "--trigger", "release|ship", "--tag", "ops"],
        {
            "name": "release",
            "instructions": HOWTO,
            "description": "How to release",
            "trigger_pattern": "release|ship",
            "tags": ["ops"],
        },
    ),
    ("create_skill", ["Bad Name!", "-i", "howto.md"], {"name": "Bad Name!", "instructions": HOWTO}),
    (
        "update_skill",
        ["run-tests", "--name", "test", "-i", "howto.md", "--trigger", "", "--tag", "", "-d", "Tests"],
        {
            "skill_id": "run-tests",
            "name": "test",
            "instructions": HOWTO,
            "trigger_pattern": "",
            "tags": [],
            "description": "Tests",
        },
    ),
    ("delete_skill", ["run-tests"], {"skill_id": "run-tests"}),
    ("restore_skill", ["gone"], {"name": "gone"}),
    ("validate_skills", [], {}),
    ("validate_skills", ["run-tests", "--fix"], {"skill_ids": ["run-tests"], "fix": True}),
    ("export_skills", ["-o", "copies", "--scope", "project"], {"directory": "copies", "scope": "project"}),
    ("export_skills", [], {}),
    ("skill_history", ["run-tests"], {"name": "run-tests"}),
    ("skill_stats", [], {}),
]


@pytest.fixture
def twins(tmp_path, home) -> list[GitRepo]:
    """Return two repositories that are the same."""
    repos = [GitRepo.create(tmp_path / name / "repo") for name in ("one", "two")]
    for repo in repos:
        repo.write_memories(memory_line("mm-old", "The build runs on Jenkins"))
        repo.git("add", ".")
        repo.git("commit", "-q", "-m", "memories")
        repo.write_memories(
            memory_line("mm-aaa", "Always use uv for python", memory_type="preference", tags=["py"], importance=0.8)
            + memory_line("mm-abb", "The database is read-only", tags=["db"], importance=0.3)
            + memory_line("mm-abc", "was true once", tags=["db"], archived_at="2025-01-01T00:00:00Z")
        )
        (repo.root / "old.jsonl").write_text(
            memory_line("old-1", "an old fact") + memory_line("old-2", "Always use UV for python")
        )
        (repo.root / "CLAUDE.md").write_text(
            "# Rules\n\n- Always run the tests with `uv run pytest` before a commit.\n"
        )
        (repo.root / "pyproject.toml").write_text('[project]\nname = "shop"\nrequires-python = ">=3.11"\n')
        (repo.root / "howto.md").write_text(HOWTO)
        cues = {"memories": [{"id": "mm-abb", "cues": ["cannot write"]}]}
        (repo.root / "cues.json").write_text(json.dumps(cues))
        folder = repo.root / ".claude" / "skills" / "run-tests"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL)
        (repo.root / "dump.json").write_text(json.dumps([{"text": "from a dump"}, {"text": ""}]))
    return repos


@pytest.fixture
def by_command(monkeypatch, capsys):
    """Return a function that runs the command of a tool, in this process, and returns what it prints."""

    def command(repo: GitRepo, tool: str, words: list[str]) -> dict:
        monkeypatch.chdir(repo.root)
        run([*COMMAND_OF[tool].split(), *words, "--json"])
        return json.loads(capsys.readouterr().out)

    return command


def by_tool(caller: Caller, tool: str, arguments: dict) -> dict:
    result = caller.ask("call_tool", tool, arguments)
    return {"error": result.content[0].text} if result.is_error else result.structured_content


@pytest.mark.parametrize(("tool", "words", "arguments"), CASES)
def test_a_tool_answers_what_its_command_prints(twins, by_command, monkeypatch, home, tool, words, arguments):
    said = by_command(twins[0], tool, words)
    monkeypatch.setenv("MEMSYNC_HOME", str(home / "other"))
    with connected(build(Live(twins[1].root), choose("all"), whole=True)) as caller:
        answered = by_tool(caller, tool, arguments)
    if "error" in said:
        assert said["exit_code"] in (1, 2)
        assert re.search(texts_of(twins[0], tool, words), answered["error"])
        return
    assert plain(answered, twins[1], home / "other") == plain(said, twins[0], home / ".gobby")


def texts_of(repo: GitRepo, tool: str, words: list[str]) -> str:
    """Return a pattern for the error of the command: its texts, with anything in place of a remedy."""
    with pytest.raises((MemsyncError, click.ClickException)) as error:
        cli.main([*COMMAND_OF[tool].split(), *words], standalone_mode=False)
    if isinstance(error.value, click.ClickException):
        return re.escape(error.value.format_message())
    parts = (re.escape(part) if isinstance(part, str) else ".+" for part in error.value.parts)
    return f"{''.join(parts)}|cannot use its"


def plain(value: dict, repo: GitRepo, home: object) -> str:
    text = re.sub(r'\n *"source_type": "(agent|user)",', "", json.dumps(value, indent=1))  # who asks is who wrote
    return transcripts.same(text, {f"{repo.root}/": "", str(home): "/home"})


def test_every_tool_is_compared():
    assert {tool for tool, _, _ in CASES} == set(SAME.values())
