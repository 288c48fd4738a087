"""Every client that is known: connected, looked at, and taken back, beside what the user has in its settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memsync import Memsync
from memsync.clients import facts
from memsync.clients.facts import Client, Home
from memsync.errors import SettingsRefused, UsageError
from memsync.setup import installing
from memsync.setup.client_status import survey
from memsync.setup.clients import list_targets

CLIENTS = (*facts.ALL, *facts.SERVER_ONLY)
# What a user has in a file of each form, and how it is written.
USERS = {
    "json": '{\n  "mine": {"a": [1, 2]},\n  "mcpServers": {"other": {"command": "x"}}\n}\n',
    "json+comments": '// why\n{"mine": 1, /* this */ "mcpServers": {"other": {"command": "x"}}}',
    "jsonc": '// mine\n{\n\t"mine": [1, 2,], // two\n\t"servers": {\n\t\t"other": {"command": "x"},\n\t},\n}\n',
    "toml": 'model = "x"  # mine\n',
    "yaml": "# mine\nGOOSE_MODEL: x\nextensions:\n  other:\n    cmd: x  # theirs\n    enabled: true\nkeep: yes\n",
}


def act(repo, what: str, *names: str, **options) -> installing.Installed:
    with Memsync.open(repo.root) as project:
        if what == "init":
            options = {"stealth": False, "dry_run": False, **options}
            return installing.init(project, names, git_hooks=False, **options)
        return installing.uninstall(project, names or facts.list_names(), dry_run=False)


def status(repo, name: str) -> tuple[str, str]:
    (found,) = (one for one in survey(Memsync.open(repo.root)) if one.client == name)
    return found.hooks, found.mcp


def tree(*roots: Path) -> dict[str, bytes]:
    paths = [path for root in roots for path in root.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in paths if not {".git", ".gobby"} & set(path.parts)}


def files_of(repo, name: str, *, allow_tools: bool = True) -> dict[Path, str]:
    """Return the files that `init` writes for the client, with their forms."""
    with Memsync.open(repo.root) as project:
        client = facts.find(name)
        targets = list_targets(client, project, stealth=client.is_personal, allow_tools=allow_tools)
        return {target.path: target.file.form for target in targets}


@pytest.mark.parametrize("stealth", [False, True])
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_is_connected_once_and_taken_back(repo, home, name, stealth):
    (repo.root / ".gitattributes").write_text("")
    before = tree(repo.root, home)
    done = act(repo, "init", name, stealth=stealth)
    assert done.done
    hooks, server = status(repo, name)
    assert hooks == ("installed" if facts.find(name).hooks else "none")
    assert server == ("missing" if (name, stealth) == ("claude", True) else "installed")
    assert act(repo, "init", name, stealth=stealth).done == ()
    act(repo, "uninstall", name)
    left = tree(repo.root, home)
    assert {path: data for path, data in left.items() if "attributes" not in path} == {
        path: data for path, data in before.items() if "attributes" not in path
    }


@pytest.mark.parametrize("name", CLIENTS)
def test_what_the_user_has_in_the_settings_keeps_every_byte(repo, home, name):
    before = {path: USERS[form] for path, form in files_of(repo, name).items() if form in USERS}
    for path, text in before.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    act(repo, "init", name, allow_tools=True)
    assert status(repo, name)[1] == "installed"
    for path, text in before.items():
        kept = [line for line in text.splitlines() if "mine" in line or "theirs" in line]
        assert path.read_text() != text
        assert [line for line in kept if line.rstrip(" ,}") not in path.read_text()] == []
    act(repo, "uninstall", name)
    assert {path: path.read_text() for path in before} == before


def test_a_second_spelling_of_a_file_that_is_there_is_used_and_no_other_is_made(repo):
    (repo.root / "opencode.jsonc").write_text("{\n  // mine\n}\n")
    act(repo, "init", "opencode")
    assert "memsync" in (repo.root / "opencode.jsonc").read_text()
    assert not (repo.root / "opencode.json").exists()


def test_a_plugin_that_another_version_wrote_is_renewed_and_a_file_of_the_user_refuses_everything(repo):
    path = repo.root / ".opencode" / "plugins" / "memsync.js"
    act(repo, "init", "opencode")
    ours = path.read_text()
    path.write_text(ours.replace("5000", "9000"))
    assert status(repo, "opencode")[0] == "stale"
    act(repo, "init", "opencode")
    assert path.read_text() == ours
    path.write_text("export const mine = 1\n")
    with pytest.raises(SettingsRefused, match="not a file that memsync wrote"):
        act(repo, "init", "opencode")
    act(repo, "uninstall", "opencode")
    assert path.read_text() == "export const mine = 1\n"


@pytest.mark.parametrize("text", ["extensions: {other: {cmd: x}}\n", "- a\n", "extensions: [\n"])
def test_yaml_that_cannot_be_edited_without_harm_refuses_everything(repo, home, text):
    path = home / ".config" / "goose" / "config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(SettingsRefused, match=r"config\.yaml"):
        act(repo, "init", "goose")
    assert path.read_text() == text


def test_a_comma_too_many_is_refused_where_the_client_reads_none(repo):
    (repo.root / ".mcp.json").write_text('{"a": 1,\n}')
    with pytest.raises(SettingsRefused, match=r"\.mcp\.json:2: not JSON \(a comma before the end\)"):
        act(repo, "init", "claude")


def test_settings_that_only_the_user_has_stay_until_the_last_project_goes(repo, home, tmp_path):
    other = type(repo).create(tmp_path / "other")
    act(repo, "init", "windsurf")
    act(other, "init", "windsurf")
    path = home / ".codeium" / "windsurf" / "mcp_config.json"
    assert act(repo, "uninstall").notes[0].startswith("Windsurf: your own settings keep memsync")
    assert json.loads(path.read_text())["mcpServers"]["memsync"]["args"] == ["mcp"]
    act(other, "uninstall")
    assert not path.exists()


# clients of other packages


PLUGIN = """
from memsync.clients.facts import Client, File, Home, server

NANO = Client(name="nano", title="Nano", home=Home(".nano"), files=(File(".nano.json", "nano.json", (server(),)),))
FALSE = NANO._replace(name="claude", title="Not Claude")
"""


@pytest.fixture
def others(tmp_path, monkeypatch):
    """Install a package that brings clients, and forget it again."""
    info = tmp_path / "site" / "nano_memsync-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nano-memsync\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{facts.GROUP}]\nnano = nano_memsync:NANO\nfalse = nano_memsync:FALSE\n")
    (tmp_path / "site" / "nano_memsync.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path / "site")
    forget()
    yield
    forget()


def forget() -> None:
    facts.find.cache_clear()
    facts._list_others.cache_clear()


def test_another_package_adds_a_client_but_replaces_none_of_ours(repo, others):
    assert facts.list_names() == (*facts.NAMES, "nano")
    assert facts.find("claude").title == "Claude Code"
    act(repo, "init", "nano")
    assert status(repo, "nano") == ("none", "installed")
    act(repo, "uninstall")
    assert not (repo.root / ".nano.json").exists()


def test_a_client_that_nobody_knows_is_an_error_that_names_those_there_are():
    with pytest.raises(UsageError, match="unknown client 'vim'; choose one of claude, codex"):
        facts.find("vim")


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_is_called_as_its_file_and_what_it_says_is_whole(name):
    client = facts.find(name)
    assert isinstance(client, Client)
    assert isinstance(client.home, Home)
    assert (client.name, bool(client.title), bool(client.after)) == (name, True, True)
    assert bool(client.hooks) == (name in facts.ALL)
    kinds = {entry.kind for file in client.files for entry in file.entries}
    assert kinds - {"allowed tools"} == ({"hooks", "MCP server"} if client.hooks else {"MCP server"})
