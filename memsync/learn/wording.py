"""Sentences as people type them: taken apart, freed of what is only said around a statement, and written as one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memsync.learn.statements import statements

_END: Final = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)(?<=[.!?])[)\"'”]*\s+(?=\S)|\s+(?=[\U0001f300-\U0001faff])"
)
_SIGNS: Final = r"[\s.,:;!?…\-–—)(^*\U0001f300-\U0001faff\u2600-\u27bf\ufe0f]"
# What begins a sentence and says nothing: the first kind by itself, the second with a mark behind it.
_FREE: Final = (
    r"ok(?:ay)?|btw|by the way|f\.?y\.?i|oh|ah+|h+m+|hey|ha(?:ha)+|lol|yay|and|but|also|so|then|please|pls|yes|yep|yeah"
    r"|now,? that|remember(?: that|:)?|note(?: that|:)|always remember(?: that|:)?|one (?:more )?thing(?: though)?|keep in mind(?: that|:)?"
)
_MARKED: Final = (
    r"no|nope|nah|no wait|no no|right|well|wait|stop|actually|hi|hello|thanks?(?: you)?|thx|great|good(?: catch)?|nice|cool|perfect"
    r"|super|awesome|sweet|sure|sorry|again|alright|all right|got it|of course|interesting|fair enough|exactly|fixed|done|found it"
    r"|don'?t worry|for the record|important|wrong|first|now|here|that'?s a no[ -]?go|not quite|true|careful|reminder|correction|update"
    r"|you(?:'re| are) (?:absolutely )?right|question|hint|tip"
)
_WISH: Final = re.compile(
    r"^(?:let'?s say |I (?:want|would like|'d like)(?: you to)? |I'd (?:like|want)(?: you to)? )", re.IGNORECASE
)
_INSIDE: Final = re.compile(r",? \b(?:btw|please|pls|by the way|fyi)\b(?=\s*[,.!:]|\s*$)", re.IGNORECASE)
_LEAD: Final = re.compile(
    rf"^(?:(?:(?!--?\w){_SIGNS})+|(?:{_FREE})\b(?!['’-]){_SIGNS}*|(?:{_MARKED})(?:\s*[.,:;!…–—]{_SIGNS}*|\s+-\s+))",
    re.IGNORECASE,
)
_TAIL: Final = re.compile(
    r"(?:[\s,]+(?:please|pls|ok|okay|right|thx|thanks?(?: you)?|ha(?:ha)+|lol|btw|fyi|though|otherwise ha(?:ha)*|[:;]-?[)(DP]|\^\^|<3)"
    r"|[\s\U0001f300-\U0001faff\u2600-\u27bf\ufe0f])+(?=[.!?]*$)",
    re.IGNORECASE,
)
# A clause that is about the work of this moment, behind a statement that is not.
_ASIDE: Final = re.compile(
    r"(?:,|;|\s[-–—]|\s(?=so\b))\s*(?:(?:so|and|but|then)\s+)?(?:(?:please|pls)\b|(?:i|we)(?:'m| am|'ll| will| saw| see| mean| mention\w*| noticed"
    r"| forgot| was| just)\b|you(?:'ve| have| did| used| made| put| wrote| didn'?t| forgot| missed| just)\b|your \w+ (?:has|have|is|are|does)\b"
    r"|(?:s?he|they) (?:gets?|is|are) \w+y\b|(?:can|could|would|will) you\b|did you\b|so (?:that'?s it|yeah)\b|got it\b|remember\??$|what do you\b"
    r"|(?:so|and) (?:put|check|fix|add|change|make|move|show|ping|commit|revert|rename|update|remove|delete|try|do|let'?s|start|open|go|give|set)\b"
    r"|(?:let'?s see|see)\b).*$",
    re.IGNORECASE,
)
_PERSON: Final = (
    (re.compile(r"\bI(?:'d|’d| would) (?=like\b|love\b|prefer\b|rather\b|want\b|hate\b)", re.IGNORECASE), "the user would "),
    (re.compile(r"\bI (?:really |strongly |much )?(like|love|prefer|want|hate|need|use|expect|insist)\b", re.IGNORECASE), r"the user \1s"),
    (re.compile(r"\bI (?:don'?t|do not) (?=like|want|use|need|trust)", re.IGNORECASE), "the user does not "),
    (re.compile(r"\bI am\b"), "the user is"),
    (re.compile(r"\bI have\b"), "the user has"),
    (re.compile(r"\bI (never|always|only|usually|often) (\w+)\b"), r"the user \1 \2s"),
    (re.compile(r"\bI (?=\w+ed\b|was\b|had\b|did\b|will\b|can\b|would\b|must\b|should\b)"), "the user "),
    (re.compile(r"\bI (\w*(?:[sx]|ch|sh|[^aeo]o))\b"), r"the user \1es"),
    (re.compile(r"\bI (\w+[a-z])\b"), r"the user \1s"),
    (re.compile(r"\bI\b(?!['’/])"), "the user"),
    (re.compile(r"\bmy\b", re.IGNORECASE), "the user's"),
    (re.compile(r"\bme\b(?!\w)"), "the user"),
)  # fmt: skip


def sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a message as they stand, each with whether it begins a paragraph or point.

    Code, logs between fences, quotes and tables are left out.
    """
    for one in statements(text):
        parts = re.split(r"(`[^`]*`)", one.text)
        plain = "".join(part.replace(". ", ".\0 ") if part.startswith("`") else part for part in parts)
        for number, sentence in enumerate(filter(None, map(str.strip, _END.split(plain)))):
            yield sentence.replace("\0", ""), number == 0


def strip(sentence: str) -> str:
    """Return *sentence* without greetings, fillers, signs and what is said aside."""
    before = ""
    while sentence != before:
        before, sentence = sentence, _LEAD.sub("", sentence, count=1)
    sentence = _INSIDE.sub("", _ASIDE.sub("", sentence))
    return _TAIL.sub("", sentence).strip(" ,;–—").rstrip("-")


def as_statement(text: str) -> str:
    """Return *text* in the third person, with a capital and a full stop."""
    text = _WISH.sub("", text)
    for pattern, instead in _PERSON:
        text = pattern.sub(instead, text)
    text = re.sub(r"!+(?=\s|$)", ".", text)
    first = text.split(maxsplit=1)[0] if text else ""
    if re.fullmatch(r"[a-z]+(?:'[a-z]+)?[,:]?", first):
        text = text[:1].upper() + text[1:]
    return text if not text or text[-1] in ".!?…" else f"{text}."
