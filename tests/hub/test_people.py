"""The hub's pages for people show what whoever has the token may read, to nobody else, and in a browser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from urllib.parse import urlencode

import pytest
from filling import bring, make_token
from helpers import memory_line, until

from memsync.hub import access, questions

AXE = Path(__file__).parents[1] / "web" / "axe" / "axe.min.js"
PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture
def served(hub, make, serve):
    docker, secret = (
        "the tests need <b>docker</b>",
        json.loads(memory_line("mm-000009", "mine")) | {"tags": ["private"]},
    )
    bring(hub, make("payments", docker, json.dumps(secret)))
    bring(hub, make("billing", "billing needs docker too"), to="mallory")
    return serve(has_pages=True, a_minute=10**9)


def look(served, path, token):
    return served.ask("GET", path, Cookie=f"memsync_hub={token}")


def send(served, path, token="", *, origin="", **form):
    told = {"Origin": origin or served.url} if origin != "none" else {}
    told |= {"Cookie": f"memsync_hub={token}"} if token else {}
    return served.ask("POST", path, urlencode(form).encode(), **told)


@pytest.mark.parametrize("path", ["/", "/mine"])
def test_without_a_token_that_counts_a_page_leads_to_where_one_is_asked_for(hub, served, path):
    revoked = make_token(hub, "alice")
    with hub.database.writing() as connection:
        access.revoke_token(connection, access.find_bearer(connection, revoked).token)
    for token in ("", "msh_guess", "eyJ.a.b", revoked):
        status, page, headers = look(served, path, token)
        assert (status, page, headers["Location"]) == (303, "", "/login")
    assert look(served, path, make_token(hub, "alice", "push"))[0] == 403
    assert served.ask("GET", path, token=make_token(hub, "alice"))[0] == 303, "a program has the interface"


def test_each_sees_what_they_may_read_and_what_was_left_out_of_it(hub, served):
    _, page, headers = look(served, "/?q=docker", make_token(hub, "alice"))
    assert "the tests need &lt;b&gt;docker&lt;/b&gt;" in page
    assert "org/payments" in page
    assert "1 private" in page
    assert "org/billing" not in page
    assert "billing needs docker" not in page
    assert (headers["Cache-Control"], "default-src 'none'" in headers["Content-Security-Policy"]) == ("no-store", True)
    counted = 'memsync_hub_requests_total{path="/",status="200"}'
    until(lambda: counted in served.ask("GET", "/metrics", token=make_token(hub, "alice", "metrics"))[1])
    token = make_token(hub, "alice")
    for path in ("/?q=%00", "/?q=%ED%A0%80", "/?q=" + "x" * 9_000):
        assert look(served, path, token)[0] == 200
    assert send(served, "/mine", token, **{f"f{n}": "x" for n in range(30)})[0] == 400
    _, page, _ = look(served, "/", make_token(hub, "nobody"))
    assert "org/" not in page
    assert "memsync hub grant nobody REPOSITORY" in page


def test_rights_are_those_that_count_with_the_group_that_gives_them_and_tokens_ones_own(hub, served, make):
    repo = make("shop", "the shop needs node")
    bring(hub, repo, to="team:billing")
    make_token(hub, "mallory")
    with hub.database.writing() as connection:
        alice, team = (access.have_principal(connection, name) for name in ("alice", "team:billing"))
        access.join(connection, team, [alice], lasting=None, source="person")
    token = make_token(hub, "alice")
    _, page, _ = look(served, "/mine", token)
    assert "<td>org/shop</td><td>team:billing</td>" in page
    assert "<td>org/payments</td><td>yourself</td>" in page
    assert "org/billing" not in page
    assert page.count("this one") == 1
    assert page.count("<td>search</td>") == 1
    assert token not in page
    with hub.database.writing() as connection:
        access.leave(connection, team, [alice])
        access.revoke(connection, alice, [1, 2, 3])
    assert "org/" not in look(served, "/mine", token)[1]


def test_a_pasted_token_is_kept_where_no_script_reads_it_and_ends_when_its_owner_says_so(hub, served):
    token = make_token(hub, "alice")
    assert send(served, "/login", token="", origin="https://evil.example")[0] == 403
    status, _, headers = served.ask("POST", "/login", urlencode({"token": token}).encode(), Origin=served.url)
    kept, *rules = headers["Set-Cookie"].split("; ")
    assert (status, kept, {"HttpOnly", "SameSite=strict"} <= set(rules)) == (303, f"memsync_hub={token}", True)
    secure = {"Origin": "https://hub.example.com", "Sec-Fetch-Site": "same-origin"}
    kept = served.ask("POST", "/login", urlencode({"token": token}).encode(), **secure)[2]["Set-Cookie"]
    assert kept.startswith(f"__Host-memsync_hub={token};")
    assert "Secure" in kept
    for wrong in ("msh_guess", "", make_token(hub, "alice", "push")):
        status, page, headers = served.ask("POST", "/login", urlencode({"token": wrong}).encode(), Origin=served.url)
        assert (status, "does not count" in page, headers["Set-Cookie"]) == (403, True, None)
    assert send(served, "/mine", token, do="sign out")[2]["Set-Cookie"].startswith("memsync_hub=")
    for origin in ("https://evil.example", "null", "none"):
        assert send(served, "/mine", token, origin=origin, do="end this token")[0] == 403
    assert look(served, "/", token)[0] == 200
    assert send(served, "/mine", token, do="end this token")[0] == 303
    assert served.ask("GET", "/v1/repositories", token=token)[0] == 401
    status, page, _ = send(served, "/mine", make_token(hub, "alice"), do="x" * 9_000)
    assert (status, "<h1>Not done</h1>" in page, "the form is too large" in page) == (400, True, True)
    assert "Rights and tokens" in page, "who is signed in is not asked to sign in"


def test_who_guesses_tokens_has_to_wait_and_right_ones_and_other_addresses_do_not(hub, served):
    token = make_token(hub, "alice")
    other = {"X-Forwarded-For": "203.0.113.9"}  # as the proxy on this machine says it

    def paste(said, **told):
        return served.ask("POST", "/login", urlencode({"token": said}).encode(), Origin=served.url, **told)

    assert {paste(token)[0] for _ in range(12)} == {303}
    assert [paste("msh_guess")[0] for _ in range(10)] == [403] * 10
    status, page, headers = paste(token)
    assert (status, "wait a minute" in page, headers["Set-Cookie"], int(headers["Retry-After"]) <= 7) == (
        429,
        True,
        None,
        True,
    )
    assert headers["Cache-Control"] == "no-store"
    assert look(served, "/", token)[0] == 200, "who is in already stays"
    assert paste(token, **other)[0] == 303
    for number in range(10):
        assert paste("msh_guess", **{"X-Forwarded-For": f"2001:db8:0:1::{number}"})[0] == 403
    assert paste(token, **{"X-Forwarded-For": "2001:db8:0:1:f::1"})[0] == 429, "one machine has all of such a network"
    assert paste(token, **{"X-Forwarded-For": "2001:db8:0:2::1"})[0] == 303


def test_a_cookie_opens_the_pages_only_and_a_hub_without_pages_has_none(hub, served, serve):
    cookie = {"Cookie": f"memsync_hub={make_token(hub, 'alice')}"}
    assert served.ask("POST", "/v1/search", {"query": "docker"}, **cookie)[0] == 401
    assert served.ask("POST", "/mcp", {}, **cookie)[0] == served.ask("GET", "/metrics", **cookie)[0] == 401
    bare = serve()
    assert [bare.ask("GET", path, **cookie)[0] for path in ("/", "/mine", "/login")] == [401] * 3


def test_how_many_questions_nothing_answered_is_told_where_that_is_collected_and_never_which(hub, served):
    token = make_token(hub, "alice")
    assert "Not counted here" in look(served, "/", token)[1]
    with hub.database.writing() as connection:
        questions.collect(connection, 2)
    for name in ("alice", "mallory"):
        hub.search("zanzibar quokka", principal=name)
    with hub.database.writing() as connection:
        asked = len(questions.top(connection))
    page = look(served, "/", token)[1]
    assert f"{asked} different ones, asked 2 times" in page
    assert "zanzibar" not in page


def test_the_pages_are_accessible_and_work_in_a_browser_on_a_desk_and_on_a_phone(hub, served):
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    if PROGRAM is None:
        pytest.skip("no Chromium here, so nothing was looked at in a browser: `make browser` installs it")
    found = []
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox", "--disable-gpu"])
        for width, scheme in ((1280, "light"), (390, "dark")):
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
            )
            page = context.new_page()
            page.goto(f"{served.url}/mine")
            found += [(width, "/login", one) for one in examine(page)]
            page.get_by_label("Token").fill(make_token(hub, "alice"))
            page.keyboard.press("Enter")
            page.get_by_role("searchbox").fill("docker")
            page.keyboard.press("Enter")
            page.get_by_text("the tests need <b>docker</b>").wait_for()
            found += [(width, "/", one) for one in examine(page)]
            page.get_by_role("link", name="Rights and tokens").click()
            page.get_by_role("heading", name="Tokens that count").wait_for()
            found += [(width, "/mine", one) for one in examine(page)]
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
            page.get_by_role("button", name="End this token").click()
            page.wait_for_url(f"{served.url}/login")
            page.goto(served.url)
            assert page.url == f"{served.url}/login"
            context.close()
        browser.close()
    assert found == []


def examine(page):
    page.add_script_tag(content=AXE.read_text("utf-8"))
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in page.evaluate("axe.run()")["violations"]]
