"""From a view to HTML, and what pages name: addresses, and the command that does the same as a button. Nothing here decides anything, and everything is escaped: memories come from pull requests."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from memsync.format import textdiff
from memsync.memories.results import Entry
from memsync.records import age, sent_id, short_id, shown_id
from memsync.safety.guard import shown_type
from memsync.system.texts import one_line, printable

STATIC: Final = Path(__file__).parent / "static"
_TEMPLATES: Final = Path(__file__).parent / "templates"
_LABEL: Final = 64  # characters of a tag or a name
_SKILL: Final = re.compile(r"\.\./([a-z0-9-]+)/(?:SKILL\.md)?(?:#.*)?")  # as skills name each other
_NAME: Final = re.compile(r"(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*")  # browsers read 127.1 and 0x7f000001 as this machine


_MASK: Final[ContextVar[Callable[[str], str]]] = ContextVar(
    "what takes secrets out of the texts of a page", default=str
)


def _show(text: str) -> str:
    return printable(_MASK.get()(text))


def _show_line(text: str, most: int = 0) -> str:
    return one_line(_MASK.get()(text), most)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "text": _show,
        "line": _show_line,
        "label": lambda text: one_line(text, _LABEL),
        "kind": shown_type,
        "id": shown_id,
        "short": short_id,
        "sent": sent_id,
        "argument": lambda text: one_line(shlex.join(_protect(text))),
        "marks": list_marks,
        "words": lambda pair: textdiff.compare(_show(pair[0]), _show(pair[1])),
        "url": link_to,
        "day": lambda moment: f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if moment else "",
        "markdown": render_markdown,
    }
    environment.globals |= {"age": age, "address": address}
    return environment


def render(template: str, mask: Callable[[str], str] = str, **view: Any) -> str:
    """Return the page that *template* makes of *view*; *mask* takes out of the texts that it shows what a shared screen must not."""
    _MASK.set(mask)
    return _environment().get_template(template).render(**view)


def list_marks(entry: Entry) -> list[str]:
    """Return what somebody should know about *entry* before anything else."""
    memory = entry.memory
    marks = [f"flagged: {entry.flagged}"] if entry.flagged else []
    marks += [f"out of date: {one_line(entry.out_of_date)}"] if entry.stale else []
    marks += [f"in conflict with {short_id(memory.conflict_of)}"] if memory.conflict_of else []
    return [*marks, *(["archived"] if memory.archived_at else [])]


@cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    # No HTML of the author's, and no pictures: they would be requests to wherever the text says.
    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    made.validateLink = lambda url: True  # type: ignore[method-assign] # noqa: ARG005 - or the brackets would be shown
    made.add_render_rule("link_open", _open_link)
    return made


def _open_link(renderer: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
    """Return the tag of a link to the web, or to another skill, which has a page here; what leads elsewhere leads nowhere."""
    url = str(tokens[at].attrs["href"])
    if not _leads_to_the_web(url):
        skill = _SKILL.fullmatch(url)
        tokens[at].attrs = (
            {"href": address("/skills/one", {"name": skill[1]})} if skill else {}
        )  # a link to nowhere is text
    return str(renderer.renderToken(tokens, at, options, env))


def _leads_to_the_web(url: str) -> bool:
    """Tell whether *url* leads to a host by its name, or to a mailbox: it runs nothing, and fills in no form of this desk."""
    text = url.lower()
    if text.startswith("mailto:"):
        return True
    try:
        host = urlsplit(text).hostname or ""
    except ValueError:
        return False
    return text.startswith(("http://", "https://")) and host != "localhost" and bool(_NAME.fullmatch(host))


def render_markdown(text: str) -> Markup:
    """Return *text* as HTML, in which nothing of it is HTML, and links lead to the web or nowhere."""
    return Markup(_markdown().render(_show(text)))  # noqa: S704 - the renderer escapes, as its preset with `html` off promises


def command(*words: str, text: str | None = None, **options: str | bool | Sequence[str] | None) -> str:
    """Return a `memsync` command as a shell takes it: *words*, those *options* that are given, and the *text* that it is about."""
    said = ["memsync", *words]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            said += [option] if value else []
        else:
            said += [word for one in ([value] if isinstance(value, str) else value or ()) for word in (option, one)]
    return shlex.join([*said, *(() if text is None else _protect(text))])


def address(path: str, said: Mapping[str, str]) -> str:
    """Return the address of *path* with what is *said*; for half a character, which none can hold, stands a question mark."""
    return f"{path}?{urlencode(said, errors='replace')}"


def link_to(entry: Entry) -> str:
    """Return the address of the page of *entry*. An id may hold nearly anything, so it is no part of the path."""
    return address("/memory", {"id": sent_id(entry.id), "scope": entry.scope})


def _protect(text: str) -> Sequence[str]:
    """Return the argument that a *text* is; one that begins with a dash would pass for an option, or for standard input."""
    return ("--", text) if text.startswith("-") else (text,)
