"""The same change of many memories: first what it would do, row by row, then all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from memsync.errors import Changed, MemsyncError, UsageError
from memsync.memories import sharing
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import SCOPES, clean_importance, clean_tags, shown_id
from memsync.web import pages, undo
from memsync.web.desk import Done, Given, Page, Routes
from memsync.web.edits import read_importance
from memsync.web.memories import Row, version_of

routes = Routes()


class Action(NamedTuple):
    """A change of many: what it would make of one memory ("": nothing), and doing it; `takes` names the value that it needs."""

    name: str
    plan: Callable[[Entry, str], str]
    do: Callable[[Project, Entry, str], object]
    spell: Callable[[Entry, str], str]
    takes: str = ""


def _with_tag(entry: Entry, tag: str) -> list[str]:
    return list(dict.fromkeys((*entry.memory.tags, *clean_tags(tag.split(",")))))


def _without_tag(entry: Entry, tag: str) -> list[str]:
    gone = {one.lower() for one in clean_tags(tag.split(","))}
    return [one for one in entry.memory.tags if one.lower() not in gone]


def _retag(
    tags: Callable[[Entry, str], list[str]],
) -> tuple[Callable[[Entry, str], str], Callable[[Project, Entry, str], object], Callable[[Entry, str], str]]:
    def plan(entry: Entry, value: str) -> str:
        new = tags(entry, value)
        return f"tags: {', '.join(new) or 'none'}" if new != list(entry.memory.tags) else ""

    def do(project: Project, entry: Entry, value: str) -> object:
        return project.update(entry.id, tags=tags(entry, value), scope=entry.scope, was=entry.memory)

    def spell(entry: Entry, value: str) -> str:
        return pages.command("memory", "update", text=entry.id, tags=",".join(tags(entry, value)))

    return plan, do, spell


def _plan_importance(entry: Entry, value: str) -> str:
    new = clean_importance(read_importance(value))
    return f"importance {entry.memory.importance:g} → {new:g}" if new != entry.memory.importance else ""


ACTIONS: Final[Mapping[str, Action]] = {
    "tag": Action("Add tags", *_retag(_with_tag), "tags"),
    "untag": Action("Remove tags", *_retag(_without_tag), "tags"),
    "importance": Action(
        "Set importance",
        _plan_importance,
        lambda project, entry, value: project.update(
            entry.id, importance=read_importance(value), scope=entry.scope, was=entry.memory
        ),
        lambda entry, value: pages.command("memory", "update", text=entry.id, importance=value),
        "number",
    ),
    "share": Action(
        "Share",
        lambda entry, _: "into the project, where it can be committed" if entry.scope != "project" else "",
        lambda project, entry, _: sharing.bring(project, [entry]),
        lambda entry, _: pages.command("memory", "share", text=entry.id),
    ),
    "unshare": Action(
        "Make private",
        lambda entry, _: "out of the work tree" if entry.scope != "stealth" else "",
        lambda project, entry, _: sharing.move(project, [entry], "stealth"),
        lambda entry, _: pages.command("memory", "unshare", text=entry.id),
    ),
    "forget": Action(
        "Forget",
        lambda *_: "removed; `memsync memory restore` brings it back",
        lambda project, entry, _: project.forget(entry.id, entry.scope, was=entry.memory),
        lambda entry, _: pages.command("memory", "forget", text=entry.id),
    ),
}


class Step(NamedTuple):
    """What would become of one memory, and by which command."""

    row: Row
    what: str
    command: str


@routes.writes("/bulk")
def preview(project: Project, given: Given) -> Page:
    """Return what the chosen change would do to each chosen memory; nothing is written."""
    action, value = _read_action(given)
    chosen = _read_picks(project, given)
    steps = [
        Step(Row(entry), what, action.spell(entry, value)) for entry in chosen if (what := action.plan(entry, value))
    ]
    same = len(chosen) - len(steps)
    return Page("bulk.html", {"action": action, "do": given.get("do"), "value": value, "steps": steps, "same": same})


@routes.writes("/bulk/do")
def apply(project: Project, given: Given) -> Done:
    """Do what was previewed. What cannot be done is told, and the rest is done."""
    action, value = _read_action(given)
    chosen = [entry for entry in _read_picks(project, given) if action.plan(entry, value)]
    refused = []
    for entry in chosen:
        try:
            action.do(project, entry, value)
        except MemsyncError as error:
            refused.append(f"{shown_id(entry.id)}: {error}")
    commands = [action.spell(entry, value) for entry in chosen]
    said = f"{action.name}: {len(chosen) - len(refused)} of {len(chosen)} done"
    is_any = len(refused) < len(chosen)
    return Done(said, "/", commands, undo.offer(project) if is_any else None, also=refused)


def _read_action(given: Given) -> tuple[Action, str]:
    action, value = ACTIONS.get(given.get("do")), given.get("value")
    if action is None:
        raise UsageError("choose what to do with the chosen memories")
    if action.takes and not value:
        raise UsageError(f"{action.name}: give the {action.takes}")
    return action, value


def _read_picks(project: Project, given: Given) -> list[Entry]:
    """Return the chosen memories.

    Raises:
        Changed, MemoryNotFound: one is no longer what was on the screen.
    """
    project.stores.refresh()
    chosen = []
    for pick in given.every("pick"):
        scope, was, id_ = [*pick.split(" ", 2), "", ""][:3]
        where = next((one for one in SCOPES if one == scope), None)
        store = project.stores.get(where) if where else None
        memory = store.get_sent(id_) if store else None
        if where is None or memory is None or version_of(memory) != was:
            raise Changed(shown_id(id_))
        chosen.append(project.entry(where, memory))
    if not chosen:
        raise UsageError("no memory is chosen; tick some in the list first")
    return chosen
