"""What a correction of the user replaces: memories, and the lines of skills and instruction files that still say it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from memsync.errors import InvalidSkill, MemsyncError
from memsync.index.dedup import MERGED, decide, on_scale
from memsync.learn.candidates import Candidates
from memsync.learn.rules import list_rules
from memsync.learn.statements import statements
from memsync.learn.worth import instruction_files
from memsync.memories.results import Entry, Hit
from memsync.memories.similar import Similar
from memsync.skills.entries import SkillEntry
from memsync.system.texts import read_utf8

if TYPE_CHECKING:
    from memsync.memories.project import Project

_LOOKED_AT: Final = 8  # stored memories beside a correction
_NEAR: Final = 0.2  # confidence from which a stored memory is shown beside a candidate
_LONGEST: Final = 60  # words of a statement that one correction replaces as a whole
_PLAIN: Final = frozenset(
    "a an the and or of in on at to for from with by is are be was were not no never always we our you it this that"
    " now only any all user prefers prefer would rather instead than".split()
)


class Said(NamedTuple):
    """Where else a text is still said that a correction replaced: in which file and line, and what."""

    where: str
    text: str
    next: str = ""


def corrects(new: str, old: str) -> bool:
    """Tell whether the statement *new* replaces *old*: it contradicts it, or names what *old* says as no longer so."""
    verdict = decide(new, old, 0.75)
    if verdict.relation == "contradicts":
        return True
    if len(old.split()) > _LONGEST:
        return False
    words, mine = _split_words(old), _split_words(new)
    for phrase in _list_named(new):
        named = _split_words(phrase)
        is_held = bool(named) and named <= words and not any(named <= _split_words(other) for other in _list_named(old))
        if is_held and ((mine - named) & (words - named) or len(named) > 1):
            return True
    return False


def _list_named(text: str) -> list[str]:
    return [found[1] for rule in list_rules("named") for found in rule.pattern.finditer(text)]


def _split_words(text: str) -> set[str]:
    whole = re.findall(r"[\w@#+-]+", text.lower())
    words = [*whole, *(part for word in whole for part in word.split("-") if part)]
    return {word.rstrip("s") if len(word) > 3 else word for word in words} - _PLAIN


def find_corrected(project: Project, text: str) -> list[Entry]:
    """Return the memories that the correction *text* replaces."""
    return [
        entry for entry in _find_near(project, text) if not entry.memory.conflict_of and corrects(text, entry.content)
    ]


def reword(text: str, olds: Sequence[str]) -> str:
    """Return the one of *olds* that *text* corrects with the new value in the place of the old; *text* if it is not so plain."""
    for rule in list_rules("pair"):
        if not (found := rule.pattern.search(text)):
            continue
        there = re.compile(rf"(?<![\w-]){re.escape(found['old'])}(?![\w-])", re.IGNORECASE)
        held = [old for old in olds if len(there.findall(old)) == 1]
        if len(held) == len(olds) == 1 and found["new"].lower() not in held[0].lower():
            said = there.sub(lambda _: found["new"], held[0])
            return re.sub(r"\b(\w+) \1\b", r"\1", said, flags=re.IGNORECASE)
    return text


def find_beside(project: Project, text: str) -> Similar | None:
    """Return the stored memory that a candidate with that *text* should be seen beside: one that it contradicts, else the nearest."""
    near = [hit for hit in _find_near(project, text) if hit.confidence >= _NEAR]
    found = [Similar.of(hit, decide(text, hit.content, on_scale(hit.confidence))) for hit in near]
    return min(found, key=lambda one: (one.relation != "contradicts", -one.score), default=None)


def _find_near(project: Project, text: str) -> Sequence[Hit]:
    try:
        return project.search(text[:1000], limit=_LOOKED_AT)
    except MemsyncError:
        return ()


def spread(project: Project, text: str, replaced: Sequence[Entry]) -> list[Said]:
    """Say where the correction *text*, and what it *replaced*, is still said otherwise; corrected skills wait as candidates."""
    olds = [entry.content for entry in replaced]
    found = [said for entry in project.skills.list() if (said := _correct_skill(project, entry, text, olds))]
    root = project.layout.root
    for path in instruction_files(root) if root else ():
        found += _find_in_file(path, path.relative_to(root).as_posix() if root else path.name, text, olds)
    return found


def _find_wrong(lines: str, text: str, olds: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each statement that says what was replaced."""
    olds = list(olds)
    for one in statements(lines):
        found = [decide(one.text, old, 0.75) for old in olds]
        says_old = any(verdict.relation in ("duplicate", "contains", "contained") for verdict in found)
        new = decide(one.text, text, 0.75)
        # With one value in the place of another, the old text may pass for the new one in other words.
        is_same = any(verdict.decision in MERGED for verdict in found) and new.decision not in MERGED
        if is_same or ((says_old or corrects(text, one.text)) and new.relation != "duplicate"):
            yield one.line, one.text


def _find_in_file(path: Path, name: str, text: str, olds: Sequence[str]) -> Iterator[Said]:
    try:
        whole = read_utf8(path.read_bytes(), name, MemsyncError).replace("\r\n", "\n")
    except (OSError, MemsyncError):
        return
    theirs = re.sub(  # our block says what the memories do
        r"<!-- memsync: begin.*?<!-- memsync: end -->", lambda ours: "\n" * ours[0].count("\n"), whole, flags=re.DOTALL
    )
    for line, said in _find_wrong(theirs, text, olds):
        yield Said(f"{name}:{line}", said)


def _correct_skill(project: Project, entry: SkillEntry, text: str, olds: Sequence[str]) -> Said | None:
    """Propose the skill with *text* in the place of what it says wrongly; None if it says nothing of that."""
    instructions = entry.skill.instructions
    wrong = list(_find_wrong(instructions, text, olds))
    if not wrong:
        return None
    rows = instructions.split("\n")
    for line, _ in wrong:
        mark = re.match(r"\s*(?:[-*+]|\d+[.)])?\s*", rows[line - 1])
        rows[line - 1] = f"{mark[0] if mark else ''}{text}"
    data = entry.path.read_text("utf-8").replace(instructions, "\n".join(rows))
    where, said = f"skill {entry.name}", wrong[0][1]
    waiting = Candidates(project)
    if entry.name in waiting.skills():
        return Said(where, said, f"memsync skill update {entry.name}")
    try:
        waiting.propose_skill(entry.name, data.encode())
    except InvalidSkill:
        return Said(where, said, f"memsync skill update {entry.name}")
    return Said(where, said, f"memsync skill approve {entry.name}")
