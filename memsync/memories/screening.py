"""Keeping secrets out of what is written; telling which memories hold one or read like orders to an agent, and which a person has approved.

What was found is kept in the local state, by all that a memory is and by the rules, so that a hook finds it there and
loads no rules at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memsync.errors import MemsyncError, SecretFound
from memsync.memories.fingerprints import fingerprint, instruction_of, mark, version_of_rules
from memsync.memories.results import Entry
from memsync.memories.stores import keep_key
from memsync.records import ALLOW_TAG, RULE, SCOPES, TIDIED, Memory, Scope, shown_id
from memsync.store.places import Layout
from memsync.store.state import State
from memsync.store.trust import Approvals, Instruction
from memsync.system.home import find_home

if TYPE_CHECKING:
    from memsync.safety.secrets import Allow
    from memsync.store.settings import Settings

E = TypeVar("E", bound=Entry)
_MARKS: Final = 1024  # that are kept beside their memories


def is_rule(memory: Memory) -> bool:
    """Tell whether *memory* may ask before what it is anchored to."""
    return RULE in (memory.memory_type, *memory.tags)


def is_surely_due(memory: Memory) -> bool:
    """Tell whether *memory* may have a call refused once: it is due at a wrong name, or at a whole command."""
    return any(text.startswith("not: ") for text in memory.triggers) or any(map(is_whole_command, memory.anchors))


def is_whole_command(anchor: str) -> bool:
    """Tell whether *anchor* is a command with more than its name."""
    return anchor.startswith("$ ") and len(anchor.split()) > 2


class Screening:
    """Screens the memories of *layout*; *state_of* returns what is known of those of a scope, *note_change* tells the journal. `save` keeps what was found."""

    def __init__(
        self, layout: Layout, state_of: Callable[[Scope], State], note_change: Callable[[str, str], object]
    ) -> None:
        self._layout = layout
        self._note_change = note_change
        self._state_of = state_of
        self._flaws: dict[bytes, str] = {}  # by mark
        self._secret: set[bytes] = set()  # marks of what holds something like a secret
        self._kept: dict[Scope, Mapping[bytes, str]] = {}  # what was noted before, as last read
        self.clean: set[str] = (
            set()
        )  # texts of what was screened and holds no secret: who shows one need not look again
        # what an index that stays has shown, by identity, with its mark and flaw
        self._shown: dict[int, tuple[Memory, bytes, str]] = {}
        self._new: dict[Scope, dict[bytes, str]] = {}
        self.took = 0.0  # seconds, for what nobody had noted

    def screen(self, entry: E) -> E:
        """Return *entry* with why no agent is given it unasked, if it is flagged and nobody has approved it."""
        name, why = self._screened(entry)
        if name not in self._secret:
            self.clean.add(entry.memory.content)
        return replace(entry, flagged=why) if why and not self.is_approved(entry) else entry

    def find_flaw(self, entry: Entry) -> str:
        """Return why *entry* reads like an order to an agent; "" if it does not."""
        return self._screened(entry)[1]

    def holds_secret(self, entry: Entry, allowed: Callable[[], Allow]) -> bool:
        """Tell whether *entry* holds what looks like a secret and is not *allowed*."""
        if self._screened(entry)[0] not in self._secret:
            return False
        from memsync.safety.secrets import scan_memory

        return bool(scan_memory(entry.memory, allowed()))

    def _screened(self, entry: Entry) -> tuple[bytes, str]:
        """Have *entry* screened, unless it was, and return its mark and flaw. What holds a secret is never noted, so that no list of those is."""
        known = self._shown.get(id(entry.memory))
        if known is not None and known[0] is entry.memory:
            return known[1:]
        name = mark(entry.memory)
        flaw = self._flaws.get(name)
        if flaw is None:
            flaw = self._find_kept(name, entry.scope)
        if flaw is None:
            flaw = self._flaws[name] = self._read(name, entry)
        if len(self._shown) >= _MARKS:
            self._shown.clear()
        self._shown[id(entry.memory)] = entry.memory, name, flaw
        return name, flaw

    def _find_kept(self, name: bytes, scope: Scope) -> str | None:
        """Return what was noted of the mark *name*, be it by another process; each other note makes the state read anew."""
        kept = self._kept.get(scope)
        flaw = None if kept is None else kept.get(name)
        if flaw is None and (now := self._state_of(scope).screened(version_of_rules())) is not kept:
            self._kept[scope] = now
            flaw = now.get(name)
        return flaw

    def _read(self, name: bytes, entry: Entry) -> str:
        from memsync.safety.screen import flaw_of
        from memsync.safety.secrets import scan_memory

        began = time.monotonic()
        flaw, is_secret = flaw_of(entry.memory), bool(scan_memory(entry.memory))
        self.took += time.monotonic() - began
        if is_secret:
            self._secret.add(name)
        else:
            self._new.setdefault(entry.scope, {})[name] = flaw
        return flaw

    @property
    def is_behind(self) -> bool:
        """Whether something had to be read because nobody had noted what it holds."""
        return bool(self._new)

    def screen_all(self, entries: Iterable[Entry], *, seconds: float = inf) -> bool:
        """Screen *entries* and keep what was found; False if *seconds* were too few."""
        end = time.monotonic() + seconds
        is_done = all(self._screened(entry) and time.monotonic() < end for entry in entries)
        self.save()
        return is_done

    def save(self) -> None:
        """Keep what was found, so that nothing is read twice on this machine."""
        for scope in [scope for scope in SCOPES if scope in self._new]:
            state, new, rules = self._state_of(scope), self._new.pop(scope), version_of_rules(to_note=True)
            state.record_screened(rules, new)
            if next(iter(new)) in state.screened(rules):  # or it could not be written
                self._flaws = {name: flaw for name, flaw in self._flaws.items() if name not in new}

    def note(self, entry: Entry) -> str:
        """Screen *entry*, which is written or shown, and return by what it is known from now on."""
        self._screened(entry)
        return fingerprint(entry.memory)

    def is_new(self, entry: Entry) -> bool:
        """Tell whether this machine has neither written nor shown *entry* as it is: what a record says of itself is no proof."""
        return self.count_new(entry.scope, [entry.memory]) > 0

    def count_new(self, scope: Scope, memories: Iterable[Memory]) -> int:
        """Return how many of the *memories* of *scope* `is_new` is true of."""
        known = self._state_of(scope).known()
        return sum((held := known.get(one.id)) is None or held != fingerprint(one) for one in memories)

    def is_approved(self, entry: Entry) -> bool:
        """Tell whether a person of this machine has approved *entry* as it is."""
        return Approvals(self._layout).cover(self._instruction(entry))

    def may_stop(self, entry: Entry) -> bool:
        """Tell whether *entry* may stop a call as it is: a private one, one written here, or one that a person has approved."""
        if entry.scope != "project":
            return True
        approvals = Approvals(self._layout)
        return approvals.cover(self._instruction(entry)) or approvals.cover(self._as_rule(entry))

    def waits_to_stop(self, entry: Entry, settings: Settings) -> bool:
        """Tell whether *entry* is what somebody else wrote, and would stop a call under the user's *settings* once it is approved."""
        memory = entry.memory
        is_asking = settings.guard and is_rule(memory) and bool(memory.anchors)
        is_stopping = is_asking or (settings.bump == "sure" and is_surely_due(memory))
        return is_stopping and memory.archived_at is None and not entry.flagged and not self.may_stop(entry)

    def own(self, entry: Entry) -> None:
        """Let *entry*, which was written here, stop a call at once, if it may. It approves nothing that is flagged; never fails."""
        if (
            entry.scope == "project"
            and (is_rule(entry.memory) or is_surely_due(entry.memory))
            and not self.find_flaw(entry)
        ):
            with suppress(MemsyncError, OSError):
                keep_key(self._layout)
                Approvals(self._layout).add([self._as_rule(entry)])

    def approve(self, entry: Entry) -> None:
        """Let agents be given *entry*, or a rule ask, as it is now: a person has read it."""
        keep_key(self._layout)
        Approvals(self._layout).add([self._instruction(entry)])
        self._note_change(f"approved {shown_id(entry.id)}", f"approve {entry.id} --revoke")

    def revoke(self, entry: Entry) -> bool:
        """Take the approvals of *entry* back, and tell whether there was one."""
        names = [self._instruction(entry).name, self._as_rule(entry).name]
        is_done = bool(Approvals(self._layout).remove(names))
        if is_done:
            self._note_change(f"{shown_id(entry.id)} is no longer approved", f"approve {entry.id}")
        return is_done

    def _as_rule(self, entry: Entry) -> Instruction:
        """Return *entry* as what may stop a call, and no more: what was written here may read like an order all the same."""
        one = self._instruction(entry)
        return Instruction(f"rule {entry.id}", one.path, one.content)

    def _instruction(self, entry: Entry) -> Instruction:
        return instruction_of(entry.memory, self._layout.place(entry.scope).memories)


class Vetting:
    """Vets each text before it is written."""

    def __init__(self, layout: Layout, env: Mapping[str, str]) -> None:
        self.allows_secrets = False  # whether the user says, at the terminal, that what looks like a secret is not one
        self._layout = layout
        self._env = env
        self.use(())

    def use(self, patterns: tuple[str, ...]) -> None:
        """Treat what matches *patterns*, from the settings, as no secret."""
        self._patterns = patterns
        self._allowed: Allow | None = None

    @property
    def allowed(self) -> Allow:
        """What the settings and the user say is not a secret."""
        from memsync.store.trust import load_allowed

        if self._allowed is None:
            self._allowed = load_allowed(self._layout, self._patterns)
        return self._allowed

    def vet(self, memory: Memory, scope: Scope, *, dry_run: bool = False) -> Memory:
        """Return *memory* as it may be stored in *scope*: the writer's home is `~`.

        Every write of a text passes here; a *dry_run* notes no consent. The private store takes secrets; no agent is shown them unasked.

        Raises:
            SecretFound: it looks like it holds one, and would be shared.
        """
        from memsync.safety import secrets
        from memsync.store.trust import consent

        home = find_home(self._env)
        user = self._env.get("USER") or self._env.get("USERNAME")

        def tidy(said: Any) -> Any:
            return tuple(map(tidy, said)) if isinstance(said, tuple) else secrets.tidy(said, home=home, user=user or "")

        memory = memory._replace(**{name: tidy(getattr(memory, name)) for name in TIDIED})
        found = [] if scope == "private" else secrets.scan_memory(memory, self.allowed)
        if not found:
            return memory
        if not self.allows_secrets:
            raise SecretFound(secrets.describe(found))
        if not dry_run:
            consent(self._layout, found)
            self._allowed = None
        return memory if ALLOW_TAG in memory.tags else memory._replace(tags=(*memory.tags, ALLOW_TAG))
