"""What a repository may say: of its settings a listed few, what acts only once the user approved that very content."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from helpers import GitRepo, memsync
from loopback import Loopback

from memsync import Memsync
from memsync.errors import ConfigError
from memsync.setup import repository
from memsync.store import config, trust, workflow
from memsync.store import settings as known
from memsync.store.places import locate
from memsync.store.trust import Approvals


def waiting(root: Path) -> list[trust.Instruction]:
    project = Memsync.open(root)
    return workflow.find_waiting(project.layout, project.loaded)


@pytest.fixture
def store(repo: GitRepo) -> Path:
    """Return the store of a repository that somebody else wrote."""
    (repo.root / ".gobby" / "workflows").mkdir(parents=True)
    return repo.root / ".gobby"


def say(store: Path, text: str) -> known.Settings:
    """Let the repository's settings file say *text*, and return what is in force."""
    (store / "config.yaml").write_text(text, encoding="utf-8")
    return settings(store)


def settings(store: Path) -> known.Settings:
    return config.load(locate(store.parent)).settings


def mine(home: Path, text: str) -> None:
    (home / ".gobby").mkdir(exist_ok=True)
    (home / ".gobby" / "config.yaml").write_text(text)


def bring(store: Path, text: str, name: str = "team.yaml") -> Path:
    path = store / "workflows" / name
    path.write_text(text, encoding="utf-8")
    return path


def in_force(store: Path, trigger: str = "prompt") -> list[str]:
    return [step.action for step in workflow.load(locate(store.parent)).steps[trigger]]


def approve(store: Path) -> None:
    project = Memsync.open(store.parent)
    Approvals(project.layout).add(workflow.find_waiting(project.layout, project.loaded))


# Where memories go (S1)

REMOTE = "openai:x@http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    "said",
    [
        f"memory:\n  embedder: ' {REMOTE}'\n",
        f"memory:\n  embedder: '{REMOTE}'\n",
        f'memory:\n  embedder: "\\t{REMOTE}"\n',
        f'memory:\n  embedder: "\\u00a0{REMOTE}"\n',
        f'memory:\n  embedder: "\\u200b{REMOTE}"\n',
        f'memory:\n  embedder: "\\n{REMOTE}"\n',
        f"memory:\n  embedder: '{REMOTE.replace('openai', 'OpenAI')}'\n",
        f"memory.embedder: ' {REMOTE}'\n",
        f"memory: {{embedder: !!str ' {REMOTE}'}}\n",
        f"memory:\n  embedder: [' {REMOTE}']\n",
        f"memory:\n  embedder: {{' {REMOTE}': 1}}\n",
        f"memory:\n  embedder: >-\n    {REMOTE}\n",
        f"x: &x ' {REMOTE}'\nmemory:\n  embedder: *x\n",
        f"x: &x {{embedder: ' {REMOTE}'}}\nmemory:\n  <<: *x\n",
        f"x: &x {{embedder: ' {REMOTE}'}}\nmemory: *x\n",
        f"memory.embedder: builtin\nmemory:\n  embedder: ' {REMOTE}'\n",
        "memory:\n  embedder: ' model2vec:/somewhere'\n",
        "memory:\n  embedder: '\tsentence-transformers:/somewhere'\n",
        "memory:\n  embedder: 'a new kind'\n",
        "memory:\n  embedder:\n",
    ],
)
def test_a_repository_names_no_server_and_no_folder_however_it_is_spelled(store, said):
    assert say(store, said).embedder == "builtin"


@pytest.mark.parametrize("said", ["none", " none ", "'NONE'", "'\tnone'", '"\\u00a0none"', "!!str none"])
def test_a_repository_may_do_without_meaning_in_every_spelling(store, said):
    assert say(store, f"memory:\n  embedder: {said}\n").embedder == "none"


def test_no_memory_no_prompt_and_no_key_leaves_for_the_server_of_a_repository(repo, store, monkeypatch):
    monkeypatch.setenv("MEMSYNC_EMBEDDER_KEY", "made-up")
    with Loopback() as server:
        (store / "config.yaml").write_text(f'memory:\n  embedder: " openai:x@{server.url}"\n')
        for where in ("--global", "--private"):
            assert memsync("memory", "remember", where, f"the phone is in drawer {where}", cwd=repo.root).code == 0
        prompt = json.dumps({"session_id": "s1", "prompt": "how do I resign politely", "cwd": str(repo.root)})
        memsync("hook", "prompt", stdin=prompt, cwd=repo.root)
        memsync("memory", "recall", "phone", cwd=repo.root)
    assert server.asked == []


@pytest.mark.parametrize(
    "said",
    [
        "llm: {provider: command, command: touch x}",
        "llm.base_url: http://127.0.0.1:9",
        "llm: {budget_per_day: 9}",
        "skills: {learning_model: x}",
        "memory: {author: Somebody Else}",
        "janitor: {batch_percent: 90}",
    ],
)
def test_what_is_not_listed_is_personal(store, said):
    assert say(store, said) == known.Settings()
    for warning in config.load(locate(store.parent)).warnings:
        assert re.match(rf"{re.escape(str(store / 'config.yaml'))}:1: .* is not taken from a repository", warning)


def test_every_rule_is_for_a_setting_that_there_is_and_a_new_setting_has_none():
    assert trust.RULES.keys() <= set(known.KEYS)
    assert trust.judge("some.new.setting", "anything", "") == "refused"


def test_the_document_lists_what_each_setting_may_be():
    page = (Path(__file__).parents[3] / "docs" / "security.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z_.]+)` \| ([^|]+) \|", page, re.MULTILINE))
    assert rows == {key: rule.says for key, rule in trust.RULES.items()}


def test_the_one_who_names_a_server_is_told_what_goes_there(repo):
    ran = memsync("memory", "config", "memory.embedder", "openai:m@http://127.0.0.1:9/v1", cwd=repo.root)
    assert (ran.code, "private and global" in ran.out) == (0, True)
    assert "private and global" not in memsync("memory", "config", "memory.embedder", "none", cwd=repo.root).out


# Privacy only ever tightens (S5)


@pytest.mark.parametrize("said", ["false", "off", "'No'", "!!str false", "'false '", "0"])
def test_a_repository_does_not_switch_stealth_off(store, home, said):
    mine(home, "memory_sync:\n  stealth: true\n")
    assert say(store, f"memory_sync:\n  stealth: {said}\n").stealth
    assert say(store, f"x: &x {{stealth: {said}}}\nmemory_sync:\n  <<: *x\n").stealth
    assert say(store, f"memory_sync.stealth: {said}\n").stealth


def test_what_was_meant_to_stay_private_is_not_committed(repo, store, home):
    mine(home, "memory_sync:\n  stealth: true\n")
    (store / "config.yaml").write_text("memory_sync:\n  stealth: false\n  mode: auto-commit\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "conf")
    assert memsync("memory", "remember", "a text that was meant to stay private", cwd=repo.root).code == 0
    assert repo.git("log", "--format=%s").split() == ["conf", "first"]
    assert not repo.memories.exists()


def test_stealth_is_on_if_any_file_says_so(store, home):
    private = locate(store.parent).place("private")
    private.directory.mkdir(parents=True)
    private.config.write_text("memory_sync: {stealth: false}\n")
    assert say(store, "memory_sync: {stealth: true}\n").stealth
    mine(home, "memory_sync: {stealth: true}\n")
    assert settings(store).stealth
    assert say(store, "").stealth


@pytest.mark.parametrize(
    ("said", "own", "name", "value"),
    [
        ("memory: {enabled: true}", "memory: {enabled: false}", "enabled", False),
        ("memory: {auto_extract: on}", "memory: {auto_extract: off}", "auto_extract", False),
        ("memory: {injection_limit: 99}", "", "injection_limit", 10),
        ("memory: {injection_limit: 9}", "memory: {injection_limit: 5}", "injection_limit", 5),
        ("memory: {injection_limit: 3}", "memory: {injection_limit: 5}", "injection_limit", 3),
        ("memory: {injection_budget: 9000}", "", "injection_budget", 2000),
        ("memory: {importance_threshold: 0}", "", "importance_threshold", 0.3),
        ("memory: {importance_threshold: 0.5}", "", "importance_threshold", 0.5),
        ("memory: {recall_limit: 1000000}", "", "recall_limit", 15),
        ("janitor: {dedup: {gray_zone_low: 0}}", "", "gray_zone_low", 0.88),
        ("agent: {memory_dedup_threshold: 0}", "", "gray_zone_low", 0.88),
        ("janitor: {dedup: {auto_reject_threshold: 0}}", "", "auto_reject_threshold", 0.98),
        ("janitor: {dedup: {llm_verify_enabled: true}}", "janitor.dedup.llm_verify_enabled: off", "llm_verify", False),
    ],
)
def test_limits_are_only_tightened(store, home, said, own, name, value):
    mine(home, own)
    assert getattr(say(store, said), name) == value


# What acts waits (S4, S8)

MODE = "memory_sync:\n  mode: auto-commit\n"


@pytest.mark.parametrize(
    "said",
    [
        MODE,
        "memory_sync: {mode: 'auto-commit '}",
        'memory_sync: {mode: "\\u00a0AUTO-COMMIT"}',
        "memory_sync.mode: !!str auto-commit",
        "x: &x auto-commit\nmemory_sync: {mode: *x}",
        "memory_sync: {mode: on-commit}\nmemory_sync.mode: auto-commit",
    ],
)
def test_auto_commit_waits_until_it_is_approved_and_changes_of_other_settings_do_not_matter(store, said):
    assert say(store, said).mode != "auto-commit"
    approve(store)
    assert settings(store).mode == "auto-commit"
    assert say(store, f"{said}\nmemory.recall_limit: 3\n# and a comment\n").mode == "auto-commit"


@pytest.mark.parametrize("mode", ["worktree", "on-commit"])
def test_the_other_modes_need_no_approval(store, home, mode):
    assert say(store, f"memory_sync: {{mode: {mode}}}").mode == mode
    mine(home, MODE)
    assert settings(store).mode == mode
    assert say(store, MODE).mode == "auto-commit"  # the user says so for all projects
    assert waiting(store.parent) == []


def test_the_users_own_mode_for_the_project_leaves_nothing_waiting(store):
    private = locate(store.parent).place("private")
    private.directory.mkdir(parents=True)
    private.config.write_text("memory_sync: {mode: on-commit}\n")
    assert say(store, MODE).mode == "on-commit"
    assert waiting(store.parent) == []


@pytest.mark.parametrize(
    "said",
    [
        "memory:\n  secrets:\n    allow: ['\\w{12,}', '[A-Za-z0-9._+/=-]{13,}']\n",
        "memory.secrets.allow: '\\w{12,} [A-Za-z0-9._+/=-]{13,}'\n",
        "memory.secrets:\n  allow: !!str '\\w{12,}'\n",
        "x: &x ['\\w{12,}']\nmemory: {secrets: {allow: *x}}\n",
    ],
)
def test_a_repository_opens_no_gate_for_secrets(repo, store, said):
    token = "gh" + "p_" + "x7Kq2mV9tR4wZ8bN3cJ6yH1dF5gS0aLpQeUi"
    (store / "config.yaml").write_text(said)
    ran = memsync("memory", "remember", f"tok {token}", cwd=repo.root)
    assert (ran.code, "blocked" in ran.err) == (1, True)
    memsync("git", "install", cwd=repo.root)
    repo.write_memories(json.dumps({"content": f"tok {token}", "id": "mm-aaaaaa"}) + "\n")
    repo.git("add", "-A")
    assert "memsync" in _refused(repo, "commit", "-qm", "x")


def _refused(repo: GitRepo, *words: str) -> str:
    import subprocess

    done = subprocess.run(["git", *words], cwd=repo.root, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


def test_an_entry_waits_again_when_the_list_changes_and_less_is_no_question(store, home):
    mine(home, "memory: {secrets: {allow: ['mine-[0-9]+']}}")
    assert say(store, "memory: {secrets: {allow: ['ours-[0-9]+']}}").allow_secrets == ("mine-[0-9]+",)
    approve(store)
    assert settings(store).allow_secrets == ("ours-[0-9]+",)
    assert say(store, "memory: {secrets: {allow: ['ours-[0-9]+', 'more-[0-9]+']}}").allow_secrets == ("mine-[0-9]+",)
    assert say(store, "memory: {secrets: {allow: []}}").allow_secrets == ()


STORING = """
on_session_start:
  - {action: extract_handoff_context, transcript: "%s"}
  - {action: save_memory, content: "note {handoff_context}", importance: 0.1}
on_prompt:
  - {action: save_memory, content: "prompt: {user_prompt} ({cwd} {transcript_path})", importance: 0}
"""


@pytest.mark.parametrize("is_approved", [False, True])
def test_neither_prompts_nor_other_sessions_are_written_down(repo, store, home, is_approved):
    other = home / "other.jsonl"
    said = {"role": "user", "content": "rotate the production database of the other client"}
    line = {"type": "user", "sessionId": "zz", "timestamp": "2026-11-01T00:00:00Z", "message": said}
    other.write_text(json.dumps(line) + "\n")
    bring(store, STORING % other)
    (store / "config.yaml").write_text(MODE)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "what a pull request brings")
    if is_approved:
        assert memsync("trust", "--yes", cwd=repo.root).code == 0
    for event, more in (("session-start", {"source": "startup"}), ("prompt", {"prompt": "a prompt for nobody"})):
        memsync("hook", event, stdin=json.dumps({"session_id": "s1", "cwd": str(repo.root), **more}), cwd=repo.root)
    assert not repo.memories.exists()
    assert len(repo.git("log", "--format=%s").splitlines()) == 2


@pytest.mark.parametrize("value", sorted({"user_prompt", "handoff_context", "cwd", "transcript_path", "session_id"}))
@pytest.mark.parametrize(
    "step",
    [
        "{action: save_memory, content: 'x {VALUE}'}",
        "{type: save_memory, content: [a, '{VALUE}']}",
        "{action: save_memory, content: fine, tags: ['{VALUE}']}",
        "{action: save_memory, content: fine, memory_type: '{VALUE}'}",
        "{action: skills_learn, name: '{VALUE}'}",
        "{action: memory_inject, limit: '{VALUE}'}",
    ],
)
def test_an_approved_step_stores_nothing_that_the_session_says(store, step, value):
    bring(store, f"on_pre_compact: [{step.replace('VALUE', value)}]")
    approve(store)
    found = workflow.load(locate(store.parent))
    assert found.steps["pre_compact"] == []
    assert len(found.problems) == 1


@pytest.mark.parametrize("path", ["/x.jsonl", "~/x.jsonl", "../x.jsonl", "a/../../x", "link", "x.jsonl", "{cwd}/x"])
@pytest.mark.parametrize("action", ["memory_extract", "skills_learn", "extract_handoff_context"])
def test_an_approved_step_reads_no_transcript_but_that_of_the_session(store, action, path):
    bring(store, f"on_pre_compact: [{{action: {action}, transcript: '{path}'}}]")
    approve(store)
    assert in_force(store, "pre_compact") == []
    assert memsync("workflow", "validate", cwd=store.parent).code == 1


def test_an_approved_step_may_ask_with_the_prompt_and_store_what_it_says_itself(store):
    bring(
        store,
        "on_pre_compact:\n- {action: memory_inject, query: '{user_prompt}'}\n- {action: save_memory, content: 'a {b c}'}",
    )
    approve(store)
    assert in_force(store, "pre_compact") == ["memory_inject", "save_memory"]


def test_the_users_own_lifecycles_are_free(store):
    private = locate(store.parent).place("private").directory / "workflows"
    private.mkdir(parents=True)
    (private / "mine.yaml").write_text("on_pre_compact: [{action: save_memory, content: '{user_prompt}'}]")
    assert in_force(store, "pre_compact") == ["save_memory"]


@pytest.mark.parametrize("name", ["session-lifecycle.yaml", "session-lifecycle.yml", "team.yaml", ".hidden.yaml"])
@pytest.mark.parametrize("text", ["enabled: false\n", "on_prompt: [{action: save_memory, content: x}]\n", ""])
def test_ours_stay_in_force_until_a_file_is_approved(store, name, text):
    bring(store, text, name)
    assert in_force(store) == ["memory_recall_relevant"]
    approve(store)
    assert in_force(store) != ["memory_recall_relevant"] or "session-lifecycle" not in name


def test_a_file_in_a_nested_folder_or_by_a_link_is_no_way_around(store):
    (store / "workflows" / "deep").mkdir()
    bring(store, "enabled: false", "deep/session-lifecycle.yaml")
    assert waiting(store.parent) == []
    bring(store, "on_prompt: []", "plain.txt")
    (store / "workflows" / "session-lifecycle.yaml").symlink_to("plain.txt")
    assert in_force(store) == ["memory_recall_relevant"]
    approve(store)
    assert in_force(store) == []
    bring(store, "on_prompt: [{action: save_memory, content: x}]", "plain.txt")
    assert in_force(store) == ["memory_recall_relevant"]


def test_neither_a_large_file_nor_a_large_number_of_them_is_read(store):
    bring(store, "enabled: false\n" + "#" * 200_000, "session-lifecycle.yaml")
    assert in_force(store) == ["memory_recall_relevant"]
    for number in range(100):
        bring(store, "on_prompt: []", f"z{number}.yaml")
    found = workflow.load(locate(store.parent))
    assert len(found.waiting) < 65
    assert len(found.problems) == 2


def test_a_change_waits_again_and_the_way_back_does_not(store):
    path = bring(store, "on_pre_compact: [{action: save_memory, content: one}]")
    approve(store)
    before = path.read_bytes()
    path.write_bytes(before + b"# changed\n")
    assert in_force(store, "pre_compact") == []
    path.write_bytes(before)
    assert in_force(store, "pre_compact") == ["save_memory"]


def test_parsed_steps_that_a_repository_brings_along_are_not_read(store):
    bring(store, "on_pre_compact: []")
    approve(store)
    (store / "local").mkdir()
    steps = {"team": [["pre_compact", "save_memory", {"content": "x"}]]}
    for path in locate(store.parent).private.local.glob("workflows.json"):
        path.unlink()
    (store / "local" / "workflows.json").write_text(json.dumps({"key": "", "steps": steps, "problems": []}))
    assert in_force(store, "pre_compact") == []


# Approvals


def test_an_approval_holds_in_worktrees_and_clones_but_not_for_another_project_path_or_content(repo, store, tmp_path):
    repo.git("remote", "add", "origin", "https://example.org/a/b.git")
    text = "on_pre_compact: [{action: save_memory, content: x}]"
    bring(store, text)
    approve(store)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "x")
    repo.git("worktree", "add", "-q", str(tmp_path / "tree"))
    assert in_force(tmp_path / "tree" / ".gobby", "pre_compact") == ["save_memory"]
    other = GitRepo.create(tmp_path / "other")
    (other.root / ".gobby" / "workflows").mkdir(parents=True)
    bring(other.root / ".gobby", text)
    assert in_force(other.root / ".gobby", "pre_compact") == []
    nested = repo.root / "packages" / "a" / ".gobby"
    (nested / "workflows").mkdir(parents=True)
    bring(nested, text)
    assert in_force(nested, "pre_compact") == []
    bring(store, text, "copy.yaml")
    assert in_force(store, "pre_compact") == ["save_memory"]


def test_a_submodule_is_a_project_of_its_own(repo, store, tmp_path):
    bring(store, "on_pre_compact: [{action: save_memory, content: x}]")
    approve(store)
    inner = GitRepo.create(tmp_path / "inner")
    (inner.root / ".gobby" / "workflows").mkdir(parents=True)
    bring(inner.root / ".gobby", "on_pre_compact: [{action: save_memory, content: x}]")
    inner.git("add", "-A")
    inner.git("commit", "-qm", "x")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "sub")
    assert in_force(repo.root / "sub" / ".gobby", "pre_compact") == []


def test_what_the_users_own_command_sets_is_approved_and_nothing_else(repo, store):
    (store / "config.yaml").write_text("memory: {secrets: {allow: ['theirs-[0-9]+']}}\n")
    assert memsync("memory", "config", "memory_sync.mode", "auto-commit", cwd=repo.root).code == 0
    assert (settings(store).mode, settings(store).allow_secrets) == ("auto-commit", ())
    assert memsync("memory", "config", "memory_sync.mode", "worktree", cwd=repo.root).code == 0
    assert say(store, MODE).mode == "worktree"  # what was taken back by the command waits again


@pytest.mark.parametrize(
    ("key", "value"),
    [("memory.injection_limit", "30"), ("memory.recall_limit", "500"), ("memory.author", "Me"), ("llm.retries", "1")],
)
def test_what_a_repository_may_not_say_is_set_in_the_private_settings(repo, store, key, value):
    with Memsync.open(repo.root) as project:
        path = repository.set_value(project, key, value, is_global=False)
        assert path == project.layout.place("private").config
        assert str(known.get(project.settings, key)) == value
        assert repository.set_value(project, key, "2", is_global=False) == path
        assert str(known.get(project.settings, key)) == "2"


def test_init_approves_nothing_that_was_there_before(repo, store):
    bring(store, "enabled: false", "session-lifecycle.yaml")
    (store / "config.yaml").write_text(MODE)
    assert "2 instructions wait" in memsync("init", "--agent", "none", cwd=repo.root).err
    assert (settings(store).mode, in_force(store)) == ("worktree", ["memory_recall_relevant"])


def test_trust_shows_approves_and_revokes(repo, store):
    bring(store, 'on_pre_compact: [{action: save_memory, content: "\\e"}] # \x1b[31m\u202e\n')
    (store / "config.yaml").write_text(MODE)
    shown = memsync("trust", "--show", cwd=repo.root)
    assert (shown.code, "save_memory" in shown.out, 'mode: "auto-commit"' in shown.out) == (0, True, True)
    assert not {"\x1b", "\u202e"}.intersection(shown.out)
    assert len(waiting(repo.root)) == 2
    assert memsync("trust", ".gobby/config.yaml", "--yes", cwd=repo.root).code == 0
    assert [one.name for one in waiting(repo.root)] == [".gobby/workflows/team.yaml"]
    found = memsync("trust", "--yes", "--json", cwd=repo.root).json
    assert ([one["name"] for one in found["approved"]], found["waiting"]) == (
        [".gobby/config.yaml: memory_sync.mode", ".gobby/workflows/team.yaml"],
        [],
    )
    assert memsync("trust", "nothing-here", cwd=repo.root).code == 2
    assert "no longer decided" in memsync("trust", "--revoke", cwd=repo.root).out
    assert len(waiting(repo.root)) == 2


def test_status_doctor_and_one_line_say_what_waits_and_what_is_ignored(repo, store):
    bring(store, "enabled: false")
    (store / "config.yaml").write_text("memory:\n  recall_limit: 3\n  embedder: openai:m@http://127.0.0.1:9/v1\n")
    status = memsync("status", "--json", cwd=repo.root).json
    assert status["waiting"] == [".gobby/workflows/team.yaml"]
    assert f"{store / 'config.yaml'}:3: memory.embedder" in status["ignored"][0]
    for command in ("status", "doctor"):
        said = memsync(command, cwd=repo.root).out
        assert "workflows/team.yaml" in said
        assert "config.yaml:3: memory.embedder" in said
    listed = memsync("memory", "list", cwd=repo.root)
    assert (listed.code, "waits for your approval" in listed.err) == (0, True)


@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_the_user_not_the_model_is_told_once_a_session(repo, store, client):
    bring(store, "enabled: false")
    about = {"session_id": "s1", "cwd": str(repo.root)}
    out = memsync(
        "hook", "session-start", "--client", client, stdin=json.dumps({**about, "source": "startup"}), cwd=repo.root
    )
    assert "waits for your approval" in out.json["systemMessage"]
    assert "additionalContext" not in out.out
    asked = memsync(
        "hook", "prompt", "--client", client, stdin=json.dumps({**about, "prompt": "hello there"}), cwd=repo.root
    )
    assert asked.out == ""


def record(store: Path) -> Path:
    return locate(store.parent).private.directory / "trust.json"


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"approved": 1}', b'{"approved": {"a": [1]}}', b"\xff", b"[" * 99999]
)
def test_a_damaged_record_approves_nothing_and_is_written_anew(store, damage):
    bring(store, "on_pre_compact: [{action: save_memory, content: x}]")
    approve(store)
    record(store).write_bytes(damage)
    assert in_force(store, "pre_compact") == []
    approve(store)
    assert in_force(store, "pre_compact") == ["save_memory"]


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize("mode", [0o666, 0o664, 0o620, 0o602])
def test_a_record_is_ours_alone_and_one_that_others_may_write_approves_nothing(store, mode):
    bring(store, "on_pre_compact: [{action: save_memory, content: x}]")
    approve(store)
    path = record(store)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    path.chmod(mode)
    assert in_force(store, "pre_compact") == []
    approve(store)
    assert (path.stat().st_mode & 0o777, in_force(store, "pre_compact")) == (0o600, ["save_memory"])


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_a_record_that_is_a_link_approves_nothing(store, tmp_path):
    bring(store, "on_pre_compact: [{action: save_memory, content: x}]")
    approve(store)
    path = record(store)
    path.rename(tmp_path / "record.json")
    path.symlink_to(tmp_path / "record.json")
    assert in_force(store, "pre_compact") == []


def test_a_record_stays_small(store):
    approvals = Approvals(locate(store.parent))
    path = store / "workflows" / "x.yaml"
    for number in range(40):
        approvals.add([trust.of_file(locate(store.parent), path, b"%d" % number)])
    known = json.loads(record(store).read_text())["approved"]
    assert [len(ones) for ones in known.values()] == [16]
    approvals.add([trust.of_file(locate(store.parent), path.with_name(f"{n}"), b"x") for n in range(400)])
    assert len(approvals.names) == 256


def test_a_running_server_notices_an_approval(store):
    from memsync.agents.live import Live

    say(store, MODE)
    live = Live(store.parent)
    assert live.call(lambda project: project.settings.mode) == "worktree"
    approve(store)
    assert live.call(lambda project: project.settings.mode) == "auto-commit"
    live.close()


@pytest.mark.parametrize("also", ["", "memory.embedder: none\n", "memory.embedder: builtin\n"])
def test_stealth_takes_along_only_what_was_in_force(repo, store, also):
    theirs = f"{also}memory: {{embedder: ' {REMOTE}', recall_limit: 3, injection_limit: 99}}\n{MODE}"
    (store / "config.yaml").write_text(theirs)
    assert memsync("memory", "config", "--stealth", "on", "-y", cwd=repo.root).code == 0
    assert not (store / "config.yaml").exists()
    found = settings(store)
    assert (found.embedder in trust.BUILT_IN, found.recall_limit, found.injection_limit) == (True, 3, 10)
    assert found.mode == "worktree"
    assert memsync("memory", "config", "--stealth", "off", "-y", cwd=repo.root).code == 0
    assert (store / "config.yaml").read_text() == theirs
    assert settings(store).mode == "worktree"


SAVES = "on_pre_compact: [{action: save_memory, content: x}]\n"


@pytest.mark.parametrize("words", [[], ["--json"], [".gobby/workflows/team.yaml"]])
def test_where_nobody_can_be_asked_nothing_is_approved(repo, store, words):
    bring(store, SAVES)
    ran = memsync("trust", *words, cwd=repo.root)
    assert ran.code == 1
    assert "save_memory" in ran.out
    assert "memsync trust --yes" in ran.err
    assert in_force(store, "pre_compact") == []


def test_what_was_refused_is_not_in_force_and_not_asked_about_until_it_changes(repo, store):
    path = bring(store, SAVES)
    assert "refused" in memsync("trust", "--refuse", cwd=repo.root).out
    assert "approval" not in memsync("memory", "list", cwd=repo.root).err
    assert memsync("trust", "--yes", cwd=repo.root).out == "nothing waits for your approval\n"
    assert in_force(store, "pre_compact") == []
    assert [one["name"] for one in memsync("trust", "--show", "--json", cwd=repo.root).json["refused"]] == [
        ".gobby/workflows/team.yaml"
    ]
    path.write_text(f"{path.read_text()}# another\n")
    assert "waits for your approval" in memsync("memory", "list", cwd=repo.root).err
    path.write_text(SAVES)
    assert memsync("trust", ".gobby/workflows/team.yaml", "--yes", cwd=repo.root).code == 0
    assert in_force(store, "pre_compact") == ["save_memory"]


def test_the_name_of_a_file_approves_no_file_that_is_called_like_a_setting_of_it(repo, store):
    bring(store, SAVES)
    bring(store, SAVES.replace("pre_compact", "session_start"), "team.yaml: more.yaml")
    assert memsync("trust", ".gobby/workflows/team.yaml", "--yes", cwd=repo.root).code == 0
    assert (in_force(store, "pre_compact"), in_force(store, "session_start").count("save_memory")) == (
        ["save_memory"],
        0,
    )


@pytest.mark.parametrize(
    ("said", "is_private"),
    [
        ("memory: {recall_limit: many}", False),
        ("memory: {recall_limit: -3, enabled: perhaps}", False),
        ("memory_sync: {mode: sometimes, export_debounce: .nan}", False),
        ("memory.secrets.allow: ['(']", False),
        ("memory_sync: {stealth: perhaps}", True),
        ("memory_sync: {stealth: }", True),
        ("memory_sync: {stealth: [yes]}", True),
        ("- a list", True),
        ("memory: [", True),
        ("<<<<<<< ours\nmemory_sync: {stealth: true}\n=======\n>>>>>>> theirs\n", True),
    ],
)
def test_a_broken_value_of_a_repository_stops_nothing_and_makes_nothing_public(store, said, is_private):
    found = say(store, said)
    assert found == known.Settings(stealth=is_private)
    assert config.load(locate(store.parent)).warnings[0].startswith(str(store / "config.yaml"))


def test_a_broken_value_of_the_users_own_is_an_error(store, home):
    mine(home, "memory: {recall_limit: many}")
    with pytest.raises(ConfigError, match="recall_limit"):
        settings(store)
