"""The modules about merging, imported when they are used: what answers from the index alone needs none of them."""

from __future__ import annotations

from memsync.system.late import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memsync.format import merge, pending, spread, text_merges
else:
    merge, pending = late("memsync.format.merge"), late("memsync.format.pending")
    spread, text_merges = late("memsync.format.spread"), late("memsync.format.text_merges")

__all__ = ["merge", "pending", "spread", "text_merges"]
