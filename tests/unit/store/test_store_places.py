"""Which directory is the project, and which stealth store is its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers import GitRepo

from memsync.errors import NoStore
from memsync.memories.stores import keep_key
from memsync.store.identity import key_file, normal_url
from memsync.store.places import Layout, home_dir, locate


def key_of(path: Path) -> str:
    return locate(path, {}).private.directory.name


def keep(repo: GitRepo) -> str:
    """Store the key as the first stealth write does."""
    keep_key(locate(repo.root, {}))
    return key_of(repo.root)


def test_the_project_is_the_top_of_the_work_tree(repo):
    below = repo.root / "src" / "deep"
    below.mkdir(parents=True)
    assert [locate(path, {}).root for path in (repo.root, below)] == [repo.root, repo.root]


def test_the_nearest_store_upwards_is_the_project(repo):
    (repo.root / ".gobby").mkdir()
    nested = repo.root / "packages" / "one"
    (nested / ".gobby").mkdir(parents=True)
    (nested / "src").mkdir()
    roots = [locate(path, {}).root for path in (nested / "src", nested, nested.parent, repo.root)]
    assert roots == [nested, nested, repo.root, repo.root]


def test_a_store_above_the_repository_is_not_the_projects(tmp_path):
    (tmp_path / ".gobby").mkdir()
    repo = GitRepo.create(tmp_path / "repo")
    assert locate(repo.root, {}).root == repo.root


def test_outside_git_the_nearest_store_or_the_directory_itself_is_the_project(tmp_path):
    (tmp_path / "notes" / ".gobby").mkdir(parents=True)
    (tmp_path / "notes" / "sub").mkdir()
    (tmp_path / "other").mkdir()
    assert locate(tmp_path / "notes" / "sub", {}).root == tmp_path / "notes"
    assert locate(tmp_path / "other", {}).root == tmp_path / "other"


def test_a_relative_or_missing_start_is_no_error(repo, monkeypatch):
    monkeypatch.chdir(repo.root)
    assert locate(Path("no/such/directory"), {}).root == repo.root


def test_the_places_of_a_project(repo, home):
    layout = locate(repo.root, {})
    places = [layout.place(scope) for scope in ("project", "global", "private")]
    assert [(place.memories, place.tree, place.private) for place in places] == [
        (repo.root / ".gobby" / "memories.jsonl", repo.root, False),
        (home / ".gobby" / "memories.jsonl", None, True),
        (home / ".gobby" / "projects" / layout.private_store.directory.name / "memories.jsonl", None, True),
    ]


def test_the_home_store_is_never_the_store_of_a_project_below_it(home):
    (home / ".gobby").mkdir()
    (home / "notes").mkdir()
    assert locate(home / "notes", {}).root == home / "notes"


def test_the_home_store_is_not_taken_for_a_project_when_home_is_a_link(home, tmp_path, monkeypatch):
    (home / ".gobby").mkdir()
    (home / "notes").mkdir()
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    assert locate(home / "notes", {}).root == home / "notes"


def test_a_moved_home_store_leaves_gobbys_own_home_alone(home, tmp_path):
    (home / ".gobby").mkdir()
    (home / "notes").mkdir()
    layout = locate(home / "notes", {"MEMSYNC_HOME": str(tmp_path / "moved")})
    assert (layout.root, layout.home) == (home / "notes", tmp_path / "moved")


def test_a_home_store_elsewhere_is_no_project_for_what_lies_beside_it(tmp_path):
    (tmp_path / ".gobby").mkdir()
    (tmp_path / "notes").mkdir()
    layout = locate(tmp_path / "notes", {"MEMSYNC_HOME": str(tmp_path / ".gobby")})
    assert layout.root == tmp_path / "notes"


def test_the_home_directory_as_a_project_has_one_store_and_not_two(home):
    layout = locate(home, {})
    assert layout.project is None or layout.project.directory != layout.global_.directory


def test_the_home_store_follows_the_environment(home):
    assert home_dir({}) == home / ".gobby"
    assert home_dir({"MEMSYNC_HOME": "~/elsewhere"}) == home / "elsewhere"
    assert home_dir({"MEMSYNC_HOME": ""}) == home / ".gobby"


def test_an_empty_home_is_no_home(monkeypatch):
    monkeypatch.setenv("HOME", "")
    assert home_dir({}) is None


def test_without_a_home_there_is_a_project_and_nothing_else(repo):
    layout = Layout(repo.root, repo.root, None, home=None)
    assert (layout.project.directory, layout.global_, layout.private) == (repo.root / ".gobby", None, None)
    with pytest.raises(NoStore, match="no home directory is known; set HOME"):
        layout.place("global")


def test_a_bare_repository_has_no_project_and_says_what_to_do(tmp_path):
    bare = tmp_path / "bare.git"
    bare.mkdir()
    GitRepo(bare).git("init", "-q", "--bare")
    layout = locate(bare, {})
    assert (layout.root, layout.project) == (None, None)
    with pytest.raises(NoStore, match="is a bare repository and has no work tree; use --global"):
        layout.place("project")


@pytest.mark.parametrize(
    "url",
    [
        "git@example.org:team/tool.git",
        "git@example.org:/team/tool.git",
        "ssh://git@example.org/team/tool",
        "ssh://example.org/team/tool.git/",
        "https://example.org/team/tool.git",
        "https://user:token@example.org/team/tool/",
        "https://EXAMPLE.org/team/tool",
        "git://example.org/team/tool.git",
        '"https://example.org/team/tool.git"',
        "example.org:team/tool.git",
    ],
)
def test_every_spelling_of_a_remote_is_one(url):
    assert normal_url(url) == "example.org/team/tool"


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("git@example.org:team/Tool.git", "example.org/team/Tool"),
        ("https://example.org:8443/tool.git", "example.org:8443/tool"),
        ("/srv/git/tool.git", "/srv/git/tool"),
        ("file:///srv/git/tool.git", "/srv/git/tool"),
        ("https://example.org/digit", "example.org/digit"),
    ],
)
def test_what_tells_two_remotes_apart_is_kept(url, normal):
    assert normal_url(url) == normal


def test_clones_of_one_remote_share_a_key_whatever_spelling_each_has(tmp_path):
    one, two, other = (GitRepo.create(tmp_path / name) for name in ("one", "two", "other"))
    one.git("remote", "add", "origin", "git@example.org:team/tool.git")
    two.git("remote", "add", "upstream", "https://example.org/somebody/else.git")
    two.git("remote", "add", "origin", "https://user:token@example.org/team/tool")
    other.git("remote", "add", "origin", "https://example.org/team/other")
    assert key_of(one.root) == key_of(two.root) != key_of(other.root)
    assert key_of(one.root).startswith("tool-")


def test_the_key_holds_no_secret_of_the_url(repo):
    repo.git("remote", "add", "origin", "https://user:token@example.org/team/tool.git")
    before = key_of(repo.root)
    repo.git("remote", "set-url", "origin", "https://user:other@example.org/team/tool.git")
    assert key_of(repo.root) == before
    assert "token" not in before


def test_all_worktrees_of_a_clone_share_its_key(repo, tmp_path):
    repo.git("worktree", "add", "-q", str(tmp_path / "tree"))
    tree = tmp_path / "tree"
    assert locate(tree, {}).root == tree
    assert key_of(tree) == key_of(repo.root)
    assert key_file(locate(tree, {}).git) == key_file(locate(repo.root, {}).git)


def test_a_submodule_is_a_project_with_a_key_of_its_own(repo, tmp_path):
    part = GitRepo.create(tmp_path / "part")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(part.root), "sub")
    assert locate(repo.root / "sub", {}).root == repo.root / "sub"
    assert key_of(repo.root / "sub") != key_of(repo.root)


def test_two_repositories_of_one_name_have_different_keys(tmp_path):
    one, two = GitRepo.create(tmp_path / "a" / "tool"), GitRepo.create(tmp_path / "b" / "tool")
    assert key_of(one.root) != key_of(two.root)
    assert key_of(one.root).startswith("tool-")


def test_a_clone_that_has_a_key_keeps_it_when_it_moves_or_gets_a_remote(repo, tmp_path):
    before = keep(repo)
    repo.git("remote", "add", "origin", "https://example.org/team/tool")
    moved = repo.root.rename(tmp_path / "moved")
    assert key_of(moved) == before


def test_a_kept_key_never_leads_out_of_the_home_store(repo, home):
    keep(repo)
    for text in ("../../elsewhere", "..", "/etc", "."):
        key_file(locate(repo.root, {}).git).write_text(text)
        place = locate(repo.root, {}).private
        assert os.path.dirname(os.path.normpath(place.directory)) == str(home / ".gobby" / "projects")


def test_outside_git_the_key_is_that_of_the_directory(tmp_path):
    one, two = tmp_path / "Mes Notes é", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    assert key_of(one).startswith("mes-notes-")
    assert key_of(one) != key_of(two)


@pytest.mark.parametrize("text", ["", "gitdir: /no/such/place\n", "rubbish\n"])
def test_a_git_file_that_leads_nowhere_is_no_repository(tmp_path, text):
    (tmp_path / ".git").write_text(text)
    assert locate(tmp_path, {}).git is None
