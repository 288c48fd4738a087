"""What the commands of the hub print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from memsync.cli.app import Answer
from memsync.cli.render import count, memories
from memsync.cli.terminal import flow
from memsync.errors import UsageError
from memsync.records import shown_id
from memsync.system.texts import one_line

if TYPE_CHECKING:
    from memsync.hub.report import Report
    from memsync.hub.search import HubHit, HubRecall
    from memsync.hub.sync import Outcome

__all__ = [
    "add_hub",
    "count",
    "one_line",
    "outcomes",
    "questions",
    "readable",
    "recall",
    "report",
    "repositories",
    "status",
]

_SHOWN = 20


def add_hub(answer: Answer, query: str | None, how: Mapping[str, Any]) -> Answer:
    """Return *answer* with what the hub has on *query* by the same options, but for what is there already."""
    from memsync.hub import hub
    from memsync.hub.nominate import Filters

    if not query:
        raise UsageError("what other repositories know depends on a query; give one")
    names = ("memory_type", "tags_all", "tags_any", "tags_none", "min_importance")
    known = {(one["id"], one["content"]) for one in answer.value["memories"]}
    found = hub.ask_beside(
        query, known, limit=how["limit"] or 15, filters=Filters(**{name: how[name] for name in names})
    )
    return Answer({**answer.value, "hub": found.as_dict()}, f"{answer.text}\nfrom the hub:\n{recall(found)}")


def repositories(number: int) -> str:
    """Return "1 repository", or how many repositories."""
    return count(number, "repository")


def outcomes(found: Sequence[Outcome]) -> str:
    """Return a line for each repository in which something happened, and how many did not change."""
    lines = []
    for one in found:
        if one.what != "unchanged" or one.note:
            counts = f", {one.put} written, {one.removed} removed" if one.what in ("new", "changed") else ""
            note = f": {one_line(one.note, 200)}" if one.note else ""
            lines.append(f"{one_line(one.name)} {one.what}{counts}{note}")
    same = sum(one.what == "unchanged" for one in found)
    lines += [f"{repositories(same)} unchanged"] if same else []
    return "\n".join(lines) or "no repositories yet; `memsync hub add URL` adds one"


def status(value: Mapping[str, Any]) -> str:
    """Return how much the hub has, and each repository that needs a look."""
    found = value["repositories"]
    lines = [
        f"{repositories(len(found))}, {memories(value['memories'])}, {count(value['skills'], 'skill')}, {value['bytes']:,} bytes",
        f"embedder {value['embedder'] or 'none'}; last sync {value['synced_at'] or 'never'}",
    ]
    if not value["synced_at"]:
        lines.append("`memsync hub sync` brings their memories" if found else "`memsync hub add URL` adds a repository")
    if value["loading"]:
        lines.append("being loaded for the first time; run `memsync hub sync` again if that was stopped")
    for one in found[:_SHOWN]:
        left = ", ".join(f"{number} {why}" for why, number in sorted(one["left_out"].items()))
        rest = f"; left out: {left}" if left else ""
        note = f"; {one_line(one['note'], 200)}" if one["note"] else ""
        lines.append(f"  {one_line(one['name'])} {one['state']}, {memories(one['memories'])}{rest}{note}")
    lines += [f"  and {len(found) - _SHOWN} more (--json has all)"] if len(found) > _SHOWN else []
    return "\n".join(lines)


def readable(server: str, found: Sequence[Mapping[str, Any]]) -> str:
    """Return what may be read at *server*."""
    lines = [f"asks {one_line(server)}; {repositories(len(found))} that you may read"]
    lines += [
        f"  {one_line(one['name'])} {memories(one['memories'])}, {count(one['skills'], 'skill')}"
        for one in found[:_SHOWN]
    ]
    lines += [f"  and {len(found) - _SHOWN} more (--json has all)"] if len(found) > _SHOWN else []
    lines += [] if found else ["whoever runs it lets you in: `memsync hub grant NAME REPOSITORY`"]
    return "\n".join(lines)


def recall(found: HubRecall) -> str:
    """Return two lines for each hit, weak ones last."""
    weak = [hit for hit in found.hits if hit.confidence < found.floor]
    lines = [line for hit in found.hits if hit.confidence >= found.floor for line in _hit(hit)]
    if weak:
        lines.append(click.style("weak matches:", dim=True))
        lines += [line for hit in weak for line in _hit(hit)]
    lines += [f"degraded: {found.degraded}"] if found.degraded else []
    return "\n".join(lines) or _nothing(found)


def _nothing(found: HubRecall) -> str:
    if not found.repositories:
        return "no such repository that you may read; `memsync hub add URL` and `memsync hub grant` make one readable"
    if not found.records:
        return f"{repositories(found.repositories)} with nothing to find yet; `memsync hub sync` brings what there is"
    return f"nothing in {repositories(found.repositories)} with {memories(found.records)} answers"


def _hit(hit: HubHit) -> list[str]:
    head = click.style(f"{one_line(hit.repository)} {shown_id(hit.memory.id)}", fg="yellow")
    copy = f"(nearly the same as {one_line(hit.copy_of)})" if hit.copy_of else ""
    return [
        flow(head, one_line(hit.memory.content), copy),
        click.style(f"  {one_line(hit.link)}", dim=True),
    ]


def report(made: Report) -> str:
    """Return what several repositories say, where they disagree, and the least fresh of them."""
    lines = [f"{repositories(len(made.repositories))}, {memories(made.memories)}, {made.compared:,} compared"]
    for said in made.shared[:_SHOWN]:
        mark = "perhaps a rule: " if said in made.rules else ""
        lines.append(flow(f"  {mark}{repositories(len(said.repositories))} say:", one_line(said.text)))
    for clash in made.clashes[:_SHOWN]:
        lines.append(flow(f"  {one_line(clash.one.repositories[0])}:", one_line(clash.one.text)))
        other = f"    against {one_line(clash.other.repositories[0])}:"
        lines.append(flow(other, f"{one_line(clash.other.text)}; {clash.why}"))
    lines += [f"  {line}" for line in questions(made.unanswered).splitlines()] if made.unanswered else []
    old = made.repositories[:5]
    lines += [f"  {one_line(one['name'])}: last change taken in {one['changed_at'] or 'never'}" for one in old]
    return "\n".join(lines)


def questions(found: Sequence[Mapping[str, Any]]) -> str:
    """Return a line for each question that several have asked in vain."""
    return "\n".join(f"{one['askers']} have asked in vain: {one_line(one['question'], 160)}" for one in found)
