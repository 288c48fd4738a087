"""Nobody gets a row of a repository that they may not read, whichever way they ask, nor after a grant has ended."""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from filling import bring, give, make_token, texts

from memsync.hub import access, nominate, report, search, sync
from memsync.hub.hub import ask_beside
from memsync.hub.nominate import Filters
from memsync.hub.schema import READER

PAIRS = int(os.environ.get("MEMSYNC_HUB_PAIRS", "40"))  # 10,000 in docs/hub.md
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


@pytest.fixture
def ways(hub, serve, home, monkeypatch):
    """Return each way in which alice may ask, as a function of a query and of the repositories that it is narrowed to."""
    served, token = serve(a_minute=10**9, has_pages=True), make_token(hub, "alice")
    monkeypatch.setenv("MEMSYNC_HUB_URL", served.url)
    monkeypatch.setenv("MEMSYNC_HUB_TOKEN", token)

    def command(asked, names):
        return hub.search(asked, principal="alice", limit=50, filters=Filters(repositories=names)).as_dict()

    def rest(asked, names):
        return served.ask("POST", "/v1/search", {"query": asked, "limit": 50, "repositories": names}, token=token)[1]

    def mcp(asked, names):
        call = {"name": "search_hub", "arguments": {"query": asked, "limit": 50, "repositories": names}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        said = served.ask(
            "POST",
            "/mcp",
            body,
            token=token,
            Accept="application/json, text/event-stream",
            Content_Type="application/json",
        )[1]
        return json.loads(said["result"]["content"][0]["text"])

    def recall_hub(asked, names):
        return ask_beside(asked, (), limit=50, filters=Filters(repositories=names)).as_dict()

    def report_of(*_):
        return {"memories": report.make(hub.database, hub.owner("alice")).as_dict()}

    def listing(*_):
        return {"memories": served.ask("GET", "/v1/repositories", token=token)[1]["repositories"]}

    def pages(asked, _):
        paths = f"/?q={quote(asked)}", "/mine"
        told = "".join(served.ask("GET", path, Cookie=f"memsync_hub={token}")[1] for path in paths)
        return {"memories": re.sub("<title>.*?</title>|<input[^>]*>", "", told, flags=re.DOTALL)}  # say what was asked

    return command, rest, mcp, recall_hub, report_of, listing, pages


def test_no_random_grant_and_query_gets_a_row_across_by_any_way(hub, crowd, ways):
    draw = random.Random(2)
    across, seen = [], Counter()
    for _ in range(PAIRS):
        allowed = draw.sample(range(8), draw.randrange(8))
        with hub.database.writing() as connection:
            alice, everyone = (access.find_principal(connection, name) for name in ("alice", "everyone"))
            connection.execute("delete from access where source <> 'test' or principal <> all (%s)", [[everyone]])
            connection.execute("delete from member")
            for group, lasting in (("team", None), ("former team", timedelta(seconds=-1))):
                access.join(
                    connection, access.have_principal(connection, group), [alice], lasting=lasting, source="test"
                )
        own = draw.randrange(len(allowed) + 1)
        give(hub, "alice", *(crowd[number] for number in allowed[:own]))
        give(hub, "team", *(crowd[number] for number in allowed[own:]))
        give(hub, "former team", *crowd)
        give(hub, "mallory", *crowd)
        asked = " ".join(draw.sample([*WORDS, *(f"secretword{n}" for n in range(8))], draw.randrange(1, 5)))
        names = tuple(draw.sample([f"org/r{n}" for n in range(8)], draw.randrange(3)))
        for way in ways:
            told = set(map(int, re.findall(r"(?:secretword|org/r)(\d)", json.dumps(way(asked, names)["memories"]))))
            across += [(way.__name__, asked, names, allowed)] if told - set(allowed) else []
            seen[way.__name__] += len(told)
    assert across == []
    assert len(seen) == len(ways)
    assert min(seen.values()) > PAIRS // 2


def test_row_level_security_holds_where_a_query_names_what_it_may_not_read(hub, crowd):
    """Each step of a query is given the repositories of everybody, as if the list of the caller were wrong."""
    with hub.database.writing() as connection:
        repos = [one.id for one in sync.list_known(connection)]
        records = [row[0] for row in connection.execute("select id from record")]
        nobody, everyone = (access.find_principal(connection, name) for name in ("mallory", "everyone"))
    reach = nominate.Reach("{" + ",".join(map(str, repos)) + "}", len(repos), len(records), 1e3, 1e4, "memory")
    asked = search.parse("secretword1 docker", search._TOKENIZER)
    numbers = hub.meaning.query("docker")[0]

    def look(principal):
        with hub.database.reading(principal) as connection:
            whole, _ = nominate.know_whole(connection, asked, search._SYNONYMS, reach)
            yield nominate.by_words(connection, whole, asked.terms, len(asked.chunks), reach, Filters())
            yield nominate.by_meaning(connection, numbers, whole, reach, Filters())
            yield nominate.by_meaning(connection, numbers, whole, reach._replace(records=10**6), Filters())
            yield nominate.read(connection, records, reach, has_vectors=True)
            yield nominate.find_reach(connection, (), "memory").repos.strip("{}")
            yield nominate.read_places(connection, records, reach)
            for table in ("repo", "record", "posting", "embedding"):
                yield connection.execute(f"select * from {table}").fetchall()

    assert [len(found) for found in look(nobody)] == [0] * 10
    assert all(look(everyone))


@pytest.mark.parametrize("table", ["access", "member", "principal", "token", "audit"])
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


def test_a_connection_that_comes_back_stands_for_nobody_and_plans_for_each_query_anew(hub, crowd):
    for _ in range(15):  # a driver prepares what it has sent five times; a server keeps a plan after five more
        hub.search("docker", principal="everyone")
    with hub.database.writing() as connection:
        query = (
            "select sum(custom_plans) > 0, sum(generic_plans) from pg_prepared_statements where statement like '%$1%'"
        )
        assert connection.execute(query).fetchone() == (True, 0)
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


def test_what_a_group_may_its_members_may_until_they_leave_or_their_time_is_over(hub, make):
    repo = make("payments", "the tests need docker")
    bring(hub, repo, to="team:billing")
    with hub.database.writing() as connection:
        alice, team = (access.have_principal(connection, name) for name in ("alice", "team:billing"))
        access.join(connection, team, [alice, team], lasting=timedelta(hours=1), source="person")
    assert texts(hub.search("docker", principal="alice")) == ["the tests need docker"]
    with hub.database.writing() as connection:
        assert not access.may_push(connection, alice, 1)
        access.grant(connection, team, [1], lasting=None, source="person", may_push=True)
        assert access.may_push(connection, alice, 1)
        access.join(connection, team, [alice], lasting=timedelta(seconds=-1), source="person")
        assert not access.may_push(connection, alice, 1)
    assert texts(hub.search("docker", principal="alice")) == []
    with hub.database.writing() as connection:
        access.join(connection, team, [alice], lasting=None, source="person")
        assert access.leave(connection, team, [alice]) == 1
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
        assert access.find_bearer(connection, token) == bearer
        assert connection.execute("select t::text from token t").fetchall() == stored  # noted a moment ago
        for used in ("1 hour", "-1 hour"):  # long ago, and by a clock that went back
            connection.execute(f"update token set used_at = now() - interval '{used}'")
            access.find_bearer(connection, token)
            assert connection.execute("select used_at = now() from token where id = %s", [bearer.token]).fetchone()[0]
        assert token.removeprefix(access.PREFIX) not in str(stored)
        access.revoke_token(connection, bearer.token)
        assert access.find_bearer(connection, token) is None


def test_what_was_asked_long_ago_is_forgotten_on_request(hub, make):
    bring(hub, make("one", "the integration tests need docker"))
    for text in ("docker", "podman"):
        hub.search(text, principal="alice")
    with hub.database.writing() as connection:
        connection.execute(
            "update audit set at = now() - interval '91 days' where ctid = (select min(ctid) from audit)"
        )
        assert access.prune_audit(connection, timedelta(days=90)) == 1
        assert len(access.list_audit(connection, limit=9)) == 1


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


def test_what_may_be_read_no_more_when_the_answer_is_put_together_is_not_in_it(hub, make, monkeypatch):
    bring(hub, make("one", "the tests need docker"), make("two", "docker runs as root"))
    read = nominate.read_places

    def revoke_and_read(connection, ids, reach):
        with hub.database.writing() as other:
            other.execute("delete from access where repo = (select min(id) from repo)")
        return read(connection, ids, reach)

    monkeypatch.setattr(nominate, "read_places", revoke_and_read)
    assert texts(hub.search("docker", principal="alice")) == ["docker runs as root"]


def test_a_token_that_ended_long_ago_is_forgotten_when_another_one_is_made(hub):
    for ended in ("until", "revoked_at"):
        make_token(hub, "alice")
        with hub.database.writing() as connection:
            connection.execute(f"update token set {ended} = now() - interval '31 days'")
    make_token(hub, "alice")
    with hub.database.writing() as connection:
        assert [(one["until"], one["revoked_at"]) for one in access.list_tokens(connection)] == [(None, None)]
