"""The real clients, each with an empty environment, a home to throw away and a model on this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import prefork
from app_server import AppServer
from helpers import Ran, until
from models import SAYS, Anthropic, Chat, Google, Model, OpenAI
from terminal import in_terminal

# Read when the tests are collected: the sandbox moves HOME before each of them.
INSTALLED = Path(os.environ.get("AGENT_CLIENTS") or Path.home() / ".cache" / "agent-clients")
# The versions that this was measured with; npm takes older ones by itself where Node is older than they like.
PACKAGES = {
    "claude": "@anthropic-ai/claude-code@2.1.330",
    "codex": "@openai/codex@0.171.0",
    "gemini": "@google/gemini-cli@0.61.0",
    "mcp-inspector": "@modelcontextprotocol/inspector@2.12.0",
    "copilot": "@github/copilot@1.0.102",
    "opencode": "opencode-ai@1.18.33",
    "qwen": "@qwen-code/qwen-code@0.24.4",
}
_PATIENCE = 3600  # seconds for one turn, where much else is at work
_LIMITS = re.compile(r"(\"timeout(?:Sec)?\": |\btimeout: )(\d+)")
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
    # whether what is added at the start of a session is there when it is resumed, and how one is forked
    keeps_start = True
    # whether a compaction leaves the end of the conversation as it is
    keeps_end = False
    forking: tuple[str, ...] = ()
    # what its model does while it waits for a tool
    idle: tuple[str, Mapping[str, str]] = ("glob", {"pattern": "*.no{}"})
    # the tool that starts a subagent
    helper: tuple[str, Mapping[str, Any]] = ("", {})
    # what it is started by, where the project is seen differently
    door: Sequence[str] = ()

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.home = root, home
        self.place = root  # where it is started
        self.model = self.kind()
        self.model.idle = self.idle
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
            "MEMSYNC_HOOK_SECONDS": "600",
            "NODE_COMPILE_CACHE": str(INSTALLED / "compiled"),  # most of a turn is loading the client
            **self.settings(),
        }

    def settings(self) -> Mapping[str, str]:
        """Write what the client needs in its home, and return what it needs in its environment."""
        raise NotImplementedError

    def hooks_file(self) -> Path:
        """Return the file of the project's hooks."""
        raise NotImplementedError

    def be_patient(self) -> None:
        """Give the hooks a hundred times what they get from users, who share their machine with less."""
        path = self.hooks_file()
        for one in (path, self.home / path.relative_to(self.root)):  # also where users have their own
            if one.exists():
                one.write_text(
                    _LIMITS.sub(lambda found: f"{found[1]}{min(int(found[2]) * 100, 10**6)}", one.read_text())
                )

    def close(self) -> None:
        """Stop the model."""
        self.model.stop()

    def run(self, *words: str, stdin: str = "", timeout: float = _PATIENCE) -> Ran:
        """Run the client in the project."""
        done = subprocess.run(
            [*self.door, self.program, *words],
            cwd=self.place,
            env=self.env,
            input=stdin.encode(),
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    def memsync(self, *words: str, stdin: str | bytes = b"") -> Ran:
        """Run memsync as the user does, without the price of a cold start; what the client runs pays it."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [prefork.shared().bin / "memsync", *words],
            cwd=self.root,
            env=self.env,
            input=data,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
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

    def call(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return what a model says that calls our tool *name*."""
        return self.tool.format(name), arguments

    def fork(self, prompt: str) -> str:
        """Take a turn in a fork of the session, and return the conversation that the model saw at its end."""
        done = self.run(*self.forking, prompt)
        assert done.code == 0, done.out + done.err
        return json.dumps(self.new_in(self.model.turns[-1]), ensure_ascii=False)

    def new_in(self, body: Mapping[str, Any]) -> Any:
        """Return the conversation of a request, without instructions and tools."""
        raise NotImplementedError

    def compact(self) -> None:
        """Compact the session."""
        raise NotImplementedError

    @contextmanager
    def staying(self) -> Iterator[None]:
        """Keep one process for the turns that follow, where a new one for each costs many times a turn."""
        yield


_LOOK = {"description": "look", "prompt": "Find out what is needed"}


class Claude(Client):
    name, program, kind, tool = "claude", "claude", Anthropic, "mcp__memsync__{}"
    idle = ("ToolSearch", {"query": "select:No{}"})
    forking = ("--continue", "--fork-session", "-p")
    helper = ("Agent", {**_LOOK, "subagent_type": "general-purpose"})

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
        return self.run(*words, *(["--allowedTools", "mcp__memsync__*,Agent"] if tools else []))

    def new_in(self, body: Mapping[str, Any]) -> Any:
        return body["messages"]

    def compact(self) -> None:
        done = self.run("-p", "/compact", "--continue")
        assert done.code == 0, done.out + done.err


class Codex(Client):
    name, program, kind, tool = "codex", "codex", OpenAI, "mcp__memsync/{}"
    idle = ("list_mcp_resources", {})  # waits for the servers
    helper = ("multi_agent_v1/spawn_agent", {"message": "", "agent_type": "default"})

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

    def compact(self) -> None:
        with self.server() as server:
            thread = self.session()
            server.call("thread/resume", {"threadId": thread})
            server.call("thread/compact/start", {"threadId": thread})
            server.wait_for("turn/completed")

    @contextmanager
    def server(self) -> Iterator[AppServer]:
        """Run Codex as a server, whose hooks the user has approved."""
        with AppServer(self) as server:
            (listed,) = server.call("hooks/list", {"cwds": [str(self.root)]})["data"]
        self.trust(listed["hooks"])
        with AppServer(self) as server:
            yield server

    def trust(self, hooks: Iterable[Mapping[str, Any]]) -> None:
        """Approve *hooks* as the user does in `/hooks`: by the hash of what each runs."""
        path = self.home / ".codex" / "config.toml"
        if "[hooks.state" in path.read_text():
            return
        with path.open("a") as file:
            file.writelines(
                f"[hooks.state.{json.dumps(hook['key'])}]\ntrusted_hash = {json.dumps(hook['currentHash'])}\n"
                for hook in hooks
            )

    def session(self) -> str:
        """Return the id of the latest session."""
        return max((self.home / ".codex" / "sessions").rglob("rollout-*.jsonl")).stem[-36:]


class Gemini(Client):
    name, program, kind, tool = "gemini", "gemini", Google, "mcp_memsync_{}"
    helper = ("invoke_agent", {"agent_name": "generalist", "prompt": ""})
    keeps_end = True
    keeps_start = False

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
            "GEMINI_CLI_NO_RELAUNCH": "true",  # it would load itself twice, for more memory
            "CI": "1",
        }

    def hooks_file(self) -> Path:
        return self.root / ".gemini" / "settings.json"

    def turn(self, prompt: str, *, again: bool, tools: bool) -> Ran:
        words = ["-p", prompt, "-m", "gemini-2.5-flash", *(["-r", "latest"] if again else [])]
        return self.run(*words, *(["--approval-mode", "yolo"] if tools else []))

    def new_in(self, body: Mapping[str, Any]) -> Any:
        """Return the conversation, with each answer of a tool once: a resume says them again, whosever they are.

        https://github.com/google-gemini/gemini-cli/issues/29365, seen in 0.61.0.
        """
        seen: set[str] = set()

        def is_new(part: Mapping[str, Any]) -> bool:
            id_ = part.get("functionResponse", {}).get("id")
            is_known = id_ in seen
            seen.add(id_)
            return id_ is None or not is_known

        return [{**turn, "parts": [part for part in turn["parts"] if is_new(part)]} for turn in body["contents"]]

    def compact(self) -> None:
        """Say /compress where it is heard: in the client's own window."""
        env = {name: value for name, value in self.env.items() if name != "CI"}
        with in_terminal(["gemini", "-r", "latest"], env, self.root, _PATIENCE) as window:
            window.wait_for("Type your message")
            window.type("/compress")
            # Not before it is shown: what comes at once is taken for pasted, and its last key does not count.
            window.wait_for("> /compress")
            window.wait_for("Compresses the context")
            window.type("\r")
            while not window.wait_for("Compressing|ompress(?:ed|ion) ", seconds=5):
                window.type("\r")  # one that only closed the list of commands
            told = window.wait_for(
                "history compressed|(?:not beneficial|did not reduce|Could not|failed:|Nothing to).*"
            )
        assert told == "history compressed", told


class Chatting(Client):
    """A client that takes any model."""

    kind = Chat

    def new_in(self, body: Mapping[str, Any]) -> Any:
        return body["messages"]


class Copilot(Chatting):
    name, program, tool = "copilot", "copilot", "memsync-{}"
    keeps_start = False
    helper = ("task", {**_LOOK, "agent_type": "general-purpose", "name": "looker", "mode": "sync"})

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

    def compact(self) -> None:
        done = self.turn("/compact", again=True, tools=False)
        assert (done.code, "Compacted" in done.out) == (0, True), done.out + done.err


class OpenCode(Chatting):
    name, program, tool = "opencode", "opencode", "memsync_{}"
    forking = ("run", "--continue", "--fork")
    helper = ("task", {**_LOOK, "subagent_type": "general"})
    _kept = INSTALLED / "opencode-plugins"
    _address = ""

    def settings(self) -> Mapping[str, str]:
        model = {"name": "m1", "tool_call": True, "limit": {"context": 128_000, "output": 4096}}
        options = {"baseURL": self.model.url, "apiKey": "not-a-key"}
        here = {"npm": "@ai-sdk/openai-compatible", "name": "here", "options": options, "models": {"m1": model}}
        said = {"autoupdate": False, "share": "disabled", "model": "here/m1", "small_model": "here/m1"}
        (self.root / "opencode.json").write_text(json.dumps({**said, "provider": {"here": here}}))
        made = self.root / ".opencode"
        if self._kept.exists():
            shutil.copytree(self._kept, made, symlinks=True)
        else:
            made.mkdir()
            # as it writes one itself, without which it ends where the project is read-only
            (made / ".gitignore").write_text("node_modules\npackage.json\npackage-lock.json\nbun.lock\n.gitignore")
        (self.home / ".npm").symlink_to(INSTALLED / "npm-cache")  # it asks npm for packages first
        (INSTALLED / "npm-cache").mkdir(exist_ok=True)
        models = self.home / "models.json"  # else it reads all that there are, which takes a quarter of its start
        models.write_text("{}")
        off = ("AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS")
        return {"OPENCODE_MODELS_PATH": str(models), **{f"OPENCODE_DISABLE_{name}": "1" for name in off}}

    def close(self) -> None:
        """Keep what it installed for its plugins, which takes it longer than a turn, for the next project."""
        super().close()
        if not self._kept.exists() and (self.root / ".opencode" / "node_modules").exists():
            fresh = Path(tempfile.mkdtemp(dir=INSTALLED))
            shutil.copytree(self.root / ".opencode", fresh / "it", symlinks=True, ignore=lambda *_: {"plugins"})
            with suppress(OSError):  # another test was first
                (fresh / "it").rename(self._kept)
            shutil.rmtree(fresh)

    def turn(self, prompt: str, *, again: bool, tools: bool) -> Ran:
        attach = ["--attach", self._address] if self._address else []
        return self.run("run", *attach, *(["--continue"] if again else []), prompt)

    def hooks_file(self) -> Path:
        return self.root / ".opencode" / "plugins" / "memsync.js"

    def compact(self) -> None:
        listed = json.loads(self.run("session", "list", "--format", "json").out)
        heard = self.root / ".gobby" / "local" / "hooks.log"
        with self.staying():
            body = json.dumps({"providerID": "here", "modelID": "m1"}).encode()
            url, headers = f"{self._address}/session/{listed[0]['id']}/summarize", {"Content-Type": "application/json"}
            with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=_PATIENCE) as answer:
                assert answer.status == 200
            until(lambda: "post-compact" in heard.read_text(), _PATIENCE)

    @contextmanager
    def staying(self) -> Iterator[None]:
        words = ["opencode", "serve", "--port", "0"]
        server = subprocess.Popen(words, cwd=self.root, env=self.env, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            self._address = next(line for line in server.stdout if "http://" in line).split()[-1]
            yield
        finally:
            self._address = ""
            server.terminate()
            server.communicate()


class Qwen(Chatting):
    name, program, tool = "qwen", "qwen", "mcp__memsync__{}"
    helper = ("agent", {**_LOOK, "subagent_type": "general-purpose"})
    keeps_start = False
    forking = ("--continue", "--fork-session", "-p")

    def settings(self) -> Mapping[str, str]:
        chosen = {"OPENAI_API_KEY": "not-a-key", "OPENAI_BASE_URL": self.model.url, "OPENAI_MODEL": "m1"}
        return {"CI": "1", "QWEN_CODE_NO_RELAUNCH": "true", **chosen}

    def hooks_file(self) -> Path:
        return self.root / ".qwen" / "settings.json"

    def turn(self, prompt: str, *, again: bool, tools: bool) -> Ran:
        return self.run(*(["--continue"] if again else []), *(["-y"] if tools else []), "-p", prompt)

    def call(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        return "tool_call", {"name": self.tool.format(name), "arguments": arguments}

    def compact(self) -> None:
        done = self.run("--continue", "-p", "/compress")
        assert (done.code, "compressed" in done.out) == (0, True), done.out + done.err


CLIENTS: tuple[type[Client], ...] = (Claude, Codex, Gemini)
CHATTING: tuple[type[Client], ...] = (Copilot, OpenCode, Qwen)
