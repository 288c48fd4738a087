"""Doing what a plan says: each step only if its records still are what the plan saw, behind a backup; and the run that begins by itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from memsync.errors import InvalidMemory, LockTimeout, MemsyncError, SecretFound
from memsync.index.statements import read
from memsync.janitor import review, runs
from memsync.janitor.clusters import Track, untracked
from memsync.janitor.plan import TASKS, Archive, Confirm, Enrich, Merge, Reverse, Step, as_dict, seal
from memsync.janitor.survey import survey
from memsync.memories import links
from memsync.memories.project import Project
from memsync.records import SCOPES, Memory, Scope, content_hash, format_time, names_of, parse_time, take_over, tick
from memsync.store import bystealth, files
from memsync.store.lock import lock
from memsync.store.state import Dedup, ReviewStatus
from memsync.store.store import Store
from memsync.system.limits import read_object

Status = Literal["done", "skipped", "failed"]
# So many steps hold the lock and share an fsync.
_CHUNK: Final = 50
_LISTS: Final = names_of("list", "ids")
_ENRICHED: Final = ("cues", "anchors", "triggers")
_OWN: Final[tuple[Scope, ...]] = ("private", "global")  # whose records may name those of the project


class Outcome(NamedTuple):
    """What became of one step, and why it was not done if it was not."""

    step: Step
    status: Status
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run did; `run` is its name for `undo`, None if it changed nothing."""

    run: str | None
    outcomes: list[Outcome] = field(default_factory=list)

    def count(self, status: Status, kind: type[Step] | None = None) -> int:
        """Return how many steps (of a kind) have that status."""
        return sum(o.status == status and (kind is None or isinstance(o.step, kind)) for o in self.outcomes)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        counts = {name: self.count(name) for name in get_args(Status)}
        outcomes = [{**as_dict(o.step), "status": o.status, "reason": o.reason} for o in self.outcomes]
        return {"run": self.run, **counts, "outcomes": outcomes}


class _Stale(Exception):
    """A record is not what the plan saw, or may not go where it says; the message says how."""


def apply(
    project: Project, steps: Sequence[Step], *, track: Track = untracked, judged: ReviewStatus = "unreviewed"
) -> Report:
    """Do *steps*, each only if its records still are what the plan saw; a failure does not stop the rest.

    *judged*: "confirmed" where a person has looked at each merge, so that nobody need review it.
    """
    run = runs.new_name(project)
    outcomes: list[Outcome] = []
    parts: list[Step] = []
    for step in steps:
        try:
            parts += _split(project, step)
        except _Stale as stale:
            outcomes.append(Outcome(step, "skipped", str(stale)))
    chunks = [
        (scope, mine[start : start + _CHUNK])
        for scope in SCOPES
        if (mine := [step for step in parts if step.scope == scope])
        for start in range(0, len(mine), _CHUNK)
    ]
    for scope, chunk in track(chunks, "tidying"):
        edits = [step for step in chunk if isinstance(step, Merge | Archive | Enrich)]
        try:
            outcomes += _write_edits(project, scope, run, judged, edits) if edits else []
        except MemsyncError as error:
            outcomes += [Outcome(step, "failed", str(error)) for step in edits]
        outcomes += [_apply_review(project, run, step) for step in chunk if isinstance(step, Confirm | Reverse)]
    return Report(run=run if run in runs.names(project) else None, outcomes=outcomes)


def _write_edits(
    project: Project, scope: Scope, run: str, judged: ReviewStatus, edits: Sequence[Merge | Archive | Enrich]
) -> list[Outcome]:
    """Do *edits*, and let what names a record that was merged follow it, in each store of the user's own too."""
    writing = _Writing(project, scope, run, judged)
    outcomes = writing.apply(edits)
    for other in _OWN:
        if other != scope and other in project.stores:
            _Writing(project, other, run, judged).follow(writing.moved)
    return outcomes


def _split(project: Project, step: Step) -> list[Step]:
    """Return *step* by the stores that it drops records of: what is private may go for a copy that is not.

    Raises:
        _Stale: a word of the private ones alone is in the new text.
    """
    if not isinstance(step, Merge) or step.scope == "private" or "private" not in project.stores:
        return [step]
    here, aside = project.store(step.scope), project.store("private")
    kept = here.get(step.keep)
    apart = tuple(id_ for id_ in step.drop if here.get(id_) is None and aside.get(id_))
    if not apart or kept is None or step.saw.get(step.keep, seal(kept)) != seal(kept):
        return [step]
    left = tuple(id_ for id_ in step.drop if id_ not in apart)
    theirs, ours = ({*read(text).content} for text in (_join(aside, apart), _join(here, (step.keep, *left))))
    if theirs & {*read(step.content or "").content} - ours:
        raise _Stale(f"{apart[0]} is private, and the new text of {step.keep} has words of it; leave them out")
    saw = {id_: step.saw[id_] for id_ in apart if id_ in step.saw}
    parts: list[Step] = [step._replace(drop=left)] if left or step.content else []
    return [*parts, step._replace(scope="private", drop=apart, saw=saw)]


def _join(store: Store, ids: Iterable[str]) -> str:
    return "\n".join(memory.content for id_ in ids if (memory := store.get(id_)))


class _Writing:
    """One store while steps are done to it: what is pending is written together, behind the backup."""

    def __init__(self, project: Project, scope: Scope, run: str, judged: ReviewStatus) -> None:
        self._project, self._scope, self._run, self._judged = project, scope, run, judged
        self._store = project.store_to_write(scope)
        self._now = project.clock()
        self._pending: dict[str, Memory] = {}
        self._edits: dict[str, dict[str, Any]] = {}
        self._dropped: list[str] = []
        self.moved: dict[str, tuple[str, Merge]] = {}  # what stands for what was merged away, and by which step
        self._backup: list[dict[str, Any]] = []
        self._log: list[Dedup] = []

    def apply(self, steps: Iterable[Merge | Archive | Enrich]) -> list[Outcome]:
        """Do *steps* under the lock."""
        outcomes = []
        with self._store.writing():
            for step in steps:
                try:
                    self._do(step)
                    outcomes.append(Outcome(step, "done"))
                except _Stale as stale:
                    outcomes.append(Outcome(step, "skipped", str(stale)))
                except (InvalidMemory, SecretFound) as found:
                    outcomes.append(Outcome(step, "failed", str(found)))
            self._write()
        if numbers := [number for number in self._project.state(self._scope).log_dedup(self._log) if number]:
            runs.append(self._project, self._scope, self._run, [{"logged": numbers}])
        return outcomes

    def follow(self, moved: Mapping[str, tuple[str, Merge]]) -> None:
        """Let what names a record that another store has *moved* name what stands for it by now."""
        self.moved = {id_: to for id_, to in moved.items() if self._store.get(id_) is None}
        kept = {id_: to for id_, (to, _) in self.moved.items()}
        if any(links.follow(memory, kept) for memory in self._store.memories().values()):
            with self._store.writing():
                self._write()

    def _do(self, step: Merge | Archive | Enrich) -> None:
        if isinstance(step, Merge):
            self._merge(step)
        elif isinstance(step, Archive):
            self._archive(step)
        else:
            self._enrich(step)

    def _write(self) -> None:
        """Write the backup, then what is kept, then what is taken out: whatever stops it, every text is somewhere."""
        if self.moved:
            self._follow_links()
        if not self._backup:
            return
        runs.append(self._project, self._scope, self._run, self._backup)
        self._store.update(self._edits)
        # each later than its own lines, whatever another's say
        self._store.remove(self._dropped, tick(self._now, None))

    def _follow_links(self) -> None:
        """Let what links to a record that was merged away link to what stands for it. Not an edit of what it says."""
        moved: dict[str, str] = {}
        for id_, (kept, _) in reversed(self.moved.items()):  # what was kept may be merged away itself, later
            moved[id_] = moved.get(kept, kept)
        for id_, memory in self._store.memories().items():
            now = self._pending.get(id_, memory)
            if id_ not in self._dropped and (changes := links.follow(now, moved)):
                _, step = next(iter(self.moved.values()))
                self._note(step, {id_: (now, changes)}, None)

    def _seen(self, id_: str, saw: Mapping[str, str]) -> Memory:
        memory = self._store.get(id_)
        if memory is None or id_ in self._dropped:
            raise _Stale(f"{id_} is gone")
        if saw.get(id_, seal(memory)) != seal(memory):
            raise _Stale(f"{id_} was changed since the plan was made")
        return self._pending.get(id_, memory)

    def _merge(self, step: Merge) -> None:
        others = [store.get(step.keep) for store in self._project.stores.values() if store is not self._store]
        # what lies in another store takes nothing over
        elsewhere = next(filter(None, others), None) if self._store.get(step.keep) is None else None
        dropped = [self._seen(id_, step.saw) for id_ in step.drop]
        keep = elsewhere or self._seen(step.keep, step.saw)
        if taken := next((id_ for id_ in step.drop if id_ in self._pending), None):
            raise _Stale(f"{taken} took up another record in this run")
        is_written = step.content is not None  # a text of its own, which names the others as its sources
        is_new = is_written and not elsewhere and step.content != keep.content
        content = self._find_content(step, keep) if is_new else {}
        if content and not dropped:
            now = format_time(tick(self._now, keep.written_at))
            self._note(step, {step.keep: (keep, {**content, "updated_at": now})}, None)
        for number, drop in enumerate(dropped):
            keep = elsewhere or self._pending.get(step.keep, keep)
            changes = {} if elsewhere else {**_unite(keep, drop), **(content if number == 0 else {})}
            if changes or (is_written and not elsewhere):
                changes["updated_at"] = format_time(tick(self._now, keep.written_at))
            edits = {} if elsewhere else {step.keep: (keep, changes)}
            self.moved[drop.id] = step.keep, step
            if is_written:
                changes["supersedes"] = [*changes.get("supersedes", keep.supersedes), drop.id]
                aside = format_time(tick(self._now, drop.written_at))
                edits[drop.id] = drop, {"archived_at": aside, "updated_at": aside}
            else:
                self._dropped.append(drop.id)
            self._note(step._replace(drop=(drop.id,)), edits, None if is_written else drop)
            if self._scope == "private" and not elsewhere:
                bystealth.follow(self._store.place.local, keep, [keep, drop])
            raw = self._store.raw(drop.id)
            self._log.append(_make_merge_row(self._project, step, keep, drop, raw, self._judged))

    def _find_content(self, step: Merge, keep: Memory) -> dict[str, Any]:
        """Return the new text of *keep*, which no other record may say already."""
        text = self._project.vetting.vet(keep._replace(content=step.content or ""), self._scope).content
        same = self._store.by_hash(content_hash(text), besides=step.keep)
        if same and same.id not in step.drop:
            raise _Stale(f"{same.id} says already what {step.keep} should say")
        return {"content": text}

    def _archive(self, step: Archive) -> None:
        memory = self._seen(step.id, step.saw)
        if memory.archived_at:
            raise _Stale(f"{step.id} is archived already")
        worth = self._project.entry(self._scope, memory).effective_importance
        if step.worth is not None and worth > step.worth + 0.001:
            raise _Stale(f"{step.id} was used since the plan was made")
        # Not an edit of what it says: `updated_at` stays, so that it does not look used.
        self._note(step, {step.id: (memory, {"archived_at": format_time(self._now)})}, None)

    def _enrich(self, step: Enrich) -> None:
        from memsync.safety.screen import flaw_of

        memory = self._seen(step.id, step.saw)
        changed = memory._replace(
            cues=step.cues or memory.cues,
            anchors=tuple(dict.fromkeys((*memory.anchors, *step.anchors))),
            triggers=tuple(dict.fromkeys((*memory.triggers, *step.triggers))),
        )
        if changed == memory:
            raise _Stale(f"{step.id} has all of this already")
        enriched = self._project.vetting.vet(changed, self._scope)
        if (why := flaw_of(enriched)) and not flaw_of(memory):
            raise _Stale(f"{step.id}: a cue {why}, so no agent would be given the memory any more")
        # Not an edit of what it says: `updated_at` stays, so that it does not look new.
        changes = {name: list(new) for name in _ENRICHED if (new := getattr(enriched, name)) != getattr(memory, name)}
        self._note(step, {step.id: (memory, changes)}, None)

    def _note(self, step: Step, edits: Mapping[str, tuple[Memory, dict[str, Any]]], drop: Memory | None) -> None:
        touched = [*edits, *([drop.id] if drop else [])]
        self._backup.append(
            {
                "step": as_dict(step),
                "before": {id_: self._store.raw(id_).decode() for id_ in touched},
                "changes": {
                    id_: {name: [runs.value_of(memory, name), new] for name, new in changes.items()}
                    for id_, (memory, changes) in edits.items()
                },
                "dropped": drop.id if drop else None,
            }
        )
        for id_, (memory, changes) in edits.items():
            if changes:
                self._edits.setdefault(id_, {}).update(changes)
                said: dict[str, Any] = {name: tuple(new) if name in _LISTS else new for name, new in changes.items()}
                self._pending[id_] = memory._replace(**{n: new for n, new in said.items() if not n.endswith("_at")})


def _unite(keep: Memory, drop: Memory) -> dict[str, Any]:
    """Return what *keep* takes over, also that a person said it, and what both supersede."""
    changes = take_over(keep, drop)
    if drop.source_type == "user" != keep.source_type:
        changes["source_type"] = "user"  # a person's own words: never archived without asking
    supersedes = [id_ for id_ in dict.fromkeys((*keep.supersedes, *drop.supersedes)) if id_ not in (keep.id, drop.id)]
    if tuple(supersedes) != keep.supersedes:
        changes["supersedes"] = supersedes
    return changes


def _make_merge_row(
    project: Project, step: Merge, keep: Memory, drop: Memory, raw: bytes, judged: ReviewStatus
) -> Dedup:
    return Dedup(
        created_at=project.clock(),
        new_text=drop.content,
        existing_id=keep.id,
        existing_text=step.content or keep.content,
        similarity=step.similarity,
        decision=step.decision,
        reasoning=f"janitor: {step.why}" if step.why else "janitor",
        owner=drop.author,
        rejected=raw.rstrip(b"\r"),
        review_status=judged,
    )


def _apply_review(project: Project, run: str, step: Confirm | Reverse) -> Outcome:
    """Do one step of a review. Confirming changes no memory, so it is not part of the run."""
    try:
        known = {row.decision.number: row for row in review.rows(project) if row.scope == step.scope}
        wanted = step.rows if isinstance(step, Confirm) else (step.row,)
        chosen = [known[n] for n in wanted if n in known and known[n].decision.review_status == "unreviewed"]
        if not chosen:
            return Outcome(step, "skipped", "the log has no such decision that waits for a review")
        if isinstance(step, Confirm):
            review.confirm(project, chosen)
        elif (back := review.reverse(project, chosen[0])).entry:
            line = {"step": as_dict(step), "unreviewed": [step.row]}
            if back.archived_at:
                line["changes"] = {back.entry.id: {"archived_at": [format_time(back.archived_at), None]}}
            else:
                line["added"] = {"id": back.entry.id, "seal": seal(back.entry.memory)}
            runs.append(project, step.scope, run, [line])
    except MemsyncError as error:
        return Outcome(step, "failed", str(error))
    return Outcome(step, "done")


# Not 24 hours: a session that ends a little earlier than yesterday's counts as the next day.
_EVERY: Final = timedelta(hours=20)
_REPORT: Final = "janitor.json"


def read_report(project: Project) -> dict[str, Any] | None:
    """Return what the last run found and did; None if there was none, or it cannot be read."""
    try:
        report = read_object(files.read(_find_report(project))[0])
    except MemsyncError:
        return None
    return report if parse_time(report.get("at")) else None


def run_daily(project: Project) -> Mapping[str, Any]:
    """Do what `janitor.automatic` says: look and count, or also do what needs no person; and keep the report.

    A model is asked only where its word is done, within its budget.
    """
    place = project.layout.place(project.default_scope)
    how = project.settings.janitor_automatic
    if how == "off":
        return _nothing("janitor.automatic is off")
    if not place.directory.is_dir():
        return _nothing("this project has no store")
    files.prepare(place)
    try:
        with lock(place.local / "janitor.lock", wait=0.0, is_told=False):
            last = read_report(project)
            moment = parse_time(last["at"]) if last else None
            if moment is not None and moment <= project.clock() < moment + _EVERY:
                return _nothing("it ran in the last 20 hours")
            report = _run(project, is_applied=how == "apply")
            path = _find_report(project)
            files.rewrite(path, json.dumps(report).encode(), was=files.read(path)[0], private=place.private)
            return report
    except LockTimeout:
        return _nothing("it runs already")


def _nothing(why: str) -> Mapping[str, Any]:
    return {"status": "nothing", "reason": why}


def _find_report(project: Project) -> Path:
    return project.layout.place(project.default_scope).local / _REPORT


def _run(project: Project, *, is_applied: bool) -> dict[str, Any]:
    """Return the report of what was found and, where *is_applied*, done."""
    if is_applied:
        plan = survey(project, TASKS)
        done = apply(project, plan.steps)
        merges, archived = (done.count("done", kind) for kind in (Merge, Archive))
        more: dict[str, Any] = {"failed": done.count("failed"), "run": done.run}
    else:
        with project.with_settings(llm_verify=False) as quiet:
            plan = survey(quiet, TASKS)
        merges, archived = (sum(isinstance(step, kind) for step in plan.steps) for kind in (Merge, Archive))
        more = {}
    clusters = sum(isinstance(guess, Merge) for guess in plan.guesses)
    return {
        "status": "done" if is_applied else "proposed",
        "at": format_time(project.clock()),
        "merges": merges,
        "archived": archived,
        **more,
        "clusters": clusters,
        "stale": len(plan.guesses) - clusters,
        "notes": plan.notes,
    }
