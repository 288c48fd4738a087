"""The training set: all sources together, each cut to its share, in a fixed order."""

from __future__ import annotations

import hashlib
import json
import random
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.embedder.generate import NAMES, generate
from tools.embedder.passages import passages
from tools.embedder.sources import DEBIAN, DESCRIPTIONS, DOCSTRINGS, PYPI, Text, chatter, documentation, talk
from tools.embedder.words import descriptions, dictionary, docstrings, wordnet

SEED = 20261121
GENERATED = 40_000
PASSAGES = 60_000
WORDNET = {"wordnet gloss": 30_000, "wordnet synonyms": 12_000, "wordnet example": 32_000}


def sample(texts: Iterable[Text], most: int) -> list[Text]:
    """Take at most *most* different texts, chosen by their hash so that order does not matter."""
    unique = {t.text: t for t in texts}
    if not most or len(unique) <= most:
        return list(unique.values())
    chosen = sorted(unique.values(), key=lambda t: hashlib.sha256(t.text.encode()).digest())
    return chosen[:most]


def build(work: Path) -> list[Text]:
    found = [t for part in _parts(work) for t in part]
    unique = list({(t.head, t.text): t for t in found}.values())
    random.Random(SEED).shuffle(unique)
    return unique


def _parts(work: Path) -> Iterator[list[Text]]:
    entries = list(wordnet(work))
    prose: list[Text] = []
    for source, most in WORDNET.items():
        yield sample((t for t in entries if t.source == source), most)
    for name, (_, most) in DEBIAN.items():
        if name.startswith("dict-"):
            prose += (found := list(dictionary(work, name, f"{name[5:]}.dict.dz")))
            yield sample(found, most)
        elif most:
            prose += (found := list(documentation(name, work / "x" / name)))
            yield sample(found, most)
    for path in sorted((work / "pysrc").iterdir()):
        name = path.name.lower().replace("_", "-")
        most = next((m for k, (_, m) in PYPI.items() if name.startswith(k.split("==")[0])), 0)
        if path.suffix == ".whl":
            yield sample(talk(path, NAMES) if most else chatter(path), most)
        elif path.name.endswith(".tar.gz"):
            prose += (found := list(documentation(name.split("-")[0], path)))
            yield sample(found, most)
    prose += (found := list(descriptions(work)))
    yield sample(found, DESCRIPTIONS)
    yield sample(passages(prose, random.Random(SEED)), PASSAGES)
    yield sample(docstrings(Path(sysconfig.get_path("purelib"))), DOCSTRINGS)
    yield list(generate(GENERATED, SEED))


def store(texts: list[Text], path: Path) -> None:
    with path.open("w") as file:
        for t in texts:
            file.write(json.dumps({"source": t.source, "text": t.text, "head": t.head}) + "\n")
    for source, count in Counter(t.source for t in texts).most_common():
        print(f"{count:7d} {source}")


def load(path: Path) -> list[Text]:
    return [Text(**json.loads(line)) for line in path.read_text().splitlines()]
