"""Memories out of what people and agents wrote: instruction files, summaries, transcripts. Candidates, never facts."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any, Final, NamedTuple

from memsync.clients import transcript_files
from memsync.clients.transcript_events import Session
from memsync.errors import ImportFailed, InvalidMemory, LlmError
from memsync.learn import transcripts
from memsync.learn.candidates import Candidates, Proposal, best_of
from memsync.learn.corrections import find_corrected, reword
from memsync.learn.known import Known
from memsync.learn.repairs import find_missing_in, repairs
from memsync.learn.rules import has
from memsync.learn.said import Lesson, lessons
from memsync.learn.statements import Statement, statements
from memsync.learn.transcripts import Said
from memsync.learn.worth import (
    INSTRUCTIONS,
    as_memory,
    find_secret,
    hide_secrets,
    instruction_files,
    is_said_to_last,
    why_dropped,
)
from memsync.llm.answers import NUMBER, TEXT, WHOLE, list_of, object_of, prompt
from memsync.llm.llm import Llm, is_configured, open_llm, tokens_of
from memsync.memories.project import Project
from memsync.records import Memory, clean_content, clean_cues, clean_tags
from memsync.system.texts import read_utf8

log = logging.getLogger(__name__)

SHAPE: Final = list_of(
    object_of(
        "content",
        content=TEXT,
        memory_type=TEXT,
        importance=NUMBER,
        tags=list_of(TEXT),
        cues=list_of(TEXT),
        rationale=TEXT,
        line=WHOLE,
    )
)
_WHY: Final = {
    "asked": "the user asked to have it remembered",
    "refused": "the user refused a call with these words",
    "corrected": "the user put the agent right",
    "user": "the user said so",
    "failed": "it failed, and then it worked",
}
# Importance: of what the user asked to have remembered; at least of what they put right, and of what they said with a word of a rule; at most
# of what they said with one in a long message, or as a requirement; and less of what else they said.
_ASKED, _CORRECTED, _RULED, _PASSING, _SAID = 0.85, 0.75, 0.7, 0.6, 0.55
# Of a failure that nothing shows to come back, of each time that it did, and the most.
_FAILED, _EACH, _MOST = 0.6, 0.05, 0.8
_TYPES: Final = ("fact", "preference", "pattern", "context")


class Dropped(NamedTuple):
    """A statement that is not worth a memory, and why."""

    line: int
    text: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What was found: `proposed` waits for approval, `dropped` does not; `turns` are what the user said, for an agent to judge."""

    proposed: tuple[Proposal, ...]
    dropped: tuple[Dropped, ...] = ()
    turns: tuple[transcripts.Turn, ...] = ()
    by: str = "rules"
    note: str = ""


def extract(
    project: Project,
    source: Path,
    *,
    use_model: bool = True,
    dry_run: bool = False,
    most: int | None = None,
    least: float = 0.0,
) -> Extracted:
    """Propose the memories that *source* holds: a transcript, or any text or Markdown. They wait for approval.

    At most *most*, and of what rules find only what is *least* important or more, or was learned of another session too.

    Raises:
        ImportFailed: it cannot be read.
        StoreError
    """
    session = _read_session(source)
    heard = _hear(project, session) if session else []
    found = list(statements(_read_text(source)) if session is None else _read_conversation(session, heard))
    result = None
    note = ""
    if use_model and is_configured(project.settings):
        try:
            result = by_model(found, str(source), open_llm(project, project.settings.learning_model))
        except LlmError as error:
            note = f"by rules, because {error}"
            log.info("%s", note)
    if result is None and session is not None:
        result = _from_lessons(project, session, heard, str(source))
    elif result is None:
        must_last = source.name not in {Path(name).name for name in INSTRUCTIONS}
        result = _leave_out_known(project, by_rules(found, str(source), must_last=must_last), in_files=False)
    elif session is not None:
        due = {one.line: one for one in heard if one.triggers}
        proposed = (_name_session(_make_due(one, due), session.id) for one in result.proposed)
        result = _leave_out_known(project, replace(result, proposed=tuple(proposed)))
    least = least if result.by == "rules" else 0.0
    if dry_run:
        new = best_of([one for one in result.proposed if one.memory.importance >= least], most)
    else:
        new = Candidates(project).propose(result.proposed, most=most, least=least)
    turns = transcripts.list_turns(transcripts.list_steps(session.events)) if session else ()
    return replace(result, proposed=tuple(new), turns=tuple(turns), note=note)


def from_session(project: Project, session: Session, source: str) -> Extracted:
    """Return what the rules find in a session, corrections with what they replace. Nothing is stored."""
    return _from_lessons(project, session, _hear(project, session), source)


def _from_lessons(project: Project, session: Session, heard: Iterable[Lesson], source: str) -> Extracted:
    result = by_wording(heard, source)
    proposed = (_mark_correction(project, _name_session(one, session.id)) for one in result.proposed)
    return _leave_out_known(project, replace(result, proposed=tuple(proposed)))


def _hear(project: Project, session: Session) -> list[Lesson]:
    """Return what was said in *session* that lasts, and what failed in it and then worked."""
    root = project.layout.root
    find_missing = find_missing_in(session.cwd, lambda path: root is None or (root / path).exists())
    found = (*lessons(list(transcripts.list_steps(session.events))), *repairs(session.events, find_missing))
    return [_count_said(place(one, session.cwd, root), root) for one in found]


def _count_said(one: Lesson, root: Path | None) -> Lesson:
    """Return *one*, met once more if it is about a name that is wrong and that an instruction file says: others will look for it too."""
    wrong = ["/".join(text[5:].split("/")[-2:]) for text in one.triggers if text.startswith("not: ")]
    if one.times > 0 or not wrong or root is None:
        return one
    for path in instruction_files(root):
        with suppress(OSError):
            text = path.read_text("utf-8", "replace")
            if any(name in text for name in wrong):
                return one._replace(times=1)
    return one


def _make_due(one: Proposal, due: Mapping[int, Lesson]) -> Proposal:
    """Return *one*, which a model wrote, with the triggers and anchors of what it was written from."""
    lesson = due.get(int(one.where.rpartition(":")[2]))
    return replace(one, memory=one.memory._replace(anchors=lesson.anchors, triggers=lesson.triggers)) if lesson else one


def place(one: Lesson, there: str, root: Path | None) -> Lesson:
    """Return *one* with the files below *there*, on the machine of the session, as the repository names them, and anchored to those it has."""
    if there:
        below = f"{there.rstrip('/')}/"
        one = one._replace(
            text=one.text.replace(below, ""), anchors=tuple(text.removeprefix(below) for text in one.anchors)
        )
    is_here = (text.startswith("$") or bool(root and (root / text).exists()) for text in one.anchors)
    return one._replace(anchors=tuple(compress(one.anchors, is_here)))


def _mark_correction(project: Project, one: Proposal) -> Proposal:
    """Return *one* with what it replaces, if the user said it: the same statement with the new value, where that is plain."""
    said = one.memory.content
    wrong = find_corrected(project, said) if one.rationale != _WHY["failed"] else []
    if not wrong:
        return one
    content = clean_content(reword(said, [entry.content for entry in wrong]))
    rationale = one.rationale if content == said else f"{one.rationale}: {said}"
    memory = one.memory._replace(content=content, supersedes=tuple(entry.id for entry in wrong))
    return replace(one, memory=memory, rationale=rationale)


def _name_session(one: Proposal, session: str) -> Proposal:
    return replace(one, memory=one.memory._replace(source_session_id=session or None))


def _leave_out_known(project: Project, found: Extracted, *, in_files: bool = True) -> Extracted:
    """Return *found* without what a memory says already, or an instruction file if *in_files*, or somebody has rejected in other words."""
    known = Known(project, in_files=in_files)
    why = [known.who_says(one.memory) for one in found.proposed]
    kept = tuple(one for one, who in zip(found.proposed, why, strict=True) if not who)
    rows = ((one, who) for one, who in zip(found.proposed, why, strict=True) if who)
    dropped = [Dropped(int(one.where.rpartition(":")[2] or 0), one.memory.content, who) for one, who in rows]
    return replace(found, proposed=kept, dropped=(*found.dropped, *dropped))


def _read_session(source: Path) -> Session | None:
    """Return the session in *source*, under the name that its file has from the client; None for other texts."""
    if source.suffix not in (".jsonl", ".json", ".md") or (
        source.suffix != ".jsonl" and not transcript_files.read_file(source)
    ):
        return None
    session = transcripts.read_session(source)
    named = re.search(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}$", source.stem)
    session.id = named[0] if named else session.id or source.stem
    return session


def _read_text(source: Path) -> str:
    try:
        return read_utf8(source.read_bytes(), str(source), ImportFailed).replace("\r\n", "\n")
    except OSError as error:
        raise ImportFailed(f"{source}: {error.strerror or error}") from error


def _read_conversation(session: Session, heard: Iterable[Lesson]) -> Iterator[Statement]:
    """Yield what the rules listen to, for a model: the user's words, and what failed and then worked."""
    for step in transcripts.list_steps(session.events):
        if isinstance(step, Said) and step.by == "user":
            about = f", refusing `{step.refused.command or ' '.join(step.refused.files)}`" if step.refused else ""
            for one in statements(step.text):
                yield Statement(f"user{about}: {one.text}", step.line)
    yield from (Statement(f"{one.by}: {one.text}", one.line) for one in heard if one.by == "failed")


def by_rules(found: Iterable[Statement], name: str, *, must_last: bool) -> Extracted:
    """Return what of *found* is worth a memory; *must_last*: only rules and exact things, for texts said in passing."""
    proposed, dropped = [], []
    for one in found:
        why = why_dropped(one.text) or ("" if not must_last or is_said_to_last(one.text) else "said in passing")
        if why:
            dropped.append(Dropped(one.line, hide_secrets(one.text), why))
        else:
            rationale = f"under “{one.heading}”" if one.heading else "said to last"
            memory = as_memory(one.text, one.heading)
            proposed.append(Proposal(memory=memory, rationale=rationale, where=f"{name}:{one.line}"))
    return Extracted(proposed=tuple(proposed), dropped=tuple(dropped))


def by_wording(found: Iterable[Lesson], name: str) -> Extracted:
    """Return what of the lessons of a session is worth a memory."""
    proposed, dropped = [], []
    for one in found:
        hidden = find_secret(" ".join((*one.anchors, *one.triggers)))
        if why := hidden or (find_secret(one.text) if one.by == "failed" else why_dropped(one.text)):
            dropped.append(Dropped(one.line, hide_secrets(one.text), why))
        else:
            memory = as_memory(one.text)._replace(anchors=one.anchors, triggers=one.triggers)
            if one.by == "failed":
                importance = round(min(_FAILED + _EACH * one.times, _MOST), 2)
                memory = memory._replace(memory_type="fact", importance=importance)
            else:
                memory = memory._replace(importance=_weigh(one, memory.importance))
            proposed.append(Proposal(memory=memory, rationale=_WHY[one.by], where=f"{name}:{one.line}"))
    return Extracted(proposed=tuple(proposed), dropped=tuple(dropped))


def _weigh(one: Lesson, worth: float) -> float:
    """Return the importance of what the user said, *worth* by its wording alone: little unless it says that it lasts."""
    if not one.times:
        return min(worth, _PASSING) if has("rule", one.text) or has("rather", one.text) else _SAID
    return max(worth, {"asked": _ASKED, "user": _RULED}.get(one.by, _CORRECTED))


def by_model(found: Sequence[Statement], name: str, llm: Llm) -> Extracted:
    """Return what a model takes for worth a memory, after the same filter.

    Raises:
        LlmError
    """
    room = llm.window // 2
    rows: list[str] = []
    for one in found:
        row = f"{one.line}: {hide_secrets(one.text)}"
        room -= tokens_of(row)
        if room < 0:
            break
        rows.append(row)
    if not rows:
        return Extracted(proposed=(), by="model")
    proposed, dropped = [], []
    for said in llm.ask(prompt("memory_extract", text="\n".join(rows)), SHAPE):
        line = said.get("line") if isinstance(said.get("line"), int) else 1
        text = " ".join(said["content"].split())
        try:
            why = why_dropped(text)
            memory = _from_model(said, as_memory(text)) if not why else None
        except InvalidMemory as error:
            why, memory = str(error), None
        if memory is None:
            dropped.append(Dropped(line, hide_secrets(text), why))
        else:
            proposed.append(Proposal(memory=memory, rationale=str(said.get("rationale", "")), where=f"{name}:{line}"))
    return Extracted(proposed=tuple(proposed), dropped=tuple(dropped), by="model")


def _from_model(said: dict[str, Any], memory: Memory) -> Memory:
    kind = said.get("memory_type")
    importance = said.get("importance")
    return memory._replace(
        memory_type=kind if kind in _TYPES else memory.memory_type,
        importance=round(min(max(float(importance), 0.0), 1.0), 2) if importance is not None else memory.importance,
        tags=clean_tags(said.get("tags") or ()),
        cues=clean_cues(said.get("cues") or ()),
    )
