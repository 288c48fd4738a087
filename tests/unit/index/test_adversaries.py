"""Pairs that look alike and are not: whatever their likeness, the second text must never be folded into the first."""

from __future__ import annotations

import pytest

from memsync.index.dedup import MERGED, decide

PAIRS = """
Klara's pull requests are reviewed by Jan | Jan's pull requests are reviewed by Klara
Service A calls service B before the import | Service B calls service A before the import
Run the checks of team A before each release | Run the checks of team B before each release
Use ruff instead of flake8 in every package | Use flake8 instead of ruff in every package
The doctor pages the nurse at night | The doctor is paged by the nurse at night
Retry three times, then fail the whole job | Fail three times, then retry the whole job
Set the token or the key in the CI environment | Set the token and the key in the CI environment
Only admins can delete archived projects on staging | Admins can only delete archived projects of staging
The gateway needs network access to the vault in tests | In tests the gateway has network access to the vault
The nightly sync works on Windows | The nightly sync worked on Windows
Keep latency < 200 ms on the edge | Keep latency > 200 ms on the edge
Latency must stay <200 ms on the edge | Latency must stay >200 ms on the edge
The deploy starts at 5 am in Berlin | The deploy starts at 5 pm in Berlin
The deploy starts at 5 in Berlin | The deploy starts at 5 pm in Berlin and lasts an hour
✅ the EU mirror of the registry | ❌ the EU mirror of the registry
The maximum payload at the US gateway is 6 MB | The maximum payload at the EU gateway is 6 MB
Copy the dump from staging to production by hand | Copy the dump by hand from production to staging
The lexer is written in C | The lexer is written in C++
The job is idempotent, so the worker does not retry it at all | The job is not idempotent, so the worker does retry it at all
Builds may be cached but tests must run again each time | Tests may be cached but builds must run again each time
Use Postgres for the tests | Use Postgres mocks for the tests
The users table is soft-deleted | The archived users table is soft-deleted every night
Deploys are allowed on Fridays | Deploys are allowed on Fridays only for hotfixes
The importer keeps unknown columns | The importer no longer keeps unknown columns
The importer keeps unknown columns | The importer used to keep unknown columns
The cache is shared between workers | The cache was shared between workers
GPU tests are skipped by default | It is a myth that GPU tests are skipped by default
Warm the cache first. Switch the load balancer | Switch the load balancer. Warm the cache first. Then wait
Feature flags default to on | Feature flags default to off
The token lives in `config/app.yml` | The token lives in `config/db.yml`
The retry limit is 3 | The retry limit is 3.5
Releases are cut in March | Releases are cut in May
The parser accepts `--strict` | The parser accepts `--strict-mode`
The report is mailed every Monday | The report is mailed every Tuesday
Nightly builds are signed | Nightly builds are signed without a timestamp, and are not signed on Sundays
`src/a/users.py` is generated | `src/a/orders.py` is generated
Der Importer schreibt in die Warteschlange | Der Importer schreibt nicht in die Warteschlange
Los tests pueden usar la red | Los tests no pueden usar la red
サーバーからクライアントへ送信する設定を使う | サーバーへクライアントから送信する設定を使う
本番では必ず再起動する | 本番では必ず再起動しない
先备份数据库再升级应用程序 | 先升级应用程序再备份数据库
测试可以访问外部网络 | 测试不可以访问外部网络
배포 전에 테스트를 실행한다 | 배포 후에 테스트를 실행한다
Тесты могут ходить в сеть | Тесты не могут ходить в сеть
""".strip().splitlines()


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("turned", [False, True])
def test_what_only_looks_alike_is_never_merged(pair, turned):
    old, new = pair.split(" | ")[:: -1 if turned else 1]
    verdict = decide(new, old, 1.0)
    assert verdict.decision not in MERGED, verdict.reason


COPIES = """
Use the FakeClock fixture in scheduler tests; mocking the clock breaks the timeouts | Mocking the clock breaks the timeouts, so in scheduler tests use the FakeClock fixture
A small Lambda forwards the alerts to PagerDuty | The alerts are forwarded to PagerDuty by a small Lambda
iOS builds must be signed with the enterprise profile, not with the App Store profile | Sign iOS builds with the enterprise profile and not the App Store one
The job times out after 30 s | The job times out after 30 seconds
Wait three days before a rollback | Wait 3 days before the rollback
ビルドは必ず `main` から行う。本番も同じ | ビルドは、必ず `main` から行うこと。本番も同じ
The deploy doesn't touch `vendor/` | The deploy does not touch vendor/.
Note: the staging DB is read-only | The staging DB is read-only (seen in turn 12)
""".strip().splitlines()


@pytest.mark.parametrize("pair", COPIES)
@pytest.mark.parametrize("turned", [False, True])
def test_what_is_only_put_in_other_words_of_grammar_is_a_copy(pair, turned):
    old, new = pair.split(" | ")[:: -1 if turned else 1]
    verdict = decide(new, old, 0.9)
    assert (verdict.relation, verdict.decision) == ("duplicate", "auto_reject"), verdict.reason


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("LaunchDarkly is gone, flags live in Unleash", "We keep feature flags in LaunchDarkly"),
        ("The user no longer wants summary tables", "The user wants a summary table after every answer"),
        ("minSdk is 26 since the tablets were replaced", "Android minSdk is 21, as technicians use old tablets"),
        ("Los datos ya no se cargan por la noche", "Los datos se cargan por la noche a las 02:00"),
        ("`bulk-edit` is hidden from all tenants", "`bulk-edit` is visible to all tenants"),
        ("Use relative imports in the core package", "Use absolute imports in the core package"),
    ],
)
def test_a_correction_is_told_as_one(new, old):
    verdict = decide(new, old, 0.8)
    assert (verdict.relation, verdict.decision) == ("contradicts", "gray")


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Requests without a token get a 401", "The endpoint requires a token in requests, or they get a 401"),
        ("The gateway not only logs errors, it counts them too", "The gateway logs errors"),
    ],
)
def test_a_condition_is_no_contradiction(new, old):
    assert decide(new, old, 0.8).relation != "contradicts"
