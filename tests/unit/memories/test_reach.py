"""Memories of other repositories: what a nested store inherits, and what this machine knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from memsync.agents.session import RecallSession
from memsync.errors import MemoryNotFound, UsageError
from memsync.memories import reach
from memsync.memories.anchored import Touched, find_anchored, refresh_lookup
from memsync.memories.filters import Filters
from memsync.memories.lookup import Lookup, path_of
from memsync.memories.project import Project

DEPLOY = "Deploys go through ArgoCD, never by kubectl"
PORT = "The default port of services is 8080"


@pytest.fixture
def nested(repo, home) -> Path:
    """Return a folder with a store of its own, in a repository that has one."""
    folder = repo.root / "services" / "api"
    (folder / ".gobby").mkdir(parents=True)
    with Project.open(repo.root) as root:
        for text in (DEPLOY, PORT):
            root.remember(text)
    with Project.open(folder) as project:
        project.remember("The API answers 429 after 600 requests a minute")
    return folder


def texts(found) -> list[str]:
    return [entry.content for entry in found]


def test_a_nested_store_inherits_what_is_above_and_says_where_it_is(nested, repo):
    with Project.open(nested) as project:
        (hit,) = [hit for hit in project.recall("how do we deploy?") if hit.content == DEPLOY]
        assert hit.as_dict()["repo"] == str(repo.root)
        assert {DEPLOY, PORT} < set(texts(project.list_all()))
        assert project.get(hit.id).repo == str(repo.root)
        assert texts(project.memories()) == ["The API answers 429 after 600 requests a minute"]
        assert project.state("project").usage().get(hit.id) is None
    with Project.open(repo.root) as root:
        assert root.above is None
        assert root.state("project").usage()[hit.id].access_count == 1


def test_a_nested_store_that_stays_here_has_its_own_only(nested):
    with Project.open(nested) as project:
        project.above = None
        assert not project.recall("how do we deploy?")
        with pytest.raises(MemoryNotFound):
            project.get("mm-nothing")


def test_what_is_nearer_stands_for_what_is_above(nested, repo):
    with Project.open(nested) as project:
        old = next(entry for entry in project.list_all() if entry.content == PORT)
        project.remember("The default port of this service is 9090", supersedes=[old.id])
        project.remember(DEPLOY)
        assert texts(project.recall("default port")) == ["The default port of this service is 9090"]
        deploy = [entry.repo for entry in project.list_all() if entry.content == DEPLOY]
        assert deploy == [""]
        assert [hit.repo for hit in project.recall("how do we deploy?") if hit.content == DEPLOY] == [""]
        for change in (project.forget, lambda id_: project.update(id_, importance=0.1)):
            with pytest.raises(MemoryNotFound, match=f"inherited; change it in {repo.root}"):
                change(old.id)
    with Project.open(repo.root) as root:
        assert texts(root.recall("default port"))[0] == PORT
        assert root.get(old.id).memory.archived_at is None


def test_a_session_is_given_what_is_above_once_and_it_is_counted_there(nested, repo):
    with Project.open(nested) as project:
        session = RecallSession(project, "s")
        first = session.on_turn("how do we deploy?")
        assert texts(first.entries) == [DEPLOY]
        assert not session.on_turn("how do we deploy?").entries
        assert DEPLOY not in texts(session.at_start().entries)
    with Project.open(repo.root) as root:
        assert root.state("project").usage()[first.entries[0].id].access_count == 1


def test_a_session_starts_with_what_is_scoped_to_its_folder_and_without_what_is_scoped_to_another(nested, repo):
    web = repo.root / "services" / "web"
    web.mkdir()
    with Project.open(repo.root) as root:
        root.remember("Requests are validated with pydantic", importance=0.1, anchors=["services/api/"])
        root.remember("Pages are rendered on the server", importance=0.9, anchors=["services/web/"])

        def start(folder: Path) -> list[str]:
            return texts(RecallSession(root, "").at_start(limit=2, threshold=0, folder=str(folder)).entries)

        assert "Requests are validated with pydantic" in start(nested)
        assert "Pages are rendered on the server" not in start(nested)
        assert "Pages are rendered on the server" in start(web)
        assert "Pages are rendered on the server" in start(repo.root)


def test_what_is_anchored_above_is_given_before_a_file_below_is_touched(nested, repo, home):
    with Project.open(repo.root) as root:
        for anchor in ("services/api/", "services/web/", "$ make deploy"):
            (repo.root / anchor.rstrip("/")).mkdir(exist_ok=True) if anchor.endswith("/") else None
            root.remember(f"What holds for {anchor} and all that is in it", anchors=[anchor])
    with Project.open(nested) as project:
        found = find_anchored(project, Touched(paths=["app.py"], is_whole=True))
        assert texts(one.entry for one in found) == ["What holds for services/api/ and all that is in it"]
        refresh_lookup(project)
        known = Lookup(path_of(str(nested.resolve()), project.env))
        assert known.has_any(["*"])
        assert known.has_any(Touched(paths=["app.py"]).keys)
    with Project.open(repo.root) as root:
        root.remember("The port of the web service is 3000")
    assert not Lookup(path_of(str(nested.resolve()), project.env)).fresh


@pytest.fixture
def other(tmp_path, home) -> Path:
    folder = tmp_path / "other"
    folder.mkdir()
    with Project.open(folder) as project:
        project.remember("Payments are retried five times with a growing pause")
        project.remember("Nobody else is to know that salaries are paid late", scope="private")
    return folder


def test_named_repositories_are_asked_on_one_scale_and_named_in_each_row(nested, repo, other):
    with Project.open(repo.root) as project:
        projects = reach.open_named(project, [str(other), str(repo.root), str(other)])
        assert len(projects) == 2
        found = reach.recall_in(projects, "how are payments retried?", Filters())
        assert (found[0].content[:8], found[0].repo) == ("Payments", str(other))
        alone = Project.open(other).search("how are payments retried?")
        assert (found[0].score, found[0].confidence) == (alone[0].score, alone[0].confidence)
        everything = reach.recall_in(projects, None, Filters(), limit=99)
        assert {hit.repo for hit in everything} == {str(other), str(repo.root)}
        with pytest.raises(UsageError, match="no repository with memories"):
            reach.open_named(project, [str(other.parent / "nothing")])


def test_this_machine_knows_where_it_wrote_and_forgets_what_is_gone(nested, repo, other):
    with Project.open(repo.root) as project:
        assert {one.layout.root for one in reach.open_known(project)} == {repo.root, nested, other}
        other.rename(other.with_name("gone"))
        assert {one.layout.root for one in reach.open_known(project)} == {repo.root, nested}
