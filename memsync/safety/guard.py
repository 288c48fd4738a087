"""What a memory must not do to the agent that reads it: its text, and what is shown beside it, made harmless. Pure.

A memory is data that somebody wrote, perhaps in a pull request. It comes into
an agent's context as one quoted line: nothing in it may end the quotation,
pretend to be the client, or hide from the person who reviews the file.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from memsync.system.texts import drop_invisible

_WORD: Final = 24  # characters of a type
_LABEL: Final = 64  # characters of a tag


_BLANK: Final = re.compile(r"<([A-Za-z]{2,20})>")
# One word that a client or a chat format may take for a tag of its own.
_TAGS: Final = frozenset(
    "system user human assistant developer model tool tools instruction instructions function functions invoke parameter thinking think"
    " memory memories context important sys inst env environment example examples result results output error command commands message"
    " messages content reminder policy policies rule rules prompt note notes warning task tasks admin document documents source sources"
    " search answer response role root start end begin stop eos bos pad agent subagent skill skills hook hooks plan settings config"
    " critical alert notice override security safety script style iframe object embed svg img form input".split()
)


# Whatever a client may take for a tag of its own, its full-width forms too. Before a blank only the names that chat
# formats have, so that `a < b` stays.
@cache
def _tag_pattern() -> re.Pattern[str]:
    return re.compile(
        r"[<\uff1c\ufe64](?=[^\W\d]|\s*[|\uff5c/!?]"
        r"|\s+(?:[a-z][a-z0-9]*[-_:][\w:.-]*|system|user|human|assistant|developer|model|tool|instructions?"
        r"|function|invoke|parameter|thinking|memory|context|important|sys|inst)\b)",
        re.IGNORECASE,
    )


# What clients take in a file of instructions for a file to read, or a command to run: `@path` and `@{path}` (Claude
# Code, Gemini CLI, Qwen Code, Amp, Cursor), !`command` and `!{command}` (Claude Code, opencode, Gemini CLI),
# `#file:path` and a link to a file (VS Code), `#[[file:path]]` (Kiro).
@cache
def _import_pattern() -> re.Pattern[str]:
    return re.compile(
        r"(?<![^\W_])[@\uff20\ufe6b](?=\S)|!(?=[`{])|(?<=`)!|\#(?=\[\[|[a-z]+:)|(?<=\])\((?!https?://|mailto:|\#)",
        re.IGNORECASE,
    )


@cache
def _chat_pattern() -> re.Pattern[str]:
    return re.compile(r"\[(?=/?(?:INST|SYS|SYSTEM|ASSISTANT|USER)\])", re.IGNORECASE)


def visible(text: str) -> str:
    """Return *text* without control, bidi and invisible characters."""
    return text if text.isascii() and text.isprintable() else drop_invisible(text)


def quoted(text: str) -> str:
    """Return *text* as it may stand in an agent's context: one line, nothing hidden, no tag that a client knows."""
    return _escape_tags(" ".join(visible(text).split()))


def inert(text: str) -> str:
    """Return *text* as it may stand in a file that clients read as instructions: what `quoted` does, and nothing that is read or run.

    Marks become entities, which people see as the mark where Markdown is shown, and no client reads as one.
    """
    line = quoted(text).replace("<!--", "&lt;!--")
    return _import_pattern().sub(lambda found: f"&#{ord(found[0])};", line)


def quoted_lines(text: str) -> str:
    """Do what `quoted` does, and keep the lines of *text*: for what stands in a string of its own, as in JSON."""
    if text.isascii() and text.isprintable():
        return _escape_tags(text)
    end = "\n" if text.splitlines(keepends=True)[-1:] != text.splitlines()[-1:] else ""
    return "\n".join(_escape_tags(visible(line)) for line in text.splitlines()) + end


def _escape_tags(line: str) -> str:
    if "<" in line or "\uff1c" in line or "\ufe64" in line:
        line = _tag_pattern().sub(lambda found: "<" if _is_blank(line, found.start()) else "&lt;", line)
    return _chat_pattern().sub("&#91;", line) if "[" in line else line


def _is_blank(line: str, at: int) -> bool:
    """Tell whether the tag at that place is a blank to fill in, as in `--listen <port>`: one plain word that is no client's, and never closed."""
    name = found[1].lower() if (found := _BLANK.match(line, at)) else ""
    return bool(name) and name not in _TAGS and f"</{name}" not in line.lower()


def shown_type(name: str) -> str:
    """Return the memory type *name* as it may be shown: one short word, else "other"."""
    plain = name.replace("-", "").replace("_", "")
    return name if len(name) <= _WORD and plain.isalnum() and plain.isascii() else "other"


def shown_label(text: str) -> str:
    """Return a tag or a name as it may be shown: one short line, quoted."""
    line = quoted(text)
    return line if len(line) <= _LABEL else f"{line[: _LABEL - 1]}…"
