"""Build the documentation site, strictly: `docs/` and the pages at the top of the repository, with links that lead within it.

A page may link to files that are no page, such as a script; on the site such a link is plain text.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
STAGED = ROOT / ".site" / "docs"  # mkdocs.yml names it
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def place_of(path: Path) -> Path:
    """Return where *path*, relative to the repository, is on the site."""
    return path.relative_to("docs") if path.parts[0] == "docs" else Path("project", path)


def list_pages() -> list[Path]:
    """Return the pages of the site, relative to the repository."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "templates" / "README.md"]
    return sorted(
        path.relative_to(ROOT) for path in found if path != ROOT / "README.md"
    )  # the site has its own first page


def lead_within(text: str, page: Path, pages: set[Path]) -> str:
    """Return *text* of *page* with links to other pages and pictures as they are on the site; others become their text."""

    def lead(found: re.Match[str]) -> str:
        mark, said, target, anchor = found[1], found[2], found[3], found[4] or ""
        path = Path(os.path.normpath(page.parent / target))
        path = path / "README.md" if path / "README.md" in pages else path
        if path not in pages and not mark:
            return said
        return f"{mark}[{said}]({os.path.relpath(place_of(path), place_of(page).parent)}{anchor})"

    parts = re.split(f"({_CODE.pattern})", text, flags=_CODE.flags)
    return "".join(part if number % 2 else _LINK.sub(lead, part) for number, part in enumerate(parts))


def stage() -> None:
    """Write the sources of the site."""
    shutil.rmtree(STAGED, ignore_errors=True)
    shutil.copytree(ROOT / "docs", STAGED, ignore=shutil.ignore_patterns("*.md"))
    pages = list_pages()
    for page in pages:
        to = STAGED / place_of(page)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(lead_within((ROOT / page).read_text(encoding="utf-8"), page, set(pages)), encoding="utf-8")


if __name__ == "__main__":
    stage()
    words = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", str(ROOT / "mkdocs.yml")]
    sys.exit(subprocess.run(words, cwd=ROOT, check=False).returncode)
