"""What git knows of a memory, in real repositories."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from helpers import GitRepo, memory_line

from memsync import Memsync
from memsync.errors import InvalidMemory, MemoryNotFound, NoHistory, SecretFound
from memsync.git import history
from memsync.memories.diff import difference
from memsync.memories.events import at, blame, events, reader, restore
from memsync.records import shown_id


def commit(repo: GitRepo, text: str, message: str = "change") -> str:
    """Commit *text* as the memory file, and return the commit."""
    repo.write_memories(text)
    repo.git("add", "-A")
    repo.git("commit", "-q", "--allow-empty", "-m", message)
    return repo.git("rev-parse", "HEAD").strip()


def told(project: Memsync, ref: str | None = None) -> list[tuple[str, str, str]]:
    """Return (id, kind, subject) of each event, newest first."""
    return [(e.id, e.kind, e.commit.subject if e.commit else "") for e in events(project, ref)]


A1 = memory_line("mm-aaaaaa", "the port is 8080", tags=["api"])
A2 = memory_line("mm-aaaaaa", "the port is 8081", tags=["api"])
A3 = memory_line("mm-aaaaaa", "the port is 9000", tags=["api", "net"])
B1 = memory_line("mm-bbbbbb", "use tabs")
C1 = memory_line("mm-cccccc", "cache in target")


def test_every_change_of_a_memory_is_told_newest_first(repo, project):
    commit(repo, A1, "one")
    commit(repo, A1 + B1, "two")
    commit(repo, A2 + B1, "three")
    commit(repo, B1, "four")
    assert told(project, "mm-aaaaaa") == [
        ("mm-aaaaaa", "removed", "four"),
        ("mm-aaaaaa", "changed", "three"),
        ("mm-aaaaaa", "added", "one"),
    ]
    assert told(project, "b") == [("mm-bbbbbb", "added", "two")]
    changed = events(project, "mm-aaaaaa")[1]
    assert (changed.fields, changed.commit.author) == (("content",), "Test User")
    assert (changed.before.content, changed.after.content) == ("the port is 8080", "the port is 8081")


def test_what_was_read_of_the_versions_of_a_memory_is_not_read_again(repo, project, monkeypatch):
    commit(repo, A1, "one")
    commit(repo, A2 + B1, "two")
    main = repo.git("branch", "--show-current").strip()
    repo.git("checkout", "-qb", "side")
    commit(repo, A3 + B1, "three")
    repo.git("checkout", "-q", main)
    commit(repo, A2 + B1 + C1, "four")
    repo.git("merge", "-q", "-X", "theirs", "side")
    commit(repo, B1 + C1, "five")
    for ref in ("mm-aaaaaa", "mm-bbbbbb", "c", "mm-cccccc"):
        held: dict[str, bytes] = {}
        reader(project, ref)(held)
        read = history._Versions._read
        monkeypatch.delattr(history._Versions, "_read")
        found = events(project, ref, held)
        monkeypatch.setattr(history._Versions, "_read", read, raising=False)
        assert found == events(project, ref)
        assert found


def test_what_was_read_of_a_memory_that_is_on_other_branches_alone_is_not_read_again(repo, project, monkeypatch):
    commit(repo, B1, "one")
    repo.git("checkout", "-qb", "side")
    commit(repo, A1 + B1, "two")
    commit(repo, A2 + B1, "three")
    repo.git("checkout", "-q", "-")
    commit(repo, B1 + C1, "four")
    held: dict[str, bytes] = {}
    reader(project, "mm-aaaaaa")(held)
    expected = events(project, "mm-aaaaaa")
    monkeypatch.delattr(history._Versions, "_read")
    found = events(project, "mm-aaaaaa", held)
    assert found == expected
    assert [(event.kind, event.commit.subject) for event in found] == [("changed", "three"), ("added", "two")]


def test_what_is_not_committed_stands_on_top(repo, project):
    commit(repo, A1, "one")
    repo.write_memories(A2 + B1)
    assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "changed", ""), ("mm-aaaaaa", "added", "one")]
    assert told(project, "mm-bbbbbb") == [("mm-bbbbbb", "added", "")]


def test_appended_versions_and_their_tidying_are_no_removals(repo, project):
    commit(repo, A1 + B1, "one")
    commit(repo, A1 + B1 + A2, "two")
    commit(repo, B1 + A2, "tidied")
    commit(repo, A2 + B1 + '{"id":"mm-bbbbbb","deleted_at":"2026-01-01T00:00:00Z"}\n', "three")
    commit(repo, A2, "tidied again")
    assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "changed", "two"), ("mm-aaaaaa", "added", "one")]
    assert told(project, "mm-bbbbbb") == [("mm-bbbbbb", "removed", "three"), ("mm-bbbbbb", "added", "one")]


def test_a_new_spelling_or_time_alone_is_no_event(repo, project):
    commit(repo, A1, "one")
    commit(
        repo, memory_line("mm-aaaaaa", "the port is 8080", tags=["api"], updated_at="2026-02-01T00:00:00Z"), "touched"
    )
    commit(repo, A1.replace(": ", ":"), "respelled")
    assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "added", "one")]


def test_a_renamed_folder_does_not_end_the_story(repo):
    commit(repo, A1 + B1 + C1, "one")
    (repo.root / "packages" / "é app").mkdir(parents=True)
    repo.git("mv", ".gobby", "packages/é app/.gobby")
    repo.git("commit", "-qm", "moved")
    moved = repo.root / "packages" / "é app"
    (moved / ".gobby" / "memories.jsonl").write_text(A2 + B1 + C1)
    repo.git("commit", "-qam", "two")
    with Memsync.open(moved) as project:
        assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "changed", "two"), ("mm-aaaaaa", "added", "one")]
        assert told(project, "mm-bbbbbb") == [("mm-bbbbbb", "added", "one")]
        assert [event.commit.subject for _, event in blame(project)] == ["two", "one", "one"]


def test_a_merge_is_told_only_for_what_it_did_itself(repo, project):
    commit(repo, A1 + B1, "one")
    repo.git("checkout", "-qb", "side")
    commit(repo, A2 + B1, "side edit")
    repo.git("checkout", "-q", "main")
    commit(repo, A1 + B1 + C1, "main add")
    repo.git("merge", "-q", "side", "-m", "clean merge")
    assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "changed", "side edit"), ("mm-aaaaaa", "added", "one")]
    assert told(project, "mm-cccccc") == [("mm-cccccc", "added", "main add")]

    repo.git("checkout", "-qb", "other", "HEAD~1")
    commit(repo, A1.replace("8080", "1") + B1 + C1, "other edit")
    repo.git("checkout", "-q", "main")
    subprocess.run(["git", "merge", "-q", "other"], cwd=repo.root, capture_output=True, check=False)
    commit(repo, A3 + B1 + C1, "hard merge")
    assert told(project, "mm-aaaaaa")[0] == ("mm-aaaaaa", "changed", "hard merge")
    assert told(project, "mm-bbbbbb") == [("mm-bbbbbb", "added", "one")]


def test_what_one_branch_removed_is_not_removed_again_by_the_merge(repo, project):
    commit(repo, A1 + B1, "one")
    repo.git("checkout", "-qb", "side")
    commit(repo, A2, "side edit, and a removal beside it")
    repo.git("checkout", "-q", "main")
    commit(repo, A3 + B1, "main edit")
    subprocess.run(["git", "merge", "-q", "side"], cwd=repo.root, capture_output=True, check=False)
    commit(repo, A1.replace("8080", "1"), "hard merge")
    assert told(project, "mm-bbbbbb")[0] == ("mm-bbbbbb", "removed", "side edit, and a removal beside it")
    assert told(project, "mm-aaaaaa")[0] == ("mm-aaaaaa", "changed", "hard merge")


def test_an_amended_commit_is_told_as_it_is_now_also_on_a_detached_head(repo, project):
    commit(repo, A1, "one")
    repo.write_memories(A2)
    repo.git("commit", "-qa", "--amend", "-m", "amended")
    repo.git("checkout", "-q", "--detach")
    assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "added", "amended")]


def test_a_memory_of_another_branch_or_a_stash_is_found_and_brought_back(repo, project):
    commit(repo, A1, "one")
    repo.git("checkout", "-qb", "side")
    commit(repo, A1 + B1, "on the side")
    repo.write_memories(A1 + B1 + C1)
    repo.git("stash", "-q")
    repo.git("checkout", "-q", "main")
    assert told(project, "mm-bbbbbb")[-1] == ("mm-bbbbbb", "added", "on the side")
    assert restore(project, "mm-bbbbbb").entry.content == "use tabs"
    assert restore(project, "mm-cccccc").entry.content == "cache in target"


def test_a_deleted_memory_comes_back_as_it_was(repo, project):
    commit(repo, A1 + B1, "one")
    gone = commit(repo, B1, "two")
    assert restore(project, "aaa").reason == f"it is as it was before commit {gone[:10]}"
    assert (project.get("aaa").content, project.get("aaa").memory.tags) == ("the port is 8080", ("api",))
    with pytest.raises(MemoryNotFound, match="any different"):
        restore(project, "mm-aaaaaa", "HEAD~1")


def test_an_edited_memory_goes_back_to_any_version(repo, project):
    first = commit(repo, A1, "one")
    commit(repo, A2, "two")
    commit(repo, A3, "three")
    assert restore(project, "mm-aaaaaa").entry.content == "the port is 8081"
    assert restore(project, "mm-aaaaaa", first).entry.content == "the port is 8080"
    assert restore(project, "mm-aaaaaa", "HEAD").entry.content == "the port is 9000"


def test_what_may_not_be_written_is_not_brought_back(repo, project):
    secret = "password = Tr0ub4dor+" + "3kX"
    commit(repo, memory_line("mm-dddddd", secret) + B1, "one")
    commit(repo, memory_line("mm-eeeeee", "use tabs"), "two")
    before = repo.memories.read_bytes()
    with pytest.raises(SecretFound):
        restore(project, "mm-dddddd")
    with pytest.raises(InvalidMemory, match="says the same"):
        restore(project, "mm-bbbbbb")
    assert repo.memories.read_bytes() == before


def test_without_any_commit_everything_is_new(tmp_path):
    root = tmp_path / "new"
    root.mkdir()
    repo = GitRepo(root)
    repo.git("init", "-q")
    repo.write_memories(A1)
    with Memsync.open(root) as project:
        assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "added", "")]
        assert difference(project).count("added") == 1
        assert [event.commit for _, event in blame(project)] == [None]
        with pytest.raises(NoHistory, match="nothing is committed yet"), at(project, "HEAD"):
            pass


def test_a_file_that_was_never_committed_has_no_history_but_today(repo, project):
    repo.write_memories(A1)
    assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "added", "")]
    with at(project, "HEAD") as past:
        assert past.list() == []
    with pytest.raises(MemoryNotFound, match="earlier version"):
        restore(project, "mm-aaaaaa")
    with pytest.raises(MemoryNotFound, match="at HEAD"):
        restore(project, "mm-aaaaaa", "HEAD")


def test_outside_git_and_with_a_wrong_name_the_error_says_what_to_do(repo, project, tmp_path):
    (tmp_path / "plain").mkdir()
    with Memsync.open(tmp_path / "plain") as plain, pytest.raises(NoHistory, match="not in a git checkout"):
        events(plain)
    commit(repo, A1)
    for rev in ("nosuch", "--output=stolen", "-h", "HEAD:README", ""):
        with pytest.raises(NoHistory, match="unknown revision"), at(project, rev or "HEAD~99"):
            pass
    assert not (repo.root / "stolen").exists()
    with pytest.raises(MemoryNotFound, match="git has ever had"):
        events(project, "mm-zzzzzz")


def test_without_git_itself_the_error_says_so(repo, project, monkeypatch, tmp_path):
    commit(repo, A1)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoHistory, match="install git"):
        events(project)


def test_the_users_git_settings_change_nothing(repo, project, home):
    commit(repo, A1, "one")
    (repo.root / ".gitattributes").write_text("*.jsonl -diff\n.gobby/memories.jsonl diff=memsync\n")
    commit(repo, A2, "two")
    with (home / ".gitconfig").open("a") as config:
        config.write(
            "[diff]\n\tnoprefix = true\n\texternal = false\n\tinterHunkContext = 9\n"
            '[diff "memsync"]\n\ttextconv = false\n\tbinary = true\n[color]\n\tui = always\n'
            "[log]\n\tshowSignature = true\n\tfollow = true\n\tdate = relative\n[core]\n\tquotePath = true\n"
        )
    assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "changed", "two"), ("mm-aaaaaa", "added", "one")]


def test_a_record_without_an_id_has_a_story_too(repo, project):
    commit(repo, '{"content":"written by hand"}\n', "by hand")
    (id_,) = project.store("project").memories() or [project.memories()[0].id]
    assert told(project, id_) == [(id_, "added", "by hand")]


@pytest.mark.parametrize("id_", ["-rf", "two words", "日本"])
def test_a_memory_is_found_by_what_stands_for_its_odd_id(repo, project, id_):
    commit(repo, A1 + memory_line(id_, "use spaces"), "one")
    commit(repo, A1 + memory_line(id_, "use tabs"), "two")
    expected = [(id_, "changed", "two"), (id_, "added", "one")]
    assert told(project, shown_id(id_)) == expected
    commit(repo, A1, "three")
    assert told(project, shown_id(id_)) == [(id_, "removed", "three"), *expected]
    assert restore(project, shown_id(id_)).entry.id == id_


def test_a_shallow_clone_tells_what_it_has_and_says_so(repo, tmp_path):
    from memsync.memories.events import notes

    commit(repo, A1, "one")
    commit(repo, A2, "two")
    subprocess.run(["git", "clone", "-q", "--depth=1", repo.root.as_uri(), str(tmp_path / "c")], check=True)
    with Memsync.open(tmp_path / "c") as project:
        assert "git fetch --unshallow" in notes(project)[0]
        assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "added", "two")]


def test_a_linked_worktree_sees_the_same_history(repo, tmp_path):
    commit(repo, A1, "one")
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    with Memsync.open(tmp_path / "linked") as project:
        assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "added", "one")]


def test_a_conflict_that_was_committed_is_read_as_the_store_reads_it(repo, project):
    commit(repo, A1, "one")
    commit(repo, f"<<<<<<< HEAD\n{A2}=======\n{A3}>>>>>>> side\n", "oops")
    assert told(project, "mm-aaaaaa")[0][1:] == ("changed", "oops")


def test_the_past_is_a_copy_that_nobody_else_sees(repo, project):
    first = commit(repo, A1, "one")
    commit(repo, A2 + B1, "two")
    before = repo.status("--ignored")
    with at(project, first) as past:
        assert [entry.content for entry in past.list()] == ["the port is 8080"]
        assert past.recall("which port")[0].content == "the port is 8080"
        assert past.layout.root.exists()
    assert not past.layout.root.exists()
    assert repo.status("--ignored") == before


def test_blame_names_who_set_each_field(repo, project):
    commit(repo, A1, "one")
    commit(repo, A2, "two")
    commit(repo, A2.replace('"api"', '"net"'), "three")
    found = {name: event.commit.subject for name, event in blame(project, "mm-aaaaaa")}
    assert found == {"content": "two", "tags": "three"}
    commit(repo, B1, "four")
    with pytest.raises(MemoryNotFound, match="memsync history"):
        blame(project, "mm-aaaaaa")


def test_blame_names_who_set_what_is_there_when_a_merge_took_the_older_edit(repo, project):
    commit(repo, A1, "one")
    repo.git("checkout", "-qb", "side")
    repo.git("checkout", "-q", "main")
    commit(repo, A2, "ours")
    repo.git("checkout", "-q", "side")
    commit(repo, A1.replace("8080", "9090"), "theirs")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "-s", "ours", "side", "-m", "merged")
    assert [event.commit.subject for _, event in blame(project)] == ["ours"]
    assert {name: event.commit.subject for name, event in blame(project, "mm-aaaaaa")}["content"] == "ours"


def test_a_difference_takes_two_commits_one_or_none_and_what_parted(repo, project):
    first = commit(repo, A1, "one")
    repo.git("checkout", "-qb", "side")
    second = commit(repo, A2 + B1, "two")
    repo.git("checkout", "-q", "main")
    commit(repo, A1 + C1, "three")

    def of(*span: str) -> list[tuple[str, str]]:
        return [(event.kind, event.id) for event in difference(project, *span).memories]

    assert of(f"{first}..{second}") == of("main...side") == [("added", "mm-bbbbbb"), ("changed", "mm-aaaaaa")]
    assert of("main..side") == [("added", "mm-bbbbbb"), ("changed", "mm-aaaaaa"), ("removed", "mm-cccccc")]
    assert of("side..") == [("added", "mm-cccccc"), ("changed", "mm-aaaaaa"), ("removed", "mm-bbbbbb")]
    assert of() == []
    repo.write_memories(A1)
    assert of() == of("HEAD") == [("removed", "mm-cccccc")]
    assert of(first) == []


def test_skills_differ_too(repo, project):
    skill = repo.root / ".claude" / "skills" / "deploy" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: deploy\n---\nPush.\n")
    first = commit(repo, A1, "one")
    skill.write_text("---\nname: deploy\n---\nPush, then wait.\n")
    other = repo.root / ".claude" / "skills" / "new" / "SKILL.md"
    other.parent.mkdir()
    other.write_text("new\n")
    assert [(s.name, s.kind) for s in difference(project).skills] == [("deploy", "changed"), ("new", "added")]
    shutil.rmtree(skill.parent)
    commit(repo, A1, "two")
    found = difference(project, f"{first}..HEAD").skills
    assert [(s.name, s.kind, s.before[-6:]) for s in found] == [("deploy", "removed", "Push.\n"), ("new", "added", "")]


def counting_git(tmp_path, monkeypatch):
    """Put a git in front of the real one that counts how often it is run."""
    real, log = shutil.which("git"), tmp_path / "runs"
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "git").write_text(f'#!/bin/sh\necho run >> "{log}"\nexec "{real}" "$@"\n')
    (shims / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{shims}:{os.environ['PATH']}")
    return log


def test_a_thousand_commits_take_a_handful_of_processes(repo, project, tmp_path, monkeypatch):
    lines = [memory_line(f"mm-m{number:05d}", f"fact {number}") for number in range(100)]
    pieces = []
    for number in range(1_000):
        lines[number % 100] = memory_line(f"mm-m{number % 100:05d}", f"fact {number}, said again")
        if number == 500:
            lines[7] = ""
        blob = "".join(lines)
        pieces.append(
            f"commit refs/heads/many\ncommitter A B <a@b.c> {1_700_000_000 + number} +0000\ndata 1\nx\n"
            f"M 100644 inline .gobby/memories.jsonl\ndata {len(blob)}\n{blob}\n"
        )
    subprocess.run(["git", "fast-import", "--quiet"], input="".join(pieces), text=True, cwd=repo.root, check=True)
    repo.git("checkout", "-q", "many")
    log = counting_git(tmp_path, monkeypatch)
    found = events(project, "mm-m00007")
    assert [event.kind for event in found] == ["changed"] * 4 + ["added", "removed"] + ["changed"] * 5 + ["added"]
    assert len(blame(project)) == 100
    assert len(log.read_text().splitlines()) <= 14


def test_a_line_that_is_appended_again_counts_again(repo, project):
    commit(repo, B1 + A1 + A2, "one")
    commit(repo, C1 + A1 + A2 + A1, "two")
    assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "changed", "two"), ("mm-aaaaaa", "added", "one")]
    assert told(project, "mm-cccccc") == [("mm-cccccc", "added", "two")]
    assert told(project, "mm-bbbbbb") == [("mm-bbbbbb", "removed", "two"), ("mm-bbbbbb", "added", "one")]


def test_lines_that_only_change_their_places_are_no_events(repo, project):
    commit(repo, A1 + B1 + C1, "one")
    commit(repo, C1 + A1 + B1, "two")
    assert [event.commit.subject for event in events(project)] == ["one"] * 3


def test_the_environment_of_a_git_hook_does_not_lead_to_another_history(repo, project, tmp_path, monkeypatch):
    commit(repo, A1, "one")
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / ".git" / "objects"))
    assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "added", "one")]
    assert [memory.id for memory in (event.after for event in difference(project, "HEAD").memories)] == []


def test_a_program_named_git_in_the_repository_is_not_run(repo, project, tmp_path, monkeypatch):
    commit(repo, A1, "one")
    (repo.root / "git").write_text(f"#!/bin/sh\ntouch {tmp_path / 'PWNED'}\n")
    (repo.root / "git").chmod(0o755)
    monkeypatch.chdir(repo.root)
    monkeypatch.setenv("PATH", f":.:{os.environ['PATH']}")
    assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "added", "one")]
    assert not (tmp_path / "PWNED").exists()


def test_what_a_repository_says_of_diffs_changes_nothing_and_runs_nothing(repo, project, tmp_path):
    commit(repo, A1, "one")
    (repo.root / ".gitattributes").write_text("*.jsonl diff=odd binary\n")
    repo.git("config", "diff.odd.textconv", f"touch {tmp_path / 'PWNED'};")
    repo.git("config", "diff.external", f"touch {tmp_path / 'PWNED'};")
    commit(repo, A2, "two")
    assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "changed", "two"), ("mm-aaaaaa", "added", "one")]
    assert not (tmp_path / "PWNED").exists()


def test_a_repository_of_longer_names_has_a_history_too(tmp_path, home):
    root = tmp_path / "sha256"
    subprocess.run(["git", "init", "-q", "--object-format=sha256", str(root)], check=True)
    repo = GitRepo(root)
    commit(repo, A1, "one")
    commit(repo, A2, "two")
    with Memsync.open(root) as project:
        assert told(project, "mm-aaaaaa") == [("mm-aaaaaa", "changed", "two"), ("mm-aaaaaa", "added", "one")]


@pytest.mark.parametrize("where", ["folder", "nothing", "two\nlines", "my notes blob 12"])
def test_only_a_file_is_read(repo, where):
    commit(repo, A1, "one")
    (repo.root / "folder").mkdir()
    (repo.root / "folder" / "x").write_text("x")
    commit(repo, A1, "two")
    wanted = [("HEAD", where), ("HEAD", ".gobby/memories.jsonl"), ("HEAD", "folder/x")]
    assert history.read(repo.root, wanted) == [None, A1.encode(), b"x"]


def commit_at(repo: GitRepo, monkeypatch: pytest.MonkeyPatch, when: str, text: str, message: str) -> str:
    """Commit *text* as a clock that shows *when* does."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"{when}T12:00:00Z")
    return commit(repo, text, message)


NEW1 = memory_line("mm-dddddd", "deploy on Monday", created_at="2026-03-01T00:00:00Z")
NEW2 = memory_line("mm-dddddd", "deploy on Tuesday", created_at="2026-03-01T00:00:00Z")


def test_versions_from_before_a_memory_was_made_are_not_read(repo, project, monkeypatch):
    first = commit_at(repo, monkeypatch, "2025-01-01", A1, "one")
    commit_at(repo, monkeypatch, "2025-01-02", A2, "two")
    commit_at(repo, monkeypatch, "2026-03-02", A2 + NEW1, "three")
    commit_at(repo, monkeypatch, "2026-03-03", A2 + NEW2, "four")
    blob = repo.git("rev-parse", f"{first}:.gobby/memories.jsonl").strip()
    (repo.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert told(project, "mm-dddddd") == [("mm-dddddd", "changed", "four"), ("mm-dddddd", "added", "three")]
    with pytest.raises(NoHistory, match="git fsck"):
        events(project, "mm-aaaaaa")


def test_a_clock_that_was_wrong_hides_no_event(repo, project, monkeypatch):
    commit_at(repo, monkeypatch, "2001-01-01", A1 + NEW1, "slow clock")
    commit_at(repo, monkeypatch, "2026-03-02", A1 + NEW2, "right clock")
    expected = [("mm-dddddd", "changed", "right clock"), ("mm-dddddd", "added", "slow clock")]
    assert told(project, "mm-dddddd") == expected
    commit_at(repo, monkeypatch, "2001-01-02", A2 + NEW2, "slow again")
    assert told(project, "mm-dddddd") == expected
    commit_at(repo, monkeypatch, "2001-01-03", A2 + NEW1, "and once more")
    assert told(project, "mm-dddddd") == [("mm-dddddd", "changed", "and once more"), *expected]


def test_lines_that_other_versions_have_too_are_read_once(repo, project, monkeypatch):
    commit(repo, A1 + B1, "one")
    assert len(project.memories()) == 2
    monkeypatch.setattr("memsync.format.jsonl.decode", None)
    assert [id_ for id_, _, _ in told(project)] == ["mm-bbbbbb", "mm-aaaaaa"]
    assert difference(project).memories == ()
