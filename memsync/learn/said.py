"""What was said in a session that lasts, judged sentence by sentence: rules and facts of the user, findings of the agent.

By wording alone: what is doubted, asked, hoped or only true now is left out, and so is what was taken back later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from memsync.dedup import decide
from memsync.learn.digest import is_correction, is_look
from memsync.learn.rules import has, list_rules, pattern
from memsync.learn.statements import statements
from memsync.learn.transcripts import Call, Said, Step

_LONGEST: Final = 300
_JOINED: Final = 3  # sentences of one message that are kept as one
_FEWEST: Final = 3  # words
_NOT_MEANT: Final = ("undone", "nothing", "passing", "doubt", "reported")


class Lesson(NamedTuple):
    """A statement that lasts, the line it was said in and who said it. `corrects`: against what the agent had just done."""

    text: str
    line: int
    by: Literal["user", "agent"]
    corrects: bool = False


def lessons(steps: Sequence[Step]) -> list[Lesson]:
    """Return what *steps* say that lasts, in order: of what contradicts, the later; of both, the user's."""
    found: list[Lesson] = []
    for number, step in enumerate(steps):
        if not isinstance(step, Said):
            continue
        if step.by == "user":
            found = _take_back(found, step)
            has_acted = any(not isinstance(one, Said) or one.by == "agent" for one in steps[:number])
            corrects = has_acted and is_correction(step.text)
            found += [Lesson(text, step.line, "user", corrects) for text in _judge_user(step.text)]
        else:
            if has("was-not", step.text):
                found = [one for one in found if one.by == "user" or not has("cause", one.text)]
            if _is_proved(steps, number):
                found += [Lesson(text, step.line, "agent") for text in _judge_agent(step.text)]
    return _drop_contradicted(found)


def _judge_user(text: str) -> Iterator[str]:
    """Yield the statements of one message of the user."""
    kept: list[str] = []
    for sentence, is_first in sentences(text):
        if is_first and kept:
            yield " ".join(map(as_statement, kept))
            kept = []
        said = strip(sentence)
        is_asked = sentence.rstrip(" )\"'").endswith("?")
        if not said or is_asked or any(has(name, said) for name in _NOT_MEANT):
            continue
        follows = has("anaphor", said) or (has("policy", said) and not has("rule", said))
        if kept and follows and len(kept) < _JOINED:
            kept.append(said)
        elif not has("anaphor", said) and _lasts(said):
            if kept:
                yield " ".join(map(as_statement, kept))
            kept = [said]
    if kept:
        yield " ".join(map(as_statement, kept))


def _lasts(said: str) -> bool:
    """Tell whether a sentence of the user states a rule, a decision, who does what, what is liked, or a fact."""
    words = re.findall(r"[\w'’-]+", said)
    if len(words) < _FEWEST or len(said) > _LONGEST:
        return False
    if any(has(name, said) for name in ("likes", "decided", "owns", "we", "rule")):
        return True
    if has("policy", said):
        is_for_many = re.search(r"\b(?:in|for) (?:all |unit |integration |the )?\w+s\b", said)
        return bool(is_for_many or (has("hard", said) and re.search(r"\b(?:for|in|with|on)\b", said)))
    return has("states", said) and (has("hard", said) or len(words) > 4)


def _judge_agent(text: str) -> Iterator[str]:
    """Yield what the agent found out in one message."""
    for sentence, _ in sentences(text):
        said = pattern("then").sub("", strip(sentence)).strip(" ,;")
        is_open = sentence.endswith("?") or said.endswith(":")
        if is_open or any(has(name, said) for name in ("doubt", "passing", "doing", "anaphor")):
            continue
        if len(said) <= _LONGEST and has("found", said) and has("hard", said):
            yield as_statement(said)


def _is_proved(steps: Sequence[Step], number: int) -> bool:
    """Tell whether what the agent says in *number* has been tried: the last command before it worked, or the next one does.

    A command after the user's next word proves nothing of it.
    """
    for way in (range(number - 1, -1, -1), range(number + 1, len(steps))):
        for place in way:
            step = steps[place]
            if isinstance(step, Said) and step.by == "user":
                break
            if isinstance(step, Call) and step.kind == "command" and step.failed is not None:
                if not step.failed and not is_look(step.command):
                    return True
                if place > number or step.failed:
                    break
    return False


def _take_back(found: list[Lesson], step: Said) -> list[Lesson]:
    """Drop what the user said last where *step* takes it back, and what the agent said that it contradicts."""
    if not has("undone", step.text):
        return found
    last = max((one.line for one in found if one.by == "user"), default=0)
    return [one for one in found if one.line != last or one.by != "user" or not _share(one.text, step.text)]


def _share(one: str, other: str) -> bool:
    here, there = (set(re.findall(r"\w{4,}", text.lower())) for text in (one, other))
    return not here or bool(here & there)


def _drop_contradicted(found: Sequence[Lesson]) -> list[Lesson]:
    """Keep of each two that contradict the user's, else the later; of two that say the same the longer."""
    kept: list[Lesson] = []
    for one in found:
        beaten = False
        for other in list(kept):
            relation = decide(one.text, other.text, 0.0).relation
            if relation == "contradicts":
                if one.by == "agent" and other.by == "user":
                    beaten = True
                else:
                    kept.remove(other)
            elif relation in ("duplicate", "contained") and one.by == "agent":
                beaten = True
        if not beaten:
            kept.append(one)
    return kept


# sentences


def sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a message as they stand, each with whether it begins a paragraph or point.

    Code, logs between fences, quotes and tables are left out.
    """
    for one in statements(text):
        parts = re.split(r"(`[^`]*`)", one.text)
        plain = "".join(part.replace(". ", ".\0 ") if part.startswith("`") else part for part in parts)
        for number, sentence in enumerate(filter(None, map(str.strip, pattern("end").split(plain)))):
            yield sentence.replace("\0", ""), number == 0


def strip(sentence: str) -> str:
    """Return *sentence* without greetings, fillers, signs and what is said aside."""
    before = ""
    while sentence != before:
        before, sentence = sentence, pattern("lead").sub("", sentence, count=1)
    sentence = pattern("inside").sub("", pattern("aside").sub("", sentence))
    return pattern("tail").sub("", sentence).strip(" ,;–—").rstrip("-")


def as_statement(text: str) -> str:
    """Return *text* in the third person, with a capital and a full stop."""
    text = pattern("wish").sub("", text)
    for rule in list_rules("person"):
        text = rule.pattern.sub(rule.text, text)
    text = re.sub(r"!+(?=\s|$)", ".", text)
    first = text.split(maxsplit=1)[0] if text else ""
    if re.fullmatch(r"[a-z]+(?:'[a-z]+)?[,:]?", first):
        text = text[:1].upper() + text[1:]
    return text if not text or text[-1] in ".!?…" else f"{text}."
