"""The real clients, each with an empty environment, a home to throw away and a model on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from helpers import Ran
from models import SAYS, Anthropic, Chat, Google, Model, OpenAI

# Read when the tests are collected: the sandbox moves HOME before each of them.
INSTALLED = Path(os.environ.get("AGENT_CLIENTS") or Path.home() / ".cache" / "agent-clients")
# The versions that this was measured with; npm takes older ones by itself where Node is older than they like.
PACKAGES = {
    "claude": "@anthropic-ai/claude-code@2.1.329",
    "codex": "@openai/codex@0.169.0",
    "gemini": "@google/gemini-cli@0.61.0",
    "mcp-inspector": "@modelcontextprotocol/inspector@2.12.0",
    "copilot": "@github/copilot@1.0.102",
    "opencode": "opencode-ai@1.18.33",
    "qwen": "@qwen-code/qwen-code@0.24.4",
}
_FOLDERS = {"mcp-inspector": "inspector"}


def folder(program: str) -> Path:
    """Return where npm puts *program*."""
    return INSTALLED / _FOLDERS.get(program, program) / "node_modules" / ".bin"


def why_missing(program: str) -> str:
    """Return why *program* cannot be run, and what to do; "" if it can."""
    if (folder(program) / program).exists() and shutil.which("node"):
        return ""
    into = INSTALLED / _FOLDERS.get(program, program)
    return f"REAL CLIENT MISSING: {program}; `npm install --prefix {into} {PACKAGES[program]}` brings it"


class Client:
    """One client in one project. `env` is all that it sees of the environment."""

    name: str
    program: str
    kind: type[Model]
    # how its model calls a tool of ours
    tool: str

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.home = root, home
        self.model = self.kind()
        shims = home / "bin"
        shims.mkdir(parents=True, exist_ok=True)
        (shims / "memsync").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memsync "$@"\n')
        (shims / "memsync").chmod(0o755)
        node = os.path.dirname(shutil.which("node") or "")
        newer = INSTALLED / "node22" / "node_modules" / ".bin"  # which some want
        path = f"{shims}:{folder(self.program)}:{newer}:{node}:/usr/local/bin:/usr/bin:/bin"
        self.env = {
            "HOME": str(home),
            "PATH": path,
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "GIT_CONFIG_NOSYSTEM": "1",
            **self.settings(),
        }

    def settings(self) -> Mapping[str, str]:
        """Write what the client needs in its home, and return what it needs in its environment."""
        raise NotImplementedError

    def hooks_file(self) -> Path:
        """Return the file of the project's hooks."""
        raise NotImplementedError

    def close(self) -> None:
        """Stop the model."""
        self.model.stop()

    def run(self, *words: str, stdin: str = "", timeout: float = 100) -> Ran:
        """Run the client in the project."""
        done = subprocess.run(
            [self.program, *words],
            cwd=self.root,
            env=self.env,
            input=stdin.encode(),
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    def memsync(self, *words: str, stdin: str | bytes = b"") -> Ran:
        """Run the memsync that the client finds."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            ["memsync", *words], cwd=self.root, env=self.env, input=data, capture_output=True, timeout=100, check=False
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def ask(self, prompt: str, *, again: bool = False, tools: bool = False) -> str:
        """Take one turn, in the session before if *again*, and return the conversation that the model saw at its end."""
        before = len(self.model.turns)
        done = self.turn(prompt, again=again, tools=tools)
        assert done.code == 0, f"{done.out}\n{done.err}"
        assert SAYS in done.out
        after = [
            turn for turn in self.model.turns[before:] if prompt in json.dumps(self.new_in(turn), ensure_ascii=False)
        ]
        return json.dumps(self.new_in(after[-1]), ensure_ascii=False)

    def turn(self, prompt: str, *, again: bool, tools: bool) -> Ran:
        """Run the client for one turn."""
        raise NotImplementedError

    def new_in(self, body: Mapping[str, Any]) -> Any:
        """Return the conversation of a request, without instructions and tools."""
        raise NotImplementedError

    def compact(self) -> None:
        """Compact the session."""
        raise NotImplementedError


class Claude(Client):
    name, program, kind, tool = "claude", "claude", Anthropic, "mcp__memsync__{}"

    def settings(self) -> Mapping[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.model.base,
            "ANTHROPIC_API_KEY": "not-a-key",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def hooks_file(self) -> Path:
        return self.root / ".claude" / "settings.json"

    def turn(self, prompt: str, *, again: bool, tools: bool) -> Ran:
        words = ["-p", prompt, *(["--continue"] if again else [])]
        return self.run(*words, *(["--allowedTools", "mcp__memsync__*"] if tools else []))

    def new_in(self, body: Mapping[str, Any]) -> Any:
        return body["messages"]

    def compact(self) -> None:
        done = self.run("-p", "/compact", "--continue")
        assert done.code == 0, done.out + done.err


class Codex(Client):
    name, program, kind, tool = "codex", "codex", OpenAI, "mcp__memsync/{}"

    def settings(self) -> Mapping[str, str]:
        directory = self.home / ".codex"
        directory.mkdir(exist_ok=True)
        (directory / "config.toml").write_text(
            'model = "gpt-5.5"\nmodel_provider = "here"\ncheck_for_update_on_startup = false\n'
            "[analytics]\nenabled = false\n"
            f'[model_providers.here]\nname = "here"\nbase_url = "{self.model.url}"\nwire_api = "responses"\n'
            'env_key = "NO_KEY"\nrequest_max_retries = 0\nstream_max_retries = 0\nsupports_websockets = false\n'
            f'[projects."{self.root}"]\ntrust_level = "trusted"\n'
        )
        return {"CODEX_HOME": str(directory), "NO_KEY": "not-a-key"}

    def hooks_file(self) -> Path:
        return self.root / ".codex" / "hooks.json"

    def turn(self, prompt: str, *, again: bool, tools: bool) -> Ran:
        words = [
            "exec",
            "--dangerously-bypass-hook-trust",
            "--skip-git-repo-check",
            *(["resume", "--last"] if again else []),
        ]
        return self.run(*words, prompt)

    def new_in(self, body: Mapping[str, Any]) -> Any:
        return body["input"]

    def trust(self, hooks: Iterable[Mapping[str, Any]]) -> None:
        """Approve *hooks* as the user does in `/hooks`: by the hash of what each runs."""
        with open(self.home / ".codex" / "config.toml", "a") as file:
            file.writelines(
                f"[hooks.state.{json.dumps(hook['key'])}]\ntrusted_hash = {json.dumps(hook['currentHash'])}\n"
                for hook in hooks
            )

    def session(self) -> str:
        """Return the id of the latest session."""
        return max((self.home / ".codex" / "sessions").rglob("rollout-*.jsonl")).stem[-36:]


class Gemini(Client):
    name, program, kind, tool = "gemini", "gemini", Google, "mcp_memsync_{}"

    def settings(self) -> Mapping[str, str]:
        directory = self.home / ".gemini"
        directory.mkdir(exist_ok=True)
        said = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
        (directory / "settings.json").write_text(json.dumps(said))
        return {
            "GEMINI_API_KEY": "not-a-key",
            "GOOGLE_GEMINI_BASE_URL": self.model.base,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_TELEMETRY_ENABLED": "false",
            "CI": "1",
        }

    def hooks_file(self) -> Path:
        return self.root / ".gemini" / "settings.json"

    def turn(self, prompt: str, *, again: bool, tools: bool) -> Ran:
        words = ["-p", prompt, "-m", "gemini-2.5-flash", *(["-r", "latest"] if again else [])]
        return self.run(*words, *(["--approval-mode", "yolo"] if tools else []))

    def new_in(self, body: Mapping[str, Any]) -> Any:
        return body["contents"]


class Chatting(Client):
    """A client that takes any model."""

    kind = Chat

    def new_in(self, body: Mapping[str, Any]) -> Any:
        return body["messages"]


class Copilot(Chatting):
    name, program, tool = "copilot", "copilot", "memsync-{}"

    def settings(self) -> Mapping[str, str]:
        return {
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_ALLOW_ALL": "true",  # and trust the folder
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": self.model.url,
            "COPILOT_PROVIDER_API_KEY": "not-a-key",
            "COPILOT_MODEL": "gpt-5.4",
        }

    def hooks_file(self) -> Path:
        return self.root / ".github" / "hooks" / "memsync.json"

    def turn(self, prompt: str, *, again: bool, tools: bool) -> Ran:
        sessions = (self.home / ".copilot" / "session-state").glob("*")
        latest = max(sessions, key=lambda path: path.stat().st_mtime).name if again else ""
        return self.run(*([f"--resume={latest}"] if latest else []), "-p", prompt)


class OpenCode(Chatting):
    name, program, tool = "opencode", "opencode", "memsync_{}"

    def settings(self) -> Mapping[str, str]:
        model = {"name": "m1", "tool_call": True, "limit": {"context": 128_000, "output": 4096}}
        options = {"baseURL": self.model.url, "apiKey": "not-a-key"}
        here = {"npm": "@ai-sdk/openai-compatible", "name": "here", "options": options, "models": {"m1": model}}
        said = {"autoupdate": False, "share": "disabled", "model": "here/m1", "small_model": "here/m1"}
        (self.root / "opencode.json").write_text(json.dumps({**said, "provider": {"here": here}}))
        off = ("AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS")
        return {f"OPENCODE_DISABLE_{name}": "1" for name in off}

    def turn(self, prompt: str, *, again: bool, tools: bool) -> Ran:
        return self.run(
            "run", *(["--continue"] if again else []), prompt, timeout=400
        )  # it asks npm for packages first


class Qwen(Chatting):
    name, program, tool = "qwen", "qwen", "mcp__memsync__{}"

    def settings(self) -> Mapping[str, str]:
        return {"CI": "1", "OPENAI_API_KEY": "not-a-key", "OPENAI_BASE_URL": self.model.url, "OPENAI_MODEL": "m1"}

    def hooks_file(self) -> Path:
        return self.root / ".qwen" / "settings.json"

    def turn(self, prompt: str, *, again: bool, tools: bool) -> Ran:
        return self.run(*(["--continue"] if again else []), "-p", prompt)


CLIENTS: tuple[type[Client], ...] = (Claude, Codex, Gemini)
CHATTING: tuple[type[Client], ...] = (Copilot, OpenCode, Qwen)
