"""What looks like a secret in a text, and the same text without it or its writer's home.

Own rules, because a memory is prose: detect-secrets and the like look at
source lines (docs/security.md has the figures). A rule is the shape of one
issuer's tokens; the generic ones ask for a telling name and a random value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import log2
from typing import Final, NamedTuple

from memsync.records import ALLOW_TAG, Memory


class Secret(NamedTuple):
    """What `rule` found at characters `start` to `end`; `redacted` and `fingerprint` may be shown."""

    rule: str
    start: int
    end: int
    redacted: str
    fingerprint: str


class _Rule(NamedTuple):
    """The shape of a secret. `hints`: one of them is in every lower-cased text that fits. Group 1, if any, is the secret."""

    name: str
    hints: tuple[str, ...]
    pattern: str
    entropy: float = 2.5


_ALNUM: Final = "[A-Za-z0-9]"
_WORD: Final = "[A-Za-z0-9_-]"

# Shapes as the issuers document them, and as gitleaks 8 lists them; sizes with room for longer ones.
_TOKENS: Final = (
    _Rule("aws-access-key", ("akia", "asia", "abia", "acca"), r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", 3),
    _Rule("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rf"gh[pousr]_{_ALNUM}{{36,255}}", 3),
    _Rule("github-token", ("github_pat_",), r"github_pat_\w{40,255}", 3),
    _Rule("gitlab-token", ("gl",), rf"gl(?:pat|ptt|dt|rtr?|cbt|ft|soat|agent|oas|imt|ffct|wt)-{_WORD}{{20,300}}(?:\.[a-z0-9]{{2,9}}){{0,2}}", 3.2),
    _Rule("slack-token", ("xox",), r"xox[abceoprs](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}", 2.8),
    _Rule("slack-token", ("xapp-",), r"xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{20,}", 3),
    _Rule("webhook", ("hooks.slack.com",), r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/+]{40,})", 3),
    _Rule("webhook", ("/api/webhooks/",), rf"discord(?:app)?\.com/api/webhooks/\d+/({_WORD}{{60,}})", 3),
    _Rule("stripe-key", ("k_live_", "k_test_", "k_prod_"), rf"[rs]k_(?:live|test|prod)_{_ALNUM}{{16,}}", 3),
    _Rule("signing-secret", ("whsec_",), r"whsec_[A-Za-z0-9+/=]{24,}", 3),
    _Rule("anthropic-key", ("sk-ant-",), rf"sk-ant-{_WORD}{{24,}}", 3.2),
    _Rule("openai-key", ("sk-",), rf"sk-(?:proj|svcacct|admin|None)-{_WORD}{{24,}}", 3.5),
    _Rule("llm-key", ("sk-",), rf"sk-(?:or-v1-|lf-)?{_ALNUM}{{32,}}", 3),
    _Rule("llm-key", ("gsk_", "xai-", "pplx-", "tvly-"), rf"(?:gsk_|xai-|pplx-|tvly-(?:dev-|prod-)?){_ALNUM}{{30,}}", 3.2),
    _Rule("google-key", ("aiza",), rf"AIza{_WORD}{{35}}", 3),
    _Rule("google-key", ("gocspx-", "ya29.", "1//0"), rf"(?:GOCSPX-{_WORD}{{28}}|ya29\.{_WORD}{{20,}}|1//0{_WORD}{{38,}})", 3),
    _Rule("npm-token", ("npm_",), rf"npm_{_ALNUM}{{36}}", 3),
    _Rule("pypi-token", ("pypi-ag",), rf"pypi-Ag{_WORD}{{50,}}", 3),
    _Rule("registry-token", ("rubygems_", "cio", "dckr_"), rf"(?:rubygems_[a-f0-9]{{48}}|cio{_ALNUM}{{32}}|dckr_[po]at_{_WORD}{{27,}})", 3),
    _Rule("huggingface-token", ("hf_", "api_org_"), r"(?:hf|api_org)_[A-Za-z]{34}", 3.5),
    _Rule("replicate-token", ("r8_",), rf"r8_{_ALNUM}{{37}}", 3.5),
    _Rule("cloud-token", ("_v1_",), r"do[oprt]_v1_[a-f0-9]{64}", 3),
    _Rule("sendgrid-key", ("sg.",), rf"SG\.{_WORD}{{16,32}}\.{_WORD}{{32,64}}", 3.5),
    _Rule("mail-key", ("key-", "-us"), r"(?:key-[a-f0-9]{32}|[a-f0-9]{32}-us\d{1,2})", 3),
    _Rule("twilio-key", ("sk",), r"SK[a-f0-9]{32}", 3),
    _Rule("shop-key", ("shp", "sq0", "eaaa"), rf"(?:shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{{32}}|sq0[a-z]{{3}}-{_WORD}{{22,60}}|EAAA{_WORD}{{60}})", 3),
    _Rule("telegram-token", (":aa",), rf"\d{{8,10}}:AA{_WORD}{{32,35}}", 3.5),
    _Rule("databricks-token", ("dapi",), r"dapi[a-f0-9]{32}(?:-\d)?", 3),
    _Rule("vault-token", ("hvs.", "hvb.", "hvr."), rf"hv[sbr]\.{_WORD}{{24,}}", 3),
    _Rule("terraform-token", (".atlasv1.",), rf"{_ALNUM}{{14}}\.atlasv1\.{_WORD}{{60,}}", 3.5),
    _Rule("service-token", ("pul-", "dp."), rf"(?:pul-[a-f0-9]{{40}}|dp\.(?:pt|st|sa|ct|scim|audit)\.{_ALNUM}{{40,44}})", 3),
    _Rule("service-token", ("lin_api_", "ntn_", "secret_"), rf"(?:lin_api_{_ALNUM}{{40}}|ntn_{_ALNUM}{{40,}}|secret_{_ALNUM}{{43}})", 3.5),
    _Rule("service-token", ("figd_", "pscale_", "sbp_", "sb_secret_"), rf"(?:figd_{_WORD}{{40,}}|pscale_(?:tkn|pw|oauth)_[\w.-]{{32,}}|sbp_[a-f0-9]{{40}}|sb_secret_{_WORD}{{20,}})", 3),
    _Rule("service-token", ("nrak-", "pmak-", "hrku-"), r"(?:NRAK-[A-Z0-9]{27}|PMAK-[A-Fa-f0-9]{24}-[A-Fa-f0-9]{34}|HRKU-[\w-]{36,})", 3),
    _Rule("service-token", ("sntry", "glsa_", "glc_", "ops_"), rf"(?:sntry[su]_[A-Za-z0-9+/=_]{{40,}}|glsa_{_ALNUM}{{32}}_[a-f0-9]{{8}}|(?:glc|ops)_eyJ[A-Za-z0-9+/=]{{32,}})", 3),
    _Rule("service-token", ("pat", "lsv2_"), rf"(?:pat{_ALNUM}{{14}}\.[a-f0-9]{{64}}|lsv2_[a-z]{{2}}_[a-f0-9]{{32}}_[a-f0-9]{{10}})", 3),
    _Rule("atlassian-token", ("atatt3", "atbb", "atctt3"), r"(?:ATATT3|ATCTT3|ATBB)[A-Za-z0-9_=-]{28,}", 3.5),
    _Rule("age-key", ("age-secret-key-",), r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{58}", 3),
    _Rule("azure-key", ("accountkey=", "sharedaccesskey="), r"(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,88}={0,2})", 4),
    _Rule("azure-secret", ("q~",), r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}", 3.5),
    _Rule("alibaba-key", ("ltai",), rf"LTAI{_ALNUM}{{16,24}}", 3.2),
    _Rule("jwt", ("eyj",), rf"eyJ{_WORD}{{8,}}\.eyJ{_WORD}{{8,}}\.{_WORD}{{16,}}", 3.5),
)  # fmt: skip

_PRIVATE_KEY: Final = _Rule(
    "private-key",
    ("private key",),
    r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----[^-]{0,400}?[A-Za-z0-9+/=]{32,}"
    r"(?:[^-]*-----END [A-Z0-9 ]{0,40}-----|[A-Za-z0-9+/=\s\\]*)",
)
_URL: Final = _Rule(
    "url-password",
    ("://",),
    r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,20}://(?P<user>[^\s/:@\"'<>`]{0,80}):([^\s/@\"'<>`]{4,200})@[\w\[]",
)
_SIGNED: Final = _Rule(
    "url-signature", ("signature=", "sig="), r"[?&](?:X-Amz-Signature|[Ss]ignature|sig)=([A-Za-z0-9%+/=_-]{32,})", 3.5
)
_HEADER: Final = _Rule(
    "auth-header",
    ("bearer ", "basic ", "token "),
    r"(?i:\b(?:bearer|basic|authorization:\s{0,3}token)) {1,3}([A-Za-z0-9._~+/=-]{16,})",
    3.3,
)
_NAMES: Final = (
    r"secret|token|passw(?:or)?d|passphrase|passwort|pwd|api[_ -]?key|apikey|access[_ -]?key|private[_ -]?key"
    r"|auth[_ -]?key|signing[_ -]?key|encryption[_ -]?key|account[_ -]?key|master[_ -]?key|license[_ -]?key|credentials?"
    r"|_auth|auth[_-]?token"
)
_HINTS: Final = ("secret", "token", "passw", "passphrase", "pwd", "key", "credential", "_auth", " -u ")
# The name, what may stand between, the value: `API_KEY = "…"`, `--password …`, `"token": "…"`, `the password is …`.
_ASSIGNED: Final = re.compile(
    rf"(?i:(?P<name>{_NAMES})[\w-]{{0,30}})[\"'`*]{{0,3}}\s{{0,3}}"
    r"(?P<mark>:=|=>|==?|:(?!-)| is(?: now)?:? | are | was | to )\s{0,3}"
    r"(?P<quote>[\"'`]?)(?P<value>[^\s\"'`,;<>:=]{8,})"
)
_FLAGGED: Final = re.compile(
    r"(?i:(?P<name>--(?:password|passphrase|token|secret|api-?key)|\bpassword|-u [^\s:\"']{1,60}:))"
    r"(?P<mark> ?)(?P<quote>[\"']?)(?P<value>[^\s\"'`,;<>:=]{8,})"
)
# What still belongs to a value that goes on behind a `=` or `:`.
_REST: Final = re.compile(r"[:=][^\s\"'`,;<>]*")
_EDGE: Final = r"(?<![A-Za-z0-9])(?:{})(?![A-Za-z0-9])"
# What people write where the secret would be, and values that are looked up rather than written.
_PLACEHOLDER: Final = re.compile(
    r"(?i)\$[\w{(]|\{\{|\{\w*\}|%\w+%|%[(s]|^[<\[({]|(.)\1{5,}|\*{3}|x{4}|\.{3}|…|example|placeholder|changeme|change.me"
    r"|your|dummy|redacted|sample|fake|insert|todo|12345|abcdef|qwerty|deadbeef|environ|getenv|process\.env|secrets?\.|\("
)
_WEAK: Final = frozenset(
    "password passwd pass postgres postgresql mysql mariadb mongo mongodb redis root admin administrator user username"
    " guest test tests testing dev development local localhost secret docker rabbitmq minio minioadmin default none null"
    " pwd token example hunter2 foobar changeit".split()
)
_LONG: Final = 100  # characters, beyond which such words come up by chance
_MARKED: Final = re.compile(r"memsync:allow-secret|gitleaks:allow|pragma: allowlist secret")


class Allow:
    """What is no secret here: patterns for whole values, and fingerprints as reports show them.

    Raises:
        ValueError: a pattern is no regular expression, or would let everything through.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._fingerprints: set[str] = set()
        self._patterns: list[re.Pattern[str]] = []
        for entry in entries:
            if re.fullmatch(r"[0-9a-f]{12}", entry):
                self._fingerprints.add(entry)
            else:
                self._patterns.append(_allowing(entry))

    def __contains__(self, value: str) -> bool:
        return any(pattern.fullmatch(value) for pattern in self._patterns) or (
            bool(self._fingerprints) and fingerprint(value) in self._fingerprints
        )


def _allowing(entry: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(entry)
    except re.error as error:
        raise ValueError(f"{entry!r} is not a regular expression ({error})") from None
    if pattern.fullmatch("") or all(map(pattern.fullmatch, ("Zq8-kX2_vB7", "0f3c9a71e2", "sk-Zq8kX2vB7nM4"))):
        raise ValueError(f"{entry!r} would let every secret through")
    return pattern


NOTHING: Final = Allow()


def fingerprint(value: str) -> str:
    """Return 12 hex digits that name *value* in an allow-list without showing it."""
    from hashlib import sha256

    return sha256(b"memsync secret " + value.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def scan(text: str, allow: Allow = NOTHING) -> list[Secret]:
    """Return what looks like a secret in *text*, in order and without overlaps.

    A line that says `memsync:allow-secret`, `gitleaks:allow` or `pragma:
    allowlist secret` is left out. Linear in the length of *text*.
    """
    spans = sorted(_candidates(text), key=lambda found: (found[1], -found[2]))
    secrets: list[Secret] = []
    for rule, start, end in spans:
        value = text[start:end]
        if (secrets and start < secrets[-1].end) or value in allow or _is_marked(text, start, end):
            continue
        secrets.append(Secret(rule, start, end, f"[{rule}, {end - start} characters]", fingerprint(value)))
    return secrets


def scan_memory(memory: Memory, allow: Allow = NOTHING) -> list[Secret]:
    """Return what looks like a secret in any text of *memory*; nothing if its tags allow it. Places count in the content."""
    if ALLOW_TAG in memory.tags:
        return []
    rest = [*memory.tags, memory.memory_type, memory.author or "", *_strings(memory.extra)]
    return scan(memory.content, allow) + [found for text in rest for found in scan(text, allow)]


def _strings(value: object) -> Iterator[str]:
    """Yield every text in a JSON value; under a telling name together with it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) or hasattr(value, "items"):
        for key, item in value.items():
            yield from [f"{key}: {item}"] if isinstance(item, str) else _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def redact(text: str, allow: Allow = NOTHING) -> str:
    """Return *text* with every secret replaced by what kind it was."""
    parts, place = [], 0
    for secret in scan(text, allow):
        parts += [text[place : secret.start], secret.redacted]
        place = secret.end
    return "".join([*parts, text[place:]])


def describe(secrets: Sequence[Secret]) -> str:
    """Say what was found, for people, without showing it."""
    kinds = dict.fromkeys(
        f"{s.redacted[1:-1]} at character {s.start + 1}, fingerprint {s.fingerprint}" for s in secrets
    )
    shown = list(kinds)[:3]
    return "; ".join(shown) + (f"; and {len(kinds) - len(shown)} more" if len(kinds) > len(shown) else "")


def tidy(text: str, *, home: str, user: str = "") -> str:
    """Return *text* with the paths of *home*, and of homes that *user* has on other systems, as `~`.

    Only whole path components count; a home of `/` changes nothing.
    """
    for pattern in _homes(home.rstrip("/\\"), user):
        text = pattern.sub("~", text)
    return text


_SLASH: Final = r"(?:/|\\\\?)"


@cache
def _homes(home: str, user: str) -> tuple[re.Pattern[str], ...]:
    found = []
    if len(home) > 1:
        found.append(_SLASH.join(re.escape(part) for part in re.split(r"[/\\]+", home)))
    if user and user != "root":
        found.append(rf"(?:/mnt/[a-z]|/[a-z]|[A-Za-z]:)?{_SLASH}(?:Users|home){_SLASH}{re.escape(user)}")
    return tuple(re.compile(rf"(?<![\w.~-]){path}(?![\w.-]*\w)", re.IGNORECASE if ":" in path else 0) for path in found)


def _candidates(text: str) -> Iterator[tuple[str, int, int]]:
    lower = text.lower()
    for rule in (*_TOKENS, _PRIVATE_KEY, _SIGNED, _HEADER):
        if any(hint in lower for hint in rule.hints):
            for match in _compiled(rule).finditer(text):
                group = match.lastindex or 0
                value = match[group]
                if entropy(value) >= rule.entropy and not _PLACEHOLDER.search(value[:_LONG]):
                    yield rule.name, match.start(group), match.end(group)
    if "://" in lower:
        yield from _in_urls(text)
    if any(hint in lower for hint in _HINTS):
        yield from _assigned(text)


@cache
def _compiled(rule: _Rule) -> re.Pattern[str]:
    return re.compile(_EDGE.format(rule.pattern) if rule in _TOKENS else rule.pattern)


def _in_urls(text: str) -> Iterator[tuple[str, int, int]]:
    for match in _compiled(_URL).finditer(text):
        value = match[2]
        if value.lower() not in _WEAK and value != match["user"] and not _PLACEHOLDER.search(value):
            yield _URL.name, match.start(2), match.end(2)


def _assigned(text: str) -> Iterator[tuple[str, int, int]]:
    """Find values that are given to a telling name and are too random to be a word, a path or a name."""
    for pattern in (_ASSIGNED, _FLAGGED):
        place = 0
        while match := pattern.search(text, place):
            place, end = match.span("value")
            if _PLACEHOLDER.search(match["value"]):
                continue
            value = match["value"].rstrip(").]}\\")
            is_password = match["name"].lower().lstrip("-").startswith(("pass", "pwd", "u "))
            is_plain = bool(match["quote"]) or "=" in match["mark"] or match["name"].startswith("-")
            if _is_random(value, is_password=is_password, is_plain=is_plain):
                rest = _REST.match(text, end)
                end = rest.end() if rest else place + len(value)
                yield ("password" if is_password else "assigned-secret"), place, end


def _is_random(value: str, *, is_password: bool, is_plain: bool) -> bool:
    """Tell whether *value* was made by a generator, or is a password of several kinds of characters."""
    if value.lower() in _WEAK or _is_wordy(value):
        return False
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if not (has_digit and has_letter):
        return False
    if is_password:
        return len(value) >= 8 and _kinds(value) >= (2 if is_plain else 3) and entropy(value) >= 2.5
    return len(value) >= 16 and entropy(value) >= (3.0 if re.fullmatch(r"[0-9a-fA-F-]+", value) else 3.5)


def _kinds(value: str) -> int:
    kinds = (str.islower, str.isupper, str.isdigit, lambda letter: not letter.isalnum())
    return sum(any(map(kind, value)) for kind in kinds)


def _is_wordy(value: str) -> bool:
    """Tell whether *value* consists of words, numbers and versions, as names, paths and calls do."""
    pieces = [piece for piece in re.split(r"[-_./\\|@~$[\]{}()]+", value) if piece]
    return len(pieces) > 1 and all(re.fullmatch(r"v?\d{1,6}|[A-Za-z]{1,24}\d{0,2}", piece) for piece in pieces)


def _is_marked(text: str, start: int, end: int) -> bool:
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return _MARKED.search(text, first, len(text) if last < 0 else last) is not None


def entropy(text: str) -> float:
    """Return the Shannon entropy of the characters of *text*, in bits a character."""
    size = len(text)
    return -sum((n / size) * log2(n / size) for n in (text.count(letter) for letter in set(text)))
