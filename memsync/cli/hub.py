"""`memsync hub …`: parse, one call, render. Needs no project."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import Any, Final

import click

from memsync.cli import render_hub as render
from memsync.cli.app import Answer, check_paths, cli, print_answer
from memsync.cli.options import stack, yes_option
from memsync.errors import UsageError
from memsync.store.places import locate

_JSON: Final = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object.")


@cli.group(
    homes=(("hub_access", "grant revoke grants mirror token audit questions"), ("hub_serve", "report serve push"))
)
def hub() -> None:
    """Search the memories of many repositories at once.

    The hub is derived from their default branches, in PostgreSQL: one of your
    own that starts by itself, or a server's. Dropping it loses nothing.
    """


def hub_command(group: click.Group, name: str | None = None) -> Callable[[Callable[..., Answer | None]], click.Command]:
    """Add a command, with --json, that needs no project to *group*."""

    def decorate(function: Callable[..., Answer | None]) -> click.Command:
        @click.pass_context
        def run(ctx: click.Context, /, *, as_json: bool, **options: Any) -> None:
            check_paths(locate(Path.cwd()).root, options.values())
            answer = function(**options)
            if answer is not None:
                print_answer(answer, as_json=as_json)
                ctx.exit(answer.code)

        update_wrapper(run, function)
        made = group.command(name or function.__name__.rstrip("_"))(run)
        made.params.append(_JSON)
        return made

    return decorate


as_option = click.option("--as", "principal", default="", metavar="NAME", help="For that principal, on a server's hub.")


@hub_command(hub)
@click.argument("dsn", required=False, default="")
@click.option(
    "--embedder", default="builtin", show_default=True, metavar="NAME", help="What finds by meaning; none: words only."
)
def init(dsn: str, embedder: str) -> Answer:
    """Make a hub, or bring it up to date. Safe to run again.

    Without DSN it is on this machine: PostgreSQL starts with the first
    command and ends a minute after the last. With DSN it is in that database,
    which needs pgvector. With the address of a server, that one is asked, with
    the token in MEMSYNC_HUB_TOKEN. Another embedder makes all vectors anew at
    the next sync.

    \b
    Examples:
      memsync hub init
      memsync hub init postgresql://hub@db.example.com/memsync
      memsync hub init https://hub.example.com
    """
    from memsync.hub import hub as calls

    done = calls.init(dsn, embedder)
    if dsn.startswith("http"):
        return Answer({"done": done, "embedded": False}, f"this user's hub {done[0]}; try: memsync hub search QUERY")
    where = "in the database" if dsn else "on this machine"
    return Answer(
        {"done": done, "embedded": not dsn}, f"the hub {where} is ready; add repositories: memsync hub add URL"
    )


@hub_command(hub)
@click.argument("addresses", metavar="[URL|PATH]...", nargs=-1)
@click.option("--from", "source", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Those in FILE too, one a line.")  # fmt: skip
@click.option("--branch", default="", metavar="NAME", help="The default branch, of what will be pushed by a CI.")
def add(addresses: tuple[str, ...], source: Path | None, branch: str) -> Answer:
    """Add repositories by their URLs, or clones by their paths.

    Git asks them with your credentials, and never for a password.

    \b
    Examples:
      memsync hub add https://github.com/example/payments.git
      memsync hub add ~/work/billing --from repositories.txt
    """
    from memsync.hub import hub as calls

    wanted = [*addresses, *(calls.read_list(source) if source else [])]
    if not wanted:
        raise UsageError("name a repository: its URL, the path of a clone, or --from FILE with one a line")
    with calls.Hub.open() as open_hub:
        new = open_hub.add(wanted, branch=branch)
    known = len(wanted) - len(new)
    text = f"added {render.repositories(len(new))}{f', {known} known already' if known else ''}"
    return Answer({"added": new, "known": known}, f"{text}; `memsync hub sync` brings their memories")


@hub_command(hub)
@click.argument("ref", metavar="REPOSITORY")
def remove(ref: str) -> Answer:
    """Remove a repository, by its URL or name, and all that came from it.

    \b
    Example:
      memsync hub remove example/payments
    """
    from memsync.hub import hub as calls
    from memsync.hub import sync as syncing

    with calls.Hub.open() as open_hub:
        url = syncing.remove(open_hub.database, ref)
    return Answer({"removed": url}, f"removed {render.one_line(url)}")


@hub_command(hub)
@click.argument("refs", metavar="[REPOSITORY]...", nargs=-1)
@click.option("--watch", is_flag=True, help="Go on, looking again after each pause; Ctrl-C ends it.")
@click.option(
    "--every", type=click.FloatRange(1), default=300.0, show_default=True, metavar="SECONDS", help="The pause."
)
def sync(refs: tuple[str, ...], watch: bool, every: float) -> Answer | None:
    """Bring the hub up to date with its repositories, or with those named.

    An unchanged one costs one question to git. Private memories, branches,
    archived records, what reads like an order to an agent and what looks like
    a secret never come into the hub.

    \b
    Examples:
      memsync hub sync
      memsync hub sync example/payments
      memsync hub sync --watch --every 60
    """
    from memsync.hub import hub as calls
    from memsync.hub import sync as syncing

    with calls.Hub.open() as open_hub:
        while True:
            outcomes = syncing.sync(
                open_hub.database, open_hub.meaning, refs=refs, due=watch, embedder=open_hub.settings.embedder
            )
            answer = Answer(
                {"repositories": outcomes, "summary": syncing.summary(outcomes)},
                render.outcomes(outcomes),
                1 if any(one.what in ("failed", "gone") for one in outcomes) else 0,
            )
            if not watch:
                return answer
            print_answer(answer, as_json=bool(click.get_current_context().params["as_json"]))
            time.sleep(every)


@hub_command(hub)
def status() -> Answer:
    """Show what the hub has, and which repositories need a look.

    Of a hub that somebody else serves, what you may read there.

    \b
    Example:
      memsync hub status --json
    """
    from memsync.hub import client, config
    from memsync.hub import hub as calls

    if (settings := config.load()).server:
        readable = client.list_repositories(settings)
        return Answer({"server": settings.server, "repositories": readable}, render.readable(settings.server, readable))
    with calls.Hub.open() as open_hub:
        value = open_hub.status()
    return Answer(value, render.status(value))


narrowing_options = stack(
    click.option("-n", "--limit", type=click.IntRange(1, 100), default=15, show_default=True, metavar="N",
                 help="How many at most."),
    click.option("--repo", "repositories", multiple=True, metavar="NAME", help="Only of that repository (repeat)."),
    click.option("--kind", type=click.Choice(["memory", "skill"]), default="memory", show_default=True,
                 help="What to look for."),
    click.option("--type", "memory_type", metavar="TYPE", help="Only memories of that type."),
    click.option("--tag", "tags_all", multiple=True, metavar="TAG", help="Only with this tag (repeat: with all)."),
    click.option("--any-tag", "tags_any", multiple=True, metavar="TAG", help="Only with one of these tags."),
    click.option("--no-tag", "tags_none", multiple=True, metavar="TAG", help="Without this tag."),
    click.option("--min-importance", type=click.FloatRange(0, 1), default=0.0, help="Least importance as written."),
)  # fmt: skip


@hub_command(hub)
@click.argument("query")
@narrowing_options
@as_option
def search(query: str, limit: int, principal: str, **chosen: Any) -> Answer:
    """Find what any repository that you may read knows about QUERY.

    Scores mean what they mean in a recall; each hit names its repository and
    links to its line.

    \b
    Examples:
      memsync hub search "which port does the payment service use"
      memsync hub search "retry policy" --repo example/payments --limit 3
    """
    from memsync.hub import hub as calls
    from memsync.hub.nominate import Filters

    found = calls.ask(query, principal=principal, limit=limit, filters=Filters(**chosen))
    return Answer(found, render.recall(found))


@hub_command(hub)
@yes_option
def drop(yes: bool) -> Answer:
    """Remove the hub with all that it has. `init`, `add` and `sync` make it again.

    Of a hub that somebody else serves, only the note of where it is.

    \b
    Example:
      memsync hub drop -y
    """
    from memsync.hub import config
    from memsync.hub import hub as calls

    server = config.load().server
    asked = f"Ask {server} no more?" if server else "Remove the hub, its grants and its tokens?"
    if not yes:
        click.confirm(asked, abort=True, err=True)
    where = calls.drop()
    gone = f"{server} is asked no more; the hub there stays" if server else f"the hub is gone from {where}"
    return Answer({"dropped": where}, f"{gone}; no repository was touched")


@hub.command(hidden=True)
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("idle", type=float)
def keep(directory: Path, idle: float) -> None:
    """End the PostgreSQL of this machine's hub when it is idle; started with it.

    \b
    Example:
      memsync hub keep ~/.gobby/hub 60
    """
    from memsync.hub.embedded import keep as end_when_idle

    end_when_idle(directory, idle)
