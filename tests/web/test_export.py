"""The desk as one file: what the repository shows, and nothing that it does not."""

from __future__ import annotations

import pytest
from html_page import Html
from test_hostile import PAYLOADS, write

from memsync import Memsync
from memsync.cli.app import run
from memsync.memories import sharing

MARKER = "zebra-7-private"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def export(repo, monkeypatch):
    """Return what writes the report and takes it apart."""
    monkeypatch.chdir(repo.root)

    def export(*words: str) -> Html:
        assert run(["ui", "--export", "report.html", *words]) == 0
        return Html((repo.root / "report.html").read_text(encoding="utf-8"))

    return export


def test_the_report_has_memories_skills_what_the_branch_changes_and_health_in_one_file(repo, line, export):
    repo.write_memories(line("mm-main111", "CI needs Node 18", tags=["ci"]))
    repo.git("add", ".gobby")
    repo.git("commit", "-q", "-m", "one")
    repo.write_memories(line("mm-main111", "CI needs Node 20", tags=["ci"]) + "broken\n")
    with Memsync.open(repo.root) as project:
        project.skills.create("run-tests", "1. Run `make test`.\n", description="How to run the tests")
    page = export("--against", "main")
    assert "0 added, 1 changed, 0 removed" in page.text
    assert {"ins", "del"} <= {tag for tag, _ in page.elements}
    assert "How to run the tests" in page.text
    assert "lines that cannot be read 1" in page.text
    assert not {"script", "img", "link", "form", "iframe"} & {tag for tag, _ in page.elements}
    assert [one["href"][:1] for one in page.every("a")] == ["#"] * 4


def test_nothing_private_or_of_other_projects_or_of_this_machine_is_in_it(repo, line, export, home):
    repo.write_memories(line("mm-shared1", "CI needs Node 20") + line("mm-secret1", f"the key is {TOKEN}"))
    with Memsync.open(repo.root) as project:
        project.remember(f"{MARKER} one", scope="private")
        project.remember(f"{MARKER} two", scope="global")
        project.skills.create("secret-skill", f"{MARKER} four\n", description=MARKER, scope="private")
        project.recall("Node")
    export()
    text = (repo.root / "report.html").read_text(encoding="utf-8")
    assert "CI needs Node 20" in text
    for kept in (MARKER, TOKEN, str(home), str(repo.root)):
        assert kept not in text


def test_a_project_whose_memories_are_all_private_has_no_report(repo, export, capsys):
    (repo.root / ".gobby").mkdir()
    with Memsync.open(repo.root) as project:
        project.remember(f"{MARKER} three", scope="private")
    assert run(["memory", "config", "--stealth", "on", "--yes"]) == 0
    assert run(["ui", "--export", "report.html"]) == 1
    assert not (repo.root / "report.html").exists()
    assert "private" in capsys.readouterr().err


def test_a_hostile_record_adds_no_element_to_the_report(repo, export):
    write(repo, "innocent")
    known = set(export().shape) | {("p", ("class",)), ("span", ("class",))}
    for text in PAYLOADS:
        write(repo, text)
        assert set(export().shape) - known == set(), text


def test_what_cannot_be_written_or_compared_is_told(repo, export, capsys):
    assert run(["ui", "--export", "no/such/folder/report.html"]) == 2
    assert run(["ui", "--export", "report.html", "--against", "nowhere"]) == 1
    assert run(["ui", "--against", "main"]) == 2
    told = capsys.readouterr().err
    assert "no/such/folder" in told
    assert "unknown revision 'nowhere'" in told
    assert not (repo.root / "report.html").exists()


def test_what_was_made_private_since_is_no_removal_that_the_report_shows(repo, line, export):
    repo.write_memories(line("mm-goes111", f"{MARKER} five") + line("mm-gone111", "CI needs Node 18"))
    repo.git("add", ".gobby")
    repo.git("commit", "-q", "-m", "both")
    with Memsync.open(repo.root) as project:
        sharing.unshare(project, ["mm-goes111"])
        project.forget("mm-gone111")
    page = export()
    assert "0 added, 0 changed, 1 removed" in page.text
    assert MARKER not in (repo.root / "report.html").read_text(encoding="utf-8")


def test_a_report_is_not_written_over_the_memories(repo, line, monkeypatch, capsys):
    repo.write_memories(line("mm-shared1", "CI needs Node 20"))
    monkeypatch.chdir(repo.root)
    before = repo.memories.read_bytes()
    assert run(["ui", "--export", ".gobby/memories.jsonl"]) == 2
    assert ".gobby/memories.jsonl is a store itself" in capsys.readouterr().err
    assert repo.memories.read_bytes() == before
