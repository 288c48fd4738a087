"""What is told as a contradiction: the same subject and slot with another value, a denial, a change, or roles swapped."""

from __future__ import annotations

import pytest

from memsync.index.dedup import decide, find_doubt
from memsync.setup.repository import set_value

LONG = """Run the index command by hand after large merges, or ask the daemon to do so at night, and look at the log for what
it found in the files of each package, since a broken link is only a line there"""
SWAPS = """
A loves B | B loves A
Postgres replaced MySQL | MySQL replaced Postgres
Prefer tabs over spaces | Prefer spaces over tabs
main merges into release | release merges into main
frontend depends on backend | backend depends on frontend
Run the migrations before restarting the API | Restart the API before running the migrations
Timeouts are stored in seconds, delays in milliseconds | Timeouts are stored in milliseconds, delays in seconds
Validate the payload first, then authenticate | Authenticate first, then validate the payload
Le service droits interroge le service profil | Le service profil interroge le service droits
""".strip().splitlines()


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Do we use the staging cluster for load tests any more?", "We use the staging cluster for load tests"),
        ("Was the port of the API not moved to 8081? Ask Dana", "The port of the API is 8080"),
    ],
)
def test_a_question_states_nothing_that_could_contradict(new, old):
    assert decide(new, old, 0.9).relation != "contradicts"


def test_what_took_the_place_of_something_does_not_contradict_what_speaks_of_it_alone():
    new = "Previously used SQLAlchemy with Postgres. Stack replaced by MongoDB with raw driver."
    assert decide(new, "Uses the MongoDB raw driver with explicit Collection types.", 0.85).relation != "contradicts"
    assert decide("Redis was replaced by Valkey", "Sessions are kept in Redis", 0.85).relation == "contradicts"


def test_what_is_stated_beside_a_question_still_contradicts():
    new, old = "The API listens on port 8081. Does that suit the proxy?", "The API listens on port 8080."
    assert decide(new, old, 0.9).relation == "contradicts"


@pytest.mark.parametrize("pair", SWAPS)
@pytest.mark.parametrize("turned", [False, True])
def test_the_same_words_in_other_roles_contradict(pair, turned):
    old, new = pair.split(" | ")[:: -1 if turned else 1]
    verdict = decide(new, old, 1.0)
    assert (verdict.relation, verdict.decision) == ("contradicts", "gray"), verdict.reason


@pytest.mark.parametrize("pair", SWAPS)
@pytest.mark.parametrize("is_strict", [False, True])
def test_roles_swapped_are_stored_and_told_whatever_a_setting_or_a_model_says(project, pair, is_strict):
    set_value(project, "janitor.dedup.strict", "on" if is_strict else "off", is_global=False)
    project.reload()
    project.verify = lambda new, old: (True, "the same")
    old, new = pair.split(" | ")
    first, done = project.remember(old), project.remember(new)
    told = [(each.id, each.relation) for each in done.similar]
    assert (done.status, told) == ("created", [(first.entry.id, "contradicts")])


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("In Makefiles, use tabs", "Use tabs in Makefiles"),
        ("Before restarting the API, run the migrations", "Run the migrations before restarting the API"),
        ("Staging needs a client certificate and the VPN", "Staging needs the VPN and a client certificate"),
        ("Type checks and lint run in CI", "Lint and type checks run in CI"),
        ("Klara reviews Jan's pull requests", "Jan's pull requests are reviewed by Klara"),
    ],
)
def test_an_order_that_means_the_same_is_no_contradiction(new, old):
    assert decide(new, old, 1.0).relation in ("duplicate", "related")


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        ("The batch has 12,000 items", "The batch has 12000 items", "duplicate"),
        ("The cache holds 1_000_000 rows", "The cache holds 1000000 rows", "duplicate"),
        ("The batch has 12,000 items", "The batch has 13000 items", "contradicts"),
        ("The limit is 1,25 of the load", "The limit is 125 of the load", "contradicts"),
    ],
)
def test_a_number_with_separators_of_thousands_is_the_same_number(one, other, relation):
    assert {decide(one, other, 0.9).relation, decide(other, one, 0.9).relation} == {relation}


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Releases are cut on Mondays", "Releases are cut on Thursdays"),
        ("The API is written in Rust", "The API is written in Go"),
        ("Never squash commits before merging", "Always squash commits before merging"),
        ("The build does not work without network access", "The build works without network access"),
        ("The codex gate was removed", "The codex gate must pass before a session may stop"),
        (f"Indexing is not triggered by hooks. {LONG}", f"Indexing is triggered by hooks. {LONG}"),
    ],
)
def test_another_value_a_denial_or_a_change_of_one_subject_contradicts(new, old):
    assert decide(new, old, 0.9).relation == "contradicts"


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The production database listens on port 5532", "The staging database listens on port 5433"),
        ("The linter is run on the test files", "The linter is not run on generated files"),
        ("The worker writes to the results queue", "The worker reads from the jobs queue"),
        (
            "`agents kill` needs a RUN_REF, not a --session flag",
            "Kill agents by RUN_REF; the --session flag does not exist",
        ),
        ("The dispatcher has a stale hint that needs to be removed", "The dispatcher answers every hook in one second"),
        ("The field is required (validation error in turn 46)", "The field is required (validation error in turn 40)"),
        ("The build fails if the cache is not mounted", "The cache is mounted by the build"),
        ("The API listens on port 8081", "The API does not listen on port 8080"),
    ],
)
def test_another_subject_slot_or_condition_is_no_contradiction(new, old):
    assert decide(new, old, 0.85).relation != "contradicts"


def test_what_is_only_doubted_is_related_and_never_put_to_a_model(project):
    old = (
        "The nightly job mails reports to owners, and the job is not started on Sundays, nor on holidays of the country"
    )
    new = "Owners get their reports mailed by the nightly job; the job is started on weekdays, and Sundays and holidays stay quiet"
    project.verify = lambda *_: pytest.fail("asked")
    project.remember(old)
    done = project.remember(new)
    assert find_doubt(new, old)
    assert (done.status, done.similar[0].relation) == ("created", "related")
    assert done.similar[0].reason.startswith("about the same thing, but ")


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The importer no longer writes a log file", "The importer skips rows without an id"),
        ("The gateway switched from nginx to Caddy", "The gateway answers within 200 ms"),
        ("The gateway replaced its certificate in May", "The gateway answers within 200 ms"),
        ("The editor's sidebar was removed on phones", "The editor saves a draft each minute"),
        ("The import job was moved to a larger machine", "The import job takes forty minutes each night"),
        ("Invoices older than a year were archived and removed", "Invoices are numbered by month"),
    ],
)
def test_a_change_of_something_else_about_the_same_subject_does_not_contradict(new, old):
    assert decide(new, old, 0.7).relation != "contradicts"


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The importer no longer skips rows without an id", "The importer skips rows without an id"),
        ("The gateway switched from nginx to Caddy", "The gateway is nginx behind a load balancer"),
        ("Caddy replaced nginx at the gateway", "The gateway is nginx behind a load balancer"),
        ("The sidebar was removed", "The sidebar of the editor lists the open files"),
        ("The wiki moved to Notion", "The wiki is kept in Confluence and read by all teams"),
        ("Redis is no longer needed", "Sessions are kept in Redis"),
    ],
)
def test_a_change_of_what_a_text_says_contradicts_it(new, old):
    assert decide(new, old, 0.7).relation == "contradicts"
