"""Memories out of what people and agents wrote: instruction files, summaries, transcripts. Candidates, never facts."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memsync import secrets
from memsync.errors import ImportFailed, InvalidMemory, LlmError
from memsync.learn import answers, transcripts
from memsync.learn.candidates import Candidates, Proposal, best_of
from memsync.learn.digest import digest
from memsync.learn.llm import Llm, is_configured, open_llm, tokens_of
from memsync.learn.statements import Statement, statements
from memsync.learn.transcripts import Said, Step
from memsync.records import Memory, clean_content, clean_tags
from memsync.service import Memsync

log = logging.getLogger(__name__)

INSTRUCTIONS: Final = (
    "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".windsurfrules",
    ".github/copilot-instructions.md", "MEMORY.md",
)  # fmt: skip
SHAPE: Final = {
    "type": "array",
    "maxItems": 50,
    "items": {
        "type": "object",
        "required": ["content"],
        "properties": {
            "content": {"type": "string"},
            "memory_type": {"type": "string"},
            "importance": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "rationale": {"type": "string"},
            "line": {"type": "integer"},
        },
    },
}
_LONGEST: Final = 500
_FEWEST_WORDS: Final = 4
_TYPES: Final = ("fact", "preference", "pattern", "context")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What was found: `proposed` waits for approval, `dropped` says what was not worth it and why."""

    proposed: tuple[Proposal, ...]
    dropped: tuple[tuple[Statement, str], ...] = ()
    by: str = "rules"
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return both lists."""
        dropped = [{"line": one.line, "text": one.text, "why": why} for one, why in self.dropped]
        proposed = [one.as_dict() for one in self.proposed]
        return {"proposed": proposed, "dropped": dropped, "by": self.by, "note": self.note}


# what of it is worth it

_REASONS: Final = (
    (r"\?\s*$", "a question"),
    (
        r"^this (?:file|document|page|guide) (?:provides|contains|describes|explains|is|gives)\b|^(?:see|refer to)\b.{0,80}$",
        "about the text itself",
    ),
    (r"^(?:for )?(?:example|instance)\b", "an example"),
    (
        r"^(?:once (?:those|that|these|this)|these|those|then|instead|otherwise|additionally|where <)\b|^where `",
        "only with what stood before it",
    ),
    (
        (
            r"\b(?:currently|temporar\w*|for now|right now|at the moment|today|yesterday|this session|this morning|wip|todo|fixme"
            r"|work in progress|in progress|not yet|is (?:down|broken|failing|flaky)|are failing|timed out|next steps?)\b"
        ),
        "true for a while only",
    ),
    (
        (
            r"\btraceback\b|\bexit (?:code|status) \d|\b(?:error|exception|warning):|\bstack trace\b|^\s*at [\w.$]+\(|\bpassed in [\d.]+s"
            r"|^\$ |\b\d+ (?:passed|failed)\b"
        ),
        "what a tool printed",
    ),
    (
        (
            r"^(?:let me|i(?:'ll| will| have| ran| am|'m|'ve)\b|now i|ok(?:ay)?\b|done\b|sure\b|great\b|running|reading|checking|looking"
            r"|searching|created? (?:the )?file|updated? (?:the )?file|here(?:'s| is| are)\b)"
        ),
        "what the agent was doing",
    ),
    (
        (
            r"^(?:the user (?:asked|wants|wanted|requested|said)|you (?:asked|wanted)|can you|could you|please (?:fix|add|make|write|help)"
            r"|task:|goal:|request:|help me|i want|i need|i'd like)"
        ),
        "what was asked for",
    ),
    (
        (
            r"^(?:the )?(?:function|class|method|module|file|variable|constant)s? [`\w./()]+ (?:is|are|was|lives?|can be found)"
            r"(?: (?:defined|located|declared|implemented|found))? (?:in|at|on)\b|^(?:import|from|def|class|const|let|var|return) "
        ),
        "what the code says itself",
    ),
)
_DROPS: Final = tuple((re.compile(pattern, re.IGNORECASE), why) for pattern, why in _REASONS)
_MUST: Final = re.compile(
    r"\b(?:always|never|must(?:n't)?|important|critical|required?|do not|don'?t|forbidden|only ever)\b", re.IGNORECASE
)
_SHOULD: Final = re.compile(
    r"\b(?:prefer\w*|should|avoid\w*|instead of|rather than|favou?r|keep|ensure|make sure|remember)\b", re.IGNORECASE
)
_USE: Final = re.compile(r"^(?:use|run|write|put|name|follow|add|call|set)\b", re.IGNORECASE)
_PATTERN: Final = re.compile(
    r"\b(?:convention|pattern|naming|named|structure|follow|every|all \w+ (?:are|must|should|have)|each)\b",
    re.IGNORECASE,
)
_CONTEXT: Final = re.compile(
    r"\b(?:this (?:project|repo\w*|app\w*|service|package|library) (?:is|uses|contains|provides)|is an? [\w -]*(?:app\w*|service|library|tool|framework|monorepo|server|cli)|architecture|built (?:with|on))\b",
    re.IGNORECASE,
)
_STATES: Final = re.compile(
    r"\b(?:is|are|has|have|needs?|uses?|lives?|listens?|runs?|requires?|supports?|returns?|expects?|takes?|stores?|reads?|writes?"
    r"|contains?|depends?|comes?)\b",
    re.IGNORECASE,
)
_HARD: Final = re.compile(r"`[^`]+`|\b\w+[_/.]\w+|\b[A-Z][a-z]+[A-Z]\w*|\b\d+(?:\.\d+)*\b|--\w+")


def why_dropped(text: str) -> str:
    """Return why *text* is not worth remembering; empty if it may be."""
    if len(text) > _LONGEST:
        return f"longer than {_LONGEST} characters"
    if len(re.findall(r"\w+", text)) < _FEWEST_WORDS:
        return "too short to stand alone"
    for pattern, why in _DROPS:
        if pattern.search(text):
            return why
    if text.endswith(":"):
        return "the beginning of a list"
    if found := secrets.scan(text):
        return f"looks like a secret ({secrets.describe(found)})"
    letters = sum(letter.isalpha() or letter.isspace() for letter in text)
    return "mostly code" if letters < 0.6 * len(text) else ""


def is_said_to_last(text: str) -> bool:
    """Tell whether *text* is a rule or states something exact: what a conversation says in passing is not."""
    is_rule = _MUST.search(text) or _SHOULD.search(text) or (_USE.match(text) and _HARD.search(text))
    return bool(is_rule or (_STATES.search(text) and _HARD.search(text)))


def as_memory(text: str, heading: str = "") -> Memory:
    """Return *text* as a memory with type and importance by its wording."""
    is_rule = bool(_MUST.search(text) or _SHOULD.search(text) or _USE.match(text))
    if _CONTEXT.search(text) and not is_rule:
        kind = "context"
    elif _PATTERN.search(text):
        kind = "pattern"
    else:
        kind = "preference" if is_rule else "fact"
    importance = 0.8 if _MUST.search(text) else 0.7 if is_rule else 0.6
    tag = heading.lower() if re.fullmatch(r"[A-Za-z][\w-]{2,15}", heading) else ""
    return Memory(
        id="",
        content=clean_content(text),
        memory_type=kind,
        importance=importance,
        tags=clean_tags([tag]),
        source_type="inferred",
    )


# from where


def extract(
    project: Memsync, source: Path, *, use_model: bool = True, dry_run: bool = False, most: int | None = None
) -> Extracted:
    """Propose the memories that *source* holds, at most *most*: a transcript, or any text or Markdown. They wait for approval.

    Raises:
        ImportFailed: it cannot be read.
        StoreError
    """
    is_transcript = source.suffix == ".jsonl"
    steps = transcripts.read(source) if is_transcript else None
    found = list(_conversation(steps)) if steps is not None else list(statements(_text(source)))
    must_last = steps is not None or source.name not in {Path(name).name for name in INSTRUCTIONS}
    result = None
    note = ""
    if use_model and is_configured(project.settings):
        try:
            result = by_model(found, str(source), open_llm(project, project.settings.learning_model))
        except LlmError as error:
            note = f"by rules, because {error}"
            log.info("%s", note)
    result = result or by_rules(found, str(source), must_last=must_last)
    if dry_run:
        proposed = tuple(best_of(result.proposed, most))
    else:
        proposed = tuple(Candidates(project).propose(result.proposed, most=most))
    return Extracted(proposed=proposed, dropped=result.dropped, by=result.by, note=note)


def _text(source: Path) -> str:
    try:
        return source.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise ImportFailed(f"{source}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ImportFailed(f"{source}: not UTF-8 at byte {error.start + 1}; save it as UTF-8") from None


def _conversation(steps: Sequence[Step]) -> Iterator[Statement]:
    """Yield what the user put right, and what both said that may last; never the prompts themselves."""
    corrections = {one.line for one in digest(steps).corrections}
    for step in steps:
        if isinstance(step, Said):
            for one in statements(step.text):
                if step.by == "agent" or step.line in corrections or _MUST.search(one.text):
                    yield Statement(one.text, step.line)


def by_rules(found: Iterable[Statement], name: str, *, must_last: bool) -> Extracted:
    """Return what of *found* is worth a memory; *must_last*: only rules and exact things, for texts said in passing."""
    proposed, dropped = [], []
    for one in found:
        why = why_dropped(one.text) or ("" if not must_last or is_said_to_last(one.text) else "said in passing")
        if why:
            dropped.append((one, why))
        else:
            rationale = f"under “{one.heading}”" if one.heading else "said to last"
            memory = as_memory(one.text, one.heading)
            proposed.append(Proposal(memory=memory, rationale=rationale, where=f"{name}:{one.line}"))
    return Extracted(proposed=tuple(proposed), dropped=tuple(dropped))


def by_model(found: Sequence[Statement], name: str, llm: Llm) -> Extracted:
    """Return what a model takes for worth a memory, after the same filter.

    Raises:
        LlmError
    """
    room = llm.window // 2
    rows: list[str] = []
    for one in found:
        row = f"{one.line}: {secrets.redact(one.text)}"
        room -= tokens_of(row)
        if room < 0:
            break
        rows.append(row)
    if not rows:
        return Extracted(proposed=(), by="model")
    proposed, dropped = [], []
    for said in llm.ask(answers.prompt("memory_extract", text="\n".join(rows)), SHAPE):
        line = said.get("line") if isinstance(said.get("line"), int) else 1
        one = Statement(" ".join(said["content"].split()), line)
        if why := why_dropped(one.text):
            dropped.append((one, why))
            continue
        try:
            memory = _from_model(said, as_memory(one.text))
        except InvalidMemory as error:
            dropped.append((one, str(error)))
            continue
        proposed.append(Proposal(memory=memory, rationale=str(said.get("rationale", "")), where=f"{name}:{line}"))
    return Extracted(proposed=tuple(proposed), dropped=tuple(dropped), by="model")


def _from_model(said: dict[str, Any], memory: Memory) -> Memory:
    kind = said.get("memory_type")
    importance = said.get("importance")
    return memory._replace(
        memory_type=kind if kind in _TYPES else memory.memory_type,
        importance=round(min(max(float(importance), 0.0), 1.0), 2) if importance is not None else memory.importance,
        tags=clean_tags(said.get("tags") or ()),
    )


def instruction_files(root: Path) -> list[Path]:
    """Return the files in *root* that tell agents how to work: those that are text inside of it."""
    found = (root / name for name in INSTRUCTIONS)
    rules = sorted((root / ".cursor" / "rules").glob("*.mdc"))
    return [path for path in (*found, *rules) if path.is_file() and path.resolve().is_relative_to(root.resolve())]
