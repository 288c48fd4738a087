"""Training texts from word books: WordNet, FOLDOC, Jargon, package descriptions, docstrings.

Owns the parsing of those formats; must not know of the teacher or the training.
"""

from __future__ import annotations

import ast
import gzip
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from tools.embedder.sources import SITE, Text, good, pieces

WORDNET = "x/wordnet-base/usr/share/wordnet"


def wordnet(work: Path) -> Iterator[Text]:
    """Glosses with their words, the usage examples, and pairs of synonyms."""
    for kind in ("noun", "verb", "adj", "adv"):
        for line in (work / WORDNET / f"data.{kind}").read_text("latin-1").splitlines():
            if line.startswith("  ") or " | " not in line:
                continue
            fields, gloss = line.split(" | ", 1)
            parts = fields.split()
            count = int(parts[3], 16)
            words = [w.split("(")[0].replace("_", " ") for w in parts[4 : 4 + 2 * count : 2]]
            meaning = re.sub(r'"[^"]*"?', "", gloss).strip(" ;")
            if not gloss.isascii() or len(meaning) < 12:
                continue
            yield Text(source="wordnet gloss", text=meaning, head=", ".join(words[:3]))
            if len(words) > 1:
                yield Text(source="wordnet synonyms", text=words[1], head=words[0])
            for example in re.findall(r'"([^"]{15,160})"', gloss):
                yield Text(source="wordnet example", text=example)


def dictionary(work: Path, name: str, book: str) -> Iterator[Text]:
    path = work / "x" / name / "usr/share/dictd" / book
    text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    for entry in re.split(r"\n(?=\S)", text):
        head, _, body = entry.partition("\n")
        body = re.sub(r"\[[^\]]*\]|<[^>]*>|\(\d{4}-\d\d-\d\d\)|[{}]|^\s*n\.\s", " ", body)
        for block in re.split(r"\n\s*\n", body):
            for piece in pieces(re.sub(r"^\s*\d\.\s", "", block)):
                if good(piece):
                    yield Text(source=name, text=piece, head=head.strip()[:60])


def descriptions(work: Path) -> Iterator[Text]:
    """Debian's package descriptions: the short line, and the paragraphs below it."""
    [path] = (work / "apt/lists").glob("*_debian_dists_bookworm_main_i18n_Translation-en.lz4")
    cat = ["/usr/lib/apt/apt-helper", "cat-file", str(path)]
    text = subprocess.run(cat, check=True, capture_output=True, text=True).stdout
    seen: set[str] = set()
    for record in text.split("\n\n"):
        head, _, body = record.partition("Description-en: ")[2].partition("\n")
        for i, block in enumerate(body.split("\n .\n")[:3]):
            for piece in list(pieces(block))[: 2 if i == 0 else 1]:
                if good(piece) and piece not in seen and "This package" not in piece[:14]:
                    seen.add(piece)
                    yield Text(source="debian descriptions", text=piece, head=head)


def docstrings(site: Path) -> Iterator[Text]:
    """Docstrings of the standard library and of some installed packages."""
    roots = [Path(sysconfig.get_path("stdlib")), *(site / name for name in SITE)]
    for root in roots:
        for path in sorted(root.rglob("*.py")):
            if {"site-packages", "test", "tests", "_vendor"} & set(path.relative_to(root).parts):
                continue
            yield from _docstrings(path)


def _docstrings(path: Path) -> Iterator[Text]:
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError):
        return
    kinds = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        doc = ast.get_docstring(node) if isinstance(node, kinds) else None
        if not doc or not isinstance(node, kinds):
            continue
        for i, block in enumerate(re.split(r"\n\s*\n|\n\s*(?=[-:*] ?\w)", doc)[:4]):
            for piece in list(pieces(block))[:1]:
                if good(piece) and ">>>" not in piece:
                    yield Text(source="docstrings", text=piece, head="" if i else node.name)
