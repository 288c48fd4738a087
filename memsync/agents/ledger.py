"""What is noted of one agent session, in the state.db of the store, where every process of the session sees it.

The ledger is `injected_memory_ids` in the session's workflow variables (seed
000), as id -> hash of the text, so that an edited memory comes again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from memsync.agents import hooklog
from memsync.agents.injection import Injection
from memsync.agents.notes import COMPACTED, HELPED, LEDGER, MATCHED, Matched, keep_matched, scope_of
from memsync.memories.project import Project
from memsync.records import format_time, parse_time
from memsync.store.state import State
from memsync.system.limits import list_only

_CLAIMS: Final = "claims"
_GIVING: Final = "giving"
_SHOWN: Final = "shown"  # what was only named in a headline, in the form of the ledger
_KEPT: Final = "kept"
_STARTED: Final = "started"
_TOLD: Final = "told"
_TASKS: Final = "tasks"  # of subagents that are about to start: of what kind each is, and the ids that fit
_MOST_TASKS: Final = 16
_TOPIC: Final = "topic"
CLIENT: Final = "client_pids"  # of the processes that started the hook of a session's start, the nearest first
_TWIN: Final = timedelta(seconds=3)  # a second hook for the same event comes at once, and no hook lives longer


class Ledger:
    """The notes on the session *session_id* of the project; without an id nothing is noted."""

    def __init__(self, project: Project, session_id: str) -> None:
        self.project = project
        self.id = session_id

    @property
    def _state(self) -> State | None:
        scope = scope_of(self.project.layout, self.project.settings)
        return self.project.state(scope) if scope else None

    @property
    def _has_store(self) -> bool:
        return self._state is not None and self._state.path.parents[1].is_dir()

    def variables(self) -> dict[str, Any]:
        """Return the session's workflow variables."""
        return self._state.variables(self.id) if self._state and self.id else {}

    def log(self, note: Mapping[str, Any]) -> None:
        """Add *note* to the log of the hooks."""
        hooklog.write(self.project.layout, scope_of(self.project.layout, self.project.settings), note)

    def keep(self, name: str, text: str) -> None:
        """Keep *text* as a variable of the session, which a workflow may name in braces."""
        self._change(lambda variables: {**variables, _KEPT: {**_dict_of(variables.get(_KEPT)), name: text}})

    def kept(self) -> dict[str, str]:
        """Return the texts that were kept for the session."""
        return {str(name): str(text) for name, text in _dict_of(self.variables().get(_KEPT)).items()}

    def has_context(self) -> bool:
        """Tell whether a session that is resumed has what it was given: unless it is new to us, or a compaction took it."""
        variables = self.variables()
        return bool(variables.get(LEDGER)) or (bool(variables) and COMPACTED not in variables)

    def keep_matched(self, injections: Sequence[Injection], turn: str) -> None:
        """Keep what the prompt of *turn* was about, for the case that the context is compacted before it is answered."""
        given = [entry.id for found in injections for entry in found.entries]
        known = [id_ for found in injections for id_ in found.known]
        if self._state and self.id:
            keep_matched(self._state, self.id, self.project.clock(), Matched(turn, tuple(given), tuple(known)))

    def keep_topic(self, prompt: str) -> None:
        """Keep which words the last prompts had, as numbers."""
        if not self._has_store:
            return
        from memsync.agents.topic import number_words

        self._change(
            lambda variables: {**variables, _TOPIC: number_words(prompt, list_only(variables.get(_TOPIC), int))}
        )

    def topic(self) -> list[int]:
        """Return the numbers of the words of the last prompts."""
        return list_only(self.variables().get(_TOPIC), int)

    def matched(self) -> Matched:
        """Return what the last prompt was about."""
        match self.variables().get(MATCHED):
            case [str(turn), [*given], [*known]]:
                return Matched(turn, tuple(map(str, given)), tuple(map(str, known)))
        return Matched()

    def note_client(self, pids: Sequence[int]) -> None:
        """Note in which processes the session runs, where there is a store."""
        if self._has_store:
            self._change(lambda variables: {**variables, CLIENT: pids})

    def begin_helper(self) -> None:
        """Note that a subagent is at work until the user speaks: its calls to the server look like the session's own."""
        if self._has_store:
            self._change(lambda variables: {**variables, HELPED: True})

    def keep_task(self, kind: str, ids: Sequence[str]) -> None:
        """Keep which memories fit what a subagent of that *kind*, which is about to start, is asked."""
        if self._has_store:
            self._change(
                lambda variables: {
                    **variables,
                    _TASKS: [*list_only(variables.get(_TASKS), list), [kind, *ids]][-_MOST_TASKS:],
                }
            )

    def take_task(self, kind: str) -> list[str] | None:
        """Return the memories that fit what the next subagent of that *kind* is asked, and keep them no longer; None if nobody knows."""
        taken: list[str] | None = None

        def take(variables: dict[str, Any]) -> dict[str, Any] | None:
            nonlocal taken
            tasks = list_only(variables.get(_TASKS), list)
            found = next((task for task in tasks if task[:1] == [kind]), None) or next(iter(tasks), None)
            if not found:
                return None
            taken = [str(id_) for id_ in found[1:]]
            tasks.remove(found)
            return {**variables, _TASKS: tasks}

        self._change(take)
        return taken

    def take_over(self, parent: Ledger) -> None:
        """Note that the context has what that of *parent* has."""
        known = ledger_of(parent.variables())
        self._change(lambda variables: {**variables, LEDGER: {**known, **ledger_of(variables)}})

    def shown(self) -> dict[str, str]:
        """Return what the session was only named in a headline, as the ledger has what it was given."""
        return _dict_of(self.variables().get(_SHOWN))

    def note_given(self, given: Mapping[str, str], named: Mapping[str, str]) -> None:
        """Note in the ledger what was *given*, and beside it what was *named* in a headline."""

        def note(variables: dict[str, Any]) -> dict[str, Any]:
            shown = {_SHOWN: {**_dict_of(variables.get(_SHOWN)), **named}} if named else {}
            started = variables.get(_STARTED)
            left = {_STARTED: [id_ for id_ in started if id_ not in given]} if isinstance(started, list) else {}
            return {**variables, LEDGER: {**ledger_of(variables), **given}, **shown, **left}

        self._change(note)

    def given_at_start(self) -> Collection[str]:
        """Return the ids of what was given at the start of the session, and not since."""
        started = self.variables().get(_STARTED)
        return started if isinstance(started, list) else ()

    def had_hook(self) -> bool:
        """Tell whether the session began with a hook, or one has answered a prompt of it."""
        return not {CLIENT, _STARTED, _TOPIC, MATCHED}.isdisjoint(self.variables())

    def keep_start(self, injections: Sequence[Injection]) -> None:
        """Keep what was given at the start of the session."""
        ids = [entry.id for found in injections for entry in found.entries]
        self._change(lambda variables: {**variables, _STARTED: ids})

    def forget_start(self) -> Sequence[str]:
        """Take what was given at the start of the session out of the ledger, and return its ids."""
        ids: list[str] = []

        def forget(variables: dict[str, Any]) -> dict[str, Any] | None:
            given = variables.get(_STARTED)
            if not isinstance(given, list):
                return None
            ids[:] = map(str, given)
            ledger, giving = (
                {id_: said for id_, said in _dict_of(variables.get(name)).items() if id_ not in given}
                for name in (LEDGER, _GIVING)
            )
            return {**variables, LEDGER: ledger, _GIVING: giving, _STARTED: None}

        self._change(forget)
        return ids

    def is_told(self, what: str, when: str = "") -> bool:
        """Tell whether the user knows of *what*, as it is *when*."""
        return _dict_of(self.variables().get(_TOLD)).get(what) == when

    def begin_telling(self, what: str, when: str = "") -> bool:
        """Note that the user is told of *what*, as it is *when*; False if another process did so before."""
        is_new = True

        def note(variables: dict[str, Any]) -> dict[str, Any] | None:
            nonlocal is_new
            told = _dict_of(variables.get(_TOLD))
            is_new = told.get(what) != when
            return {**variables, _TOLD: {**told, what: when}} if is_new else None

        self._change(note)
        return is_new

    def claim(self, event: str, by: str = "") -> bool:
        """Take on *event* (its name and what tells it from the next); False if another hook just did.

        The same hook may be installed twice, by a project and by a plugin, and then runs twice at once. What was
        claimed *by* the same one stays its own: a server may have done it for the hook, and then be too slow to say so.
        """
        return bool(self._claim(_CLAIMS, {event: ""}, by))

    def claim_giving(self, given: Mapping[str, str], by: str = "") -> set[str]:
        """Take on to give the memories *given* (id -> key), and return the ids of those that no other hook gives just now.

        Copilot CLI runs the hooks of a session's start and of its prompt at once when it is resumed, and any client
        those of tools that it calls at once. The ledger has a memory only once it was handed over.
        """
        return self._claim(_GIVING, given, by)

    def end_giving(self, ids: Collection[str]) -> None:
        """Take back what `claim_giving` took on for *ids*."""

        def drop(variables: dict[str, Any]) -> dict[str, Any] | None:
            giving = _dict_of(variables.get(_GIVING))
            left = {id_: said for id_, said in giving.items() if id_ not in ids}
            return {**variables, _GIVING: left} if left != giving else None

        self._change(drop)

    def _claim(self, kind: str, wanted: Mapping[str, str], by: str) -> set[str]:
        now = self.project.clock()
        mine = set(wanted)

        def take(variables: dict[str, Any]) -> dict[str, Any] | None:
            nonlocal mine
            claims = {
                name: claim
                for name, claim in _dict_of(variables.get(kind)).items()
                if (when := parse_time(str(claim).split(" ")[0])) and abs(now - when) < _TWIN
            }
            mine = {
                name
                for name, key in wanted.items()
                if name not in claims
                or (by and claims[name].endswith(f" {by}"))
                or (key and f" {key} " not in claims[name])
            }
            new = {name: " ".join((format_time(now), *filter(None, [wanted[name]]), by)) for name in mine}
            return {**variables, kind: {**claims, **new}} if mine else None

        self._change(take)
        return mine

    def reset(self) -> int:
        """Empty the ledger because the context is gone, open the session filter, and return how many ids there were."""
        return self._forget({COMPACTED: format_time(self.project.clock())})

    def _forget(self, also: Mapping[str, Any] | None = None) -> int:
        count = len(self.variables().get(LEDGER) or ())
        if self._has_store:  # else nothing was ever noted
            self._change(lambda variables: {**variables, LEDGER: {}, _GIVING: {}, _SHOWN: {}, **(also or {})})
        return count

    def _change(self, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
        if self._state and self.id:
            self._state.change_variables(self.id, self.project.clock(), change)


def ledger_of(variables: Mapping[str, Any]) -> dict[str, str]:
    """Return what the session was given, among its *variables*."""
    return _dict_of(variables.get(LEDGER))


def _dict_of(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
