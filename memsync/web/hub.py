"""What other repositories know on a query, beside the list of *Memories*: asked of the user's hub where the page says so."""

from __future__ import annotations

from memsync.errors import HubError, NotInstalled
from memsync.memories.project import Project
from memsync.web import pages
from memsync.web.desk import Given, Page, Routes
from memsync.web.memories import read_filters

routes = Routes()


@routes.reads("/hub", is_slow=True)
def show(project: Project, given: Given) -> Page:
    """Return what the hub has on the query, but for what this project's own answer shows."""
    from memsync.hub import hub
    from memsync.hub.nominate import Filters

    query = given.get("q")
    view = {"query": query, "command": pages.command("hub", "search", text=query)}
    if not query:
        return Page("hub.html", view)
    project.be_brief()  # it is open for this one question
    filters = read_filters(project, given)
    wanted = Filters(
        memory_type=filters.memory_type, tags_all=tuple(filters.tags_all), min_importance=filters.min_importance
    )
    known = {(hit.id, hit.content) for hit in project.search(query, filters)}
    try:
        found = hub.ask_beside(query, known, filters=wanted)
    except (HubError, NotInstalled) as error:
        return Page("hub.html", view, str(error))
    shown = {"hits": found.hits, "floor": found.floor, "degraded": found.degraded}
    return Page("hub.html", {**view, **shown, "looked": (found.repositories, found.records)})
