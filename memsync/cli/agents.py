"""`memsync hook`, `inject`, `sessions`, `workflow` and `statusline`: what agents are given, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from memsync.agents.actions import ACTIONS
from memsync.agents.explain import MEANINGS, Evidence, Explained, Verdict, explain_tool
from memsync.agents.explain import explain as explained
from memsync.agents.hooks import check_workflows, run_trigger
from memsync.agents.session import RecallSession
from memsync.agents.sessions import Event, Session, find_session, list_sessions
from memsync.agents.toolcall import ToolCall
from memsync.cli import render
from memsync.cli.app import Answer, cli, command, print_answer, wants_json
from memsync.cli.terminal import keys
from memsync.cli.words import is_dialogue
from memsync.clients.facts import EVENTS
from memsync.errors import UsageError
from memsync.memories.project import Project
from memsync.records import parse_time, short_id
from memsync.store.workflow import TRIGGERS, load
from memsync.system.texts import count

_NEARLY: Final = 0.1  # confidence from which a memory came near enough to say why
_LONGEST: Final = 100  # characters of a part of a prompt
_session_option = click.option("--session", "session_id", default="", metavar="ID", help="The agent session it is for.")


@cli.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("event", metavar="|".join(EVENTS))
@click.option("--client", metavar="NAME", default="claude", help="Whose hook it is.")
def hook(event: str, client: str) -> None:
    """Answer a hook of an agent client.

    Reads the client's JSON from standard input and prints what it shall add to
    the context, or nothing. Ends within seconds with code 0, whatever
    happens; .gobby/local/hooks.log says what did.

    \b
    Example:
      echo '{"session_id":"1","prompt":"which port?"}' | memsync hook prompt --client claude
    """
    # Not reached from the command line, which takes a shorter way: the help is here.
    from memsync.agents.entry import main

    main([event, "--client", client])


@command(cli)
@click.option("--prompt", metavar="TEXT", help="What the user says; without it, what a session begins with.")
@click.option("--tool", metavar="NAME", help="Before that tool instead: Edit, Write or Bash.")
@click.option("--path", metavar="FILE", help="The file that the tool changes.")
@click.option("--command", "line", metavar="LINE", help="The line that the tool runs.")
@click.option("--error", metavar="TEXT", help="What the line said when it failed.")
@_session_option
@click.option(
    "--explain", is_flag=True, help="Also say why: what spoke for each line, and what was left out by which rule."
)
def inject(project: Project, /, prompt: str | None, session_id: str, explain: bool, **about: str | None) -> Answer:
    """Show what an agent would be given now. Notes nothing.

    --explain says of each memory that came near by which rule it was given or
    not, which rare words of the prompt it has, has otherwise or lacks, and for
    which place that the prompt names; and why, where nothing is given.

    \b
    Examples:
      memsync inject
      memsync inject --prompt "which port does staging use?" --explain
      memsync inject --tool Edit --path src/client.py --explain
      memsync inject --tool Bash --command "git push --force"
    """
    session = RecallSession(project, session_id)
    found = _explain_tool(session, prompt, **about) if any(about.values()) else explained(session, prompt)
    text = found.injection.text or f"nothing: {found.injection.reason}"
    return Answer(found, "\n".join([text, *_list_verdicts(found)])) if explain else Answer(found.injection, text)


def _explain_tool(
    session: RecallSession, prompt: str | None, tool: str | None, path: str | None, line: str | None, error: str | None
) -> Explained:
    if prompt is not None or bool(path) == bool(line) or (error and not line):
        raise UsageError("a tool needs --path FILE or --command LINE, and no --prompt; --error goes with --command")
    given = {"file_path": path} if path else {"command": line}
    call = ToolCall({"tool_name": tool or ("Edit" if path else "Bash"), "tool_input": given, "error": error})
    return explain_tool(session, call, str(session.project.layout.start))


def _list_verdicts(found: Explained) -> list[str]:
    lines = [line for verdict in found.verdicts for line in _explain_verdict(verdict)]
    gate, needed = found.injection, found.needed
    beside = f", a line needs {needed:.2f}" if needed and gate.gate >= gate.floor else ""
    lines += [f"gate {gate.gate:.2f}, floor {gate.floor:.2f}{beside}"] if gate.floor else []
    return [*lines, *filter(None, [found.why])]


def _explain_verdict(verdict: Verdict) -> Iterator[str]:
    rule = click.style(verdict.rule, fg="green" if verdict.rule == "given" else "yellow")
    sure = "" if verdict.confidence is None else f"confidence {verdict.confidence:.2f} "
    alike = f": {short_id(verdict.evidence.alike)}" if verdict.evidence.alike else ""
    yield f"{short_id(verdict.entry.id)} {sure}{rule}: {MEANINGS[verdict.rule]}{alike}"
    if verdict.evidence.why or (verdict.confidence or 0.0) >= _NEARLY:
        yield from (click.style(f"    {line}", dim=True) for line in _explain_evidence(verdict.evidence))


def _explain_evidence(evidence: Evidence) -> Iterator[str]:
    instead = [f"{asked} as {has}" for asked, has in evidence.instead]
    told = {"has": evidence.has, "has otherwise": instead, "lacks": evidence.lacks}
    if said := "; ".join(f"{name}: {', '.join(map(render.one_line, words))}" for name, words in told.items() if words):
        yield said
    if evidence.why:
        yield render.one_line(evidence.why)
    if evidence.tags:
        yield f"tagged {', '.join(map(render.one_line, evidence.tags))}, which the prompt names"
    if evidence.place:
        yield f"anchored to {render.one_line(evidence.place)}, which the prompt names"
    if evidence.part:
        yield f"found by a part of the prompt: {render.one_line(evidence.part)[:_LONGEST]}"


@command(cli)
@click.argument("words", metavar="[show [ID]]", nargs=-1)
def sessions(project: Project, /, words: tuple[str, ...]) -> Answer | None:
    """List the sessions of your agents, or show what one was given, and why.

    An ID may be shortened; without one the latest session is shown. Only
    sessions of this machine are known, from .gobby/local/state.db. In a
    terminal the key t then makes a memory test of a prompt (`memsync test`).

    \b
    Examples:
      memsync sessions
      memsync sessions show
      memsync sessions show 6f4786a5 --json
    """
    found = list_sessions(project)
    if not words:
        value = {"count": len(found), "sessions": [one.summary() for one in found]}
        return Answer(value, "\n".join(map(_spell_session, found)) or "no session yet")
    if words[0] != "show" or len(words) > 2:
        raise UsageError("`memsync sessions` takes nothing, or `show` and the id of a session")
    one = find_session(found, "".join(words[1:]))
    answer = Answer(one, "\n".join([_spell_session(one), *map(_spell_event, one.events)]))
    if not is_dialogue() or wants_json():
        return answer
    print_answer(answer, as_json=False)
    _offer_test(project)
    return None


def _offer_test(project: Project) -> None:
    """Make a test of a prompt of the session, whose words are in no log, if the user wants one."""
    with keys() as key:
        click.echo("t makes a memory test of a prompt, any other key ends > ", nl=False)
        if key().lower() != "t":
            return
    from memsync.agents.memory_tests import add_case

    prompt = click.prompt("\nthe prompt", prompt_suffix=" > ")
    ids = click.prompt(
        "ids that it must be given (none: nothing may be)", default="", show_default=False, prompt_suffix=" > "
    )
    case = add_case(project, {"prompt": prompt}, [project.get(id_, "project").id for id_ in ids.split()])
    click.echo(f"wrote {render.one_line(case.raw.decode())}; `memsync test` runs it")


def _spell_session(session: Session) -> str:
    counts = ((session.count(what), what) for what in ("given", "recalled", "stored", "changed"))
    said = ", ".join(f"{n} {what}" for n, what in counts if n) or "nothing given"
    last = _spell_time(session.events[-1].at)
    return f"{render.one_line(session.id)} ({render.one_line(session.client or 'no hooks')}, {last}): {said}"


def _spell_event(event: Event) -> str:
    about = f" {short_id(event.id)}" if event.id else " given" if event.what == "nothing" else ""
    text = f" {render.one_line(event.content)}" if event.content else ""
    return f"  {_spell_time(event.at)}  {event.what}{about}: {render.one_line(event.why)}{text and ':' + text}"


def _spell_time(at: str) -> str:
    moment = parse_time(at)
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else "no date"


@cli.group()
def workflow() -> None:
    """Show, check and run what happens during an agent's session."""


@command(workflow, is_quiet=True)
def list_(project: Project, /) -> Answer:
    """Show which actions run when, which file says so, and which actions there are.

    \b
    Example:
      memsync workflow list
    """
    found = load(project.layout)
    value = {
        "triggers": found.steps,
        "actions": {name: list(action.params) for name, action in ACTIONS.items()},
        "problems": found.problems,
        "waiting": [one.name for one in found.waiting],
    }
    lines = []
    for name, steps in found.steps.items():
        lines.append(click.style(f"on_{name}", bold=True))
        for step in steps:
            params = "".join(f" {name}={value}" for name, value in step.params.items())
            lines.append(f"  {step.action}{params}  ({step.source})")
        lines += [] if steps else ["  nothing"]
    lines.append(f"actions: {', '.join(ACTIONS)}")
    lines += [f"{click.style('problem', fg='yellow')} {render.one_line(problem)}" for problem in found.problems]
    lines += render.waiting([one.name for one in found.waiting])
    return Answer(value, "\n".join(lines))


@command(workflow)
@click.argument("trigger", metavar="|".join(TRIGGERS))
@click.option("--prompt", default="", metavar="TEXT", help="The text for {user_prompt}.")
@_session_option
def run(project: Project, /, trigger: str, prompt: str, session_id: str) -> Answer:
    """Run the actions of one trigger, as a hook does, and show what each returned.

    \b
    Example:
      memsync workflow run prompt --prompt "which port?" --session me
    """
    outcomes = run_trigger(project, trigger, session_id=session_id, prompt=prompt)
    value = {"trigger": trigger, "outcomes": [{"action": name, "result": dict(result)} for name, result in outcomes]}
    lines = [f"{name}: {render.to_json(dict(result))}" for name, result in outcomes] or ["nothing runs then"]
    failed = any("error" in result for _, result in outcomes)
    return Answer(value, "\n".join(lines), 1 if failed else 0)


@command(workflow)
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def validate(project: Project, /, files: tuple[Path, ...]) -> Answer:
    """Check FILES, or the project's own workflows; exit 1 if anything is wrong.

    \b
    Examples:
      memsync workflow validate
      memsync workflow validate .gobby/workflows/session-lifecycle.yaml
    """
    checked, problems = check_workflows(project, files)
    value = {"files": checked, "problems": problems}
    text = "\n".join(map(render.one_line, problems)) or f"{count(len(checked), 'file')} checked, nothing is wrong"
    return Answer(value, text, 1 if problems else 0)


@cli.command()
def statusline() -> None:
    """Print one short line on this project: how many memories, and how many the session was given.

    Claude Code passes its session on standard input. In the prompt of a shell
    the line has the number of memories alone. Nothing where there are none.

    \b
    Examples:
      memsync statusline
      echo '{"session_id":"1"}' | memsync statusline
    """
    # Not reached from the command line, which takes a shorter way: the help is here.
    from memsync.agents.statusline import main

    main()
