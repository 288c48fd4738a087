"""What a person should decide: one queue of cards, from all that was learned, doubted, brought by others or is out of date.

A card is named by what it is about, and read anew when it is shown and when it
is decided: nothing is kept that could be out of date itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations
from typing import Final, Literal, NamedTuple
from urllib.parse import quote, unquote

from memsync.errors import MemsyncError
from memsync.format.scopes import read_scope
from memsync.git import history
from memsync.index.dedup import decide
from memsync.janitor import review
from memsync.janitor.clusters import Kept, Track, list_losses, make_merge, untracked
from memsync.janitor.likely import find_clusters, find_settled, make_key
from memsync.janitor.plan import Merge
from memsync.janitor.review import Row, find_kept
from memsync.learn.candidates import Candidates, Proposal, find_live
from memsync.learn.corrections import find_beside
from memsync.memories import audit
from memsync.memories.events import files_of, lines_known, read_live
from memsync.memories.filters import Filters
from memsync.memories.fingerprints import fingerprint
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.memories.screening import is_rule
from memsync.records import SCOPES, Memory, Scope, content_hash, format_time, sent_id, shown_id
from memsync.safety.secrets import describe, redact, scan_memory
from memsync.system.texts import count

Action = Literal["approve", "best", "edit", "merge", "supersede", "private", "reject"]
KEYS: Final[Mapping[Action, str]] = {
    "approve": "a",
    "best": "b",
    "edit": "e",
    "merge": "m",
    "supersede": "s",
    "private": "p",
    "reject": "x",
}
# What is dangerous first. Copies are looked for only when somebody asks, because that takes a while.
KINDS: Final = (
    "secret",
    "flagged",
    "rule",
    "conflict",
    "contradiction",
    "candidate",
    "skill",
    "rejection",
    "stale",
    "ignored",
    "new",
)
COPIES: Final = "copies"
_IGNORED: Final = 3  # sessions that did not heed a memory, from which somebody should look at it
_FIRST_LOOK: Final = ":first-look"  # beside the ids of what is known, none of which has a colon in front
_WITH_TEXT: Final = ("edit", "merge")
# What people answer most, by the kind of a card; what reads like an order, or may ask, has no usual answer.
USUAL: Final[Mapping[str, Action]] = {
    "secret": "private",
    "conflict": "approve",
    "contradiction": "supersede",
    "candidate": "approve",
    "skill": "approve",
    "rejection": "approve",
    "stale": "approve",
    "ignored": "edit",
    "new": "approve",
    COPIES: "best",
}
_VERBS: Final[Mapping[tuple[str, Action], str]] = {
    ("flagged", "approve"): "Allow",
    ("rule", "approve"): "Allow",
    ("conflict", "approve"): "Keep both",
    ("contradiction", "approve"): "Keep both",
    ("candidate", "approve"): "Remember",
    ("skill", "approve"): "Add",
    ("rejection", "approve"): "Rightly left out",
    ("rejection", "reject"): "Bring back",
    ("stale", "approve"): "Still true",
    ("ignored", "approve"): "Keep as it is",
    ("new", "approve"): "Fine",
    (COPIES, "approve"): "Keep all",
    (COPIES, "best"): "Keep the first",
    ("secret", "private"): "Make private",
}


class Copy(NamedTuple):
    """A memory that may be dropped for another, and what would be lost of it."""

    entry: Entry
    lost: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One thing to decide: `text`, the `other` text beside it, and in words what each action would do.

    `subject` and `neighbour` are the memories that these are, if they are stored. Of copies the `subject` is the one
    to keep, and `copies` are the others, by the `merge` that drops them.
    """

    name: str
    kind: str
    why: str
    text: str
    actions: Mapping[Action, str]
    other: str = ""
    subject: Entry | None = None
    neighbour: Entry | None = None
    copies: tuple[Copy, ...] = ()
    merge: Merge | None = None
    proposal: Proposal | None = field(default=None, repr=False)
    log: Scope = "project"  # the store whose dedup log it is from

    @property
    def scope(self) -> Scope:
        """The scope of the most private text that it shows."""
        entries = (self.subject, self.neighbour, *(copy.entry for copy in self.copies))
        shown = {self.log, *(entry.scope for entry in entries if entry)}
        return next(scope for scope in ("private", "global", "project") if scope in shown)

    @property
    def version(self) -> str:
        """What tells this card from what it may have become when somebody decides."""
        others = [copy.entry.memory for copy in self.copies]
        seen = (self.name, self.why, self.text, self.other, self.subject and self.subject.memory, others)
        return sha256(repr(seen).encode("utf-8", "surrogatepass")).hexdigest()


def name_action(kind: str, action: Action) -> str:
    """Return what people call *action* on a card of *kind*."""
    return _VERBS.get((kind, action), action.capitalize())


def needs_person(card: Card, action: Action) -> bool:
    """Tell whether *action* lets something act that was withheld: no client of ours can know who asks for it."""
    return action == "approve" and card.kind in ("flagged", "rule")


def needs_text(action: Action) -> bool:
    """Tell whether somebody types what is written."""
    return action in _WITH_TEXT


def list_names(project: Project) -> list[str]:
    """Return the names of all cards but copies, what is dangerous first."""
    return sort_names(name for names in walk(project) for name in names)


def sort_names(names: Iterable[str]) -> list[str]:
    """Return *names* in the order in which somebody should decide, each once."""
    return sorted(dict.fromkeys(names), key=lambda name: KINDS.index(name.partition(":")[0]))


def walk(project: Project) -> Iterator[list[str]]:
    """Yield the names of cards: those that are about no memory, then those of one memory after the other.

    A caller with little time may stop in between, and go on later: what was never screened takes most of a
    millisecond. What is decided meanwhile has no card any more.
    """
    project.journal.write()  # what was written or shown just now is new to nobody
    _take_as_known(project)
    waiting = Candidates(project)
    names = [f"candidate:{one.memory.id}" for one in waiting.memories()]
    names += [f"skill:{name}" for name in waiting.skills()]
    yield names
    for row in review.rows(project):
        kind = "rejection" if row.is_waiting else "contradiction" if _find_contradicting(project, row) else ""
        yield [f"{kind}:{review.name(project, row)}"] if kind else []
    for entry in project.entries(Filters()):
        yield [name_card(kind, entry) for kind in _find_kinds(project, project.mark(entry))]


def _take_as_known(project: Project) -> None:
    """Note on a machine's first look that it knows what the default branch has: others have read that, and a newcomer cannot."""
    state = project.state("project")
    if _FIRST_LOOK in state.known() or (store := project.stores.get("project")) is None:
        return
    with suppress(MemsyncError):
        files = files_of(project)
        known = lines_known(project)
        there = read_live(files.root, files.path, history.resolve(files.root, history.find_usual(files.root)).id, known)
        held = {id_: line.memory for id_, line in there.items() if line.memory and store.get(id_) == line.memory}
        marks = {id_: fingerprint(memory) for id_, memory in held.items()}
        state.record_use((), {**marks, **state.known(), _FIRST_LOOK: "1"})


def name_card(kind: str, entry: Entry) -> str:
    """Return the name of the card of *kind* about *entry*."""
    return f"{kind}:{entry.scope}:{sent_id(entry.id)}"


def _find_kinds(project: Project, entry: Entry) -> Iterator[str]:
    if _is_exposed(project, entry):
        yield "secret"
    if entry.flagged:
        yield "flagged"
    if project.screening.waits_to_stop(entry, project.settings):
        yield "rule"
    if entry.memory.conflict_of:
        yield "conflict"
    if entry.stale:
        yield "stale"
    if len(_list_ignored(project, entry)) >= _IGNORED:
        yield "ignored"
    if _is_brought(project, entry):
        yield "new"


def list_copies(project: Project, track: Track = untracked) -> list[str]:
    """Return the names of the cards of memories that may say the same, the most alike first; takes a while."""
    return [_name_copies((merge.keep, *merge.drop)) for merge in find_clusters(project, track=track)]


def _name_copies(ids: Iterable[str]) -> str:
    return f"{COPIES}:{','.join(quote(id_, safe='', errors='surrogatepass') for id_ in ids)}"


def _ids_of(name: str) -> list[str]:
    return [unquote(part, errors="surrogatepass") for part in name.partition(":")[2].split(",")]


def is_same(one: str, other: str) -> bool:
    """Tell whether two names are of one card: of copies another one may be first."""
    both = one.startswith(COPIES) and other.startswith(COPIES)
    return one == other or (both and sorted(_ids_of(one)) == sorted(_ids_of(other)))


def turn(project: Project, card: Card) -> str:
    """Return the name of a card of copies with the next one first that may stand for another."""
    ids = _ids_of(card.name)
    for _ in ids:
        ids = [*ids[1:], ids[0]]
        if read_card(project, name := _name_copies(ids)):
            return name
    return card.name


def _is_exposed(project: Project, entry: Entry) -> bool:
    """Tell whether *entry* shows others what looks like a secret."""
    return entry.scope in audit.SHARED and project.screening.holds_secret(entry, lambda: project.vetting.allowed)


def _is_brought(project: Project, entry: Entry) -> bool:
    """Tell whether somebody else brought *entry*, as far as this machine has never shown it."""
    return entry.scope == "project" and entry.memory.author != project.author and project.screening.is_new(entry)


def read_card(project: Project, name: str) -> Card | None:
    """Return the card *name* as it is now; None if there is nothing to decide any more."""
    kind, _, ref = name.partition(":")
    if kind in _OF_STORE:
        return _OF_STORE[kind](project, name, ref)
    project.stores.refresh()
    scope = next((one for one in SCOPES if one == ref.partition(":")[0]), None)
    memory = find_memory(project, name)
    if memory is None or scope is None or memory.archived_at:
        return None
    return _OF_MEMORY[kind](project, name, project.mark(project.entry(scope, memory)))


def find_memory(project: Project, name: str) -> Memory | None:
    """Return the stored memory that the card *name* is about; None where it is about something else."""
    kind, scope, id_ = [*name.split(":", 2), "", ""][:3]
    store = next((store for one, store in project.stores.items() if one == scope), None)
    return store.get_sent(id_) if store and kind in _OF_MEMORY else None


_FORGET: Final = "forget this one; restore brings it back"
_EDIT: Final = "write it anew"


def _read_secret(project: Project, name: str, entry: Entry) -> Card | None:
    if not _is_exposed(project, entry):
        return None
    why = describe(scan_memory(entry.memory, project.vetting.allowed))
    actions: dict[Action, str] = {"private": "move it out of the work tree", "edit": _EDIT, "reject": _FORGET}
    text = redact(entry.content, project.vetting.allowed)
    return Card(name=name, kind="secret", why=why, text=text, actions=actions, subject=entry)


def _read_flagged(_: Project, name: str, entry: Entry) -> Card | None:
    actions: dict[Action, str] = {"approve": "let agents be given it", "edit": _EDIT, "reject": _FORGET}
    why = f"reads like an order to an agent: {entry.flagged}"
    return (
        Card(name=name, kind="flagged", why=why, text=entry.content, actions=actions, subject=entry)
        if entry.flagged
        else None
    )


def _read_rule(project: Project, name: str, entry: Entry) -> Card | None:
    if not project.screening.waits_to_stop(entry, project.settings):
        return None
    places = ", ".join((*entry.memory.triggers, *entry.memory.anchors))
    what, yet = ("ask you", "asks nobody") if is_rule(entry.memory) else ("refuse a call once", "refuses no call")
    actions: dict[Action, str] = {"approve": f"let it {what} from now on", "edit": _EDIT, "reject": _FORGET}
    why = f"a {'rule' if is_rule(entry.memory) else 'memory'} of the repository, which {yet} yet before {places}"
    return Card(name=name, kind="rule", why=why, text=entry.content, actions=actions, subject=entry)


def _read_conflict(project: Project, name: str, entry: Entry) -> Card | None:
    if not entry.memory.conflict_of:
        return None
    memory = project.stores[entry.scope].get(entry.memory.conflict_of)
    other = project.mark(project.entry(entry.scope, memory)) if memory else None
    return _make_pair(name, "a merge kept both texts", entry, other)


def _make_pair(name: str, why: str, entry: Entry, other: Entry | None) -> Card:
    actions: dict[Action, str] = {"approve": "both stay", "edit": _EDIT, "reject": f"keep only the other: {_FORGET}"}
    if other:
        actions["supersede"] = "let it replace the other, which is archived"
    if other and other.scope == entry.scope:  # what is private is never put into what is not
        actions["merge"] = "make one text of both"
    return Card(
        name=name,
        kind=name.partition(":")[0],
        why=why,
        text=entry.content,
        actions=actions,
        other=other.content if other else "",
        subject=entry,
        neighbour=other,
    )


def _read_stale(_: Project, name: str, entry: Entry) -> Card | None:
    actions: dict[Action, str] = {
        "approve": "it is still true: anchor it to the files as they are",
        "edit": _EDIT,
        "reject": _FORGET,
    }
    why = entry.out_of_date
    return Card(name=name, kind="stale", why=why, text=entry.content, actions=actions, subject=entry) if why else None


def _list_ignored(project: Project, entry: Entry) -> list[str]:
    """Return when sessions of this machine were given *entry*, as it is, and did not heed it."""
    since = format_time(entry.memory.written_at) if entry.memory.written_at else ""
    verdicts = project.state(entry.scope).verdicts().get(entry.id, ())
    return [at for verdict, at in verdicts if verdict == "ignored" and at > since]


def _read_ignored(project: Project, name: str, entry: Entry) -> Card | None:
    times = _list_ignored(project, entry)
    actions: dict[Action, str] = {
        "approve": "keep it, and count anew",
        "edit": "say it in other words",
        "reject": _FORGET,
    }
    why = f"given in {count(len(times), 'session')} of this machine, and not heeded (`memsync sessions show`)"
    enough = len(times) >= _IGNORED
    return (
        Card(name=name, kind="ignored", why=why, text=entry.content, actions=actions, subject=entry) if enough else None
    )


def _read_new(project: Project, name: str, entry: Entry) -> Card | None:
    if not _is_brought(project, entry):
        return None
    actions: dict[Action, str] = {"approve": "it is fine", "edit": _EDIT, "reject": _FORGET}
    why = f"brought by {entry.memory.author or 'somebody'}, and never shown on this machine"
    return Card(name=name, kind="new", why=why, text=entry.content, actions=actions, subject=entry)


def _read_candidate(project: Project, name: str, ref: str) -> Card | None:
    proposal = next((one for one in Candidates(project).memories() if one.memory.id == ref), None)
    if proposal is None:
        return None
    wrong = list(find_live(project, proposal.memory.supersedes))
    near = next(iter(wrong), None) or find_beside(project, proposal.memory.content)
    stands_for = " and ".join(shown_id(entry.id) for entry in wrong)
    actions: dict[Action, str] = {"approve": "remember it", "edit": "remember it in other words"}
    if wrong:
        actions["approve"] += f" in place of {stands_for}, which it corrects"
    elif near:
        actions["supersede"] = "let it replace the stored one"
        if near.scope == (read_scope(proposal.memory)[1] or project.default_scope):
            actions["merge"] = "put both texts into the stored one"
    actions["reject"] = "drop it; the same text is not proposed again"
    return Card(
        name=name,
        kind="candidate",
        why=" · ".join(filter(None, (proposal.rationale, proposal.where))),
        text=proposal.memory.content,
        actions=actions,
        other=near.content if near else "",
        neighbour=near,
        proposal=proposal,
    )


def _read_skill(project: Project, name: str, ref: str) -> Card | None:
    waiting = Candidates(project)
    if ref not in waiting.skills():
        return None
    actions: dict[Action, str] = {"approve": "write it into the repository", "reject": "drop it"}
    return Card(name=name, kind="skill", why=f"the skill {ref}", text=waiting.skill_diff(ref), actions=actions)


def _find_row(project: Project, ref: str) -> Row | None:
    try:
        return review.find(project, ref)
    except MemsyncError:
        return None


def _read_rejection(project: Project, name: str, ref: str) -> Card | None:
    row = _find_row(project, ref)
    if row is None or not row.is_waiting:
        return None
    said = row.decision
    like = "" if said.similarity is None else f", likeness {said.similarity:.2f}"
    return Card(
        name=name,
        kind="rejection",
        why=f"{said.decision}{like}: {said.reasoning}",
        text=row.rejected_text(),
        actions={"approve": "rightly left out", "reject": "bring it back"},
        other=row.kept_text(),
        log=row.scope,
    )


def _read_contradiction(project: Project, name: str, ref: str) -> Card | None:
    row = _find_row(project, ref)
    if row is None or (found := _find_contradicting(project, row)) is None:
        return None
    new, old, why = found
    return _make_pair(
        name, f"they contradict each other: {why}", *(project.mark(project.entry(*each)) for each in (new, old))
    )


def _find_contradicting(project: Project, row: Row) -> tuple[Kept, Kept, str] | None:
    """Return the new and the stored memory of which *row* kept both, and what they contradict each other in.

    None: they do not, somebody has decided, or one of them has another text by now.
    """
    said = row.decision
    if said.decision != "fallback_keep" or said.review_status != "unreviewed":
        return None
    project.stores.refresh()
    new = project.stores[row.scope].by_hash(content_hash(said.new_text), text=said.new_text)
    old = find_kept(project, said.existing_id)
    if new is None or old is None or new.archived_at or old.memory.archived_at:
        return None
    if old.memory.content != said.existing_text or old.memory.id == new.id:
        return None
    verdict = decide(said.new_text, said.existing_text, said.similarity or 0.0)
    return (Kept(row.scope, new), old, verdict.reason) if verdict.relation == "contradicts" else None


def _read_copies(project: Project, name: str, _: str) -> Card | None:
    project.stores.refresh()
    found = [find_kept(project, id_) for id_ in dict.fromkeys(_ids_of(name))]
    records = [each for each in found if each and not each.memory.archived_at]
    if len(records) < len(found) or (merge := make_merge(records, 0.0, records[0])) is None:
        return None
    known = {each.memory.id: project.mark(project.entry(*each)) for each in records}
    head = known.pop(merge.keep)
    settled = find_settled(project, undone=False)
    texts = [each.memory.content for each in records]
    if all(make_key(one, other) in settled for one, other in combinations(texts, 2)):
        return None
    copies = [Copy(known[id_], list_losses(head.content, known[id_].content)) for id_ in merge.drop]
    actions: dict[Action, str] = {
        "best": "keep the first, and drop the others",
        "approve": "keep all; they are not shown together again",
        "merge": "keep the first with another text, and drop the others",
    }
    return Card(
        name=name,
        kind=COPIES,
        why="they may say the same",
        text=head.content,
        actions=actions,
        subject=head,
        copies=tuple(copies),
        merge=merge,
    )


_OF_MEMORY: Final[Mapping[str, Callable[[Project, str, Entry], Card | None]]] = {
    "secret": _read_secret,
    "flagged": _read_flagged,
    "rule": _read_rule,
    "conflict": _read_conflict,
    "stale": _read_stale,
    "ignored": _read_ignored,
    "new": _read_new,
}
_OF_STORE: Final[Mapping[str, Callable[[Project, str, str], Card | None]]] = {
    "candidate": _read_candidate,
    "skill": _read_skill,
    "rejection": _read_rejection,
    "contradiction": _read_contradiction,
    COPIES: _read_copies,
}
