"""The replay of recorded sessions: which failures that came back had met their memory in time.

The sessions are those that teams published with their code, on the git ref `entire/checkpoints/v1`. `MEMSYNC_REPLAY`
names a folder of these repositories, as `OWNER+NAME` or `OWNER/NAME`; without it they are cloned from GitHub.
`MEMSYNC_DATA` names the data with other memories. It takes a quarter of an hour of CPU, so it runs only when named:
`MEMSYNC_REPLAY=FOLDER MEMSYNC_DATA=FOLDER python -m benchmarks replay --write`.

`lines.jsonl` has one line for each failure that came back in the first half of the first repository's sessions. One
hand wrote them, from that half alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

REF: Final = "entire/checkpoints/v1"
FITTED: Final = "entireio/cli"  # to the first half of which the lines were written
OTHERS: Final = ("FSM1/cipher-box", "PackmindHub/context-evaluator")
HALF: Final = "2026-02-03T03:30:49Z"  # its second half begins here
BESIDE: Final = 400  # memories of another project
_LINES: Final = Path(__file__).with_name("lines.jsonl")
_ARMS: Final = {
    "memories": "lines by hand",
    "beside": f"lines by hand, beside {BESIDE} others",
    "learned": "learned by itself",
    "words": "FTS5, no gate",
    "random": "random lines",
    "instructions": "instruction files",
    "none": "nothing",
}
_COUNTS: Final = ("repeats", "in_time", "start", "prompt", "after_right", "after_wrong", "silent")


class Places(NamedTuple):
    """Where the runs of one repository take place: its git directory, its work tree, a home, the file with others."""

    repository: Path
    work: Path
    home: Path
    beside: Path | None


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table: each half of the one repository, then the sum of the others."""
    yield ("sessions", "arm", *(name.replace("_", " ") for name in _COUNTS), "lines per 100 calls")
    with TemporaryDirectory() as name:
        top = Path(name).resolve()
        beside = _write_beside(top)
        if fitted := _prepare(FITTED, top, beside):
            played = dict(_play(fitted, "--since", HALF))
            yield from _list_rows(f"{FITTED}, first half", {arm: Counter(one["before"]) for arm, one in played.items()})
            yield from _list_rows(
                f"{FITTED}, second half", {arm: Counter(one["totals"]) for arm, one in played.items()}
            )
        sums: dict[str, Counter[str]] = {}
        names = []
        for other in OTHERS:
            if places := _prepare(other, top, beside):
                names.append(other)
                for arm, one in _play(places):
                    sums.setdefault(arm, Counter()).update(one["totals"])
        yield from _list_rows(" and ".join(names), sums)
        if not (fitted or names):
            sys.exit("nothing was measured: not one of the repositories is here")


def _list_rows(sessions: str, counts: Mapping[str, Counter[str]]) -> Iterator[tuple[str, ...]]:
    for arm, title in _ARMS.items():
        if one := counts.get(arm):
            per = 100 * one["lines"] / one["calls"] if one["calls"] else 0.0
            yield (sessions, title, *(f"{one[name]:,}" for name in _COUNTS), f"{per:.1f}")


def _play(places: Places, *options: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each arm with its report, as the command gives it; two commands run at a time, for nothing is timed."""
    controls = ("--words", "--random", "--instructions", "--none")
    asked = {"": ("--memories", str(_LINES), *controls), "learned": ("--learned",)}
    if places.beside:
        asked["beside"] = ("--memories", str(places.beside))
    with ThreadPoolExecutor(2) as pool:
        for name, found in zip(
            asked, pool.map(lambda words: _ask(places, *words, *options), asked.values()), strict=True
        ):
            for one in found:
                yield name or one["arm"], one


def _ask(places: Places, *options: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "memsync", "eval", "replay", str(places.repository), *options, "--json"]
    env = {**os.environ, "HOME": str(places.home), "MEMSYNC_HOME": str(places.home / ".gobby")}
    done = subprocess.run(command, cwd=places.work, env=env, stdout=subprocess.PIPE, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)["arms"]
    return found


def _prepare(name: str, top: Path, beside: Path | None) -> Places | None:
    """Return where the repository *name* is played, with a clone of its default branch; None, loudly, if it is not had."""
    folder = os.environ.get("MEMSYNC_REPLAY", "")
    repository = _find(name, Path(folder)) if folder else _clone(name, top / name.replace("/", "+"))
    if repository is None:
        where = f"MEMSYNC_REPLAY={folder} has no git repository {name} with the ref {REF}"
        _skip(name, where if folder else f"it cannot be cloned from GitHub with the ref {REF}; set MEMSYNC_REPLAY")
        return None
    work, home = top / f"{name.replace('/', '+')}.work", top / "home"
    home.mkdir(exist_ok=True)
    if not _git("clone", "-q", "--shared", str(repository), str(work)):
        if not (work / ".git").is_dir():
            _skip(name, f"{repository} has no default branch to play it in")
            return None
        print(f"INCOMPLETE: {name}: git could not check out every file of the default branch", file=sys.stderr)
    return Places(repository, work, home, beside)


def _skip(name: str, why: str) -> None:
    print(f"SKIPPED: {name}: {why}", file=sys.stderr)


def _find(name: str, folder: Path) -> Path | None:
    flat = name.replace("/", "+")
    places = (folder / flat / "repo", folder / flat, folder / name)
    return next((path.resolve() for path in places if _has_ref(path)), None)


def _clone(name: str, into: Path) -> Path | None:
    cloned = _git("clone", "-q", "--bare", f"https://github.com/{name}", str(into), env={"GIT_TERMINAL_PROMPT": "0"})
    return into if cloned and _has_ref(into) else None


def _has_ref(path: Path) -> bool:
    git = path / ".git" if (path / ".git").is_dir() else path
    spellings = (f"refs/heads/{REF}", f"refs/remotes/origin/{REF}", f"refs/{REF}")
    return (git / "HEAD").is_file() and any(
        _git("--git-dir", str(git), "rev-parse", "-q", "--verify", one) for one in spellings
    )


def _git(*words: str, env: Mapping[str, str] | None = None) -> bool:
    command = ("git", "-c", f"core.hooksPath={os.devnull}", *words)
    kept = {**os.environ, "GIT_LFS_SKIP_SMUDGE": "1", **(env or {})}
    return subprocess.run(command, env=kept, stdout=subprocess.DEVNULL, check=False).returncode == 0


def _write_beside(top: Path) -> Path | None:
    """Write the lines with those of another project after them; None, loudly, if there are no data."""
    corpus = Path(os.environ.get("MEMSYNC_DATA", "")) / "gobby" / "corpus.jsonl"
    if not corpus.is_file():
        _skip(_ARMS["beside"], "set MEMSYNC_DATA to a folder with gobby/corpus.jsonl")
        return None
    path = top / "beside.jsonl"
    others = corpus.read_bytes().splitlines(keepends=True)[:BESIDE]
    path.write_bytes(_LINES.read_bytes() + b"".join(others))
    return path
