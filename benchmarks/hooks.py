"""Git hooks, whole processes, against `python -c pass`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.corpus import write
from benchmarks.timing import paired

_SIZE = 4_219
_WORDS = ("one", "two")


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("hook", "records", "ours, ms p50 / p95", "python -c pass, ms p50", "ratio")
    with tempfile.TemporaryDirectory() as name:
        top = Path(name) / "repo"
        env = {**os.environ, "MEMSYNC_HOME": f"{name}/home", "GIT_CONFIG_GLOBAL": os.devnull}
        run = partial(subprocess.run, cwd=top, env=env, check=True, capture_output=True)
        _make(top, run)
        path = top / ".gobby" / "memories.jsonl"
        clean = path.read_bytes()
        hooks = top / ".git" / "hooks"

        def commit_one() -> None:
            path.write_bytes(clean + b'{"content":"new","id":"zz-new"}\n')
            run([hooks / "pre-commit"])
            run(["git", "reset", "-q", "--", ".gobby"])
            path.write_bytes(clean)

        def reset_only() -> None:
            run(["git", "reset", "-q", "--", ".gobby"])
            run([sys.executable, "-c", "pass"])

        base = partial(run, [sys.executable, "-c", "pass"])
        for what, ours, against in (
            ("pre-commit, nothing to do", partial(run, [hooks / "pre-commit"]), base),
            ("post-checkout, nothing came", partial(run, [hooks / "post-checkout", "HEAD", "HEAD", "1"]), base),
            ("post-checkout, one memory came", partial(run, [hooks / "post-checkout", "HEAD~1", "HEAD", "1"]), base),
            ("pre-commit, one new memory, and a git reset", commit_one, reset_only),
        ):
            times = paired(ours, against, 15)
            yield (
                what,
                f"{_SIZE:,}",
                f"{times.ms():.0f} / {times.ms(at=0.95):.0f}",
                f"{times.ms('base'):.1f}",
                f"{times.ratio:.1f}",
            )


def _make(top: Path, run: Callable[[list[str]], object]) -> None:
    write(top / ".gobby" / "memories.jsonl", _SIZE)
    for words in (["init", "-q"], ["config", "user.name", "A"], ["config", "user.email", "a@example.org"]):
        run(["git", *words])
    for text in _WORDS:
        with (top / ".gobby" / "memories.jsonl").open("a") as file:
            file.write(f'{{"content":"{text}","id":"zz-{text}"}}\n')
        run(["git", "add", "-A"])
        run(["git", "commit", "-q", "-m", text])
    run([sys.executable, "-m", "memsync", "git", "install"])
