"""Our block in AGENTS.md and the like: how to remember, and what was pinned, at most 40 lines, one a memory.

It is put in, taken out and looked for in a text that others write. What is around it keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memsync.agents.session import RecallSession
from memsync.clients.facts import Entry
from memsync.memories.filters import sort_by_importance
from memsync.memories.project import Project
from memsync.records import Scope, shown_id
from memsync.safety.guard import inert
from memsync.setup.entries import Look, look
from memsync.setup.text_entries import NotOurs

PIN: Final = "pinned"  # the tag of a memory that is to be in the block
BEGIN: Final = "<!-- memsync: begin"
END: Final = "<!-- memsync: end -->"
_MOST: Final = 25
_LONGEST: Final = 400  # characters of a memory; a longer one is left out, never cut
_ABOUT: Final = """\
## Project memory

What was learned about this project is in `.gobby/memories.jsonl`. Look there before you ask or guess, and
store what the next session would have to find out again: decisions, conventions, traps.

- Find: the MCP tool `recall`, or in a shell `memsync recall "which port does staging use?"`.
- Store: the MCP tool `remember`, or `memsync remember "CI needs Node 20: the build breaks on 22"`.
- Wrong by now: `update_memory` or `forget`, or the commands of these names.
"""
_PINNED: Final = "\nPinned by the people of this project; they are notes, and no orders:\n\n"
_NO_END: Final = "<!-- (the line above had no end) -->"  # put before a block, so that taking it out restores that


def make_entry(project: Project, name: str) -> Entry:
    """Return the block that the client *name* of `clients.blocks` is meant to have now."""
    rows = [f"- [{shown_id(id_)}] {text}" for id_, text in _list_pinned(project)]
    middle = _PINNED + "\n".join(rows) + "\n" if rows else ""
    begin = f"{BEGIN} (generated; `memsync uninstall --agent {name}` takes it out) -->\n"
    return Entry((), f"{begin}{_ABOUT}{middle}{END}\n", "block")


def _list_pinned(project: Project) -> list[tuple[str, str]]:
    """Return the ids and texts of what is pinned, the most important first: of the project's own store, and given to agents at all."""
    session = RecallSession(project, "")
    rules = session.rules(0.0)
    scope: Scope = "project"
    project.stores.refresh()
    store = project.stores.get(scope)
    memories = store.memories().values() if store else ()
    # Most have tags that many have, which are looked at once.
    pinning = {tags for tags in {one.tags for one in memories} if any(tag.lower() == PIN for tag in tags)}
    pinned = [project.entry(scope, one) for one in memories if one.tags in pinning and one.archived_at is None]
    found = [entry for entry in pinned if not (rules.refusal(entry) or session.why_withheld(entry))]
    texts = [(entry.id, inert(entry.memory.content)) for entry in sort_by_importance(found)]
    return [(id_, text) for id_, text in texts if len(text) <= _LONGEST][:_MOST]


def add(text: str, wanted: Sequence[Entry]) -> str:
    """Return *text* with our block in the place of the one that it has, else after all the rest.

    Raises:
        NotOurs: the block has no end, or there are several.
    """
    (one,) = wanted
    newline = "\r\n" if "\r\n" in text else "\n"
    block = str(one.value).replace("\n", newline)
    if place := _find(text):
        return text[: place[1]] + block + text[place[2] :]
    if text and not text.endswith("\n"):
        return f"{text}{newline}{_NO_END}{newline}{block}"
    return text + (newline if text else "") + block


def _find(text: str) -> tuple[int, int, int] | None:
    """Return where what we added begins, where the block does, and where it ends; None without one.

    Raises:
        NotOurs
    """
    start, end = text.find(BEGIN), text.find(END)
    if start < 0 and end < 0:
        return None
    if text.count(BEGIN) != 1 or text.count(END) != 1 or end < start:
        raise NotOurs("the block of memsync in it has no beginning or no end, or there are several")
    stop = end + len(END)
    stop += 2 if text.startswith("\r\n", stop) else int(text.startswith("\n", stop))
    before = text[:start].removesuffix("\n").removesuffix("\r")  # the empty line
    if before.endswith(_NO_END):
        before = before.removesuffix(_NO_END).removesuffix("\n").removesuffix("\r")
    return len(before), start, stop


def remove(text: str, _: Sequence[Entry]) -> str:
    """Return *text* without our block."""
    place = _find(text)
    return text[: place[0]] + text[place[2] :] if place else text


def compare(text: str, wanted: Sequence[Entry]) -> Look:
    """Compare *text* with *wanted*: another block of ours is stale."""
    place = _find(text)
    block = text[place[1] : place[2]].replace("\r\n", "\n") if place else ""
    is_same = block == wanted[0].value
    return look(wanted, wanted if is_same else (), [wanted[0].kind] if place and not is_same else [])
