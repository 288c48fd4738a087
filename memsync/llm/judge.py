"""What a model says about pairs of texts, in batches that fit its window. A failure leaves pairs without a word."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar

from memsync.errors import BudgetSpent, LlmError, LlmNotConfigured
from memsync.llm.answers import TEXT, WHOLE, list_of, object_of, prompt
from memsync.llm.llm import MOST_TOKENS, Llm, open_llm, tokens_of

if TYPE_CHECKING:
    from memsync.memories.project import Project, Verify

log = logging.getLogger(__name__)

Word = Literal["duplicate", "contains", "contained", "contradicts", "different", "confirm", "reverse"]
Item = TypeVar("Item")

_RELATIONS: Final = ("duplicate", "contains", "contained", "contradicts", "different")
_VERDICTS: Final = ("confirm", "reverse")
_ANSWER: Final = 48  # tokens of the answer to one pair


class Judgement(NamedTuple):
    """What the model says of one pair, and why."""

    word: Word
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A judgement for each pair, None where there is none; `failed` says why, "" if all were answered."""

    judgements: list[Judgement | None]
    failed: str = ""


class TokenBatchBuilder:
    """Packs items into batches of at most *percent* of a model's *window* of tokens.

    The answer has a limit too, so a batch has no more items than the model can answer: 170, where the seed has 500.
    """

    def __init__(self, window: int, percent: float) -> None:
        self._tokens = int(window * percent / 100)
        self._items = MOST_TOKENS // _ANSWER

    def batches(self, items: Iterable[tuple[Item, int]]) -> Iterator[list[Item]]:
        """Yield the items, each given with its tokens, in batches; one too large for any batch is alone."""
        batch: list[Item] = []
        used = 0
        for item, tokens in items:
            if batch and (used + tokens > self._tokens or len(batch) == self._items):
                yield batch
                batch, used = [], 0
            batch.append(item)
            used += tokens
        if batch:
            yield batch


def judge(llm: Llm, pairs: Sequence[tuple[str, str]], *, percent: float = 50) -> Judged:
    """Say what the first text of each pair (the new one) is to the second (the stored one)."""
    return _ask(llm, [{"new": new, "old": old} for new, old in pairs], ("dedup_judge", "relation", _RELATIONS), percent)


def review(llm: Llm, pairs: Sequence[tuple[str, str]], *, percent: float = 50) -> Judged:
    """Say whether the first text of each pair was rightly rejected for the second."""
    shown = [{"rejected": rejected, "kept": kept} for rejected, kept in pairs]
    return _ask(llm, shown, ("dedup_review", "verdict", _VERDICTS), percent)


def join(llm: Llm, texts: Sequence[str]) -> str:
    """Return one text that says all that *texts* say, as the model words it; "" if it cannot be had.

    Whoever uses it looks whether anything is missing.
    """
    try:
        return str(
            llm.ask(prompt("memory_join", notes=list(texts)), object_of("content", content=TEXT))["content"]
        ).strip()
    except LlmError as error:
        log.info("%d texts were not joined: %s", len(texts), error)
        return ""


def _ask(llm: Llm, pairs: Sequence[dict[str, str]], how: tuple[str, str, tuple[str, ...]], percent: float) -> Judged:
    found: list[Judgement | None] = [None] * len(pairs)
    sizes = [(number, tokens_of(json.dumps(pair, ensure_ascii=False)) + _ANSWER) for number, pair in enumerate(pairs)]
    failed = ""
    for batch in TokenBatchBuilder(llm.window, percent).batches(sizes):
        try:
            for number, said in _one_batch(llm, [pairs[number] for number in batch], how):
                found[batch[number]] = said
        except LlmError as error:
            log.info("a batch of %d pairs was not judged: %s", len(batch), error)
            failed = failed or str(error)
            if isinstance(error, BudgetSpent | LlmNotConfigured):
                break
    return Judged(judgements=found, failed=failed)


def _one_batch(
    llm: Llm, pairs: Sequence[dict[str, str]], how: tuple[str, str, tuple[str, ...]]
) -> Iterator[tuple[int, Judgement]]:
    name, field, words = how
    numbered = [{"n": number, **pair} for number, pair in enumerate(pairs, 1)]
    of_pair = object_of("n", field, n=WHOLE, **{field: {"type": "string", "enum": words}})
    answer = llm.ask(prompt(name, pairs=numbered), object_of("pairs", pairs=list_of(of_pair)))
    for said in answer["pairs"]:
        if 1 <= said["n"] <= len(pairs):
            reason = " ".join(str(said.get("reason", "")).split())[:200]
            yield said["n"] - 1, Judgement(said[field], reason)


log = logging.getLogger(__name__)


def verifier(project: Project) -> Verify | None:
    """Return what says whether a new text may be left out for a stored one, and why; None: nobody is to be asked.

    It answers None where the model has no word. Only a text that adds nothing may be left out: one
    that says more is stored, whatever it is like.
    """
    if not project.settings.llm_verify:
        return None
    try:
        llm = open_llm(project)
    except LlmError as error:
        log.warning("likely duplicates are stored unverified: %s", error)
        return None

    def verify(new: str, old: str) -> tuple[bool, str] | None:
        judged = judge(llm, [(new, old)])
        if judged.failed:
            log.warning("a likely duplicate is not verified: %s", judged.failed)
        (said,) = judged.judgements
        return None if said is None else (said.word in ("duplicate", "contained"), said.reason)

    return verify
