"""`memsync hub report|serve|push`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import click

from memsync.cli import render_hub as render
from memsync.cli.app import Answer
from memsync.cli.hub import as_option, hub, hub_command
from memsync.errors import NoStore, blaming


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
def serve(host: str, port: int, per_minute: int, oidc: tuple[str, ...], audience: str) -> None:
    """Serve the hub: REST at /v1, MCP at /mcp, for whoever has a token.

    TLS is for the proxy in front of it. /openapi.json describes it, /healthz
    says whether it is well, /metrics counts. A forge's webhooks go to
    /webhook, signed with what MEMSYNC_HUB_WEBHOOK_SECRET says. Logs are JSON
    on stderr, without what was asked. SIGTERM ends it when all is answered.

    \b
    Examples:
      memsync hub serve
      memsync hub serve --host 0.0.0.0 --port 8080 --per-minute 600
      memsync hub serve --oidc github --audience https://hub.example.com
    """
    from memsync.hub.ci import Issuers
    from memsync.hub.hub import Hub
    from memsync.hub.server import listen, run

    issuers = Issuers(list(oidc), audience) if oidc else None
    with Hub.open() as open_hub, listen(host, port) as place:
        click.echo(f"serving on http://{host}:{port}; Ctrl-C ends it")
        run(open_hub, place, a_minute=per_minute, issuers=issuers)


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
    from memsync.hub import report as making
    from memsync.hub.hub import Hub

    with Hub.open() as open_hub:
        made = making.make(open_hub.database, open_hub.owner(principal))
    if html:
        with blaming(html):
            html.write_text(making.as_html(made), encoding="utf-8")
    return Answer(made, render.report(made))


@hub_command(hub)
@click.argument("repository", metavar="REPOSITORY")
@click.option("--branch", default="", metavar="NAME", help="The default branch.  [default: what is checked out]")
def push(repository: str, branch: str) -> Answer:
    """Send this commit's memories to the server, as REPOSITORY is called there.

    For a CI that runs on the default branch of a repository that the hub
    cannot reach. MEMSYNC_HUB_URL says where. As whom, MEMSYNC_HUB_TOKEN says: a
    token with the scope push, whose principal may read the repository. Without
    one it is the job itself, where the server takes the forge's word for it
    (serve --oidc): GitHub's with id-token: write, GitLab's in
    MEMSYNC_HUB_ID_TOKEN.

    \b
    Example:
      memsync hub push https://git.internal/payments.git --branch main
    """
    from memsync.errors import HubError, Remedy
    from memsync.hub import ci, client, config, remote
    from memsync.store.checkout import Checkout
    from memsync.store.places import find_git

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
    told = client.push(settings, body)
    text = f"{render.one_line(repository)} {told.get('what')}, {told.get('put')} written, {told.get('removed')} removed"
    return Answer(told, text)
