"""Whose store is used: what another user has put in the way is not, as in git's safe.directory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from helpers import GitRepo, memory_line, memsync

from memsync.store.places import locate
from memsync.system import home

SOMEBODY = 54321
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")


def plant(directory: Path, owner: int) -> Path:
    """Put a store of *owner* into *directory*."""
    store = directory / ".gobby"
    store.mkdir(parents=True)
    (store / "memories.jsonl").write_text(memory_line("mm-aaaaaa", "deploy with the planted script"))
    for path in (store, store / "memories.jsonl"):
        os.chown(path, owner, owner)
    return store


class Nobody:
    """Somebody who is not root, which may read anything, and a directory of their own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def own(self, path: Path) -> None:
        if os.geteuid() == 0:
            for one in (self.directory, path, *path.rglob("*")):
                os.chown(one, 65534, 65534)

    def run(self, imports: str, script: str, path: Path) -> str:
        """Return what *script* prints about *path*, in a child that has loaded what it *imports* before."""
        lines = ("import os, sys; from pathlib import Path", imports, "if os.geteuid() == 0: os.setuid(65534)", script)
        words = [sys.executable, "-c", "\n".join(lines), str(path)]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def nobody():
    with tempfile.TemporaryDirectory() as directory:
        yield Nobody(Path(directory))


@as_root
def test_a_store_that_another_user_planted_above_is_not_used(tmp_path):
    store = plant(tmp_path / "shared", SOMEBODY)
    work = tmp_path / "shared" / "x" / "work"
    work.mkdir(parents=True)
    listed = memsync("memory", "list", cwd=work)
    assert "planted" not in listed.out
    assert f"{store} belongs to another user and is not used" in listed.err
    assert f"git config --global --add safe.directory {tmp_path / 'shared'}" in listed.err
    assert locate(work).root == work


@as_root
@pytest.mark.parametrize("value", ["{top}", "*", "{top}/../shared/"])
def test_what_git_is_told_to_trust_is_used(tmp_path, value):
    plant(tmp_path / "shared", SOMEBODY)
    value = value.format(top=tmp_path / "shared")
    subprocess.run(["git", "config", "--global", "--add", "safe.directory", value], check=True)
    expected = tmp_path / "shared" if ".." not in value else tmp_path / "shared" / "x"
    (tmp_path / "shared" / "x").mkdir()
    assert locate(tmp_path / "shared" / "x").root == expected
    subprocess.run(["git", "config", "--global", "--add", "safe.directory", ""], check=True)
    assert locate(tmp_path / "shared" / "x").root == tmp_path / "shared" / "x"


@as_root
def test_a_repository_cannot_say_itself_that_it_is_safe(tmp_path):
    repo = GitRepo.create(tmp_path / "repo")
    repo.git("config", "safe.directory", "*")
    plant(repo.root, SOMEBODY)
    for path in (repo.root, repo.root / ".git"):
        os.chown(path, SOMEBODY, SOMEBODY)
    layout = locate(repo.root)
    assert (layout.root, layout.git) == (None, None)
    ran = memsync("memory", "remember", "a fact", cwd=repo.root)
    assert ran.code == 1
    assert "belongs to another user" in ran.err
    subprocess.run(["git", "config", "--global", "--add", "safe.directory", str(repo.root)], check=True)
    assert memsync("memory", "remember", "a fact", cwd=repo.root).code == 0


@as_root
def test_a_store_of_another_user_inside_ones_own_checkout_is_not_used_unless_the_group_shares_it(repo):
    store = plant(repo.root, SOMEBODY)
    listed = memsync("memory", "list", cwd=repo.root)
    assert "planted" not in listed.out
    assert f"{store} belongs to another user and is not used" in listed.err
    assert locate(repo.root).root is None
    repo.git("config", "core.sharedRepository", "group")
    os.chown(store, SOMEBODY, os.getegid())
    assert locate(repo.root).notes == ()


@as_root
def test_a_store_of_another_user_inside_ones_own_checkout_is_used_once_git_is_told_to_trust_the_checkout(repo):
    plant(repo.root, SOMEBODY)
    subprocess.run(["git", "config", "--global", "--add", "safe.directory", str(repo.root)], check=True)
    assert "planted" in memsync("memory", "list", cwd=repo.root).out
    assert locate(repo.root).notes == ()


@as_root
def test_a_store_of_another_user_in_the_directory_itself_is_not_used_without_git_either(tmp_path):
    store = plant(tmp_path, SOMEBODY)
    listed = memsync("memory", "list", cwd=tmp_path)
    assert "planted" not in listed.out
    assert f"{store} belongs to another user and is not used" in listed.err
    assert locate(tmp_path).root is None


def plant_file(path: Path, text: str, owner: int = SOMEBODY) -> None:
    """Put a file of *owner* into an own directory that everybody may write to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o777)
    path.write_text(text)
    os.chown(path, owner, owner)


@as_root
@pytest.mark.parametrize("name", ["memories.jsonl", "config.yaml"])
def test_a_file_of_another_user_in_ones_own_store_is_not_used_and_named(repo, name):
    path = repo.root / ".gobby" / name
    plant_file(path, memory_line("mm-aaaaaa", "deploy with the planted script") if name[0] == "m" else "enabled: false")
    listed = memsync("list", cwd=repo.root)
    assert "planted" not in listed.out
    assert f"{path} belongs to another user and is not used" in listed.err
    ran = memsync("remember", "a fact of mine", cwd=repo.root)
    assert (ran.code, f"{path} belongs to another user" in ran.err) == (1, True)
    subprocess.run(["git", "config", "--global", "--add", "safe.directory", str(repo.root)], check=True)
    assert locate(repo.root).root == repo.root


@as_root
@pytest.mark.parametrize("name", ["pending.jsonl", "history.jsonl", "state.db", "lock"])
def test_a_local_file_of_another_user_is_not_used_and_named(repo, name):
    repo.write_memories(memory_line("mm-bbbbbb", "a fact of mine"))
    path = repo.root / ".gobby" / "local" / name
    plant_file(path, memory_line("mm-aaaaaa", "deploy with the planted script"))
    listed = memsync("list", cwd=repo.root)
    assert "planted" not in listed.out
    assert "a fact of mine" in listed.out
    assert f"{path.parent} holds {name}, which belongs to another user, so nothing in it is used" in listed.err
    assert memsync("restore", "mm-aaaaaa", cwd=repo.root).code == 1
    assert "planted" not in repo.memories.read_text()
    path.unlink()
    assert locate(repo.root).notes == ()


@as_root
def test_what_root_or_the_owner_of_the_checkout_wrote_into_ones_own_store_is_used(nobody):
    """As where a container wrote it, and where root looks at the checkout of somebody else."""
    repo = GitRepo.create(nobody.directory / "work")
    repo.write_memories(memory_line("mm-bbbbbb", "a fact of mine"))
    (repo.root / ".gobby" / "local").mkdir()
    nobody.own(repo.root)
    for path in (repo.memories, repo.root / ".gobby" / "local" / "pending.jsonl"):
        path.touch()
        os.chown(path, 0, 0)
        path.chmod(0o644)
    said = nobody.run(
        "from memsync.store.places import locate",
        "layout = locate(Path(sys.argv[1])); print(layout.root, layout.instead, layout.notes)",
        repo.root,
    )
    assert said == f"{repo.root} None ()\n"
    subprocess.run(["git", "config", "--global", "--add", "safe.directory", str(repo.root)], check=True)
    assert locate(repo.root).notes == ()


@as_root
@pytest.mark.parametrize("sudo", [{}, {"SUDO_UID": str(SOMEBODY)}])
@pytest.mark.parametrize("part", ["", "config.yaml", "memories.jsonl"])
def test_the_home_store_of_another_user_is_not_used_and_named(repo, home, part, sudo):
    """As with `sudo -E`, and with `sudo` on a Mac: what its settings name would be started as root."""
    own = home / ".gobby"
    proof = home / "started"
    plant_file(own / "config.yaml", f"llm:\n  provider: command\n  command: touch {proof}\n", 0)
    plant_file(own / "memories.jsonl", memory_line("mm-aaaaaa", "the planted one"), 0)
    os.chown(own / part, SOMEBODY, SOMEBODY)
    listed = memsync("list", cwd=repo.root, env=sudo)
    assert (
        f"{own / part if part else own} belongs to another user, so the home store is not used; set HOME" in listed.err
    )
    assert listed.err.count("belongs to another user") == 1
    assert "planted" not in listed.out
    assert "touch" not in memsync("config", "--json", cwd=repo.root, env=sudo).out
    ran = memsync("remember", "--global", "a fact", cwd=repo.root, env=sudo)
    assert (ran.code, "belongs to another user" in ran.err) == (1, True)
    assert memsync("remember", "a fact", cwd=repo.root, env=sudo).code == 0
    named = memsync("list", cwd=repo.root, env={**sudo, "MEMSYNC_HOME": str(own)})
    assert "the planted one" in named.out
    assert not proof.exists()


@pytest.mark.skipif(os.name != "posix", reason="modes")
@pytest.mark.parametrize("is_checkout", [True, False])
@pytest.mark.parametrize("name", ["", "run", "state.db"])
def test_local_files_that_one_may_not_read_are_named_with_what_makes_them_ones_own(nobody, is_checkout, name):
    """As after `sudo memsync`: the directory, or something in it, is root's."""
    root = nobody.directory / "work"
    if is_checkout:
        GitRepo.create(root)
    local = root / ".gobby" / "local"
    (local / "run").mkdir(parents=True)
    (local / "state.db").touch()
    nobody.own(root)
    (local / name).chmod(0)
    said = nobody.run(
        "from memsync.store.places import locate",
        "layout = locate(Path(sys.argv[1])); print(layout.root, layout.instead, *layout.notes, layout.refused)",
        root,
    )
    assert f"{local} {f'holds {name}, which ' if name else ''}may not be read by you" in said
    assert f'make it yours: sudo chown -R "$(id -un)" {local}' in said
    assert said.startswith(f"{root} {root / '.git' / 'memsync'}" if is_checkout else "None None")


@as_root
def test_root_acts_for_whoever_called_sudo(tmp_path):
    plant(tmp_path, SOMEBODY)
    assert locate(tmp_path, {**os.environ, "SUDO_UID": str(SOMEBODY)}).notes == ()
    assert locate(tmp_path, {**os.environ, "SUDO_UID": "x"}).notes != ()


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_no_store_above_a_directory_that_everybody_may_write_to_is_used(tmp_path, mode):
    (tmp_path / "open" / ".gobby").mkdir(parents=True)
    (tmp_path / "open" / "work").mkdir()
    (tmp_path / "open").chmod(mode)
    layout = locate(tmp_path / "open" / "work")
    assert layout.root == tmp_path / "open" / "work"
    assert "anyone can write to" in layout.notes[0]
    assert locate(tmp_path / "open").root == tmp_path / "open"


def test_what_is_not_there_belongs_to_nobody_else(tmp_path):
    assert home.find_foreign([tmp_path / "none", tmp_path]) is None


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_doctor_closes_the_directory_of_the_private_stores(repo, home):
    memsync("memory", "add", "--private", "a private fact", cwd=repo.root)
    memsync("memory", "add", "--global", "a global fact", cwd=repo.root)
    projects = home / ".gobby" / "projects"
    projects.chmod(0o755)
    found = memsync("doctor", cwd=repo.root)
    assert f"{projects}" in found.out
    assert "mode 755, should be 700" in found.out
    memsync("doctor", "--fix", cwd=repo.root)
    assert projects.stat().st_mode & 0o777 == 0o700
