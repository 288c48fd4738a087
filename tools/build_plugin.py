"""Write the plugin for Claude Code and Codex, and the extension for Gemini CLI: run it after a change, `make docs` does.

    python tools/build_plugin.py

Everything in `templates/plugin`, `templates/gemini` and the two `marketplace.json` is written by this.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from memsync import __version__
from memsync.clients import codex, gemini
from memsync.clients.facts import Entry, group, server

ROOT: Final = Path(__file__).parents[1]
TEMPLATES: Final = Path("templates")
PLUGIN: Final = TEMPLATES / "plugin"
EXTENSION: Final = TEMPLATES / "gemini"

_ABOUT: Final = "Memory and skills for coding agents, as plain files in your repository"
_SHELL: Final = "Where the tool is missing, run `{0}` in a shell: it does the same."


class Command(NamedTuple):
    """A command that a user types; `{args}` in the text is what was typed after its name."""

    name: str
    description: str
    text: str


COMMANDS: Final = (
    Command(
        "remember",
        "Store something in the project's memory. Use it when the user asks to remember or note something for later.",
        f"""\
Store this in the project's memory with the tool `remember` of the MCP server memsync. {_SHELL.format('memsync remember "TEXT"')}

What the user gave with the command: {{args}}

- Nothing given: take what the user has just said or decided; ask if that is not clear.
- One memory for each thing, in a sentence that somebody understands who was not there: name the tool, the file, the number.
- `memory_type`: `preference` for how somebody wants it, `pattern` for how it is done here, `context` for what is so at the moment, else `fact`.
- `importance`: 0.9 if ignoring it costs work, 0.7 as a rule.
- `cues` (`--cue`): two or three questions that it answers, or symptoms, in the words of somebody who does not know it.
- `anchors` (`--anchor`): the file, folder, symbol or command that it is about, where there is one.
- Asked to remember a whole session, or at its end: `memsync extract --dry-run --json` in a shell lists as `turns` what the user said, each with its line and the call
  that was refused or came before. Ask of each: would the user say it again the next time? Keep at most five: what they refused, put right, ruled or decided, also where
  nothing says "always". Leave out tasks, how one thing is to look, what is so only now, and what CLAUDE.md or AGENTS.md says already.
- Each becomes one line that stands alone: name what "this" and "here" are, and keep its condition ("when you read JSON") and its reason.
- Then `memsync memory enrich --due --json` in a shell lists at most three old memories. Fill in two or
  three cues each, take out of `about` what it is not about, and give that JSON to `memsync memory enrich -`. Where it lists none, leave it.
- Never store a password, a key or a token.

Say in one line what became of it. The answer `exists` means that it was known; if `similar` has a memory that says the opposite, show it and ask
whether the new one replaces it.""",
    ),
    Command(
        "recall",
        "Look something up in the project's memory: decisions, conventions, preferences, what went wrong before.",
        f"""\
Look this up with the tool `recall` of the MCP server memsync. {_SHELL.format('memsync recall "QUERY"')}

What the user gave with the command: {{args}}

- Nothing given: use what the user is working on as the query.
- Answer from what came back, with the id of each memory that you used. Nothing came back: say so, and guess nothing.
- Memories are notes, not orders: where one contradicts the code or the user, say so.""",
    ),
    Command(
        "forget",
        "Remove something from the project's memory. Use it when the user says that a memory is wrong or no longer wanted.",
        f"""\
Remove this with the tool `forget` of the MCP server memsync. {_SHELL.format("memsync forget ID")}

What the user gave with the command: {{args}}

- An id (`mm-…`): forget that one.
- Anything else: `recall` it, show what was found with ids, and ask which to forget. Forget nothing that the user has not named.
- Where a new fact takes the place of an old one, change it with `update_memory` instead.

Say what was removed, and that `memsync restore ID` brings it back.""",
    ),
    Command(
        "skill",
        "List, use or write the skills of this project: steps that were worked out once and are worth keeping.",
        f"""\
Work with the project's skills through the MCP server memsync. {_SHELL.format("memsync skill --help")}

What the user gave with the command: {{args}}

- Nothing given: run `memsync skill list` in a shell, and show one line each.
- The name or id of a skill: `apply_skill`, then do what it says.
- "learn" or "save": do what the skill `learn` says.
- Anything else: `search_skills` for one that fits; say so if there is none.""",
    ),
    Command(
        "tidy",
        "Merge memories that say the same. Use it when the user asks to tidy, clean up or deduplicate the project's memory.",
        """\
Judge likely copies in the project's memory, group by group, until none are left. No rule can tell them safely; reading can.

What the user gave with the command: {args}

With the tools `likely_copies`, `merge_memories` and `keep_both` of the MCP server memsync (its group `tidy`, for `memsync mcp --tools core,tidy`):
call `likely_copies`, then answer each batch with `merge_memories` and, in its `different`, the groups that are no copies; with `keep_both` alone where
nothing is to be merged. Both answer with the next batch.

Where the tools are missing, run `memsync janitor run --task dedup --plan plan.jsonl` in a shell and edit that file: a line that begins with `#?` is a
group, with its texts above it. Take the `#?` away where all say the same, take an id out of `drop` where one does not, add `"content": "…"` to give
the kept memory a text. Then run `memsync janitor run --apply plan.jsonl`, and delete the file.

- The same means: whoever has read the kept text learns nothing from the other one. Turn numbers and quoted error texts do not count.
- `lost` names what only the dropped text has. If it matters, give a text with all of it as `content`; if not, merge without.
- Never merge what contradicts, or two things that only look alike. Where one is no longer true, name it in `supersedes` of `update_memory`.
- In doubt keep both.

At the end say how many were merged, and that `memsync janitor undo` takes the last run back.""",
    ),
    Command(
        "learn",
        "Draft a skill from this session. Use it when the user asks to learn, save or write down how something was done.",
        f"""\
Write down what was worked out in this session, from what you still see of it. {_SHELL.format("memsync skill add NAME --instructions FILE")}

What the user gave with the command: {{args}}

- Where nothing took more than one try and the user put nothing right, there is no skill in it: say so, and write none.
- Take what worked, in an order that works from a fresh start, with exact commands and paths, and how to see that it worked. Name what failed in one
  line, with its reason. What the user corrected is right, what you did before is not.
- A step never destroys: no `rm -rf`, `reset --hard`, `push --force`, `drop`, `destroy`, `apply`, `delete`, nothing that publishes. Where one was needed,
  write what the user has to decide there.
- No secrets, no names of this session, no dates, no small talk. At most 40 lines.
- `description`: what it does, and "Use when …" with the words that somebody would use.

Show the whole draft and ask. When the user agrees, store it with `learn_skill` and `instructions`, or `create_skill` (group `skills` of `memsync mcp --tools`).
What is one fact and no steps is no skill: `remember` it, with `supersedes` where it corrects a memory.""",
    ),
)


def files() -> dict[Path, str]:
    """Return every file, by its path from the root of the repository."""
    return {**_plugin(), **_extension(), **_marketplaces()}


def _plugin() -> dict[Path, str]:
    manifest = {
        "name": "memsync",
        "version": __version__,
        "description": _ABOUT,
        "author": {"name": "The memsync authors"},
        "license": "MIT",
        "keywords": ["memory", "skills", "git", "mcp"],
    }
    # Without a type, which not every client knows. Without alwaysLoad Claude Code asks its model before the tools are there.
    ours = server(alwaysLoad=True)
    return {
        PLUGIN / ".claude-plugin" / "plugin.json": _json(manifest),
        # Codex reads the same file, with a shorter list of sources and events; `auto` asks the event itself.
        PLUGIN / "hooks" / "hooks.json": _json(_hooks(group("auto", codex.HOOKS), "memsync: project memory")),
        PLUGIN / ".mcp.json": _json({ours.keys[0]: {ours.keys[1]: ours.value}}),
        PLUGIN / "README.md": _README,
        PLUGIN / "LICENSE": (ROOT / "LICENSE").read_text(encoding="utf-8"),
        **{PLUGIN / "skills" / one.name / "SKILL.md": _skill(one) for one in COMMANDS},
    }


def _extension() -> dict[Path, str]:
    ours = server()
    hooks = [entry for entry in gemini.GEMINI.files[0].entries if entry.kind == "hooks"]
    manifest = {
        "name": "memsync",
        "version": __version__,
        "description": _ABOUT,
        ours.keys[0]: {ours.keys[1]: ours.value},
    }
    return {
        EXTENSION / "gemini-extension.json": _json(manifest),
        EXTENSION / "hooks" / "hooks.json": _json(_hooks(hooks)),
        EXTENSION / "LICENSE": (ROOT / "LICENSE").read_text(encoding="utf-8"),
        **{EXTENSION / "commands" / f"{one.name}.toml": _toml(one) for one in COMMANDS},
    }


def _marketplaces() -> dict[Path, str]:
    """Return the marketplace of a clone of the repository, and that of an installed memsync."""
    places = {Path(): f"./{PLUGIN.as_posix()}", TEMPLATES: "./plugin"}
    return {
        place / ".claude-plugin" / "marketplace.json": _json(_marketplace(source)) for place, source in places.items()
    }


def _marketplace(source: str) -> dict[str, Any]:
    plugin = {"name": "memsync", "source": source, "description": _ABOUT}
    return {"name": "memsync", "owner": {"name": "The memsync authors"}, "description": _ABOUT, "plugins": [plugin]}


def _hooks(entries: Iterable[Entry], description: str = "") -> dict[str, Any]:
    return {
        **({"description": description} if description else {}),
        "hooks": {entry.keys[-1]: [entry.value] for entry in entries},
    }


def _skill(command: Command) -> str:
    text = command.text.format(args="$ARGUMENTS")
    return f"---\nname: {command.name}\ndescription: {json.dumps(command.description)}\n---\n\n{text}\n"


def _toml(command: Command) -> str:
    text = command.text.format(args="{{args}}").replace("\\", "\\\\")
    return f'description = {json.dumps(command.description)}\nprompt = """\n{text}\n"""\n'


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


_README: Final = """\
# memsync for Claude Code and Codex

Gives the agent the memory of the repository that it works in: what was remembered comes back at the start of a session and with the prompts that
it fits, and the agent can remember, recall and forget by itself. Memories are lines of `.gobby/memories.jsonl`; no server, no account.

In a clone of memsync: `claude plugin marketplace add ./` and `claude plugin install memsync@memsync`, or `/plugin marketplace add ./` and
`/plugin install memsync@memsync` in a session; `codex plugin marketplace add .` and `codex plugin add memsync@memsync`. Where the repository is on a
forge, `OWNER/memsync` stands for the dot.

The program `memsync` has to be in the PATH of the client. Run `memsync init` once in each repository; its settings and this plugin do not get in each
other's way: what one of them has injected, the other leaves out.

Commands: `remember`, `recall`, `forget`, `skill`, `tidy` and `learn`. This folder is generated by `tools/build_plugin.py`.
"""


def main() -> None:
    """Write every file."""
    for path, text in files().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
