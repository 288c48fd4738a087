"""The cache of the index beside the stores: reading their lines by it, and what it lacks after a write. Needs no index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from memsync.format import codec
from memsync.index import heads
from memsync.index.cache import Cached
from memsync.index.delta import Delta
from memsync.index.rank import Record
from memsync.records import SCOPES, Memory, Scope
from memsync.store import files
from memsync.store.changes import Span
from memsync.system.named import NamedTuple

if TYPE_CHECKING:
    from memsync.index.core import Arrays
    from memsync.index.embed import Meaning
    from memsync.store.store import Stamps, Store

DELTA: Final = "delta.bin"


Files = tuple[BinaryIO | None, BinaryIO | None]


class Held:
    """A cache and what changed since it was made, if anything did."""

    def __init__(self, cached: Cached, delta: Delta | None) -> None:
        self.cached = cached
        self.delta = delta or Delta(cached.about, cached.views["lines"], (), ())

    @property
    def about(self) -> Mapping[str, Any]:
        """From which files, with which problems, both together were made."""
        return self.delta.about


class Known(NamedTuple):
    """A cache that fits the files, and where the lines of each store that may change were."""

    held: Held
    before: dict[Scope, dict[str, Span]]


def as_lists(stamps: Stamps) -> list[list[int]]:
    """Return *stamps* as they come out of JSON."""
    return [list(stamp) for stamp in stamps]


def take_down(known: Known, store: Store) -> None:
    """Note where the lines of *store* are, if that is still what the cache has."""
    scope = store.place.scope
    if scope not in known.before:
        stamps, spans = store.spans()
        if as_lists(stamps) == known.held.about["stamps"][scope]:
            known.before[scope] = spans


def find_delta(
    known: Known, stores: Mapping[Scope, Store], meaning: Meaning | None, *, stop_words: bool
) -> Delta | None:
    """Return what the cache lacks of *stores* now; None if it lacks nothing, or if nobody can tell without an index."""
    held, about = known.held, known.held.about
    spans, stamps = {}, dict(about["stamps"])
    for scope in known.before:
        seen, spans[scope] = stores[scope].spans()
        if len(spans[scope]) != len(stores[scope].memories()):
            return None  # some were merged, and have no line
        stamps[scope] = as_lists(seen)
    others = stores.keys() - known.before.keys()
    is_known = all(as_lists(stores[scope].look()) == stamps[scope] for scope in others)
    if not is_known or stamps == about["stamps"] or any(seen is None for seen in stamps.values()):
        return None
    problems = {**about["problems"], **{scope: stores[scope].first_problem() for scope in known.before}}
    said = {"stamps": stamps, "problems": problems}
    return _compare(known, spans, said, _Maker(held.cached, meaning, stop_words=stop_words))


class _Maker:
    """Makes what the index has of a late record."""

    def __init__(self, cached: Cached, meaning: Meaning | None, *, stop_words: bool) -> None:
        self._cached, self._meaning, self._stop_words = cached, meaning, stop_words

    def make(self, memories: list[Memory]) -> Iterator[Any]:
        from memsync.index.delta import make_late
        from memsync.index.tokens import Tokenizer

        tokenizer = Tokenizer(stop_words=self._stop_words)
        return (make_late(memory, self._cached, tokenizer, self._meaning) for memory in memories)


def _compare(known: Known, spans: Mapping[Scope, Mapping[str, Span]], said: dict[str, Any], maker: _Maker) -> Delta:
    """Return the lines of all slots as they are now, the slots of what changed or went, and what came."""
    old, dead = list(known.held.delta.lines), set(known.held.delta.dead)
    slots = {(old[at], old[at + 1]): at // 3 for at in range(0, len(old), 3) if at // 3 not in dead}
    lines, new = old, list[tuple[int, Span]]()
    for scope, before in known.before.items():
        gone = {id_: slots[_file(scope, span), span.start] for id_, span in before.items()}
        for id_, span in spans[scope].items():
            was = before.get(id_)
            if was is not None and (was.memory is span.memory or was.memory == span.memory):
                at = 3 * gone.pop(id_)
                lines[at : at + 3] = _file(scope, span), span.start, span.end
            else:
                new.append((_file(scope, span), span))
        dead.update(gone.values())
    for number, span in new:
        lines += (number, span.start, span.end)
    memories = [span.memory for _, span in new]
    late = [*known.held.delta.late, *maker.make(memories)]
    said["heads"] = heads.all_heads(known.held.about.get("heads", ()), memories)
    return Delta(said, lines, sorted(dead), late)


def _file(scope: Scope, span: Span) -> int:
    """Return the number of a file among the lines of a cache."""
    return SCOPES.index(scope) + len(SCOPES) * span.file


def open_files(store: Store, stack: ExitStack) -> tuple[Files, Stamps]:
    """Open both files of *store*, the pending one first as `refresh` does; return them with their stamps."""
    (held, held_stamp), (file, stamp) = (files.open_stamped(path) for path in (store.place.pending, store.path))
    for one in (held, file):
        if one is not None:
            stack.callback(one.close)
    return (file, held), (stamp, held_stamp)


def read_record(lines: Any, opened: Mapping[Scope, Files], slot: int) -> Record | None:
    """Read the line of *slot* from its file, opened when the cache was found to fit it."""
    number, start, end = lines[3 * slot : 3 * slot + 3]
    which, at = divmod(number, len(SCOPES))
    scope = SCOPES[at]
    file = opened[scope][which]
    if file is None:
        return None
    file.seek(start)
    memory = codec.decode(file.read(end - start)).memory
    return (scope, memory) if memory else None


def is_head_sound(about: Mapping[str, Any]) -> bool:
    """Tell whether what a cache says about itself can be ours."""
    return isinstance(about["stamps"], dict) and isinstance(about["unrelated"], float | int | None)


def name_arrays(records: Sequence[Record], lines: list[int], arrays: Arrays) -> dict[str, Any]:
    """Return all arrays by name, with the head of each record and the scope and the place of its line."""
    import numpy as np

    parts: dict[str, Any] = {"lines": np.array(lines, np.int64), "keys": arrays.keys, "texts": arrays.texts}
    parts |= heads.name_arrays(memory for _, memory in records)
    for group in ("base", "grams", "vectors"):
        if (value := getattr(arrays, group)) is not None:
            parts |= {f"{group}.{name}": getattr(value, name) for name in value.__dataclass_fields__}
    return parts
