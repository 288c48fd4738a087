"""What is to know about a client, as data: its words for things, its settings files, when its context is lost.

A client is one `Client`, a constant that is called as it is; `known` lists them. Other packages add
theirs by an entry point of the group `memsync.clients`, which names such an object.
Users have approved the commands and entries by their very strings, so no release may change them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, Literal, NamedTuple

from memsync.errors import UsageError

ANY: Final[Collection[str]] = ()
SERVER: Final = "memsync"
# The same words for every client.
EVENTS: Final = (
    "session-start",
    "prompt",
    "pre-compact",
    "post-compact",
    "subagent-start",
    "pre-tool",
    "post-tool",
    "session-end",
)
TOOLS: Final = EVENTS[5:7]  # about one call of a tool
_PULLING: Final = ("session-start", "prompt", "pre-compact", "subagent-start", "session-end")
_OWN: Final = {name: name.replace("-", "_") for name in _PULLING}

# Where memsync is gone (another machine, another environment) the client goes on without a word. Gemini CLI blocks
# the prompt for every code but 0 and 1, and the others print the failure each time. For POSIX shells: fish names a
# program that is gone all the same; on Windows each client has a shell of its own, and PowerShell knows neither half.
_GUARD: Final = "" if os.name == "nt" else " 2>/dev/null || exit 0"

# The tools that change nothing, which a user may allow once and for all.
READ_TOOLS: Final = tuple(
    "recall get_memory search_skills list_memories memory_stats memory_history memory_diff memory_blame dedup_log"
    " list_skills get_skill skill_history skill_stats".split()
)

# What clients put into prompts themselves: the word of a subagent that is done, the output of a command.
_MACHINE_MADE: Final = re.compile(
    r"\s*<(task-notification|system-reminder|local-command-[a-z]+|command-[a-z]+|bash-[a-z]+|environment_context)>"
    r".*?(?:</\1>|\Z)",
    re.DOTALL,
)


def typed(prompt: str) -> str:
    """Return what the user has typed of *prompt*: without what the client put before it."""
    while "<" in prompt and (found := _MACHINE_MADE.match(prompt)):
        prompt = prompt[found.end() :]
    return prompt


class Hook(NamedTuple):
    """One event of a client, by its word and by ours, and how many seconds what is run on it may take."""

    event: str
    name: str
    limit: int
    matcher: str | None = None


def any_of(*tools: str) -> str:
    """Return the matcher for *tools*, and for those of MCP servers: a regular expression, which clients do not anchor by themselves."""
    return f"^(?:{'|'.join(tools)}|mcp_.*)$"


# Of Claude Code, whose names Codex takes, too.
CLAUDE_TOOLS: Final = tuple("Read Edit MultiEdit Write NotebookEdit Bash Grep Glob WebFetch Skill".split())

Kind = Literal["hooks", "MCP server", "allowed tools", "block"]


class Entry(NamedTuple):
    """A value that a settings file must hold: the member at *keys*, or an element of the list there.

    Without *keys* the value is the text of the whole file, which is ours alone.
    """

    keys: tuple[str, ...]
    value: Any
    kind: Kind
    is_element: bool = False

    @property
    def is_word(self) -> bool:
        """Tell whether it is a word in a list, as a permission is, which the user may have put there as well."""
        return self.kind == "allowed tools"


class File(NamedTuple):
    """A settings file: its path in a project and in the client's directory in the home, "" where there is none.

    `form` is how it is written: a client ignores a file with comments, or a comma too many, that it does not read;
    into a text of others goes one block, whose text is made from the memories.
    `base` is what an empty one says. `also` are other names of the file in the project, of which one that is there counts.
    """

    project: str
    user: str
    entries: tuple[Entry, ...]
    form: Literal["json", "json+comments", "jsonc", "toml", "yaml", "text", "block"] = "json"
    base: Mapping[str, Any] = {}
    also: tuple[str, ...] = ()


class Home(NamedTuple):
    """Where a client keeps what is the user's: `folder` of the home, or what `variable` names, and `inner` in that."""

    folder: str
    variable: str = ""
    inner: str = ""


def find_settings(folder: str, elsewhere: str = "") -> Home:
    """Return where a program of the desktop keeps settings called *folder*, or on systems other than Windows *elsewhere*."""
    if os.name == "nt":
        return Home(f"AppData/Roaming/{folder}", "APPDATA", folder)
    if sys.platform == "darwin":
        return Home(elsewhere or f"Library/Application Support/{folder}")
    inner = elsewhere.removeprefix(".config/") or folder
    return Home(f".config/{inner}", "XDG_CONFIG_HOME", inner)


def command(hook: Hook, client: str) -> str:
    """Return what *client* runs on *hook*."""
    return guard(spell(hook, client))


def spell(hook: Hook, client: str) -> str:
    """Return the command of *hook* without the guard."""
    return f"memsync hook {hook.name} --client {client}"


def guard(text: str) -> str:
    """Return the command *text* so that it always ends with 0, and without a word where memsync is gone."""
    return text + _GUARD


def run(hook: Hook, client: str) -> dict[str, Any]:
    """Return the handler of *hook* as most clients spell one; the time limit is in seconds."""
    return {"type": "command", "command": command(hook, client), "timeout": hook.limit}


def run_in_ms(hook: Hook, client: str) -> dict[str, Any]:
    """Return the handler with a name, and the time limit in milliseconds: so Gemini CLI reads it, and Qwen Code from 1,000 on."""
    return {"name": f"memsync-{hook.name}", **run(hook, client), "timeout": hook.limit * 1000}


def group(
    client: str, hooks: Iterable[Hook], handler: Callable[[Hook, str], Mapping[str, Any]] = run
) -> tuple[Entry, ...]:
    """Return *hooks* as entries in groups with a matcher, the form that Claude Code began."""
    return tuple(
        Entry(
            ("hooks", hook.event),
            {**({"matcher": hook.matcher} if hook.matcher else {}), "hooks": [handler(hook, client)]},
            "hooks",
            is_element=True,
        )
        for hook in hooks
    )


def server(*keys: str, kind: str = "", **more: Any) -> Entry:
    """Return our MCP server in the object at *keys*, with its type if *kind* says one, and with *more*."""
    first = {"type": kind} if kind else {}
    value = {**first, "command": "memsync", "args": ["mcp"], **more}
    return Entry((*(keys or ("mcpServers",)), SERVER), value, "MCP server")


def allow(*keys: str, pattern: str) -> tuple[Entry, ...]:
    """Return what lets a client use the reading tools without asking, as words in the list at *keys*."""
    return tuple(Entry(keys, pattern.format(name), "allowed tools", is_element=True) for name in READ_TOOLS)


def nested(event: str, text: str) -> dict[str, Any]:
    """Return the answer that most clients read."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def flat(_: str, text: str) -> dict[str, Any]:
    """Return the answer of clients that look at the top only."""
    return {"additionalContext": text}


def both(event: str, text: str) -> dict[str, Any]:
    """Return an answer for a client whose settings others read as well, that look at the top only."""
    return {**nested(event, text), **flat(event, text)}


def as_it_is(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *payload*: of a client that uses our names."""
    return payload


class Client(NamedTuple):
    """One client: what it is called, where its settings are, and how its hooks speak.

    `signs` are files of a project that it is used in. `after` says what the user has to do after `init`,
    `after_private` the same after `init --stealth`. `detects`: `init` connects it unasked where it is found.

    `lost` names the events at which what hooks added is gone from its context, for the given
    values of `source` or `trigger`, or ANY; `ignored` those that mean nothing. `turn` is the key that tells one
    event from the next. `read` gives a payload the names that we use, `prompt` takes away what the client
    puts before a prompt, `answer` spells what is added on an event.
    `keeps_start`: what was added at the start of a session is there again when it is resumed.
    `restates`: what begins a line of its transcript that says the whole context anew, as it is after a compaction.
    `keeps_prompts`: what was added to a prompt stays; else it is there for one request to the model.
    `asks`: a hook before a tool may have it ask the user, `denies`: may refuse the call, with a reason for the model.
    `looks_above`: started in a folder of the project it reads the settings that the project has in its root.
    `variables` of the environment are those that only the commands have which its agent runs.
    """

    name: str
    title: str
    home: Home
    files: tuple[File, ...]
    signs: tuple[str, ...] = ()
    after: str = ""
    after_private: str = ""
    hooks: tuple[Hook, ...] = ()
    turn: str = "prompt_id"
    lost: Mapping[str, Collection[str]] = {}
    ignored: Mapping[str, Collection[str]] = {}
    read: Callable[[Mapping[str, Any]], Mapping[str, Any]] = as_it_is
    prompt: Callable[[str], str] = typed
    answer: Callable[[str, str], dict[str, Any]] = nested
    keeps_start: bool = True
    restates: re.Pattern[bytes] | None = None
    keeps_prompts: bool = True
    asks: bool = False
    denies: bool = False
    looks_above: bool = True
    variables: tuple[str, ...] = ()

    @property
    def is_personal(self) -> bool:
        """Whether only the user has settings of this client, and no project."""
        return not any(file.project for file in self.files)

    def output_event(self, event: str) -> str:
        """Return what the client calls *event* in a hook's answer; "" where no answer can add context."""
        if event not in ("session-start", "prompt", "subagent-start", "pre-tool", "post-tool"):
            return ""
        return next((hook.event for hook in self.hooks if hook.name == event), "")

    def for_sender(self, payload: Mapping[str, Any]) -> Client:
        """Return this client as it answers who sent *payload*: with `both` only where that may be another than itself."""
        is_itself = self.answer is both and bool(payload.get("transcript_path"))  # which Copilot CLI does not say
        return self._replace(answer=nested) if is_itself else self

    def triggers(self, event: str, payload: Mapping[str, Any]) -> tuple[str, ...]:
        """Return which triggers of the lifecycles *event* pulls, in order: of a compaction at the event that says that it is so."""
        if _is_among(event, payload, self.ignored) or (event == "pre-compact" and event not in self.lost):
            return ()
        own = (_OWN[event],) if event in _OWN else ()
        if not _is_among(event, payload, self.lost):
            return own
        lost = (
            ("compact",) if event == "pre-compact" or payload.get("source") == "clear" else ("pre_compact", "compact")
        )
        return (*lost, *own) if event == "session-start" else (*own, *lost)


def _is_among(event: str, payload: Mapping[str, Any], table: Mapping[str, Collection[str]]) -> bool:
    if event not in table:
        return False
    return table[event] == ANY or (payload.get("source") or payload.get("trigger")) in table[event]


# Those with hooks, which `all` means; those that are told of the MCP server only; files that any client reads.
ALL: Final = ("claude", "codex", "gemini", "copilot", "opencode", "qwen", "antigravity")
SERVER_ONLY: Final = ("cursor", "vscode", "zed", "cline", "crush", "goose", "windsurf", "amp", "droid")
BLOCKS: Final = ("agents-md", "claude-md", "gemini-md", "codex-memories")
NAMES: Final = (*ALL, *SERVER_ONLY, *BLOCKS)
GROUP: Final = "memsync.clients"
# Where the constant is that is called as the client; of the others in a module of their own.
_MODULES: Final = {"qwen": "claude", **dict.fromkeys(SERVER_ONLY + BLOCKS, "servers")}


@cache
def find(name: str) -> Client:
    """Return the client called *name*. Ours are found without a look at the installed packages, for which a hook has no time.

    Raises:
        UsageError: the client is unknown.
    """
    if name in NAMES:
        module = import_module(f"memsync.clients.{_MODULES.get(name, name)}")
        found: Client = getattr(module, name.replace("-", "_").upper())
        return found
    others = {client.name: client for client in _list_others()}
    if name not in others:
        raise UsageError(f"unknown client {name!r}; choose one of {', '.join((*NAMES, *others))}")
    return others[name]


def list_names() -> tuple[str, ...]:
    """Return the name of every client, in the order in which they are told of."""
    return (*NAMES, *(client.name for client in _list_others()))


def every() -> tuple[Client, ...]:
    """Return every client."""
    return (*map(find, NAMES), *_list_others())


def find_shell(env: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the title of the client whose agent runs this process, and the variable of *env* that says so."""
    named = ((client.title, name) for client in every() for name in client.variables)
    return next((one for one in (*named, ("an agent", "AI_AGENT")) if env.get(one[1])), None)


@cache
def _list_others() -> tuple[Client, ...]:
    """Return the clients of other packages; none can take the name of one of ours."""
    from importlib.metadata import entry_points

    def load() -> Iterator[Client]:
        for point in entry_points(group=GROUP):
            found = point.load()
            if isinstance(found, Client) and found.name not in NAMES:
                yield found

    return tuple(sorted(load(), key=lambda client: client.name))
