"""The documentation site and the README's pictures: every page is in the menu, links lead to what is there, pictures are up to date."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import draw_calibration, draw_chart, draw_peers, draw_replay, record_terminal
from tools.build_site import ROOT, lead_within, list_pages, place_of

PAGES = set(list_pages())


def test_every_page_but_the_decisions_is_in_the_menu():
    menu = set(re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    on_site = {place_of(page).as_posix() for page in PAGES}
    assert menu <= on_site
    assert {name for name in on_site - menu if not name.startswith(("adr/", "project/"))} == set()


def test_links_out_of_the_documents_lead_within_the_site_and_others_become_text():
    page = Path("docs/guides/team.md")
    assert lead_within("[a](../git.md#x) [b](../../CONTRIBUTING.md)", page, PAGES) == (
        "[a](../git.md#x) [b](../project/CONTRIBUTING.md)"
    )
    assert lead_within(
        "[`x`](../../tools/write_docs.py) [t](../../templates/) [o](https://a.example)", page, PAGES
    ) == ("`x` [t](../project/templates/README.md) [o](https://a.example)")
    assert lead_within("[a](docs/git.md) ![p](docs/images/desk-memory.png)", Path("README.md"), PAGES) == (
        "[a](../git.md) ![p](../images/desk-memory.png)"
    )
    assert lead_within("```\n[a](docs/x.py)\n```\n", Path("README.md"), PAGES) == "```\n[a](docs/x.py)\n```\n"


@pytest.mark.parametrize("theme", draw_chart.THEMES)
def test_the_chart_shows_the_figures_of_the_documents(theme):
    drawn = (ROOT / "docs" / "images" / f"compared-{theme}.svg").read_text(encoding="utf-8")
    assert drawn == draw_chart.draw(draw_chart.read_rows(), theme), "run `make docs`"


@pytest.mark.parametrize("theme", draw_chart.THEMES)
def test_the_drawing_of_calibration_shows_the_figures_of_the_documents(theme):
    panels = draw_calibration.read_panels()
    assert [panel.name for panel in panels] == ["gobby", "beam", "locomo-observations", "locomo-turns"]
    assert all(len(panel.bins) == 10 and all(hits >= relevant for hits, relevant in panel.bins) for panel in panels)
    drawn = (ROOT / "docs" / "images" / f"calibrated-{theme}.svg").read_text(encoding="utf-8")
    assert drawn == draw_calibration.draw(panels, theme), "run `make docs`"


@pytest.mark.parametrize("theme", draw_peers.THEMES)
def test_the_chart_of_peers_shows_the_figures_of_the_documents(theme):
    rows = draw_peers.read_rows()
    assert {"memsync, MCP", "memsync, command", "server-memory"} <= {row.name for row in rows}
    assert all(len(row.times) == 2 and min(row.times) > 0 for row in rows)
    drawn = (ROOT / "docs" / "images" / f"peers-{theme}.svg").read_text(encoding="utf-8")
    assert drawn == draw_peers.draw(rows, theme), "run `make docs`"


@pytest.mark.parametrize("theme", draw_replay.THEMES)
def test_the_chart_of_the_replay_shows_the_figures_of_the_documents(theme):
    rows = draw_replay.read_rows()
    assert {"lines by hand", "learned by itself", "random lines", "nothing"} <= {row.arm for row in rows}
    assert all(0 <= row.in_time <= row.repeats for row in rows)
    drawn = (ROOT / "docs" / "images" / f"replay-{theme}.svg").read_text(encoding="utf-8")
    assert drawn == draw_replay.draw(rows, theme), "run `make docs`"


def test_the_terminal_of_the_readme_is_what_the_program_prints():
    lines = record_terminal.record()
    assert [line.text for line in lines if line.kind == "given"] == [
        "  - [mm-4kq7d2] CI needs Node 20: the build breaks on 22"
    ]
    for theme in record_terminal.THEMES:
        drawn = (ROOT / "docs" / "images" / f"terminal-{theme}.svg").read_text(encoding="utf-8")
        assert drawn == record_terminal.draw(lines, theme), "run `make docs`"
