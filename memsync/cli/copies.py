"""`memsync janitor review`: likely copies, a key a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import click

from memsync.cli import render
from memsync.cli.app import Answer, command, track, wants_json
from memsync.cli.janitor import janitor
from memsync.cli.keys import keys
from memsync.janitor.batches import describe, list_records, spell
from memsync.janitor.clusters import Kept, make_merge
from memsync.janitor.likely import find_clusters, keep_apart
from memsync.janitor.plan import Merge
from memsync.janitor.run import apply
from memsync.memories.project import Project

_KEYS: Final = (
    "b: keep the best, a: keep all, m: merge into a text you edit, h: another head, s: later, u: undo, q: stop"
)
_PRESSED: Final = ("b", "a", "m", "h", "s", "u", "q", "\x04", "")  # and the two ends of input


@command(janitor)
def review(project: Project, /) -> Answer | None:
    """Go through memories that may say the same, a key a cluster.

    b keeps the first and drops the others, a keeps all and asks no more, m lets
    you edit the text that is kept, h puts another one first, s leaves it for
    later, u takes the last key back, q stops. "lost" is what only a dropped text
    has. What is private may be dropped for a copy in the project, never the
    other way round. Without a terminal the clusters are only listed.

    \b
    Examples:
      memsync janitor review
      memsync janitor review --json
    """
    clusters = find_clusters(project, track=lambda items, label: track(items, label, least=2_000))
    known = list_records(project)
    if wants_json() or not sys.stdin.isatty():
        told = [describe(known, cluster) for cluster in clusters]
        lines = [line for one in told for line in (*map(render.printable, spell(one)), "")]
        return Answer({"count": len(told), "clusters": told}, "\n".join(lines) + _count(len(told)))
    click.echo(_count(len(clusters)))
    with keys() as key:
        _Review(project, clusters, key).go()
    return None


def _count(number: int) -> str:
    return f"{number} clusters may say the same" if number else "no likely copies"


@dataclass(slots=True)
class _Review:
    """One sitting: where it is, and how each key that decided something is taken back."""

    project: Project
    clusters: list[Merge]
    key: Callable[[], str]
    place: int = 0
    undone: list[Callable[[], Any]] = field(default_factory=list)

    def go(self) -> None:
        while self.place < len(self.clusters):
            known = list_records(self.project)
            cluster = self.clusters[self.place]
            if not known.keys() >= {cluster.keep, *cluster.drop}:
                self._decide(lambda: None)
                continue
            if not self._ask(cluster, known):
                break

    def _ask(self, cluster: Merge, known: dict[str, Kept]) -> bool:
        """Show one cluster, take one key, and return whether to go on."""
        click.echo(f"\n{click.style(f'{self.place + 1}/{len(self.clusters)}', bold=True)}")
        for line in spell(describe(known, cluster)):
            click.echo(f"  {render.printable(line)}")
        click.echo(f"{_KEYS} ", nl=False)
        while (pressed := self.key().lower()) not in _PRESSED:
            pass
        click.echo(pressed if pressed.isalpha() else "q")
        acts = {
            "b": lambda: self._merge(cluster),
            "m": lambda: self._edit(cluster, known),
            "a": lambda: self._keep([known[id_].memory for id_ in (cluster.keep, *cluster.drop)]),
            "h": lambda: self._turn(cluster, known),
            "s": lambda: self._decide(lambda: None),
            "u": self._undo,
        }
        if pressed in acts:
            acts[pressed]()
        return pressed in acts

    def _decide(self, back: Callable[[], Any]) -> None:
        self.undone.append(back)
        self.place += 1

    def _merge(self, cluster: Merge) -> None:
        from memsync.janitor.undo import undo

        report = apply(self.project, [cluster], judged="confirmed")
        for outcome in report.outcomes:
            if outcome.status != "done":
                click.echo(f"{outcome.status}: {render.one_line(outcome.reason)}")
        run = report.run
        self._decide((lambda: undo(self.project, run)) if run else lambda: None)

    def _edit(self, cluster: Merge, known: dict[str, Kept]) -> None:
        texts = [known[id_].memory.content for id_ in (cluster.keep, *cluster.drop)]
        notes = "".join(f"# {render.one_line(text)}\n" for text in texts[1:])
        edited = click.edit(f"{texts[0]}\n\n# These are dropped; lines that begin with # do not count:\n{notes}")
        lines = [line for line in (edited or "").splitlines() if not line.startswith("#")]
        if text := "\n".join(lines).strip():
            self._merge(cluster._replace(content=text))

    def _keep(self, memories: list[Any]) -> None:
        numbers = keep_apart(self.project, memories, "a person says so")
        state = self.project.state(self.project.default_scope)
        self._decide(lambda: state.set_reviewed(numbers, "unreviewed"))

    def _turn(self, cluster: Merge, known: dict[str, Kept]) -> None:
        """Put the next record first that may stand for another one."""
        ids = [*cluster.drop, cluster.keep]
        records = [known[id_] for id_ in ids]
        for head in records:
            if turned := make_merge(records, cluster.similarity or 0.0, head):
                self.clusters[self.place] = turned
                return

    def _undo(self) -> None:
        if self.undone:
            self.undone.pop()()
            self.place -= 1
