"""What counts as a secret, and that no report shows one."""

from __future__ import annotations

import time

import pytest
import secret_shapes as shapes
from hypothesis import given
from hypothesis import strategies as st

from memsync import secrets
from memsync.records import ALLOW_TAG, Memory

SEEDS = range(12)
SEED = st.integers(0, 2**32)


def rules(text: str) -> list[str]:
    return [found.rule for found in secrets.scan(text)]


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_every_issuers_tokens_are_found_within_a_sentence(shape):
    for seed in SEEDS:
        value = shapes.value(shape, seed)
        for text in (f"we use {value} in CI", f"key=`{value}`", f'{{"a": "{value}"}}', f"({value})."):
            assert len(secrets.scan(text)) == 1, text
            assert value[-16:] not in secrets.redact(text), text


@pytest.mark.parametrize("written", shapes.SETTINGS)
def test_a_random_value_under_a_telling_name_is_found(written):
    for seed in SEEDS:
        for size in (24, 40, 64):
            value = shapes.key_value(seed, size)
            text = written.format(value)
            assert secrets.redact(text).count("[") == 1, text
            assert value not in secrets.redact(text), text


@pytest.mark.parametrize("written", shapes.PASSWORDS)
def test_a_password_is_found_however_it_is_written_down(written):
    for seed in SEEDS:
        value = shapes.password(seed)
        text = written.format(value)
        assert value not in secrets.redact(text), text


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", " "])
def test_a_private_key_is_found_whole(kind, newline):
    text = f"deploy with{newline}{shapes.private_key(1, kind, newline)}{newline}on the host"
    assert rules(text) == ["private-key"]
    assert secrets.redact(text).startswith(f"deploy with{newline}[private-key, ")
    assert secrets.redact(text).strip().endswith("on the host")


def test_a_private_key_without_its_end_is_found():
    whole = shapes.private_key(1)
    assert secrets.redact(whole[: whole.index("-----END")]).startswith("[private-key, ")


@pytest.mark.parametrize(
    "text",
    [
        "commit 849f7da0b5d2b1f1f7a3c1a9e2d7c0a4b6e8f012 broke the build",
        "session 0000359c-33d5-59d8-91b1-944167df9469 was resumed",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "memory mm-a1b2c3 supersedes mm-d4e5f6g7h2",
        "the token is read from $GITHUB_TOKEN, never from a file",
        "password: ${DB_PASSWORD}",
        "api_key = os.environ['OPENAI_API_KEY']",
        "set API_KEY=your-api-key-goes-here-123456",
        "token=<your token here 1234567>",
        "secret: kubernetes/prod/session-secret-v2",
        "postgres://postgres:postgres@localhost:5432/app",
        "clone https://user:$TOKEN@github.com/a/b",
        "git@github.com:owner/repo.git",
        "http://localhost:8080/path?x=1@2",
        "tokenizer: cl100k_base",
        "password hashing: Argon2id with 19 MiB",
        "the private key lives in ~/.ssh/id_ed25519",
        "such files begin with -----BEGIN PRIVATE KEY----- and must not be committed",
        "access key: rotate every 90 days",
        "AKIAIOSFODNN7EXAMPLE is the one from the AWS documentation",
        "sk-learn and sk-image pipelines",
        "the JWT has three parts: eyJ…",
        "max_tokens = 4096000000",
        "passwords need 12characters",
    ],
)
def test_what_developers_write_every_day_is_no_secret(text):
    assert secrets.scan(text) == []


@given(SEED, st.sampled_from(sorted(shapes.SHAPES)), st.text(max_size=60), st.text(max_size=60))
def test_no_report_ever_shows_what_it_found(seed, shape, before, after):
    value = shapes.value(shape, seed)
    text = f"{before} {value} {after}"
    found = secrets.scan(text)
    shown = [secrets.redact(text), secrets.describe(found), *(f.redacted + f.fingerprint for f in found)]
    for secret in found:
        hidden = text[secret.start : secret.end]
        assert all(hidden not in report for report in shown if text.count(hidden) == 1)


@given(st.text(max_size=200))
def test_places_are_in_order_apart_and_inside_the_text(text):
    place = 0
    for found in secrets.scan(text):
        assert place <= found.start < found.end <= len(text)
        place = found.end


@given(SEED, st.sampled_from(sorted(shapes.SHAPES)))
def test_a_redacted_text_holds_no_secret(seed, shape):
    text = f"one {shapes.value(shape, seed)} and API_KEY={shapes.key_value(seed)}"
    assert secrets.scan(secrets.redact(text)) == []


def test_text_without_a_secret_is_redacted_to_itself():
    assert secrets.redact("the tests need docker") == "the tests need docker"


def test_a_marked_line_is_left_out_and_only_that_line():
    one, other = shapes.value("github classic", 1), shapes.value("npm", 2)
    for mark in ("memsync:allow-secret", "gitleaks:allow", "pragma: allowlist secret"):
        found = secrets.scan(f"old {one}  # {mark}\nnew {other}\n")
        assert [f.rule for f in found] == ["npm-token"]


def test_the_allow_list_takes_fingerprints_and_patterns_for_whole_values():
    value = shapes.value("github classic", 3)
    (found,) = secrets.scan(value)
    assert secrets.scan(value, secrets.Allow([found.fingerprint])) == []
    assert secrets.scan(value, secrets.Allow([r"ghp_\w{36}"])) == []
    assert len(secrets.scan(value, secrets.Allow([r"ghp_\w{10}", "0" * 12]))) == 1


@pytest.mark.parametrize("pattern", [".*", ".+", r"[\w-]{4,}", "(", ""])
def test_an_allow_list_that_allows_everything_or_is_broken_is_refused(pattern):
    with pytest.raises(ValueError, match=r"would let every secret through|not a regular expression"):
        secrets.Allow([pattern])


def test_a_memory_is_scanned_in_its_tags_and_unknown_keys_too():
    value = shapes.value("anthropic", 4)
    key = shapes.key_value(4)
    assert [f.rule for f in secrets.scan_memory(Memory("mm-a", "see tag", tags=(value,)))] == ["anthropic-key"]
    extra = {"meta": {"list": [{"api_key": key}]}, "n": 3}
    assert [f.rule for f in secrets.scan_memory(Memory("mm-a", "see extra", extra=extra))] == ["assigned-secret"]
    assert secrets.scan_memory(Memory("mm-a", value, tags=("ci", ALLOW_TAG))) == []


@pytest.mark.parametrize(
    "piece",
    ["a", "token ", "password:", "a://b:", "eyJaaaaaaaaa.", "-u a:", "-----BEGIN PRIVATE " + "KEY-----", "a1b2", "sk-",
     "secret is ", "token = a1", "bearer ", "gl", "://"],
)  # fmt: skip
def test_ten_times_the_text_does_not_take_a_hundred_times_as_long(piece):
    def cost(size: int) -> float:
        text, best = ("token = " + piece * size)[:size], float("inf")
        for _ in range(3):
            began = time.process_time()
            secrets.scan(text)
            best = min(best, time.process_time() - began)
        return best

    assert cost(100_000) < 40 * cost(10_000) + 0.1


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/home/jo/src/app.py:12", "~/src/app.py:12"),
        ("see `/home/jo`.", "see `~`."),
        ("file:///home/jo/a", "file://~/a"),
        ("/home/joanna/a and /home/jo.old", "/home/joanna/a and /home/jo.old"),
        ("/mnt/home/jo/a", "/mnt/home/jo/a"),
        ("/Users/jo/a and C:\\Users\\jo\\b and C:\\\\Users\\\\jo", "~/a and ~\\b and ~"),
        ("/mnt/c/Users/jo/x", "~/x"),
        ("~/a and jo said", "~/a and jo said"),
        ("/home/ann/a", "/home/ann/a"),
    ],
)
def test_the_writers_home_becomes_a_tilde(text, clean):
    assert secrets.tidy(text, home="/home/jo", user="jo") == clean


@pytest.mark.parametrize("home", ["", "/", "//"])
def test_without_a_home_of_its_own_nothing_is_rewritten(home):
    assert secrets.tidy("/etc/hosts and /", home=home) == "/etc/hosts and /"


@given(st.text(), st.sampled_from(["/home/jo", "/root", "C:\\Users\\jo"]))
def test_tidying_twice_is_tidying_once_and_hides_no_secret(text, home):
    once = secrets.tidy(f"{text} {home}/x {text}", home=home, user="jo")
    assert secrets.tidy(once, home=home, user="jo") == once
    assert f" {home}/x " not in once


@given(SEED, st.sampled_from(sorted(shapes.SHAPES)))
def test_tidying_leaves_every_secret_for_the_scan_to_find(seed, shape):
    text = f"/home/jo/key {shapes.value(shape, seed)}"
    assert rules(secrets.tidy(text, home="/home/jo", user="jo")) == rules(text)
