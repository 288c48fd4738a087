"""`memsync update|forget|restore|anchor|tags` and `share|unshare|audit`: parse, one call, render."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import click

from memsync.cli import render
from memsync.cli.app import Answer, LazyGroup, command
from memsync.cli.choosing import choose, choose_filters, find_ref, find_refs
from memsync.cli.memory import field_options, find_replaced, memory, read_text, split_tags
from memsync.cli.options import allow_secret_option, filter_options, let_secrets_pass, scope_option, yes_option
from memsync.errors import MemsyncError, Remedy, UsageError, closest, suggest
from memsync.memories import audit as auditing
from memsync.memories import events, lost, sharing
from memsync.memories.edits import add_anchors, pin_again
from memsync.memories.filters import Filters
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import FIELDS, Scope, age, shown_id
from memsync.safety.guard import shown_label
from memsync.store.trust import read_consented


@command(memory)
@click.argument("refs", metavar="ID|WORDS...", nargs=-1, required=True)
@click.option("-c", "--content", help='The new text ("-": standard input).')
@field_options
@click.option("--no-anchor", is_flag=True, help="Anchor it to nothing.")
@allow_secret_option
@scope_option
def update(project: Project, /, refs: tuple[str, ...], allow_secret: bool, **options: Any) -> Answer:
    """Change memories, by ID. `memsync undo` takes the change back.

    All that filters fit come from `memsync list --ids`; `memsync tags` adds and
    removes single tags.

    \b
    Examples:
      memsync update mm-a1b --importance 0.9 --tag ci,docker
      memsync update prices cents --importance 0.9
      memsync update mm-a1b --anchor src/retry.py#MAX_RETRIES --anchor '$ git push'
      memsync list --tag billing --ids | xargs memsync update --type pattern
    """
    let_secrets_pass(project, wanted=allow_secret)
    options["supersedes"] = find_replaced(project, options["supersedes"])
    fields, scope = _take_fields(options), options["scope"]
    chosen = choose(project, refs, scope, {}, "change", yes=True)
    if len(chosen) > 1 and fields["content"] is not None:
        raise UsageError("--content is for one memory; `memsync edit ID ID` changes the texts of several")
    done = [project.update(one.id, scope=one.scope, **fields) for one in chosen]
    lines = [render.remembered(result, project.clock()) for result in done]
    return Answer(done[0] if len(done) == 1 else {"changed": done}, "\n".join(lines))


def _take_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    if options["anchors"] and options["no_anchor"]:
        raise UsageError("--anchor and --no-anchor exclude each other; give one of them")
    if signed := next((tag for tag in options["tags"] if tag.startswith(("+", "-"))), None):
        verb = "add" if signed[0] == "+" else "rm"
        raise UsageError(f"--tag takes all the tags that it shall have; tags {verb} {signed[1:]} is for one of them")
    fields = {field.name: options[field.name] or None for field in FIELDS if field.kind == "list"}
    fields |= {name: options[name] for name in ("memory_type", "importance", "supersedes")}
    fields["tags"] = split_tags(options["tags"]) or None
    fields["content"] = None if options["content"] is None else read_text(options["content"])
    return {**fields, "anchors": ()} if options["no_anchor"] else fields


@command(memory)
@click.argument("refs", metavar="[ID|WORDS]...", nargs=-1)
@click.option("--purge", is_flag=True, help="Keep nothing of them in the local history either.")
@filter_options
@yes_option
def forget(
    project: Project, /, refs: tuple[str, ...], purge: bool, yes: bool, scope: Scope | None, **filters: Any
) -> Answer:
    """Remove memories: by ID, or all that the filters fit. `memsync undo` brings them back.

    With --purge it cannot, and memories that are gone already may be named
    too. Commits keep what they have.

    \b
    Examples:
      memsync rm mm-a1b2c3
      memsync rm load tests thursdays
      memsync rm --tag spike --no-tag keep
      memsync rm --purge mm-a1b2c3
    """
    chosen = [] if purge and refs else choose(project, refs, scope, filters, "forget", yes=yes)
    if purge:
        ids = [project.purge(ref, scope) for ref in refs] or [project.purge(one.id, one.scope) for one in chosen]
        return Answer({"purged": ids}, "\n".join(f"purged {shown_id(id_)}" for id_ in ids))
    gone = [project.forget(entry.id, entry.scope) for entry in chosen]
    lines = [render.entry_line(entry, project.clock(), "forgot ") for entry in gone]
    return Answer({"forgotten": gone}, "\n".join(lines))


@command(memory)
@click.argument("words", metavar="[ID|WORDS]...", nargs=-1)
@scope_option
@click.option("--at", "at", metavar="REV", help="As it was at that commit.")
def restore(project: Project, /, words: tuple[str, ...], scope: Scope | None, at: str | None) -> Answer:
    """Undo the last forget or update of a memory; twice is redo.

    A memory that is archived, for instance because another supersedes it, is
    shown again.

    What this machine does not remember is taken from git: as it was before it
    was last changed or removed, or with --at as it was at REV.

    Without ID: bring back every memory that was written here and is neither in
    the file nor in any commit, as after `git checkout .`.

    \b
    Examples:
      memsync restore mm-a1b2c3
      memsync restore mm-a1b2c3 --at main~3
      memsync restore
    """
    if not words:
        if at is not None:
            raise UsageError("--at needs the ID of a memory")
        found = lost.bring_back(project, [one for one in lost.find_lost(project) if scope in (None, one.scope)])
        restored = f"{click.style('restored', fg='green')}: "
        lines = [render.entry_line(one.entry, project.clock(), restored) for one in found.restored]
        for one, why in found.refused:
            left = click.style("left alone", fg="yellow")
            lines.append(f"{left}: {shown_id(one.memory.id)}: {render.one_line(why)}")
        text = "\n".join(lines) or "nothing that was written here is missing"
        return Answer(found.as_dict(), text, 1 if found.refused else 0)
    result = events.undo(project, find_ref(project, words, scope), scope, at)
    return Answer(result, render.remembered(result, project.clock()))


@command(memory)
@click.argument("ref", metavar="ID|WORDS")
@click.argument("places", metavar="[ANCHOR]...", nargs=-1)
@scope_option
def anchor(project: Project, /, ref: str, places: tuple[str, ...], scope: Scope | None) -> Answer:
    """Say what a memory is about: it is given before that is edited or run, and marked when it changes.

    ANCHOR is PATH, PATH#SYMBOL, FOLDER/, a glob, or '$ COMMAND', and is added
    to the memory's anchors. Without one, the anchors are set to the files as
    they are now: moved files are followed, and missing ones dropped.

    \b
    Examples:
      memsync anchor mm-a1b src/client.py#MAX_RETRIES
      memsync anchor mm-a1b migrations/ '$ git push'
      memsync anchor mm-a1b
    """
    ref = find_ref(project, (ref,), scope)
    result = pin_again(project, ref, scope) if not places else add_anchors(project, ref, places, scope)
    lines = [f"{shown_id(result.id)} is anchored to {render.one_line(text)}" for text in result.memory.anchors]
    return Answer(result, "\n".join(lines) or f"{shown_id(result.id)} is anchored to nothing")


class _TagGroup(LazyGroup):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read *args*; without a command they list."""
        is_bare = not args or (args[0].startswith("-") and args[0] not in ("-h", "--help"))
        return super().parse_args(ctx, ["list", *args] if is_bare else args)


@memory.group(cls=_TagGroup)
def tags() -> None:
    """List the tags, or add, remove and rename them."""


@command(tags)
@filter_options
def list_(project: Project, /, **chosen: Any) -> Answer:
    """List the tags, and how many memories have each.

    \b
    Examples:
      memsync tags
      memsync tags --type pattern
    """
    found = Counter(tag for entry in project.entries(choose_filters(project, **chosen)) for tag in entry.memory.tags)
    in_order = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    rows = [f"{number:6} {shown_label(tag)}" for tag, number in in_order]
    return Answer({"tags": dict(found.most_common())}, "\n".join(rows) or "no tags yet")


def _change(project: Project, found: Sequence[Entry], removed: str | None, added: str | None) -> Answer:
    done = []
    for entry in found:
        kept = [tag for tag in entry.memory.tags if removed is None or tag.lower() != removed.lower()]
        if (new := list(dict.fromkeys([*kept, *([added] if added else [])]))) != list(entry.memory.tags):
            done.append(project.update(entry.id, scope=entry.scope, tags=new))
    lines = [render.entry_line(one.entry, project.clock(), "changed ") for one in done]
    return Answer({"changed": done}, "\n".join(lines) or "nothing to change")


@command(tags)
@click.argument("tag", metavar="TAG")
@click.argument("refs", metavar="[ID|WORDS]...", nargs=-1)
@filter_options
@yes_option
def add(project: Project, /, tag: str, refs: tuple[str, ...], scope: Scope | None, yes: bool, **filters: Any) -> Answer:
    """Give TAG to the memories with these ids, or to all that the filters fit.

    \b
    Examples:
      memsync tags add ci mm-a1b mm-c2d
      memsync tags add billing --any-tag payments --since 1week
    """
    return _change(project, choose(project, refs, scope, filters, "tag", yes=yes), None, tag)


@command(tags)
@click.argument("tag", metavar="TAG")
@click.argument("refs", metavar="[ID|WORDS]...", nargs=-1)
@filter_options
@yes_option
def rm(project: Project, /, tag: str, refs: tuple[str, ...], scope: Scope | None, yes: bool, **filters: Any) -> Answer:
    """Take TAG from the memories with these ids, or from all that have it.

    \b
    Examples:
      memsync tags rm ci mm-a1b
      memsync tags rm spike
    """
    if not refs:
        filters["tags_all"] = (*filters["tags_all"], tag)
        filters["archived"] = True
    return _change(project, choose(project, refs, scope, filters, "untag", yes=yes), tag, None)


@command(tags)
@click.argument("old", metavar="TAG")
@click.argument("new", metavar="NEW")
def rename(project: Project, /, old: str, new: str) -> Answer:
    """Call TAG by another name, on every memory that has it; where NEW is known too, both become one.

    `memsync undo` takes it back, also where two became one.

    \b
    Example:
      memsync tags rename k8s kubernetes
    """
    found = project.memories(Filters(tags_all=(old,), archived=True))
    if not found:
        known = {tag for entry in project.entries() for tag in entry.memory.tags}
        advice = suggest(closest(old, known), Remedy("memory tags"), " lists them")
        raise MemsyncError(f"no memory has the tag {old!r}; ", *advice)
    return _change(project, found, old, new)


@command(memory)
@click.argument("refs", metavar="[ID|WORDS]...", nargs=-1)
@filter_options
@yes_option
def share(project: Project, /, refs: tuple[str, ...], scope: Scope | None, yes: bool, **filters: Any) -> Answer:
    """Move memories into the project, where they can be committed: by ID, or all private ones that the filters fit.

    Nothing moves if one of them looks like it holds a secret or has the tag
    private.

    \b
    Examples:
      memsync share mm-a1b
      memsync share --tag billing
    """
    chosen = [] if refs else choose(project, (), scope or "private", filters, "share", yes=yes)
    moved = sharing.share(project, find_refs(project, refs) if refs else [entry.id for entry in chosen])
    lines = [render.entry_line(entry, project.clock(), "shared ") for entry in moved]
    return Answer({"moved": moved}, "\n".join(lines))


@command(memory)
@click.argument("refs", metavar="ID|WORDS...", nargs=-1, required=True)
@click.option("--global", "scope", flag_value="global", help="Into your own store, for every project.")
def unshare(project: Project, /, refs: tuple[str, ...], scope: Scope | None) -> Answer:
    """Move memories out of the work tree, into your private store.

    What is committed already stays in git's history.

    \b
    Example:
      memsync unshare mm-a1b
      memsync unshare admin password
    """
    moved = sharing.unshare(project, find_refs(project, refs), scope or "private")
    lines = [render.entry_line(entry, project.clock(), "moved ") for entry in moved]
    committed = [entry.id for entry in moved if sharing.is_committed(project, entry.id)]
    if committed:
        lines.append(f"git keeps what was committed of {', '.join(committed)}; commit the removal")
    return Answer({"moved": moved, "committed": committed}, "\n".join(lines))


@command(memory)
@click.option("--history", is_flag=True, help="Every commit of every branch, too.")
def audit(project: Project, /, history: bool) -> Answer:
    """Look for secrets in shared memories and skills.

    Exit 1 if there are some. Shows what they look like, never what they are. docs/security.md says what
    to do about a secret that was committed.

    \b
    Examples:
      memsync audit
      memsync audit --history
    """
    found = auditing.current(project) + (auditing.past(project) if history else [])
    lines = []
    for one in found:
        who = f" by {one.commit.author}, {age(one.commit.when, project.clock())}" if one.commit else ""
        about = f" {one.id}" if one.id else ""
        lines.append(render.one_line(f"{one.where}{about}{who}: {one.what}"))
    theirs, mine = project.settings.allow_secrets, len(read_consented(project.layout))
    lines += [f"let through by memory.secrets.allow: {' '.join(theirs)}"] if theirs else []
    lines += [f"let through by your --allow-secret here: {mine} values"] if mine else []
    lines.append(f"{len(found)} found; change them where they are valid, first" if found else "no secrets found")
    return Answer({"found": found}, "\n".join(lines), 1 if found else 0)
