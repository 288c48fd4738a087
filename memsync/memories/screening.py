"""Telling which memories read like orders to an agent, and which of them a person of this machine has approved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from memsync.memories.results import Entry
from memsync.memories.stores import keep_key
from memsync.poison.fingerprints import RULES, fingerprint, instruction_of
from memsync.records import Scope
from memsync.store.places import Layout
from memsync.store.state import Known, State
from memsync.store.trust import Approvals, Instruction

E = TypeVar("E", bound=Entry)


class Screening:
    """Screens the memories of *layout*; *state_of* returns what is known of those of a scope."""

    def __init__(self, layout: Layout, state_of: Callable[[Scope], State]) -> None:
        self._layout = layout
        self._state_of = state_of
        self._flaws: dict[str, str] = {}  # by fingerprint

    def screen(self, entry: E) -> E:
        """Return *entry* with why no agent is given it unasked, if it is flagged and nobody has approved it."""
        why = self.find_flaw(entry)
        return replace(entry, flagged=why) if why and not self.is_approved(entry) else entry

    def find_flaw(self, entry: Entry) -> str:
        """Return why *entry* reads like an order to an agent; "" if it does not. What was read here once is not read again."""
        mark = fingerprint(entry.memory)
        if self._state_of(entry.scope).known().get(entry.id) == (mark, RULES):
            return ""
        if mark not in self._flaws:
            from memsync.poison.screen import flaw_of

            self._flaws[mark] = flaw_of(entry.memory)
        return self._flaws[mark]

    def known(self, entry: Entry) -> Known:
        """Return what is known of *entry* once it is written or shown."""
        return Known(fingerprint(entry.memory), 0 if self.find_flaw(entry) else RULES)

    def is_new(self, entry: Entry) -> bool:
        """Tell whether this machine has neither written nor shown *entry* as it is: what a record says of itself is no proof."""
        known = self._state_of(entry.scope).known().get(entry.id)
        return known is None or known.fingerprint != fingerprint(entry.memory)

    def is_approved(self, entry: Entry) -> bool:
        """Tell whether a person of this machine has approved *entry* as it is."""
        return Approvals(self._layout).cover(self._instruction(entry))

    def approve(self, entry: Entry) -> None:
        """Let agents be given *entry*, which is flagged, as it is now: a person has read it.

        Raises:
            NoStore: there is no home store to note it in.
            StoreError
        """
        keep_key(self._layout)
        Approvals(self._layout).add([self._instruction(entry)])

    def revoke(self, entry: Entry) -> bool:
        """Take the approvals of *entry* back, and tell whether there was one.

        Raises:
            StoreError
        """
        return bool(Approvals(self._layout).remove([self._instruction(entry).name]))

    def _instruction(self, entry: Entry) -> Instruction:
        return instruction_of(entry.memory, self._layout.place(entry.scope).memories)
