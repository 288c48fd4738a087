"""What tells all that a memory says from anything else that it might say."""

from __future__ import annotations

import os
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from memsync.errors import StoreError
from memsync.records import Memory, texts_of
from memsync.store import files
from memsync.store.state import MARK
from memsync.store.trust import Instruction
from memsync.system.home import find_own

_KEY: Final = "key"
_NOBODYS: Final = os.urandom(32)  # in place of a key that is not made yet
_keys: Final[dict[str, bytes]] = {}  # by home
_RULES: Final = Path(__file__).parents[1] / "safety"


def fingerprint(memory: Memory) -> str:
    """Return what tells everything that *memory* says from anything else it might say.

    Not its numbers and times: what it is worth today does not make it new to anybody.
    """
    return _digest(said(memory), _make_key(find_own())).hex()


def mark(memory: Memory) -> bytes:
    """Return what tells *memory*, with all its fields, from any other: a number may be a secret too."""
    return _digest(repr(tuple(memory)).encode("utf-8", "surrogatepass"))


def version_of_rules(*, to_note: bool = False) -> str:
    """Return what tells the rules about secrets and orders on this machine from any others: what was found by those is void.

    Where this machine has no key yet, one is made only *to_note* something by it: nothing else can fit.
    """
    home = find_own()
    key = _make_key(home) if to_note else _key_of(home)
    return _name_rules(read_rules(), _NOBODYS if key is None else key)


@lru_cache(8)
def _name_rules(rules: bytes, key: bytes) -> str:
    return _digest(rules, key).hex()


@cache
def read_rules() -> bytes:
    """Return what tells the rules about secrets and orders from any others: the names and sums of the files that hold them."""
    paths = [path for path in sorted(_RULES.iterdir()) if path.is_file()]
    return b"\0".join(part for path in paths for part in (path.name.encode(), _digest(path.read_bytes())))


def _key_of(home: str) -> bytes | None:
    """Return this machine's key from the store in *home*; None where it is not made yet, empty where there can be none.

    An archive can bring a state.db that nobody here has written: without the key its notes fit nothing.
    """
    if home in _keys or not home:
        return _keys.get(home, b"")
    try:
        key = files.read(Path(home, "local", _KEY))[0]
    except (StoreError, OSError):
        key = b"?"
    if not key:
        return None
    return _keys.setdefault(home, key if len(key) == 32 else b"")


def _make_key(home: str) -> bytes:
    """Return this machine's key, made when first needed; empty where there can be none."""
    if (key := _key_of(home)) is not None:
        return key
    path = Path(home, "local", _KEY)
    try:
        files.make_local(path.parent, private=True)
        files.create(path, os.urandom(32), private=True)
    except (StoreError, OSError):
        return _keys.setdefault(home, b"")
    return _key_of(home) or b""


def _digest(data: bytes, key: bytes = b"") -> bytes:
    try:
        from _blake2 import blake2b  # of hashlib, which loads OpenSSL: 2 ms, and a hook has no time
    except ImportError:
        from hashlib import blake2b
    return blake2b(data, digest_size=MARK, key=key).digest()


def said(memory: Memory) -> bytes:
    """Return everything that *memory* says, as bytes."""
    return repr(list(texts_of(memory))).encode("utf-8", "surrogatepass")


def instruction_of(memory: Memory, path: Path) -> Instruction:
    """Return *memory*, which is in the file *path*, as what a person approves of it: everything that it says."""
    return Instruction(f"memory {memory.id}", path, said(memory))
