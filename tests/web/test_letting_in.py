"""Nobody is let in but the browser that was given the address, and nothing is written but by our own forms."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from memsync.web.gate import HEADERS, LARGEST, judge
from memsync.web.serve import Keys

KEYS = Keys(17_000, token="the-token", pass_="the-pass")
HOST = {"host": "127.0.0.1:17000"}
COOKIE = {"cookie": "memsync-17000=the-pass"}


@pytest.mark.parametrize(
    ("headers", "query", "status", "is_new"),
    [
        (HOST | COOKIE, b"", 0, False),
        ({"host": "localhost:17000"} | COOKIE, b"", 0, False),
        (HOST, b"token=the-token", 0, True),
        (HOST | COOKIE | {"origin": "http://127.0.0.1:17000"}, b"", 0, False),
        (HOST, b"", 403, False),
        (HOST, b"token=the-tokem", 403, False),
        (HOST, b"token=", 403, False),
        (HOST, "token=ü".encode(), 403, False),
        (HOST | {"cookie": "memsync-17001=the-pass"}, b"", 403, False),
        (HOST | {"cookie": "memsync-17000=; other"}, b"", 403, False),
        (HOST | {"cookie": "memsync-17000=the-pass-and-more"}, b"", 403, False),
        (HOST | {"cookie": 'theme={"a": "b c"}; memsync-17000=the-pass'}, b"", 0, False),
        (HOST | {"cookie": 'bare; open="; a=\xe9; memsync-17000=the-pass; bare'}, b"", 0, False),
        (HOST | {"cookie": "memsync-17000=the-pass; memsync-17000=another"}, b"", 0, False),
        ({"host": "evil.example:17000"} | COOKIE, b"", 421, False),
        ({"host": "127.0.0.1"} | COOKIE, b"", 421, False),
        ({"host": "127.0.0.1:17001"} | COOKIE, b"", 421, False),
        (COOKIE, b"token=the-token", 421, False),
        (HOST | COOKIE | {"origin": "http://evil.example"}, b"", 403, False),
        (HOST | COOKIE | {"origin": "http://127.0.0.1:17001"}, b"", 403, False),
        (HOST | COOKIE | {"origin": "http://localhost:17000"}, b"", 403, False),
        (HOST | COOKIE | {"origin": "null"}, b"", 403, False),
        (HOST | COOKIE | {"content-length": str(LARGEST + 1)}, b"", 413, False),
        (HOST | COOKIE | {"content-length": "-1"}, b"", 413, False),
    ],
)
def test_a_request_is_judged_by_its_host_its_origin_and_its_key(headers, query, status, is_new):
    verdict = judge(KEYS, headers, query)
    assert (verdict.status, verdict.is_new) == (status, is_new)
    assert bool(verdict.why) == bool(status)


def test_no_two_runs_have_a_key_in_common():
    one, two = Keys(1), Keys(1)
    assert len({one.token, one.pass_, one.form, two.token, two.pass_, two.form}) == 6


def routes(desk) -> list[tuple[str, str]]:
    """Return the method and the path of every route."""
    app = desk.app._app
    found = [(method, route.path) for route in app.routes if isinstance(route, Route) for method in route.methods]
    found += [("GET", f"{route.path}/desk.css") for route in app.routes if isinstance(route, Mount)]
    return [(method, path) for method, path in found if method != "HEAD"]


def test_without_the_cookie_every_address_is_refused(desk):
    stranger = TestClient(desk.app, base_url="http://127.0.0.1:17000")
    for method, path in [*routes(desk), ("GET", "/nothing"), ("OPTIONS", "/"), ("PUT", "/")]:
        answer = stranger.request(method, path, data={"form": desk.keys.form} if method == "POST" else None)
        assert (method, path, answer.status_code) == (method, path, 403)
        assert HEADERS.items() <= dict(answer.headers).items() | HEADERS.items()


def test_every_address_refuses_another_host_and_what_another_page_sends(repo, desk, line):
    repo.write_memories(line("mm-aaaaaa", "the tests need docker"))
    before = repo.memories.read_bytes()
    form = {"form": desk.keys.form, **desk.names("mm-aaaaaa"), "content": "gone", "do": "forget"}
    for method, path in routes(desk):
        for status, headers in (
            (421, {"host": "evil.example:17000"}),
            (421, {"host": "127.0.0.1"}),
            (403, {"origin": "http://evil.example"}),
            (403, {"origin": "null"}),
        ):
            answer = desk.client.request(method, path, headers=headers, data=form if method == "POST" else None)
            assert (method, path, headers, answer.status_code) == (method, path, headers, status)
    assert {method for method, _ in routes(desk)} == {"GET", "POST"}
    assert repo.memories.read_bytes() == before


def test_every_answer_tells_the_browser_to_run_nothing_of_others(desk):
    for path in ("/", "/memory?id=none", "/nothing", "/static/desk.js", "/memory/new"):
        answer = desk.client.get(path)
        assert {name: answer.headers[name] for name in HEADERS} == dict(HEADERS)
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")


def test_the_token_is_taken_for_a_cookie_that_no_script_reads(desk):
    fresh = TestClient(desk.app, base_url="http://127.0.0.1:17000")
    answer = fresh.get(desk.keys.url)
    assert answer.status_code == 200
    assert '<meta http-equiv="refresh" content="0;url=/">' in answer.text
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert desk.keys.token not in cookie + answer.text
    assert "set-cookie" not in fresh.get("/memories").headers
    again = fresh.get(f"http://127.0.0.1:17000//evil.example/memories?q=a%22b&{desk.keys.url.partition('?')[2]}").text
    assert (
        'content="0;url=/evil.example/memories?q=a%22b"' in again
    )  # nor does it stay where the cookie is there already


def test_every_form_that_writes_needs_what_only_our_pages_hold(repo, desk, line):
    repo.write_memories(line("mm-aaaaaa", "the tests need docker"))
    before = repo.memories.read_bytes()
    names = desk.names("mm-aaaaaa")
    paths = [path for method, path in routes(desk) if method == "POST"]
    assert len(paths) >= 8
    for path in paths:
        for form in ({}, {"form": ""}, {"form": "x" + desk.keys.form}, {"form": desk.keys.pass_}):
            answer = desk.client.post(path, data={**names, **form, "content": "gone", "do": "forget"})
            assert (path, answer.status_code) == (path, 403)
    assert repo.memories.read_bytes() == before


def test_a_page_that_is_closed_while_it_sends_a_form_writes_nothing_and_is_no_failure(repo, desk, line, caplog):
    repo.write_memories(line("mm-aaaaaa", "the tests need docker"))
    before = repo.memories.read_bytes()
    told = iter([{"type": "http.request", "body": b"content=half of", "more_body": True}, {"type": "http.disconnect"}])
    headers = {"host": "127.0.0.1:17000", "cookie": f"{desk.keys.cookie}={desk.keys.pass_}"}
    headers["content-type"] = "application/x-www-form-urlencoded"
    scope = {"type": "http", "method": "POST", "path": "/memory/new", "query_string": b""}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def receive():
        return next(told)

    async def send(_):
        pass

    with ThreadPoolExecutor(1) as aside:  # a test in a browser leaves a loop running in this thread
        aside.submit(asyncio.run, desk.app(scope, receive, send)).result()
    assert (list(told), caplog.records, repo.memories.read_bytes()) == ([], [], before)


def test_no_address_leads_out_of_what_is_ours(desk):
    for path in (
        "/static/../gate.py",
        "/static/%2e%2e/gate.py",
        "/static/..%2f..%2fpyproject.toml",
        "/static//etc/passwd",
    ):
        assert desk.client.get(path).status_code == 404


def test_no_page_asks_any_other_host_or_runs_anything_inline(repo, desk, line):
    repo.write_memories(line("mm-aaaaaa", "the tests need docker"))
    for path in ("/", "/memory?id=mm-aaaaaa", "/memory/new", "/nothing"):
        page = desk.get(path)
        scripts = page.every("script")
        assert scripts
        assert all(one["src"].startswith("/static/") for one in scripts)
        assert not page.every("style")
        for _, attributes in page.elements:
            assert not [name for name in attributes if name.startswith(("on", "hx-on")) or name == "style"]
            assert not [
                value
                for value in attributes.values()
                if value and value.strip().lower().startswith(("http:", "https:", "//", "javascript:"))
            ]


def test_the_forms_of_our_own_pages_say_where_they_come_from():
    assert (
        HEADERS["Referrer-Policy"] == "same-origin"
    )  # with no-referrer a browser says `Origin: null`, which is refused
