"""What leaves its store says its scope, and comes back into it; what is private leaves only when somebody says so."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys

import pytest
import secret_shapes as shapes
from helpers import Ran, memory_line, memsync

SHARED, PRIVATE, GLOBAL = "Deploys need two approvals", "Bob is hard to work with", "My editor is Helix"
SECRET = f"the staging password is {shapes.password(1)}"


@pytest.fixture
def call(repo):
    """Return what runs a command in a repository with one memory of each scope."""

    def call(*words: str, code: int = 0, stdin: str = "") -> Ran:
        done = memsync(*words, cwd=repo.root, stdin=stdin)
        assert done.code == code, done
        return done

    call("remember", SHARED)
    call("remember", PRIVATE, "--private")
    call("remember", GLOBAL, "--global")
    return call


def stored(call) -> set[tuple[str, str]]:
    return {(one["scope"], one["content"]) for one in call("list", "--archived", "--json").json["memories"]}


ALL = {("project", SHARED), ("private", PRIVATE), ("global", GLOBAL)}


def ids(call) -> dict[str, str]:
    return {one["content"]: one["id"] for one in call("list", "--json").json["memories"]}


def test_a_copy_has_the_project_s_own_and_with_all_scopes_the_others_marked(call, repo):
    for name in ("copy.jsonl", "copy.json", "copy.md", "copy"):
        check_copy(call, repo, name)


def check_copy(call, repo, name: str) -> None:
    told = call("export", "-o", name).out
    assert told == f"wrote 1 memory to {name}; 1 global, 1 private left out; --all-scopes takes them along\n"
    text = (repo.root / name).read_text()
    assert SHARED in text
    assert PRIVATE not in text
    assert GLOBAL not in text
    assert call("export", "-o", name, "--all-scopes").out == f"wrote 3 memories to {name} (1 global, 1 private)\n"
    rows = (repo.root / name).read_text().replace("{\n", "{").replace(",\n", ",").splitlines()
    assert [one for one in rows if PRIVATE in one and "private" in one]
    assert [one for one in rows if GLOBAL in one and "global" in one]
    assert not [one for one in rows if SHARED in one and ("scope" in one or "(" in one)]
    if os.name == "posix":
        assert stat.S_IMODE((repo.root / name).stat().st_mode) == 0o600


def test_a_pipe_gets_the_project_s_own_and_stderr_says_what_it_does_not(call):
    for kind in ("jsonl", "json", "markdown"):
        done = call("export", "-o", "-", "--format", kind)
        assert (kind, PRIVATE in done.out, GLOBAL in done.out) == (kind, False, False)
        assert done.err == "memsync: 1 global, 1 private left out; --all-scopes takes them along\n"
        assert "private" in call("export", "-o", "-", "--format", kind, "--scope", "private").out
    call("export", "-o", "-", "--scope", "private", "--all-scopes", code=2)


def test_a_line_in_a_form_of_one_s_own_marks_what_is_not_the_project_s(call):
    assert call("list", "--format", "- {content}").out.splitlines() == [
        f"- (global) {GLOBAL}",
        f"- (private) {PRIVATE}",
        f"- {SHARED}",
    ]
    assert f"private: {PRIVATE}" in call("recall", "Bob", "--format", "{scope}: {content}").out


@pytest.mark.parametrize("name", ["copy.jsonl", "copy.json", "copy.md", "list.json", "rows.md", "CLAUDE.md"])
@pytest.mark.parametrize("way", ["file", "pipe"])
def test_a_copy_comes_back_into_the_scopes_that_it_says(call, repo, name, way):
    if name == "list.json":
        text = call("list", "--json").out
    elif name == "rows.md":
        text = call("list", "--format", "- {content}").out
    else:
        kind = {".md": "markdown"}.get(name[-3:], name.rpartition(".")[2])
        text = call("export", "-o", "-", "--all-scopes", "--format", kind).out
    call("rm", *ids(call).values(), "-y")
    (repo.root / name).write_text(text)
    kind = ["--from", "json"] if name == "list.json" else []
    done = call("import", name) if way == "file" else call("import", "-", *kind, stdin=text)
    assert "1 private" in done.out
    assert "1 global" in done.out
    assert {one for one in stored(call) if one[0] != "project"} == ALL - {("project", SHARED)}
    assert PRIVATE not in repo.memories.read_text()
    assert "scope" not in (repo.memories.read_text() + call("show", "--json", "Bob").json["content"])


def test_a_mapping_does_not_lose_the_scope(call, repo):
    (repo.root / "dump.json").write_text(json.dumps([{"text": "Carol snores", "scope": "private"}]))
    assert "1 created" in call("import", "dump.json", "--map", "content=text").out
    assert ("private", "Carol snores") in stored(call)


@pytest.mark.parametrize("as_what", ["its id", "its text", "an edited text"])
def test_an_old_copy_without_scopes_makes_nothing_private_the_project_s(call, repo, as_what):
    known = ids(call)
    id_ = "mm-other1" if as_what == "its text" else known[PRIVATE]
    text = "Bob is better now" if as_what == "an edited text" else PRIVATE.upper()
    (repo.root / "old.jsonl").write_text(memory_line(id_, text, updated_at="2030-01-01T00:00:00Z"))
    told = call("import", "old.jsonl").out
    assert "1 skipped" in told
    assert f"{known[PRIVATE]}" in told
    assert "private here" in told
    assert stored(call) == ALL
    call("import", "old.jsonl", "--scope", "project")
    taken = {one for one in stored(call) if one[0] == "project"}
    assert len(taken) == (2 if as_what == "its text" else 1)  # an id has one scope, whatever is said


def test_an_id_of_the_project_does_not_become_a_private_one_too(call, repo):
    (repo.root / "copy.jsonl").write_text(memory_line(ids(call)[SHARED], "Deploys need none", scope="private"))
    assert (
        "is in the project here already, and an id has one scope; `memsync unshare" in call("import", "copy.jsonl").out
    )
    assert stored(call) == ALL


def test_of_one_import_with_an_id_in_two_scopes_the_private_one_counts(call, repo):
    (repo.root / "shared.jsonl").write_text(memory_line("mm-twotwo", "Carol snores"))
    (repo.root / "private.jsonl").write_text(memory_line("mm-twotwo", "Carol snores a lot", scope="private"))
    assert (
        "1 created, 0 updated, 0 duplicate, 1 skipped (1 private)"
        in call("import", "shared.jsonl", "private.jsonl").out
    )
    assert stored(call) == ALL | {("private", "Carol snores a lot")}


def test_on_a_terminal_one_is_asked_and_a_no_imports_nothing(call, repo):
    pty = pytest.importorskip("pty")
    (repo.root / "copy.jsonl").write_text(memory_line("mm-carol1", "Carol snores", scope="private"))
    for answer, more in ((b"n\n", set()), (b"y\n", {("private", "Carol snores")})):
        parent, child = pty.openpty()
        words = [sys.executable, "-m", "memsync", "import", "copy.jsonl"]
        with subprocess.Popen(words, cwd=repo.root, stdin=child, stdout=child, stderr=-1) as process:
            os.write(parent, answer)
            _, err = process.communicate(timeout=60)
        os.close(child)
        os.close(parent)
        assert b"Of these are 1 private. Import them as that?" in err
        assert stored(call) == ALL | more


# what is there already


@pytest.mark.parametrize("words", [["export", "-o", "notes.md"], ["ui", "--export", "notes.md"]])
def test_a_file_of_the_user_s_stays_and_a_copy_that_nobody_changed_is_replaced(call, repo, words):
    notes = repo.root / "notes.md"
    notes.write_text("- mine\n")
    told = call(*words, code=2).err
    assert "notes.md is there already, and not as memsync wrote it; name another file, or --force replaces it" in told
    assert notes.read_text() == "- mine\n"
    call(*words, "--force")
    call("remember", "Node 20 is used")
    call(*words)
    assert "Node 20" in notes.read_text()
    notes.write_text(notes.read_text() + "- mine\n")
    call(*words, code=2)
    assert notes.read_text().endswith("- mine\n")


@pytest.mark.parametrize(
    "words",
    [
        ("export", "-o", "a [copy].jsonl"),
        ("export", "-o", "notes.md"),
        ("export", "-o", "docs/know", "--format", "okf"),
        ("ui", "--export", "page.html"),
        ("skill", "export", "-o", "docs/skills"),
    ],
)
def test_git_takes_no_copy_with_what_is_private_even_by_force(call, repo, words):
    call("skill", "add", "own-steps", "-i", "-", "-d", "Own steps", "--private", stdin="1. Do it\n")
    (repo.root / "docs").mkdir()
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "before", "--allow-empty")
    call("git", "install")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "hooks", "--allow-empty")
    path = words[words.index("-o") + 1] if "-o" in words else words[2]
    call(*words, "--all-scopes")
    assert repo.git("status", "--porcelain") == ""
    moved = "README.txt"
    (repo.root / path).rename(repo.root / moved)
    repo.git("add", "-f", moved)
    done = subprocess.run(["git", "commit", "-qm", "it"], cwd=repo.root, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"memsync: {moved}" in done.stderr
    assert "is a copy of what is private or global; `git rm --cached README.txt" in done.stderr
    repo.git("rm", "-rq", "--cached", moved)
    (repo.root / moved).rename(repo.root / path)
    repo.git("add", "-f", path)
    done = call(*words, "--all-scopes", "--force", code=2)
    assert "and the next commit would share what is private; name another" in done.err


@pytest.mark.parametrize("words", [("-o", "nowhere/a.md"), ("-o", "full", "--format", "okf")])
def test_a_copy_that_is_refused_changes_nothing_that_git_ignores(call, repo, words):
    (repo.root / "full").mkdir()
    (repo.root / "full" / "mine.md").write_text("mine\n")
    exclude = repo.root / ".git" / "info" / "exclude"
    was = exclude.read_bytes()
    call("export", *words, "--all-scopes", code=2)
    assert exclude.read_bytes() == was


def test_an_ending_that_means_no_format_is_refused(call, repo):
    assert (
        "out.csv: no format ends in .csv; say --format jsonl, json, markdown"
        in call("export", "-o", "out.csv", code=2).err
    )
    assert not (repo.root / "out.csv").exists()
    call("export", "-o", "out.csv", "--format", "markdown")
    assert SHARED in (repo.root / "out.csv").read_text()


# skills and pages


def test_a_private_skill_leaves_only_by_name_says_its_scope_and_comes_back_as_that(call, repo):
    call("skill", "add", "release", "-i", "-", "-d", "How to release", stdin="1. Tag it\n")
    call("skill", "add", "mine", "-i", "-", "-d", "How to cope with Bob", "--private", stdin="1. Breathe\n")
    call("skill", "export", "-o", "out")
    assert [path.name for path in (repo.root / "out").iterdir()] == ["release"]
    for _ in range(2):
        assert "mine (private)" in call("skill", "export", "-o", "out", "--all-scopes").out
    copy = (repo.root / "out" / "mine" / "SKILL.md").read_text()
    assert "scope: private" in copy
    call("skill", "delete", "mine")
    assert (
        "is a copy of a private skill; --private or --global says where it goes"
        in call("skill", "import", "out/mine", code=2).err
    )
    call("skill", "import", "out/mine", "--private")
    assert call("skill", "show", "mine", "--json").json["scope"] == "private"
    assert "scope" not in call("skill", "apply", "mine").out


def test_a_page_has_the_project_s_own_and_with_all_scopes_the_others_marked(call, repo):
    call("ui", "--export", "page.html")
    assert PRIVATE not in (repo.root / "page.html").read_text()
    call("ui", "--export", "page.html", "--all-scopes")
    page = (repo.root / "page.html").read_text()
    assert '<span class="chip">private</span>' in page.partition(PRIVATE)[2][:400]
    assert "Private and global memories are marked." in page
    call("ui", "--all-scopes", code=2)


# away and back


@pytest.mark.parametrize("stealth", [False, True])
def test_the_printed_way_back_from_a_purge_brings_every_record_into_its_scope(call, repo, home, stealth):
    call("remember", SECRET, "--private")
    call("skill", "add", "mine", "-i", "-", "-d", "How to cope with Bob", "--private", stdin="1. Breathe\n")
    with repo.memories.open("a") as file:
        file.write(memory_line("mm-again1", f"{SHARED}.") + memory_line("mm-secret", SECRET))
    if stealth:
        repo.git("add", "-f", ".gobby/memories.jsonl")
        call("config", "--stealth", "on", "--yes")
    before = stored(call)
    told = call("uninstall", "--purge", "--yes").out
    assert stored(call) == {("global", GLOBAL)}
    copies = [path for path in home.iterdir() if path.name.startswith("memsync-")]
    assert sorted(path.suffix for path in copies) == [".jsonl", ".jsonl", ".skills"]
    for path in copies if os.name == "posix" else ():
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
        assert path.is_dir() or ("-private" in path.name) == (PRIVATE in path.read_text())
    for line in told.partition("to have them again:\n")[2].splitlines():
        program, *words = shlex.split(line)
        assert program == "memsync"
        call(*words)
    assert stored(call) == before
    assert call("skill", "show", "mine", "--json").json["scope"] == "private"
    assert call("config", "memory_sync.stealth").out == ("true\n" if stealth else "false\n")


def test_git_takes_no_private_copy_that_a_purge_leaves_in_the_work_tree(call, repo):
    call("skill", "add", "own-steps", "-i", "-", "-d", "Own steps", "--private", stdin="1. Do it\n")
    call("uninstall", "--purge", "--yes", "--export", str(repo.root / "copy.jsonl"))
    assert (repo.root / "copy-private.skills" / "own-steps" / "SKILL.md").exists()
    assert (repo.root / "copy-private.jsonl").exists()
    assert [name for name in repo.git("ls-files", "-co", "--exclude-standard").split() if "copy" in name] == [
        "copy.jsonl"
    ]


def test_a_purge_writes_over_no_file_and_then_removes_nothing(call, repo, tmp_path):
    (tmp_path / "copy-private.jsonl").write_text("mine\n")
    told = call("uninstall", "--purge", "--yes", "--export", str(tmp_path / "copy.jsonl"), code=2).err
    assert "copy-private.jsonl is there already; nothing was removed; name another file for the copies" in told
    assert stored(call) == ALL


def test_each_row_that_shows_a_private_text_says_that_it_is(call, repo):
    call("remember", "Bob is not hard to work with", "--private")
    call("hook", "session-start", "--client", "claude", stdin=json.dumps({"session_id": "s1", "cwd": str(repo.root)}))
    for words in (
        ("inject",),
        ("inject", "--prompt", "is bob hard to work with?"),
        ("undo", "--list"),
        ("dedup", "log"),
        ("sessions", "show", "s1"),
        ("review", "--kind", "contradiction"),
    ):
        rows = [row for row in call(*words).out.splitlines() if "Bob" in row]
        assert rows, words
        assert not [row for row in rows if "private)" not in row], words
    cards = call("review", "--json").json["cards"]
    assert {card["scope"] for card in cards} == {"private"}


def test_a_plan_says_that_what_it_drops_is_private(call):
    call("import", "-", "--restore", stdin=memory_line("mm-aaaaaa", PRIVATE, scope="private"))
    (row,) = (row for row in call("janitor", "run", "--dry-run").out.splitlines() if row.strip().startswith("drop"))
    assert row.endswith(f": (private) {PRIVATE}")


def test_undo_says_of_a_skill_that_it_is_private(call):
    call("skill", "add", "vet-bob", "-i", "-", "-d", "How to vet Bob", "--private", stdin="1. Ask him\n")
    assert "  (private) created the skill vet-bob" in call("undo", "--list").out.splitlines()


def test_no_sentence_of_a_long_private_text_comes_back_without_its_scope(call, repo):
    text = " ".join(f"Sentence {n} of what nobody else may read is long enough to be split here." for n in range(12))
    call("remember", text, "--private")
    (repo.root / "AGENTS.md").write_text(call("export", "-o", "-", "--all-scopes", "--format", "markdown").out)
    call("rm", *ids(call).values(), "-y")
    assert "private" in call("import", "AGENTS.md").out
    assert not [said for scope, said in stored(call) if scope != "private" and "Sentence" in said]


@pytest.mark.parametrize(("words", "given"), [((), ALL), (("--prompt", PRIVATE), {("private", PRIVATE)})])
def test_lines_that_an_agent_was_given_come_back_into_their_scopes(call, repo, words, given):
    (repo.root / "notes.md").write_text(call("inject", *words).out)
    for id_ in ids(call).values():
        call("rm", id_)
    assert call("import", "notes.md").out.startswith(f"{len(given)} created")
    assert stored(call) == given
