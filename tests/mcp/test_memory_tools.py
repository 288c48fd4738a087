"""The memory tools as an agent uses them."""

from __future__ import annotations

import json

import pytest

from memsync.memories.project import Project
from memsync.memories.undoing import undo
from memsync.records import ALLOW_TAG


def test_what_is_remembered_is_recalled(server):
    told = server.call("remember", content="The staging database is read-only", tags=["db"], importance=0.9)
    assert (told["status"], told["memory"]["tags"], told["memory"]["scope"]) == ("created", ["db"], "project")
    found = server.call("recall", query="may I write to staging")
    assert [hit["id"] for hit in found["memories"]] == [told["memory"]["id"]]
    assert server.call("recall", query="how tall is the tower")["memories"] == []


def test_a_text_that_is_known_is_not_called_created(server):
    first = server.call("remember", content="Always use uv")
    again = server.call("remember", content="always  use UV")
    assert (again["status"], again["memory"]["id"]) == ("exists", first["memory"]["id"])
    assert again["memory"]["importance"] == 0.7


def test_what_an_agent_wrote_is_taken_back_by_the_command_line_call_by_call(server, repo):
    id_ = server.call("remember", content="Always use uv")["memory"]["id"]
    server.call("update_memory", memory_id=id_, content="Always use pnpm")
    with Project.open(repo.root) as project:
        assert undo(project).brought[0].content == "Always use uv"
        undo(project)
    assert server.call("list_memories")["memories"] == []


def test_the_text_of_an_answer_is_the_same_object(server):
    result = server.ask("call_tool", "remember", {"content": "Ünïcode — and a\nsecond line"})
    assert json.loads(result.content[0].text) == result.structured_content


def test_a_recall_without_a_query_returns_the_most_important(server):
    for text, importance in (("minor", 0.2), ("major", 0.9), ("middling", 0.5)):
        server.call("remember", content=text, importance=importance)
    assert [hit["content"] for hit in server.call("recall", limit=2)["memories"]] == ["major", "middling"]


def test_filters_come_before_the_cut(server):
    for number in range(5):
        server.call("remember", content=f"deploy fact number {number}", importance=0.9)
    server.call("remember", content="deploy on Mondays", memory_type="preference", tags="ops,rule", importance=0.1)
    assert [m["content"] for m in server.call("list_memories", memory_type="preference", limit=1)["memories"]] == [
        "deploy on Mondays"
    ]
    found = server.call("recall", query="deploy", limit=1, tags_all=["ops"], tags_none=["old"])
    assert [hit["content"] for hit in found["memories"]] == ["deploy on Mondays"]


def test_global_and_private_memories_leave_no_trace_in_the_work_tree(server, repo):
    server.call("remember", content="my editor is Helix", scope="global")
    server.call("remember", content="the client is Acme", scope="private")
    assert {m["scope"] for m in server.call("list_memories")["memories"]} == {"global", "private"}
    assert [m["content"] for m in server.call("recall", include_global=False)["memories"]] == ["the client is Acme"]
    assert repo.status() == ""


def test_a_memory_is_changed_forgotten_and_restored(server):
    id_ = server.call("remember", content="port 8080", tags=["net"])["memory"]["id"]
    assert server.call("update_memory", memory_id=id_[:5], content="port 8081")["memory"]["tags"] == ["net"]
    assert server.call("restore_memory", memory_id=id_)["memory"]["content"] == "port 8080"
    assert [m["id"] for m in server.call("forget", memory_id=id_)["forgotten"]] == [id_]
    assert "no memory" in server.refusal("get_memory", memory_id=id_)
    assert server.call("restore_memory", memory_id=id_)["memory"]["content"] == "port 8080"
    assert server.call("get_memory", memory_id=id_)["access_count"] == 0


def test_statistics_count_archived_memories_too(server, repo, line):
    repo.write_memories(line("a", "one") + line("b", "two", archived_at="2025-01-01T00:00:00Z"))
    stats = server.call("memory_stats")
    assert (stats["total"], stats["archived"]) == (2, 1)


def test_an_import_takes_files_of_the_project_and_tells_its_progress(server, repo, line):
    (repo.root / "old.jsonl").write_text("".join(line(f"old-{n}", f"old fact {n}") for n in range(250)))
    told = []

    async def progress(done, total, message):
        told.append((done, total))

    result = server.ask("call_tool", "import_memories", {"paths": ["old.jsonl"]}, progress_callback=progress)
    assert (result.structured_content["created"], told[-1]) == (250, (250, 250))
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_an_import_does_not_reach_out_of_the_project(server, home):
    (home / "secret.md").write_text("- the password\n")
    assert "is outside of" in server.refusal("import_memories", paths=[str(home / "secret.md")])
    assert "is outside of" in server.refusal("import_memories", paths=["../../etc/passwd"])
    assert server.call("list_memories")["count"] == 0


def test_an_export_brings_canonical_form(server, repo, line):
    repo.write_memories(line("b", "two") + line("a", "one"))
    assert server.call("export_memories")["changed"] is True
    assert repo.memories.read_text() == line("a", "one") + line("b", "two")
    assert server.call("export_memories")["changed"] is False


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("remember", {"content": "  "}, "the content is empty; say what to remember"),
        ("remember", {"content": "x", "importance": 7}, "less than or equal to 1"),
        ("remember", {"contents": "x"}, "remember has no parameter 'contents'; did you mean content?"),
        ("remember", {"text": "x"}, "it takes content, memory_type, importance"),
        ("remember", {"content": "x", "scope": "team"}, "'private' or 'global'"),
        ("recall", {"query": "x", "limit": 0}, "greater than or equal to 1"),
        ("forget", {"memory_id": "zzz"}, "no memory 'zzz'; list_memories shows the ids"),
        ("update_memory", {}, "memory_id: Field required"),
        ("get_memory", {"memory_id": "zzz", "scope": "nowhere"}, "'project', 'private' or 'global'"),
        ("import_memories", {"paths": ["gone.md"]}, "gone.md"),
        ("import_memories", {"paths": []}, "at least 1 item"),
    ],
)
def test_a_refusal_says_what_to_do(server, name, arguments, said):
    assert said in server.refusal(name, **arguments)
    assert server.call("list_memories")["count"] == 0


def test_a_secret_is_blocked_and_a_model_cannot_wave_it_through(server, repo):
    text = "the key is AKIA" + "QX7ZK2WVTB4N6LJD"
    said = server.refusal("remember", content=text)
    assert 'scope: "private"' in said
    assert "--allow-secret (for the user to give)" in said
    assert "for the user to set" in server.refusal("remember", content=text, tags=[ALLOW_TAG])
    assert not repo.memories.exists()
    assert server.call("remember", content=text, scope="private")["memory"]["scope"] == "private"


def test_what_gemini_adds_to_every_call_is_no_mistake(server):
    assert server.call("recall", query="x", wait_for_previous=True)["count"] == 0


def test_an_ambiguous_id_is_refused_with_its_candidates(server, repo, line):
    repo.write_memories(line("mm-aaa", "one") + line("mm-aab", "two"))
    assert "mm-aaa, mm-aab" in server.refusal("forget", memory_id="mm-aa")


def test_a_lone_surrogate_does_not_break_the_answer(server, repo):
    repo.write_memories('{"id":"odd","content":"half \\ud800 a pair"}\n')
    assert server.call("get_memory", memory_id="odd")["content"] == "half ? a pair"


def test_unknown_keys_of_a_record_are_shown(server, repo, line):
    repo.write_memories(line("a", "one", reviewed_by="Kim"))
    assert server.call("get_memory", memory_id="a")["reviewed_by"] == "Kim"


def test_another_client_does_not_bring_back_what_was_replaced_and_is_told_how(server, project):
    old = project.remember("The API listens on port 8080").entry
    new = server.call("remember", content="The platform chooses the ports", supersedes=[old.id])["memory"]
    told = server.call("remember", content="The API listens on port 8080")
    assert (told["status"], told["memory"]["id"], told["similar"][0]["id"]) == ("exists", old.id, new["id"])
    assert f"was replaced by {new['id']}" in told["reason"]
    assert server.call("restore_memory", memory_id=old.id)["memory"].get("archived_at") is None


def test_other_repositories_are_looked_in_by_the_users_own_setting_only(server, repo, home, tmp_path):
    (home / ".gobby").mkdir(exist_ok=True)
    other = tmp_path / "billing"
    other.mkdir()
    with Project.open(other) as project:
        project.remember("Payments are retried five times with a growing pause")
        project.remember("Salaries are paid late, which nobody is to know", scope="private")

    def ask() -> list[tuple[str, str]]:
        found = server.call("recall", query="how are payments retried, and salaries paid?")
        return [(hit["content"][:8], hit["repo"]) for hit in found["memories"]]

    assert ask() == []
    server.call("remember", content="Refunds need a second approval")
    (repo.root / ".gobby" / "config.yaml").write_text("memory:\n  all_repos: true\n")
    assert ask() == []
    (home / ".gobby" / "config.yaml").write_text("memory:\n  all_repos: true\n")
    assert ask() == [("Payments", str(other))]


def test_an_agent_that_says_again_what_is_private_does_not_make_it_public(server, repo):
    private = server.call("remember", content="The merger is announced on Friday", scope="private")["memory"]["id"]
    told = server.call("remember", content="the merger is announced  on Friday")
    assert (told["status"], told["memory"]["id"]) == ("exists", private)
    assert f"memsync share {private}" in told["reason"]
    assert not repo.memories.exists() or "merger" not in repo.memories.read_text()
