"""What was said in a session that lasts, judged sentence by sentence: rules and facts of the user, findings of the agent.

By wording alone: what is doubted, asked, hoped or only true now is left out, and so is what was taken back later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from memsync.dedup import decide
from memsync.learn.digest import is_correction, is_look
from memsync.learn.transcripts import Call, Said, Step
from memsync.learn.wording import as_statement, sentences, strip

_LONGEST: Final = 300
_JOINED: Final = 3  # sentences of one message that are kept as one
_FEWEST: Final = 3  # words
_AGREED: Final = 0.5  # share of the words of a shorter text from which two are about the same

HARD: Final = re.compile(
    r"`[^`]+`|\b\w+[_/.]\w+|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b[A-Z]{2,}\b|\b\d+(?:\.\d+)*|--?\w+-?\w*\b|[%#]\w+|\w+_\b"
)
_RULE: Final = re.compile(
    r"\b(?:always|never|only|must(?:n'?t)?|every\w*|each|forbidden|not allowed|required?|requires|no longer|nothing else|by hand"
    r"|unless|except|instead of|rather than|anymore|wherever|whenever|avoid|legacy|deprecated|do not|don'?t|no one|nobody|may not|cannot|can'?t)\b"
    r"|^no \w+|\bnot in \w+|, not \w+",
    re.IGNORECASE,
)
_DECIDED: Final = re.compile(
    r"\b(?:we|they|team) (?:have |had |'ve |all |just |recently )*(?:decided|agreed|chose|settled|switched|moved|migrated|replaced|dropped|standardi[sz]ed|stopped|went)\b"
    r"|\b(?:is|are|gets?|got|was|were|being|been) (?:being |now )?(?:replaced|removed|deprecated|renamed|switched off|turned off|retired|phased out|migrated|moved|generated|built|deployed|rendered|wrapped|stored|owned|maintained|exported|released)\b"
    r"|\bphasing out\b|\bphasing \w+ out\b|\bstick (?:to|with)\b|\b(?:from|by) now on\b|\bgoing forward\b|\bas usual\b|^let'?s (?:use|go with|stick|always|keep|write|do|call|name|say)\b",
    re.IGNORECASE,
)
_WE: Final = re.compile(
    r"\b(?:we|our team|the team)\s+(?:all |also |usually |normally |generally |currently )?(?!(?:had|were|did|could|can|might|may|need|should|see|saw|got|just|lost|tried|forgot|get|want|are|have (?:a|an|one|been|to)|still|now)\b)[a-z]+\b"
    r"|\bwe have (?:our own|an? \w+ (?:for|that))|\bour [\w-]+(?:\s[\w-]+)? (?:is|are|lives?|goes|uses?|runs?|has|have|needs?)\b",
    re.IGNORECASE,
)
_LIKES: Final = re.compile(
    r"\bI(?:'d| would| really| strongly| also)* (?:prefer|rather|hate|don'?t (?:like|want)|(?:want|like|love) (?!you to (?:add|have|look|make|check|see|fix)|to |a \w+ for|the \w+ to )\w)",
    re.IGNORECASE,
)
_OWNS: Final = re.compile(
    r"\b(?:[A-Z]\w+|(?:the )?[\w-]+ team|legal|design|ops|finance|security|marketing|sales|qa|support)\s+(?:\w+s? and )?(?:owns?|maintains?|approves?|reviews?|translates?|handles?|does|looks after|takes care of|runs?|decides?|defines?|draws?|signs?|exports?|reads?|is (?:the owner|responsible|in charge))\b"
)
_STATES: Final = re.compile(
    r"^(?:(?:the|a|an|all|our|your|any|each|every|new|no|both)\s+)?(?:[\w`./#*%$-]+\s+){1,7}?"
    r"(?:is|are|has|have|must|needs?|lives?|starts?|goes|go|comes?|gets?|belongs?|listens?|runs?|uses?|happens?|lists?|points?|requires?|expects?|takes?|returns?"
    r"|stays?|means?|breaks?|bricks?|kills?|owns?|holds?|counts?|keeps?|fails?|refuses?|depends?|contains?|exports?|works?|begins?|ends?|matters?|don'?t|doesn'?t|isn'?t|aren'?t)\b"
    r"(?! (?:you|it|me|this|that)\b)",
    re.IGNORECASE,
)
_POLICY: Final = re.compile(
    r"^(?:use|avoid|prefer|follow|keep|put|name|prefix|write|run|call|wrap|take|stick|pin|mock|import|with|squash)\b",
    re.IGNORECASE,
)
# What says that it is not, or not for long, or not by who speaks.
_DOUBT: Final = re.compile(
    r"\b(?:maybe|perhaps|probably|might|not sure|i (?:think|guess|believe|suppose|wonder|hope|assume|feel)|seems?|sounds?|looks? like|would be|could be|let me think"
    r"|no idea|wonder(?:ing)?|hopefully|i'?m (?:not )?sure|if (?:someone|somebody|anyone|we ever)|consider|not decided|haven'?t decided|undecided|what if|could|possibly|presumably|likely)\b",
    re.IGNORECASE,
)
_PASSING: Final = re.compile(
    r"\b(?:for now|today|tonight|yesterday|tomorrow|this (?:morning|afternoon|evening|week|time|session|one)|last (?:night|week)|right now|at the moment|meanwhile|in a (?:bit|minute|sec)"
    r"|next sprint|(?:in|after) \d+ (?:min|hours?|s)\b|just now|for a (?:moment|while)|so far|not yet|again|on my machine|next week|weekend)\b"
    r"|^(?:i|you|he|she)(?:'m|'ll|'ve| am| will| have| saw| see| was| went| did| forgot| mean| can| put| used| made| just| ran| tried| already| guess)\b"
    r"|\bwe (?:need|want) (?:to|an?)\b|^(?:add|fix|make|create|implement|change|rename|remove|delete|refactor|update|move|build|deploy|check|look|try|show|give|open|commit|push|start|test)\b(?! (?:only|every|all|no|is|are|has|must|never|always|goes|happens|runs)\b)"
    r"|^(?:let me|looks|works|see|thanks|done|go on|go ahead|bye|same here|how|what|why|who|where|when did|did|does|do you|can|could|is|are|should|would|will)\b"
    r"|\b(?:see you|wish me|good (?:luck|night)|have a (?:nice|good)|lunch|weather|brb)\b",
    re.IGNORECASE,
)
_REPORTED: Final = re.compile(
    r"^(?:the |a |our )?(?:\w+\s){0,3}?(?:said|says|wrote|writes|mentioned|asked|thinks?|told|claims?|suggested|complained|reports?)\b"
    r"|^(?:here'?s|this is|here is)\b|[\"“](?:[^\s\"”]+\s+){3,}[^\"”]*[\"”]"
    r"|\b\d\d:\d\d:\d\d\b|(?-i:\b(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL)\b)|^(?:\[\d|\$ )",
    re.IGNORECASE,
)
_ANAPHOR: Final = re.compile(
    r"^(?:it|its|it's|that|that's|this|they|them|they're|these|those|there we|he|she|such|both|same|one|otherwise|because|since|as|which|the (?:former|latter)|in (?:that|this) case"
    r"|(?:take|put|keep|get|do|leave|mark|call|run|make|find) (?:it|them|that|those|one)|nothing else|everything else|anything else|we have one|we tried|ours|mine|redis\.)\b",
    re.IGNORECASE,
)
_NOTHING: Final = re.compile(
    r"^(?:don'?t|do not|never|always)? ?\w+ (?:it|that|this|them)(?: (?:here|again|too|please))?[.!]*$", re.IGNORECASE
)
_UNDONE: Final = re.compile(
    r"(?:^|[.!?]\s+)(?:\W*(?:h+m+|oh|no|nah|ok|well|wait|actually|sorry)\W+)*(?:scratch that|never ?mind|forget (?:that|it|about)|(?:please )?revert\b"
    r"|skip (?:it|that)|i changed my mind|(?:the )?(?:\w+ ){1,3}was better|on second thought|back to\b)",
    re.IGNORECASE,
)
# The agent: what it found out, once a command has proved it.
_FOUND: Final = re.compile(
    r"\b(?:(?:root |real |actual )?(?:cause|culprit|reason|fix|trick|solution) (?:is|was|for)|because|caused by|due to|fixes|fixed by|needs?|must|has to|have to|had to|requires?|so (?:every|each|all|it|that)"
    r"|only (?:when|if|with|after|works|advances?|runs?)|otherwise|rather than|instead of|without it|unless|are per|is per|cannot|can'?t|does ?n[o']t|never|carry no|every \w+ (?:is|gets))\b"
    r"|\b(?:is|are) (?:aliased|pinned|generated|cached|evaluated|rendered|overwritten)\b",
    re.IGNORECASE,
)
_AGENT_DOING: Final = re.compile(
    r"^(?:i|we|let me|let's|now|here|using|adding|switching|moving|changing|running|removing|replacing|creating|shall|should|would|do you|done|all|tests?|sure|understood|great|happy|you|yes|no\b|want|next|thanks"
    r"|it (?:passes|works|compiles|reproduces|panics)|this should|that (?:works|should|was))\b",
    re.IGNORECASE,
)
_AGENT_TAIL: Final = re.compile(
    r"(?:,|;|\s[-–—])\s*(?:so |and )?(?:i|let me)(?:'ve|'ll|'m| have| will| am| added| set| moved| changed| put| made| fixed)?\b.*$",
    re.IGNORECASE,
)
_WAS_NOT: Final = re.compile(
    r"\b(?:was(?: not|n'?t)|is(?: not|n'?t)|were(?: not|n'?t)) (?:it|the (?:\(?only\)? ?)?(?:reason|cause|problem|culprit|issue|fix)|that|enough)\b"
    r"|\bstill (?:fail\w*|broken|the same|happens|not)\b|\bthat didn'?t (?:help|work|fix)|\bdid(?: not|n'?t) (?:help|fix)|\breal (?:cause|reason|problem)\b|\broot cause\b|\bactual (?:cause|reason)\b",
    re.IGNORECASE,
)
_CAUSE: Final = re.compile(r"\b(?:cause|culprit|reason|because|due to|fix\w*)\b", re.IGNORECASE)


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
            corrects = any(not isinstance(one, Said) or one.by == "agent" for one in steps[:number]) and is_correction(
                step.text
            )
            found += [Lesson(text, step.line, "user", corrects) for text in _judge_user(step.text)]
        else:
            if _WAS_NOT.search(step.text):
                found = [one for one in found if one.by == "user" or not _CAUSE.search(one.text)]
            if _is_proved(steps, number):
                found += [Lesson(text, step.line, "agent") for text in _judge_agent(step.text)]
    return _drop_contradicted(found)


def _judge_user(text: str) -> Iterator[str]:
    """Yield the statements of one message of the user."""
    kept: list[str] = []
    for sentence, is_first in sentences(text):
        if is_first and kept:
            yield _write(kept)
            kept = []
        said = strip(sentence)
        if (
            not said
            or _is_asked(sentence)
            or any(one.search(said) for one in (_UNDONE, _NOTHING, _PASSING, _DOUBT, _REPORTED))
        ):
            continue
        follows = bool(_ANAPHOR.match(said)) or bool(_POLICY.match(said) and not _RULE.search(said))
        if kept and follows and len(kept) < _JOINED:
            kept.append(said)
        elif not _ANAPHOR.match(said) and _lasts(said):
            if kept:
                yield _write(kept)
            kept = [said]
    if kept:
        yield _write(kept)


def _is_asked(sentence: str) -> bool:
    return sentence.rstrip(" )\"'").endswith("?")


def _lasts(said: str) -> bool:
    """Tell whether a sentence of the user states a rule, a decision, who does what, what is liked, or a fact."""
    words = re.findall(r"[\w'’-]+", said)
    if len(words) < _FEWEST or len(said) > _LONGEST:
        return False
    if _LIKES.search(said) or _DECIDED.search(said) or _OWNS.search(said) or _WE.search(said):
        return True
    if _POLICY.match(said):
        return bool(
            _RULE.search(said)
            or re.search(r"\b(?:in|for) (?:all |unit |integration |the )?\w+s\b", said)
            or (HARD.search(said) and re.search(r"\b(?:for|in|with|on)\b", said))
        )
    return bool(_RULE.search(said) or (_STATES.search(said) and (HARD.search(said) or len(words) > 4)))


def _write(kept: Sequence[str]) -> str:
    return " ".join(map(as_statement, kept))


def _judge_agent(text: str) -> Iterator[str]:
    """Yield what the agent found out in one message."""
    for sentence, _ in sentences(text):
        said = _AGENT_TAIL.sub("", strip(sentence)).strip(" ,;")
        is_doubted = _DOUBT.search(said) or _PASSING.search(said) or sentence.endswith("?") or said.endswith(":")
        if is_doubted or _AGENT_DOING.match(said) or _ANAPHOR.match(said):
            continue
        if len(said) <= _LONGEST and _FOUND.search(said) and HARD.search(said):
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
    if not _UNDONE.search(step.text):
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
