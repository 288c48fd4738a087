"""What was said in a session that lasts: first what the user refused and put right, then their rules, decisions and facts.

By wording alone: what is doubted, asked, hoped, pasted or only true now is left out, and so is what was taken back.
What the agent says is not listened to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final, Literal, NamedTuple

from memsync.index.dedup import decide
from memsync.learn.rules import find_languages, has, list_rules, pattern
from memsync.learn.statements import statements
from memsync.learn.transcripts import Call, Step
from memsync.memories import commands

Source = Literal["asked", "refused", "corrected", "user", "failed"]

_LONGEST: Final = 300
_JOINED: Final = 3  # sentences of one message that are kept as one
_FEWEST: Final = 3  # words
_A_LINE: Final = 12
_DEEP: Final = frozenset(
    "gh mise npm pnpm yarn bun deno uv poetry docker kubectl gcloud aws az".split()
)  # programs whose commands have two words
_MANY: Final = 60  # words of a message that is rather pasted than said
_SOME: Final = 30  # and of one in which nobody is addressed
_TAKING_BACK: Final = frozenset(
    "forget scratch ignore that what said told remark comment note about never mind last changed".split()
)
_NOT_MEANT: Final = ("nothing", "hour", "doubt", "reported", "private")


class Lesson(NamedTuple):
    """A statement that lasts, the line it was said in and who said it; what it is about, and what makes it due.

    The files among its anchors are named as the call named them. `times`: how often it was met in the session, 0 where
    the session alone does not show that it lasts.
    """

    text: str
    line: int
    by: Source
    anchors: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    times: int = 1


def lessons(steps: Sequence[Step]) -> list[Lesson]:
    """Return what the user says in *steps* that lasts, in order: of what contradicts, the later."""
    found: list[Lesson] = []
    for number, step in enumerate(steps):
        if isinstance(step, Call) or step.by == "agent":
            continue
        found = _take_back(found, step.text)
        is_told = step.refused is not None or (number > 0 and has("corrects", step.text))
        by: Source = "refused" if step.refused else "corrected" if is_told else "user"
        anchors = _find_anchors(step.refused)
        for part in _split_typed(step.text):
            is_long = len(part.split()) > _MANY
            for text, is_asked in _judge_user(part, is_refusal=step.refused is not None, is_told=is_told):
                times = int(not is_long and not has("pointing", text) and (is_asked or _says_that_it_lasts(text, by)))
                found.append(Lesson(text, step.line, "asked" if is_asked and times else by, anchors, times=times))
    return _drop_contradicted(found)


def _split_typed(text: str) -> Iterable[str]:
    """Return *text*, or what it begins with and the rest, where that is short and what is behind it makes it long."""
    first, _, rest = text.partition("\n\n")
    return (first, rest) if len(first.split()) <= _MANY < len(text.split()) and has("own", first) else (text,)


def _says_that_it_lasts(said: str, by: Source) -> bool:
    """Tell whether a statement shows by itself that it lasts: it says so, or has the word of a rule and a second sign.

    What must be is mostly a requirement of the task, and how something is to be done is a rule against what was just done.
    """
    is_required = by != "refused" and has("required", said) and not has("lasting", said)
    if is_required or len(said.split()) > _SOME:
        return False
    if has("for good", said) or pattern("decided").search(said):
        return True
    is_rule = any(has(name, said) for name in ("rule", "owns", "we", "prefers")) or (
        by != "user" and has("manner", said)
    )
    return is_rule and has("second sign", said)


def _find_anchors(call: Call | None) -> tuple[str, ...]:
    """Return what *call* was about as anchors: its command, or its first file."""
    if call is None:
        return ()
    return (f"$ {command}",) if (command := head_of(call.command)) else call.files[:1]


def head_of(line: str) -> str:
    """Return the program and its subcommands that *line* runs first, apart from moving about."""
    words = find_words(line)
    most = 3 if words[:1] and words[0] in _DEEP else 2
    return " ".join([*words[:1], *takewhile(re.compile(r"[a-z][\w:-]*$").match, words[1:most])])


def find_words(line: str) -> Sequence[str]:
    """Return the words of the first command of *line*, apart from moving about."""
    found = (commands.strip(one) for one in commands.split(line))
    return next((one for one in found if one and one[0] not in ("cd", "export", "echo")), ())


class _Message(NamedTuple):
    """How a message is to be read: said as a call was refused, or pasted."""

    is_told: bool
    is_pasted: bool


def _judge_user(text: str, *, is_refusal: bool, is_told: bool) -> Iterator[tuple[str, bool]]:
    """Yield the statements of one message of the user, each with whether they asked to have it remembered; *is_told*: it is against what was just done."""
    text = pattern("undone").sub("", text) or " "
    many = len(text.split())
    is_typed = has("own", text) or text[0].islower() or (many <= _SOME and not has("code", text))
    message = _Message(is_refusal, has("pasted", text) or many > _MANY or not is_typed)
    kept: list[str] = []
    before, is_asked = "", False
    for sentence, is_first in sentences(text):
        if is_first and kept:
            yield _join(kept), is_asked
            kept = []
        said = _drop_deictic(_read_sentence(sentence, is_told=is_told))
        kept = [one for one in kept if not (has("replaces", sentence) and has("we", one))]
        if kept and len(kept) < _JOINED and _follows(said):
            kept.append(said)
        elif not said or _is_not_meant(said) or has("anaphor", said):
            before = ""
        elif has("asked", sentence) or _lasts(said, message):
            if kept:
                yield _join(kept), is_asked
            kept = [before, said] if before and not kept and has("pronoun", said) and has("rule", said) else [said]
            is_asked = has("asked", sentence)
        else:
            before = said if has("states", said) else ""
    if kept:
        yield _join(kept), is_asked


def _join(kept: Iterable[str]) -> str:
    return " ".join(map(as_statement, kept))


def _follows(said: str) -> bool:
    """Tell whether a sentence belongs to the statement before it: its reason, or more about what that names."""
    if has("reason", said):
        return True
    is_more = has("anaphor", said) or (has("policy", said) and not has("rule", said) and not has("rather", said))
    return is_more and not _is_not_meant(said)


def _is_not_meant(said: str) -> bool:
    """Tell whether a sentence is not meant to last: of the hour, doubted, told of others, private, or a task of now."""
    is_task = has("task", said) and not has("standing", said)
    is_passing = has("passing", said) and not has("rule", said)
    return is_task or is_passing or any(has(name, said) for name in _NOT_MEANT)


def _read_sentence(sentence: str, *, is_told: bool) -> str:
    """Return what a sentence says, "" for a question; one that asks for something else than what was done is none."""
    said = pattern("wish").sub("", strip(sentence))
    if sentence.rstrip(" )\"'”").endswith(("?", "？")):
        asked = pattern("request").sub("", said, count=1)
        return asked.rstrip("?") if is_told and asked != said else ""
    for rule in list_rules("unasked") if is_told else ():
        said = rule.pattern.sub(rule.text, said)
    return _find_clause(pattern("when").sub("", said) if has("decided", said) else said)


def _find_clause(said: str) -> str:
    """Return *said*, or the clause of it that is a rule by itself where the one before it is about the moment."""
    first, mark, rest = said.partition(", ")
    is_moment = any(has(name, first) for name in ("deictic", "anaphor", "passing", "hour", "task"))
    lasts = (
        has("rule", rest)
        or has("rather", rest)
        or (has("we", rest) and re.match(r"(?:for [\w-]+ )?we\b", rest, re.IGNORECASE))
    )
    return rest if mark and is_moment and lasts and not has("anaphor", rest) else said


def _drop_deictic(said: str) -> str:
    """Return *said* without "here", where that is this project; "" where it points to something that nobody else sees."""
    general = pattern("in ours").sub("", said) if has("ours", said) else said
    return "" if has("deictic", general) else general


def _lasts(said: str, message: _Message) -> bool:
    """Tell whether a sentence of the user states a rule, a decision, who does what, what is liked, or a fact."""
    words = re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]{2}|[A-Za-zÀ-ÿ0-9_'’-]+", said)
    may_be_short = has("rule", said) or has("rather", said) or (message.is_told and has("policy", said))
    if len(words) < _FEWEST - may_be_short or len(said) > _LONGEST:
        return False
    if message.is_pasted and not has("ours", said):
        return False
    is_told = message.is_told and has("told", said)
    if has("likes", said) or re.search(r"\b[Ii]\b(?![.)])", said):
        return has("likes", said) or is_told
    is_rule = (has("rule", said) or has("rather", said)) and (has("ours", said) or not has("code", said))
    if is_told or is_rule or any(has(name, said) for name in ("decided", "owns", "we")):
        return True
    if message.is_pasted or has("code", said):
        return False
    return _is_general(said, message, len(words))


def _is_general(said: str, message: _Message, words: int) -> bool:
    """Tell whether a sentence without the words of a rule is one, or states a fact about something exact."""
    if has("policy", said):
        return has("scope", said) and (has("hard", said) or message.is_told or words < _A_LINE)
    if has("weak", said) and not said.lower().startswith("let"):
        return True
    return has("states", said) and (has("hard", said) or has("named thing", said))


def _take_back(found: list[Lesson], text: str) -> list[Lesson]:
    """Drop what the user said before where *text* takes it back: all that has its words, or the last where it names nothing."""
    if not (taken := pattern("undone").search(text)):
        return found
    last = max((one.line for one in found), default=0)
    exact = set(re.findall(r"\b\w*\d\w*\b|`[^`]+`", taken[0]))
    return [
        one
        for one in found
        if not exact & set(re.findall(r"\w+", one.text))
        and (exact or one.line != last or not _share(one.text, taken[0]))
    ]


def _share(one: str, other: str) -> bool:
    here, there = (set(re.findall(r"\w{4,}", text.lower())) for text in (one, other))
    return not here or not there - _TAKING_BACK or bool(here & there)


def _drop_contradicted(found: Sequence[Lesson]) -> list[Lesson]:
    """Keep of each two that contradict each other the later, and of two that say the same the first."""
    kept: list[Lesson] = []
    for one in found:
        relations = [decide(one.text, other.text, 0.0).relation for other in kept]
        kept = [other for other, relation in zip(kept, relations, strict=True) if relation != "contradicts"]
        if "duplicate" not in relations:
            kept.append(one)
    return kept


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
    sentence = pattern("tail").sub("", sentence).strip(" ,;–—").rstrip("-")
    return sentence.rstrip(")") if sentence.count(")") > sentence.count("(") else sentence


def as_statement(text: str) -> str:
    """Return *text* in the third person, with a capital and a full stop."""
    text = pattern("wish").sub("", text)
    for rule in list_rules("person") if "en" in find_languages(text) else ():
        text = rule.pattern.sub(rule.text, text)
    text = re.sub(r"!+(?=\s|$)", ".", text)
    first = text.split(maxsplit=1)[0] if text else ""
    is_spaced = not re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", text)
    if is_spaced and re.fullmatch(r"[a-zà-ÿ]+(?:'[a-z]+)?[,:]?", first):
        text = text[:1].upper() + text[1:]
    return text if not text or text[-1] in ".!?…。！" else f"{text}{'.' if is_spaced else '。'}"
