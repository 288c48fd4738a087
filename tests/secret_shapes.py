"""Texts with made-up secrets of every shape that issuers use.

Put together when the tests run, from parts and random letters, so that no
scanner finds a secret in this repository.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Mapping
from typing import Final

_ALNUM: Final = string.ascii_letters + string.digits
_WORD: Final = _ALNUM + "-_"
_HEX: Final = "0123456789abcdef"
_B64: Final = _ALNUM + "+/"
_UPPER: Final = string.ascii_uppercase + "234567"

Draw = Callable[[str, int], str]

# What each value is made of: parts that stay, and an alphabet with a size.
SHAPES: Final[Mapping[str, tuple[str | tuple[str, int], ...]]] = {
    "aws access key": ("AK", "IA", (_UPPER, 16)),
    "aws session key": ("AS", "IA", (_UPPER, 16)),
    "github classic": ("gh", "p_", (_ALNUM, 36)),
    "github app": ("gh", "s_", (_ALNUM, 36)),
    "github fine-grained": ("github", "_pat_", (_ALNUM, 22), "_", (_ALNUM, 59)),
    "gitlab personal": ("gl", "pat-", (_WORD, 20)),
    "gitlab routable": ("gl", "pat-", (_WORD, 27), ".01.", (_HEX, 9)),
    "slack bot": ("xox", "b-", (string.digits, 12), "-", (string.digits, 12), "-", (_ALNUM, 24)),
    "slack app": ("xa", "pp-1-A0", (_UPPER, 9), "-", (string.digits, 13), "-", (_HEX, 64)),
    "slack webhook": ("https://hooks.", "slack.com/services/T", (_UPPER, 9), "/B", (_UPPER, 10), "/", (_ALNUM, 24)),
    "discord webhook": ("https://discord", ".com/api/webhooks/", (string.digits, 18), "/", (_WORD, 68)),
    "stripe live": ("sk", "_live_", (_ALNUM, 24)),
    "stripe restricted": ("rk", "_test_", (_ALNUM, 99)),
    "webhook signing": ("wh", "sec_", (_B64, 32)),
    "openai project": ("sk-", "proj-", (_WORD, 74), "T3Blbk", "FJ", (_WORD, 74)),
    "openai legacy": ("sk", "-", (_ALNUM, 20), "T3Blbk", "FJ", (_ALNUM, 20)),
    "openrouter": ("sk-", "or-v1-", (_HEX, 64)),
    "deepseek": ("sk", "-", (_HEX, 32)),
    "groq": ("gs", "k_", (_ALNUM, 52)),
    "anthropic": ("sk-", "ant-api03-", (_WORD, 93), "AA"),
    "anthropic oauth": ("sk-", "ant-oat01-", (_WORD, 86), "AA"),
    "google api": ("AI", "za", (_WORD, 35)),
    "google oauth secret": ("GOC", "SPX-", (_WORD, 28)),
    "google access": ("ya", "29.", (_WORD, 120)),
    "npm": ("np", "m_", (_ALNUM, 36)),
    "pypi": ("py", "pi-AgEIcHlwaS5vcmc", (_WORD, 120)),
    "rubygems": ("ruby", "gems_", (_HEX, 48)),
    "docker": ("dckr", "_pat_", (_WORD, 27)),
    "hugging face": ("h", "f_", (string.ascii_letters, 34)),
    "digitalocean": ("dop", "_v1_", (_HEX, 64)),
    "sendgrid": ("S", "G.", (_WORD, 22), ".", (_WORD, 43)),
    "mailgun": ("ke", "y-", (_HEX, 32)),
    "twilio": ("S", "K", (_HEX, 32)),
    "shopify": ("shp", "at_", (_HEX, 32)),
    "telegram": ((string.digits[1:], 10), ":A", "A", (_WORD, 33)),
    "databricks": ("da", "pi", (_HEX, 32)),
    "vault": ("hv", "s.", (_WORD, 90)),
    "terraform": ((_ALNUM, 14), ".atlas", "v1.", (_WORD, 67)),
    "linear": ("lin_", "api_", (_ALNUM, 40)),
    "figma": ("fig", "d_", (_WORD, 43)),
    "grafana": ("gl", "sa_", (_ALNUM, 32), "_", (_HEX, 8)),
    "new relic": ("NR", "AK-", (_UPPER, 27)),
    "atlassian": ("ATA", "TT3xFfGF0", (_WORD, 178), "=", (_HEX, 8)),
    "airtable": ("pa", "t", (_ALNUM, 14), ".", (_HEX, 64)),
    "age": ("AGE-SECRET", "-KEY-1", (string.ascii_uppercase + string.digits, 58)),
    "jwt": ("ey", "JhbGciOiJIUzI1NiJ9.", "ey", "Jz", (_ALNUM, 60), ".", (_WORD, 43)),
}

# How values without a shape of their own are written down; `{}` is the value.
SETTINGS: Final = (
    "API_KEY={}",
    'export OPENAI_API_KEY="{}"',
    "client_secret: {}",
    '"secretKey": "{}"',
    "aws_secret_access_key = {}",
    "//registry.example.org/:_authToken={}",
    "the deploy token is `{}`, do not share it",
    "curl -H 'Authorization: Bearer {}' https://api.test",
    "X-Api-Key: {}",
    "set SESSION_SECRET to {} before starting",
    "run `vault login --token {}`",
    "const signingKey = '{}';",
)
PASSWORDS: Final = (
    "password = {}",
    'DB_PASSWORD="{}"',
    "postgres://app:{}@db.internal:5432/shop",
    "the staging password is {}",
    "curl -u deploy:{} https://ci.internal",
    "machine ci.internal login bot password {}",
    "mysql --password={} shop",
)


def drawing(seed: int) -> Draw:
    """Return what draws texts from an alphabet; the same ones for the same *seed*."""
    chance = random.Random(seed)
    return lambda letters, size: "".join(chance.choices(letters, k=size))


def value(shape: str, seed: int) -> str:
    """Return a made-up secret of the named *shape*."""
    draw = drawing(seed)
    return "".join(part if isinstance(part, str) else draw(*part) for part in SHAPES[shape])


def key_value(seed: int, size: int = 40) -> str:
    """Return a made-up key without a shape of its own."""
    return drawing(seed)(_ALNUM, size - 2) + "7x"


def password(seed: int) -> str:
    """Return a made-up password with letters of both cases, digits and a sign."""
    draw = drawing(seed)
    return draw(string.ascii_uppercase, 1) + draw(_ALNUM, 9) + draw("!#*+", 1) + draw(string.digits, 1) + "k"


def private_key(seed: int, kind: str = "RSA ", newline: str = "\n") -> str:
    """Return what looks like a private key in PEM."""
    body = base64.b64encode(random.Random(seed).randbytes(400)).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    return newline.join([f"-----BEGIN {kind}PRIVATE " + "KEY-----", *lines, f"-----END {kind}PRIVATE " + "KEY-----"])
