"""The teacher, all-MiniLM-L6-v2: sentence vectors cached on disk, and token vectors.

Owns the teacher's weights and the cache; must not know of the student.
"""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LONGEST = 96
DIM = 384


class Teacher:
    """Mean-pooled, normalised vectors, as sentence-transformers makes them."""

    def __init__(self, folder: Path, *, bf16: bool = True) -> None:
        weights = folder / "model.safetensors"
        if hashlib.sha256(weights.read_bytes()).hexdigest() != SHA256:
            raise SystemExit(f"{weights} is not the expected teacher")
        self.tokens = AutoTokenizer.from_pretrained(folder)
        kind = torch.bfloat16 if bf16 else torch.float32
        self.model = AutoModel.from_pretrained(folder, dtype=kind).eval()
        self.longest = LONGEST

    def embed(self, texts: list[str], batch: int = 128) -> NDArray[np.float16]:
        """Embed *texts*, longest first so that a batch has little padding."""
        out = np.zeros((len(texts), DIM), np.float16)
        order = sorted(range(len(texts)), key=lambda i: (-len(texts[i]), texts[i]))
        began = time.time()
        for step, start in enumerate(range(0, len(order), batch)):
            at = order[start : start + batch]
            out[at] = self._batch([texts[i] for i in at])
            if step % 100 == 0:
                print(f"teacher {start}/{len(order)} {time.time() - began:.0f} s", file=sys.stderr)
        return out

    def _batch(self, texts: list[str]) -> NDArray[np.float16]:
        enc = self.tokens(texts, padding=True, truncation=True, max_length=self.longest, return_tensors="pt")
        with torch.inference_mode():
            state = self.model(**enc).last_hidden_state.float()
        mask = enc["attention_mask"][:, :, None]
        pooled = (state * mask).sum(1) / mask.sum(1)
        return np.asarray(torch.nn.functional.normalize(pooled).numpy(), np.float16)


def cached(folder: Path, cache: Path, texts: list[str]) -> NDArray[np.float16]:
    """Return the teacher's vectors of *texts*; only texts not yet in *cache* are embedded."""
    keys = np.array([_key(t) for t in texts], np.uint64)
    known, vectors = np.zeros(0, np.uint64), np.zeros((0, DIM), np.float16)
    if cache.exists():
        with np.load(cache) as stored:
            known, vectors = stored["keys"], stored["vectors"]
    have = set(known.tolist())
    new = [i for i, key in enumerate(keys.tolist()) if key not in have]
    if new:
        vectors = np.concatenate([vectors, Teacher(folder).embed([texts[i] for i in new])])
        known = np.concatenate([known, keys[new]])
        np.savez(cache, keys=known, vectors=vectors)
    order = np.argsort(known, kind="stable")
    return vectors[order[np.searchsorted(known[order], keys)]]


def _key(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
