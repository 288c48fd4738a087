"""The pages *Branch*, what the work tree teaches that another branch does not, staged or taken back, and *Timeline*, what became of the memories in git."""

from __future__ import annotations

import shlex
from hashlib import sha256
from typing import Any, Final, NamedTuple

from memsync.errors import Changed, MemsyncError, NoHistory
from memsync.format.textdiff import diff_lines
from memsync.git import history, stage
from memsync.janitor import queue
from memsync.memories import events, log, syncing
from memsync.memories.diff import Difference, SkillChange, difference
from memsync.memories.events import Event, files_of
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import short_id
from memsync.store.checkout import Checkout
from memsync.system.texts import one_line
from memsync.web import pages
from memsync.web.desk import Done, Given, Page, Routes, Undo
from memsync.web.memories import version_of
from memsync.web.review import link_to_card
from memsync.web.shelf import tell_problem

routes = Routes()
_ROWS: Final = 200
_LINES: Final = 2_000  # of a skill
_BRANCHES: Final = 100
_COMMITS: Final = 25
_SLICE: Final = 0.25  # seconds of reading for one page, which takes up the next one as it is scrolled to
_FURTHEST: Final = 10_000_000
_EVENTS: Final = 400  # events of a page: a commit may bring thousands
_UNKNOWN: Final = "not in git yet"
_WAITING: Final = "not staged"


class Against(NamedTuple):
    """Another branch, and the commit at which ours left it ("" before the first commit)."""

    name: str
    base: str


def find_base(project: Project, name: str = "") -> Against:
    """Return where the work tree left the branch *name*, by default the usual one of this repository.

    Raises:
        NoHistory: not in git, or *name* names no commit.
    """
    files = files_of(project)
    head = history.head(files.root)
    name = name or history.find_usual(files.root)
    if not head:
        return Against(name, "")
    return Against(name, history.merge_base(files.root, history.resolve(files.root, name).id, head))


def compare(project: Project, against: Against, *, brings: bool = False) -> Difference:
    """Return what the work tree has that *against* had not when ours left it; with *brings* what a merge of it would bring."""
    return difference(project, f"HEAD...{against.name}" if brings and against.base else against.base or "HEAD")


class Card(NamedTuple):
    """A memory that differs, as it is if it is there, and which version of it was seen."""

    event: Event
    entry: Entry | None
    version: str


@routes.reads("/branch")
def show(project: Project, given: Given) -> Page:
    """Return what the work tree teaches compared with another branch."""
    kept = _list_kept(project)  # after a look at the files
    store = project.stores.get("project")
    problem = tell_problem(store)
    is_torn = store is not None and any(one.is_conflict for one in store.problems())  # git left the file in conflict
    view: dict[str, Any] = {"kept": kept, "is_torn": is_torn, "problem": problem}
    try:
        against, brings = find_base(project, given.get("with")), bool(given.get("brings"))
        found = compare(project, against, brings=brings)
        view |= {
            "rows": list_rows,
            "against": against,
            "branches": history.list_branches(files_of(project).root, _BRANCHES),
            "found": found,
            "cards": [make_card(project, event) for event in found.memories[:_ROWS]],
            "skills": found.skills[:_ROWS],
            "brings": brings,
            "other_way": pages.address("/branch", {"with": against.name} | ({} if brings else {"brings": "1"})),
            "command": pages.command(
                "memory", "diff", text=f"HEAD...{against.name}" if brings else against.base[:10] or "HEAD"
            ),
            "state": (state := "" if brings else _describe_stage(project)),
            "can_stage": (can_stage := state in (_UNKNOWN, _WAITING) and not problem),
            "version": _version(found) if can_stage else "",
        }
    except MemsyncError as error:
        view |= {
            "found": None,
            "against": Against(given.get("with"), ""),
            "branches": [],
            "brings": False,
            "other_way": "",
        }
        return Page("branch.html", view, error, 404 if given.get("with") and isinstance(error, NoHistory) else 200)
    return Page("branch.html", view)


def make_card(project: Project, event: Event) -> Card:
    """Return *event* with the memory that it is about, as far as it is there."""
    memory = project.store("project").get(event.id)
    entry = project.mark(project.entry("project", memory)) if memory else None
    return Card(event, entry, version_of(memory) if memory else "")


def list_rows(change: SkillChange) -> list[str]:
    """Return the lines of a skill that differ."""
    rows = diff_lines(change.before.splitlines(), change.after.splitlines(), context=2)
    left = len(rows) - _LINES
    return [*rows[:_LINES], f"… and {left:,} more lines; memsync diff shows them"] if left > 0 else rows


def _list_kept(project: Project) -> list[tuple[Entry, str]]:
    """Return the texts that a merge kept beside another, each with the card that decides about it."""
    project.stores.refresh()
    kept = [(s, m) for s, store in project.stores.items() for m in store.memories().values() if m.conflict_of]
    found = [project.mark(project.entry(scope, memory)) for scope, memory in kept if not memory.archived_at]
    return [(one, link_to_card(queue.name_card("conflict", one), {"kind": "conflict"})) for one in found]


def _describe_stage(project: Project) -> str:
    checkout = _checkout(project)
    letters = stage.state(checkout, stage.path_of(checkout, project.store("project")))
    if letters == "??":
        return _UNKNOWN
    if stage.is_held_back(project.store("project"), letters):
        return _WAITING
    return "nothing to commit" if letters == "  " else "staged"


def _checkout(project: Project) -> Checkout:
    files_of(project)  # or it says why there is none
    assert project.layout.git
    return Checkout(project.layout.git.root)


def _version(found: Difference) -> str:
    """Return what tells the memories that differ as they are from what they may be when somebody stages them; the others are in git."""
    told = repr(sorted((event.id, version_of(event.after) if event.after else "") for event in found.memories))
    return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


@routes.writes("/branch/stage")
def stage_all(project: Project, given: Given) -> Done:
    """Put the memories that were on the screen into git's index, for the next commit."""
    checkout, store = _checkout(project), project.store("project")
    store.refresh()
    if _version(compare(project, find_base(project, given.get("with")))) != given.get("was"):
        raise Changed("a memory of this branch")
    if problem := tell_problem(store):  # it would look removed to whoever merges it
        raise MemsyncError(f"{problem}; nothing was staged: mend the file, or stage it with git")
    before = stage.state(checkout, stage.path_of(checkout, store))
    if left := stage.stage(checkout, store, project.vetting.allowed):
        raise MemsyncError(f"the memories are not staged: {left.why}")
    undo = Undo("/branch/unstage", {"with": given.get("with")}) if before[0] in " ?" else None
    return Done("the memories are staged", _link(given), [pages.command("sync", "--export")], undo)


@routes.writes("/branch/unstage")
def unstage(project: Project, given: Given) -> Done:
    """Take the memories out of git's index again; the files stay as they are."""
    checkout, store = _checkout(project), project.store("project")
    paths = stage.list_paths(checkout, store)
    checkout.do("reset", "-q", "--", *paths)
    return Done("the memories are not staged any more", _link(given), [shlex.join(["git", "reset", "--", *paths])])


@routes.writes("/branch/resolve")
def resolve(project: Project, given: Given) -> Done:
    """Write the memory file clean that git left in conflict, and stage it: both texts of a conflict are kept."""
    done = syncing.sync(project, take_in=False)
    if done.held:
        raise MemsyncError(f"the memory file was not resolved: {done.held}")
    return Done("the memory file is whole again, and staged", _link(given), [pages.command("sync", "--export")])


@routes.writes("/branch/take-back")
def take_back(project: Project, given: Given) -> Done:
    """Let one memory be again as it was where the branches parted; the file changes, and what is committed stays."""
    id_, base = given.raw("id"), given.get("base")
    project.stores.refresh()
    memory = project.store("project").get_sent(id_)
    if (version_of(memory) if memory else "") != given.get("was"):
        raise Changed(short_id(id_))
    undo = {"id": id_, "scope": "project"}
    if given.get("kind") == "added":
        assert memory
        project.forget(memory.id, "project", was=memory)
        command = pages.command("memory", "forget", text=id_)
        return Done(f"forgot {short_id(id_)}", _link(given), [command], Undo("/memory/restore", {**undo, "was": ""}))
    result = events.restore(project, id_, base)
    command = pages.command("memory", "restore", text=id_, at=base[:10])
    back = Undo("/memory/restore", {**undo, "was": version_of(result.entry.memory)}) if memory else None
    return Done(f"{short_id(id_)}: {result.reason}", _link(given), [command], back)


def _link(given: Given) -> str:
    name = one_line(given.get("with"), 200)
    return pages.address("/branch", {"with": name}) if name else "/branch"


@routes.reads("/timeline")
def show_timeline(project: Project, given: Given) -> Page:
    """Return what some commits did to the memories; the first page begins with what is not committed yet."""
    tip, skip = given.get("tip"), given.number("skip", 0, most=_FURTHEST)
    try:
        found = log.read_stretch(project, tip, skip=skip, most=_COMMITS, seconds=_SLICE)
        view = {
            "command": pages.command("log"),
            "found": found,
            "rows": [make_card(project, event) for event in found.events[:_EVENTS]],
            "notes": events.notes(project),
            "older": "" if found.is_last else _link_stretch(found.tip, skip + found.commits),
            "newer": _link_stretch(found.tip, max(skip - _COMMITS, 0)) if skip else "",
            "churn": [(by, list(log.count_churn(found.events, by).items())[:30]) for by in ("type", "file")],
        }
    except MemsyncError as error:
        return Page("timeline.html", {"found": None, "notes": []}, str(error))
    return Page("timeline.html", view)


def _link_stretch(tip: str, skip: int) -> str:
    return pages.address("/timeline", {"tip": tip, "skip": str(skip)}) if skip else "/timeline"
