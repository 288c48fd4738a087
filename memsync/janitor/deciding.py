"""Doing what a person decided about a card of the queue, and taking it back.

What was done is noted in the local files, by ids and hashes: `undo` takes the
texts of memories from the local history. `purge` drops the notes of its ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memsync.errors import Changed, MemsyncError, Remedy, UsageError
from memsync.format import codec, jsonl
from memsync.janitor import review, runs
from memsync.janitor.likely import keep_apart
from memsync.janitor.queue import COPIES, Action, Card, needs_text, read_card
from memsync.janitor.run import apply
from memsync.learn.candidates import Candidates, make_proposal, make_record
from memsync.learn.corrections import Said
from memsync.memories import edits, sharing, undoing
from memsync.memories.project import Project
from memsync.memories.purging import leave_statements
from memsync.memories.results import Remembered
from memsync.records import Memory, Scope, short_id, shown_id
from memsync.store import files, local_history
from memsync.store.lock import lock
from memsync.system.limits import read_object
from memsync.system.texts import count

_KEPT: Final = 1_000  # decisions that can be taken back
Note = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was decided about which card, and what became of it.

    `corrected` is the id of a memory that stands for others since, or did; `also_in` is where these are still said.
    """

    name: str
    action: Action
    said: str
    corrected: str = ""
    also_in: Sequence[Said] = ()


def decide(project: Project, name: str, action: Action, *, was: str, text: str = "") -> Decision:
    """Do *action* about the card *name*, if it is still the version *was* that somebody has seen.

    Raises:
        Changed: it is another one, or decided already; nothing was done.
        UsageError, InvalidMemory, MemsyncError: nothing was done.
    """
    card = read_card(project, name)
    if card is None or card.version != was:
        raise Changed(short_id(card.subject.id) if card and card.subject else "this card")
    if action not in card.actions:
        raise UsageError(f"{action} is no choice for this card; choose {', '.join(card.actions)}")
    if needs_text(action) and not text.strip():
        raise UsageError("there is no text to write")
    before, noted = _list_all(project), len(project.journal.changes)
    note: Note = {"name": name, "action": action}
    said = ""
    try:
        said = _DO[card.kind](project, card, action, text, note)
    finally:  # what failed half-way can be taken back as well
        note["touched"] = [] if note.keys() & {"moved", "run"} else undoing.compare(before, _list_all(project))
        if said or note["touched"] or note.get("run"):
            _write(project, [*_read_log(project), note][-_KEPT:])
    proposal = note.get("proposal", "").encode()
    if proposal or not (note["touched"] or note.keys() & {"moved", "run"}):
        del project.journal.changes[noted:]  # the card says it as a whole, with the text that it showed
        project.journal.note_change(said, "" if proposal else "review --undo", proposal)
    return Decision(name=name, action=action, said=said, corrected=note.get("corrected", ""))


def take_as_known(project: Project, names: Sequence[str]) -> Decision:
    """Let all that is new of the cards *names* be known here, as one decision.

    Raises:
        MemsyncError: none of them is new any more.
    """
    cards = [card for name in names if (card := read_card(project, name)) and card.kind == "new"]
    known = [["project", one.subject.id] for one in cards if one.subject]  # nothing else is brought by others
    if not known:
        raise MemsyncError("nothing of this is new any more")
    marks = {one.subject.id: project.screening.note(one.subject) for one in cards if one.subject}
    project.state("project").record_use([], marks)
    said = f"{count(len(known), 'memory')} known here"
    _write(
        project,
        [*_read_log(project), {"name": cards[0].name, "action": "approve", "known": known, "touched": []}][-_KEPT:],
    )
    project.journal.note_change(said, "review --undo")
    return Decision(name=cards[0].name, action="approve", said=said)


def _list_all(project: Project) -> Mapping[tuple[Scope, str], Memory]:
    project.stores.refresh()
    return {(scope, id_): memory for scope, store in project.stores.items() for id_, memory in store.memories().items()}


def _decide_memory(project: Project, card: Card, action: Action, text: str, note: Note) -> str:
    """Do what all cards about stored memories have in common."""
    entry = card.subject
    assert entry
    id_, was = short_id(entry.id), entry.memory
    if action == "edit":
        project.update(entry.id, content=text, scope=entry.scope, was=was)
        return f"changed {id_}"
    if action == "private":
        sharing.unshare(project, [entry.id])
        note["moved"] = entry.id
        return f"{id_} is private now"
    project.forget(entry.id, entry.scope, was=entry.memory)
    return f"forgot {id_}"


def _decide_flagged(project: Project, card: Card, action: Action, text: str, note: Note) -> str:
    assert card.subject
    if action != "approve":
        return _decide_memory(project, card, action, text, note)
    project.screening.approve(card.subject)
    note["approved"] = True
    may = "may ask you" if card.kind == "rule" else "may be given to agents"
    return f"{short_id(card.subject.id)} {may}"


def _decide_conflict(project: Project, card: Card, action: Action, text: str, note: Note) -> str:
    entry, other = card.subject, card.neighbour
    assert entry
    if action == "approve":
        project.update(entry.id, content=entry.content, scope=entry.scope, was=entry.memory)
        return f"{short_id(entry.id)} stands on its own"
    if action == "supersede" and other:
        project.update(entry.id, content=entry.content, scope=entry.scope, supersedes=[other.id], was=entry.memory)
        return f"{short_id(entry.id)} stands for {short_id(other.id)}, which is archived"
    if action == "merge" and other:
        project.update(other.id, content=text, scope=other.scope, was=other.memory)
        project.forget(entry.id, entry.scope, was=entry.memory)
        return f"{short_id(other.id)} says both, and {short_id(entry.id)} is forgotten"
    return _decide_memory(project, card, action, text, note)


def _decide_stale(project: Project, card: Card, action: Action, text: str, note: Note) -> str:
    assert card.subject
    if action != "approve":
        said = _decide_memory(project, card, action, text, note)
        if action == "edit":  # the new text is about the files as they are
            edits.pin_again(project, card.subject.id, card.subject.scope)
        return said
    edits.pin_again(project, card.subject.id, card.subject.scope, card.subject.memory)
    return f"{short_id(card.subject.id)} is anchored to the files as they are"


def _decide_ignored(project: Project, card: Card, action: Action, text: str, note: Note) -> str:
    assert card.subject
    if action != "approve":
        return _decide_memory(project, card, action, text, note)
    project.state(card.subject.scope).forget_verdicts(card.subject.id)
    return f"{short_id(card.subject.id)} stays as it is, and is counted anew"


def _decide_new(project: Project, card: Card, action: Action, text: str, note: Note) -> str:
    entry = card.subject
    assert entry
    if action != "approve":
        return _decide_memory(project, card, action, text, note)
    project.state(entry.scope).record_use([], {entry.id: project.screening.note(entry)})
    note["known"] = [[entry.scope, entry.id]]
    return f"{short_id(entry.id)} is known here"


def _decide_candidate(project: Project, card: Card, action: Action, text: str, note: Note) -> str:
    waiting, proposal, near = Candidates(project), card.proposal, card.neighbour
    assert proposal
    note["proposal"] = codec.encode(make_record(proposal)).decode()
    memory = proposal.memory
    if action == "reject":
        waiting.reject([memory.id])
        return f"rejected {short_id(memory.id)}"
    if action == "merge" and near:
        project.update(near.id, content=text, scope=near.scope, was=near.memory)
        waiting.reject([memory.id])
        return f"{short_id(near.id)} says both"
    if action == "edit":
        memory = waiting.edit(memory.id, text).memory
    (stored,) = waiting.approve([memory.id])
    _note_correction(note, stored)
    if action == "supersede" and near:
        _note_correction(note, project.update(stored.entry.id, scope=stored.entry.scope, supersedes=[near.id]))
        return f"remembered {short_id(stored.entry.id)}, which stands for {short_id(near.id)}"
    return f"{stored.status}: {short_id(stored.entry.id)}" + (f" ({stored.reason})" if stored.reason else "")


def _note_correction(note: Note, stored: Remembered) -> None:
    if stored.status == "superseded":
        note["corrected"] = stored.entry.id


def _decide_skill(project: Project, card: Card, action: Action, _text: str, note: Note) -> str:
    waiting, name = Candidates(project), card.name.partition(":")[2]
    note["skill"] = [name, waiting.skills()[name].decode("utf-8", "surrogateescape")]
    if action == "reject":
        waiting.reject_skill(name)
        return f"rejected the skill {name}"
    note["existed"] = any(entry.name == name for entry in project.skills.list())
    note["version"] = waiting.approve_skill(name).version
    return f"approved the skill {name}"


def _decide_rejection(project: Project, card: Card, action: Action, _text: str, note: Note) -> str:
    if action == "approve":
        _confirm(project, card, note)
        return "confirmed"
    row = review.find(project, card.name.partition(":")[2])
    note["row"] = [row.scope, row.decision.number]
    return review.reverse(project, row).reason


def _decide_contradiction(project: Project, card: Card, action: Action, text: str, note: Note) -> str:
    entry, other = card.subject, card.neighbour
    assert entry
    assert other
    if action != "approve":
        return _decide_conflict(project, card, action, text, note)
    _confirm(project, card, note)
    return f"{short_id(entry.id)} and {short_id(other.id)} both hold"


def _confirm(project: Project, card: Card, note: Note) -> None:
    row = review.find(project, card.name.partition(":")[2])
    note["row"] = [row.scope, row.decision.number]
    review.confirm(project, [row])


def _decide_copies(project: Project, card: Card, action: Action, text: str, note: Note) -> str:
    merge = card.merge
    assert merge
    assert card.subject
    if action == "approve":
        memories = [card.subject.memory, *(copy.entry.memory for copy in card.copies)]
        note["apart"] = [project.default_scope, keep_apart(project, memories, "a person says so")]
        return f"{len(memories)} memories are kept apart"
    report = apply(project, [merge._replace(content=text) if action == "merge" else merge], judged="confirmed")
    note["run"] = report.run
    if left := [outcome.reason for outcome in report.outcomes if outcome.status != "done"]:
        raise MemsyncError("; ".join(left))
    return f"{short_id(merge.keep)} stands for {', '.join(map(short_id, merge.drop))}"


_DO: Final[Mapping[str, Callable[[Project, Card, Action, str, Note], str]]] = {
    "secret": _decide_memory,
    "flagged": _decide_flagged,
    "rule": _decide_flagged,
    "conflict": _decide_conflict,
    "stale": _decide_stale,
    "ignored": _decide_ignored,
    "new": _decide_new,
    "candidate": _decide_candidate,
    "skill": _decide_skill,
    "rejection": _decide_rejection,
    "contradiction": _decide_contradiction,
    COPIES: _decide_copies,
}


def _path(project: Project) -> Path:
    return project.layout.place(project.default_scope).local / local_history.DECISIONS


def _read_log(project: Project) -> list[Note]:
    rows = files.read(_path(project))[0].split(b"\n")
    return [note for row in rows if (note := read_object(row))]  # a crash may cut a line off


def _write(project: Project, notes: list[Note]) -> None:
    files.prepare(project.layout.place(project.default_scope))
    path = _path(project)
    rows = b"".join(json.dumps(note, ensure_ascii=True, sort_keys=True).encode() + b"\n" for note in notes)
    with lock(path.with_suffix(".lock")):
        was, _ = files.read(path)
        files.rewrite(path, rows, was=was, temp=path.with_suffix(".tmp"), private=True)


def can_undo(project: Project) -> bool:
    """Tell whether there is a decision that was not taken back yet."""
    return bool(_read_log(project))


def undo(project: Project, name: str = "") -> Decision:
    """Take back the last decision that was not taken back yet; with *name*, only if it is about that card.

    Raises:
        MemsyncError: there is none, or it cannot be, such as when something of it was changed since: all stays
            as it is, and the next call takes back the decision before it.
    """
    notes = _read_log(project)
    if not notes:
        raise MemsyncError("there is no decision to take back")
    note = notes[-1]
    if name not in ("", note["name"]):
        why = "something else was decided since, so nothing was taken back; "
        raise MemsyncError(why, Remedy("review", "--undo"), " takes back the last decision")
    _write(project, notes[:-1])
    undoing.take_back(project, "review", [undoing.Step(*row) for row in note.get("touched", [])])
    _undo_rest(project, note)
    kind, _, id_ = note["name"].rpartition(":")
    said = f"took back: {note['action']} of {shown_id(id_) if kind == 'skill' else short_id(id_)}"
    project.journal.note_change(said, "review")
    return Decision(name=note["name"], action=note["action"], said=said, corrected=note.get("corrected", ""))


def undo_command(project: Project, ref: str = "", *, again: bool = False) -> undoing.Undone:
    """Do as `undoing.undo`, and let what the command decided about wait again: candidates, and the card of the last decision.

    Raises:
        MemsyncError, StoreError: nothing was changed.
    """
    done, waiting = undoing.undo(project, ref, again=again), Candidates(project)
    for raw in done.proposals:
        if memory := jsonl.read_line(raw.encode()).memory:
            (waiting.take_again if again else waiting.put_back)(make_proposal(memory))
    if not again and (here := [entry.id for entry in done.removed if entry.scope == "project"]):
        leave_statements(project.layout.place("project").local, here)
    notes, taken = _read_log(project), {(entry.scope, entry.id) for entry in (*done.brought, *done.removed)}
    if not again and notes and taken and {(scope, id_) for scope, id_, *_ in notes[-1].get("touched", [])} == taken:
        _write(project, notes[:-1])
        _undo_rest(project, notes[-1])
    undoing.begin_command(project)
    return done


def _undo_rest(project: Project, note: Note) -> None:
    """Take back what a decision did to other things than memories."""
    if moved := note.get("moved"):
        sharing.share(project, [moved])
    for scope, id_ in note.get("known", []):
        project.state(scope).record_use([], {id_: ""})
    if note.get("approved"):
        _, scope, id_ = note["name"].split(":", 2)
        if memory := project.store(scope).get_sent(id_):
            project.screening.revoke(project.entry(scope, memory))
    if memory := jsonl.read_line(note.get("proposal", "").encode()).memory:
        Candidates(project).put_back(make_proposal(memory))
    _undo_janitor(project, note)
    if skill := note.get("skill"):
        _undo_skill(project, note, *skill)


def _undo_janitor(project: Project, note: Note) -> None:
    if row := note.get("row"):
        project.state(row[0]).set_reviewed([row[1]], "unreviewed")
    if run := note.get("run"):
        runs.undo(project, run)
    if apart := note.get("apart"):
        project.state(apart[0]).set_reviewed(apart[1], "unreviewed")


def _undo_skill(project: Project, note: Note, name: str, text: str) -> None:
    if note["action"] == "approve":
        if project.skills.get(name).version != note["version"]:
            raise Changed(name)
        (project.skills.restore if note["existed"] else project.skills.delete)(name)
    Candidates(project).propose_skill(name, text.encode("utf-8", "surrogateescape"))
