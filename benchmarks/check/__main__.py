"""Checks each repository of labels.jsonl that is a folder of the argument, as `OWNER+NAME` with its commit checked out.

`open` repositories were read while the rules were written, `held` ones after that (and the rules were put right by them once),
`last` ones when the rules were done. After versions and more were added, a person read the files of the `read` ones before the first run,
and only the sure findings of the `second`, `third`, `fourth` and `seventh` to `tenth`, `thirteenth` and `fourteenth` ones: of these
the lines that are not found are unknown. The files of the `fifth`, `sixth`, `eleventh` and `twelfth` ones were read line by line
first again; what the person found has a `kind`. A label is a fact: this line says what is so, or is not.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from memsync.check.survey import check


def main() -> None:
    """Print for each half how many sure findings are wrong lines, and how many of the lines known to be wrong are found."""
    rows = [json.loads(row) for row in Path(__file__).with_name("labels.jsonl").read_text("utf-8").splitlines()]
    halves = {row["repository"]: row["half"] for row in rows if "half" in row}
    wrong = {(row["repository"], row["file"], row["line"], row["said"]): row["wrong"] for row in rows if "wrong" in row}
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
    for repository, half in halves.items():
        root = Path(sys.argv[1]) / repository.replace("/", "+")
        if not root.is_dir():
            continue
        found = {(repository, one.file, one.line, one.said): one.sure for one in check(root)}
        known = {key for key, is_wrong in wrong.items() if key[0] == repository and is_wrong}
        sure = {key for key, is_sure in found.items() if is_sure}
        new = (1, len(sure), len(sure & known), len(known), len(known & found.keys()))
        counts[half] = [old + more for old, more in zip(counts[half], new, strict=True)]
    for half, (repositories, claimed, right, listed, met) in counts.items():
        print(
            f"{half}: {repositories} repositories; of {claimed} sure findings {right} right; of {listed} wrong lines {met} found"
        )


if __name__ == "__main__":
    main()
