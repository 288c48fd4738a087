"""Check the subject of a commit message: `python3 tools/check_subject.py FILE`, as a commit-msg hook calls it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

LONGEST: Final = 72


def find_fault(message: str) -> str:
    """Return what is wrong with the subject of *message*; "" if nothing is."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    if len(subject) > LONGEST and not subject.startswith(("fixup! ", "squash! ", "Merge ", "Revert ")):
        return f"the subject has {len(subject)} characters; at most {LONGEST}, and the reasons go into the body"
    if subject and len(lines) > 1 and lines[1].strip():
        return "leave the second line empty, or git takes it for a part of the subject"
    return ""


if __name__ == "__main__":
    sys.exit(find_fault(Path(sys.argv[1]).read_text(encoding="utf-8")) or None)
