"""Run the benchmarks named (all without names), print tables, and with --write put them into docs/benchmarks.md."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

SUITES = (
    "start",
    "store",
    "hooks",
    "recall",
    "quality",
    "moment",
    "precision",
    "mcp",
    "janitor",
    "merge",
    "history",
    "learning",
    "memcorrect",
    "agents",
    "desk",
)
DOC = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def table(name: str) -> Iterator[str]:
    """Yield one suite as a Markdown table, row by row as they are measured."""
    module = import_module(f"benchmarks.{name}")
    yield f"## {(module.__doc__ or name).splitlines()[0].rstrip('.')}"
    yield ""
    for number, row in enumerate(module.rows()):
        yield "| " + " | ".join(row) + " |"
        if number == 0:
            yield "|" + "---|" * len(row)
    yield ""


def machine() -> str:
    """Say where and on what the figures were taken."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, CPython {platform.python_version()}"
    return f"At commit {commit.stdout.strip() or 'unknown'} on {system}:"


def write(measured: dict[str, str]) -> None:
    """Put the tables, by heading, in the place of those that the page has; others stay."""
    head, _, old = DOC.read_text(encoding="utf-8").partition("<!-- figures -->\n\n")
    found = {f"## {part.partition(chr(10))[0]}": part.partition("\n")[2].strip() for part in old.split("## ")[1:]}
    tables = found | {heading: f"{machine()}\n\n{text}" for heading, text in measured.items()}
    text = "\n\n".join(f"{heading}\n\n{table}" for heading, table in tables.items())
    DOC.write_text(f"{head}<!-- figures -->\n\n{text}\n", encoding="utf-8")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(SUITES)}, or one that is asked for by name"
    )
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    parser.add_argument("--into", metavar="FOLDER", help="where peers installs what it compares")
    parser.add_argument("--only", metavar="NAMES", help="which of them peers compares, with commas between")
    asked = parser.parse_args()
    for name in asked.names or SUITES:
        lines = []
        for line in table(name):
            print(line, flush=True)
            lines.append(line)
        if asked.write:
            write({lines[0]: "\n".join(lines[1:]).strip()})


if __name__ == "__main__":
    main()
