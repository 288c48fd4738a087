"""`memsync hub …`: parse, one call, render. Needs no project."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from memsync.cli.app import Answer, cli, command, print_answer
from memsync.cli.options import stack, yes_option
from memsync.cli.render import count, memories
from memsync.cli.terminal import flow
from memsync.errors import HubError, NoStore, Remedy, UsageError, blaming
from memsync.hub import ci, client, config, forge, remote
from memsync.hub import hub as calls
from memsync.hub import report as making
from memsync.hub import sync as syncing
from memsync.hub.embedded import keep as end_when_idle
from memsync.hub.hub import Hub
from memsync.hub.nominate import Filters
from memsync.hub.report import Report
from memsync.hub.search import HubHit, HubRecall
from memsync.hub.signin import CLAIMS
from memsync.hub.sync import Outcome
from memsync.records import shown_id
from memsync.store.checkout import Checkout
from memsync.store.places import find_git
from memsync.system.texts import one_line


@cli.group(
    homes=(
        ("hub_access", "grant revoke grants mirror group token sign-out audit questions"),
        ("hub", "report serve push"),
    )
)
def hub() -> None:
    """Search the memories of many repositories at once.

    The hub is derived from their default branches, in PostgreSQL: one of your
    own that starts by itself, or a server's. Dropping it loses nothing.
    """


_SHOWN: Final = 20
_SERVED: Final = 5.0  # seconds that a request waits for the database
hub_command = partial(command, has_project=False)
as_option = click.option("--as", "principal", default="", metavar="NAME", help="For that principal, on a server's hub.")


@hub_command(hub)
@click.argument("dsn", required=False)
@click.option(
    "--embedder", default="builtin", show_default=True, metavar="NAME", help="What finds by meaning; none: words only."
)
def init(dsn: str | None, embedder: str) -> Answer:
    """Make a hub, or bring it up to date. Safe to run again.

    Without DSN it is where MEMSYNC_HUB_DSN says, else on this machine:
    PostgreSQL starts with the first command and ends a minute after the last.
    With DSN it is in that database, which needs pgvector. With the address of a server, that one is asked, with
    the token in MEMSYNC_HUB_TOKEN. Another embedder makes all vectors anew at
    the next sync.

    \b
    Examples:
      memsync hub init
      memsync hub init postgresql://hub@db.example.com/memsync
      memsync hub init https://hub.example.com
    """
    done = calls.init(dsn, embedder)
    dsn = dsn or os.environ.get("MEMSYNC_HUB_DSN", "")
    if dsn.startswith("http"):
        return Answer({"done": done, "embedded": False}, f"this user's hub {done[0]}; try: memsync hub search QUERY")
    where = "in the database" if dsn else "on this machine"
    said = f"the hub {where} is ready; add repositories: memsync hub add URL"
    return Answer({"done": done, "embedded": not dsn}, said)


@hub_command(hub)
@click.argument("addresses", metavar="[URL|PATH]...", nargs=-1)
@click.option("--from", "source", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Those in FILE too, one a line.")  # fmt: skip
@click.option("--branch", default="", metavar="NAME", help="The default branch, of what will be pushed by a CI.")
@click.option("--org", metavar="FORGE:NAME", help="All of an organisation of github or group of gitlab.")
@click.option("--host", default="", metavar="NAME", help="Of a GitHub or GitLab of your own, with --org.")
@click.option("--api", default="", metavar="URL", help="Where its API is, if not at the usual place.")
def add(addresses: tuple[str, ...], source: Path | None, branch: str, org: str | None, host: str, api: str) -> Answer:
    """Add repositories by their URLs, or clones by their paths.

    Git asks them with your credentials, and never for a password. --org asks the
    forge with MEMSYNC_GITHUB_TOKEN or MEMSYNC_GITLAB_TOKEN; archived ones are left out.

    \b
    Examples:
      memsync hub add https://github.com/example/payments.git
      memsync hub add ~/work/billing --from repositories.txt
      memsync hub add --org github:example
    """
    wanted = [*addresses, *(calls.read_list(source) if source else [])]
    if org:
        kind, _, name = org.partition(":")
        if kind not in forge.HOSTS or not name:
            raise UsageError(f"{one_line(org)!r} is no organisation; write it as github:NAME or gitlab:GROUP")
        wanted += forge.open_forge(forge.kind_of(kind), os.environ, host=host, api=api).repositories(name)
    if not wanted:
        raise UsageError("name a repository: its URL, the path of a clone, or --from FILE with one a line")
    with calls.Hub.open() as open_hub:
        new = open_hub.add(wanted, branch=branch)
    known = len(wanted) - len(new)
    text = f"added {repositories(len(new))}{f', {known} known already' if known else ''}"
    return Answer({"added": new, "known": known}, f"{text}; `memsync hub sync` brings their memories")


@hub_command(hub)
@click.argument("ref", metavar="REPOSITORY")
@click.argument("names", metavar="[ID]...", nargs=-1)
def remove(ref: str, names: tuple[str, ...]) -> Answer:
    """Remove a repository, by its URL or name, and all that came from it.

    With IDs only these memories, or skills by their names, of it. They do not
    come in again with a later sync; git keeps what it has.

    \b
    Examples:
      memsync hub remove example/payments
      memsync hub remove example/payments mm-k3x9qp
    """
    with calls.Hub.open() as open_hub:
        url = syncing.remove(open_hub.database, ref, names)
    said = f"{', '.join(map(one_line, names))} of " if names else ""
    return Answer({"removed": url, "names": list(names)}, f"removed {said}{one_line(url)}")


@hub_command(hub)
@click.argument("ref", metavar="REPOSITORY")
@click.option("--release", is_flag=True, help="End the hold; the next sync brings what is new.")
def hold(ref: str, release: bool) -> Answer:
    """Keep all that came from a repository as it is, such as for a court.

    Until --release no sync or push changes it, it is not removed when it is gone
    from its forge, and neither remove nor drop takes it. Nor does audit --keep
    forget any question, because each may have been about it.

    \b
    Examples:
      memsync hub hold example/payments
      memsync hub hold example/payments --release
    """
    with calls.Hub.open() as open_hub:
        url = syncing.hold(open_hub.database, ref, release=release)
    return Answer({"held": not release, "url": url}, f"{one_line(url)} is {'released' if release else 'on hold'}")


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
    with calls.Hub.open() as open_hub:
        while True:
            outcomes = syncing.sync(
                open_hub.database, open_hub.meaning, refs=refs, due=watch, embedder=open_hub.settings.embedder
            )
            value = {"repositories": outcomes, "summary": syncing.summary(outcomes)}
            has_failed = any(one.what in ("failed", "gone") for one in outcomes)
            answer = Answer(value, _format_outcomes(outcomes), 1 if has_failed else 0)
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
    if (settings := config.load()).server:
        readable = client.list_repositories(settings)
        value = {"server": settings.server, "repositories": readable}
        return Answer(value, _format_readable(settings.server, readable))
    with calls.Hub.open() as open_hub:
        value = open_hub.status()
    return Answer(value, _format_status(value))


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
    found = calls.ask(query, principal=principal, limit=limit, filters=Filters(**chosen))
    return Answer(found, _format_recall(found))


@hub_command(hub)
@yes_option
def drop(yes: bool) -> Answer:
    """Remove the hub with all that it has. `init`, `add` and `sync` make it again.

    Of a hub that somebody else serves, only the note of where it is.

    \b
    Example:
      memsync hub drop -y
    """
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
    end_when_idle(directory, idle)


@hub.command()
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Listen there.")
@click.option("--port", type=click.IntRange(1, 65535), default=8765, show_default=True, help="On that port.")
@click.option(
    "--per-minute", type=click.IntRange(1), default=120, show_default=True, metavar="N", help="Requests of one token."
)
@click.option(
    "--oidc", multiple=True, metavar="ISSUER", help="Let CI jobs push by github's or gitlab's word, or URL's (repeat)."
)
@click.option("--audience", default="", metavar="URL", help="What such tokens are for: the address of this server.")
@click.option("--sign-in", "provider", default="", metavar="ISSUER", help="Let people sign in by that provider (OIDC).")
@click.option("--client-id", default="", metavar="ID", help="What the provider calls this server.")
@click.option("--claim", type=click.Choice(CLAIMS), default="email", show_default=True, help="What names people.")
def serve(
    host: str,
    port: int,
    per_minute: int,
    oidc: tuple[str, ...],
    audience: str,
    provider: str,
    client_id: str,
    claim: str,
) -> None:
    """Serve the hub: pages at /, REST at /v1, MCP at /mcp, for whoever has a token.

    TLS is for the proxy in front of it. /openapi.json describes it, /livez and
    /readyz say whether it and its database are well, /metrics counts. A forge's webhooks go to
    /webhook, signed with what MEMSYNC_HUB_WEBHOOK_SECRET says. Logs are JSON
    on stderr, without what was asked. SIGTERM ends it when all is answered.
    With --sign-in people sign in at / for 12 hours; the client's secret, if it has
    one, is in MEMSYNC_HUB_OIDC_SECRET.

    \b
    Examples:
      memsync hub serve
      memsync hub serve --host 0.0.0.0 --port 8080 --per-minute 600
      memsync hub serve --oidc github --audience https://hub.example.com
      memsync hub serve --sign-in https://id.example.com --client-id hub --audience https://hub.example.com
    """
    from memsync.hub.ci import Issuers
    from memsync.hub.server import build, listen, run
    from memsync.hub.signin import SECRET, SignIn
    from memsync.web.people import People

    sign_in = SignIn(provider, client_id, os.environ.get(SECRET, ""), audience, claim) if provider else None
    issuers = Issuers(list(oidc), audience) if oidc else None
    with Hub.open(patience=_SERVED) as open_hub, listen(host, port) as place:
        pages = People(open_hub, sign_in).routes()
        app = build(open_hub, a_minute=per_minute, issuers=issuers, sign_in=sign_in, pages=pages)
        click.echo(f"serving on http://{host}:{port}; Ctrl-C ends it")
        run(app, place)


@hub_command(hub)
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it as a page, too."
)
@as_option
def report(html: Path | None, principal: str) -> Answer:
    """Show what several repositories say, where they disagree, and how fresh each is.

    Of what you may read; what three or more say may be a rule for all.

    \b
    Examples:
      memsync hub report
      memsync hub report --html report.html
    """
    with Hub.open() as open_hub:
        made = making.make(open_hub.database, open_hub.owner(principal))
    if html:
        with blaming(html):
            html.write_text(making.as_html(made), encoding="utf-8")
    return Answer(made, _format_report(made))


@hub_command(hub)
@click.argument("repository", metavar="REPOSITORY")
@click.option("--branch", default="", metavar="NAME", help="The default branch.  [default: what is checked out]")
def push(repository: str, branch: str) -> Answer:
    """Send this commit's memories to the server, as REPOSITORY is called there.

    For a CI that runs on the default branch of a repository that the hub
    cannot reach. MEMSYNC_HUB_URL says where. As whom, MEMSYNC_HUB_TOKEN says: a
    token with the scope push, whose principal may push there (grant --push). Without
    one it is the job itself, where the server takes the forge's word for it
    (serve --oidc): GitHub's with id-token: write, GitLab's in
    MEMSYNC_HUB_ID_TOKEN.

    \b
    Example:
      memsync hub push https://git.internal/payments.git --branch main
    """
    settings = config.load()
    if not settings.server:
        raise HubError("there is no server to push to; ", Remedy("hub init", "https://HOST"), " names one")
    if (git := find_git(Path.cwd())) is None:
        raise NoStore("this is in no work tree of git; go to the checkout whose memories are to be sent")
    if not settings.token:
        settings = replace(settings, token=ci.own_token(settings.server, os.environ))
    checkout = Checkout(git.root)
    commit = checkout.do("rev-parse", "--verify", "HEAD")
    branch = branch or checkout.do("rev-parse", "--abbrev-ref", "HEAD")
    files = {path: data.decode("utf-8", "replace") for path, data in remote.fetch(str(git.root), commit).items()}
    body = {"repository": repository, "branch": branch, "commit": commit, "files": files}
    body["committed_at"] = checkout.do("log", "-1", "--format=%cI", commit)
    told = client.push(settings, body)
    text = f"{one_line(repository)} {told.get('what')}, {told.get('put')} written, {told.get('removed')} removed"
    return Answer(told, text)


def add_hub(answer: Answer, query: str | None, how: Mapping[str, Any]) -> Answer:
    """Return *answer* with what the hub has on *query* by the same options, but for what is there already."""
    if not query:
        raise UsageError("what other repositories know depends on a query; give one")
    names = ("memory_type", "tags_all", "tags_any", "tags_none", "min_importance")
    filters = Filters(**{name: how[name] for name in names})
    known = {(one["id"], one["content"]) for one in answer.value["memories"]}
    found = calls.ask_beside(query, known, limit=how["limit"] or 15, filters=filters)
    return Answer({**answer.value, "hub": found.as_dict()}, f"{answer.text}\nfrom the hub:\n{_format_recall(found)}")


def repositories(number: int) -> str:
    """Return "1 repository", or how many repositories."""
    return count(number, "repository")


def _format_outcomes(found: Sequence[Outcome]) -> str:
    lines = []
    for one in found:
        if one.what != "unchanged" or one.note:
            counts = f", {one.put} written, {one.removed} removed" if one.what in ("new", "changed") else ""
            note = f": {one_line(one.note, 200)}" if one.note else ""
            lines.append(f"{one_line(one.name)} {one.what}{counts}{note}")
    same = sum(one.what == "unchanged" for one in found)
    lines += [f"{repositories(same)} unchanged"] if same else []
    return (
        "\n".join(lines)
        or "nothing to fetch; `memsync hub add URL` adds a repository, and `memsync hub status` lists those that push"
    )


def _format_status(value: Mapping[str, Any]) -> str:
    found = value["repositories"]
    lines = [
        f"{repositories(len(found))}, {memories(value['memories'])}, {count(value['skills'], 'skill')}, {value['bytes']:,} bytes",
        f"embedder {value['embedder'] or 'none'}; last sync {value['synced_at'] or 'never'}",
    ]
    if not value["synced_at"]:
        lines.append("`memsync hub sync` brings their memories" if found else "`memsync hub add URL` adds a repository")
    if value["loading"]:
        lines.append("being loaded for the first time; run `memsync hub sync` again if that was stopped")
    for one in found[:_SHOWN]:
        left = ", ".join(f"{number} {why}" for why, number in sorted(one["left_out"].items()))
        rest = f"; left out: {left}" if left else ""
        note = f"; {one_line(one['note'], 200)}" if one["note"] else ""
        lines.append(
            f"  {one_line(one['name'])} {one['state']}{', pushed' if one['pushed'] else ''}{', on hold' if one['held_at'] else ''}, {memories(one['memories'])}{rest}{note}"
        )
    lines += [f"  and {len(found) - _SHOWN} more (--json has all)"] if len(found) > _SHOWN else []
    return "\n".join(lines)


def _format_readable(server: str, found: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"asks {one_line(server)}; {repositories(len(found))} that you may read"]
    lines += [
        f"  {one_line(one['name'])} {memories(one['memories'])}, {count(one['skills'], 'skill')}"
        for one in found[:_SHOWN]
    ]
    lines += [f"  and {len(found) - _SHOWN} more (--json has all)"] if len(found) > _SHOWN else []
    lines += [] if found else ["whoever runs it lets you in: `memsync hub grant NAME REPOSITORY`"]
    return "\n".join(lines)


def _format_recall(found: HubRecall) -> str:
    """Return two lines for each hit, weak ones last."""
    lines = [line for hit in found.hits if hit.confidence >= found.floor for line in _format_hit(hit)]
    if weak := [line for hit in found.hits if hit.confidence < found.floor for line in _format_hit(hit)]:
        lines += [click.style("weak matches:", dim=True), *weak]
    lines += [f"degraded: {found.degraded}"] if found.degraded else []
    return "\n".join(lines) or _explain_nothing(found)


def _explain_nothing(found: HubRecall) -> str:
    if not found.repositories:
        return "no such repository that you may read; `memsync hub add URL` and `memsync hub grant` make one readable"
    if not found.records:
        return f"{repositories(found.repositories)} with nothing to find yet; `memsync hub sync` brings what there is"
    return f"nothing in {repositories(found.repositories)} with {memories(found.records)} answers"


def _format_hit(hit: HubHit) -> list[str]:
    head = click.style(f"{one_line(hit.repository)} {shown_id(hit.memory.id)}", fg="yellow")
    copy = f"(nearly the same as {one_line(hit.copy_of)})" if hit.copy_of else ""
    also = f"(also in {repositories(hit.also_in)})" if hit.also_in else ""
    return [
        flow(head, one_line(hit.memory.content), " ".join(filter(None, (copy, also)))),
        click.style(f"  {one_line(hit.link)}", dim=True),
    ]


def _format_report(made: Report) -> str:
    """Return what several repositories say, where they disagree, and the least fresh of them."""
    lines = [f"{repositories(len(made.repositories))}, {memories(made.memories)}, {made.compared:,} compared"]
    for said in made.shared[:_SHOWN]:
        mark = "perhaps a rule: " if said in made.rules else ""
        lines.append(flow(f"  {mark}{repositories(len(said.repositories))} say:", one_line(said.text)))
    for clash in made.clashes[:_SHOWN]:
        lines.append(flow(f"  {one_line(clash.one.repositories[0])}:", one_line(clash.one.text)))
        other = f"    against {one_line(clash.other.repositories[0])}:"
        lines.append(flow(other, f"{one_line(clash.other.text)}; {clash.why}"))
    lines += [f"  {line}" for line in format_questions(made.unanswered).splitlines()] if made.unanswered else []
    old = made.repositories[:5]
    lines += [f"  {one_line(one['name'])}: last change taken in {one['changed_at'] or 'never'}" for one in old]
    return "\n".join(lines)


def format_questions(found: Sequence[Mapping[str, Any]]) -> str:
    """Return a line for each question that several have asked in vain."""
    return "\n".join(f"{one['askers']} have asked in vain: {one_line(one['question'], 160)}" for one in found)
