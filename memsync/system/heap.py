"""How a process that stays holds memory: what is freed goes back to the system, and is not kept by every thread for itself."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

# From glibc's malloc.h.
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
_LARGE: Final = 1 << 18  # bytes, from which on a block is the system's own


@contextmanager
def collector_paused() -> Iterator[None]:
    """Have the cycle collector wait while very many things without cycles are made, which it would look through again and again.

    What was made counts as old then: to be looked through once for being new takes a tenth of making an index.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()  # takes all there is out of the generations
            gc.unfreeze()  # and puts it into the oldest
            gc.enable()


def trim() -> None:
    """Give back what lies free between what is held, which takes milliseconds; elsewhere than with glibc nothing is done."""
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def give_back_what_is_freed() -> None:
    """Have glibc keep little for later, where it is the C library; call it before threads are there. Elsewhere nothing is done."""
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):
        set_option = ctypes.CDLL(None).mallopt
        for option, value in ((_ARENA_MAX, 1), (_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, _LARGE)):
            set_option(option, value)
