"""The `memsync` command. This module is the way in and imports next to nothing."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run the command line; help and version are answered without loading the rest."""
    # What is loaded and a store have many objects and no rings: a tenth of a short command, a fifth of a write with 200,000 memories.
    gc.set_threshold(100_000, 50, 100)
    words = sys.argv[1:]
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if words[-1:] in ([], ["--help"], ["-h"]) and "_MEMSYNC_COMPLETE" not in os.environ:
        _write_help(" ".join(["memsync", *words[:-1]]))
    if words in (["--version"], ["-V"], ["version"]):
        from memsync import __version__

        sys.exit(_write(f"memsync {__version__}\n"))
    if (
        words[:1] == ["git"]
        and {"merge-driver", "merge-skill", "textconv"}.intersection(words[1:2])
        and "--help" not in words
    ):
        from memsync.cli.drivers import run_in_time as drive  # git waits for it

        sys.exit(drive(words[1], words[2:]))
    if _answer_client(words):
        return
    if words[:2] == ["git", "hook"] and words[2:3] != ["--help"]:
        from memsync.git.hooks import run_in_time as hook

        sys.exit(hook(words[2:]))  # git's hooks wait for nothing that they do not need
    from memsync.cli.app import run

    _leave(run(words))


def _leave(code: int) -> None:
    """Exit with *code*, and leave it to the system to take apart what nobody wants any more, unless somebody waits for that."""
    import atexit
    import threading

    if atexit._ncallbacks() or threading.active_count() > 1:  # noqa: SLF001 - there is no other way to ask
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # full, closed or gone: what was said of that is said
            sys.exit(code)
    os._exit(code)


def _answer_client(words: list[str]) -> bool:
    """Do what an agent client waits for, without click; return whether everything is done."""
    if words[:1] == ["hook"] and not {"-h", "--help"}.intersection(words):
        from memsync.agents.entry import main as answer

        answer(words[1:])
    if words == ["statusline"]:
        from memsync.agents.statusline import main as show

        show()
    if words[:1] == ["mcp"]:
        from memsync.mcp.early import greet  # the SDK takes longer to load than a client waits

        return greet(words[1:])
    return False


def _write_help(path: str) -> None:
    """Write the help of the group *path*, and exit; return where it is not the path of a group.

    Tests hold the texts equal to click's: click alone costs three bare Pythons, and the commands of a group ten more.
    """
    folder = os.path.join(os.path.dirname(__file__), "help")
    if f"{path}.txt" in os.listdir(folder):
        with open(os.path.join(folder, f"{path}.txt"), encoding="utf-8") as text:
            sys.exit(_write(text.read()))


def _write(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, AttributeError):  # full, closed or gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    return 0
