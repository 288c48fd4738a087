"""What other repositories know on a query, beside the list of *Memories*: asked of the user's hub where the page says so."""

from __future__ import annotations

from memsync.errors import HubError, NotInstalled
from memsync.memories.project import Project
from memsync.web import spell
from memsync.web.desk import Given, Page
from memsync.web.memories import read_filters


def show(project: Project, given: Given) -> Page:
    """Return what the hub has on the query, but for what this project's own answer shows."""
    from memsync.hub import hub
    from memsync.hub.nominate import Filters

    query = given.get("q")
    view = {
        "query": query,
        "hits": (),
        "floor": 0.0,
        "degraded": "",
        "error": "",
        "looked": None,
        "command": spell.command("hub", "search", *spell.content(query)),
    }
    if not query:
        return Page("hub.html", view)
    filters = read_filters(project, given)
    known = {(hit.id, hit.content) for hit in project.search(query, filters)}
    wanted = Filters(
        memory_type=filters.memory_type, tags_all=tuple(filters.tags_all), min_importance=filters.min_importance
    )
    try:
        found = hub.ask_beside(query, known, filters=wanted)
    except (HubError, NotInstalled) as error:
        return Page("hub.html", {**view, "error": str(error)})
    shown = {"hits": found.hits, "floor": found.floor, "degraded": found.degraded}
    return Page("hub.html", {**view, **shown, "looked": (found.repositories, found.records)})
