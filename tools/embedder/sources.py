"""Training texts: fetch openly licensed documentation and cut it into short texts.

Owns what is fetched and how it is read; must not know of the teacher or the
training. Nothing of the evaluation suites is read here.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import html.parser
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

DEBIAN = {  # package -> (licence, most texts taken)
    "wordnet-base": ("WordNet 3.0 licence", 0),
    "git-doc": ("GPL-2", 9000),
    "python3.11-doc": ("PSF-2.0", 24000),
    "nodejs-doc": ("MIT", 7000),
    "postgresql-doc-15": ("PostgreSQL", 9000),
    "sqlite3-doc": ("public domain", 7000),
    "python-django-doc": ("BSD-3-Clause", 8000),
    "python-flask-doc": ("BSD-3-Clause", 1500),
    "python-requests-doc": ("Apache-2.0", 800),
    "debian-handbook": ("GPL-2+ or CC-BY-SA-3.0", 3000),
    "debian-policy": ("GPL-2+", 1500),
    "developers-reference": ("GPL-2+", 1000),
    "dict-foldoc": ("GFDL-1.1+", 9000),
    "dict-jargon": ("public domain", 3000),
    "manpages": ("GPL-2+ and BSD-like", 3000),
    "manpages-dev": ("GPL-2+ and BSD-like", 4000),
}
PYPI = {
    "pytest==8.3.5": ("MIT", 4000),
    "fastapi==0.115.8": ("MIT", 600),
    "aiohttp==3.11.12": ("Apache-2.0", 3000),
    "celery==5.4.0": ("BSD-3-Clause", 3000),
    "tox==4.24.1": ("MIT", 1500),
    "click==8.1.8": ("BSD-3-Clause", 1000),
    "pip==25.0.1": ("MIT", 2500),
    "django==5.1.6": ("BSD-3-Clause", 4000),
    "httpx==0.28.1": ("BSD-3-Clause", 600),
    "pydantic==2.10.6": ("MIT", 1500),
    "attrs==25.1.0": ("MIT", 800),
    "urllib3==2.3.0": ("MIT", 800),
    "poetry==2.1.1": ("MIT", 1500),
    "scrapy==2.12.0": ("BSD-3-Clause", 2500),
    "hypothesis==6.125.3": ("MPL-2.0", 800),
    "mkdocs-material==9.6.4": ("MIT", 100),
    "chatterbot-corpus==1.3.3": ("BSD-3-Clause", 0),
    "chitchat-dataset==0.9.0": ("MIT", 60_000),
}
SITE = ("torch", "transformers", "networkx", "sympy", "pip", "numpy", "pydantic", "rich")
DOCSTRINGS = 14000
DESCRIPTIONS = 26000


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A short text, and a heading or question that it answers, if any."""

    source: str
    text: str
    head: str = ""


def fetch(work: Path) -> None:
    """Download and unpack the Debian and PyPI packages into *work*."""
    work = work.resolve()  # apt-get runs in another folder
    lists, debs, sdists = work / "apt/lists/partial", work / "debs", work / "pysrc"
    for folder in (lists, debs, sdists, work / "x"):
        folder.mkdir(parents=True, exist_ok=True)
    state = ["-o", f"Dir::State::lists={lists.parent}", "-o", "Acquire::Languages=en"]
    subprocess.run(["apt-get", *state, "update"], check=True)
    subprocess.run(["apt-get", *state, "download", *DEBIAN], cwd=debs, check=True)
    for deb in debs.glob("*.deb"):
        target = work / "x" / deb.name.split("_")[0]
        subprocess.run(["dpkg", "-x", deb, target], check=True)
    for name in PYPI:
        flags = ["--no-deps"] if name.startswith(("chat", "chit")) else ["--no-deps", "--no-binary", ":all:"]
        pip = [sys.executable, "-m", "pip", "download", "-q", *flags, name]
        subprocess.run(pip, cwd=sdists, check=True)


class _Page(html.parser.HTMLParser):
    """Collect (heading, paragraph) of a page."""

    BLOCKS = frozenset({"p", "li", "dd", "dt", "td", "div", "pre", "tr", "table", "ul"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.head = self.buffer = ""
        self.skip = 0

    def flush(self, tag: str) -> None:
        text, self.buffer = " ".join(self.buffer.replace("\u00b6", "").split()), ""
        if re.fullmatch("h[1-6]", tag):
            self.head = re.sub(r"^[\d.\sA-Z]*\d\.\s*", "", text)
        elif tag in {"p", "li", "dd"} and text:
            self.found.append((self.head, text))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        if tag in {"script", "style", "pre", "nav"}:
            self.skip += 1
        elif tag in self.BLOCKS or re.fullmatch("h[1-6]", tag):
            self.flush("p")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"script", "style", "pre", "nav"}:
            self.skip = max(0, self.skip - 1)
        elif tag in self.BLOCKS or re.fullmatch("h[1-6]", tag):
            self.flush(tag)

    def handle_data(self, data: str) -> None:
        if not self.skip:
            self.buffer += data


def from_html(text: str) -> Iterator[tuple[str, str]]:
    page = _Page()
    page.feed(text)
    yield from page.found


_ROLE = re.compile(r":[\w:+-]+:`~?([^`<]+?)(?:\s*<[^>]*>)?`")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)|`([^`<]+)\s+<[^>]*>`_+")


def from_markup(text: str) -> Iterator[tuple[str, str]]:
    """Read Markdown, reStructuredText, AsciiDoc and plain prose alike."""
    text = re.sub(r"(?ms)^```.*?^```|^----\n.*?^----$|^::\n", "", text)
    head = ""
    for block in re.split(r"\n\s*\n|\n(?=\s*[-*+] )", text):
        lines = block.strip().splitlines()
        if not lines:
            continue
        if len(lines) == 2 and re.fullmatch(r"[=\-~^\"'#*+.`]{3,}", lines[1].strip()):
            head = lines[0].strip()
        elif len(lines) == 1 and (m := re.match(r"#+\s+(.*)", lines[0])):
            head = m[1]
        elif not lines[0].startswith((".. ", "    ", "\t", ":", "|", "+-", ">>>", "$")):
            plain = _LINK.sub(lambda m: m[1] or m[2], _ROLE.sub(r"\1", " ".join(lines)))
            yield head, re.sub(r"^\s*[-*+]\s+|[*`]{1,2}|\|", "", plain)


def from_roff(text: str) -> Iterator[tuple[str, str]]:
    """Read a man page, section heads dropped; macros keep their words."""
    name = re.search(r"(?m)^\.SH \"?NAME\"?\n(.*)", text)
    head = name[1] if name else ""
    text = re.sub(r"\\f[BIRP]|\\f\(CW|\\&|\\\||\\%", "", text)
    text = re.sub(r"\\\(aq|\\\(cq", "'", text).replace("\\-", "-").replace("\\e", "\\")
    for block in re.split(r"(?m)^\.(?:PP|P|SH|SS|TP|IP|LP|sp|RE|RS|nf|fi|EX|EE).*\n?", text):
        lines = [re.sub(r"^\.\w+\s*", "", x) for x in block.splitlines() if x[:3] != '.\\"']
        yield re.sub(r"\\.", "", head), re.sub(r"\\\S*", "", " ".join(lines))


def pieces(text: str, most: int = 320) -> Iterator[str]:
    """Cut a paragraph into texts of one to three sentences."""
    text = " ".join(html.unescape(text).split())
    part = ""
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`\"'(])", text):
        if part and (len(part) + len(sentence) > most or _coin(part, 2)):
            yield part
            part = ""
        part = f"{part} {sentence}".strip()
    yield part


def _coin(text: str, sides: int) -> bool:
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:8], 16) % sides == 0


def good(text: str) -> bool:
    words = re.findall(r"[A-Za-z]{2,}", text)
    letters = sum(map(len, words))
    return 4 <= len(words) <= 90 and text.isascii() and letters > 0.62 * len(text) - 4


def read(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")


READERS = {".html": from_html, ".txt": from_markup, ".rst": from_markup, ".md": from_markup}
_SKIP = re.compile(r"genindex|/LICENSE|copyright|search\.html|/(?!en)[a-z]{2}-[A-Z]{2}/")


def members(path: Path) -> Iterator[tuple[str, str]]:
    """Names and texts of the documentation inside a folder or a source archive."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file() and not file.is_symlink():
                yield str(file), read(file) if _kind(str(file)) else ""
        return
    with tarfile.open(path) as archive:
        for entry in sorted(archive.getmembers(), key=lambda e: e.name):
            handle = archive.extractfile(entry) if _kind(entry.name) else None
            if handle:
                yield entry.name, handle.read().decode("utf-8", "replace")


def _kind(name: str) -> object:
    if _SKIP.search(name):
        return None
    base = name.removesuffix(".gz")
    return from_roff if re.search(r"\.[1-8]\w*$", base) else READERS.get(Path(base).suffix)


def documentation(source: str, path: Path) -> Iterator[Text]:
    for name, text in members(path):
        reader = _kind(name)
        for head, block in reader(text) if callable(reader) else ():
            for piece in pieces(block):
                if good(piece):
                    yield Text(source=source, text=piece, head=head if len(head) < 90 else "")


def chatter(path: Path) -> Iterator[Text]:
    """English question and answer pairs of chatterbot-corpus."""
    with zipfile.ZipFile(path) as archive:
        for name in sorted(n for n in archive.namelist() if "/english/" in n):
            text = archive.read(name).decode()
            for block in re.split(r"(?m)^- - ", text)[1:]:
                turns = [" ".join(t.split()).strip("'\"") for t in re.split(r"\n\s+- ", block)]
                if len(turns) > 1 and turns[1]:
                    yield Text(source="chatterbot-corpus", text=turns[1], head=turns[0])


def talk(path: Path, names: Sequence[str]) -> Iterator[Text]:
    """Turns of chitchat-dataset; some with a speaker's name, as transcripts have them."""
    with zipfile.ZipFile(path) as archive:
        talks = json.loads(archive.read("chitchat_dataset/dataset.json"))
    for key in sorted(talks):
        before = " ".join(str(talks[key].get("prompt") or "").split())
        for turn in talks[key]["messages"]:
            said = " ".join(" ".join(m["text"] for m in turn).split())[:300]
            if good(said) and len(said) > 30:
                mark = f"{names[len(said) % len(names)]}: " if _coin(said, 2) else ""
                head = re.split(r"(?<=[.!?]) ", before)[-1] if before.endswith("?") else ""
                yield Text(source="chitchat-dataset", text=mark + said, head=head)
            before = said
