"""`memsync hook EVENT --client NAME`: what the agents call. Nothing that happens here may cost the user a turn.

Exit code 0 always, JSON or nothing on standard output, two seconds of work at most.
Reached without click, whose usage errors exit 2, which blocks a prompt in every client.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from typing import TYPE_CHECKING

from memsync.agents import wire
from memsync.system import limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn

    from memsync.agents.injection import Reply
    from memsync.clients.facts import Client
    from memsync.memories.project import Project
    from memsync.store.config import Loaded
    from memsync.store.places import Layout

_SHARE = 0.25  # of the time, that servers may take to answer; then the hook answers itself
_REST = 0.25  # of the time, for reading what others wrote, once the answer is out
_AGAIN = 300.0  # seconds after which an index that took too long is tried again
_NAME = f"{os.getpid()}-{time.time_ns()}"  # of this hook, beside a twin of it
_at_work: list[str] = []  # where this process answers by itself
_answered: list[str] = []  # what this process has answered
_claimed: list[str] = []  # the mark by which others know that this process does what they had no time for
_printed: list[str] = []  # what it has said, or begun to say
# How a text is spelled for the client, if it takes one at the event.
_speaks: list[Callable[[str], dict[str, Any]]] = []
_LONGEST_WHY = 500  # characters
_LONG = 600.0  # seconds that the work at the end of a session may take
_NEAR = 2  # processes up from a hook: a shell, and the client
_LONGEST = 16 * 1024 * 1024  # bytes of a payload that are read
_STARTING = ("prompt", "session-start")  # the hooks that may start what answers the next ones
_TOOLS = ("pre-tool", "post-tool")


def main(words: Sequence[str]) -> NoReturn:
    """Answer the hook that *words* name, from a running server of the project or here, and end the process."""
    try:
        event, client = parse(words)
        wait = wire.longest_wait(os.environ, event)
        _start_clock(wait, own=wire.bound(os.environ), will_fork=event == "session-end")
        gc.disable()  # there is memory for two seconds, and a tenth of them to gain
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # starting others takes as long
        if os.environ.get("MEMSYNC_HOOKS") != "off":
            _answer(event, client)
    except BaseException as error:  # noqa: BLE001 - the boundary of all: the user's turn goes on
        _complain(error)
        from memsync.errors import MemsyncError

        _tell(f"{error}" if isinstance(error, MemsyncError) else f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)  # neither threads nor buffers of ours may delay the turn


def _start_clock(seconds: float, *, own: float | None = None, will_fork: bool = False) -> None:
    def give_up() -> int:
        if not _answered:
            time_out = (
                f"{seconds:g} seconds" if own in (None, seconds) else f"{own:g} seconds of work or {seconds:g} in all"
            )
            why = f"gave nothing in {time_out}; MEMSYNC_HOOK_SECONDS allows more"
            _complain(TimeoutError(why))
            _tell(f"the hook {why}")
        if _at_work and _claim(_at_work[0]):
            from memsync.system import programs

            programs.start_apart("-C", _at_work[0], "index", "rebuild")  # for a later hook
        return 0

    limits.start_clock(seconds, give_up, own=own, will_fork=will_fork)


def _claim(cwd: str) -> bool:
    """Tell whether this hook, of all that run now, is to see to what none of them had time for."""
    from pathlib import Path

    from memsync.errors import StoreError
    from memsync.store.lock import lock
    from memsync.system.home import run_dir

    if _claimed:
        return True
    mark = f"{run_dir(os.path.realpath(cwd), os.environ)}.indexing"
    with contextlib.suppress(OSError, StoreError):
        os.makedirs(os.path.dirname(mark), mode=0o700, exist_ok=True)
        with lock(Path(f"{mark}.lock"), wait=0.0):
            if not os.path.exists(mark) or time.time() - os.stat(mark).st_mtime >= _AGAIN:
                with open(mark, "w", encoding="ascii"):
                    _claimed.append(mark)
    return bool(_claimed)


def _tell(why: str) -> None:
    """Say in the client's words that memory is unavailable: silence would be taken for nothing to know."""
    if _speaks and not _printed:
        import json

        text = f"memory is unavailable: {' '.join(why.split())[:_LONGEST_WHY]}"
        with contextlib.suppress(OSError):
            _print(json.dumps({**_speaks[0](text.replace("<", "‹")), "systemMessage": f"memsync: {text}"}))


def parse(words: Sequence[str]) -> tuple[str, str]:
    """Return event and client; words that are not understood are ignored."""
    event, client = "", "claude"
    rest = iter(words)
    for word in rest:
        if word == "--client":
            client = next(rest, client)
        elif word.startswith("--client="):
            client = word.removeprefix("--client=")
        elif not word.startswith("-") and not event:
            event = word
    return event, client


def _answer(event: str, client: str) -> None:
    payload = _read_payload()
    if client == "auto":
        client = find_sender(payload)
    cwd = find_place(payload)
    if event in _TOOLS:
        from memsync.agents.toolcall import is_quiet

        if is_quiet(event, client, payload, cwd, os.environ):
            return
    if event == "session-end":
        _leave()
    if event == "session-start":
        from itertools import islice

        from memsync.system.programs import walk_up

        near = list(islice(walk_up(), _NEAR))
        payload["client_pids"] = [pid for pid, _ in near]
        if payload.get("source") == "fork":  # no client says of which session
            payload["client_words"] = [word for _, words in near for word in words]
    about, seconds = (
        {"event": event, "client": client, "payload": payload, "by": _NAME},
        _SHARE * wire.bound(os.environ),
    )
    is_answered = event != "session-end" and wire.ask(about, cwd, os.environ, seconds, _print)
    if not (is_answered or (event == "prompt" and _pass_over_small_talk(client, payload, cwd))):
        _answer_here(event, client, cwd, payload)


def _read_payload() -> dict[str, Any]:
    import json

    raw = os.read(0, _LONGEST)
    while part := os.read(0, _LONGEST - len(raw)) if len(raw) < _LONGEST else b"":
        raw += part
    raw = raw.removeprefix(b"\xef\xbb\xbf")  # a codec of its own does no more
    payload = json.loads(raw.decode("utf-8", "replace") or "{}")
    if not isinstance(payload, dict):
        raise TypeError("the payload is not an object")
    return payload


def _pass_over_small_talk(client: str, payload: Mapping[str, Any], cwd: str) -> bool:
    """Note a prompt that is small talk, and tell whether that was all there is to do: no store is asked then."""
    from memsync.agents.prompts import small_talk

    said = str(payload.get("prompt") or "")
    if not (small_talk(said) or said.lstrip().startswith("<")):  # the client puts its own words before the user's
        return False
    from memsync.agents.notes import pass_over
    from memsync.clients import facts

    return pass_over(facts.find(client), payload, cwd, os.environ)


def find_place(payload: Mapping[str, Any]) -> str:
    """Return the directory that *payload* is about; a client may name several, or none and stand in it."""
    roots = payload.get("workspacePaths")
    for path in (payload.get("cwd"), *(roots if isinstance(roots, list) else ())):
        if isinstance(path, str) and os.path.isdir(path):
            return path
    return os.getcwd()


def find_sender(payload: Mapping[str, Any]) -> str:
    """Return which client has sent *payload*: one plugin serves Claude Code and Codex with the same command."""
    transcript = os.path.basename(str(payload.get("transcript_path") or ""))
    is_start = payload.get("hook_event_name") == "SessionStart"
    if "turn_id" in payload or transcript.startswith("rollout-") or (is_start and "permission_mode" in payload):
        return "codex"
    return "gemini" if "timestamp" in payload else "claude"


def _leave() -> None:
    """Let the client go on, and work on in a process that holds nothing of it.

    At the end of a session a client waits for hardly a second, and kills what is still there.
    """
    if sys.platform == "win32":
        return
    if os.fork():
        os._exit(0)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    _at_work.clear()
    _start_clock(_LONG)  # threads stay behind in a fork


def _answer_here(event: str, client: str, cwd: str, payload: Mapping[str, Any]) -> None:
    _at_work.append(cwd)
    from memsync.clients import facts

    sender = facts.find(client).for_sender(payload)
    if (name := sender.output_event(event)) and event not in _TOOLS:  # else it would be said at each call
        _speaks.append(lambda text: sender.answer(name, text))
    ground = None
    if event == "prompt":
        from memsync.agents import notes

        ground = notes.find_ground(sender, payload, cwd, os.environ)
        if ground and notes.is_unanswered(ground, sender, payload):
            notes.note_unanswered(ground, sender, payload)
            _answered.append(event)
            _start_another(event, ground.layout, ground.loaded)
            return
    from memsync.memories.project import Project

    with Project(ground.layout, loaded=ground.loaded, index=ground.file) if ground else Project.open(cwd) as project:
        project.be_brief()
        if event in _TOOLS and _is_quiet_by_now(project, event, client, payload, cwd):
            _answered.append(event)
        else:
            _answer_by(project, sender, event, cwd, payload)
    project.stores.close()


def _answer_by(project: Project, sender: Client, event: str, cwd: str, payload: Mapping[str, Any]) -> None:
    """Print what *project* answers, and do afterwards what is due."""
    from memsync.agents.hooks import answer

    reply: Reply = answer(project, sender, event, payload, _NAME)
    try:
        _print(reply.out)
    except OSError:
        reply.lost()
        raise
    reply.used()
    _answered.append(event)
    if project.has_changed:
        from memsync.memories.undoing import note_steps

        note_steps(project, "(a hook of an agent)")
    _start_another(event, project.layout, project.loaded)
    if project.is_behind and _claim(cwd):
        if not project.screen_all(seconds=_REST * wire.bound(os.environ)):
            from memsync.system import programs

            programs.start_apart("-C", cwd, "index", "rebuild")
        else:
            os.unlink(_claimed.pop())


def _is_quiet_by_now(project: Project, event: str, client: str, payload: Mapping[str, Any], cwd: str) -> bool:
    """Tell whether nothing is known of the call, once the lookup file is as the stores are."""
    from memsync.agents.toolcall import is_quiet
    from memsync.memories.anchored import refresh_lookup

    return refresh_lookup(project) and is_quiet(event, client, payload, cwd, os.environ)


def _start_another(event: str, layout: Layout, loaded: Loaded) -> None:
    """Start the process that answers the next hooks, where the user wants one."""
    if event in _STARTING and loaded.settings.resident:
        wire.start_server(layout, os.environ)


def _print(text: str) -> None:
    _printed.append(text)
    data = text.encode()
    while data:
        data = data[os.write(1, data) :]


def _complain(error: BaseException) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"memsync hook: {type(error).__name__}: {error}\n".encode("utf-8", "replace"))
