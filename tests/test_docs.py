"""The documents say what is true: their code runs, and what is generated is up to date."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import transcripts

from memsync.cli.app import cli
from tools.write_docs import HELP, REFERENCE, SCHEMA, SETTINGS_PAGE, group_helps, reference, schema, settings_page

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
PLACE = re.compile(r"\]\((?!https?:)([^)#]*)#([^)]+)\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(
        match[1], match[2], id=f"{path.relative_to(ROOT)}:{path.read_text()[: match.start()].count(chr(10)) + 1}"
    )
    for path in DOCUMENTS
    for match in BLOCK.finditer(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("language", "code"), BLOCKS)
def test_the_code_of_a_document_runs_as_shown(language, code, repo, home, monkeypatch):
    if language == "python":
        monkeypatch.chdir(repo.root)
        exec(compile(code, "document", "exec"), {})
        return
    assert transcripts.same(transcripts.run(code, repo.root, home)) == transcripts.same(code)


def test_the_readme_has_code_that_runs():
    assert {kind for kind, _ in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))} == {
        "console",
        "python",
    }


def test_the_readme_and_the_index_of_the_documents_lead_to_every_document():
    index = ROOT / "docs" / "README.md"
    readme = ROOT / "README.md"
    reached = {
        (page.parent / target).resolve() for page in (readme, index) for target in LINK.findall(page.read_text("utf-8"))
    }
    assert index in reached
    assert {*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")} - {readme, index} <= reached


def test_help_shown_without_click_is_what_click_shows():
    written = {path.name: path.read_text(encoding="utf-8") for path in HELP.iterdir()}
    assert written == group_helps(), "run `make docs`"


def test_the_command_reference_is_up_to_date():
    assert REFERENCE.read_text(encoding="utf-8") == reference(), "run `make docs`"


def test_the_schema_of_the_format_is_up_to_date():
    assert SCHEMA.read_text(encoding="utf-8") == schema(), "run `make docs`"


def test_the_page_of_settings_is_up_to_date():
    assert SETTINGS_PAGE.read_text(encoding="utf-8") == settings_page(), "run `make docs`"


def test_every_command_has_help_with_an_example():
    sections = dict(part.split("\n", 1) for part in re.split(r"^## (?=memsync )", reference(), flags=re.MULTILINE)[1:])
    assert len(sections) > 100
    is_shown = {path: "COMMAND [ARGS]..." in text or "Example" in text for path, text in sections.items()}
    assert [path for path, shown in is_shown.items() if not shown] == []


def test_every_group_and_command_is_in_the_tree():
    assert set(cli.list_commands(None)) == {
        "check",
        "completion",
        "config",
        "demo",
        "doctor",
        "eval",
        "format",
        "git",
        "hub",
        "index",
        "inject",
        "init",
        "janitor",
        "mcp",
        "hook",
        "learn",
        "memory",
        "mirror",
        "replay",
        "review",
        "serve",
        "sessions",
        "skill",
        "status",
        "statusline",
        "sync",
        "test",
        "trust",
        "ui",
        "uninstall",
        "workflow",
    }


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(path):
    targets = LINK.findall(path.read_text(encoding="utf-8"))
    assert [target for target in targets if not (path.parent / target).exists()] == []


def list_anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of *page*, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_into_a_document_lead_to_a_heading(path):
    links = PLACE.findall(FENCED.sub("", path.read_text(encoding="utf-8")))
    pages = [(path.parent / target if target else path, anchor) for target, anchor in links]
    wrong = [
        f"{page.name}#{anchor}" for page, anchor in pages if page.suffix == ".md" and anchor not in list_anchors(page)
    ]
    assert wrong == []
