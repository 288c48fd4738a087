"""Nobody gets a row of a repository that they may not read, whichever way they ask, nor after a grant has ended."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime, timedelta

import pytest
from filling import bring, give, texts

from memsync.hub import access, nominate, search, sync
from memsync.hub.nominate import Filters
from memsync.hub.schema import READER

PAIRS = int(os.environ.get("MEMSYNC_HUB_PAIRS", "150"))  # 10,000 in docs/hub.md
WORDS = "docker node python port cache queue token login retry batch mail page shard proxy".split()


@pytest.fixture
def crowd(hub, make):
    """Return eight repositories with eight memories each, which name their repository by a word of its own."""
    draw = random.Random(1)
    repos = [
        make(f"r{n}", *(f"secretword{n} {' '.join(draw.sample(WORDS, 4))} {n}{m}" for m in range(8))) for n in range(8)
    ]
    bring(hub, *repos, to="everyone")
    return repos


def test_no_random_grant_and_query_gets_a_row_across(hub, crowd):
    draw = random.Random(2)
    across = seen = 0
    for _ in range(PAIRS):
        allowed = {repo.root.name for repo in draw.sample(crowd, draw.randrange(len(crowd)))}
        with hub.database.writing() as connection:
            connection.execute(
                "delete from access where source = 'test' and principal <> (select id from principal where name = 'everyone')"
            )
        give(hub, "alice", *(repo for repo in crowd if repo.root.name in allowed))
        asked = " ".join(draw.sample([*WORDS, *(f"secretword{n}" for n in range(8))], draw.randrange(1, 5)))
        narrowed = draw.sample([f"org/r{n}" for n in range(8)], draw.randrange(3))
        found = hub.search(asked, principal="alice", limit=50, filters=Filters(repositories=tuple(narrowed)))
        across += sum(hit.repository.removeprefix("org/") not in allowed for hit in found.hits)
        seen += len(found.hits)
    assert across == 0
    assert seen > PAIRS


def test_row_level_security_holds_where_a_query_names_what_it_may_not_read(hub, crowd):
    """Each step of a query is given the repositories of everybody, as if the list of the caller were wrong."""
    with hub.database.writing() as connection:
        repos = [one.id for one in sync.list_known(connection)]
        records = [row[0] for row in connection.execute("select id from record")]
        nobody, everyone = (access.find_principal(connection, name) for name in ("mallory", "everyone"))
    reach = nominate.Reach(repos, len(records), "memory")
    asked = search.parse("secretword1 docker", search._TOKENIZER)
    numbers = hub.meaning.query("docker")[0]

    def look(principal):
        with hub.database.reading(principal) as connection:
            whole, _ = nominate.know_whole(connection, asked, reach)
            yield nominate.by_words(connection, whole, asked.terms, reach, Filters())
            yield nominate.by_meaning(connection, numbers, whole, reach, Filters())
            yield nominate.by_meaning(connection, numbers, whole, reach._replace(records=10**6), Filters())
            yield nominate.read(connection, records, reach, has_vectors=True)
            yield nominate.find_reach(connection, (), "memory").repos
            yield search._read_places(connection, set(repos))
            for table in ("repo", "record", "posting", "embedding"):
                yield connection.execute(f"select * from {table}").fetchall()

    assert [len(found) for found in look(nobody)] == [0] * 10
    assert all(look(everyone))


@pytest.mark.parametrize("table", ["access", "principal", "token", "audit"])
def test_whoever_asks_cannot_read_who_may_nor_what_was_asked(hub, table):
    from memsync.errors import HubError

    with pytest.raises(HubError, match="refuses"), hub.database.reading(1) as connection:
        connection.execute(f"select * from {table}")


def test_nobody_reads_where_nobody_is_named_and_nobody_writes(hub, crowd):
    with hub.database.writing() as connection:
        connection.execute(f"set local role {READER}")
        assert connection.execute("select count(*) from record").fetchone() == (0,)
    with pytest.raises(Exception, match=r"permission denied|read-only|refuses"), hub.database.reading(1) as connection:
        connection.execute("delete from record")


def test_a_connection_that_comes_back_stands_for_nobody(hub, crowd):
    hub.search("docker", principal="everyone")
    with hub.database.writing() as connection:
        assert connection.execute("select current_setting('memsync.principal', true), current_user = session_user").fetchone() in [
            ("", True), (None, True)
        ]  # fmt: skip


def test_a_grant_that_has_run_out_or_is_taken_back_denies_at_once(hub, make):
    repo = make("payments", "the tests need docker")
    bring(hub, repo)
    assert len(texts(hub.search("docker", principal="alice"))) == 1
    give(hub, "alice", repo, lasting=timedelta(seconds=-1))
    assert texts(hub.search("docker", principal="alice")) == []
    slow = search.search(
        hub.database, hub.meaning, hub.owner("alice"), "docker", clock=lambda: datetime(2000, 1, 1, tzinfo=UTC)
    )
    assert slow.hits == (), "the clock of this machine does not count"
    give(hub, "alice", repo, lasting=timedelta(hours=1))
    assert len(texts(hub.search("docker", principal="alice"))) == 1
    with hub.database.writing() as connection:
        assert access.revoke(connection, access.find_principal(connection, "alice"), [1]) == 1
    assert texts(hub.search("docker", principal="alice")) == []


def test_a_token_is_kept_as_a_hash_and_counts_until_it_is_taken_back_or_runs_out(hub):
    with hub.database.writing() as connection:
        alice = access.find_principal(connection, "alice")
        token = access.make_token(connection, alice, name="laptop", scopes=["search"], lasting=None)
        short = access.make_token(connection, alice, name="", scopes=["push"], lasting=timedelta(seconds=-1))
        bearer = access.find_bearer(connection, token)
        assert (bearer.principal, bearer.name, bearer.scopes) == (alice, "alice", {"search"})
        assert access.find_bearer(connection, short) is None
        assert access.find_bearer(connection, "msh_guess") is None
        stored = connection.execute("select t::text from token t").fetchall()
        assert token.removeprefix(access.PREFIX) not in str(stored)
        access.revoke_token(connection, bearer.token)
        assert access.find_bearer(connection, token) is None


def test_the_audit_has_who_asked_and_how_much_was_found_but_no_text(hub, make):
    bring(hub, make("payments", "the tests need docker"))
    hub.search("docker zanzibar", principal="alice")
    with hub.database.writing() as connection:
        (row,) = access.list_audit(connection, limit=9)
        assert (row["principal"], row["face"], row["action"], row["repos"], row["hits"]) == (
            "alice",
            "cli",
            "search",
            1,
            1,
        )
        assert "zanzibar" not in str(connection.execute("select a::text from audit a").fetchall())


def test_what_a_forge_does_not_say_any_more_ends_and_what_a_person_said_stays(hub, make):
    one, two = make("one", "docker"), make("two", "docker")
    bring(hub, one, two, to="person")
    with hub.database.writing() as connection:
        access.mirror(connection, "github", {"github:bob": [1, 2], "person": [1]}, [1, 2])
        access.mirror(connection, "github", {"github:bob": [2]}, [1, 2])
        found = [(one["principal"], one["repository"], one["source"]) for one in access.list_grants(connection)]
        assert found == [
            ("github:bob", "org/two", "github"),
            ("person", "org/one", "test"),
            ("person", "org/two", "test"),
        ]
        connection.execute("update access set until = now() - interval '1 hour' where source = 'test' and repo = 1")
        access.mirror(connection, "github", {"person": [1, 2]}, [1, 2])
        found = [(one["repository"], one["source"], one["expired"]) for one in access.list_grants(connection)]
        assert found == [("org/one", "github", False), ("org/two", "test", False)], (
            "what has run out is no word any more"
        )
        ends = connection.execute("select until - now() from access where source = 'github'").fetchone()[0]
        assert timedelta() < ends <= access.MIRRORED_FOR
