"""What was replaced stays replaced, also where the other side of a merge wrote the same text without knowing."""

from __future__ import annotations

from collections.abc import Collection

from memsync.format import codec
from memsync.format.codec import Line, bare
from memsync.records import format_time, normal_form


def archive_again(records: dict[str, Line], known: Collection[str]) -> None:
    """Archive the records, but for those of the ids *known*, that say what an archived and superseded one says."""
    live = {id_: line.memory for id_, line in records.items() if line.memory}
    superseded = {old for memory in live.values() for old in memory.supersedes}
    gone = {
        normal_form(memory.content): memory.archived_at
        for id_ in sorted(superseded & live.keys())
        if (memory := live[id_]).archived_at
    }
    for id_, memory in live.items() if gone else ():
        if id_ in known or memory.archived_at or memory.conflict_of:
            continue
        if when := gone.get(normal_form(memory.content)):
            raw = codec.edit(bare(records[id_].raw), {"archived_at": format_time(when)})
            records[id_] = codec.decode(raw)
