"""Secrets in shapes and surroundings that the rules were not written from, and what must not be taken for one."""

from __future__ import annotations

import base64
import urllib.parse
from collections.abc import Callable
from typing import Final

import pytest
import secret_kinds as kinds
import secret_shapes as shapes

from memsync.safety import secrets

SEEDS: Final = (1, 2, 3)
FOUND: Final = {"open": 0.97, "kept back": 0.93}
FLAGGED: Final = {"open": 0.01, "kept back": 0.01}


def test_the_sets_are_large_and_the_halves_share_no_kind_of_secret():
    halves = [{kind for kind, _ in kinds.texts(kinds.SECRETS, half)} for half in kinds.HALVES]
    assert not halves[0] & halves[1]
    assert min(map(len, halves)) >= 60
    assert sum(map(len, kinds.SECRETS.values())) >= 250
    assert sum(map(len, kinds.INNOCENT.values())) >= 350


@pytest.mark.parametrize("half", kinds.HALVES)
def test_most_secrets_are_found(half):
    texts = [text for seed in SEEDS for _, text in kinds.texts(kinds.SECRETS, half, seed)]
    missed = [text for text in texts if not secrets.scan(text)]
    assert 1 - len(missed) / len(texts) >= FOUND[half], missed


@pytest.mark.parametrize("half", kinds.HALVES)
def test_next_to_no_innocent_line_is_flagged(half):
    texts = [text for seed in SEEDS for _, text in kinds.texts(kinds.INNOCENT, half, seed)]
    flagged = [text for text in texts if secrets.scan(text)]
    assert len(flagged) / len(texts) <= FLAGGED[half], flagged


def _full_width(token: str) -> str:
    return "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in token)


MASKS: Final[dict[str, Callable[[str], str]]] = {
    **{
        f"U+{ord(sign):04X}": lambda t, sign=sign: t[:10] + sign + t[10:]
        for sign in "\u200b\u200c\u200d\u2060\ufeff\xad\u034f\u061c\u115f\u180e\u202e\u2066\u2800\u3164\ufe0f\U000e0101\x07\x7f"
    },
    "between all": "\u200d".join,
    "full width": _full_width,
    "full width in part": lambda t: _full_width(t[:9]) + t[9:],
    "mathematical": lambda t: "".join(chr(0x1D670 + ord(c) - 65) if c.isupper() else c for c in t),
    "tag characters": lambda t: "".join(chr(0xE0000 + ord(c)) for c in t),
    "base64": lambda t: base64.b64encode(t.encode()).decode(),
    "base64 of a sentence": lambda t: base64.b64encode(f"the token is {t} since May".encode()).decode(),
    "base64 for URLs": lambda t: base64.urlsafe_b64encode(f"x:{t}".encode()).decode().rstrip("="),
    "percent": lambda t: "".join(f"%{ord(c):02X}" for c in t),
    "percent in part": lambda t: t[:4] + f"%{ord(t[4]):02x}" + t[5:],
    "entities": lambda t: "".join(f"&#{ord(c)};" for c in t),
    "hex entities": lambda t: "".join(f"&#x{ord(c):x};" for c in t),
    "entity in part": lambda t: t[:4] + f"&#{ord(t[4])};" + t[5:],
    "hex": lambda t: t.encode().hex(),
    "hex with blanks": lambda t: t.encode().hex(" "),
    "hex with colons": lambda t: t.encode().hex(":"),
    "0x": lambda t: "0x" + t.encode().hex().upper(),
    "bytes": lambda t: ", ".join(f"0x{ord(c):02x}" for c in t),
    r"\x": lambda t: "".join(f"\\x{ord(c):02x}" for c in t),
    r"\u": lambda t: "".join(f"\\u{ord(c):04x}" for c in t),
    r"\u in part": lambda t: t[:4] + f"\\u{ord(t[4]):04x}" + t[5:],
    "two words": lambda t: t[:14] + " " + t[14:],
    "three words": lambda t: t[:9] + " " + t[9:22] + " " + t[22:],
    "two lines": lambda t: t[:20] + "\n" + t[20:],
    "two lines, indented": lambda t: t[:20] + "\n    " + t[20:],
    "two lines, hyphenated": lambda t: t[:20] + "-\n" + t[20:],
    "two lines of a shell": lambda t: t[:18] + "\\\n  " + t[18:],
    "two strings": lambda t: f'"{t[:12]}" + "{t[12:]}"',
    "two strings, side by side": lambda t: f"'{t[:12]}' '{t[12:]}'",
    "two quoted lines": lambda t: t[:20] + "\n> " + t[20:],
    "behind its prefix": lambda t: t[:8] + " " + t[8:],
    "an invisible entity": lambda t: t[:16] + "&shy;" + t[16:],
    "an invisible percent": lambda t: t[:16] + "%E2%80%8B" + t[16:],
    r"an invisible \u": lambda t: t[:16] + r"\u200b" + t[16:],
    "a list of strings": lambda t: f'["{t[:18]}", "{t[18:]}"]',
    "half in bold": lambda t: f"{t[:18]}**{t[18:]}**",
    "a comment within": lambda t: t[:18] + "<!-- -->" + t[18:],
}
KNOWN: Final = (
    "github classic",
    "anthropic",
    "openai project",
    "aws access key",
    "npm",
    "gitlab personal",
    "google api",
)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("shape", KNOWN)
def test_a_known_token_is_found_behind_a_mask(mask, shape):
    for seed in SEEDS:
        token = shapes.value(shape, seed)
        text = f"CI pushes the image with {MASKS[mask](token)} every night"
        assert secrets.scan(text), text
        assert token[-12:] not in urllib.parse.unquote(secrets.redact(text))


@pytest.mark.parametrize(
    "text",
    [
        "tokens begin with ghp_ and 36 letters and digits follow",
        "keys start with sk-ant- then api03 and 93 more characters, sk-proj- is for projects",
        "glpat- is the prefix of GitLab's personal tokens since 14.5",
        "npm_config_registry points to the mirror, npm_lifecycle_event is test",
    ],
)
def test_what_is_said_about_a_prefix_is_not_put_together_to_a_token(text):
    assert secrets.scan(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "redis://:changeme@localhost:6379/0",
        'UserFactory(password="password123")',
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
        "kafka message key 2a8787c7-9762-4758-b86c-8fec29875099 on partition 7",
        "the recipient is age1" + "ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
        "node --tls-cipher-list='ECDHE-RSA-AES128-GCM-SHA256:!RC4' server.js",
        "sudo sysctl -w net.ipv6.conf.lo.disable_ipv6=0",
    ],
)
def test_what_everybody_may_know_passes(text):
    assert secrets.scan(text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"const HMAC_KEY = Buffer.from('{'9fb591b558d8e66a98f2ae3b8a8f' * 2}', 'hex')",
        "unlock the keystore with storepass Mx7#" + "ROWKgu^l6l",
        "snmp-server community eGrs" + "Vmlv1KHM3g RW",
        "-----BEGIN OpenVPN " + "Static key V1-----\n" + "a0aa88f74ab44e7e4e59c704159c65e9\n" * 16,
    ],
)
def test_a_name_a_call_or_a_head_gives_a_secret_away(text):
    assert secrets.scan(text)
