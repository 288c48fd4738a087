"""What breaks in the middle leaves whole repositories behind, and the next sync goes on from there."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import closing

import pytest
from filling import bring, commit, count, give, refresh, texts

from memsync.errors import HubError, UsageError
from memsync.hub import database, ingest, schema, sync
from memsync.hub.hub import init

psycopg = pytest.importorskip("psycopg", reason="no psycopg: pip install '.[hub]'")

DOCKER = "the integration tests need docker"


def read_counts(hub):
    """Return what the hub counts, and check that it is what is there."""
    with hub.database.writing_alone() as connection:
        kept = connection.execute("select term, n from df where n <> 0 order by term").fetchall()
        figures = connection.execute("select kind, live from stats where live > 0").fetchall()
        ingest.recount(connection)
        assert connection.execute("select term, n from df where n <> 0 order by term").fetchall() == kept
        assert connection.execute("select kind, live from stats where live > 0").fetchall() == figures
    return figures


KILLED = """
import os, sys
from memsync.hub import ingest, sync
from memsync.hub.config import Settings
from memsync.hub.hub import Hub
ingest.note = lambda *_, **__: os._exit(9)  # after all rows of the repository are written, before they are kept
with Hub(Settings(dsn=sys.argv[1])) as hub:
    sync.sync(hub.database, hub.meaning)
"""


def test_who_is_killed_in_the_middle_of_a_repository_has_written_nothing_of_it(hub, dsn, make, tmp_path):
    one, two = make("one", DOCKER), make("two", "ports begin at 8000")
    bring(hub, one)
    commit(one, "the integration tests need podman")
    hub.add([str(two.root)])
    give(hub, "alice", two)
    env = {**os.environ, "TMPDIR": str(tmp_path)}  # what it fetched stays there
    done = subprocess.run([sys.executable, "-c", KILLED, dsn], capture_output=True, check=False, env=env)
    assert done.returncode == 9, done.stderr
    assert texts(hub.search("docker podman", principal="alice")) == [DOCKER]
    assert read_counts(hub) == [("memory", 1)]
    assert sorted(one.what for one in refresh(hub)) == ["changed", "new"]
    assert read_counts(hub) == [("memory", 2)]
    assert texts(hub.search("podman", principal="alice")) == ["the integration tests need podman"]


def test_a_connection_that_is_lost_is_told_and_the_next_sync_is_whole(hub, dsn, make, monkeypatch):
    repo = make("one", DOCKER)
    hub.add([str(repo.root)])
    give(hub, "alice", repo)
    note = ingest.note

    def lose(connection, *values, **named):
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute("select pg_terminate_backend(%s)", [connection.info.backend_pid])
        note(connection, *values, **named)

    monkeypatch.setattr(ingest, "note", lose)
    with pytest.raises(HubError, match="the hub's database does not answer"):
        refresh(hub)
    assert count(hub, "record") == 0
    monkeypatch.setattr(ingest, "note", note)
    assert [one.what for one in refresh(hub)] == ["new"]
    assert read_counts(hub) == [("memory", 1)]


def test_a_sync_whose_database_is_gone_ends_with_the_first_that_was_told_so(hub, dsn, make, server):
    repos = [make(f"r{n}", DOCKER) for n in range(8)]
    hub.add([str(repo.root) for repo in repos])
    (name,) = [part.partition("=")[2] for part in dsn.split() if part.startswith("dbname=")]
    asked = []

    def drop(outcome):
        asked.append(outcome)
        with server.connect("postgres") as other:
            other.execute(f"alter database {name} allow_connections false")
            other.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name])

    try:
        lost = database.Database(dsn, patience=0.5)
        with closing(lost), pytest.raises(HubError):
            sync.sync(lost, hub.meaning, told=drop, parallel=1)
    finally:
        with server.connect("postgres") as other:
            other.execute(f"alter database {name} allow_connections true")
    assert len(asked) == 1
    assert len(refresh(hub)) == 8


def test_who_asks_is_answered_as_soon_as_the_database_is_back(hub, dsn, server):
    (name,) = [part.partition("=")[2] for part in dsn.split() if part.startswith("dbname=")]

    def asks_in_vain(lost):
        try:
            with lost.writing():
                return False
        except HubError:
            return True

    with closing(database.Database(dsn, patience=1)) as lost, server.connect("postgres") as other:
        other.execute(f"alter database {name} allow_connections false")
        try:
            assert [asks_in_vain(lost) for _ in range(4)] == [True] * 4
        finally:
            other.execute(f"alter database {name} allow_connections true")
        assert asks_in_vain(lost) + asks_in_vain(lost) < 2, "the pool pauses no longer than somebody waits"


def test_a_database_that_does_not_answer_is_known_within_seconds_and_is_there_again(hub, dsn, server):
    (name,) = [part.partition("=")[2] for part in dsn.split() if part.startswith("dbname=")]
    assert hub.database.answers()
    with server.connect("postgres") as other:
        other.execute(f"alter database {name} allow_connections false")
        assert not hub.database.answers()
        other.execute(f"alter database {name} allow_connections true")
    assert hub.database.answers()


def test_connections_that_the_server_has_closed_are_made_anew_before_anybody_asks_with_them(hub, dsn, make, server):
    bring(hub, make("one", "the tests need docker"))
    (name,) = [part.partition("=")[2] for part in dsn.split() if part.startswith("dbname=")]
    with server.connect("postgres") as other:
        gone = "select count(*) from pg_stat_activity where datname = %s"
        other.execute("select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = %s", [name])
        assert other.execute(gone, [name]).fetchone() == (0,)
    assert texts(hub.search("docker", principal="alice")) == ["the tests need docker"]


def test_two_syncs_at_once_write_each_repository_once(hub, make):
    repos = [make(f"r{n}", f"service {n} listens on port {8000 + n}", f"retries are {n}") for n in range(4)]
    bring(hub, *repos[:2])
    commit(repos[0], "service zero is gone")
    hub.add([str(repo.root) for repo in repos])
    outcomes = []
    threads = [threading.Thread(target=lambda: outcomes.extend(refresh(hub))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one.put for one in outcomes) == 5
    assert {one.what for one in outcomes} <= {"new", "changed", "unchanged", "passed over"}
    assert read_counts(hub) == [("memory", 7)]


def test_a_first_load_that_was_cut_off_answers_nobody_by_halves_and_is_ended_by_the_next_sync(hub, make):
    bring(hub, make("one", DOCKER))
    with hub.database.writing() as connection:
        connection.execute("insert into meta values ('loading', '1')")
        connection.execute("drop index posting_term, embedding_near")
        connection.execute("truncate df")
    with pytest.raises(HubError, match="being loaded for the first time"):
        hub.search("docker", principal="alice")
    assert [one.what for one in refresh(hub)] == ["unchanged"]
    assert texts(hub.search("docker", principal="alice")) == [DOCKER]
    assert read_counts(hub) == [("memory", 1)]


def test_a_migration_that_fails_has_not_happened_and_can_be_done_again(hub, dsn, make, monkeypatch):
    bring(hub, make("one", DOCKER))
    broken = "alter table repo add column team text; select 1 / 0;"
    monkeypatch.setattr(database, "STEPS", (*schema.STEPS, broken))
    with pytest.raises(psycopg.errors.DivisionByZero):
        database.migrate(dsn, dim=256, embedder=hub.meaning.id)
    assert texts(hub.search("docker", principal="alice")) == [DOCKER]
    monkeypatch.setattr(database, "STEPS", (*schema.STEPS, "alter table repo add column team text"))
    assert database.migrate(dsn, dim=256, embedder=hub.meaning.id) == [f"step {len(schema.STEPS) + 1} of the schema"]
    assert database.migrate(dsn, dim=256, embedder=hub.meaning.id) == []
    monkeypatch.undo()
    with pytest.raises(HubError, match="of a newer memsync"):
        database.migrate(dsn, dim=256, embedder=hub.meaning.id)


def test_a_hub_of_an_older_version_is_told_brought_up_to_date_and_answers_as_before(hub, dsn, make):
    bring(hub, make("one", DOCKER, "docker runs as root, docker needs no root"), make("two", "ports begin at 8000"))
    asked = ("docker", "ports at 8000")
    found = [hub.search(text, principal="alice").as_dict() for text in asked]
    with hub.database.writing() as connection:
        connection.execute("alter table record drop column term_counts, add terms bigint[] not null default '{}'")
        connection.execute("alter table record drop column said, drop column text_hash")
        connection.execute("alter table access drop column may_push")
        connection.execute("alter table repo drop column committed_at")
        connection.execute("drop table due, delivery, member, forge_answer, deleted")
        connection.execute("alter table principal drop column subject, drop column signed_out_at, drop column told_at")
        connection.execute("alter table token drop column is_session")
        connection.execute("alter table repo drop column held_at")
        connection.execute("delete from step where number >= 5")
    with pytest.raises(HubError, match="another version"):
        hub.search("docker", principal="alice")
    assert database.migrate(dsn, dim=256, embedder=hub.meaning.id) == [
        f"step {n} of the schema" for n in range(5, len(schema.STEPS) + 1)
    ]
    assert [hub.search(text, principal="alice").as_dict() for text in asked] == found
    assert [one.put for one in refresh(hub)] == [2, 1]  # what the step could not write
    with hub.database.writing_alone() as connection:
        for known in sync.list_known(connection):
            ingest.remove_repository(connection, known.id)
    assert read_counts(hub) == []  # whatever was migrated is taken back whole


def test_a_full_disk_is_told_as_that(hub):
    with pytest.raises(HubError, match="the hub's disk is full"), hub.database.writing() as connection:
        connection.execute("do $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$")


def test_a_database_that_is_not_there_and_one_without_a_hub_are_told_apart(server, dsn):
    nowhere = database.Database("host=/nowhere dbname=x user=y")
    nowhere._pool.timeout = 0.2
    with pytest.raises(HubError, match="is it running"), nowhere.writing():
        pass
    nowhere.close()
    empty = database.Database(server.dsn.replace("dbname=memsync", "dbname=postgres"))
    with pytest.raises(HubError, match="has no hub, or one of another version"), empty.writing() as connection:
        sync.list_known(connection)
    empty.close()


@pytest.mark.parametrize("address", ["mm-aaaaaa", "postgresql://u:pw@h/d?nonsense=1", "host='x"])
def test_what_is_no_address_of_a_database_is_refused_without_being_repeated(address):
    with pytest.raises(UsageError) as refused:
        init(address, "none")
    assert address not in str(refused.value)
    assert "pw" not in str(refused.value)
