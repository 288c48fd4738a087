"""The page *Map*: files and folders with how many memories speak of them, which are out of date, and what is linked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from memsync.memories import anchors, citations
from memsync.memories.project import Project
from memsync.records import Memory
from memsync.web import pages
from memsync.web.desk import Given, Page, Routes
from memsync.web.shelf import Shelf

routes = Routes()
_PLACES: Final = 200  # of a folder
_LINKS: Final = 200
_TEXTS: Final = 2_000  # anchors of a folder whose files are looked at
_ID: Final = re.compile(r"\bmm-[0-9a-z]{6,}\b")


@dataclass(slots=True)
class Place:
    """A file or a folder: how many memories speak of it, the latest of them, and which of their anchors are out of date."""

    path: str
    is_folder: bool = False
    ids: set[str] = field(default_factory=set)
    latest: datetime | None = None
    texts: set[str] = field(default_factory=set, repr=False)
    stale: Sequence[str] = ()

    @property
    def url(self) -> str:
        """What is in the folder, or the memories about the file."""
        return (
            pages.address("/map", {"in": self.path})
            if self.is_folder
            else pages.address("/memories", {"file": self.path})
        )


@routes.reads("/map", Shelf)
def show(shelf: Shelf, project: Project, given: Given) -> Page:
    """Return the map of a folder of the repository, the top without a name, and what is linked of all memories."""
    folder = given.get("in").strip("/")
    names = folder.split("/") if folder else []
    above = [("all", ""), *((name, "/".join(names[: number + 1])) for number, name in enumerate(names))]
    live = [memory for memory in shelf.look(project).memories if not memory.archived_at]
    places = list_places(live, folder)
    if root := project.layout.root:
        for place in places[:_PLACES]:
            place.stale = citations.find_stale(sorted(place.texts)[:_TEXTS], root)
    links = list_links(live)[:_LINKS]
    wanted = {id_ for one, _, other in links for id_ in (one, other)}
    ends = {memory.id: make() for memory, make in shelf.look(project).pairs() if memory.id in wanted}
    view = {
        "folder": folder,
        "above": [(name, pages.address("/map", {"in": path})) for name, path in above],
        "places": places[:_PLACES],
        "left": len(places[_PLACES:]),
        "bare": sum(not memory.anchors for memory in live),
        "total": len(live),
        "links": [(ends[one], how, ends[other]) for one, how, other in links],
        "command": pages.command("memory", "list"),
    }
    return Page("map.html", view)


def list_places(memories: Iterable[Memory], folder: str) -> list[Place]:
    """Return what of *folder* memories speak of, a level deep, that of which most do first."""
    start = f"{folder}/" if folder else ""
    found: dict[str, Place] = {}
    for memory in memories:
        for text in memory.anchors:
            path = anchors.parse(text).path
            if not path or not path.startswith(start):  # or a command
                continue
            name, slash, _ = path[len(start) :].partition("/")
            place = found.setdefault(start + name + slash, Place(start + name, bool(slash)))
            place.ids.add(memory.id)
            place.texts.add(text)
            place.latest = max(filter(None, (place.latest, memory.written_at)), default=None)
    return sorted(found.values(), key=lambda place: (-len(place.ids), place.path, place.is_folder))


def list_links(memories: Sequence[Memory]) -> list[tuple[str, str, str]]:
    """Return by their ids which memory supersedes, contradicts as one side of a merge, or names which other."""
    ids = {memory.id for memory in memories}
    found: dict[tuple[str, str], str] = {}
    for memory in memories:
        named = [("supersedes", id_) for id_ in memory.supersedes]
        named += [("in conflict with", memory.conflict_of)] if memory.conflict_of else []
        named += [("mentions", id_) for id_ in _ID.findall(memory.content)] if "mm-" in memory.content else []
        for how, id_ in named:
            if id_ != memory.id and id_ in ids:
                found.setdefault((memory.id, id_), how)
    return [(one, how, other) for (one, other), how in found.items()]
