"""`memsync hub grant|revoke|grants|mirror|group|token|audit`: who may read what, and what was asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from memsync.cli.app import Answer
from memsync.cli.hub import format_questions, hub, hub_command, repositories
from memsync.errors import UsageError
from memsync.hub import access, forge, signin, sync
from memsync.hub import questions as calls
from memsync.hub.hub import Hub
from memsync.store.files import resolve_named
from memsync.store.places import locate
from memsync.system.texts import count, one_line

_days_option = click.option(
    "--days",
    "lasting",
    type=click.FloatRange(0, min_open=True),
    callback=lambda _ctx, _param, days: None if days is None else timedelta(days=days),
    metavar="N",
    help="For so long; otherwise until taken back.",
)


def _read_days(_ctx: click.Context, _param: click.Parameter, text: str | None) -> timedelta | None:
    """Return so many days as *text* says, with or without a d behind the number."""
    number = (text or "").removesuffix("d")
    if text is None:
        return None
    if not (number.isascii() and number.isdecimal() and 0 < int(number) < 100_000):
        raise click.BadParameter(f"{text!r} is no number of days, such as 90d")
    return timedelta(days=int(number))


@hub_command(hub)
@click.argument("principal", metavar="NAME")
@click.argument("refs", metavar="REPOSITORY...", nargs=-1, required=True)
@_days_option
@click.option("--push", "may_push", is_flag=True, help="Let NAME also push what the hub cannot fetch.")
def grant(principal: str, refs: tuple[str, ...], lasting: timedelta | None, may_push: bool) -> Answer:
    """Let NAME read repositories.

    \b
    Examples:
      memsync hub grant github:alice example/payments
      memsync hub grant team:billing example/payments example/billing --days 30
      memsync hub grant ci:payments git/payments --push
    """
    with Hub.open() as open_hub, open_hub.database.writing() as connection:
        repos = [sync.find(connection, ref).id for ref in refs]
        who = access.have_principal(connection, principal)
        granted = access.grant(connection, who, repos, lasting=lasting, source="person", may_push=may_push)
    name = one_line(principal)
    said = f"{name} may read {'and push ' if may_push else ''}{repositories(granted)}; `memsync hub token make {name}` lets a program of theirs ask"
    return Answer({"granted": granted}, said)


@hub_command(hub)
@click.argument("principal", metavar="NAME")
@click.argument("refs", metavar="REPOSITORY...", nargs=-1, required=True)
def revoke(principal: str, refs: tuple[str, ...]) -> Answer:
    """Take back that NAME may read repositories; it counts at once.

    \b
    Example:
      memsync hub revoke github:alice example/payments
    """
    with Hub.open() as open_hub, open_hub.database.writing() as connection:
        who = access.find_principal(connection, principal)
        taken = access.revoke(connection, who, [sync.find(connection, ref).id for ref in refs])
    return Answer({"revoked": taken}, f"took back {count(taken, 'grant')}")


def _say_end(one: Mapping[str, Any]) -> str:
    """Return how a line of a list says until when *one* holds; nothing where it has no end."""
    return f"{', ran out ' if one['expired'] else ', until '}{one['until']}" if one["until"] else ""


@hub_command(hub)
def grants() -> Answer:
    """List who may read what, until when, and who said so.

    \b
    Example:
      memsync hub grants --json
    """
    with Hub.open() as open_hub, open_hub.database.writing() as connection:
        found = access.list_grants(connection)
    lines = [
        f"{one_line(one['principal'])} {one_line(one['repository'])} by {one['source']}"
        f"{', may push' if one['may_push'] else ''}{_say_end(one)}"
        for one in found
    ]
    nobody = "nobody may read anything yet; `memsync hub grant NAME REPOSITORY` lets somebody"
    return Answer({"grants": found}, "\n".join(lines) or nobody)


@hub_command(hub)
@click.argument("source", metavar="github|gitlab|FILE.csv")
@click.option("--host", default="", metavar="NAME", help="Of a GitHub or GitLab of your own.")
@click.option("--api", default="", metavar="URL", help="Where its API is, if not at the usual place.")
@click.option("--org", default="", metavar="NAME", help="Its teams, instead of each repository's readers.")
def mirror(source: str, host: str, api: str, org: str) -> Answer:
    """Copy from a forge who may read what; run it again within a day.

    A forge's answer counts for 24 hours, so that people who lose access there
    lose it here. The token is in MEMSYNC_GITHUB_TOKEN or MEMSYNC_GITLAB_TOKEN.
    A CSV has a principal and a repository a row. With --org the teams of an
    organisation become groups: two questions a team instead of one a repository.

    \b
    Examples:
      memsync hub mirror github
      memsync hub mirror github --org example
      memsync hub mirror gitlab --host gitlab.example.com
      memsync hub mirror readers.csv
    """
    resolve_named(Path(source), locate(Path.cwd()).root)
    failures: dict[str, str] = {}
    members: dict[str, set[str]] = {}
    with Hub.open() as open_hub:
        with open_hub.database.writing() as connection:
            known = sync.list_known(connection)
            before = forge.read_answers(connection)
        if source in forge.HOSTS:
            asks = replace(forge.open_forge(forge.kind_of(source), os.environ, host=host, api=api), answers=before)
            addresses = [(one.id, one.url) for one in known]
            if org:
                told, members = forge.read_teams(asks, org, addresses)
                asked, source = [one.id for one in known], f"{source}:{org}"
            else:
                told, asked = forge.read_readers(asks, addresses, lambda url, why: failures.update({url: why}))
        elif Path(source).is_file():
            told, asked = {}, [one.id for one in known]
            rows, source = forge.read_csv(Path(source)), "csv"
            with open_hub.database.writing() as connection:
                for name, ref in rows:
                    told.setdefault(name, []).append(sync.find(connection, ref).id)
        else:
            raise UsageError(f"{source!r} is neither github, nor gitlab, nor a file")
        with open_hub.database.writing() as connection:
            granted = access.mirror(connection, source, told, asked)
            joined = access.mirror_members(connection, source, members)
            forge.write_answers(connection, before)
    lines = [f"{count(granted, 'grant')} by {source} on {repositories(len(asked))}"]
    lines += [f"{count(len(members), 'group')} with {count(joined, 'member')}"] if members else []
    lines += [f"{one_line(url)}: {one_line(why)}" for url, why in sorted(failures.items())]
    value = {"grants": granted, "repositories": len(asked), "members": joined, "failed": failures}
    return Answer(value, "\n".join(lines), 1 if failures else 0)


@hub.group()
def group() -> None:
    """Make groups of principals: what a group may read or push, its members may."""


@hub_command(group, "add")
@click.argument("name", metavar="GROUP")
@click.argument("members", metavar="NAME...", nargs=-1, required=True)
@_days_option
def add_members(name: str, members: tuple[str, ...], lasting: timedelta | None) -> Answer:
    """Make each NAME a member of GROUP. A group within a group does not count.

    \b
    Examples:
      memsync hub group add team:billing github:alice github:bob
      memsync hub group add team:audit github:carol --days 30
    """
    with Hub.open() as open_hub, open_hub.database.writing() as connection:
        ids = [access.have_principal(connection, one) for one in members]
        team = access.have_principal(connection, name)
        joined = access.join(connection, team, ids, lasting=lasting, source="person")
    return Answer({"members": joined}, f"{one_line(name)} has {count(joined, 'member')} more, or for another time")


@hub_command(group, "remove")
@click.argument("name", metavar="GROUP")
@click.argument("members", metavar="NAME...", nargs=-1, required=True)
def remove_members(name: str, members: tuple[str, ...]) -> Answer:
    """Take each NAME out of GROUP; it counts at once.

    \b
    Example:
      memsync hub group remove team:billing github:bob
    """
    with Hub.open() as open_hub, open_hub.database.writing() as connection:
        team = access.find_principal(connection, name)
        left = access.leave(connection, team, [access.find_principal(connection, one) for one in members])
    return Answer({"removed": left}, f"took {count(left, 'member')} out of {one_line(name)}")


@hub_command(group, "list")
def list_groups() -> Answer:
    """List who is in which group, until when, and who said so.

    \b
    Example:
      memsync hub group list --json
    """
    with Hub.open() as open_hub, open_hub.database.writing() as connection:
        found = access.list_members(connection)
    lines = [f"{one_line(one['group'])} {one_line(one['member'])} by {one['source']}{_say_end(one)}" for one in found]
    return Answer({"members": found}, "\n".join(lines) or "no groups yet; `memsync hub group add GROUP NAME` makes one")


@hub.group()
def token() -> None:
    """Make, list and revoke the tokens with which programs ask the server."""


@hub_command(token)
@click.argument("principal", metavar="NAME")
@click.option("--name", default="", metavar="TEXT", help="What it is for.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["search", "push", "metrics"]),
    help="What with it may be done (repeat).  [default: search]",
)
@_days_option
def make(principal: str, name: str, scopes: tuple[str, ...], lasting: timedelta | None) -> Answer:
    """Make a token for NAME, and print it this once.

    \b
    Example:
      memsync hub token make github:alice --name laptop --days 90
    """
    with Hub.open() as open_hub, open_hub.database.writing() as connection:
        who = access.have_principal(connection, principal)
        made = access.make_token(connection, who, name=name, scopes=scopes or ("search",), lasting=lasting)
    return Answer({"token": made}, made)


@hub_command(token)
def list_() -> Answer:
    """List the tokens, but for what they are.

    \b
    Example:
      memsync hub token list
    """
    with Hub.open() as open_hub, open_hub.database.writing() as connection:
        found = access.list_tokens(connection)
    none = "no tokens yet; `memsync hub token make NAME` makes one"
    return Answer({"tokens": found}, "\n".join(map(_format_token, found)) or none)


def _format_token(one: Mapping[str, Any]) -> str:
    names = " ".join(filter(None, (str(one["token"]), one_line(one["principal"]), one_line(one["name"]))))
    state = [f"{'ran out' if one['expired'] else 'until'} {one['until']}"] if one["until"] else []
    state.append(f"last used {one['used_at']}" if one["used_at"] else "never used")
    return f"{names} ({', '.join(one['scopes'])}) {'revoked' if one['revoked_at'] else ', '.join(state)}"


@hub_command(token, "revoke")
@click.argument("number", type=int, metavar="NUMBER")
def revoke_token(number: int) -> Answer:
    """Take back the token NUMBER, as `list` shows it; it counts at once.

    \b
    Example:
      memsync hub token revoke 3
    """
    with Hub.open() as open_hub, open_hub.database.writing() as connection:
        access.revoke_token(connection, number)
    return Answer({"revoked": number}, f"token {number} counts no more")


@hub_command(hub, "sign-out")
@click.argument("principal")
@click.option("--forget", is_flag=True, help="Let whoever signs in next by that name be it.")
def sign_out(principal: str, forget: bool) -> Answer:
    """End all tokens of PRINCIPAL, and what its provider has signed until now.

    The groups that the provider named end too. Grants stay; who may sign in at
    the provider may do so again.

    \b
    Examples:
      memsync hub sign-out oidc:alice@example.com
      memsync hub sign-out --forget oidc:alice@example.com
    """
    with Hub.open() as open_hub, open_hub.database.writing() as connection:
        signin.sign_out(connection, access.find_principal(connection, principal), forget=forget)
    return Answer({"principal": principal, "forgotten": forget}, f"{one_line(principal)} is signed out everywhere")


@hub_command(hub)
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="How many at most."
)
@click.option("--keep", callback=_read_days, metavar="DAYS", help="Forget what is older, such as 90d.")
def audit(limit: int, keep: timedelta | None) -> Answer:
    """Show who asked, over which way, and how much was found; never what.

    \b
    Examples:
      memsync hub audit -n 10 --json
      memsync hub audit --keep 90d
    """
    with Hub.open() as open_hub, open_hub.database.writing() as connection:
        if keep:
            gone = access.prune_audit(connection, keep)
            return Answer({"removed": gone}, f"forgot {count(gone, 'question')} of more than {keep.days} days ago")
        found = access.list_audit(connection, limit=limit)
    lines = [
        f"{one['at']} {one_line(one['principal'])} {one['face']} {one['action']}: {count(one['hits'], 'hit')} in"
        f" {repositories(one['repos'])}, {one['ms']:.0f} ms"
        for one in found
    ]
    return Answer({"audit": found}, "\n".join(lines) or "nobody has asked anything yet")


@hub_command(hub)
@click.option(
    "--collect", type=click.IntRange(2), metavar="N", help="Begin: tell what N principals or more have asked."
)
@click.option("--stop", is_flag=True, help="Stop, and forget what was collected.")
def questions(collect: int | None, stop: bool) -> Answer:
    """Show what several people asked in vain; collected only after --collect.

    A text is kept when so many have asked the same, in any order of its
    words; until then only keyed hashes. After 90 days they go.

    \b
    Examples:
      memsync hub questions --collect 3
      memsync hub questions
      memsync hub questions --stop
    """
    if collect and stop:
        raise UsageError("--collect and --stop exclude each other; give one of them")
    with Hub.open() as open_hub, open_hub.database.writing() as connection:
        if stop:
            calls.stop(connection)
        elif collect:
            calls.collect(connection, collect)
        of = calls.is_collecting(connection)
        found = calls.top(connection)
    nothing = "questions are not collected; --collect N begins, of what N have asked"
    if of:
        nothing = f"nothing that {of} have asked in vain"
    return Answer({"collects": of, "questions": found}, format_questions(found) or nothing)
