"""A desk on a real repository, answered in this process, and pages taken apart."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from html_page import Html
from starlette.testclient import TestClient

from memsync.agents.live import Live
from memsync.web.desk import Changes
from memsync.web.health import Checkup
from memsync.web.serve import Keys
from memsync.web.server import build

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """What a browser does here: it keeps the cookie, sends the fields of a form, and follows where it is led."""

    def __init__(self, root: Path) -> None:
        self.live, self.keys, self.changes, self.checkup = (
            Live(root, is_lean=True),
            Keys(17_000),
            Changes(),
            Checkup(root),
        )
        self.app = build(self.live, self.keys, self.changes, self.checkup)
        self.client = TestClient(self.app, base_url="http://127.0.0.1:17000")
        self.client.get(self.keys.url)
        self.status = 0

    def get(self, path: str, **query: str) -> Html:
        return self._read(self.client.get(path, params=query or None))

    def get_whole(self, path: str, **query: str) -> Html:
        """Ask again, as the page does, until nothing is read for it any more."""
        while re.search("still reading|Reading its history", (page := self.get(path, **query)).text):
            pass
        return page  # not asked for again: some answers are given once

    def post(self, path: str, **fields: str | list[str]) -> Html:
        return self._read(self.client.post(path, data={"form": self.keys.form, **fields}))

    def _read(self, response) -> Html:
        self.status = response.status_code
        return Html(response.text)

    def names(self, id_: str, scope: str = "project") -> dict[str, str]:
        """Return what the forms of a memory's page say which memory they are about."""
        page = self.get("/memory", id=id_, scope=scope)
        return {name: page.every("input", name=name)[0]["value"] for name in ("id", "scope", "was")}

    def edit(self, id_: str, **changed: str) -> Html:
        """Open the page of a memory, change its form, and send all of it as a browser does."""
        page = self.get("/memory", id=id_)
        fields = {name: page.every("input", name=name)[0]["value"] for name in ("id", "scope", "was")}
        fields |= {name: page.every("input", name=name)[0]["value"] for name in ("type", "importance", "tags")}
        text = self.client.get("/memory", params={"id": id_}).text
        areas = re.findall(r'<textarea name="(\w+)"[^>]*>\n(.*?)</textarea>', text, re.DOTALL)
        fields |= {name: unescaped(said) for name, said in areas}
        sent = {name: value.replace("\n", "\r\n") for name, value in (fields | changed).items()}
        return self.post("/memory/edit", **sent)


def unescaped(text: str) -> str:
    page = Html(f"<p>{text}</p>")
    return "".join(page.said)


@pytest.fixture
def browse() -> Iterator[Callable[[Path], Browser]]:
    """Return what opens the desk of a directory."""
    opened: list[Browser] = []

    def browse(root: Path) -> Browser:
        opened.append(Browser(root))
        return opened[-1]

    yield browse
    for one in opened:
        one.client.close()
        one.checkup.end()
        one.live.close()


@pytest.fixture
def desk(repo, browse) -> Browser:
    """Return the desk of a repository without memories."""
    return browse(repo.root)


@pytest.fixture(scope="module")  # while Playwright is open its event loop runs, and no test of others could start one
def chromium(tmp_path_factory) -> Iterator:
    """Return a real browser, one for a module; Playwright drives a Chromium that is installed, and brings none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    if PROGRAM is None:
        pytest.skip("no Chromium here, so nothing was looked at in a browser: `make browser` installs it")
    env = {**os.environ, "HOME": str(tmp_path_factory.mktemp("browser"))}
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox", "--disable-gpu"], env=env)
        yield browser
        browser.close()
