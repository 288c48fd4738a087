"""What other repositories know on a query, beside the list of *Memories*: asked of the user's hub where the page says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from memsync.errors import HubError, NotInstalled
from memsync.memories.project import Project
from memsync.web import pages
from memsync.web.desk import Given, Page, Routes
from memsync.web.memories import FIELDS, read_filters

if TYPE_CHECKING:
    from memsync.hub.search import HubRecall

routes = Routes()
_WAIT: Final = 0.5  # seconds that a page waits at first, and others with it
_SLOW: Final = 5.0  # seconds after which the page says that the hub does not answer
_MOST: Final = 4  # questions at once; as many more are refused while a hub hangs


class _Question:
    """What a thread asks the hub, and its answer."""

    def __init__(self, ask: Callable[[], HubRecall]) -> None:
        self._ask = ask
        self.began = time.monotonic()
        self.found: HubRecall | None = None
        self.error = ""
        self.thread = threading.Thread(target=self._run, name="memsync-hub", daemon=True)
        self.thread.start()
        self.thread.join(_WAIT)

    def _run(self) -> None:
        try:
            self.found = self._ask()
        except (HubError, NotInstalled) as error:
            self.error = str(error)
        except Exception as error:  # noqa: BLE001 - the boundary of the thread: the page says it
            self.error = f"unexpected {type(error).__name__}: {error}"


class Questions:
    """What is being asked of the hub, so that no other page waits for it. The caller lets in one thread at a time."""

    def __init__(self) -> None:
        self._open: dict[object, _Question] = {}

    def look(self, key: object, find_ask: Callable[[], Callable[[], HubRecall]]) -> _Question | None:
        """Return the question *key*, answered or not; None where too many wait. An answer is given once."""
        if key not in self._open:
            for old in [old for old, one in self._open.items() if not one.thread.is_alive()]:
                del self._open[old]  # whoever asked has left
            if len(self._open) >= _MOST:
                return None
            self._open[key] = _Question(find_ask())
        one = self._open[key]
        if not one.thread.is_alive():
            del self._open[key]
        return one


@routes.reads("/hub", Questions)
def show(questions: Questions, project: Project, given: Given) -> Page:
    """Return what the hub has on the query, but for what this project's own answer shows; or that it has not answered yet."""
    from memsync.hub import hub
    from memsync.hub.nominate import Filters

    query = given.get("q")
    view = {"query": query, "again": "", "command": pages.command("hub", "search", text=query)}
    if not query:
        return Page("hub.html", view)
    filters = read_filters(project, given)
    wanted = Filters(
        memory_type=filters.memory_type, tags_all=tuple(filters.tags_all), min_importance=filters.min_importance
    )

    def find_ask() -> Callable[[], HubRecall]:
        known = {(hit.id, hit.content) for hit in project.search(query, filters)}
        return lambda: hub.ask_beside(query, known, filters=wanted)

    one = questions.look((query, wanted), find_ask)
    if one is None:
        return Page("hub.html", view, "the hub has not answered what was asked before; try again later")
    if one.error:
        return Page("hub.html", view, one.error)
    if (found := one.found) is None:
        said = {name: given.get(name) for name in ("q", *FIELDS) if given.get(name)}
        seconds = time.monotonic() - one.began
        waits = {"waits": seconds, "is_slow": seconds > _SLOW, "again": pages.address("/hub", said)}
        return Page("hub.html", {**view, **waits})
    shown = {"hits": found.hits, "floor": found.floor, "degraded": found.degraded}
    return Page("hub.html", {**view, **shown, "looked": (found.repositories, found.records)})
