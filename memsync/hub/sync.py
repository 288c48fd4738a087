"""Bringing the hub up to date with its repositories: one look each, and a fetch where something changed.

Many repositories are asked at once, and written one after the other, each in a transaction of its own. What is cut off
leaves whole repositories behind, and the next sync goes on from there.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from memsync.errors import HubError, PushRefused, Remedy
from memsync.hub import ingest, loading, remote
from memsync.hub.database import Database, set_locally
from memsync.hub.intake import Taken, read_alike, take, version
from memsync.hub.schema import COUNTED
from memsync.index.embed import Meaning

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)

PARALLEL: Final = 64
_TRIES: Final = 3
_PAUSE: Final = 1.0  # seconds before the second try, twice as long before the third
_LONGEST_PAUSE: Final = 3600
_GONE_FOR: Final = "1 day"  # after which what was taken from a repository that is gone is removed

_NO_TIP: Final = remote.Tip()

What = Literal["new", "changed", "unchanged", "failed", "gone", "removed", "passed over"]
T = TypeVar("T")


class Known(NamedTuple):
    """A repository as the hub knows it."""

    id: int
    url: str
    name: str
    commit: str
    made_by: str
    branch: str
    is_held: bool

    def refuse_if_held(self) -> None:
        """Refuse to change a repository that is on hold.

        Raises:
            PushRefused
        """
        if self.is_held:
            raise PushRefused(f"{self.name} is on hold; ", Remedy("hub hold --release", self.url), " ends that")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one repository in a sync: `put` rows were written, `removed` ones went; `note` says what to look at."""

    name: str
    what: What
    put: int = 0
    removed: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What was asked of a repository; `files` is None where nothing changed, `error` says why nothing is known."""

    tip: remote.Tip = _NO_TIP
    files: Mapping[str, bytes] | None = None
    error: remote.RemoteFailed | None = None
    pushed: bool = False
    committed_at: datetime | None = None


def add(database: Database, addresses: Sequence[str], *, principal: int | None, branch: str = "") -> list[str]:
    """Note the repositories at *addresses* and return the names of the new ones; *principal* may read all of them.

    *branch* is what is known of the default one before anything has come from them.

    Raises:
        UsageError, HubError
    """
    clean = [remote.clean_address(address) for address in addresses]
    with database.writing() as connection:
        new = []
        for url in clean:
            made = connection.execute(
                "insert into repo (url, name) values (%s, %s) on conflict (url) do nothing returning name",
                [url, remote.name_of(url)],
            ).fetchone()
            new += [made[0]] if made else []
            if branch:
                connection.execute("update repo set branch = %s where url = %s and commit = ''", [branch, url])
            if principal is not None:
                connection.execute(
                    "insert into access (principal, repo, source) select %s, id, 'added' from repo where url = %s"
                    " on conflict (principal, repo) do update set until = null",
                    [principal, url],
                )
    return new


def remove(database: Database, ref: str, names: Sequence[str] = ()) -> str:
    """Remove the repository whose URL or name is *ref*, with all that was taken from it, and return its URL.

    Or only the memories and skills with these *names* of it, which do not come in again.

    Raises:
        HubError: there is none such, or it is on hold.
    """
    with database.writing_alone() as connection:
        found = find(connection, ref)
        found.refuse_if_held()
        if names:
            ingest.delete(connection, found.id, names)
        else:
            ingest.remove_repository(connection, found.id)
    return found.url


def hold(database: Database, ref: str, *, release: bool = False) -> str:
    """Keep all that the hub has of *ref* as it is, until that is *released*, and return its URL.

    Raises:
        HubError
    """
    with database.writing_alone() as connection:
        found = find(connection, ref)
        query = "update repo set held_at = case when not %s then coalesce(held_at, now()) end where id = %s"
        connection.execute(query, [release, found.id])
    return found.url


def find(connection: Connection[Any], ref: str) -> Known:
    """Return the repository that *ref* names: its URL, or its name where only one has it.

    Raises:
        HubError
    """
    rows = [known for known in list_known(connection) if ref in (known.url, known.name)]
    exact = [known for known in rows if known.url == ref] or rows
    if len(exact) == 1:
        return exact[0]
    if rows:
        raise HubError(f"{len(rows)} repositories are called {ref}; name one by its URL: {rows[0].url}")
    raise HubError(f"the hub has no repository {ref!r}; ", Remedy("hub status"), " lists them")


def list_known(connection: Connection[Any], *, due: bool = False, asked: bool = False) -> list[Known]:
    """Return the repositories of the hub; with *due* only those that need not wait after failures, *asked* not those that push or are on hold."""
    where = " where not pushed and held_at is null" if asked or due else ""
    where += " and (retry_at is null or retry_at <= now())" if due else ""
    columns = "id, url, name, commit, made_by, branch, held_at is not null"
    rows = connection.execute(f"select {columns} from repo{where} order by id".encode())
    return [Known(*row) for row in rows]


def sync(
    database: Database,
    meaning: Meaning | None,
    *,
    refs: Sequence[str] = (),
    due: bool = False,
    parallel: int = PARALLEL,
    embedder: str = "",
    wait: Callable[[float], None] = time.sleep,
    told: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:
    """Bring the hub up to date with all its repositories, or with *refs*, and return what became of each.

    A first load is done by several processes where *embedder* says how each of them opens its own.

    Raises:
        HubError: the database is lost; what was done until then is kept.
    """
    with database.writing_alone() as connection:
        known = [find(connection, ref) for ref in refs] or list_known(connection, due=due, asked=True)
        for one in known:
            one.refuse_if_held()
        connection.execute("delete from due where repo = any(%s)", [[one.id for one in known]])
        is_load = loading.begin(connection, expected=len(known))
    made_by, is_lost = version(), Event()
    turn: AbstractContextManager[object] = Lock()
    write: Callable[[Known, Fetched, str], Outcome] = partial(settle, database, meaning)
    with ExitStack() as stack:
        if is_load and embedder:
            write, turn = stack.enter_context(loading.apart(database, embedder))(settle), nullcontext()
        workers = stack.enter_context(ThreadPoolExecutor(max_workers=max(1, min(parallel, len(known)))))

        def bring(one: Known) -> Outcome:
            found = ask(one, made_by, wait)
            with turn:
                if is_lost.is_set():  # each would wait for its own time-out, one after the other
                    raise HubError("the hub's database is lost")
                return (
                    write(one, found, made_by)
                    if found.files is not None
                    else settle(database, meaning, one, found, made_by)
                )

        outcomes = []
        try:
            for future in as_completed([workers.submit(bring, one) for one in known]):
                outcomes.append(future.result())
                told(outcomes[-1])
        except BaseException:  # Ctrl-C too: nothing more is begun or written, and it is raised again
            is_lost.set()
            workers.shutdown(wait=False, cancel_futures=True)
            raise
    loading.end(database, of_all=not refs)
    fill_vectors(database, meaning)
    return sorted(outcomes, key=lambda outcome: outcome.name)


def ask(known: Known, made_by: str, wait: Callable[[float], None]) -> Fetched:
    """Ask the repository what it has, and for its files if that may be something else; writes nothing."""
    try:
        tip = _patiently(lambda: remote.look(known.url), wait)
        if (tip.commit, made_by) == (known.commit, known.made_by):
            return Fetched(tip=tip)
        return Fetched(
            tip=tip, files=_patiently(lambda: remote.fetch(known.url, tip.commit), wait) if tip.commit else {}
        )
    except remote.RemoteFailed as error:
        return Fetched(error=error)


def _patiently(call: Callable[[], T], wait: Callable[[float], None]) -> T:
    """Return what *call* returns, trying again after growing pauses while it may only be busy."""
    for number in range(_TRIES):
        try:
            return call()
        except remote.RemoteFailed as error:
            if error.is_gone or number == _TRIES - 1:
                raise
        wait(_PAUSE * 2**number * random.uniform(0.5, 1.5))  # noqa: S311 - so that not all come back at once
    raise AssertionError


def settle(database: Database, meaning: Meaning | None, known: Known, found: Fetched, made_by: str) -> Outcome:
    """Write what was *found* of a repository, unless somebody else has in between.

    Raises:
        HubError
    """
    if found.error:
        return _note_failure(database, known, found.error)
    if found.files is None:
        return Outcome(name=known.name, what="unchanged")
    taken = take(found.files)
    with database.writing_alone(unless=loading.is_loading) as connection:
        state = _lock_state(connection, known)
        if why := _find_hindrance(known, found, state):
            return Outcome(name=known.name, what="passed over", note=why)
        if not found.pushed:
            # What a crash loses here the next sync brings again, and the end of this one waits for the disk.
            set_locally(connection, {"synchronous_commit": "off"})
        elif state:
            _refuse_push(known, found, state, taken)
        taken = ingest.leave_out_deleted(connection, known.id, taken)
        counts = not loading.is_loading(connection)
        anew = not read_alike(known.made_by, made_by)
        put, gone = ingest.write(connection, known.id, taken, found.tip.commit, meaning, counts=counts, anew=anew)
        ingest.note(
            connection,
            known.id,
            taken,
            branch=found.tip.branch,
            commit=found.tip.commit,
            made_by=made_by,
            pushed=found.pushed,
            committed_at=found.committed_at,
        )
    notes = list(taken.notes)
    if known.branch and known.branch != found.tip.branch:
        notes.insert(0, f"the default branch is {found.tip.branch or 'gone'} now, it was {known.branch}")
    what: What = "changed" if known.commit else "new"
    return Outcome(name=known.name, what=what, put=put, removed=gone, note="; ".join(notes))


class _State(NamedTuple):
    """What the hub has of a repository when its turn comes, which may be another thing than when it was asked."""

    commit: str
    made_by: str
    is_pushed: bool
    committed_at: datetime | None
    is_held: bool


def _lock_state(connection: Connection[Any], known: Known) -> _State | None:
    """Return what the hub has now, and lock it until the transaction ends; None where it was removed."""
    query = "select commit, made_by, pushed, committed_at, held_at is not null from repo where id = %s for update"
    row = connection.execute(query, [known.id]).fetchone()
    return _State(*row) if row else None


def _find_hindrance(known: Known, found: Fetched, state: _State | None) -> str:
    """Return what came in between, so that what was *found* is not written; "" if nothing. Who pushes hears of a hold as a refusal."""
    if state is None:
        return "it was removed in between"
    if (state.commit, state.made_by) != (known.commit, known.made_by):
        return "another sync came in between"
    return "a hold came in between" if state.is_held and not found.pushed else ""


def _refuse_push(known: Known, found: Fetched, state: _State, taken: Taken) -> None:
    """Refuse what would change a hold, hide what the hub fetches itself, or bring nothing, and a job that ends after one of a newer commit.

    What is left out, as what has become private, is something: it has to go.

    Raises:
        PushRefused
    """
    known._replace(is_held=state.is_held).refuse_if_held()
    if known.commit and not state.is_pushed:
        raise PushRefused(f"the hub fetches {known.name} itself; what was pushed would hide it")
    if not (taken.rows or taken.left_out or taken.unread):
        raise PushRefused("this commit has no memories and no skills that can be read; ", Remedy("hub remove", known.url),
                          " takes out what the hub has")  # fmt: skip
    last = state.committed_at
    if last and (found.committed_at is None or found.committed_at < last):
        raise PushRefused(
            f"the hub has a newer commit of {known.name}, of {last.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        )


def _note_failure(database: Database, known: Known, error: remote.RemoteFailed) -> Outcome:
    """Write down that a repository could not be asked; one that has been gone for a day goes from the hub as well."""
    state: What = "gone" if error.is_gone else "failed"
    with database.writing_alone() as connection:
        connection.execute(
            "update repo set state = %s, note = %s, failures = failures + 1, retry_at = now() +"
            " least(interval '30 seconds' * power(2, least(failures, 20)), %s * interval '1 second'),"
            " gone_at = case when %s then coalesce(gone_at, now()) end where id = %s",
            [state, str(error), _LONGEST_PAUSE, error.is_gone, known.id],
        )
        query = f"select 1 from repo where id = %s and held_at is null and gone_at < now() - interval '{_GONE_FOR}'"
        if connection.execute(query.encode(), [known.id]).fetchone():
            ingest.write(connection, known.id, Taken(rows=()), "", None)
            connection.execute(f"update repo set commit = '', {COUNTED} where id = %s".encode(), [known.id])
            return Outcome(name=known.name, what="removed", note=str(error))
    return Outcome(name=known.name, what=state, note=str(error))


def fill_vectors(database: Database, meaning: Meaning | None) -> int:
    """Make the vectors that are missing, as after a change of the embedder, and return how many were made.

    Some hundred at a time, so that what is made is kept and nobody waits for all.

    Raises:
        HubError
    """
    made, last, all_made = 0, 0, True
    while meaning is not None:
        with database.writing_alone() as connection:
            rows = ingest.find_without_vector(connection, after=last) if ingest.may_lack_vectors(connection) else []
            if not rows:
                if all_made:
                    ingest.note_vectors(connection)
                break
            last = rows[-1][0]
            new = ingest.put_vectors(connection, rows, meaning)
            made, all_made = made + new, all_made and new > 0
    return made


def summary(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Count *outcomes* by what became of the repositories."""
    counted: dict[str, int] = {}
    for outcome in outcomes:
        counted[outcome.what] = counted.get(outcome.what, 0) + 1
    return dict(sorted(counted.items()))
