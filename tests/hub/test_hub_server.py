"""The server over real sockets: tokens, limits, REST, MCP, push and webhooks, and what each says to whom."""

from __future__ import annotations

import hmac
import json
import re

import anyio
import pytest
from filling import bring, make_token, refresh
from helpers import memory_line, memsync, until
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from memsync.hub import access, client, config, sync
from memsync.hub.config import Settings
from memsync.hub.door import Allowance, Meter
from memsync.hub.hub import read_status
from memsync.hub.nominate import Filters
from memsync.hub.server import SECRET
from memsync.hub.webhook import find_pushed, is_genuine, note_due, take_due

DOCKER = "the integration tests need docker"


def test_who_has_no_token_that_counts_gets_nothing_by_any_way(hub, make, serve):
    bring(hub, make("payments", DOCKER))
    served = serve()
    mallory, alice = make_token(hub, "mallory"), make_token(hub, "alice")
    calls = [("POST", "/v1/search", {"query": "docker"}), ("GET", "/v1/repositories", None), ("POST", "/v1/push", {}),
             ("GET", "/metrics", None), ("POST", "/mcp", {}), ("POST", "/mcp/", {}), ("GET", "//v1/repositories", None)]  # fmt: skip
    for method, path, body in calls:
        for token in ("", "msh_guess", alice[:-1]):
            assert served.ask(method, path, body, token=token)[0] == 401, path
    assert served.ask("POST", "/v1/search", {"query": "docker"}, token=mallory)[1]["memories"] == []
    assert served.ask("GET", "/v1/repositories", token=mallory)[1] == {"repositories": []}
    assert served.ask("POST", "/v1/push", {}, token=alice)[0] == 403, "a token for searching does not push"
    assert served.ask("GET", "/metrics", token=alice)[0] == 403
    (found,) = served.ask("POST", "/v1/search", {"query": "docker"}, token=alice)[1]["memories"]
    assert (found["content"], found["repository"]) == (DOCKER, "org/payments")
    with hub.database.writing() as connection:
        access.revoke_token(connection, access.find_bearer(connection, alice).token)
    assert served.ask("POST", "/v1/search", {"query": "docker"}, token=alice)[0] == 401


def test_mcp_answers_each_user_with_what_that_user_may_read(hub, make, serve):
    bring(hub, make("payments", DOCKER))
    served = serve()

    async def ask(token):
        import httpx2

        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
            Client(streamable_http_client(f"{served.url}/mcp", http_client=http)) as user,
        ):
            assert [tool.name for tool in (await user.list_tools()).tools] == ["search_hub"]
            answer = await user.call_tool("search_hub", {"query": "docker"})
            return [one["content"] for one in json.loads(answer.content[0].text)["memories"]]

    assert anyio.run(ask, make_token(hub, "alice")) == [DOCKER]
    assert anyio.run(ask, make_token(hub, "mallory")) == []


def test_health_metrics_and_openapi_say_what_they_should(hub, make, serve, caplog):
    caplog.set_level("INFO", "memsync.hub.door")
    bring(hub, make("payments", DOCKER))
    served = serve()
    token = make_token(hub, "alice", "search", "metrics")
    for path in ("/livez", "/readyz"):
        assert served.ask("GET", path)[:2] == (200, {"ok": True})
    described = served.ask("GET", "/openapi.json")[1]
    assert set(described["paths"]) == {
        "/v1/search",
        "/mcp",
        "/v1/repositories",
        "/v1/push",
        "/webhook",
        "/metrics",
        "/livez",
        "/readyz",
    }
    assert served.ask("POST", "/v1/search", {"query": "zanzibar"}, token=token)[0] == 200
    assert served.ask("POST", "/v1/search", {"query": ""}, token=token)[0] == 400
    assert served.ask("POST", "/v1/search", {"query": "x", "other": 1}, token=token)[0] == 400
    assert served.ask("POST", "/v1/search", b"x" * (2 << 20), token=token)[0] == 413
    assert served.ask("GET", "/v1/nothing", token=token)[:2] == (404, {"error": "Not Found"})
    counted = served.ask("GET", "/metrics", token=token)[1]
    assert 'memsync_hub_requests_total{path="/v1/search",status="200"} 1' in counted
    assert "memsync_hub_memories 1" in counted
    assert re.search(r"^memsync_hub_last_sync_timestamp_seconds 1\.\d+e\+09$", counted, re.MULTILINE)
    logged = [json.loads(record.message) for record in caplog.records if record.name == "memsync.hub.door"]
    assert {"path", "status", "ms", "principal", "token", "at", "method"} == set(logged[-1])
    assert "zanzibar" not in json.dumps(logged)


def test_a_token_that_asks_too_often_is_told_when_to_come_again(hub, serve):
    served = serve(a_minute=2)
    token, other = make_token(hub, "alice"), make_token(hub, "mallory")
    assert [served.ask("GET", "/v1/repositories", token=token)[0] for _ in range(3)] == [200, 200, 429]
    assert int(served.ask("GET", "/v1/repositories", token=token)[2]["Retry-After"]) <= 31
    assert served.ask("GET", "/v1/repositories", token=other)[0] == 200


def test_a_long_list_of_repositories_comes_in_parts(hub, make, serve):
    bring(hub, *(make(f"r{n}", DOCKER) for n in range(5)))
    served, token, found, after = serve(), make_token(hub, "alice"), [], ""
    while part := served.ask("GET", f"/v1/repositories?limit=2&after={after}", token=token)[1]["repositories"]:
        found += [one["name"] for one in part]
        assert len(part) <= 2
        after = part[-1]["url"]
    assert found == [f"org/r{n}" for n in range(5)]
    for wrong in ("limit=0", "limit=x", "page=2"):
        assert served.ask("GET", f"/v1/repositories?{wrong}", token=token)[0] == 400


def test_an_allowance_fills_up_again():
    now = [0.0]
    allowance = Allowance(60, clock=lambda: now[0])
    assert [allowance.take(1) for _ in range(31)][-2:] == [0.0, pytest.approx(1.0)]
    now[0] = 1.0
    assert [allowance.take(1), allowance.take(1)] == [0.0, pytest.approx(1.0)]


def test_a_ci_pushes_what_the_hub_cannot_reach(hub, make, serve, home):
    repo = make("payments", DOCKER, "the deploy key is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    with hub.database.writing() as connection:
        connection.execute("insert into repo (url, name) values ('https://git.internal/payments.git', 'git/payments')")
        access.grant(
            connection, access.have_principal(connection, "ci"), [1], lasting=None, source="test", may_push=True
        )
    served = serve()
    env = {"MEMSYNC_HUB_URL": served.url, "MEMSYNC_HUB_TOKEN": make_token(hub, "ci", "push", "search")}
    name = "https://git.internal/payments.git"
    pushed = memsync("hub", "push", name, "--json", cwd=repo.root, env=env)
    assert (pushed.json["what"], pushed.json["put"]) == ("new", 1), pushed.err
    found = memsync("memory", "recall", "docker", "--hub", cwd=repo.root.parents[1], env=env)
    assert found.out.endswith(f"/blob/{repo.git('rev-parse', 'HEAD').strip()}/.gobby/memories.jsonl#L1\n")
    told = memsync("hub", "status", cwd=repo.root, env=env).out
    assert told == f"asks {served.url}; 1 repository that you may read\n  git/payments 1 memory, 0 skills\n"
    refused = memsync("hub", "push", name, "--branch", "feature", cwd=repo.root, env=env)
    assert "what is not merged is not taken" in refused.err
    other = env | {"MEMSYNC_HUB_TOKEN": make_token(hub, "mallory", "push")}
    assert "404" in memsync("hub", "push", name, cwd=repo.root, env=other).err
    assert sync.sync(hub.database, hub.meaning) == [], "what pushes is not asked"
    with hub.database.writing() as connection:
        assert read_status(connection)["repositories"][0]["pushed"], "what was pushed says so"


@pytest.fixture
def pushing(hub, serve):
    """Return what pushes a text of a repository that the hub cannot fetch, as somebody who may, and gives the status and the answer."""
    with hub.database.writing() as connection:
        connection.execute("insert into repo (url, name) values ('https://git.internal/payments.git', 'git/payments')")
        access.grant(
            connection, access.have_principal(connection, "ci"), [1], lasting=None, source="test", may_push=True
        )
    served, tokens = serve(), {name: make_token(hub, name, "push", "search") for name in ("ci",)}

    def push(
        commit: str,
        *texts: str,
        at: str | None = None,
        who: str = "ci",
        repository: str = "git/payments",
        text: str | None = None,
    ):
        if who not in tokens:
            tokens[who] = make_token(hub, who, "push", "search")
        lines = "".join(memory_line(f"mm-aaaaa{n}", text) for n, text in enumerate(texts))
        body = {"repository": repository, "branch": "main", "commit": commit * 40}
        files = {".gobby/memories.jsonl": lines} if texts else {} if text is None else {".gobby/memories.jsonl": text}
        return served.ask(
            "POST", "/v1/push", body | {"files": files, **({"committed_at": at} if at else {})}, token=tokens[who]
        )[:2]

    return push


def test_whoever_may_read_a_repository_may_not_push_to_it_before_that_is_granted(hub, pushing):
    with hub.database.writing() as connection:
        access.grant(connection, access.have_principal(connection, "alice"), [1], lasting=None, source="test")
    status, told = pushing("a", "use the key giraffe", who="alice")
    assert status == 409
    assert "hub grant --push alice" in told["error"]


def test_a_push_that_hides_what_the_hub_fetches_itself_is_refused(hub, make, pushing):
    repo = make("fetched", DOCKER)
    hub.add([str(repo.root)])
    sync.sync(hub.database, hub.meaning, refs=[str(repo.root)])
    with hub.database.writing() as connection:
        access.grant(
            connection, access.have_principal(connection, "ci"), [2], lasting=None, source="test", may_push=True
        )
    status, told = pushing("a", "use the key giraffe", repository=str(repo.root))
    assert (status, "the hub fetches" in told["error"]) == (409, True), told


def test_a_job_that_ends_late_does_not_bring_an_older_commit_back(pushing):
    assert pushing("b", "deploys are on Monday", at="2026-11-02T10:00:00+01:00")[0] == 200
    status, told = pushing("a", "deploys are on Friday", at="2026-11-02T08:59:59Z")
    assert (status, "a newer commit" in told["error"]) == (409, True), told
    assert pushing("a", "deploys are on Friday")[0] == 409, "one that does not say when"
    assert pushing("c", "deploys are on Tuesday", at="2026-11-02T09:00:01Z")[0] == 200


@pytest.mark.parametrize("text", [None, "", "\n\n", "<html>502 Bad Gateway</html>\n"])
def test_a_push_of_nothing_takes_nothing_away(hub, pushing, text):
    assert pushing("b", "deploys are on Monday")[0] == 200
    status, told = pushing("c", text=text)
    assert (status, "hub remove" in told["error"]) == (409, True), told
    with hub.database.writing() as connection:
        assert connection.execute("select count(*) from record").fetchone() == (1,)


def test_what_has_become_private_goes_with_the_push_that_says_so(hub, pushing):
    assert pushing("b", "deploys are on Monday")[0] == 200
    assert pushing("c", text=memory_line("mm-aaaaa0", "deploys are on Monday", tags=["private"]))[1]["removed"] == 1


def test_the_desk_shows_what_other_repositories_know_where_its_user_says_so(hub, make, serve, home, monkeypatch):
    from starlette.testclient import TestClient

    from memsync.agents.live import Live
    from memsync.web.desk import Changes
    from memsync.web.health import Checkup
    from memsync.web.serve import Keys
    from memsync.web.server import build

    here = make("here", DOCKER)
    bring(hub, here, make("payments", "docker runs as <b>root</b> in payments", DOCKER.replace("docker", "podman")))
    keys = Keys(17_000)
    desk = TestClient(build(Live(here.root), keys, Changes(), Checkup(here.root)), base_url="http://127.0.0.1:17000")
    desk.get(keys.url)
    assert "other repositories too" not in desk.get("/memories?q=docker").text
    served = serve()
    monkeypatch.setenv("MEMSYNC_HUB_URL", served.url)
    monkeypatch.setenv("MEMSYNC_HUB_TOKEN", make_token(hub, "alice"))
    assert "/hub?" not in desk.get("/memories?q=docker").text, "nobody is asked before somebody says so"
    assert "/hub?q=docker&amp;hub=1" in desk.get("/memories?q=docker&hub=1").text
    page = desk.get("/hub?q=docker&hub=1").text
    assert "docker runs as &amp;lt;b>root" in page.replace("&gt;", ">")
    assert "org/payments" in page
    assert DOCKER not in page, "what this project's own answer shows is not shown twice"
    monkeypatch.setenv("MEMSYNC_HUB_TOKEN", "msh_guess")
    assert "MEMSYNC_HUB_TOKEN" in desk.get("/hub?q=docker").text


def test_a_signed_webhook_syncs_the_repository_that_it_names(hub, make, serve):
    repo = make("payments", DOCKER)
    bring(hub, repo)
    with hub.database.writing() as connection:
        connection.execute("insert into repo (url, name) values ('https://forge.invalid/o/other.git', 'o/other')")
    served = serve(env={SECRET: "s3cr3t"})
    body = json.dumps(
        {
            "ref": "refs/heads/main",
            "repository": {"default_branch": "main", "clone_url": "https://forge.invalid/o/other.git"},
        }
    ).encode()
    signed = "sha256=" + hmac.new(b"s3cr3t", body, "sha256").hexdigest()
    assert served.ask("POST", "/webhook", body)[0] == 403
    assert served.ask("POST", "/webhook", body, X_Hub_Signature_256=signed[:-1] + "0")[0] == 403
    told = {"X_Hub_Signature_256": signed, "X_GitHub_Delivery": "one"}
    assert served.ask("POST", "/webhook", body, **told)[:2] == (202, {"repositories": 1})
    assert served.ask("POST", "/webhook", body, **told)[0] == 409, "who has heard one sends it again"
    until(lambda: next(one for one in hub.status()["repositories"] if one["name"] == "o/other")["state"] != "new")


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (
            {"ref": "refs/heads/main", "repository": {"default_branch": "main", "ssh_url": "git@github.com:o/r.git"}},
            [1],
        ),
        (
            {
                "ref": "refs/heads/x",
                "repository": {"default_branch": "main", "clone_url": "https://github.com/o/r.git"},
            },
            [],
        ),
        ({"ref": "refs/heads/main", "project": {"default_branch": "main", "web_url": "https://github.com/O/R"}}, [1]),
        ({"repository": {"clone_url": "https://evil.example/o/r"}}, []),
        ({"repository": "x"}, []),
    ],
)
def test_a_push_is_about_the_repository_whose_default_branch_it_moves(told, found):
    assert find_pushed(json.dumps(told).encode(), [(1, "https://github.com/o/r"), (2, "/srv/r")]) == found


def test_a_webhook_is_genuine_only_by_the_secret():
    assert is_genuine("s", {"x-gitlab-token": "s"}, b"")
    assert not is_genuine("s", {"x-gitlab-token": "t"}, b"")
    assert not is_genuine("", {"x-gitlab-token": ""}, b"")
    assert not is_genuine("s", {}, b"")


def test_a_client_shows_its_token_to_nobody_else(hub, serve, home):
    from memsync.errors import HubError

    for url in ("http://hub.example.com", "ftp://127.0.0.1"):
        with pytest.raises(HubError, match="name it by https"):
            client.search(Settings(server=url, token="t"), "docker", limit=1, filters=Filters())
    config.save(Settings(server=serve().url))
    with pytest.raises(HubError, match="there is no token"):
        client.list_repositories(config.load({}))
    with pytest.raises(HubError, match="takes our token no more"):
        client.list_repositories(config.load({"MEMSYNC_HUB_TOKEN": "t"}))


def test_counts_are_told_as_prometheus_reads_them():
    meter = Meter()
    meter.count("/v1/search", 200, 0.5)
    meter.count("/v1/search", 200, 0.02)
    told = meter.text({"memories": 3.0}).splitlines()
    assert 'memsync_hub_requests_total{path="/v1/search",status="200"} 2.0' in told
    assert 'memsync_hub_request_seconds_bucket{le="0.025",path="/v1/search"} 1.0' in told
    assert 'memsync_hub_request_seconds_bucket{le="0.5",path="/v1/search"} 2.0' in told
    assert "memsync_hub_memories 3.0" in told
    assert "memsync_hub_memories 4.0" in meter.text({"memories": 4.0}).splitlines()


def test_what_a_forge_tells_a_hundred_times_is_due_once_and_taken_by_one(hub):
    with hub.database.writing() as connection:
        connection.execute("insert into repo (url, name) values ('/srv/one', 'one'), ('/srv/two', 'two')")
        for _ in range(100):
            note_due(connection, [1])
        note_due(connection, [2, 1])
    with hub.database.writing() as one, hub.database.writing() as two:
        assert sorted(take_due(one)) == ["/srv/one", "/srv/two"]
        assert take_due(two) == []
    with hub.database.writing() as connection:
        assert take_due(connection) == []


def test_what_is_due_is_counted_until_any_sync_has_looked(hub, make, serve):
    repo, held = make("payments", DOCKER), make("held", DOCKER)
    bring(hub, repo, held)
    sync.hold(hub.database, str(held.root))
    served, token = serve(), make_token(hub, "alice", "metrics")

    def count():
        told = served.ask("GET", "/metrics", token=token)[1]
        return [float(re.search(rf"^memsync_hub_{name} (.+)$", told, re.MULTILINE)[1]) for name in
                ("repositories_due", "oldest_due_timestamp_seconds")]  # fmt: skip

    with hub.database.writing() as connection:
        note_due(connection, [one.id for one in sync.list_known(connection)])
        (at,) = connection.execute("select extract(epoch from now())::float8").fetchone()
    assert count() == [1, pytest.approx(at, abs=1e-3)]  # the other one waits for the hold to end
    whole = hub.status()["synced_at"]
    assert refresh(hub, str(repo.root))
    assert count() == [0, 0]
    assert hub.status()["synced_at"] == whole, "one repository says nothing of the others"
    refresh(hub)
    assert hub.status()["synced_at"] > whole
    with hub.database.writing() as connection:
        assert connection.execute("select count(*) from due").fetchone() == (1,)
