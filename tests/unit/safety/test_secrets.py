"""What counts as a secret, and that no report shows one."""

from __future__ import annotations

import gzip
import time
from base64 import b64encode
from contextlib import suppress
from itertools import permutations

import pytest
import secret_shapes as shapes
from hypothesis import given
from hypothesis import strategies as st

from memsync.records import ALLOW_TAG, Memory
from memsync.safety import secrets
from memsync.safety.issuers import rules as all_rules
from memsync.safety.samples import sample

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


KEY = "4ZsMxSmD0dyFKGRKcTVcTXcmQ1XnWYh4Qd2eTbnnxTA0gkRJh2"


@pytest.mark.parametrize(
    ("innocent", "secret"),
    [
        (f"//# sourceMappingURL=data:application/json;charset=utf-8;base64,{KEY}", f"//# mapping {KEY}"),
        (f'<img alt="key" src="data:image/svg+xml;base64,{KEY}">', f'<img alt="key" src="{KEY}">'),
        (f'mail._domainkey TXT "v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEB{KEY}"', f'mail._domainkey TXT "x=1; p={KEY}"'),
        (f"DKIM-Signature: v=1; s=s1; bh={KEY}", f"Signature v=1; s=s1; ch={KEY}"),
        (f"-----BEGIN PGP SIGNATURE-----\nVersion: GnuPG v2\n\n{KEY}", f"-----BEGIN NOTE-----\ntoken: {KEY}"),
        (f"MIIDdzCCAl+gAwIBAgIE{KEY}", f"MIICXQIBAAKBgQDx{KEY}"),
        (f'{{"kty":"EC","x":"{KEY}","y":"{KEY}"}}', f'{{"kty":"EC","d":"{KEY}"}}'),
        (f"  caBundle: {KEY}", f"  bundle: {KEY}"),
        (f"<ds:SignatureValue>{KEY}</ds:SignatureValue>", f"<ds:Value>{KEY}</ds:Value>"),
        (
            "signed with RSA key 1C9B79959ABA398235264F0DABCC3F59A8CD4706",
            "the API key 1C9B79959ABA398235264F0DABCC3F59",
        ),
        (
            "REDIS_URL=redis://:${REDIS_PASSWORD}@redis:6379/0",
            "REDIS_URL=redis://:${REDIS_PASSWORD:-Tr0ub4dor3k}@redis",
        ),
        ("パスワードは8文字以上で入力してください", "パスワードはTr0ub4dor+3k です"),
        ("key exchange: curve25519-sha256 and others", "the key: curve25519-sha256-Qd2eTbnnxTA0gk"),
        (f"did:key:z6Mk{KEY}", f"did the key z6Mk{KEY}"),
        (f"google-site-verification={KEY}", f"google-site={KEY}"),
        ("the key is 0x7f3ebfc5ea00", "the key is 7f3ebfc5ea007f3ebfc5ea01"),
        ("password: ENC[AES256_GCM,data:Tr0ub4dor3k,type:str]", "password: AES256_GCM+Tr0ub4dor3k"),
        (
            "the volume is pvc-3f2a9b1c-7d4e-4a6b-9c8d-1e2f3a4b5c6d.",
            "the volume is pvc-4ZsMxSmD0dyFKGRKcTVcTXcmQ1XnWYh4Qd2e",
        ),
        ("it loads 9f86d081884c7d659a2feaa0c55ad015.map", "it loads 4ZsMxSmD0dyFKGRKcTVcTXcmQ1XnWYh4.map"),
        ("the document key is 4ZsMxSmD0dyFKGRKcTVc", "the signing key is 4ZsMxSmD0dyFKGRKcTVc"),
        ("send it to 1MeuKHjHUs7UUpuoMMADm5XopyeECJgBZ3", "send it to 1MeuKHjHUs7UUpuoMMADm5XopyeECJgBZA"),
        ("the test token 0x7f3ebfc5ea007f3ebfc5ea017f3ebfc5ea029A8B", f"the key 0x{'7f3eB1a9' * 8}"),
        ("the token's header is eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "the token is eyJzZXNzaW9uIjoiOWYyYjdjNDEifQ"),
        (f"mac: ENC[AES256_GCM,data:{KEY},iv:{KEY},tag:{KEY},type:str]", f"mac: [AES256_GCM, {KEY}]"),
        ("password: !Sub DatabasePassword", "storePassword=!kd93Hs7w"),
    ],
)
def test_what_anybody_may_see_is_no_secret_and_what_looks_alike_is_one(innocent, secret):
    assert rules(innocent) == []
    assert len(rules(secret)) == 1


@pytest.mark.parametrize(
    "text", ["Dear Bob, the quick brown fox jumps over it.", '{"id": 17, "state": "open", "items": [1,2]}']
)
def test_a_text_in_base64_is_read_and_not_taken_for_a_drawn_value(text):
    assert rules(f"xx {b64encode(text.encode()).decode()}") == []
    assert rules(f"xx {b64encode(f'{text} token={KEY}'.encode()).decode()}") != []


@pytest.mark.parametrize(
    "text",
    [
        "max_age=60; db_password=Tr0ub4dor+3k",  # what is no secret stands before the semicolon
        "the password of the old wiki account of ops: Tr0ub4dor+3k",
        "DB_PW=Tr0ub4dor+3k",
        "postgres://lynx:JSVcS5mJI?X@db.acme.example:5432/orders",
        "otpauth://totp/Acme:ops?secret=LQSKYVYPQBQMMKXEPCNCLZBMNFZQUSCA&issuer=Acme",
    ],
)
def test_a_secret_is_found_beside_what_is_none(text):
    assert len(rules(text)) == 1


@pytest.mark.parametrize("mark", ["memsync:allow-secret", "gitleaks:allow", "pragma: allowlist secret"])
def test_a_mark_in_the_text_allows_nothing_because_anybody_can_write_it(mark):
    assert rules(f"old {shapes.value('github classic', 1)}  # {mark}\n") == ["github-token"]


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: f"{rule.name} {rule.shape}")
def test_every_line_of_the_rules_finds_the_tokens_that_it_describes(rule):
    for seed in range(8):
        token = sample(rule.shape, seed)
        assert rule.pattern().fullmatch(token), token
        assert secrets.scan(f"CI logs in with {token} at night"), token
        assert not rule.hints or any(hint in token for hint in rule.hints)


def test_the_allow_list_takes_fingerprints_and_patterns_for_whole_values():
    value = shapes.value("github classic", 3)
    (found,) = secrets.scan(value)
    assert secrets.scan(value, secrets.Allow([found.fingerprint])) == []
    text = "API_KEY=acme-test-1a2b3c4d5e6f7g8h"
    assert secrets.scan(text, secrets.Allow([r"acme-test-\w+"])) == []
    assert len(secrets.scan(text, secrets.Allow([r"acme-prod-\w+", "0" * 12]))) == 1


@pytest.mark.parametrize(
    "pattern",
    [".*", ".+", r"[\w-]{4,}", "(", "", r"\w{12,}", "[A-Za-z0-9._+/=-]{13,}", r"ghp_\w{36}", "AKIA.*", "[a-f0-9]{32}",
     r"(?i)sk-[\w-]+", r"(?:x|eyJ.*)", r"\S{40}", r"(?s).*_.*"],
)  # fmt: skip
def test_a_pattern_that_is_broken_or_would_let_any_issuers_tokens_through_is_refused(pattern):
    with pytest.raises(ValueError, match=r"would let secrets through|not a regular expression"):
        secrets.Allow([pattern])


@pytest.mark.parametrize("pattern", ["(?:[a-zA-Z0-9_]+)+-", "(a|a|b|[a-z0-9])*!", r"((\w+)*\w+)*!", "(.*.*.*.*)*!x"])
def test_no_pattern_can_stop_a_command(pattern):
    began = time.process_time()
    with suppress(ValueError):  # it takes too long, and is refused
        assert secrets.scan(f"token {shapes.value('github classic', 5)} {'a' * 3000}b1", secrets.Allow([pattern]))
    assert time.process_time() - began < 2


def test_a_memory_is_scanned_in_its_tags_and_unknown_keys_too():
    value = shapes.value("anthropic", 4)
    key = shapes.key_value(4)
    assert [f.rule for f in secrets.scan_memory(Memory("mm-a", "see tag", tags=(value,)))] == ["anthropic-key"]
    extra = {"meta": {"list": [{"api_key": key}]}, "n": 3}
    assert [f.rule for f in secrets.scan_memory(Memory("mm-a", "see extra", extra=extra))] == ["assigned-secret"]
    assert len(secrets.scan_memory(Memory("mm-a", value, tags=("ci", ALLOW_TAG)))) == 1  # a tag can come from anybody


FIELDS = {
    "id": lambda token: token, "memory_type": lambda token: token, "tags": lambda token: ("ci", token),
    "source_type": lambda token: token, "source_session_id": lambda token: token, "author": lambda token: f"Jo {token}",
    "supersedes": lambda token: (token,), "anchors": lambda token: (f"x#{token}",), "conflict_of": lambda token: token,
    "extra": lambda token: {token: 1}, "cues": lambda token: (f"login with {token}",),
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_no_field_of_a_memory_hides_a_token(field):
    token = shapes.value("github classic", 7)
    assert secrets.scan_memory(Memory("mm-a", "a text")._replace(**{field: FIELDS[field](token)}))


def test_what_is_kept_of_rows_that_hold_nothing_has_bounds(monkeypatch):
    monkeypatch.setattr(secrets, "_clean", kept := set())
    monkeypatch.setattr(secrets, "_MANY", 50)
    tags = [f"tag{letter}" for letter in "abcdefgh"]
    rows = list(permutations(tags, 3))
    for row in rows:
        secrets.scan_memory(Memory(id="mm-1", content="plain", tags=row))
        assert len(kept) <= 50
    assert ("tags", rows[-1]) in kept
    secrets.scan_memory(Memory(id="mm-1", content="plain", tags=(long := tuple(tags * 5))))
    assert ("tags", long) not in kept


def test_a_value_is_read_with_the_names_of_all_that_encloses_it():
    password = shapes.password(3)
    for extra in (
        {"credentials": {"password": {"value": password}}},
        {"password": {"of": {"staging": [{"is": password}]}}},
        {"a": [{"login": {"pass": [password]}}]},
    ):
        assert secrets.scan_memory(Memory("mm-a", "a text", extra=extra)), extra
    assert secrets.scan_memory(Memory("mm-a", "a text", extra={"colour": {"value": "b1ue-Green"}})) == []


@pytest.mark.parametrize(
    "piece",
    ["a", "token ", "password:", "a://b:", "eyJaaaaaaaaa.", "-u a:", "-----BEGIN PRIVATE " + "KEY-----", "a1b2", "sk-",
     "secret is ", "token = a1", "bearer ", "gl", "://"],
)  # fmt: skip
def test_ten_times_the_text_does_not_take_a_hundred_times_as_long(piece):
    def cost(size: int) -> float:
        text, began = ("token = " + piece * size)[:size], time.process_time()
        secrets.scan(text)
        return time.process_time() - began

    assert any(cost(100_000) < 40 * cost(10_000) + 0.1 for _ in range(3))


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


@pytest.mark.parametrize("wrap", [b64encode, gzip.compress], ids=["base64", "gzip"])
def test_a_token_is_found_in_base64_that_wraps_another_form(wrap):
    text = f"the config map has {b64encode(wrap(KEY.encode())).decode()}"
    assert rules(text)


def test_what_gzip_packs_is_read_no_further_than_a_memory_may_be_long():
    packed = b64encode(gzip.compress(b" " * 100_000 + KEY.encode())).decode()
    assert rules(f"the config map has {packed}") == []


@pytest.mark.parametrize(
    "command", ["mysql -uroot -pMaracas44 shop", "redis-cli -a crimson-tide-8 ping", "7z x -pWinterberry8 a.7z"]
)
def test_a_password_of_words_behind_the_option_of_a_command_is_found(command):
    assert rules(command) == ["password"]


@pytest.mark.parametrize("command", ["mysql -h db1 -p shop < a.sql", "redis-cli -h cache1 -p 6379 ping"])
def test_what_follows_an_option_that_takes_no_password_is_none(command):
    assert rules(command) == []
