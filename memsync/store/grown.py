"""A file that grew: what stands behind the lines that are known, as far as it says nothing new of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import BinaryIO, NamedTuple

from memsync.format import jsonl, text_merges
from memsync.format.codec import Line


class Known(NamedTuple):
    """What a store has read: its lines, whether nothing waits, is in conflict or has sides, and the line that counts for each id."""

    lines: Sequence[Line]
    is_plain: bool
    current: Mapping[str, Line]

    def is_all(self, size: int) -> bool:
        """Tell whether what is known is all of the file that was read with it and has *size* bytes: nothing waits, and its last line has an end."""
        return self.is_plain and jsonl.count_bytes(self.lines) == size

    def find_added(self, source: BinaryIO) -> list[Line] | None:
        """Return the lines that *source*, a whole file, has after those we know; None if it differs in another way."""
        if not self.lines or not self.is_plain or self.lines[-1].problem:
            return None
        # Some at once: there is no second copy of a large file.
        if any(source.read(len(block)) != block for block in jsonl.join_blocks(self.lines)):
            return None
        added = jsonl.read_lines(source.read())
        return None if jsonl.in_conflict(added) or self.may_be_split_by(added) else added

    def may_be_split_by(self, added: Sequence[Line]) -> bool:
        """Tell whether lines *added* behind those that are known may make two sides of a record, or records over several lines; False is certain."""
        if any(line.problem and line.id is None for line in added):
            return True
        are_new = jsonl.have_own_ids(added) and self.current.keys().isdisjoint(jsonl.ids_of(added))
        are_apart = are_new and len(self.current) == len(self.lines)  # no record has two lines
        return not are_apart and text_merges.may_add_sides(self.lines, added, self.current)
