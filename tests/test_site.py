"""The documentation site: every page is in its menu, and links lead to what is on it. `make site` builds it."""

from __future__ import annotations

import re
from pathlib import Path

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
