"""The command tree, the one error boundary and the options that commands share."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial, update_wrapper
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from memsync import __version__
from memsync.cli.terminal import choose_colour, page, track
from memsync.cli.words import ALIASES, EVERY_DAY, suggest
from memsync.errors import MemsyncError
from memsync.system import logs
from memsync.system.logs import prepare

if TYPE_CHECKING:
    from memsync.memories.project import Project

T = TypeVar("T")

_JSON: Final = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object.")
_UNEXPECTED: Final = 3
_INTERRUPTED: Final = 130
_MANY: Final = 5_000  # memories whose first index takes long enough to show that it goes on
_NO_OUTPUT: Final = {errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG}


class LazyGroup(click.Group):
    """A group in the order of the help: its own commands, then those of the modules in *homes*.

    Each home is a module of this package and the names of the commands that it adds when it is imported.
    """

    group_class: type[click.Group | type] | None = type
    shortcuts: Sequence[str] = ()  # other names that are offered

    def __init__(self, *args: Any, homes: Sequence[tuple[str, str]] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._homes = {name: module for module, names in homes for name in names.split()}
        self.commands = {name: click.Command(name) for name in self._homes}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help, without other names of the same."""
        names = sorted(self.commands, key=lambda name: name in self._homes)
        if "_MEMSYNC_COMPLETE" not in os.environ:
            return names
        return [*names, *(name for name in self.shortcuts if name not in names)]

    def list_known(self, ctx: click.Context) -> list[str]:
        """Return all names."""
        return [*self.list_commands(ctx), *self.shortcuts]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one command; its home is imported first."""
        if cmd_name in self._homes:
            import_module(f"{__package__}.{self._homes[cmd_name]}")
        found = self.commands.get(cmd_name)
        if found is not None and "_MEMSYNC_COMPLETE" in os.environ:
            from memsync.cli.complete import equip

            equip(found)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that *args* begin with, or say which was probably meant."""
        word = args[0]
        if ctx.resilient_parsing or word.startswith("-") or self.get_command(ctx, word) is not None:
            return super().resolve_command(ctx, args)
        near = suggest(word, self.list_known(ctx))
        advice = f"did you mean `{ctx.command_path} {near}`?" if near else f"`{ctx.command_path} --help` lists them"
        raise click.UsageError(f"no command {word!r}; {advice}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, in a whole sentence."""
        self._write_section("Commands", self.list_commands(ctx), ctx, formatter)

    def _write_section(self, title: str, names: Iterable[str], ctx: click.Context, to: click.HelpFormatter) -> None:
        found = {name: shown for name in names if (shown := self.get_command(ctx, name)) and not shown.hidden}
        with to.section(title):
            to.write_dl([(name, shown.get_short_help_str(limit=200)) for name, shown in found.items()])


class MemoryGroup(LazyGroup):
    """The commands on memories; some have other names too."""

    group_class = LazyGroup
    shortcuts = tuple(ALIASES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one command, by any of its names."""
        if (found := super().get_command(ctx, cmd_name)) is not None:
            return found
        names = ALIASES.get(cmd_name, "").split()
        if not names:
            return None
        return super().get_command(ctx, names[1]) if names[0] == self.name else cli.get_command(ctx, names[0])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write which other names there are."""
        rows = [f"{name} ({path.rpartition(' ')[2]})" if path != name else name for name, path in ALIASES.items()]
        formatter.write_paragraph()
        formatter.write_text(f"Also: {', '.join(rows)}. Without the word memory they work too: memsync recall.")


class RootGroup(LazyGroup):
    """The commands at the top, and those on memories without that word."""

    group_class = LazyGroup
    shortcuts = EVERY_DAY.split()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one command, of ours or else on memories."""
        if cmd_name in self.commands:
            return super().get_command(ctx, cmd_name)
        memory = super().get_command(ctx, "memory")
        return memory.get_command(ctx, cmd_name) if isinstance(memory, click.Group) else None

    def list_known(self, ctx: click.Context) -> list[str]:
        """Return all names, with those of the commands on memories."""
        memory = super().get_command(ctx, "memory")
        return [*super().list_known(ctx), *(memory.list_commands(ctx) if isinstance(memory, click.Group) else ())]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help; those on memories are offered, too, by TAB."""
        names = super().list_commands(ctx)
        return [*names, *self._list_more(ctx)] if "_MEMSYNC_COMPLETE" in os.environ else names

    def _list_more(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands on memories that are not those of every day."""
        memory = super().get_command(ctx, "memory")
        names = memory.list_commands(ctx) if isinstance(memory, click.Group) else []
        return [name for name in names if name not in self.commands and name not in self.shortcuts]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands of every day first."""
        others = [name for name in self.list_commands(ctx) if name not in self.shortcuts]
        self._write_section("Every day", self.shortcuts, ctx, formatter)
        self._write_section("Commands", others, ctx, formatter)
        self._write_section("More on memories", self._list_more(ctx), ctx, formatter)


@click.group(
    cls=RootGroup,
    homes=(
        ("project", "init uninstall"),
        ("status", "status"),
        ("project", "doctor"),
        ("check", "check"),
        ("settings", "trust"),
        ("status", "sync"),
        ("memory", "memory"),
        ("settings", "config"),
        ("skill", "skill"),
        ("agents", "hook"),
        ("git", "git"),
        ("agents", "inject workflow sessions statusline"),
        ("janitor", "janitor"),
        ("review", "review"),
        ("savings", "replay"),
        ("proposals", "learn"),
        ("evaluate", "eval"),
        ("evaluate", "test"),
        ("check", "format"),
        ("transfer", "mirror"),
        ("servers", "mcp serve ui"),
        ("status", "index"),
        ("hub", "hub"),
        ("project", "demo completion"),
    ),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "-C", "directory", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Run as if started in DIR."
)
@click.option("-v", "--verbose", is_flag=True, help="Log what happens to stderr.")
@click.version_option(__version__, "-V", "--version", message="memsync %(version)s")
@click.pass_context
def cli(ctx: click.Context, directory: str | None, verbose: bool) -> None:
    """Memory for coding agents, as plain files in your repository.

    Memories live in .gobby/memories.jsonl, are committed and reviewed like
    code, and are found again in milliseconds.

    \b
    Examples:
      memsync init
      memsync remember "CI needs Node 20" --tag ci
      memsync recall which node version

    Commands that answer take --json. Exit codes: 0 done, 1 expected failure with
    what to do next, 2 wrong usage, 3 unexpected.
    """
    if verbose:
        import logging  # noqa: F401 - from now on there is somebody to tell
    prepare(partial(_configure_logs, verbose))
    if directory:
        os.chdir(directory)
    ctx.color = choose_colour()


def _configure_logs(verbose: bool) -> None:
    import logging

    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, stream=sys.stderr, format="memsync: %(message)s")


def run(words: Sequence[str]) -> int:
    """Run the command line *words* and return the exit code; the only place that catches errors."""
    as_json = "--json" in words
    try:
        code = _run(words)
        if sys.stdout is not None:  # it is None where the caller closed it
            sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        code = _report_failure("stopped", _INTERRUPTED, as_json)
    except click.ClickException as error:
        code = error.exit_code
        if as_json:
            _report_failure(error.format_message(), code, as_json)
        else:
            error.show()
    except MemsyncError as error:
        code = _report_failure(str(error), error.exit_code, as_json, status=error.status)
    except BrokenPipeError:
        # The reader (head, a pager) has seen enough; a second flush at exit must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:  # noqa: BLE001 - the boundary: the user gets a code and a way to report it
        code = _report_unexpected(error, as_json)
    return code


def _run(words: Sequence[str]) -> int:
    out = sys.stdout
    try:
        return cli.main(list(words), prog_name="memsync", standalone_mode=False) or 0
    except SystemExit:
        if sys.stdout is out:
            raise
        return 0  # click puts another one there, and exits with 1, when the reader (head, a pager) has seen enough


def _report_unexpected(error: Exception, as_json: bool) -> int:
    if os.environ.get("MEMSYNC_DEBUG"):
        raise error
    if isinstance(error, OSError) and error.errno in _NO_OUTPUT and not error.filename:
        why = f"the output could not be written ({error.strerror}); what was asked for may be done"
        return _report_failure(why, 1, as_json)
    if isinstance(error, PermissionError) and error.filename:  # as below `~/.gobby` after `sudo memsync`
        return _report_failure(f"{error.filename}: {error.strerror}; check its owner and mode", 1, as_json)
    why = f"unexpected {type(error).__name__}: {error}; MEMSYNC_DEBUG=1 shows more"
    return _report_failure(why, _UNEXPECTED, as_json)


def _report_failure(message: str, code: int, as_json: bool, *, status: str = "") -> int:
    from memsync.cli.render import one_line, to_json

    with suppress(OSError):  # the output itself may be what failed
        if as_json:
            click.echo(to_json({"error": message, "exit_code": code, **({"status": status} if status else {})}))
    click.echo(f"{click.style('memsync:', fg='red')} {one_line(message)}", err=True, color=choose_colour())
    return code


class Answer(NamedTuple):
    """What a command prints: `value` with --json, else `text`; and its exit code."""

    value: Any
    text: str
    code: int = 0


def command(
    group: click.Group,
    name: str | None = None,
    *,
    is_quiet: bool = False,
    has_project: bool = True,
    cls: type[click.Command] | None = None,
) -> Callable[[Callable[..., Answer | None]], click.Command]:
    """Add a command, with --json, to *group*: a function from the open project, if it *has_project*, and the options to an answer.

    The project is closed (and exported) at the end. What waits for the user is said on stderr, unless it *is_quiet*.
    """

    def decorate(function: Callable[..., Answer | None]) -> click.Command:
        @click.pass_context
        def run(ctx: click.Context, /, *, as_json: bool, **options: Any) -> None:
            project = _open_project(ctx, is_quiet=is_quiet) if has_project else None
            _check_paths(project, options.values())
            try:
                answer = function(project, **options) if project else function(**options)
            finally:  # also what was written before a question that nobody answered
                if project and project.has_changed:
                    from memsync.memories.undoing import note_steps

                    note_steps(project, ctx.command_path.removeprefix("memsync "))
            if answer is not None:
                print_answer(answer, as_json=as_json)
                ctx.exit(answer.code)

        update_wrapper(run, function)  # its options, too
        made = group.command(name or function.__name__.rstrip("_"), cls=cls or click.Command)(run)
        made.params.append(_JSON)
        return made

    return decorate


def print_answer(answer: Answer, *, as_json: bool) -> None:
    """Print one result on standard output."""
    if as_json:
        from memsync.cli.render import to_json

        click.echo(to_json(answer.value))
    else:
        page(answer.text)


def wants_json() -> bool:
    """Return whether the command that runs was given --json."""
    return bool(click.get_current_context().params["as_json"])


def _open_project(ctx: click.Context, *, is_quiet: bool) -> Project:
    from memsync.memories.project import Project
    from memsync.store.trust import notice
    from memsync.store.workflow import find_waiting

    logs.show_progress = partial(track, least=_MANY)
    project = ctx.with_resource(Project.open())
    if not is_quiet and (text := notice(find_waiting(project.layout, project.loaded))):
        click.echo(f"memsync: {text}", err=True)
    return project


def _check_paths(project: Project | None, values: Iterable[object]) -> None:
    """Refuse each path among *values* that is in the repository here and leads out of it."""
    from memsync.store.files import resolve_named
    from memsync.store.places import locate

    tree = project.layout.root if project else locate(Path.cwd()).root
    for value in values:
        for path in value if isinstance(value, tuple) else (value,):
            if isinstance(path, Path):
                resolve_named(path, tree)
