"""Connecting the clients of a real project, and taking everything back."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import pytest
from helpers import memsync

from memsync import Memsync
from memsync.clients import facts
from memsync.errors import OutsideTree, SettingsRefused, StoreFull, StoreNotWritable
from memsync.setup import clients, doctor, installing
from memsync.setup.client_status import survey
from memsync.store import files

CLIENTS = (
    "claude",
    "codex",
    "gemini",
)  # in which each way to keep settings is; tests/unit/setup/test_every_client.py has them all


def init(repo, *clients: str, stealth: bool = False, dry_run: bool = False) -> installing.Installed:
    with Memsync.open(repo.root) as project:
        return installing.init(project, clients or CLIENTS, stealth=stealth, dry_run=dry_run)


def uninstall(repo, *clients: str, dry_run: bool = False) -> installing.Installed:
    with Memsync.open(repo.root) as project:
        return installing.uninstall(project, clients or CLIENTS, dry_run=dry_run)


def status(repo) -> dict[str, tuple[str, str]]:
    return {one.client: (one.hooks, one.mcp) for one in survey(Memsync.open(repo.root)) if one.client in CLIENTS}


def tree(*roots) -> dict[str, bytes]:
    """Return every file below *roots* but git's and those of local state."""
    paths = [path for root in roots for path in root.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in paths if not {".git", "local"} & set(path.parts)}


FILES = [".claude/settings.json", ".mcp.json", ".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json"]


def test_every_client_is_connected_once_and_the_second_time_nothing_is_done(repo):
    assert all((repo.root / name).exists() for name in FILES) is False
    first = init(repo)
    assert [line.split(": ")[0] for line in first.done[-5:]] == ["Claude Code"] * 2 + ["Codex"] * 2 + ["Gemini CLI"]
    assert all((repo.root / name).exists() for name in FILES)
    assert status(repo) == dict.fromkeys(CLIENTS, ("installed", "installed"))
    before = tree(repo.root)
    assert init(repo).done == ()
    assert tree(repo.root) == before


def test_a_dry_run_says_the_same_and_writes_nothing(repo, home):
    before = tree(repo.root, home)
    would = init(repo, dry_run=True)
    assert tree(repo.root, home) == before
    assert not (repo.root / ".gobby").exists()
    assert would.done == init(repo).done
    would = uninstall(repo, dry_run=True)
    assert status(repo)["codex"] == ("installed", "installed")
    assert would.done == uninstall(repo).done


def test_uninstalling_leaves_no_empty_folder_of_a_plugin(repo):
    init(repo, "opencode")
    assert (repo.root / ".opencode" / "plugins").is_dir()
    uninstall(repo, "opencode")
    assert not (repo.root / ".opencode").exists()


def test_uninstalling_leaves_the_tree_as_it_was_but_for_the_memories(repo):
    init(repo)
    uninstall(repo)
    assert sorted(path.name for path in repo.root.iterdir()) == [".git", ".gitattributes", ".gobby", "README"]
    assert status(repo) == dict.fromkeys(CLIENTS, ("missing", "missing"))


@pytest.mark.parametrize(
    "texts",
    [
        ["{}", "", "", "", ""],
        ["{ }\n", "\n", '{"hooks": {}}', "\n", "{\n}\n"],
        ['{"hooks":{"SessionStart":[]},"mcpServers":{}}', '{"mcpServers":{}}', "\ufeff{}", "[mcp_servers]\n", "{}"],
        ['{\r\n\t"model": "x"\r\n}', '{"mcpServers": {"a": {"command": "b"}}}', "{}", "a = 1", '// c\n{"a": 1 // d\n}'],
    ],
)
def test_uninstalling_gives_back_every_byte_that_was_there(repo, texts):
    for name, text in zip(FILES, texts, strict=True):
        (repo.root / name).parent.mkdir(exist_ok=True)
        (repo.root / name).write_bytes(text.encode())
    init(repo)
    assert status(repo) == dict.fromkeys(CLIENTS, ("installed", "installed"))
    uninstall(repo)
    assert [(repo.root / name).read_bytes().decode() for name in FILES] == texts


def test_a_clone_without_notes_can_be_disconnected_as_well(repo, tmp_path):
    init(repo)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "memsync")
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    clone = type(repo)(tmp_path / "clone")
    uninstall(clone)
    assert not any((clone.root / name).exists() for name in FILES)


def test_only_the_named_client_is_touched(repo):
    init(repo, "codex")
    assert status(repo)["codex"] == ("installed", "installed")
    init(repo, "claude")
    uninstall(repo, "codex")
    assert status(repo) == {
        "claude": ("installed", "installed"),
        "codex": ("missing", "missing"),
        "gemini": ("missing", "missing"),
    }


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (".claude/settings.json", '{\n"a": 1,\n}', "settings.json:3: not JSON"),
        (".claude/settings.json", '{\n// why\n"a": 1}', "settings.json:2: a comment, because of which Claude Code"),
        (".mcp.json", '{"mcpServers": []}', ".mcp.json:1: mcpServers is not an object; make it one"),
        (".codex/config.toml", "a = 1\nb =\n", "config.toml:2: not TOML"),
        (".gemini/settings.json", b'{"a":\n"\xff"}', "settings.json:2: not UTF-8"),
    ],
)
def test_settings_that_cannot_be_edited_refuse_everything_before_anything_is_written(repo, name, text, says):
    (repo.root / name).parent.mkdir(exist_ok=True)
    (repo.root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    before = tree(repo.root)
    with pytest.raises(SettingsRefused, match=says.replace(".", r"\.")):
        init(repo)
    assert tree(repo.root) == before
    assert not (repo.root / ".gobby").exists()


def test_the_mode_of_a_settings_file_is_kept(repo):
    path = repo.root / ".mcp.json"
    path.write_text("{}")
    path.chmod(0o640)
    init(repo)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_out_of_the_repository_is_not_followed(repo, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (repo.root / ".claude").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutsideTree):
        init(repo)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_full_disk_leaves_the_settings_as_they_were_and_no_temporary_file(repo, monkeypatch):
    (repo.root / ".mcp.json").write_text('{"mine": 1}')
    init(repo, "codex")
    real = os.write

    def full(fd: int, data: bytes) -> int:
        if b"mcpServers" in data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(fd, data)

    monkeypatch.setattr(files.os, "write", full)
    with pytest.raises(StoreFull, match="nothing was changed"):
        init(repo, "claude")
    monkeypatch.setattr(files.os, "write", real)
    assert (repo.root / ".mcp.json").read_text() == '{"mine": 1}'
    assert list(repo.root.rglob("*.memsync")) == []
    init(repo, "claude")
    assert status(repo)["claude"] == ("installed", "installed")


def test_hooks_that_are_only_partly_there_are_stale_and_a_second_init_mends_them(repo):
    init(repo, "claude")
    path = repo.root / ".claude" / "settings.json"
    said = json.loads(path.read_text())
    del said["hooks"]["UserPromptSubmit"]
    path.write_text(json.dumps(said))
    (claude, *_) = survey(Memsync.open(repo.root))
    assert (claude.hooks, claude.notes) == ("stale", ("`memsync init --agent claude` writes its hooks anew",))
    init(repo, "claude")
    assert status(repo)["claude"] == ("installed", "installed")


# stealth


def test_under_stealth_only_the_settings_of_the_user_are_written(repo, home):
    init(repo, stealth=True)
    assert repo.status() == ""
    assert sorted(path.name for path in repo.root.iterdir()) == [".git", "README"]
    written = {os.path.relpath(path, home) for path in tree(home)}
    assert {".claude/settings.json", ".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json"} <= written
    assert status(repo) == {
        "claude": ("installed", "missing"),
        "codex": ("installed", "installed"),
        "gemini": ("installed", "installed"),
    }
    assert stat.S_IMODE((home / ".codex" / "config.toml").stat().st_mode) == 0o600


def test_for_the_user_alone_hooks_are_in_the_home_and_memories_in_the_project_and_all_of_it_goes_again(repo, home):
    before = sorted(path.name for path in repo.root.iterdir())
    said = memsync("init", "--user", "--agent", "claude", "--agent", "gemini", cwd=repo.root).out
    assert "subfolder" not in said
    assert {".claude/settings.json", ".gemini/settings.json"} <= {os.path.relpath(path, home) for path in tree(home)}
    assert {*before, ".gobby", ".gitattributes"} == {path.name for path in repo.root.iterdir()}
    assert "nothing to do" in memsync("init", "--user", "--agent", "claude", cwd=repo.root).out
    inner = repo.root / "packages" / "api"
    inner.mkdir(parents=True)
    assert "reads no hooks" not in memsync("status", cwd=inner).out
    memsync("uninstall", cwd=repo.root)
    assert "memsync hook" not in "".join(path.read_text() for path in home.rglob("settings.json"))


def test_in_a_folder_a_client_that_reads_no_settings_of_the_project_is_told_of_and_others_are_not(repo):
    done = init(repo, "claude", "codex", "qwen")
    assert any("not read in a subfolder by Claude Code and Qwen Code" in note for note in done.notes)
    inner = repo.root / "packages" / "api"
    inner.mkdir(parents=True)
    for place, blind in ((repo.root, set()), (inner, {"claude", "qwen"})):
        found = survey(Memsync.open(place))
        assert {
            one.client for one in found if any("reads no hooks of the project" in note for note in one.notes)
        } == blind


def test_the_server_that_claude_code_was_told_of_by_its_own_command_is_seen(repo, home):
    init(repo, "claude", stealth=True)
    server = {"type": "stdio", "command": "memsync", "args": ["mcp"], "env": {}}
    said = {"projects": {str(repo.root): {"mcpServers": {"memsync": server}}}}
    (home / ".claude.json").write_text(json.dumps(said))
    assert status(repo)["claude"] == ("installed", "installed")


def test_going_private_takes_the_settings_out_of_the_tree_unless_git_has_them(repo):
    init(repo)
    repo.git("add", ".mcp.json")
    repo.git("commit", "-qm", "the server")
    done = init(repo, stealth=True)
    assert repo.status() == ""
    assert done.notes[0] == f"{repo.root / '.mcp.json'} is tracked by git and stays as it is"


def test_going_private_later_takes_the_connected_clients_along(repo):
    init(repo, "codex")
    with Memsync.open(repo.root) as project:
        installing.turn_stealth(project, True, move=True)
    assert repo.status() == ""
    assert status(repo) == {
        "claude": ("missing", "missing"),
        "codex": ("installed", "installed"),
        "gemini": ("missing", "missing"),
    }
    uninstall(repo)
    assert status(repo)["codex"] == ("missing", "missing")


def test_going_private_is_refused_before_anything_moves_if_the_users_settings_cannot_be_edited(repo, home):
    init(repo, "codex")
    (home / ".codex").mkdir()
    (home / ".codex" / "hooks.json").write_text("{")
    before = tree(repo.root)
    with Memsync.open(repo.root) as project, pytest.raises(SettingsRefused):
        installing.turn_stealth(project, True, move=True)
    assert tree(repo.root) == before
    assert not Memsync.open(repo.root).settings.stealth


def test_going_private_with_init_keeps_clients_connected_that_were_not_named(repo):
    init(repo, "codex")
    init(repo, "gemini", stealth=True)
    assert status(repo) == {
        "claude": ("missing", "missing"),
        "codex": ("installed", "installed"),
        "gemini": ("installed", "installed"),
    }


def test_git_hooks_come_with_init_and_go_with_uninstall_unless_they_are_not_wanted(repo):
    with Memsync.open(repo.root) as project:
        assert installing.init(project, [], stealth=False, dry_run=False, git_hooks=False).undo == ""
        assert set(installing.read_hook_states(project).values()) == {"missing"}
        done = installing.init(project, [], stealth=False, dry_run=False)
        assert done.done == ("git: installed the hooks pre-commit, post-merge, post-checkout, post-rewrite",)
        assert done.undo == "memsync git uninstall"
        assert set(installing.read_hook_states(project).values()) == {"installed"}
        installing.uninstall(project, ["claude"], dry_run=False)
        assert set(installing.read_hook_states(project).values()) == {"installed"}
        installing.uninstall(project, CLIENTS, dry_run=False, git_hooks=True)
        assert set(installing.read_hook_states(project).values()) == {"missing"}


def test_hooks_that_git_keeps_elsewhere_are_told_of_and_stop_nothing(repo, home):
    repo.git("config", "core.hooksPath", str(home / "hooks"))
    with Memsync.open(repo.root) as project:
        done = installing.init(project, ["claude"], stealth=False, dry_run=False)
    assert done.notes[0].startswith("git: the hooks were not installed: ")
    assert status(repo)["claude"] == ("installed", "installed")


def test_outside_of_git_the_clients_are_connected_all_the_same(tmp_path):
    (tmp_path / "plain").mkdir()
    with Memsync.open(tmp_path / "plain") as project:
        done = installing.init(project, CLIENTS, stealth=False, dry_run=False)
        assert installing.read_hook_states(project) == {}
        assert len(done.done) == 7
        assert len(installing.uninstall(project, CLIENTS, dry_run=False, git_hooks=True).done) == 5


def test_the_settings_of_the_user_stay_as_long_as_another_private_project_needs_them(repo, home, tmp_path):
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('model = "x"\n')
    before = tree(home)
    other = type(repo).create(tmp_path / "other")
    for one in (repo, other):
        init(one, "codex", stealth=True)
    kept = uninstall(repo)
    assert kept.notes == ("Codex: your own settings keep memsync, because 1 other private projects use it",)
    assert status(other)["codex"] == ("installed", "installed")
    uninstall(other)
    assert {path: data for path, data in tree(home).items() if ".gobby" not in path} == before


# what is found here


def test_the_clients_that_were_used_here_are_chosen_when_none_is_named(repo, home):
    project = Memsync.open(repo.root)
    assert installing.choose(project, ()) == []
    (repo.root / "GEMINI.md").write_text("hello\n")
    (home / ".codex").mkdir()
    assert installing.choose(project, ()) == ["codex", "gemini"]
    assert installing.choose(project, ("all",)) == list(facts.ALL)
    assert installing.choose(project, ("zed", "codex")) == ["codex", "zed"]
    assert installing.choose(project, ("none",)) == []


def test_a_plugin_counts_as_hooks_and_server(repo, home):
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"enabledPlugins": {"memsync@memsync": true}}')
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('[plugins."memsync@memsync"]\nenabled = true\n')
    extension = home / ".gemini" / "extensions" / "memsync"
    extension.mkdir(parents=True)
    (extension / "gemini-extension.json").write_text('{"name": "memsync"}')
    assert status(repo) == dict.fromkeys(CLIENTS, ("installed", "installed"))
    (home / ".claude" / "settings.json").write_text('{"enabledPlugins": {"memsync@memsync": false}}')
    assert status(repo)["claude"] == ("missing", "missing")


def test_settings_that_cannot_be_read_are_told_and_break_nothing(repo):
    (repo.root / ".codex").mkdir()
    (repo.root / ".codex" / "config.toml").write_text("a =\n")
    (repo.root / ".gemini").mkdir()
    (repo.root / ".gemini" / "settings.json").write_bytes(b"\xff")
    found = {one.client: one for one in survey(Memsync.open(repo.root))}
    assert "config.toml cannot be read: Invalid value" in found["codex"].notes[0]
    assert "settings.json:1: not UTF-8" in found["gemini"].notes[0]


def test_allowing_tools_writes_what_the_user_alone_consents_to_and_uninstall_takes_it_back(repo, home):
    before = tree(repo.root)
    with Memsync.open(repo.root) as project:
        done = installing.init(project, CLIENTS, stealth=False, dry_run=False, allow_tools=True)
    mine = repo.root / ".claude" / "settings.local.json"
    assert f"Claude Code: wrote {mine} (allowed tools)" in done.done
    assert f"{mine} is what you allowed, for you alone; keep it out of git" in done.notes
    allowed = json.loads(mine.read_text())
    assert allowed["enabledMcpjsonServers"] == ["memsync"]
    assert "mcp__memsync__recall" in allowed["permissions"]["allow"]
    assert not {"mcp__memsync__remember", "mcp__memsync__forget"} & set(allowed["permissions"]["allow"])
    assert "mcp_memsync_recall" in json.loads((repo.root / ".gemini" / "settings.json").read_text())["tools"]["allowed"]
    assert init(repo).done == ()
    uninstall(repo)
    assert tree(repo.root) == {
        **before,
        **{k: v for k, v in tree(repo.root).items() if ".gobby" in k or "attributes" in k},
    }


@pytest.mark.parametrize("stealth", [False, True])
def test_uninstall_leaves_what_the_user_had_allowed_before(repo, home, stealth):
    mine = home / ".claude" / "settings.json" if stealth else repo.root / ".claude" / "settings.local.json"
    gemini = (home if stealth else repo.root) / ".gemini" / "settings.json"
    before = {
        mine: '{"permissions": {"allow": ["Bash(ls)", "mcp__memsync__recall"]}}',
        gemini: '{"tools": {"allowed": ["mcp_memsync_recall"]}}\n',
    }
    for path, text in before.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    for allow_tools in (True, False, True):  # again, and with an `init` that does not speak of tools in between
        with Memsync.open(repo.root) as project:
            installing.init(project, ["claude", "gemini"], stealth=stealth, dry_run=False, allow_tools=allow_tools)
        assert all(
            path.read_text().count("memsync_recall") + path.read_text().count("__recall") == 1 for path in before
        )
        assert all("get_memory" in path.read_text() for path in before)
    uninstall(repo)
    assert {path: path.read_text() for path in before} == before


def test_what_the_user_allows_after_uninstalling_is_the_users(repo):
    with Memsync.open(repo.root) as project:
        installing.init(project, ["claude"], stealth=False, dry_run=False, allow_tools=True)
    uninstall(repo, "claude")
    mine = repo.root / ".claude" / "settings.local.json"
    mine.parent.mkdir(exist_ok=True)
    mine.write_text(said := '{"permissions": {"allow": ["mcp__memsync__recall"]}}')
    init(repo, "claude")
    uninstall(repo, "claude")
    assert mine.read_text() == said


def test_under_stealth_tools_are_allowed_in_the_settings_of_the_user(repo, home):
    with Memsync.open(repo.root) as project:
        installing.init(project, ["claude"], stealth=True, dry_run=False, allow_tools=True)
    allowed = json.loads((home / ".claude" / "settings.json").read_text())
    assert "mcp__memsync__recall" in allowed["permissions"]["allow"]
    assert "enabledMcpjsonServers" not in allowed
    uninstall(repo)
    assert not (home / ".claude" / "settings.json").exists()


def test_a_comment_that_makes_claude_code_ignore_our_hooks_is_told(repo):
    init(repo, "claude")
    path = repo.root / ".claude" / "settings.json"
    path.write_text(path.read_text().replace("{", "{ // mine", 1))
    (claude, *_) = survey(Memsync.open(repo.root))
    assert "settings.json:1: a comment, because of which Claude Code ignores the file" in claude.notes[0]
    assert claude.hooks == "missing"


@pytest.mark.usefixtures("cold_starts")
def test_doctor_tells_of_connected_clients_that_need_something_and_of_no_other(repo, home):
    (home / ".gemini").mkdir()
    init(repo, "claude")
    (found,) = doctor.examine(Memsync.open(repo.root))  # memsync is not in the PATH of this test
    assert (found.level, found.where) == ("error", "memsync mcp")
    (repo.root / ".mcp.json").unlink()
    (found,) = doctor.examine(Memsync.open(repo.root))
    assert (found.level, found.where) == ("warning", "claude")
    assert "adds the tools" in found.what


def test_entries_that_came_into_the_tree_under_stealth_are_told(repo):
    init(repo, "codex", stealth=True)
    with Memsync.open(repo.root) as project:
        clients.apply(project, clients.plan(project, ["codex"], stealth=False))
    codex = survey(Memsync.open(repo.root))[1]
    assert sum("is in the work tree; `memsync init --stealth` moves" in note for note in codex.notes) == 2
    init(repo, "codex", stealth=True)
    assert repo.status() == ""


def _notes(path, **note: object) -> bytes:
    return json.dumps({str(path): note}).encode()


@pytest.mark.parametrize(
    "spell",
    [
        lambda _: b"[" * 100_000,
        lambda _: b'{"projects": ' * 50_000,
        lambda _: b" " * (16 * 1024 * 1024) + b"{}",
        lambda _: b'{"projects": [3]}',
        lambda _: b'{"projects": {"claude": [[], 3, {}], "codex": 5, "gemini": null}}',
        lambda path: _notes(path, kept=[3, [[]], {}, ["hooks", 4]], was=5),
        lambda path: _notes(path, kept={}, was='{"hooks": {"SessionStart": ["not ours"]}}'),
        lambda path: json.dumps({str(path): "text"}).encode(),
    ],
)
def test_notes_of_ours_that_are_damaged_stop_nothing_and_write_nothing(repo, home, spell):
    init(repo)
    notes = repo.root / ".gobby" / "local" / "clients.json"
    notes.write_bytes(spell(repo.root / ".claude" / "settings.json"))
    uninstall(repo)
    assert not any((repo.root / name).exists() for name in FILES)
    in_home = home / ".gobby" / "local" / "clients.json"
    in_home.parent.mkdir(parents=True, exist_ok=True)
    in_home.write_bytes(spell(home / ".claude" / "settings.json"))
    init(repo, stealth=True)
    assert json.loads(in_home.read_bytes())["projects"].keys() >= set(CLIENTS)
    uninstall(repo)
    assert status(repo) == dict.fromkeys(CLIENTS, ("missing", "missing"))


def test_a_note_that_another_process_writes_in_the_same_moment_is_not_lost(repo, monkeypatch):
    init(repo)
    notes = repo.root / ".gobby" / "local" / "clients.json"
    theirs = notes.read_bytes().replace(b"{", b'{"of another": {},', 1)
    really_open = os.open

    def open_late(path: Path, *args: int, **at: int) -> int:
        if Path(path).name.startswith("clients.json.") and Path(path).name.endswith(".tmp"):
            notes.write_bytes(theirs)
        return really_open(path, *args, **at)

    monkeypatch.setattr(os, "open", open_late)
    with pytest.raises(StoreNotWritable, match="changed while it was written; try again"):
        uninstall(repo)
    assert notes.read_bytes() == theirs


def test_a_settings_file_that_is_too_large_or_too_deep_is_refused(repo):
    path = repo.root / ".gemini" / "settings.json"
    path.parent.mkdir()
    for text, says in ((" " * 600_000 + "{}", "too large"), ("[" * 100_000, "nested too deeply")):
        path.write_text(text)
        with pytest.raises(SettingsRefused, match=says):
            init(repo, "gemini")
        assert path.read_text() == text
