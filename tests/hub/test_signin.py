"""People sign in by a provider that is a process of its own (npm's oidc-provider), and by what it has signed for this server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from socket import create_server
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from filling import bring, make_token, texts
from helpers import until

jwt = pytest.importorskip("jwt", reason="no PyJWT: pip install '.[hub]'")

from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: E402

from memsync.errors import HubError, UsageError  # noqa: E402
from memsync.hub import access, ci, signin  # noqa: E402
from memsync.hub.signin import RESOURCE, Person, SignIn  # noqa: E402
from memsync.web.people import People  # noqa: E402

PLACE = Path(os.environ.get("OIDC_PROVIDER") or Path.home() / ".cache" / "oidc-provider")
LIBRARY = PLACE / "node_modules" / "oidc-provider" / "lib" / "index.js"
ALICE = {"email": "alice@example.com", "email_verified": True, "groups": ["billing"]}


def free_port():
    with create_server(("127.0.0.1", 0)) as place:
        return place.getsockname()[1]


def make_key(kid):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key)), "kid": kid, "use": "sig", "alg": "RS256"}


class Provider:
    """The provider, and what it is told."""

    def __init__(self, directory: Path) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.port = free_port()
        self.hub = f"http://127.0.0.1:{self.port}"
        client = {"client_id": "hub", "client_secret": "secret", "redirect_uris": [f"{self.hub}/callback"]}
        self.told = {
            "issuer": self.url, "clients": [client, {**client, "client_id": "other"}], "jwks": {"keys": [make_key("k1")]},
            "resources": [f"{self.hub}/mcp", "https://other.example.com/mcp"], "accounts": {"a1": dict(ALICE)},
        }  # fmt: skip
        self._file = directory / "provider.json"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def tell(self, **told):
        self.told |= told
        self._file.write_text(json.dumps(self.told), "utf-8")

    def start(self, **told):
        self.stop()
        self.tell(**told)
        script = Path(__file__).with_name("provider.mjs")
        command = [shutil.which("node"), str(script), str(LIBRARY), str(self._file)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self._process.stdout.readline() == b"ready\n"

    def stop(self):
        if self._process:
            self._process.terminate()
            self._process.stdout.close()
            self._process.wait()
            self._process = None


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    if not shutil.which("node") or not LIBRARY.exists():
        pytest.skip(f"nobody signed in at a real provider: npm install --prefix {PLACE} oidc-provider")
    provider = Provider(tmp_path_factory.mktemp("provider"))
    yield provider
    provider.stop()


@pytest.fixture
def provider(running):
    running.tell(accounts={"a1": dict(ALICE)}, spoil={})
    return running


@pytest.fixture
def served(hub, serve, provider):
    return serve(sign_in=SignIn(provider.url, "hub", "secret", provider.hub), port=provider.port, has_pages=True)


def open_browser():
    return httpx2.Client(timeout=60)


def consent(browser, url, subject):
    """Go to *url* of the provider as a person called *subject* does, and return where it sends the browser in the end."""
    answer, at = browser.get(url), urlsplit(url).netloc
    for _ in range(12):
        if answer.is_redirect:
            onward = str(answer.next_request.url)
            if urlsplit(onward).netloc != at:
                return onward
            answer = browser.get(onward)
        else:
            assert answer.status_code == 200, answer.text
            action = re.search(r'action="([^"]+)"', answer.text)[1]
            prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)[1]
            answer = browser.post(action, data={"prompt": prompt, "login": subject, "password": "x"})
    raise AssertionError("the provider did not end")


def begin(browser, provider, subject="a1"):
    """Press the button of the hub, sign in, and return the address at which the browser comes back to the hub."""
    sent = browser.get(f"{provider.hub}/login?provider")
    assert sent.status_code == 303, sent.text
    asked = parse_qs(urlsplit(sent.headers["Location"]).query)
    assert asked["code_challenge_method"] == ["S256"]
    return consent(browser, sent.headers["Location"], subject)


def sign_in(browser, provider, subject="a1"):
    return browser.get(begin(browser, provider, subject))


def press(browser, provider, do, **fields):
    return browser.post(f"{provider.hub}/mine", data={"do": do, **fields}, headers={"Origin": provider.hub})


def test_who_signs_in_reads_what_their_groups_may_and_makes_a_token_that_ends(hub, make, served, provider):
    bring(hub, make("payments", "the tests need docker"), to="oidc-group:billing")
    with open_browser() as browser:
        assert browser.get(f"{provider.hub}/").headers["Location"] == "/login"
        assert sign_in(browser, provider).headers["Location"] == "/"
        page = browser.get(f"{provider.hub}/", params={"q": "docker"})
        assert "the tests need docker" in page.text
        assert "org/payments" in page.text
        assert "oidc:alice@example.com" in page.text
        assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
        made = press(browser, provider, "make a token", name="laptop")
        token = re.search(r"msh_[\w-]+", made.text)[0]
        found = served.ask("POST", "/v1/search", {"query": "docker"}, token=token)[1]["memories"]
        assert [one["content"] for one in found] == ["the tests need docker"]
        with hub.database.writing() as connection:
            tokens = access.list_tokens(connection)
            assert [(one["principal"], one["scopes"], bool(one["until"])) for one in tokens] == [
                ("oidc:alice@example.com", ["search"], True)
            ] * 2
        assert press(browser, provider, "sign out").headers["Location"] == "/login"
        assert browser.get(f"{provider.hub}/").headers["Location"] == "/login"
        assert served.ask("GET", "/v1/repositories", token=token)[0] == 200, "another token than the browser's"


def test_who_signs_out_everywhere_has_no_token_and_no_cookie_that_counts(hub, make, served, provider):
    bring(hub, make("payments", "the tests need docker"), to="oidc-group:billing")
    with open_browser() as browser, open_browser() as other:
        sign_in(other, provider)
        sign_in(browser, provider)
        token = re.search(r"msh_[\w-]+", press(browser, provider, "make a token").text)[0]
        press(browser, provider, "sign out everywhere")
        assert other.get(f"{provider.hub}/").headers["Location"] == "/login"
        assert served.ask("GET", "/v1/repositories", token=token)[0] == 401


def test_a_provider_that_tells_mail_and_groups_only_when_it_is_asked_lets_the_same_people_in(
    hub, make, served, provider
):
    bring(hub, make("payments", "the tests need docker"), to="oidc-group:billing")
    provider.start(only_userinfo=True, accounts={"a1": dict(ALICE), "m1": {**ALICE, "email_verified": False}})
    try:
        with open_browser() as browser, open_browser() as other:
            assert sign_in(browser, provider).headers["Location"] == "/"
            page = browser.get(f"{provider.hub}/").text
            assert ("oidc:alice@example.com" in page, "org/payments" in page) == (True, True)
            assert sign_in(other, provider, "m1").status_code == 403
    finally:
        provider.start(only_userinfo=False)


@pytest.mark.parametrize("spoil", ["cookie", "state", "nonce", "verifier", "iss"])
def test_a_sign_in_that_was_not_begun_in_this_browser_is_refused(served, provider, spoil):
    with open_browser() as browser:
        back = begin(browser, provider)
        state, nonce, verifier = browser.cookies["memsync_hub_begun"].split(".")
        kept = {"state": ("x", nonce, verifier), "nonce": (state, "x", verifier), "verifier": (state, nonce, "x" * 43)}
        back = re.sub("iss=[^&]+", "iss=https://evil.example", back) if spoil == "iss" else back
        cookie = "" if spoil == "cookie" else ".".join(kept.get(spoil, (state, nonce, verifier)))
        answer = httpx2.get(back, headers={"Cookie": f"memsync_hub_begun={cookie}"})
        assert (answer.status_code, "memsync_hub=" in str(answer.headers)) == (403, False), answer.text


def test_a_code_counts_once_and_nothing_that_the_provider_did_not_say(served, provider):
    with open_browser() as browser:
        back = begin(browser, provider)
        cookie = {"Cookie": f"memsync_hub_begun={browser.cookies['memsync_hub_begun']}"}
        assert httpx2.get(re.sub("code=[^&]+", "code=guess", back), headers=cookie).status_code == 403
        assert httpx2.get(back, headers=cookie).status_code == 303
        assert httpx2.get(back, headers=cookie).status_code == 403


@pytest.mark.parametrize(
    "wrong", [{"email_verified": False}, {"email_verified": "true"}, {"email": ""}, {"email": " a@b"}]
)
def test_an_address_of_mail_that_the_provider_has_not_checked_names_nobody(served, provider, wrong):
    provider.tell(accounts={"m1": {**ALICE, **wrong}})
    with open_browser() as browser:
        assert sign_in(browser, provider, "m1").status_code == 403
        assert "Location" in browser.get(f"{provider.hub}/").headers


def test_a_name_that_another_account_of_the_provider_gets_later_is_not_theirs(hub, make, served, provider):
    bring(hub, make("payments", "the tests need docker"), to="oidc:alice@example.com")
    with open_browser() as browser, open_browser() as other:
        assert sign_in(browser, provider).status_code == 303
        provider.tell(accounts={"a1": dict(ALICE), "b2": dict(ALICE)})
        refused = sign_in(other, provider, "b2")
        assert (refused.status_code, "is somebody else" in refused.text) == (403, True)
        with hub.database.writing() as connection:
            signin.sign_out(connection, access.find_principal(connection, "oidc:alice@example.com"), forget=True)
        assert "Location" in browser.get(f"{provider.hub}/").headers
        assert sign_in(other, provider, "b2").status_code == 303


def test_who_is_taken_out_of_a_group_at_the_provider_reads_no_longer_what_it_may(hub, make, served, provider):
    bring(hub, make("payments", "the tests need docker"), to="oidc-group:billing")
    with open_browser() as browser:
        sign_in(browser, provider)
        assert "the tests need docker" in browser.get(f"{provider.hub}/?q=docker").text
        provider.tell(accounts={"a1": {**ALICE, "groups": []}})
        sign_in(browser, provider)
        assert "the tests need docker" not in browser.get(f"{provider.hub}/?q=docker").text
    with hub.database.writing() as connection:
        connection.execute("update member set until = now() where source = 'oidc'")


def make_person(since, *groups):
    return Person("https://id.example.com a1", "oidc:alice", list(groups), since)


def test_what_was_signed_long_ago_brings_back_no_group_that_was_taken_away(hub, make):
    bring(hub, make("payments", "the tests need docker"), to="oidc-group:billing")

    def look(*calls):
        with hub.database.writing() as connection:
            now = int(connection.execute("select extract(epoch from now())").fetchone()[0])
            for call in calls:
                call(connection, now)
        return texts(hub.search("docker", principal="oidc:alice"))

    assert look(lambda to, now: signin.admit(to, make_person(now - 90, "billing"))) == ["the tests need docker"]
    assert look(lambda to, now: signin.admit(to, make_person(now - 60))) == []
    assert look(lambda to, now: signin.admit(to, make_person(now - 90, "billing"))) == [], "older than what is known"
    assert look(lambda to, now: signin.admit(to, make_person(now - 30, "billing"))) == ["the tests need docker"]
    assert look(lambda to, now: signin.enter(to, make_person(now))) == []
    assert look(lambda to, now: signin.admit(to, make_person(now - 5, "billing"))) == [], "older than the sign-in"
    with hub.database.writing() as connection:
        alice = access.find_principal(connection, "oidc:alice")
        access.join(connection, access.have_principal(connection, "oidc-group:billing"), [alice], lasting=None, source="person")  # fmt: skip
        now = int(connection.execute("select extract(epoch from now())").fetchone()[0])
        assert signin.admit(connection, make_person(now - 13 * 3600)) is None
        signin.enter(connection, make_person(now))
        signin.sign_out(connection, alice)
        assert signin.admit(connection, make_person(now)) is None, "signed before they signed out"
    assert texts(hub.search("docker", principal="oidc:alice")) == ["the tests need docker"], "a person's word stays"


def test_a_form_of_another_site_and_a_pasted_token_change_nothing(hub, served, provider):
    token = make_token(hub, "alice")
    with open_browser() as browser:
        sign_in(browser, provider)
        for told in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {}, {"Sec-Fetch-Site": "same-site"}):
            answer = browser.post(f"{provider.hub}/mine", data={"do": "make a token"}, headers=told)
            assert (answer.status_code, "msh_" in answer.text) == (403, False)
        with hub.database.writing() as connection:
            number = access.find_bearer(connection, token).token
        assert press(browser, provider, "end", number=str(number)).status_code == 403, "another's token"
    with open_browser() as browser:
        sent = {"data": {"token": token}, "headers": {"Origin": provider.hub}}
        assert browser.post(f"{provider.hub}/login", **sent).status_code == 303
        assert "alice" in browser.get(f"{provider.hub}/mine").text
        assert press(browser, provider, "make a token").status_code == 403
        assert press(browser, provider, "sign out").status_code == 303
    assert served.ask("GET", "/v1/repositories", token=token)[0] == 200


class Kept:
    """Where the official client of MCP keeps what it has been given."""

    def __init__(self) -> None:
        self.tokens, self.client = None, None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, info):
        self.client = info


def ask_mcp(provider, kept):
    """Search by the official client of MCP, which finds the provider by itself, registers there, and signs in."""
    from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
    from mcp.client.session import ClientSession
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client
    from mcp.shared.auth import OAuthClientMetadata
    from pydantic import AnyUrl

    back = []

    async def redirect(url):
        def go():
            with open_browser() as browser:
                back.append(consent(browser, url, "a1"))

        await anyio.to_thread.run_sync(go)

    async def callback():
        said = {name: values[0] for name, values in parse_qs(urlsplit(back[-1]).query).items()}
        return AuthorizationCodeResult(code=said["code"], state=said["state"], iss=said.get("iss"))

    about = OAuthClientMetadata(client_name="a client", redirect_uris=[AnyUrl("http://127.0.0.1:9/back")])
    by = OAuthClientProvider(f"{provider.hub}/mcp", about, kept, redirect_handler=redirect, callback_handler=callback)

    async def search():
        async with (
            create_mcp_http_client(auth=by) as client,
            streamable_http_client(f"{provider.hub}/mcp", http_client=client) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            said = await session.call_tool("search_hub", {"query": "docker"})
            return [one["content"] for one in json.loads(said.content[0].text)["memories"]]

    return anyio.run(search), len(back)


def test_the_official_client_of_mcp_finds_the_provider_signs_in_and_refreshes(hub, make, served, provider):
    bring(hub, make("payments", "the tests need docker"), to="oidc-group:billing")
    status, _, headers = served.ask("POST", "/mcp", {})
    assert (status, headers["WWW-Authenticate"]) == (401, f'Bearer resource_metadata="{provider.hub}{RESOURCE}/mcp"')
    kept = Kept()
    assert ask_mcp(provider, kept) == (["the tests need docker"], 1)
    first = kept.tokens.access_token
    assert jwt.decode(first, options={"verify_signature": False})["aud"] == f"{provider.hub}/mcp"
    form = {"grant_type": "refresh_token", "refresh_token": kept.tokens.refresh_token, "client_id": kept.client.client_id,
            "client_secret": kept.client.client_secret or "", "resource": f"{provider.hub}/mcp"}  # fmt: skip
    again = httpx2.post(f"{provider.url}/token", data=form).json()
    assert again["access_token"] != first
    assert served.ask("POST", "/v1/search", {"query": "docker"}, token=again["access_token"])[0] == 200
    assert served.ask("POST", "/v1/push", {}, token=first)[0] == 403
    with hub.database.writing() as connection:
        signin.sign_out(connection, access.find_principal(connection, "oidc:alice@example.com"))
    assert served.ask("POST", "/v1/search", {"query": "docker"}, token=first)[0] == 401


def get_token(provider, resource, client="hub"):
    """Return an access token of the provider for *resource*, and the ID token."""
    verifier = "v" * 43
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    asked = {"client_id": client, "response_type": "code", "redirect_uri": f"{provider.hub}/callback", "resource": resource,
             "scope": "openid email profile", "state": "s", "code_challenge": challenge, "code_challenge_method": "S256"}  # fmt: skip
    with open_browser() as browser:
        back = consent(browser, str(httpx2.URL(f"{provider.url}/auth", params=asked)), "a1")
        code = parse_qs(urlsplit(back).query)["code"][0]
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": f"{provider.hub}/callback",
                "code_verifier": verifier, "resource": resource}  # fmt: skip
        told = browser.post(f"{provider.url}/token", data=form, auth=(client, "secret")).json()
    return told["access_token"], told["id_token"]


def test_what_was_signed_for_others_has_run_out_or_by_a_key_that_is_gone_counts_for_nothing(hub, served, provider):
    def ask(token):
        return served.ask("GET", "/v1/repositories", token=token)[0]

    mine, word = get_token(provider, f"{provider.hub}/mcp")
    assert ask(mine) == 200
    assert ask(word) == 401, "the word on who signed in is for the server, not to it"
    assert ask(get_token(provider, "https://other.example.com/mcp")[0]) == 401
    assert ask(mine[:-8] + "AAAAAAAA") == 401
    now = jwt.decode(mine, options={"verify_signature": False})["iat"]
    for spoil in ({"exp": now - 120}, {"iat": now + 3600}, {"iat": now - 13 * 3600}, {"sub": ""}, {"sub": "x\0y"}):
        provider.tell(spoil=spoil)
        assert ask(get_token(provider, f"{provider.hub}/mcp")[0]) == 401, spoil


def test_a_new_key_of_the_provider_counts_and_one_that_is_gone_does_not(hub, serve, provider):
    now = [0.0]
    by = SignIn(provider.url, "hub", "secret", provider.hub, clock=lambda: now[0])
    served = serve(sign_in=by, port=provider.port, has_pages=True)
    old = get_token(provider, f"{provider.hub}/mcp")[0]
    assert served.ask("GET", "/v1/repositories", token=old)[0] == 200
    provider.start(jwks={"keys": [make_key("k2")]})
    new = get_token(provider, f"{provider.hub}/mcp")[0]
    now[0] = 31.0
    assert served.ask("GET", "/v1/repositories", token=new)[0] == 200
    assert served.ask("GET", "/v1/repositories", token=old)[0] == 401


def test_settings_that_cannot_work_or_mix_jobs_with_people_are_refused(hub, serve):
    hub_url, issuer = "https://hub.example.com", "https://id.example.com"
    for told in ((issuer, "", "", hub_url), (issuer, "hub", "", ""), (issuer, "hub", "", "http://hub.example.com"),
                 (issuer, hub_url, "", hub_url), (ci.GITHUB, "hub", "", hub_url), ("http://id.example.com", "hub", "", hub_url)):  # fmt: skip
        with pytest.raises(UsageError, match=r"--sign-in (needs|takes)|--audience is|--client-id is not"):
            SignIn(*told)
    with pytest.raises(UsageError, match="name one issuer"):
        serve(sign_in=SignIn(issuer, "hub", "", hub_url), issuers=ci.Issuers([f"{issuer}/"], hub_url))


def test_without_a_provider_there_is_a_page_for_who_has_a_token_and_nothing_to_sign_in_at(hub, make, serve):
    bring(hub, make("payments", "the tests need docker"))
    served = serve(has_pages=True)
    assert served.ask("GET", "/login")[0] == 200
    assert served.ask("GET", RESOURCE, token=make_token(hub, "alice"))[0] == 404
    for name, shows in (("alice", True), ("mallory", False)):
        _, page, _ = served.ask("GET", "/?q=docker", Cookie=f"memsync_hub={make_token(hub, name)}")
        assert ("the tests need docker" in page, "org/payments" in page) == (shows, shows)
    assert served.ask("GET", "/", Cookie=f"memsync_hub={make_token(hub, 'alice', 'push')}")[0] == 403
    assert served.ask("POST", "/v1/search", {"query": "x"}, Cookie=f"memsync_hub={make_token(hub, 'alice')}")[0] == 401
    assert serve().ask("GET", "/")[0] == 401


def beside(hub, call, other):
    """Do *call* in a transaction, meanwhile *other*, which waits for it, in one of its own, and return what *other* made."""
    made = []

    def go():
        with hub.database.writing() as connection:
            made.append(other(connection))

    with hub.database.writing() as connection:
        call(connection)
        thread = threading.Thread(target=go)
        thread.start()
        waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        with hub.database.writing() as looking:
            until(lambda: made or looking.execute(waits).fetchone()[0])
    thread.join()
    return made[0] if made else None


def test_what_was_signed_before_a_sign_out_or_long_ago_takes_no_name_from_who_comes_next(hub):
    next_one = Person("https://id.example.com b2", "oidc:alice", [], 0)
    with hub.database.writing() as connection:
        now = int(connection.execute("select extract(epoch from now())").fetchone()[0])
        assert signin.admit(connection, make_person(now - 13 * 3600)) is None
        alice = signin.enter(connection, next_one)
        signin.sign_out(connection, alice, forget=True)
        for since in (now - 1, now - 13 * 3600):
            assert signin.admit(connection, make_person(since)) is None
        assert signin.enter(connection, next_one) == alice


def test_two_first_questions_at_once_are_of_one_person(hub):
    with hub.database.writing() as connection:
        now = int(connection.execute("select extract(epoch from now())").fetchone()[0])
    person = make_person(now)
    assert beside(hub, lambda to: signin.admit(to, person), lambda to: signin.admit(to, person))[1] == "oidc:alice"


def test_groups_are_compared_by_the_clock_of_the_provider_which_may_be_ahead(hub, make):
    bring(hub, make("payments", "the tests need docker"), to="oidc-group:billing")
    with hub.database.writing() as connection:
        now = int(connection.execute("select extract(epoch from now())").fetchone()[0])
        alice = signin.enter(connection, make_person(now + 40))
        signin.admit(connection, make_person(now + 30, "billing"))
    assert texts(hub.search("docker", principal="oidc:alice")) == []
    with hub.database.writing() as connection:
        signin.sign_out(connection, alice)
        assert signin.admit(connection, make_person(now + 40)) is None


def test_what_is_under_way_while_somebody_signs_out_brings_back_no_group_and_no_token(hub, make):
    bring(hub, make("payments", "the tests need docker"), to="oidc-group:billing")
    with hub.database.writing() as connection:
        now = int(connection.execute("select extract(epoch from now())").fetchone()[0])
        alice = signin.enter(connection, make_person(now - 60))
        token = access.make_token(connection, alice, name="", scopes=["search"], lasting=signin.LASTS, is_session=True)
        bearer = access.find_bearer(connection, token)
    beside(hub, lambda to: signin.sign_out(to, alice), lambda to: signin.admit(to, make_person(now - 30, "billing")))
    assert texts(hub.search("docker", principal="oidc:alice")) == []
    by = SignIn("https://id.example.com", "hub", "", "https://hub.example.com")
    with pytest.raises(HubError, match="nothing can be changed"):
        People(hub, by)._change(bearer, {"do": "make a token"})
    with hub.database.writing() as connection:
        token = access.make_token(connection, alice, name="", scopes=["search"], lasting=signin.LASTS, is_session=True)
        bearer = access.find_bearer(connection, token)
    beside(hub, lambda to: signin.make_token(to, bearer, ""), lambda to: signin.sign_out(to, alice))
    with hub.database.writing() as connection:
        assert [one for one in access.list_tokens(connection) if not one["revoked_at"]] == []


def test_a_token_that_a_browser_makes_ends_with_its_sign_in(hub, served, provider):
    with open_browser() as browser:
        sign_in(browser, provider)
        with hub.database.writing() as connection:
            connection.execute("update token set until = now() + interval '10 minutes'")
        assert re.search(r"msh_[\w-]+", press(browser, provider, "make a token").text)
    with hub.database.writing() as connection:
        ends = {one["until"] for one in access.list_tokens(connection)}
    assert len(ends) == 1


def test_where_the_hub_is_is_what_its_operator_says_and_not_what_a_request_says(served, provider):
    with open_browser() as browser:
        sign_in(browser, provider)
        told = {"Host": "evil.example", "Origin": "http://evil.example", "X-Forwarded-Proto": "https"}
        told["Cookie"] = f"memsync_hub={browser.cookies['memsync_hub']}"
        page = httpx2.post(f"{provider.hub}/mine", data={"do": "make a token"}, headers=told)
        assert ("evil.example" in page.text, f"memsync hub init {provider.hub}" in page.text) == (False, True)


def test_what_a_provider_signs_for_a_job_of_its_ci_is_no_persons(served, provider):
    for said in (
        {"pipeline_source": "push", "project_path": "org/shop"},
        {"event_name": "push", "repository": "org/shop"},
    ):
        provider.tell(spoil=said)
        assert served.ask("GET", "/v1/repositories", token=get_token(provider, f"{provider.hub}/mcp")[0])[0] == 401


def test_who_makes_up_that_they_were_at_the_provider_has_to_wait_before_it_is_asked_again(served, provider):
    with open_browser() as browser:
        back = begin(browser, provider)
        made_up = {"Cookie": f"memsync_hub_begun={browser.cookies['memsync_hub_begun']}"}
        answers = [httpx2.get(re.sub("code=[^&]+", f"code=guess{n}", back), headers=made_up) for n in range(11)]
        assert [one.status_code for one in answers] == [403] * 10 + [429]
        assert httpx2.get(back, headers=made_up | {"X-Forwarded-For": "203.0.113.9"}).status_code == 303
