"""The tools that keep memories in order: their history, what dedup decided, proposals, cues, and likely copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field

from memsync.janitor import batches, enrich, review
from memsync.janitor.plan import Plan
from memsync.janitor.run import apply
from memsync.mcp.parameters import Id, Limit, resolve_inside
from memsync.mcp.tool import ADD, ASK, COUNT, READ, Offer, Progress
from memsync.memories import diff, events
from memsync.memories.project import Project
from memsync.memories.results import as_json


def memory_history(project: Project, memory_id: Id) -> Mapping[str, Any]:
    """Show what happened to one memory, newest first: who changed what, when, in which commit."""
    return events.as_history(events.events(project, memory_id), events.notes(project))


def memory_diff(
    project: Project,
    span: Annotated[str, Field(description="REV..REV, REV...REV, or REV for that commit and the work tree.")] = "HEAD",
) -> diff.Difference:
    """Show which memories and skills differ between two commits, or since the last."""
    return diff.difference(project, span)


def memory_blame(
    project: Project, memory_id: Annotated[str | None, Field(description="Each field of this one.")] = None
) -> Mapping[str, Any]:
    """Show who last changed each memory, or each field of one."""
    return events.as_blame(events.blame(project, memory_id), events.notes(project))


Number = Annotated[str, Field(description="As dedup_log shows it.")]


def dedup_log(
    project: Project,
    limit: Limit = 50,
    decision: Annotated[str | None, Field(description="Only these, such as auto_reject.")] = None,
    status: Literal["unreviewed", "confirmed", "reversed"] | None = None,
) -> Mapping[str, Any]:
    """Show which texts were rejected, merged or kept beside one that is alike, the latest first."""
    return review.listed(project, review.chosen(project, decision, status)[:limit])


def dedup_confirm(
    project: Project, decision_ids: Annotated[list[str], Field(min_length=1, description="As dedup_log shows them.")]
) -> Mapping[str, Any]:
    """Mark decisions as correct, so that nobody looks at them again."""
    found = [review.find(project, ref) for ref in decision_ids]
    review.confirm(project, found)
    return {"confirmed": [review.name(project, row) for row in found]}


def dedup_reverse(project: Project, decision_id: Number) -> review.Reversed:
    """Bring back the text that a decision rejected wrongly, unless a memory says the same again."""
    return review.reverse(project, review.find(project, decision_id))


def enrich_memories(
    project: Project,
    memories: Annotated[
        list[dict[str, Any]] | None, Field(description='What this tool listed, filled in: [{"id": …, "cues": […]}].')
    ] = None,
    limit: Limit = 20,
    *,
    due: Annotated[bool, Field(description="List at most three, each once in two weeks.")] = False,
    dry_run: Annotated[bool, Field(description="Only say what would be done.")] = False,
) -> Mapping[str, Any]:
    """Have older memories found by an asker's words too. Call it without memories: it lists some that have no cues.

    Fill in two or three cues each, in other words than the text: questions that
    it answers, symptoms, error texts. Take out of `about` what the text is not
    about. Then call it with them.
    """
    if memories is None:
        return enrich.list_due(project, limit) if due else enrich.list_bare(project, limit)
    plan = Plan(steps=[*enrich.read_steps(project, {"memories": memories})])
    return plan.as_dict() if dry_run else apply(project, plan.steps).as_dict()


Group = Annotated[list[str], Field(min_length=2)]


class Merging(BaseModel):
    """One merge."""

    keep: str
    drop: Annotated[list[str], Field(min_length=1)]
    content: Annotated[str | None, Field(description="The new text of keep, with what would be lost.")] = None


def likely_copies(
    project: Project, *, again: Annotated[bool, Field(description="Begin again with what is undecided.")] = False
) -> Mapping[str, Any]:
    """Show memories that may say the same, in clusters: the one to keep, and what would be lost of the others.

    Judge each by what it says: merge_memories what is the same, keep_both what
    is not. Both answer with the next clusters, until none are left.
    """
    return batches.take_batch(project, again=again)


def merge_memories(
    project: Project,
    merges: Annotated[list[Merging], Field(min_length=1)],
    different: Annotated[
        list[Group] | None, Field(description="Groups that say different things, as keep_both.")
    ] = None,
) -> Mapping[str, Any]:
    """Drop memories that say what another one says. The user can undo it: `memsync janitor undo`.

    Where a fact, number or reason would be lost, give the whole text as content:
    the others are archived, as its sources.
    Never merge what contradicts: name the outdated one in supersedes.
    """
    done = batches.merge(project, [batches.Merging(**dict(each)) for each in merges])
    kept = batches.keep(project, different or ())
    return {**done, **kept, **batches.take_batch(project)}


def keep_both(project: Project, groups: Annotated[list[Group], Field(min_length=1)]) -> Mapping[str, Any]:
    """Note that the memories of each group of ids say different things, so that they are not shown together again."""
    return {**batches.keep(project, groups), **batches.take_batch(project)}


DryRun = Annotated[bool, Field(description="Only say what would be proposed.")]
NoModel = Annotated[bool, Field(description="By rules, even where a model is configured.")]


def init_memory(
    project: Project,
    *,
    scan_codebase: Annotated[bool, Field(description="Read build files, CI, layout, README.")] = True,
    import_claude_md: Annotated[bool, Field(description="Read CLAUDE.md, AGENTS.md, GEMINI.md.")] = True,
    dry_run: DryRun = False,
    no_llm: NoModel = False,
) -> Mapping[str, Any]:
    """Propose the memories that a newcomer to this project would want, each with the file and line it comes from.

    They wait: show them to the user, who runs `memsync review`.
    """
    from memsync.learn.scan import start

    done = start(project, scan=scan_codebase, instructions=import_claude_md, dry_run=dry_run, use_model=not no_llm)
    found: Mapping[str, Any] = as_json(done)
    return found


def extract_memories(
    project: Project,
    paths: Annotated[list[str] | None, Field(description="Files of this project; the session if left out.")] = None,
    session: Annotated[str | None, Field(description="The id of another session than this one.")] = None,
    *,
    dry_run: DryRun = False,
    no_llm: NoModel = False,
    progress: Progress,
) -> Mapping[str, Any]:
    """Propose memories from summaries and notes, or from what was said in a session. They wait for the user.

    turns: what the user said, and refusing or after which call. Rules miss most
    of what lasts there: judge each yourself.
    """
    from memsync.learn.extract import extract
    from memsync.learn.lessons import transcript_of

    sources = [(path, resolve_inside(project, path)) for path in paths or ()]
    if not sources:
        transcript = transcript_of(project, session or project.journal.session_id)
        sources = [(str(transcript), transcript)]
    found = []
    for number, (name, source) in enumerate(sources):
        progress(number, len(sources))
        done = extract(project, source, use_model=not no_llm, dry_run=dry_run)
        found.append({"source": name, **as_json(done)})
    progress(len(sources), len(sources))
    return {"sources": found}


OFFERS: Final = (
    Offer("memory history", memory_history, "History of a memory", READ),
    Offer("memory diff", memory_diff, "Changes of memories", READ),
    Offer("memory blame", memory_blame, "Authors of memories", READ),
    Offer("memory dedup log", dedup_log, "Dedup decisions", READ),
    Offer("memory dedup confirm", dedup_confirm, "Confirm dedup decisions", ADD),
    Offer("memory dedup reverse", dedup_reverse, "Reverse a dedup decision", COUNT),
    Offer("memory init", init_memory, "Propose first memories", ASK, slow=True),
    Offer(
        "memory extract", extract_memories, "Propose memories from texts", ASK, {"--from-session": "session"}, slow=True
    ),
    Offer("memory enrich", enrich_memories, "Give memories cues", ADD, {"--list": "memories left out"}),
    Offer("janitor review", likely_copies, "Show likely copies", COUNT),
    Offer("janitor run", merge_memories, "Merge copies", ADD),
    Offer("janitor review", keep_both, "Keep what only looks alike", ADD),
)
