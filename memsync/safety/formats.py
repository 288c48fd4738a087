"""Secrets that their surroundings give away: key files, URLs, headers, command lines, seed phrases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final, Literal, NamedTuple

from memsync.safety.unmasking import from_base64
from memsync.safety.values import LONG, entropy, is_key, is_password, is_random, is_shown, is_wordy

Judge = Literal["as it is", "shown", "told", "password", "strong", "key", "random"]


class Format(NamedTuple):
    """Where a secret stands. `hints`: one is in every lower-cased text that fits. Group 1, if any, is the secret.

    `chunk`: an expression for what is in a chunk of every such text, where the hints are in most.
    """

    name: str
    hints: tuple[str, ...]
    pattern: str
    judge: Judge = "as it is"
    chunk: str = ""


_VALUE: Final = r"[\"']?((?!-)[^\s\"'`,;<>|]{6,200})"
_B64: Final = r"[A-Za-z0-9+/]"
_HEAVY: Final = rf"{_B64}{{16,}}={{0,2}}"
# The only secrets that consist of plain words.
SEEDS: Final = (
    Format("seed-phrase", ("seed phrase", "mnemonic", "recovery phrase", "seed words", "wallet", "bip39", "bip-39"), r"(?i:seed phrase|seed words|mnemonic|recovery phrase|wallet|bip-?39)[^\n]{0,30}?[\s\"':]((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"),
)  # fmt: skip
FORMATS: Final = (
    Format(
        "private-key",
        ("private key",),
        r"-{4,5} ?BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)? ?-{4,5}[^-]{0,400}?[A-Za-z0-9+/=]{32,}"
        r"(?:[^-]*-{4,5} ?END [A-Z0-9 ]{0,40}-{4,5}|[A-Za-z0-9+/=\s\\]*)",
    ),
    Format("private-key", ("putty-user-key-file",), r"PuTTY-User-Key-File-\d[\s\S]{0,4000}?Private-Lines: \d+\s+([A-Za-z0-9+/=\s\\]{32,})"),
    Format("private-key", ("encrypted secret key",), r"encrypted secret key\s+([A-Za-z0-9+/=]{40,})"),
    Format("private-key", ("static key v1",), r"BEGIN OpenVPN Static key V1-{4,5}\s+((?:[0-9a-fA-F]{32}\s+){4,})"),
    Format("private-key", ("client-key-data",), r"client-key-data[\"']?:\s*[\"']?([A-Za-z0-9+/=]{40,})"),
    Format("private-key", ("private",), rf"(?i:private[_ -]?key)[\"']?\s*[=:(<]{{1,3}}\s*(?:echo )?[\"']?({_B64}{{42,44}}=)"),
    Format("private-key", ("preshared", "psk"), rf"(?i:preshared-?key|psk)\s*[=:]\s*[\"']?({_B64}{{42,44}}=)"),
    Format("private-key", ("private-key",), rf"private-key\s+\W{{0,3}}(?:echo )?({_B64}{{42,44}}=)"),
    Format("private-key", ('"kty"', "'kty'"), r"[\"']kty[\"'][\s\S]{0,400}?[\"'][dk][\"']\s*:\s*[\"']([A-Za-z0-9_-]{20,})"),
    Format("url-password", ("://",), r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,20}://(?P<user>[^\s/:@\"'<>`]{0,80}):(?!(?P=user)@)(?P<secret>[^\s/\"'<>`]{4,200})@[\w\[]", "shown"),
    Format("url-password", ("://",), r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,20}://(?!o\d)([A-Za-z0-9_-]{20,200})@(?!o\d)[\w\[]", "key"),
    Format("url-password", ("jdbc:",), r"jdbc:[^\s\"']{0,60}?[:/]\w+/([^\s@\"']{6,100})@", "password"),
    Format("url-signature", ("signature=", "sig="), r"[?&](?:X-Amz-Signature|[Ss]ignature|sig)=([A-Za-z0-9%+/=_-]{32,})", "key"),
    Format(
        "url-key",
        ("key=", "token=", "secret=", "appid=", "auth=", "sid=", "pwd=", "code="),
        r"[?&](?i:[\w-]{0,20}(?:key|token|secret|appid|auth|pwd|code))=([A-Za-z0-9%+/_.~-]{16,})",
        "key",
    ),
    Format("url-key", ("infura", "alchemy", "quiknode"), r"(?:infura|alchemy|quiknode)[\w.-]*/(?:ws/)?v\d/([A-Za-z0-9_-]{32,})", "key"),
    Format(
        "auth-header",
        ("bearer", "basic ", "token", "apikey", "genie", "oauth", "sso-key", "ssws", "digest "),
        r"(?i:\b(?:bearer|basic|authorization[\"']?[:=,]\s{0,3}[\"']?[\w-]{0,14}(?: token=)?|sso-key)) {0,3}([A-Za-z0-9._~+/=:-]{16,})",
        "key",
    ),
    Format("auth-header", ("x-", "xi-", "cb-", "ocp-", "private-token"), r"(?i:\b(?:x|xi|cb|ocp)-[\w-]{0,30}(?:key|token|auth|secret|sign|signature|password))[\"']?\s{0,2}[:=,]?\s{0,3}(?:key )?[\"']?([A-Za-z0-9._~+/=-]{12,})", "key"),
    Format("cookie", ("cookie",), r"(?i:cookie)[\"']?\s*[:=]\s*[\"']?[^\n]{0,80}?[\w.-]=([A-Za-z0-9%._~+/=-]{24,})", "key"),
    Format("docker-auth", ("auth",), rf"[\"']_?auth[\"']?\s*[:=]\s*[\"']({_HEAVY})", "key"),
    Format("one-time-seed", ("otpauth://",), r"otpauth://[^\s\"']*?secret=([A-Za-z2-7]{16,})"),
    Format("one-time-seed", ("2fa", "totp", "otp", "mfa", "authenticator"), r"(?i:\b(?:2fa|totp|otp|mfa|authenticator)\b)[^\n.;]{0,30}?\b([A-Z2-7]{16,64})(?![a-z0-9])", "random"),
    Format("recovery-codes", ("recovery code", "backup code"), r"(?i:(?:recovery|backup) codes?)\W{1,4}((?:[A-Za-z0-9]{4,6}-?[A-Za-z0-9]{4,6}[\s,]*){2,})"),
    Format("password-hash", ("$2", "$5$", "$6$", "$apr1$", "$argon2", "$y$", "$1$"), r"(?<![\w$])\$(?:2[aby]|[156y]|apr1|argon2\w{1,2})\$[^\s\"',;]{24,}"),
    Format("password", ("passwd", "password", "pgpass", ":"), r"(?m)^[\w.*-]{2,60}:(?:\d{2,5}|\*):[\w*-]{1,40}:[\w*-]{1,40}:([^\s:]{6,100})$", "password", r":[^:]*:[^:]*:[^:]*:"),
    Format("password", (" -", "\t-"), rf"(?<!\S)(?:-p(?=['\"\w!#*^~?])|-{{1,2}}(?:p|a|w|k|P|pw|pass|storepass|keypass|passin|passout)[ =])(?:pass:)?{_VALUE}", "password", r"^(?:-p['\"\w!#*^~?]|--?(?:p|a|w|k|P|pw|pass|storepass|keypass|passin|passout)(?:=|$))"),
    Format("password", ("sshpass", "mysql", "docker login", "mariadb", "redis-cli", "7z"), rf"(?:sshpass|mysql\w*|mariadb\S*|docker login|redis-cli|7z)(?=\s)[^\n]{{0,60}}? (?:-p ?|-a ){_VALUE}", "told"),
    Format("password", (" -u", "--user"), r"(?<!\S)(?:-u|--user)[ =]?[\"']?[^\s:,\"']{1,60}[:,]([^\s\"'`<>]{6,100})", "told"),
    Format("password", ("pass:",), rf"\bpass:{_VALUE}", "told"),
    Format("password", ("storepass", "keypass", "community"), rf"(?i:\b(?:storepass|keypass|snmp-server community)) {_VALUE}", "password"),
    Format("password", ("echo ", "printf ", "<<<"), rf"(?:\becho(?: -n)?|\bprintf|<<<) {_VALUE}", "password"),
    Format("password", ("net use", "htpasswd", "requirepass", "bindpw", "identified by", "with password"), rf"(?i:net use \S+ \S+ |htpasswd[^\n]{{0,40}}? |requirepass |bindpw |identified by |with password )(?=\S){_VALUE}(?=\s|[\"';]|$)", "password"),
    Format("password", ("ftp",), rf"(?:lftp|ftp)[^\n]{{0,30}}? -u [^\s,]{{1,40}},{_VALUE}", "password"),
    Format("password", ("auth=", "credential", "login(", "auth("), r"(?i:auth|credentials?|login)\s{0,2}[=(:]\s{0,2}\(?[\"'][\w.@-]{1,40}[\"'],\s{0,2}[\"']([^\"'\s]{6,100})[\"']", "password"),
    Format("password", ("log in", "login", "logon", "sign in", "ssh", "creds", "user", "admin", "root", "account", "deploy"), r"(?i:\b(?:log ?[io]n|sign in|creds?|credentials|users?|admin|root|account|deploy|opensearch)\b)[^\n]{0,30}?[\w.@-]{2,40}(?: ?/ |:)([^\s\"'`,;<>/]{8,80})(?![\w/])", "strong"),
    Format("password", (" pw ", " pass ", "pw:", "pass:", "pw=", "pass="), rf"(?i:\b(?:pw|pass))[ :=]\s?{_VALUE}", "password"),
    Format("key", ("auth", "login", "token", "secret", "key"), r"(?i:\b(?:auth|login|token|secret|api key))[ :=]{1,2}[\"']?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})", chunk="[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-"),
    Format("license-key", ("-",), r"(?<![\w-])((?=[\w-]*\d)[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3,6})(?![\w-])", "random", r"-\w{5}-"),
)  # fmt: skip


def in_formats(text: str, lower: str, formats: Iterable[Format]) -> Iterator[tuple[str, int, int]]:
    """Yield the rule, begin and end of each secret of one of *formats* in *text*."""
    for row in formats:
        if any(hint in lower for hint in row.hints):
            yield from _found(text, row)


def _found(text: str, row: Format) -> Iterator[tuple[str, int, int]]:
    for match in _compile(row.pattern).finditer(text):
        group = "secret" if "secret" in match.groupdict() else match.lastindex or 0
        if is_secret(match[group], row.judge):
            yield row.name, match.start(group), match.end(group)


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def is_secret(value: str, judge: Judge) -> bool:
    """Tell whether *value*, found where a secret of that kind would be, is one."""
    if judge == "as it is":
        return entropy(value) > 2 and "..." not in value
    if is_shown(value) or judge == "shown":
        return not is_shown(value)
    if judge == "told":
        from memsync.safety.sentences import is_odd_password

        return is_odd_password(value)
    if judge in ("password", "strong"):
        is_text = len(value) >= LONG and from_base64(value)  # which is looked at for itself
        return not is_text and is_password(value, is_given=judge == "password")
    if judge == "key":
        return is_key(value)
    return is_random(value, 16) and not is_wordy(value)
