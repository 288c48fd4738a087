"""Switching stealth on and off: nothing private comes out, nothing is lost, and every file comes back as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import secret_shapes as shapes
from helpers import GitRepo, memory_line, memsync

from memsync import Memsync
from memsync.errors import ConfigError
from memsync.git import install
from memsync.janitor import review
from memsync.janitor.plan import Merge
from memsync.janitor.run import apply
from memsync.learn.candidates import Candidates, Proposal
from memsync.memories import sharing
from memsync.memories.lost import find_lost, find_returned
from memsync.records import SCOPES, Memory
from memsync.setup import doctor, installing
from memsync.store import bystealth, config

SECRET = "the staging password is " + shapes.password(1)


CLIENTS = ("claude", "codex", "gemini")


def switch(repo, on: bool, *, move: bool = True) -> list[str]:
    with Memsync.open(repo.root) as project:
        return installing.turn_stealth(project, on, move=move)


def remember(repo, *texts: str, **fields) -> list[str]:
    with Memsync.open(repo.root) as project:
        return [project.remember(text, **fields).entry.id for text in texts]


def texts(repo) -> list[tuple[str, str]]:
    return in_order((entry.scope, entry.content) for entry in Memsync.open(repo.root).list())


def in_order(found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted(found, key=lambda each: (SCOPES.index(each[0]), each[1]))


def set_up(repo, *clients: str, stealth: bool = False) -> None:
    with Memsync.open(repo.root) as project:
        installing.init(project, clients or CLIENTS, stealth=stealth, dry_run=False)


def tree_of(repo) -> dict[str, object]:
    """Return every byte and mode that a user could see: files, index, status, git's configuration and hooks."""
    git = repo.root / ".git"
    common = (repo.root / repo.git("rev-parse", "--git-common-dir").strip()).resolve()
    paths = [path for path in repo.root.rglob("*") if path.is_file() and git not in path.parents and path != git]
    seen = [path for path in paths if ".gobby/local" not in path.as_posix()]
    seen += [path for path in paths if path.name in ("history.jsonl", "clients.json", "rejected.txt")]
    hooks = [common / "config", *(common / "hooks").glob("[a-z]*[!e]")]
    return {
        "files": {str(path): (path.stat().st_mode, path.read_bytes()) for path in [*seen, *hooks]},
        "status": repo.status("--ignored"),
        "index": repo.git("ls-files", "--stage", "-v"),
    }


def in_husky(repo) -> None:
    (repo.root / ".husky").mkdir()
    (repo.root / ".husky" / "pre-commit").write_text("#!/bin/sh\nnpm test\n")
    (repo.root / ".husky" / "_").mkdir()
    repo.git("add", "-f", ".husky/pre-commit")
    repo.git("commit", "-qm", "husky")
    repo.git("config", "core.hooksPath", ".husky/_")
    begin(repo)
    assert "memsync" in (repo.root / ".husky" / "pre-commit").read_text()


def in_a_folder_of_hooks(repo) -> None:
    (repo.root / "hooks").mkdir()
    (repo.root / "hooks" / "pre-commit").write_bytes(b"#!/usr/bin/env python3\nprint('theirs')\n")
    (repo.root / "hooks" / "pre-commit").chmod(0o755)
    repo.git("config", "core.hooksPath", "hooks")
    begin(repo)
    assert (repo.root / "hooks" / "pre-commit.memsync-prev").exists()


def begin(repo) -> None:
    (repo.root / ".gitattributes").write_bytes(b"*.png binary\r\n*.txt text")
    (repo.root / ".mcp.json").write_text('{\n\t"mcpServers": {}\n}')
    set_up(repo)
    with Memsync.open(repo.root) as project:
        (repo.root / ".gobby" / "config.yaml").write_text("# ours\nmemory: {recall_limit: 7}\n")
        gone = project.remember("gone").entry.id
        project.remember("alpha", importance=0.4)
        project.forget(gone)


def staged(repo) -> None:
    begin(repo)
    repo.git("add", "-A")


def committed(repo) -> None:
    staged(repo)
    repo.git("commit", "-qm", "memories")


def attributes_staged(repo) -> None:
    begin(repo)
    repo.git("add", ".gitattributes")


def settings_tracked_without_ours(repo) -> None:
    (repo.root / ".mcp.json").write_text('{"mcpServers": {"other": {"command": "x"}}}\n')
    (repo.root / ".gitattributes").write_bytes(b"*.md text\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "the team's")
    set_up(repo)
    remember(repo, "alpha")


def by_hand(repo) -> None:
    begin(repo)
    repo.memories.write_bytes(
        b'{"zeta": 1, "id": "b", "content": "by hand"}\n\n{"id":"a","content":"first"}\n{"id":"a","content":"then"}\n'
    )


def private(repo) -> None:
    set_up(repo, stealth=True)
    remember(repo, "secretive", scope="private")


STARTS = [
    begin,
    staged,
    committed,
    attributes_staged,
    settings_tracked_without_ours,
    by_hand,
    private,
    in_husky,
    in_a_folder_of_hooks,
]


@pytest.mark.parametrize("start", STARTS)
def test_there_and_back_leaves_every_byte_as_it_was(repo, home, start):
    start(repo)
    if start is private:
        switch(repo, False)
    remember(repo, "my own", scope="private")
    before, notes = tree_of(repo), (home / ".gobby" / "local" / "clients.json").exists()
    for _ in range(2):
        switch(repo, True)
        if start not in (staged, committed, attributes_staged):
            seen = {row[3:] for row in repo.status().splitlines()}
            assert seen <= {".gitattributes", ".mcp.json", ".husky/_/", "hooks/"}  # which are the user's
            assert not any(
                b"memsync" in data for name, (_, data) in tree_of(repo)["files"].items() if ".git/" not in name
            )
        switch(repo, False)
        assert tree_of(repo) == before
    assert ("private", "my own") in texts(repo)
    assert notes or start is not private


def test_what_is_neither_tracked_nor_staged_leaves_the_tree(repo):
    settings_tracked_without_ours(repo)
    assert " M .mcp.json" in repo.status()
    switch(repo, True)
    assert repo.status("--ignored") == ""


def test_where_the_file_stays_its_local_history_has_nothing_of_what_was_moved(repo):
    set_up(repo)
    remember(repo, "The release is on Thursday")
    with repo.memories.open("ab") as file:
        file.write(b"# nobody can read this\n")
    switch(repo, True)
    assert repo.memories.read_bytes() == b"# nobody can read this\n"
    assert b"Thursday" not in (repo.root / ".gobby" / "local" / "history.jsonl").read_bytes()
    with Memsync.open(repo.root) as project:
        assert [entry.scope for entry in project.memories()] == ["private"]
        assert (find_lost(project), find_returned(project)) == ([], [])


def test_a_staged_line_of_gitattributes_stays_with_the_others(repo):
    attributes_staged(repo)
    before = (repo.root / ".gitattributes").read_bytes()
    switch(repo, True)
    assert (repo.root / ".gitattributes").read_bytes() == before
    assert repo.status() == "A  .gitattributes\n?? .mcp.json\n"


def test_a_block_in_a_hook_of_the_tree_stays_once_it_is_staged(repo):
    in_husky(repo)
    repo.git("add", "-f", ".husky/pre-commit")
    switch(repo, True)
    assert "memsync" in (repo.root / ".husky" / "pre-commit").read_text()
    assert "memsync" not in "".join(path.read_text() for path in (repo.root / ".husky").glob("post-*"))


def test_outside_git_and_below_the_top_of_a_repository_it_is_the_same(repo, tmp_path):
    for root in (tmp_path / "plain", repo.root / "services" / "api"):
        (root / ".gobby").mkdir(parents=True)
        with Memsync.open(root) as project:
            installing.init(project, ["claude"], stealth=False, dry_run=False)
            project.remember(f"alpha in {root.name}")

        def seen(root=root) -> dict[str, bytes]:
            files = [path for path in root.rglob("*") if path.is_file() and "local" not in path.parts]
            return {str(path): path.read_bytes() for path in files}

        before = seen()
        switch(GitRepo(root), True)
        assert seen() == {}
        switch(GitRepo(root), False)
        assert seen() == before
    assert sorted(path.name for path in repo.root.iterdir()) == [".git", "README", "services"]


def test_the_merge_driver_stays_and_merges_while_stealth_is_on_and_after_it(repo):
    set_up(repo, "claude")
    (id_,) = remember(repo, "The API listens on port 8080")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "base")
    switch(repo, True)
    assert install.status(Memsync.open(repo.root).layout)["driver"]
    switch(repo, False)
    repo.git("switch", "-qc", "x")
    with Memsync.open(repo.root) as project:
        project.update(id_, content="The API listens on port 8080 behind nginx")
    repo.git("commit", "-qam", "x")
    repo.git("switch", "-q", "main")
    with Memsync.open(repo.root) as project:
        project.update(id_, tags=["net"])
    repo.git("commit", "-qam", "m")
    repo.git("merge", "-q", "x", "-m", "m")
    (entry,) = Memsync.open(repo.root).list()
    assert (entry.content, entry.memory.tags) == ("The API listens on port 8080 behind nginx", ("net",))


# what was private stays so


def test_what_was_private_before_is_not_moved_and_neither_is_what_was_said_to_be_private_meanwhile(repo):
    remember(repo, "before", scope="private")
    remember(repo, "in the tree")
    switch(repo, True)
    remember(repo, "under stealth")
    remember(repo, "meanwhile", scope="private")
    said = switch(repo, False)
    kept = [("private", "before"), ("private", "meanwhile")]
    assert texts(repo) == [("project", "in the tree"), ("project", "under stealth"), *kept]
    assert said[1].startswith("moved 2 memories")
    assert said[1].count("mm-") == 2


def test_what_was_shared_before_comes_back_by_itself_and_what_was_written_meanwhile_when_told(repo):
    same, edited, _, tagged = remember(repo, "in the tree", "to be edited", "to be closed", "not for all")
    with Memsync.open(repo.root) as project:
        project.update(tagged, tags=["private"])  # it was shared all the same
    assert memsync("memory", "config", "--stealth", "on", "-y", cwd=repo.root).code == 0
    (one,) = remember(repo, "meanwhile")
    remember(repo, "to be closed", "my own", scope="private")
    with Memsync.open(repo.root) as project:
        project.update(edited, content="edited", tags=["x"])
    off = memsync("memory", "config", "--stealth", "off", "-y", cwd=repo.root)
    back = [("project", "edited"), ("project", "in the tree"), ("project", "not for all")]
    kept = [("private", "my own"), ("private", "to be closed")]
    assert texts(repo) == [*back, ("private", "meanwhile"), *kept]
    assert f"{one}; `memsync config --stealth off --move` moves them" in off.out
    assert all(id_ in off.out.partition("moved 3 memories")[2].splitlines()[0] for id_ in (same, edited, tagged))
    moved = memsync("memory", "config", "--stealth", "off", "--move", "--json", cwd=repo.root).json
    assert (moved["moved"], moved["kept"]) == ([one], [])
    assert texts(repo) == in_order([*back, ("project", "meanwhile"), *kept])


def test_what_was_imported_under_stealth_is_offered_like_what_was_written_and_what_is_named_private_is_not(
    repo, tmp_path
):
    assert memsync("memory", "config", "--stealth", "on", "-y", cwd=repo.root).code == 0
    for id_, text, *words in (("mm-aaaaaa", "imported"), ("mm-bbbbbb", "my own", "--private")):
        (tmp_path / "notes.jsonl").write_text(memory_line(id_, text))
        assert memsync("import", str(tmp_path / "notes.jsonl"), *words, cwd=repo.root).code == 0
    assert texts(repo) == [("private", "imported"), ("private", "my own")]
    moved = memsync("memory", "config", "--stealth", "off", "--move", "--json", cwd=repo.root).json
    assert (moved["moved"], moved["kept"]) == (["mm-aaaaaa"], [])
    assert texts(repo) == [("project", "imported"), ("private", "my own")]


def test_what_was_shared_before_passes_the_checks_once_it_was_edited_and_stays_with_keep(repo):
    (one,) = remember(repo, "in the tree")
    switch(repo, True)
    with Memsync.open(repo.root) as project:
        project.update(one, content=SECRET)
    off = memsync("memory", "config", "--stealth", "off", cwd=repo.root)
    assert f"{one} stays private: it looks like it holds a secret" in off.out
    assert texts(repo) == [("private", SECRET)]
    (two,) = remember(repo, "the second")
    switch(repo, True)
    off = memsync("memory", "config", "--stealth", "off", "--keep", cwd=repo.root)
    assert f"private since stealth was on: {two};" in off.out
    assert texts(repo) == [("private", "the second"), ("private", SECRET)]


def test_a_person_at_a_terminal_sees_what_would_move_and_is_asked(repo):
    pty = pytest.importorskip("pty")
    switch(repo, True)
    (one,) = remember(repo, "in the tree")
    remember(repo, "my own", scope="private")
    for answer, expected in ((b"n\n", "private"), (b"y\n", "project")):
        parent, child = pty.openpty()
        words = [sys.executable, "-m", "memsync", "memory", "config", "--stealth", "off", "--move"]
        with subprocess.Popen(words, cwd=repo.root, stdin=child, stdout=-1, stderr=-1) as process:
            os.write(parent, answer)
            _, err = process.communicate(timeout=60)
        os.close(child)
        os.close(parent)
        assert f"{one} in the tree (fact" in err.decode()
        assert b"my own" not in err
        assert b"Move 1 memory into the work tree" in err
        assert texts(repo) == in_order([(expected, "in the tree"), ("private", "my own")])


def test_what_share_would_refuse_stays_and_the_rest_moves(repo):
    switch(repo, True)
    remember(repo, "fine")
    (secret,) = remember(repo, SECRET)
    (tagged,) = remember(repo, "about a colleague", tags=["private"])
    off = memsync("memory", "config", "--stealth", "off", "--move", cwd=repo.root)
    assert f"{secret} stays private: it looks like it holds a secret (password" in off.out
    assert f"{tagged} stays private: {tagged} has the tag private" in off.out
    assert shapes.password(1) not in off.out
    assert texts(repo) == [("project", "fine"), ("private", "about a colleague"), ("private", SECRET)]


@pytest.mark.parametrize(
    "how",
    [
        "again",
        "told to be private",
        "unshared",
        "merged",
        "superseded",
        "noted by a switch that was killed",
        "by hand",
        "no notes",
    ],
)
def test_in_doubt_a_text_stays_private(repo, how):
    """Each way in which something private could pass for what stealth wrote."""
    switch(repo, True)
    (one,) = remember(repo, "The API listens on port 8080")
    store = Memsync.open(repo.root).store("private")
    if how == "again":  # the same text, now said to be private
        remember(repo, "the API listens on port 8080", scope="private")
    elif how == "told to be private":  # it says more, and takes the place of the other
        remember(repo, "The API listens on port 8080 behind nginx", scope="private")
    elif how == "unshared":
        switch(repo, False)
        sharing.unshare(Memsync.open(repo.root), [one])
        switch(repo, True)
    elif how == "merged":
        (two,) = remember(repo, "Port 8080 is that of the API", scope="private")
        with Memsync.open(repo.root) as project:
            assert apply(project, [Merge("private", one, (two,))]).count("done") == 1
    elif how == "superseded":
        (two,) = remember(repo, "Nobody may know the port", scope="private")
        with Memsync.open(repo.root) as project:
            project.update(one, content="It is about the port", supersedes=[two])
    elif how == "noted by a switch that was killed":
        switch(repo, False)
        with Memsync.open(repo.root) as project:
            bystealth.add(store.place.local, [project.get(one).memory])
            sharing.unshare(project, [one])
    elif how == "by hand":
        store.path.write_text(store.path.read_text().replace("8080", "9090"))
    else:
        (store.place.local / "by-stealth.txt").unlink()
    before = texts(repo)
    switch(repo, False)
    assert texts(repo) == before
    assert not repo.memories.exists() or repo.memories.read_bytes() == b""


def test_an_edit_under_stealth_of_what_stealth_wrote_comes_back_too(repo):
    (one,) = remember(repo, "alpha")
    switch(repo, True)
    with Memsync.open(repo.root) as project:
        project.update(one, content="beta", tags=["x"])
        project.forget(project.remember("gone").entry.id)
    switch(repo, False)
    assert texts(repo) == [("project", "beta")]
    assert "alpha" not in repo.memories.read_text()


def test_an_earlier_text_of_what_is_shared_stays_out_of_the_tree(repo):
    (one,) = remember(repo, "what nobody may know", scope="private")
    with Memsync.open(repo.root) as project:
        project.update(one, content="what all may know")
        sharing.share(project, [one])
    found = [path for path in (repo.root / ".gobby").rglob("*") if path.is_file() and b"nobody" in path.read_bytes()]
    assert found == []


def test_an_id_that_looks_like_notes_vouches_for_nothing(repo):
    note = bystealth.note_of(Memory(id="mm-aaaaaa", content="private"))
    forged = json.dumps({"id": f"x\n{note[0]} {note[1]}\n", "content": "forged"})
    repo.write_memories(forged + "\n")
    switch(repo, True)
    store = Memsync.open(repo.root).store("private")
    assert note not in bystealth.read(store.place.local)


def test_stealth_that_another_file_wants_stays_on_and_the_file_is_named(repo, home):
    remember(repo, "alpha")
    switch(repo, True)
    (home / ".gobby" / "config.yaml").write_text("memory_sync: {stealth: true}\n")
    before = tree_of(repo)
    with pytest.raises(ConfigError, match=r"config.yaml says memory_sync.stealth: true"):
        switch(repo, False)
    assert tree_of(repo) == before
    assert texts(repo) == [("private", "alpha")]


# what is known of the memories


def known(repo) -> tuple[object, ...]:
    project = Memsync.open(repo.root)
    waiting = Candidates(project)
    used = {entry.content: entry.access_count for entry in project.memories()}
    decided = [(row.decision.new_text, row.decision.review_status) for row in review.rows(project)]
    return used, decided, [one.memory.content for one in waiting.memories()], list(waiting.skills())


SKILL = b"---\nname: release\ndescription: How to release, when asked to\n---\n\n1. Tag it.\n"


@pytest.mark.parametrize("is_committed", [False, True])
def test_candidates_decisions_and_counts_are_kept_both_ways(repo, is_committed):
    set_up(repo, "claude")
    with Memsync.open(repo.root) as project:
        project.remember("Prices are integers in cents")
        project.remember("prices are  INTEGERS in cents")
        project.recall("prices")
        Candidates(project).propose([Proposal(memory=Memory(id="", content="Always run make check", importance=0.6))])
        Candidates(project).propose_skill("release", SKILL)
    if is_committed:
        repo.git("add", "-A")
        repo.git("commit", "-qm", "memories")
    before = known(repo)
    assert [len(part) for part in before] == [1, 1, 1, 1]
    switch(repo, True)
    assert known(repo) == before
    switch(repo, False)
    assert known(repo) == before
    switch(repo, True)
    with Memsync.open(repo.root) as project:
        review.confirm(project, list(review.rows(project)))
        project.recall("prices")
        waiting = Candidates(project)
        waiting.propose([Proposal(memory=Memory(id="", content="Learned under stealth", importance=0.6))])
        waiting.reject([waiting.memories()[0].memory.id])
        waiting.reject_skill("release")
    decided = known(repo)
    assert decided[1:] == ([(before[1][0][0], "confirmed")], ["Learned under stealth"], [])
    switch(repo, False)
    assert known(repo) == decided
    assert decided[0] == {"Prices are integers in cents": before[0]["Prices are integers in cents"] + 1}
    found = [path for path in repo.root.rglob("*") if path.is_file() and b"Learned under" in path.read_bytes()]
    assert found == []
    with Memsync.open(repo.root) as project:
        waiting = Candidates(project)
        assert waiting.approve([waiting.memories()[0].memory.id])[0].entry.scope == "private"
        assert waiting.memories() == []


def test_settings_hold_under_stealth_and_are_the_projects_again_after_it(repo):
    begin(repo)
    switch(repo, True)
    assert Memsync.open(repo.root).settings.recall_limit == 7
    switch(repo, False)
    project = Memsync.open(repo.root)
    assert config.read_own(project.layout.place("private"), "memory.recall_limit") is None
    (repo.root / ".gobby" / "config.yaml").write_text("memory: {recall_limit: 5}\n")
    assert Memsync.open(repo.root).settings.recall_limit == 5


def test_the_users_own_settings_of_the_clients_are_as_they_were_too(repo, home):
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"model": "x"}')
    set_up(repo, "claude")
    switch(repo, True)
    assert "memsync" in (home / ".claude" / "settings.json").read_text()
    switch(repo, False)
    assert (home / ".claude" / "settings.json").read_text() == '{"model": "x"}'


def test_files_that_somebody_changed_meanwhile_keep_that_and_get_ours_again(repo):
    begin(repo)
    switch(repo, True)
    (repo.root / ".gitattributes").write_bytes(b"*.jpg binary\n")
    (repo.root / ".mcp.json").write_text('{"mcpServers": {"other": {"command": "x"}}}')
    switch(repo, False)
    assert (repo.root / ".gitattributes").read_bytes().startswith(b"*.jpg binary\n.gobby/memories.jsonl merge=memsync")
    assert sorted(json.loads((repo.root / ".mcp.json").read_text())["mcpServers"]) == ["memsync", "other"]


def test_two_worktrees_share_the_private_store_and_each_gets_its_own_files_back(repo):
    repo.git("worktree", "add", "-q", str(repo.root.parent / "other"))
    other = GitRepo(repo.root.parent / "other")
    for here, text in ((repo, "alpha"), (other, "beta")):
        set_up(here, "claude")
        remember(here, text)
    before = {here.root: tree_of(here) for here in (repo, other)}
    for here in (repo, other):
        switch(here, True)
        assert here.status("--ignored") == ""
    assert texts(repo) == [("private", "alpha"), ("private", "beta")]
    said = switch(other, False, move=False)
    assert any(str(repo.root) in line for line in said)
    switch(repo, False, move=False)
    for here in (repo, other):
        now = tree_of(here)
        assert (now["status"], now["index"]) == (before[here.root]["status"], before[here.root]["index"])
        files = {name: seen for name, seen in now["files"].items() if not name.endswith("memories.jsonl")}
        assert files == {n: seen for n, seen in before[here.root]["files"].items() if not n.endswith("memories.jsonl")}
    assert texts(repo) == [("private", "alpha"), ("private", "beta")]


def test_switching_twice_is_switching_once(repo, monkeypatch):
    scripts = Path(sys.executable).parent  # where the clients look for memsync
    monkeypatch.setenv("PATH", f"{scripts}{os.pathsep}{os.environ['PATH']}")
    begin(repo)
    before = tree_of(repo)
    switch(repo, True)
    under = tree_of(repo)
    switch(repo, True)
    assert tree_of(repo) == under
    switch(repo, False)
    switch(repo, False)
    assert tree_of(repo) == before
    assert [finding for finding in doctor.examine(Memsync.open(repo.root)) if finding.level != "note"] == []
