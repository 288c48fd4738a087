"""The student: vocabulary, starting table, and training against the teacher's vectors.

Owns the losses and the optimiser; must not know where texts come from.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from memsync.index.static import WordPieces as Tokenizer

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the training does; every number that was tuned is here."""

    dim: int = 256
    epochs: int = 5
    batch: int = 1024
    rate: float = 0.01
    drop: float = 0.15
    cosine: float = 0.3
    similar: float = 1.0
    contrast: float = 0.5
    warmth: float = 0.04
    block: int = 32
    anchors: int = 400
    rarity: float = 1e-3
    asking: int = 4
    seed: int = 20261121


def choose_words(teacher_words: Sequence[str], texts: Sequence[str], *, often: int, most: int) -> list[str]:
    """Keep the teacher's plain tokens and add words that the texts use often."""
    kept = [w for w in teacher_words if re.fullmatch(r"(##)?[a-z0-9]+", w)]
    tokenizer = Tokenizer({w: i for i, w in enumerate(kept)})
    seen: Counter[str] = Counter()
    for text in texts:
        seen.update(re.findall(r"[^\W_]+", text))
    wanted: Counter[str] = Counter()
    for word, times in seen.items():
        if word.isascii() and word.isalpha() and len(tokenizer.rows(word)) > 1:
            wanted[word.lower()] += times
    frequent = sorted((w for w, n in wanted.items() if n >= often), key=lambda w: (-wanted[w], w))
    return kept + frequent[: most - len(kept)]


def basis(vectors: NDArray[np.float16], dim: int) -> Floats:
    """Return the *dim* directions that keep most of the vectors, as columns."""
    part = vectors[:: max(1, len(vectors) // 100_000)].astype(np.float64)
    values, columns = np.linalg.eigh(part.T @ part)
    kept = columns[:, np.argsort(-values)[:dim]]
    kept *= np.sign(kept[np.abs(kept).argmax(0), np.arange(dim)])
    return np.asarray(kept, np.float32)


def asking(questions: Floats, answers: Floats, count: int) -> Floats:
    """Return the directions in which questions differ from their answers, as columns.

    Taken out of the targets: that a text asks says nothing of what it asks about.
    """
    _, _, rows = np.linalg.svd(questions - answers, full_matrices=False)
    return np.asarray(rows[:count].T, np.float32)


def zipf(count: int) -> Floats:
    """SIF weights from the rank in the teacher's vocabulary, as model2vec has them."""
    rank = np.arange(count, dtype=np.float32) + 2
    chance = 1 / rank / (1 / rank).sum()
    return np.asarray(1e-4 / (1e-4 + chance), np.float32)


def rarity(bags: Bags, rows: int, scale: float) -> Floats:
    """SIF weights from how often each token stands in the training texts."""
    times = np.bincount(bags.flat, minlength=rows) + 0.5
    return np.asarray(scale / (scale + times / times.sum()), np.float32)


class Bags:
    """Token rows of many texts, flat, to be gathered in batches."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str], longest: int = 96) -> None:
        rows = [tokenizer.rows(t)[:longest] for t in texts]
        self.sizes = np.array([len(r) for r in rows], np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.flat = np.fromiter((i for r in rows for i in r), np.int64)

    def take(self, at: NDArray[np.int64], rng: np.random.Generator, drop: float) -> tuple[torch.Tensor, torch.Tensor]:
        sizes = self.sizes[at]
        offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        index = np.repeat(self.starts[at] - offsets, sizes) + np.arange(sizes.sum())
        rows = self.flat[index]
        keep = rng.random(len(rows)) >= drop
        keep[offsets[sizes > 0]] |= True
        bag = np.repeat(np.arange(len(at)), sizes)[keep]
        counts = np.bincount(bag, minlength=len(at))
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        return torch.from_numpy(rows[keep]), torch.from_numpy(starts)


class Student:
    """A table of token directions and a log weight for each, with Adam's moments by row.

    Only the rows of a batch are read, normalised and stepped: a dense step over
    the whole table took three times as long.
    """

    def __init__(self, start: Floats, weights: Floats) -> None:
        unit = start / np.linalg.norm(start, axis=1, keepdims=True)
        log = np.log(weights)[:, None]
        self.table = torch.from_numpy(np.concatenate([unit, log], 1).astype(np.float32))
        self.first = torch.zeros_like(self.table)
        self.second = torch.zeros_like(self.table)
        self.steps = torch.zeros(len(start), 1)

    def pool(self, part: torch.Tensor, index: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        """Return the unit vectors of bags whose tokens are rows of *part*."""
        vectors = functional.normalize(part[:, :-1], dim=1) * part[:, -1:].exp()
        pooled = functional.embedding_bag(index, vectors, starts, mode="sum")
        return functional.normalize(pooled, dim=1, eps=1e-6)

    def step(self, used: torch.Tensor, slope: torch.Tensor, rate: float) -> None:
        """Adam on the rows *used*, each with its own count of steps."""
        steps = self.steps[used] + 1
        first = self.first[used] * 0.9 + slope * 0.1
        second = self.second[used] * 0.99 + slope**2 * 0.01
        self.steps[used], self.first[used], self.second[used] = steps, first, second
        size = (second / (1 - 0.99**steps)).sqrt() + 1e-8
        self.table[used] -= rate * first / (1 - 0.9**steps) / size

    def folded(self) -> Floats:
        table = functional.normalize(self.table[:, :-1], dim=1) * self.table[:, -1:].exp()
        return np.asarray(table.numpy(), np.float32)


def losses(found: torch.Tensor, target: torch.Tensor, heads: torch.Tensor, plan: Plan) -> dict[str, torch.Tensor]:
    """Three ways of being like the teacher.

    ``cosine``: each vector against the teacher's own. ``similar``: the softmax
    over the batch of each text's similarities. ``contrast``: a heading or
    question must find its text among all texts of the batch. *heads* holds,
    for the first half of the batch, whether it heads the second half's row.
    """
    cosine = 1 - (found * target).sum(1).mean()
    mask = torch.eye(len(found), dtype=torch.bool)
    ours = (found @ found.T / plan.warmth).masked_fill(mask, -1e4)
    theirs = (target @ target.T / plan.warmth).masked_fill(mask, -1e4)
    similar = functional.kl_div(ours.log_softmax(1), theirs.log_softmax(1), log_target=True, reduction="batchmean")
    half = len(found) // 2
    cross = found[:half] @ found[half:].T / plan.warmth
    answer = torch.arange(half)
    both = functional.cross_entropy(cross, answer, reduction="none")
    both = both + functional.cross_entropy(cross.T, answer, reduction="none")
    contrast = (both * heads).sum() / heads.sum().clamp(min=1) / 2
    return {"cosine": cosine, "similar": similar, "contrast": contrast}


@dataclass(slots=True, kw_only=True)
class Data:
    """Texts as token bags with the teacher's vectors, and pairs (head, text) of rows."""

    bags: Bags
    target: torch.Tensor
    pairs: NDArray[np.int64]
    heads: torch.Tensor


def arrange(data: Data, order: NDArray[np.int64], plan: Plan, rng: np.random.Generator) -> NDArray[np.int64]:
    """Shuffle *order* so that runs of `plan.block` pairs are about the same topic.

    A batch then holds near misses beside far ones; topics are new in each epoch.
    """
    order = rng.permutation(order)
    if plan.block < 2:
        return order
    texts = torch.from_numpy(data.pairs[order, 1])
    anchors = data.target[texts[: plan.anchors]].T
    parts = [texts[i : i + 8192] for i in range(0, len(texts), 8192)]
    topic = torch.cat([(data.target[part] @ anchors).argmax(1) for part in parts]).numpy()
    grouped = order[np.argsort(topic, kind="stable")]
    starts = rng.permutation(np.arange(0, len(order), plan.block))
    return np.concatenate([grouped[i : i + plan.block] for i in starts])


def run(
    student: Student, data: Data, chosen: NDArray[np.int64], plan: Plan, rng: np.random.Generator, rate: float
) -> dict[str, float]:
    """Measure one batch of pairs and, with a rate, step the student."""
    at = data.pairs[chosen].T.reshape(-1)
    rows, starts = data.bags.take(at, rng, plan.drop if rate else 0.0)
    used, index = torch.unique(rows, return_inverse=True)
    part = student.table[used].requires_grad_(bool(rate))
    parts = losses(student.pool(part, index, starts), data.target[at], data.heads[chosen], plan)
    if rate:
        total = plan.cosine * parts["cosine"] + plan.similar * parts["similar"] + plan.contrast * parts["contrast"]
        [slope] = torch.autograd.grad(total, part)
        student.step(used, slope, rate)
    return {k: float(v.detach()) for k, v in parts.items()}


def average(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {k: float(np.mean([r[k] for r in rows])) for k in rows[0]}


def train(student: Student, data: Data, plan: Plan) -> list[dict[str, float]]:
    """Fit the student; 2 % of the pairs are held out and only measured. Returns the curve."""
    torch.manual_seed(plan.seed)
    rng = np.random.default_rng(plan.seed)
    order = rng.permutation(len(data.pairs))
    half = plan.batch // 2
    held, order = np.split(order, [len(order) // 50 // half * half])
    steps = plan.epochs * (len(order) // half)
    curve: list[dict[str, float]] = []
    began, done = time.time(), 0
    for number in range(plan.epochs):
        arranged, rows = arrange(data, order, plan, rng), []
        for start in range(0, len(order) // half * half, half):
            pace = min(1.0, (done + 1) / (0.05 * steps)) * (1 - done / steps)
            rows.append(run(student, data, arranged[start : start + half], plan, rng, plan.rate * pace))
            done += 1
        test = [run(student, data, part, plan, rng, 0.0) for part in np.split(held, len(held) // half)]
        row = {"epoch": number + 1, **average(rows), **{f"held {k}": v for k, v in average(test).items()}}
        curve.append(row)
        line = " ".join(f"{k} {v:.4f}" for k, v in row.items())
        print(f"{line} {time.time() - began:.0f} s", file=sys.stderr, flush=True)
    return curve
