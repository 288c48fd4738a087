"""A CI pushes by its forge's word: tokens signed by an issuer on this machine, which speaks what GitHub's and GitLab's do."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from helpers import memory_line, memsync

jwt = pytest.importorskip("jwt", reason="no PyJWT: pip install '.[hub]'")

from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: E402

from memsync.errors import HubError, UsageError  # noqa: E402
from memsync.hub import ci  # noqa: E402

HUB = "https://hub.example.com"


class Issuer:
    """A forge that signs tokens, publishes its keys, and gives a job its token as GitHub does."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.asked: list[str] = []
        self.kid, self.elsewhere, self.claims = "k1", "", {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                if self.path.startswith("/.well-known"):
                    told = {"issuer": outer.url, "jwks_uri": outer.elsewhere or f"{outer.url}/keys"}
                elif self.path == "/keys":
                    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(outer.key.public_key()))
                    told = {"keys": [{**public, "kid": outer.kid, "use": "sig", "alg": "RS256"}]}
                elif self.headers["Authorization"] == "Bearer job" and self.path == f"/token?x=1&audience={AUDIENCE}":
                    told = {"value": outer.sign(**outer.claims)}
                else:
                    self.send_error(403)
                    return
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(told).encode())

            def log_message(self, *_):
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def sign(self, *, by=None, algorithm="RS256", **claims) -> str:
        now = int(time.time())
        told = {"iss": self.url, "aud": HUB, "sub": "job", "iat": now, "exp": now + 300, **claims}
        told = {name: value for name, value in told.items() if value is not None}
        key = None if algorithm == "none" else by or self.key
        return jwt.encode(told, key, algorithm=algorithm, headers={"kid": self.kid})


AUDIENCE = "https%3A%2F%2Fhub.example.com"
COMMIT = "c" * 40
GITHUB = {
    "repository": "o/payments",
    "ref": "refs/heads/main",
    "ref_type": "branch",
    "sha": COMMIT,
    "event_name": "push",
}
GITLAB = {"project_path": "g/s/payments", "ref": "main", "ref_type": "branch", "sha": COMMIT, "pipeline_source": "push"}


@pytest.fixture(scope="module")
def forge():
    issuer = Issuer()
    yield issuer
    issuer.stop()


@pytest.fixture
def issuers(forge):
    forge.asked.clear()
    return ci.Issuers([forge.url], HUB)


def test_a_token_says_which_repository_branch_and_commit_its_job_is_of(forge, issuers):
    host = forge.url.removeprefix("http:")
    assert issuers.find_job(forge.sign(**GITHUB)) == (f"https:{host}/o/payments", "main", COMMIT)
    assert issuers.find_job(forge.sign(**GITLAB)) == (f"http:{host}/g/s/payments", "main", COMMIT)
    assert forge.asked == ["/.well-known/openid-configuration", "/keys"], "the keys are fetched once"
    assert ci.read_job(ci.GITHUB, GITHUB) == ("https://github.com/o/payments", "main", COMMIT)
    assert ci.read_job(ci.GITLAB, GITLAB) == ("https://gitlab.com/g/s/payments", "main", COMMIT)


FORGED = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.mark.parametrize(
    "wrong",
    [
        {"by": FORGED},
        {"by": "a shared secret of thirty-two bytes", "algorithm": "HS256"},
        {"by": "", "algorithm": "none"},
        {"iss": "https://evil.example"},
        {"aud": "https://other.example"},
        {"aud": None},
        {"exp": 1},
        {"exp": None},
        {"iat": int(time.time()) + 3600},
        {"event_name": "pull_request_target"},
        {"event_name": None},
        {"ref": "refs/tags/main", "ref_type": "tag"},
        {"ref": "refs/pull/7/merge"},
        {"sha": None},
    ],
    ids=",".join,
)
def test_a_token_that_is_forged_for_somebody_else_out_of_date_or_of_no_push_counts_for_nothing(forge, issuers, wrong):
    assert issuers.find_job(forge.sign(**{**GITHUB, **wrong})) is None


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", "\ud800.x.y"])
def test_what_is_no_token_counts_for_nothing(issuers, token):
    assert issuers.find_job(token) is None


def test_a_new_key_is_looked_for_but_not_at_every_guess_and_only_at_the_issuer(forge):
    now = [0.0]
    issuers = ci.Issuers([forge.url], HUB, clock=lambda: now[0])
    assert issuers.find_job(forge.sign(**GITHUB))
    forge.asked.clear()
    forge.kid = "k2"
    try:
        assert issuers.find_job(forge.sign(**GITHUB)) is None
        assert forge.asked == []
        now[0] = 31.0
        assert issuers.find_job(forge.sign(**GITHUB))
        forge.elsewhere = "http://127.0.0.1:9/keys"
        with pytest.raises(HubError, match="names no keys of its own"):
            ci.Issuers([forge.url], HUB).find_job(forge.sign(**GITHUB))
    finally:
        forge.kid, forge.elsewhere = "k1", ""


@pytest.mark.parametrize("issuer", ["http://forge.example", "ftp://forge.example", "https://u:p@forge.example", "x"])
def test_an_issuer_is_named_by_https_and_needs_an_audience(issuer):
    with pytest.raises(UsageError, match="--oidc takes"):
        ci.Issuers([issuer], HUB)
    with pytest.raises(UsageError, match="needs --audience"):
        ci.Issuers(["github"], "")


def test_a_job_pushes_its_own_commit_and_nothing_else(hub, make, serve, forge):
    repo = make("payments", "the integration tests need docker")
    commit = repo.git("rev-parse", "HEAD").strip()
    address = f"https:{forge.url.removeprefix('http:')}/o/payments"
    hub.add([f"{address}.git", "https://git.internal/other.git"])
    served = serve(issuers=ci.Issuers([forge.url], HUB))
    files = {".gobby/memories.jsonl": memory_line("mm-aaaaaa", "the trunk needs a compiler")}
    body = {"repository": address, "branch": "main", "commit": commit, "files": files}
    assert served.ask("POST", "/v1/push", body, token=forge.sign(**GITHUB))[0] == 409, "of another commit"
    assert served.ask("POST", "/v1/search", {"query": "docker"}, token=forge.sign(**GITHUB))[0] == 403
    mine = {**GITHUB, "sha": commit}
    assert served.ask("POST", "/v1/push", body | {"branch": "x"}, token=forge.sign(**mine))[0] == 409
    other = forge.sign(**{**mine, "repository": "o/unknown"})
    assert served.ask("POST", "/v1/push", body, token=other)[0] == 404
    trunk = forge.sign(**{**mine, "ref": "refs/heads/trunk"})
    told = served.ask("POST", "/v1/push", body | {"branch": "trunk"}, token=trunk)[1]
    assert "--branch trunk` says that it is this one" in told["error"]
    hub.add([f"{address}.git"], branch="trunk")
    assert served.ask("POST", "/v1/push", body | {"branch": "trunk"}, token=trunk)[1]["what"] == "new"
    with hub.database.writing() as connection:
        connection.execute("update repo set branch = '', commit = ''")
    env = {"MEMSYNC_HUB_URL": served.url, "MEMSYNC_HUB_ID_TOKEN": forge.sign(**mine)}
    pushed = memsync("hub", "push", address, "--json", cwd=repo.root, env=env)
    assert (pushed.json["what"], pushed.json["put"]) == ("new", 1), pushed.err
    with hub.database.writing() as connection:
        rows = connection.execute("select r.url from record join repo r on r.id = record.repo").fetchall()
    assert rows == [(f"{address}.git",)]


def test_githubs_token_is_asked_for_with_the_address_of_the_hub(forge):
    forge.claims = GITHUB
    env = {"ACTIONS_ID_TOKEN_REQUEST_URL": f"{forge.url}/token?x=1", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "job"}
    assert ci.Issuers([forge.url], HUB).find_job(ci.own_token(HUB, env))
    assert ci.own_token(HUB, {}) == ""
    with pytest.raises(HubError, match="answers 403"):
        ci.own_token("https://other.example", env)
