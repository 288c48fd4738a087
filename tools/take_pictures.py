"""Take the pictures of the documents from the real program: `make pictures`, which needs a Chromium (`make browser`)."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from playwright.sync_api import Browser, Page, sync_playwright

from memsync import Memsync
from memsync.agents.session import RecallSession
from memsync.learn.candidates import Candidates, Proposal
from memsync.records import Memory
from memsync.system import programs

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
CENTS: Final = "mm-cents1"
LARGEST: Final = 90_000  # bytes of a picture
_WIDTH: Final = 1360
# Of a picture its name, the page, the colours, and the height.
PICTURES: Final[tuple[tuple[str, str, Literal["light", "dark"], int], ...]] = (
    ("today", "/", "light", 640),
    ("memories", "/memories?q=node", "light", 640),
    ("memory", f"/memory?id={CENTS}&scope=project", "light", 900),
    ("review", "/review?kind=candidate", "dark", 560),
    ("branch", "/branch", "light", 600),
    ("sessions", "/sessions", "dark", 640),
)
_PROMPT: Final = "which Node version does CI need?"
_WEBP: Final = """
async (png) => {
  const image = new Image();
  image.src = "data:image/png;base64," + png;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", 0.85).split(",")[1];
}
"""


def main() -> None:
    """Write the pictures."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        sys.exit("there is no Chromium here; `make browser` installs one")
    with TemporaryDirectory() as home, sync_playwright() as playwright:
        root = Path(home, "shop")
        os.environ |= {"HOME": home, "MEMSYNC_HOME": f"{home}/.gobby", "GIT_CONFIG_GLOBAL": os.devnull}
        fill(root)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        words = programs.own("ui", "--no-open", "--port", "0")
        with subprocess.Popen(words, cwd=root, stdout=subprocess.PIPE, text=True) as desk:
            assert desk.stdout
            shoot(browser, desk.stdout.readline().strip())
            desk.terminate()
        browser.close()


def shoot(browser: Browser, url: str) -> None:
    """Write the pictures of the desk at *url*."""
    plain = browser.new_page()
    page = browser.new_context().new_page()
    page.goto(url)
    page.wait_for_selector("main")
    base = page.url.rstrip("/")
    for name, path, colours, height in PICTURES:
        page.set_viewport_size({"width": _WIDTH, "height": height})
        page.emulate_media(color_scheme=colours)
        page.goto(base + path)
        if path == "/sessions":
            page.keyboard.press("t")
            page.fill("textarea", _PROMPT)
            page.click("#try button")
            page.wait_for_selector("h2:has-text('Would be given')")
        if path.startswith("/memories"):
            page.keyboard.press("j")
        if path.startswith("/memor"):
            page.wait_for_selector("text=Who set what")
        if path == "/":
            page.wait_for_selector("text=Health:")
        data = make_small(plain, page.screenshot())
        (IMAGES / f"desk-{name}.webp").write_bytes(data)
        assert len(data) <= LARGEST, name


def make_small(page: Page, png: bytes) -> bytes:
    """Return *png* as WebP, by a browser, which can."""
    return base64.b64decode(page.evaluate(_WEBP, base64.b64encode(png).decode()))


def fill(root: Path) -> None:
    """Make a repository with something to see on each page."""
    (root / "src").mkdir(parents=True)
    (root / "src" / "price.py").write_text(
        "CENTS = 100\n\n\ndef total(prices: list[int]) -> int:\n    return sum(prices)\n"
    )
    _git(root, "init", "-q", "-b", "main")
    for key, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        _git(root, "config", key, value)
    with Memsync.open(root) as project:
        for content, kind, importance, tags, anchors in _MEMORIES:
            project.remember(content, memory_type=kind, importance=importance, tags=tags, anchors=anchors)
    with Memsync.open(root) as project:
        ids = {entry.content: entry.id for entry in project.memories()}
    path = root / ".gobby" / "memories.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace(ids[_MEMORIES[1][0]], CENTS), encoding="utf-8")
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", "What we know")
    _git(root, "checkout", "-q", "-b", "node-22")
    with Memsync.open(root) as project:
        project.update(
            ids[_MEMORIES[0][0]], content="CI needs Node 22: the build breaks on 20 since the lockfile moved"
        )
        project.update(CENTS, content="Prices are integers in cents; round half to even, as the tax office does")
        project.remember("The staging database is restored from the nightly dump at 04:00", tags=["staging"])
        Candidates(project).propose(
            Proposal(memory=Memory("", text), rationale="the user said so", where="session of Claude Code")
            for text in ("Prices are integers in cents; round half up", "Deploys happen on Tuesdays only")
        )
        session = RecallSession(project, "7f3a91c2")
        session.on_turn(_PROMPT)


_MEMORIES: Final = (
    ("CI needs Node 20: the build breaks on 22", "fact", 0.9, ["ci", "node"], []),
    ("Prices are integers in cents", "pattern", 0.8, ["prices"], ["src/price.py#total"]),
    ("Ada wants small commits, each with its test", "preference", 0.8, ["git"], []),
    ("The linter runs in CI as `npm run lint`; it needs Node too", "fact", 0.6, ["ci"], []),
    ("Feature flags live in config/flags.yaml, and die after two releases", "pattern", 0.6, ["flags"], []),
    ("We chose SQLite over PostgreSQL for the cache: one file, no server", "context", 0.7, ["decision"], []),
)


def _git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True)


if __name__ == "__main__":
    main()
