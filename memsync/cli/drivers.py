"""What git calls to merge and to show our files. It is timed: nothing is imported before it is needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from memsync.errors import StoreUnreadable
from memsync.system import limits

_CLEAN, _CONFLICT, _USAGE, _LEFT, _ABORT = 0, 1, 2, 65, 129
_Merge = Callable[[Sequence[bytes], int, Sequence[str]], tuple[int, bytes]]
_OURS = ("memories.jsonl", "SKILL.md")  # what each of the two drivers can merge


def run_in_time(name: str, words: Sequence[str]) -> int:
    """Do what `run` does, and end the process when it takes too long: git then does without us."""

    def give_up(after: str) -> int:
        _say(f"memsync: git {name} did not finish within {after}; git goes on by itself")
        return _USAGE

    limits.start_git_clock("merge", os.environ, give_up)
    return run(name, words)


def run(name: str, words: Sequence[str]) -> int:
    """Run what git calls by *name*, and return the exit code."""
    return textconv(words) if name == "textconv" else merge_files(words, is_skill=name == "merge-skill")


def merge_files(words: Sequence[str], *, is_skill: bool = False) -> int:
    """Merge for git: BASE OURS THEIRS [PATH [SIZE]]; the result goes over OURS. Return the exit code.

    0 is clean; 1 leaves markers; 65 leaves OURS as it is, in conflict, because a filter
    does not give the text here; above 128 makes git give up, because nothing
    could be written: git would take what stands in OURS for the result.
    """
    if len(words) < 3:
        name = "merge-skill" if is_skill else "merge-driver"
        _say(f"usage: memsync git {name} BASE OURS THEIRS [PATH [SIZE]]")
        return _USAGE
    paths = [Path(word) for word in words[:3]]
    size = int(words[4]) if len(words) > 4 and words[4].isdecimal() else 7
    try:
        texts = [path.read_bytes() for path in paths]
        merge = _merge_skill if is_skill else _merge_memories
        if Path(*words[3:4] or (_OURS[is_skill],)).name != _OURS[is_skill]:
            merge = _merge_foreign  # an attribute may name us for any file
        code, data = _merge_filtered(merge, texts, max(size, 7), words[3:4])
        from memsync.system import local

        local.put(paths[1], [data])
    except StoreUnreadable as error:
        _say(f"memsync: {error}")
        return _LEFT
    except (OSError, KeyboardInterrupt) as error:
        _say(f"memsync: {error}")
        return _ABORT
    return code


def _merge_filtered(merge: _Merge, texts: Sequence[bytes], size: int, name: Sequence[str]) -> tuple[int, bytes]:
    """Merge what a user reads, where git hands over what its filters made of that, and return what git is to store."""
    if not name or merge is not _merge_memories:
        return merge(texts, size, name)
    from memsync.store.checkout import Checkout
    from memsync.store.filters import clean, smudge

    checkout = Checkout(Path.cwd(), in_hook=True)
    read = [smudge(checkout, name[0], text) for text in texts]
    code, data = merge(read, size, name)
    return code, data if read == texts else clean(checkout, name[0], data)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _merge_memories(texts: Sequence[bytes], size: int, name: Sequence[str]) -> tuple[int, bytes]:
    try:
        from memsync.format.merge import merge

        done = merge(*texts, size=size)
    except Exception as error:  # noqa: BLE001 - whatever it is, git must get both sides
        _say(f"memsync: merged as text, because of an unexpected {type(error).__name__}: {error}")
        return _as_text(texts, size)
    where = name[0] if name else "memories"
    for id_ in done.copies:
        _say(f"memsync: {where}: both sides changed one text; the other one is kept as {id_}")
    if done.unsettled:
        _say(f"memsync: {where}: lines that cannot be read differ; they stand between markers")
    return (_CONFLICT if done.unsettled else _CLEAN), done.data


def _merge_skill(texts: Sequence[bytes], size: int, _name: Sequence[str]) -> tuple[int, bytes]:
    from memsync.skills.merge import merge

    try:
        found, data = merge(*texts, merge_text=lambda *parts: _text(parts, size), size=size)
    except Exception as error:  # noqa: BLE001 - whatever it is, git must get both sides
        _say(f"memsync: merged as text, because of an unexpected {type(error).__name__}: {error}")
        return _as_text(texts, size)
    return (_CONFLICT if found else _CLEAN), data


def _merge_foreign(texts: Sequence[bytes], size: int, _name: Sequence[str]) -> tuple[int, bytes]:
    """Merge a file that is not ours as git does without us: its text, and of two binary files ours, as a conflict."""
    try:
        count, data = _text(texts, size)
    except OSError:
        return _CONFLICT, texts[1]
    return min(count, _CONFLICT), data


def _text(texts: Sequence[bytes], size: int) -> tuple[int, bytes]:
    from memsync.store.checkout import merge_text

    return merge_text(Path.cwd(), texts, size=size)


def _as_text(texts: Sequence[bytes], size: int) -> tuple[int, bytes]:
    """Merge as git would without us; where it does not, put both whole sides between markers."""
    from memsync.format.jsonl import spell_conflict

    try:
        count, data = _text(texts, size)
    except OSError:
        _, ours, theirs = (text.removesuffix(b"\n") + b"\n" for text in texts)
        return _CONFLICT, spell_conflict(ours, theirs, size=size)
    return min(count, _CONFLICT), data


def textconv(words: Sequence[str]) -> int:
    """Print the memory file FILE as people read it, a block for each memory: for `git memories log -p`."""
    if len(words) != 1:
        _say("usage: memsync git textconv FILE")
        return _USAGE
    try:
        from memsync.format.textdiff import readable

        sys.stdout.buffer.write(readable(Path(words[0]).read_bytes()))
        sys.stdout.buffer.flush()
    except OSError as error:
        _say(f"memsync: {error}")
        return 1
    return 0
