"""Which prompts deserve no recall at all, and what of the others is looked for: the part of a long one that carries information, and its questions. Pure.

Two of three real prompts have nothing to do with any memory; the plainest of
them are told by their words, before anything is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_COMMAND = r"(?i)\s*/([a-z][\w:.-]*)(?:\s+|$)"
_LOOKED_AT = 1_000  # characters; what is longer says something
_MOST_WORDS = 8  # a longer prompt says something, whatever its words

# Each of them alone asks nothing that a memory could answer, and neither do a few of them in a row: verbs of any work say
# nothing of what it is about.
_SMALL = frozenset(
    """
    ok okay okey k kk yes yep yeah yup ya y no nope nah n sure right correct exactly true agreed fine good great nice
    cool perfect awesome excellent amazing wonderful lovely super wow well done thanks thank thx ty cheers please pls plz
    continue proceed go ahead on keep going next again retry try more do it that this one you can could should would
    lgtm ship sounds looks look works worked working all the a an i we so very much really now then just let's lets
    and to file files what what's whats why which did didn't do does don't is it's its that's was were i'm not wrong other rest same done last there here
    show me tell my explain run rerun undo redo revert change changed add open use write list start commit push pull merge
    for your hi hello hey yo morning afternoon evening bye goodbye night stop wait hold hmm hm uh um oh ah
    danke ja nein weiter bitte merci oui non gracias sí si sigue
    """.split()
)
# Commands that the clients have themselves, which ask for no memory. /plan, /batch and the like are followed by what is asked.
_BUILT_IN: Final = frozenset(
    """
    about add-dir agent agents allow-all allowed-tools approval-mode approvals apps auth bashes branch bug changelog chat chrome clean clear
    collab color compact compress config connect context continue copy corgi cost cwd debug-config desktop details diff directory docs
    doctor editor effort exit experimental export extensions extra-usage fast feedback fork help hooks ide init insights install-github-app
    install-slack-app instructions keybindings language list-dirs login logout lsp mcp mcps memory mention mobile model models new
    output-style passes permissions personality plugin plugins policies pr-comments privacy privacy-settings ps quit quit-confirm realtime
    redo release-notes reload-plugins remote-control remote-env rename reset-allowed-tools restore resume review rewind rollout sandbox
    security-review session sessions settings setup-github share shells skills stats status statusline stickers streamer-mode subagents
    summarize summary tasks terminal-setup theme themes thinking title todos tools trust undo unshare update upgrade usage user version vim
    voice
    """.split()
)
_WHOLE: Final = 6_000  # characters up to which a prompt is looked for as it is
_HEAD, _TAIL = 1_500, 2_000  # of a longer one; people say what they want before or behind what they paste
_SCANNED: Final = 32_000  # characters at either end in which lines that tell of an error are looked for
_ERRORS: Final = 1_500
_ERROR: Final = ("Error", "Exception", "error:", "panic", "fatal", "FAILED", "failed", "denied", "refused")
_LINE: Final = 300
_PARTS: Final = 3  # recalls beside that of the whole
_FEW: Final = 4  # parts of a prompt up to which each may be a question; more make a document
_WORDS: Final = 4  # of a part at least
_LONG: Final = 25  # words from which a prompt may be about several things
_CODE: Final = re.compile(r"(?s)```.*?(?:```|\Z)")
_BREAK: Final = re.compile(r"\n\s*(?:[-*]|\d+[.)])\s+|\n\s*\n|(?<=\?)\s+")


def small_talk(prompt: str) -> str:
    """Return why *prompt* needs no memories: "empty", "command" or "small talk"; "" if it may need some."""
    if not prompt.strip():
        return "empty"
    text = strip_command(prompt).strip()
    if not text or (text[0] == "/" and re.match(_COMMAND, text)):
        return "command"
    said = text[:_LOOKED_AT].lower().replace("’", "'")
    if any(word.isalnum() and word not in _SMALL for word in said.split()):
        return ""  # which a pattern would find as well, and takes longer
    words = _WORD.findall(said)
    is_small = len(words) <= _MOST_WORDS and _SMALL.issuperset(words)
    return "small talk" if is_small else ""


def strip_command(prompt: str) -> str:
    """Return what follows the word of a command or a skill of the user's own in *prompt*; all of any other prompt."""
    found = re.match(_COMMAND, prompt) if "/" in prompt else None
    return prompt if found is None or found[1].lower() in _BUILT_IN else prompt[found.end() :]


def find_gist(prompt: str) -> str:
    """Return what of *prompt* is looked for: all of it, or of a long one its two ends and the errors that it tells of."""
    if len(prompt) <= _WHOLE:
        return prompt
    errors = "\n".join(dict.fromkeys(_errors(prompt[:_SCANNED] + "\n" + prompt[-_SCANNED:])))
    return f"{prompt[:_HEAD]}\n\n{errors[:_ERRORS]}\n\n{prompt[-_TAIL:]}"


def list_questions(prompt: str) -> list[str]:
    """Return what is looked for at a *prompt*: what it is about, then its parts."""
    gist = find_gist(strip_command(prompt))
    return [gist, *split_questions(gist)]


def split_questions(gist: str) -> list[str]:
    """Return the parts of *gist* that are asked for one by one beside the whole; none of a short one."""
    if len(gist.split(None, _LONG)) <= _LONG:
        return []
    found = dict.fromkeys(_parts(gist))
    whole = gist.strip()
    return [part for part in found if part != whole][:_PARTS]


def _parts(gist: str) -> Iterator[str]:
    """Yield the last error, which says what the traces before it led to, then what is said around code, the questions, and of a prompt of few parts the others."""
    parts = [part.strip() for part in _BREAK.split(gist) if len(part.split()) >= _WORDS]
    if errors := list(_errors(gist)):
        yield errors[-1]
    said = _CODE.sub(" ", gist).strip() if "```" in gist else ""
    if len(said.split()) >= _WORDS:
        yield said
    yield from (part for part in parts if part.endswith("?"))
    if len(parts) <= _FEW:
        yield from (part for part in parts if not part.endswith("?"))


def _errors(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if any(mark in line for mark in _ERROR):
            yield line.strip()[:_LINE]
