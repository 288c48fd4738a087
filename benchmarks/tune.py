"""Whether a constant of the ranking and the gate helps where it was not chosen: each suite is left out once, and the others choose.

The environment variable MEMSYNC_DATA names a folder that has suites (docs/recall.md) at any depth; those in one folder
are taken together. Each constant is moved alone, to nothing at first. What the ranking's are worth is the MRR of
answerable questions. What the gate's are worth is what a session is given: of questions the share whose best answer
comes in a block, half where it comes as a headline, less a tenth for each irrelevant line; less the share of prompts
without an answer that are given a block, half where they are given headlines. Those are the suite's own, and 80 of the
files prompts.jsonl of MEMSYNC_DATA (lines with a text), else questions of all the other suites. With each value the
level of all confidences is chosen anew, by the others, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import chain
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple, TypeVar

from benchmarks.moment import add_cues
from memsync.agents import headlines, lines
from memsync.agents.injection import Injection
from memsync.agents.prompts import list_questions, small_talk
from memsync.agents.recall_suite import Suite, ask, objects, read_suite, text_of, together
from memsync.index import scale
from memsync.index.bulk import make_index
from memsync.index.embedders import choose
from memsync.memories import filters
from memsync.memories.results import Hit, Recall
from memsync.store.settings import Settings

_OWN: Final = Path(__file__).parent / "suites"
_FACTORS: Final = (1.0, 0.0, 0.5, 2.0)  # today first, of which the searches are kept
_RANKING: Final = ("PROXIMITY", "MEANING_LONG_QUERY", "LATE", "MEANING", "SYNONYM", "IDENTIFIER")
_WEIGHTS: Final = ("TOLD", "MISSED", "HIDDEN", "LIKENESS", "LEXICAL", "LONG", "CROWD", "AGREEING", "BROAD", "NAMED")
_GIVING: Final = ("BASE", "PARTIAL", "NEAR", "HEADLINE")  # need no new search
_HOMES: Final = (scale, filters, headlines)
_LEVELS: Final = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)  # log odds added to each confidence
_LEAST: Final = 0.002  # below which a value is no better than today's
_MOST: Final = 40  # questions of each suite for the gate, and as many of others
_DEPTH: Final = 15
_HEADLINE: Final = 0.5
_LINE: Final = 0.1

Worth = dict[str, float]  # by group
T = TypeVar("T")


class _Asked(NamedTuple):
    """A prompt that is put to a store, and the best of its answers; none of one that has none."""

    text: str
    rels: dict[str, int]


Found = dict[str, list[tuple[_Asked, list[Recall]]]]
_FOUND: Final[Found] = {}


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table: of each constant, for each suite what the others choose and what that gains there, and what is lost without the constant."""
    names = list(_read_groups())
    yield ("constant", "today", *names)
    with ProcessPoolExecutor() as pool:
        yield from pool.map(_compare, (*_RANKING, *_WEIGHTS, *_GIVING))


def _compare(name: str) -> tuple[str, ...]:
    today = next(getattr(home, name) for home in _HOMES if hasattr(home, name))
    found = {
        key: worth
        for factor in _FACTORS
        for key, worth in _measure(name, today, round(today * factor, 3) if factor != 1 else today).items()
    }
    cells = []
    for left in _read_groups():
        others = {key: fmean(one[group] for group in one if group != left) for key, one in found.items()}
        same, none = (max((key for key in found if key[0] == value), key=others.__getitem__) for value in (today, 0.0))
        best = max(others, key=others.__getitem__)
        best = best if others[best] - others[same] >= _LEAST else same
        here = found[same][left]
        cells.append(f"{here:.3f}; {best[0]}: {found[best][left] - here:+.3f}; none: {found[none][left] - here:+.3f}")
    return (name, str(today), *cells)


def _measure(name: str, today: float, value: float) -> dict[tuple[float, float], Worth]:
    """Return what each group is worth at each level where the constant *name* is *value*."""
    _set(name, today, value)
    try:
        if name in _RANKING:
            return {(value, 0.0): _rank()}
        answers = _search_all(as_today=name in _GIVING or value == today)
        if name == "BASE":  # it is a level itself
            return {(value, 0.0): {group: _weigh(some, value - today) for group, some in answers.items()}}
        return {(value, at): {group: _weigh(some, at) for group, some in answers.items()} for at in _LEVELS}
    finally:
        _set(name, value, today)


def _rank() -> Worth:
    """Return the MRR of the answerable questions of each group."""
    meaning = choose("builtin")
    reports = {group: [ask(suite, meaning) for suite in suites] for group, suites in _read_groups().items()}
    return {group: together(some).as_dict()["answerable"]["MRR"] for group, some in reports.items()}


def _search_all(*, as_today: bool) -> Found:
    """Return what is found for the prompts of each group; *as_today*, which may have been found before."""
    if as_today and _FOUND:
        return _FOUND
    found = {
        group: [(asked, _search(index, asked.text)) for index, prompts in stores for asked in prompts]
        for group, stores in _open_stores().items()
    }
    if as_today:
        _FOUND.update(found)
    return found


def _set(name: str, today: float, value: float) -> None:
    """Have every module that has the constant *name* of *today* take *value*."""
    modules: list[Any] = [module for key, module in sys.modules.items() if key.startswith("memsync.")]
    for module in modules:
        if getattr(module, name, None) == today:
            setattr(module, name, value)


@cache
def _read_groups() -> dict[str, list[Suite]]:
    groups: dict[str, list[Suite]] = {}
    for data in (_OWN, *map(Path, filter(None, [os.environ.get("MEMSYNC_DATA")]))):
        for path in sorted(path.parent for path in data.rglob("queries.jsonl")):
            groups.setdefault((*path.relative_to(data).parts, data.name)[0], []).append(read_suite(path))
            if (cues := path / "cues.jsonl").exists():
                groups[path.name].append(add_cues(groups[path.name][0], cues))
    return groups


@cache
def _open_stores() -> dict[str, list[tuple[Any, list[_Asked]]]]:
    """Return of each group its stores as indexes, each with prompts: its own, and those of other groups, which have no answer there."""
    groups, meaning = _read_groups(), choose("builtin")
    own = {group: [[q for q in suite.queries if q.counts] for suite in suites] for group, suites in groups.items()}
    found: dict[str, list[tuple[Any, list[_Asked]]]] = {}
    for group, suites in groups.items():
        others = [[q.text for q in chain.from_iterable(own[other])] for other in groups if other != group]
        foreign = _spread(_read_prompts() or [text for some in others for text in _spread(some, _MOST)], 2 * _MOST)
        most, found[group] = _MOST // len(suites), []
        for at, (suite, asked) in enumerate(zip(suites, own[group], strict=True)):
            prompts = [_Asked(q.text, q.rels) for q in _spread(asked, most)]
            prompts += [_Asked(q.text, {}) for q in suite.queries if q.is_unanswerable]
            prompts += [_Asked(text, {}) for text in foreign[at :: len(suites)]]
            found[group].append((make_index([("project", memory) for memory in suite.records], meaning), prompts))
    return found


def _read_prompts() -> list[str]:
    """Return the prompts that no suite has an answer to, those of the files prompts.jsonl."""
    data = os.environ.get("MEMSYNC_DATA")
    paths = sorted(Path(data).rglob("prompts.jsonl")) if data else []
    return [text_of(where, value, "text") for path in paths for where, value in objects(path)]


def _spread(some: Sequence[T], most: int) -> list[T]:
    """Return at most *most* of *some*, from all over it."""
    return [*some[:: max(len(some) // most, 1)]][:most]


def _search(index: Any, prompt: str) -> list[Recall]:
    """Return what a session looks at for *prompt* and its parts."""
    recalls = []
    for part in [] if small_talk(prompt) else list_questions(prompt):
        found = index.search(part, limit=_DEPTH, allow=lambda _, memory: None if memory.archived_at else 0.0)
        hits = tuple(map(filters.hit_of, found.matches))
        recalls.append(Recall(hits=hits, query=part, gate=found.gate, floor=0.0, account=found.account))
    return recalls


def _weigh(answers: Sequence[tuple[_Asked, list[Recall]]], level: float) -> float:
    """Return what is given is worth where each confidence has *level* more."""
    worth, wrong = [], []
    for asked, recalls in answers:
        given, named = _give(filters.together(recalls), level) if recalls else ([], [])
        if not any(asked.rels.values()):
            wrong.append(1.0 if given else _HEADLINE if named else 0.0)
            continue
        best = {id_ for id_, rel in asked.rels.items() if rel == max(asked.rels.values())}
        here = 0.0 if best.isdisjoint(given) and best.isdisjoint(named) else _HEADLINE if named else 1.0
        worth.append(here - _LINE * sum(not asked.rels.get(id_) for id_ in given))
    return fmean(worth) - fmean(wrong)


def _give(found: Recall, level: float) -> tuple[list[str], list[str]]:
    """Return the ids of what is given in a block, and of headlines where nothing is."""
    hits, settings = [_move(hit, level) for hit in found.hits], Settings()
    if not hits or max(hit.confidence for hit in hits) < settings.least_named:
        return [], []
    floor = settings.recall_threshold
    if given := lines.choose_lines(hits, floor=floor, limit=filters.SHOWN, is_withheld=lambda _: False):
        return [line.hit.id for line in given], []
    done = headlines.add_headlines(Injection(), hits, found, settings.injection_budget, {}, lambda _: False)
    return [], [entry.id for entry in done.headlines]


def _move(hit: Hit, level: float) -> Hit:
    if not level or not 0 < hit.confidence < 1:
        return hit
    return replace(hit, confidence=1 / (1 + exp(-level - log(hit.confidence / (1 - hit.confidence)))))
