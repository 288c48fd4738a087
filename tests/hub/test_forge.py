"""Who may read, asked of servers that speak the APIs of GitHub and GitLab."""

from __future__ import annotations

import json
import threading
from collections import Counter
from datetime import date
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from memsync.errors import HubError, UsageError
from memsync.hub import access, forge

GITHUB = {
    "/repos/o/payments/collaborators?per_page=100": ([{"login": "alice", "permissions": {"pull": True}}], "page=2"),
    "/repos/o/payments/collaborators?per_page=100&page=2": (
        [{"login": "bob", "permissions": {"pull": True}}, {"login": "carol", "permissions": {"pull": False}}], ""
    ),
    "/repos/o/billing/collaborators?per_page=100": ([{"login": "bob", "permissions": {"pull": True}}], ""),
}  # fmt: skip
MEMBERS = [
    {"username": "alice", "access_level": 30, "state": "active", "expires_at": None},
    {"username": "guest", "access_level": 10, "state": "active", "expires_at": None},
    {"username": "gone", "access_level": 40, "state": "blocked", "expires_at": None},
    {"username": "until", "access_level": 40, "state": "active", "expires_at": "2026-01-01"},
]
GITLAB = {"/projects/group%2Fsub%2Fpayments/members/all?per_page=100": (MEMBERS, "")}


@pytest.fixture
def speak():
    """Return a function that serves these pages to whoever has the token, and returns the address."""
    servers = []
    unchanged = []

    def start(pages, header, value, elsewhere=""):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                found = pages.get(self.path) if self.headers.get(header) == value else None
                if self.path == "/repos/o/renamed/collaborators?per_page=100":
                    self.send_response(301)
                    self.send_header("Location", elsewhere or "/repos/o/billing/collaborators?per_page=100")
                    self.end_headers()
                    return
                etag = f'W/"{blake2b(json.dumps(found).encode()).hexdigest()[:16]}"'
                if found and self.headers.get("If-None-Match") == etag:
                    unchanged.append(self.path)
                    self.send_response(304)
                    self.end_headers()
                    return
                self.send_response(200 if found else 404)
                self.send_header("ETag", etag)
                if found and found[1]:
                    host = elsewhere or f"http://127.0.0.1:{self.server.server_port}"
                    self.send_header("Link", f'<{host}{self.path}&{found[1]}>; rel="next"')
                self.end_headers()
                self.wfile.write(json.dumps(found[0] if found else {"message": "Not Found"}).encode())

            def log_message(self, *_):
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    start.unchanged = unchanged
    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_github_is_asked_page_by_page_and_what_it_does_not_answer_for_is_left_as_it_is(speak):
    api = speak(GITHUB, "Authorization", "Bearer t0ken")
    hub = forge.open_forge("github", {"MEMSYNC_GITHUB_TOKEN": "t0ken"}, api=api)
    failed = {}
    urls = [(1, "https://github.com/o/payments.git"), (2, "git@github.com:o/billing.git"), (3, "https://github.com/o/secret"),
            (4, "https://gitlab.com/o/payments"), (5, "/srv/git/payments")]  # fmt: skip
    told, asked = forge.read_readers(hub, urls, failed.__setitem__)
    assert told == {"github:alice": [1], "github:bob": [1, 2]}
    assert asked == [1, 2]
    assert failed == {"https://github.com/o/secret": "github answers 404 for /repos/o/secret/collaborators"}


def test_gitlab_counts_members_who_may_read_code_today(speak):
    api = speak(GITLAB, "PRIVATE-TOKEN", "t0ken")
    lab = forge.open_forge("gitlab", {"MEMSYNC_GITLAB_TOKEN": "t0ken"}, host="git.example.com", api=api)
    url = "https://git.example.com/group/sub/payments.git"
    assert lab.readers(url, date(2025, 12, 31)) == {"gitlab:alice", "gitlab:until"}
    assert lab.readers(url, date(2026, 1, 1)) == {"gitlab:alice"}


def test_a_renamed_repository_is_followed_but_the_token_goes_nowhere_else(speak):
    other = speak(GITHUB, "Authorization", "Bearer t0ken")
    api = speak(GITHUB, "Authorization", "Bearer t0ken")
    astray = speak(GITHUB, "Authorization", "Bearer t0ken", elsewhere=other)
    env = {"MEMSYNC_GITHUB_TOKEN": "t0ken"}
    renamed = "https://github.com/o/renamed"
    assert forge.open_forge("github", env, api=api).readers(renamed) == {"github:bob"}
    with pytest.raises(HubError, match="answers 301"):
        forge.open_forge("github", env, api=astray).readers(renamed)
    with pytest.raises(HubError, match="elsewhere for its next page"):
        forge.open_forge("github", env, api=astray).readers("https://github.com/o/payments")


def test_without_a_token_nobody_is_asked_and_no_message_has_one(speak):
    with pytest.raises(UsageError, match="MEMSYNC_GITHUB_TOKEN holds no token"):
        forge.open_forge("github", {})
    nobody = forge.open_forge("github", {"MEMSYNC_GITHUB_TOKEN": "t0ken"}, api="http://127.0.0.1:9")
    with pytest.raises(HubError) as failed:
        nobody.readers("https://github.com/o/t0ken")
    assert "t0ken" not in str(failed.value)


ORG = {
    "/orgs/o/teams?per_page=100": ([{"slug": "billing"}, {"slug": "ops"}], ""),
    "/orgs/o/teams/billing/members?per_page=100": ([{"login": "alice"}], "page=2"),
    "/orgs/o/teams/billing/members?per_page=100&page=2": ([{"login": "bob"}], ""),
    "/orgs/o/teams/billing/repos?per_page=100": ([{"clone_url": "https://github.com/o/billing.git"}], ""),
    "/orgs/o/teams/ops/members?per_page=100": ([{"login": "carol"}], ""),
    "/orgs/o/teams/ops/repos?per_page=100": ([], ""),
    "/orgs/o/repos?per_page=100": (
        [{"clone_url": "https://github.com/o/billing.git"}, {"clone_url": "https://github.com/o/old.git", "archived": True}], ""
    ),
}  # fmt: skip


def test_teams_become_groups_and_what_has_not_changed_is_not_sent_again(speak, dsn, hub, home, tmp_path):
    from helpers import memsync

    pages = dict(ORG)
    api = speak(pages, "Authorization", "Bearer t0ken")
    env = {"MEMSYNC_HUB_DSN": dsn, "MEMSYNC_GITHUB_TOKEN": "t0ken"}

    def run(*words):
        return json.loads(memsync("hub", *words, "--json", cwd=tmp_path, env=env).out)

    assert run("add", "--org", "github:o", "--api", api)["added"] == ["o/billing"]
    mirror = ("mirror", "github", "--org", "o", "--api", api)
    assert (run(*mirror)["grants"], run(*mirror)["members"]) == (1, 3)
    assert Counter(speak.unchanged) == dict.fromkeys(set(ORG) - {"/orgs/o/repos?per_page=100"}, 1)
    pages["/orgs/o/teams/billing/members?per_page=100&page=2"] = ([], "")
    assert run(*mirror)["members"] == 2
    with hub.database.writing() as connection:
        members = {(one["group"], one["member"]) for one in access.list_members(connection)}
    assert members == {("github:o/billing", "github:alice"), ("github:o/ops", "github:carol")}


def test_a_group_of_gitlab_has_its_members_and_its_projects(speak):
    pages = {"/groups/g%2Fs/members/all?per_page=100": (MEMBERS, ""),
             "/groups/g%2Fs/projects?include_subgroups=true&per_page=100": ([{"http_url_to_repo": "https://gitlab.com/g/s/p.git"}], "")}  # fmt: skip
    asks = forge.open_forge("gitlab", {"MEMSYNC_GITLAB_TOKEN": "t0ken"}, api=speak(pages, "PRIVATE-TOKEN", "t0ken"))
    told = forge.read_teams(asks, "g/s", [(7, "git@gitlab.com:g/s/p.git"), (8, "https://gitlab.com/other/p")])
    assert told == ({"gitlab:g/s": [7]}, {"gitlab:g/s": {"gitlab:alice"}})


def test_a_csv_has_a_principal_and_a_repository_a_row(tmp_path):
    path = tmp_path / "readers.csv"
    path.write_text("principal,repository\nalice,o/payments\n# nobody else\n\n bob , o/billing \n")
    assert forge.read_csv(path) == [("alice", "o/payments"), ("bob", "o/billing")]
    path.write_text("alice,o/payments\nbob\n")
    with pytest.raises(UsageError, match=r"readers\.csv:2: a row has a principal and a repository"):
        forge.read_csv(path)
