"""What is found not to be so, and how other programs read it: SARIF, and the annotations of GitHub's actions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from memsync import __version__
from memsync.system.texts import count, one_line


class Finding(NamedTuple):
    """A line that is not so: what is said and what is, what it is called `now`, `since` which commit, and how many sessions fell for it."""

    file: str
    line: int
    said: str
    is_: str
    now: str = ""
    since: str = ""
    sure: bool = False
    sessions: int = 0
    at: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return it as `--json` spells it."""
        return {
            "file": self.file, "line": self.line, "said": self.said, "is": self.is_, "now": self.now or None,
            "since": self.since or None, "sure": self.sure, "sessions": self.sessions,
        }  # fmt: skip


def describe(one: Finding) -> str:
    """Return what is wrong, in one line."""
    parts = [f"`{one.said}`: {one.is_}"]
    if one.now and one.now not in one.is_:
        parts.append(f"write `{one.now}`")
    if one.since:
        parts.append(f"since {one.since}")
    if one.sessions:
        parts.append(f"{count(one.sessions, 'session')} fell for it")
    return one_line("; ".join(parts))


def as_sarif(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return SARIF 2.1.0, which code scanning takes."""
    results = [
        {
            "ruleId": "stale-instruction", "level": "warning" if one.sure else "note", "message": {"text": describe(one)},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": one.file}, "region": {"startLine": one.line}}}],
        }
        for one in findings
    ]  # fmt: skip
    rule = {"id": "stale-instruction", "shortDescription": {"text": "An instruction file says what is not so"}}
    driver = {"name": "memsync", "version": __version__, "rules": [rule]}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return {"$schema": schema, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def as_annotation(one: Finding) -> str:
    """Return the line that lets a workflow of GitHub show the finding beside the file."""
    kind = "warning" if one.sure else "notice"
    file, text = (_escape(part) for part in (one.file, describe(one)))
    return f"::{kind} file={file.replace(':', '%3A').replace(',', '%2C')},line={one.line}::{text}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
