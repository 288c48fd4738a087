"""Which prompts deserve no recall at all. Pure.

Two of three real prompts have nothing to do with any memory; the plainest of
them are told by their words, before anything is read.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_COMMAND = re.compile(r"/[a-z][\w:.-]*(?:\s|$)", re.IGNORECASE)
_LOOKED_AT = 1_000  # characters; what is longer says something
_MOST_WORDS = 8  # a longer prompt says something, whatever its words

# Each of them alone asks nothing that a memory could answer, and neither do a few of them in a row.
_SMALL = frozenset(
    """
    ok okay okey k kk yes yep yeah yup ya y no nope nah n sure right correct exactly true agreed fine good great nice
    cool perfect awesome excellent amazing wonderful lovely super wow well done thanks thank thx ty cheers please pls plz
    continue proceed go ahead on keep going next again retry try more do it that this one you can could should would
    lgtm ship sounds looks look works worked working all the a an i we so very much really now then just let's lets
    for your hi hello hey yo morning afternoon evening bye goodbye night stop wait hold hmm hm uh um oh ah
    danke ja nein weiter bitte merci oui non gracias sí si sigue
    """.split()
)


def small_talk(prompt: str) -> str:
    """Return why *prompt* needs no memories: "empty", "command" or "small talk"; "" if it may need some."""
    text = prompt.strip()
    if not text:
        return "empty"
    if text.startswith("/") and _COMMAND.match(text):
        return "command"
    said = text[:_LOOKED_AT].lower().replace("’", "'")
    if any(word.isalnum() and word not in _SMALL for word in said.split()):
        return ""  # which a pattern would find as well, and takes longer
    words = _WORD.findall(said)
    is_small = len(words) <= _MOST_WORDS and _SMALL.issuperset(words)
    return "small talk" if is_small else ""
