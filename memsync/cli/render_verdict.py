"""By which rule a memory is given to an agent or not, as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click

from memsync.agents.explain import MEANINGS, Evidence, Verdict
from memsync.cli import render

_NEARLY: Final = 0.1  # confidence from which a memory came near enough to say why
_LONGEST: Final = 100  # characters of a part of a prompt


def explain_verdict(verdict: Verdict) -> Iterator[str]:
    """Yield by which rule a memory is given to an agent or not, and what speaks for it."""
    rule = click.style(verdict.rule, fg="green" if verdict.rule == "given" else "yellow")
    sure = "" if verdict.confidence is None else f"confidence {verdict.confidence:.2f} "
    alike = f": {render.short_id(verdict.evidence.alike)}" if verdict.evidence.alike else ""
    yield f"{render.short_id(verdict.entry.id)} {sure}{rule}: {MEANINGS[verdict.rule]}{alike}"
    if verdict.confidence and verdict.confidence >= _NEARLY:
        yield from (click.style(f"    {line}", dim=True) for line in _explain_evidence(verdict.evidence))


def _explain_evidence(evidence: Evidence) -> Iterator[str]:
    instead = [f"{asked} as {has}" for asked, has in evidence.instead]
    told = {"has": evidence.has, "has otherwise": instead, "lacks": evidence.lacks}
    if said := "; ".join(f"{name}: {', '.join(map(render.one_line, words))}" for name, words in told.items() if words):
        yield said
    if evidence.place:
        yield f"anchored to {render.one_line(evidence.place)}, which the prompt names"
    if evidence.part:
        yield f"found by a part of the prompt: {render.one_line(evidence.part)[:_LONGEST]}"
