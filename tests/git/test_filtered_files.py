"""A filter of git's on the memory file: what git merges and stores is not what a user reads, and nothing is lost."""

from __future__ import annotations

import subprocess

import pytest
from doing import said, shown
from gitfilters import FILE, HOME_MADE, add_filter, set_up
from helpers import GitRepo, memsync


def write(repo: GitRepo, text: str) -> None:
    assert memsync("add", text, cwd=repo.root).code == 0
    repo.git("add", "-A")
    repo.git("commit", "-qm", text)


def part(repo: GitRepo) -> None:
    """Let two branches each have a memory of their own beside one that both have."""
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    write(repo, "The kettle of the base")
    repo.git("switch", "-qc", "other")
    write(repo, "A cable of the other side")
    repo.git("switch", "-q", "main")
    write(repo, "The socket of this side")


ALL = {"The kettle of the base", "A cable of the other side", "The socket of this side"}
KINDS = ("rot", "lfs", "crypt")


def stored(repo: GitRepo) -> bytes:
    words = ["git", "cat-file", "blob", f"HEAD:{FILE}"]
    return subprocess.run(words, cwd=repo.root, capture_output=True, check=True).stdout


@pytest.mark.parametrize("kind", KINDS)
def test_the_driver_merges_what_a_user_reads_and_gives_git_what_it_stores(repo, kind):
    set_up(repo, kind)
    part(repo)
    said(repo, "merge", "-q", "other", "-m", "merged")
    assert shown(repo.root) == ALL
    assert b'"content"' not in stored(repo)
    assert repo.status() == ""


@pytest.mark.parametrize("kind", ["gzip", "lfs", "crypt"])  # git merges none of these as text without a conflict
def test_sync_merges_what_a_user_reads_in_a_clone_without_the_driver(repo, kind):
    set_up(repo, kind)
    part(repo)
    repo.git("config", "--remove-section", "merge.memsync")
    said(repo, "merge", "-q", "other", code=1)
    done = memsync("sync", cwd=repo.root)
    assert (done.code, "resolved the conflict" in done.out) == (0, True)
    repo.git("commit", "-qm", "merged")
    assert shown(repo.root) == ALL
    assert b'"content"' not in stored(repo)


@pytest.mark.parametrize("kind", ["gzip", "crypt"])  # over which git begins a merge though the file is changed
def test_sync_keeps_what_was_not_committed_and_the_other_side_where_git_began_a_merge_over_it(repo, kind):
    set_up(repo, kind)
    part(repo)
    repo.git("config", "--remove-section", "merge.memsync")
    memsync("add", "A lamp in no commit", cwd=repo.root)
    said(repo, "merge", "-q", "other", code=1)
    assert "resolved the conflict" in memsync("sync", cwd=repo.root).out
    repo.git("commit", "-qm", "merged")
    assert shown(repo.root) == {*ALL, "A lamp in no commit"}


@pytest.mark.parametrize("rule", ["-merge", "binary", "merge=binary"])
def test_sync_merges_both_sides_where_a_line_of_the_users_has_git_leave_ours_without_markers(repo, rule):
    part(repo)
    with (repo.root / ".gitattributes").open("a") as file:
        file.write(f"*.jsonl {rule}\n")
    repo.git("commit", "-qam", "rule")
    memsync("add", "A lamp in no commit", cwd=repo.root)
    said(repo, "stash", "push", "-q")
    said(repo, "merge", "-q", "other", code=1)
    assert "resolved the conflict" in memsync("sync", cwd=repo.root).out
    repo.git("commit", "-qm", "merged")
    assert shown(repo.root) == ALL
    said(repo, "stash", "pop", "-q", code=1)
    memsync("sync", cwd=repo.root)
    assert shown(repo.root) == {*ALL, "A lamp in no commit"}


@pytest.mark.parametrize("kind", ["gzip", "lfs", "crypt"])
def test_sync_merges_a_stash_in_a_clone_without_the_driver(repo, kind):
    set_up(repo, kind)
    part(repo)
    repo.git("config", "--remove-section", "merge.memsync")
    memsync("add", "A cable in the stash", cwd=repo.root)
    repo.git("stash", "push", "-q")
    write(repo, "A plug that came meanwhile")
    said(repo, "stash", "pop", "-q", code=1)
    assert "resolved the conflict" in memsync("sync", cwd=repo.root).out
    repo.git("commit", "-qm", "merged")
    wanted = {"The kettle of the base", "The socket of this side", "A cable in the stash", "A plug that came meanwhile"}
    assert shown(repo.root) == wanted


def test_what_a_hand_wrote_between_pointers_is_kept(repo):
    set_up(repo, "lfs")
    part(repo)
    repo.git("config", "--remove-section", "merge.memsync")
    said(repo, "merge", "-q", "other", code=1)
    with repo.memories.open("a") as file:
        file.write('{"content":"by hand","id":"mm-hand22"}\n')
    assert memsync("sync", cwd=repo.root).code == 0
    assert shown(repo.root) == {*ALL, "by hand"}


def test_without_the_filter_the_driver_leaves_the_conflict_and_both_sides(repo):
    set_up(repo, "rot")
    part(repo)
    repo.git("config", "--remove-section", "filter.rot")
    told = said(repo, "merge", "other", code=1)
    assert "git's filter rot does not give its text here" in told
    assert len(repo.git("ls-files", "-u").splitlines()) == 3
    refused = memsync("sync", cwd=repo.root)
    assert (refused.code, "filter rot" in refused.out + refused.err) == (1, True)
    repo.git("merge", "--abort")
    add_filter(repo, "rot")
    repo.memories.unlink()
    repo.git("checkout", "--", FILE)
    said(repo, "merge", "-q", "other", "-m", "merged")
    assert shown(repo.root) == ALL


@pytest.mark.parametrize(
    "head", [b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", b"\0GITCRYPT\0\x01\x02"]
)
def test_nothing_is_written_to_a_pointer_or_to_what_is_encrypted(repo, head):
    repo.write_memories(head)
    refused = memsync("add", "A memory for nobody", cwd=repo.root)
    assert (refused.code, "run `git lfs pull` or `git-crypt unlock`" in refused.err) == (1, True)
    assert repo.memories.read_bytes() == head


@pytest.mark.parametrize("kind", KINDS)
def test_a_commit_is_told_of_no_line_that_cannot_be_read(repo, kind):
    set_up(repo, kind)
    part(repo)
    assert memsync("add", "One more for the commit", cwd=repo.root).code == 0
    assert "not JSON" not in said(repo, "commit", "-qam", "more")


OURS = ".gobby/memories.jsonl merge=memsync diff=memsync text eol=lf -linguist-generated"
HOME_MADE["odd"] = ("gzip -nc; printf 'A\\r\\nB'", "head -c -4 | gzip -dc")


def test_git_converts_no_line_ends_in_what_a_filter_gave_it(repo):
    set_up(repo, "odd")
    told = memsync("init", "--agent", "none", cwd=repo.root)
    assert "git's filter odd is on the memories" in told.out
    write(repo, "The kettle is in the kitchen")
    assert stored(repo).endswith(b"A\r\nB")


def test_a_large_file_that_git_crypt_encrypts_can_be_decrypted(repo):
    set_up(repo, "crypt")
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    rows = (f'{{"content":"{number:04} {"x" * 200}","id":"mm-{number:04}"}}\n' for number in range(1500))
    repo.memories.write_text("".join(rows))
    repo.git("add", "-A")
    repo.git("commit", "-qm", "many", "--no-verify")
    assert stored(repo).count(b"\r\n")
    repo.memories.unlink()
    repo.git("checkout", "--", FILE)
    assert repo.status() == ""


@pytest.mark.parametrize("command", [("init", "--agent", "none"), ("doctor", "--fix")])
def test_a_line_that_was_written_before_is_brought_up_to_date(repo, command):
    set_up(repo, "odd")
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    rules = repo.root / ".gitattributes"
    rules.write_text(rules.read_text().replace(" -text ", " text eol=lf "))
    assert OURS in rules.read_text()
    write(repo, "The kettle is in the kitchen")
    assert stored(repo).endswith(b"A\nB")
    assert "git converts line ends in what its filter odd makes" in memsync("doctor", cwd=repo.root).out
    assert memsync(*command, cwd=repo.root).code == 0
    assert "git converts line ends" not in memsync("doctor", cwd=repo.root).out
    repo.git("add", "--renormalize", FILE)
    repo.git("commit", "-qam", "mended")
    assert stored(repo).endswith(b"A\r\nB")
    assert OURS not in rules.read_text()


def test_a_filter_that_comes_before_the_first_memory_is_committed_takes_no_bytes_once_doctor_has_mended_the_line(repo):
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    add_filter(repo, "odd")
    with (repo.root / ".gitattributes").open("a") as rules:
        rules.write("*.jsonl filter=odd\n")
    assert "as bytes" in memsync("doctor", "--fix", cwd=repo.root).out
    write(repo, "The kettle is in the kitchen")
    assert stored(repo).endswith(b"A\r\nB")


def test_the_pointers_of_git_lfs_stay_text(repo):
    set_up(repo, "lfs")
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    assert OURS in (repo.root / ".gitattributes").read_text()


@pytest.mark.parametrize("command", ["doctor", "git status"])
def test_a_filter_is_named(repo, command):
    set_up(repo, "rot")
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    write(repo, "The kettle is in the kitchen")
    assert f"git's filter rot is on {FILE}" in memsync(*command.split(), cwd=repo.root).out
    repo.git("config", "--remove-section", "filter.rot")
    assert "this clone has no filter rot" in memsync(*command.split(), cwd=repo.root).out


@pytest.mark.parametrize("is_required", [True, False], ids=["required", "not required"])
@pytest.mark.parametrize("command", ["doctor", "git status"])
def test_a_filter_whose_program_is_gone_is_named(repo, command, is_required):
    set_up(repo, "rot")
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    write(repo, "The kettle is in the kitchen")
    repo.git("config", "filter.rot.required", str(is_required).lower())
    repo.git("config", "filter.rot.clean", str(repo.root.with_name("gone")))
    assert "this clone has no filter rot that works" in memsync(*command.split(), cwd=repo.root).out


@pytest.mark.parametrize("line", ["filter=rot", "-diff", "eol=crlf"])
def test_a_line_of_the_users_about_the_memories_keeps_what_it_says_beside_ours(repo, line):
    add_filter(repo, "rot")
    (repo.root / ".gitattributes").write_text(f"{FILE} {line}\n")
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    again = memsync("init", "--agent", "none", cwd=repo.root)
    assert (again.code, "added our lines" in again.out) == (0, False)
    part(repo)
    said(repo, "merge", "-q", "other", "-m", "merged")
    assert shown(repo.root) == ALL
    name, _, value = line.lstrip("-").partition("=")
    assert repo.git("check-attr", name, FILE) == f"{FILE}: {name}: {value or 'unset'}\n"
    assert memsync("uninstall", "--purge", "--yes", cwd=repo.root).code == 0
    assert (repo.root / ".gitattributes").read_text() == f"{FILE} {line}\n"


def test_a_rule_for_merging_of_the_users_stays_the_only_one(repo):
    (repo.root / ".gitattributes").write_text(f"{FILE} merge=union\n")
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    assert repo.git("check-attr", "merge", FILE) == f"{FILE}: merge: union\n"


def test_init_says_that_git_converts_the_memories_to_another_encoding(repo):
    (repo.root / ".gitattributes").write_text("*.jsonl working-tree-encoding=UTF-16LE\n")
    told = memsync("init", "--agent", "none", cwd=repo.root).out
    assert f"git converts {FILE} to UTF-16LE" in told
    with (repo.root / ".gitattributes").open("a") as file:
        file.write(f"{FILE} !working-tree-encoding\n")
    write(repo, "The kettle is in the kitchen")
    assert b'"content"' in stored(repo)
