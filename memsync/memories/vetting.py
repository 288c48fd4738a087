"""Keeping secrets and the path of the writer's home out of what others will see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memsync.errors import SecretFound
from memsync.records import ALLOW_TAG, TIDIED, Memory, Scope
from memsync.store.places import Layout
from memsync.system.home import find_home

if TYPE_CHECKING:
    from memsync.secrets import Allow


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
        from memsync import secrets
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
