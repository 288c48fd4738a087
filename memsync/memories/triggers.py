"""When a memory is due: whether a call uses a name that is wrong, or a failure says what is waited for. Imports next to nothing: hooks wait for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memsync.memories import commands

_CHUNK = re.compile(r"[\w.@+-]*\w")  # what may be a name, or end with one
_LONGEST = 65_536  # characters of a text that are looked at
_MOST = 8_192  # keys of a call
MARK = "! "  # before a name, among the keys of what is anchored
# What speaks of things in texts of its own, rather than uses them.
_SPEAKING = frozenset({("git", "commit"), ("git", "tag"), ("gh", "pr"), ("gh", "issue")})


def keys_of(texts: Iterable[str]) -> list[str]:
    """Return the keys under which a memory may be due where *texts* are said: of each name, and of what it begins or ends with."""
    found: dict[str, None] = {}
    for chunk in dict.fromkeys(chunk for text in texts for chunk in _CHUNK.findall(_plain(text))):
        parts = chunk.lstrip("+@").split(".")
        ends = [".".join(parts[at:]) for at in range(min(len(parts), 8))]
        found |= dict.fromkeys((chunk, *ends, *(one.lstrip("+-@") for one in ends), *parts))
        found |= dict.fromkeys(".".join(parts[:at]) for at in range(2, min(len(parts), 8)))
    return [MARK + one for one in found if one][:_MOST]


def key(trigger: str) -> str:
    """Return the key of *trigger*; "" where no call has one."""
    kind, _, name = trigger.partition(": ")
    chunks = _CHUNK.findall(name) if kind == "not" else ()
    return MARK + chunks[-1] if chunks else ""


def is_used(
    name: str, lines: Sequence[commands.Words], said: Iterable[str], written: str = "", before: Iterable[str] = ()
) -> bool:
    """Tell whether a call uses *name*: in the commands *lines*, in a path or a pattern of those *said*, or *written* where it was not *before*.

    A name of plain letters is one only as a command or an argument of one: in a text it may be any word.
    """
    if len(name.split()) > 1:
        wanted = next(map(commands.strip, commands.split(name)), ())
        if wanted and any(commands.fits(wanted, commands.strip(words)) for words in lines):
            return True
    elif name.isalpha() and name[1:] == name[1:].lower():
        return any(name in words and commands.strip(words)[1:2] != (name,) for words in lines)
    else:
        words = [f"{word}/" if "/" in word else word for one in lines for word in _list_used(one)]
        if any(is_in(name, text) for text in (*words, *(f"{one}/" for one in said))):
            return True
    return is_in(name, written) and not any(is_in(name, text) for text in before)


def _list_used(words: commands.Words) -> Iterable[str]:
    stripped = commands.strip(words)
    is_speaking = stripped[:2] in _SPEAKING or stripped[:1] in (("echo",), ("printf",))
    return (word for word in words if not (is_speaking and any(map(str.isspace, word))))


def is_in(name: str, text: str) -> bool:
    """Tell whether *text* has *name* as a whole: a file's not as the beginning of a longer one, an option's not within another."""
    name = name[:-1] if name.endswith("()") else name
    if name not in (text := _plain(text)):
        return False
    before = r"(?<![\w.-])" if name[0] in ".-" else r"(?<![\w-])"
    after = r"(?![\w-])" if name[-1].isalnum() or name[-1] == "_" else ""
    return (
        re.search(before + re.escape(name) + after + (r"(?!\.\w)" if "." in name or "/" in name else ""), text)
        is not None
    )


def _plain(text: str) -> str:
    """Return what is looked at of *text*, which may be a pattern."""
    return text[:_LONGEST].replace("\\.", ".")


def fails(trigger: str, error: str) -> bool:
    """Tell whether *error*, what a call that failed has said, is what *trigger* waits for."""
    kind, _, text = trigger.partition(": ")
    return kind == "fails" and _fold(text) in _fold(error)


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())
