"""`memsync janitor review` at a real terminal: one keypress per cluster of likely copies."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from test_dedup_review import talk

from memsync.cli.app import run
from memsync.janitor.likely import find_clusters

pytest.importorskip("pty", reason="terminals are POSIX")

SAME = (
    "Run make fmt before each commit; CI rejects Go that is not formatted.",
    "Before every commit run make fmt, since CI rejects unformatted Go files.",
)
OTHER = (
    "The staging database is restored from the dump every night.",
    "Every night the staging database is restored from yesterday's dump.",
)


@pytest.fixture
def review(project, repo, line, monkeypatch) -> Callable[[list[str]], str]:
    """Return a function that reviews two clusters, one of them with a private copy, with these keys."""
    repo.write_memories(
        "".join(line(id_, text) for id_, text in zip(("mm-a", "mm-b", "mm-c"), (*SAME, OTHER[0]), strict=True))
    )
    project.remember(OTHER[1], scope="private", importance=0.9)
    monkeypatch.chdir(repo.root)
    return lambda keys: talk(["janitor", "review"], keys, "q quit")


def live(project) -> set[str]:
    project.stores.refresh()
    stores = project.stores.values()
    return {memory.content for store in stores for memory in store.memories().values() if not memory.archived_at}


def test_b_keeps_the_best_and_a_private_copy_goes_for_the_one_of_the_project(review, project):
    shown = review(["b", "b"])
    assert "1/2 copies" in shown
    assert len(live(project) & set(SAME)) == 1
    assert live(project) & set(OTHER) == {OTHER[0]}
    assert {row.review_status for scope in ("project", "private") for row in project.state(scope).dedup_log()} == {
        "confirmed"
    }


def test_a_keeps_all_and_asks_no_more(review, project):
    review(["a", "a"])
    assert live(project) == {*SAME, *OTHER}
    assert "nothing waits for a decision" in review([])


def test_u_takes_the_last_key_back(review, project):
    review(["b", "u", "q"])
    assert live(project) == {*SAME, *OTHER}


def test_h_puts_another_one_first(review, project):
    best = next(cluster.keep for cluster in find_clusters(project) if cluster.keep in ("mm-a", "mm-b"))
    review(["s", "h", "b", "q"] if find_clusters(project)[0].keep != best else ["h", "b", "q"])
    assert live(project) & set(SAME) == {SAME[best == "mm-a"]}


def test_m_merges_into_the_text_that_was_edited(review, project, monkeypatch, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i '1s/.*/Format Go before each commit, or CI says no./' \"$1\"\n")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.setenv("VISUAL", str(editor))
    review(["m", "q"])
    texts = live(project)
    assert "Format Go before each commit, or CI says no." in texts
    assert len(texts) == 3


@pytest.mark.usefixtures("review")
def test_without_a_terminal_the_clusters_are_listed(capsys):
    assert run(["janitor", "review", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["count"] == 2
    assert {each["scope"] for one in told["cards"] for each in one["copies"]} == {"project", "private"}
