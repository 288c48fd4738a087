"""What a memory must not do to the agent that reads it: pure checks and cleaning of its text.

A memory is data that somebody wrote, perhaps in a pull request. It comes into
an agent's context as one quoted line: nothing in it may end the quotation,
pretend to be the client, or hide from the person who reviews the file.
"""

from __future__ import annotations

import re
from typing import Final

# All are compiled when first needed, which they hardly ever are: a hook has no time.
# Everything that Unicode calls default-ignorable (a test holds it), other controls, bidi marks
# and blank letters. U+FE0F stays: it only colours emoji.
_INVISIBLE: Final = (
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\ue000-\uf8ff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]+"
)
# Our tag, the clients' and those of chat formats. Names with a dash, a low line or a colon are all taken for one:
# the next client's tag will have one too, and a quoted <my-element> does not suffer.
_TAG: Final = (
    r"<(?=\s*/?\s*(?:[a-z][a-z0-9]*[-_:][\w:.-]*|system|user|human|assistant|developer|model|tool|instructions?"
    r"|function|invoke|parameter|thinking|memory|context|important|sys|inst)\b|\s*[|\uff5c/!?])"
)
_CHAT: Final = r"\[(?=/?(?:INST|SYS|SYSTEM|ASSISTANT|USER)\])"

# Each with what it gives away. Gaps are bounded, so that no text takes long.
_ORDERS: Final = (
    (
        r"""\b(?:ignore|disregard|forget|override|bypass)\b [^.]{0,40}
            \b(?:previous|prior|above|earlier|all|any|system|your)\b [^.]{0,30}
            \b(?:instructions?|prompts?|rules?|guidelines?|messages?|context)\b""",
        "tells the agent to ignore its instructions",
    ),
    (
        r"""\byou\ are\ now\b | \bfrom\ now\ on,?\ (?:you|act|respond)\b | \bpretend\ (?:to\ be|you)\b
            | \bact\ as\ (?:if\ you|(?:an?|the)\ (?:\w+\ )?(?:assistant|agent|admin|root|system|model|ai))\b | \bnew\ (?:system\ )?instructions?:""",
        "gives the agent another role",
    ),
    (
        r"""\b(?:do\ not|don't|never|without)\ (?:tell|mention|inform|show|reveal|ask|notify)(?:ing)?\b [^.]{0,30}
            \b(?:user|human|developer|anyone|them)\b""",
        "asks to keep something from the user",
    ),
    (
        r"""\b(?:reveal|print|show|repeat|output|leak|dump)\b [^.]{0,30}
            \b(?:system\ prompt|hidden\ prompt|initial\ instructions|environment\ variables?)\b""",
        "asks for what the agent must not show",
    ),
    (
        r"\b(?:curl|wget|iwr|invoke-webrequest)\b [^|]{0,200} \| \s* (?:sudo\s+)? (?:ba|z|da)?sh\b",
        "pipes a download into a shell",
    ),
    (
        r"""\b(?:send|post|upload|exfiltrate|forward|email|copy)\b [^.]{0,60}
            (?:\b(?:secrets?|credentials?|tokens?|passwords?|(?:api|private)\ keys?)|\.env)\b [^.]{0,60}
            \b(?:to|at)\b\s+(?:https?://|\S{1,60}@\S)""",
        "sends secrets away",
    ),
    (
        r"""<\s*/?\s*(?:project-memory|system-reminder|hook_context|untrusted_context|session_context|system)\b
            | <\|im_(?:start|end)\|> | \[/?INST\]""",
        "holds a tag of an agent's client",
    ),
)


def visible(text: str) -> str:
    """Return *text* without control, bidi and invisible characters."""
    return text if text.isascii() and text.isprintable() else re.sub(_INVISIBLE, "", text)


def quoted(text: str) -> str:
    """Return *text* as it may stand in an agent's context: one line, nothing hidden, no tag that a client knows."""
    line = " ".join(visible(text).split())
    if "<" in line:
        line = re.sub(_TAG, "&lt;", line, flags=re.IGNORECASE)
    return re.sub(_CHAT, "&#91;", line, flags=re.IGNORECASE) if "[" in line else line


def suspicious(text: str) -> str:
    """Return why *text* reads like an order to an agent rather than something to know; "" if it does not.

    A hint for the person who reviews it: it finds plain attempts only, and some honest sentences.
    """
    if visible(text) != text:
        return "holds invisible or control characters"
    folded = " ".join(text.split())
    return next((why for pattern, why in _ORDERS if re.search(pattern, folded, re.IGNORECASE | re.VERBOSE)), "")
