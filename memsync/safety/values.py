"""Whether a value is one that somebody made up to keep, or a word, a name, a path, a reference or a placeholder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from math import log2
from typing import Final

from memsync.system.digests import sha256
from memsync.system.texts import Memo

_WEAK: Final = frozenset(
    "password passwd pass postgres postgresql mysql mariadb mongo mongodb redis root admin administrator user username"
    " guest test tests testing dev development local localhost secret docker rabbitmq minio minioadmin default none null"
    " pwd token example hunter2 foobar changeit true false required optional".split()
)
_FILLERS: Final = frozenset(
    "your my the a api key keys token secret password passwd pass here example sample placeholder change changeme me replace"
    " with insert dummy fake test todo redacted foo bar baz goes long random string value access client id user app admin"
    " must be this is not real set some enter paste xxx auth bearer private public demo mock to in of and live env it".split()
)


@cache
def _shown_pattern() -> re.Pattern[str]:
    return re.compile(
        r"(?i)^(?:\$[A-Za-z_]\w*|\$?[({<\[].*|\$\{.*|\$\(.*|\{\{.*|.*\{\{.*\}\}.*|<.*>?|\{[\w.]*\}|%\w+%|%\(?\w*\)?[sd]|@\w+@|![A-Za-z_]+|&\w+"
        r"|.*\*{3,}.*|.*x{5,}.*|.*\.{3}.*|.*….*|.*(.)\1{5,}.*|.*\{[a-z_]{3,}(?:\}.*)?|\$[a-z_]\w*[.:\[/-].*"
        r"|.*(?:\[\^|\[[^\]]{0,9}[aA]-[zZ]|\\[sSwdb]|\(\?).*|-[\w-]+(?:=.*)?|\w+![rsa]|%[-+ 0#]?[\d.*]*[a-z]|_{1,2}Z[A-Z].*|\?+Q\w.*@@.*"
        r"|(?:sha-?\d{1,3}|md5|blake\w{1,3}|h1|crc\d*)[-:=].*"
        r"|(?:os\.)?(?:environ|getenv)\b.*|process\.env\b.*|env\.\w+|secrets?\.[\w.]+|vault:.*|ENC\[.*|op://.*|arn:.*|var\.\w+|ref\+.*|(?-i:Ag[A-D][A-Za-z0-9+/]{60,}=*))$",  # the last in a SealedSecret
        re.DOTALL,
    )  # fmt: skip


@cache
def _sample_pattern() -> re.Pattern[str]:
    return re.compile(r"(?i)example(?:key)?$|abcdefgh|12345678|deadbeef|qwertyui|0123456789|(?-i:\$\{?[A-Z_]{3,}\b)")


# What stands in fixtures and first steps, whole.
_STOCK: Final = re.compile(
    r"(?i)(?:p[a@]ssw[o0]rd|passwd|pass|testing|test|secret|change-?me|dummy|example|fake|foobar)[-_]?\d{0,4}!?"
)
_CALL: Final = re.compile(r"[A-Za-z_][\w.:>?-]*[(\[].*", re.DOTALL)
_DOTTED: Final = re.compile(r"[a-z_]\w*(?:\.\w+)+|\w+(?:(?:::|->)\w+)+")
_PATH: Final = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\].*[/\\].*|~[/\\].*|\.{0,2}/[\w.-]+|.*\.[A-Za-z]{1,5}\d?:\d+.*", re.DOTALL
)
_FILE: Final = re.compile(
    r"[\w./\\~+-]+\.(?:pem|key|crt|cer|p12|pfx|jks|ya?ml|json|toml|txt|py|js|tsx?|go|rs|java|rb|sh|md|env|cfg|conf|ini|xml|html?|sql|log|lock|gpg|asc|pub|internal|local|com|org|net|io|dev|whl|tar|gz|zip|deb|rpm|jar|so|dll|exe|png|jpe?g|svg|gif|pdf)\d?(?:[:/#?].*)?"
)
_HOST: Final = re.compile(
    r"(?:.*\]\(https?:.*|(?!otpauth:)[a-z][a-z0-9+.-]*://[^@]*|[\w.+-]+@[\w.-]+\.[a-z]{2,8}(?:[:/].*)?|[a-z][a-z0-9._-]*@(?:[a-z][a-z0-9-]*|v?[\d.]+)|[\d.:/]+|[\w-]+(?:\.[\w-]+){2,}(?:[:/].*)?)"
)
_SETTING: Final = re.compile(
    r"[A-Z][A-Z_]{2,}=[~$/][\w./${}-]*|[a-z][a-z_]*=(?:[\w.\[\](){}$/#&-]|=)*|[a-z]\w*(?:\.\w+)+=\d*"
)
_PIECE: Final = re.compile(
    r"v?\d{1,10}(?:[a-z]{1,3}|st|nd)?|[A-Za-z]{0,3}\d{1,4}|[A-Za-z]{2,16}\d[A-Za-z]|[A-Z]{1,24}\d{0,4}|[A-Z]?[a-z]{1,24}\d{0,4}|[a-z]*(?:[A-Z]+[a-z]{2,}\d{0,2})+[A-Z]{0,4}\d{0,4}|\d{1,4}[A-Za-z]{1,2}"
)
_CUT: Final = re.compile(r"[-_./\\|:,]+")
_HEX: Final = re.compile(
    r"(?:0x)?[0-9a-fA-F]+(?:-[0-9a-fA-F]+)*|[a-z][a-z0-9]{1,11}-[0-9a-f]{8,20}|[0-9a-f]{32,64}\.[a-z]{0,4}"
)
# What is public by its kind: a contract's or an account's address (a key has 64 digits), the first part of a JWT alone.
_PUBLIC: Final = re.compile(r"0x[0-9a-fA-F]{40}|eyJ(?:hbGciOi|0eXAiOi)[A-Za-z0-9_-]{6,}={0,2}")
_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_COIN: Final = re.compile(rf"[13][{_BASE58}]{{25,33}}")
# What most of a text consists of: words with what is around them, numbers, plain names and paths.
_WORD: Final = re.compile(
    r"\W{0,4}(?:[A-Za-z]{1,15}|[a-z_]{1,60}|[A-Z_]{1,15}|\d{1,8}|[a-z]{1,15}(?:[-_./][a-z]{1,15}){0,8}\d{0,2})\W{0,4}",
    re.ASCII,
)
_SPELLED: Final = re.compile(r"[A-Za-z]\W?\d{2,}\W{0,3}$|\d[A-Za-z]*$")
# In a name such as pvc-<uuid>, and at the end of a sentence.
_UUID: Final = re.compile(r"(?:[a-z]{1,16}-)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\.?")
_SIGNS: Final = re.compile(r"[!#*^?%&$=~(@+)]")
LONG: Final = 20
_DIGEST: Final = 16  # hex digits; fewer are the short id of a commit
_TURNS: Final = 0.25  # of the characters of a random value: a digit beside a letter, a capital behind a small one
_VARIED: Final = 3.2  # bits a character


# Every secret but a seed phrase has a digit, or a sign between letters.
_ODD: Final = re.compile(r"\d|\w[!#*^?%&$=~@+(]+\w|\\")
_MARK: Final = re.compile(r"[\d!#*^?%&$=~@+(\\]")  # one is in all that is odd; found faster
_AROUND: Final = ".,:;()[]{}`'\"*"
RUN: Final = re.compile(r"[^\s\"'`,;<>「」|]{6,}")


_DRAWN: Final = re.compile(r"(?<![A-Za-z0-9_.+/@#|-])[A-Za-z0-9_+.~-]{24,400}={0,2}(?![A-Za-z0-9/])")
_PREFIXED: Final = re.compile(
    r"(?<![A-Za-z0-9_./-])[A-Za-z][A-Za-z0-9]{1,11}_(?:[a-z0-9]{1,8}_)?[A-Za-z0-9]{24,}(?![A-Za-z0-9_.])"
)
_SEALED: Final = 500  # characters of what SOPS writes for one value


@cache
def _keyless_pattern() -> re.Pattern[str]:
    return re.compile(
        r"baf[yk][a-z2-7]{50,}$|(?:price|prod|cus|evt|pi|ch|in|sub|acct|seti|cs|pk|req|txn|pm|file|msg|run|thread|asst|user|org|proj|chatcmpl|toolu|call|snap|job)_|(?:age|bc)1[a-z0-9]{25,62}$"
    )


def is_plain(word: str) -> bool:
    """Tell whether *word* is letters with what stands around them in a sentence."""
    return word.strip(_AROUND).isalpha()


def may_be_odd(text: str) -> bool:
    """Tell whether *text* has what is in all that is odd."""
    return _MARK.search(text) is not None


def is_odd(word: str) -> bool:
    """Tell whether *word* is none of those that most of a text consists of."""
    if word.isalpha() or is_plain(word):
        return False
    return _MARK.search(word) is not None and _ODD.search(word) is not None and _WORD.fullmatch(word) is None


def find_runs(text: str) -> list[tuple[int, int]]:
    """Return where in *text* runs of characters stand that could be secrets, or hold some. A text without an odd word has none."""
    found, place = list[tuple[int, int]](), 0
    for chunk in text.split():  # no run goes beyond a blank
        place = text.find(chunk, place)
        for start, end in _runs[chunk]:
            found.append((place + start, place + end))
        place += len(chunk)
    return found


def list_runs(chunk: str) -> list[tuple[int, int]]:
    """Return where in *chunk*, a text without blanks, runs of characters stand that could be secrets."""
    if not may_be_odd(chunk):
        return []
    return [
        match.span()
        for match in RUN.finditer(chunk)
        if _MARK.search(run := match[0]) and _ODD.search(run) and may_be(run)
    ]


_runs: Final = Memo(list_runs)


def find_drawn(text: str) -> Iterator[re.Match[str]]:
    """Yield what in *text* looks drawn by a machine."""
    for pattern in (_DRAWN, _PREFIXED):
        for match in pattern.finditer(text):
            value, (start, _) = match[0], match.span()
            if text.rfind("ENC[", max(0, start - _SEALED), start) > text.rfind("]", max(0, start - _SEALED), start):
                continue  # encrypted by SOPS
            if is_random(value) and not (
                is_hex(value) or _keyless_pattern().match(value) or is_wordy(value) or is_shown(value)
            ):
                yield match


def is_shown(value: str) -> bool:
    """Tell whether the whole of *value* stands for a secret that is elsewhere: a reference, a placeholder, a mask."""
    return (
        value.lower() in _WEAK
        or _STOCK.fullmatch(value) is not None
        or _shown_pattern().match(value) is not None
        or (_sample_pattern().search(value) is not None and len(value) < 100)
        or _is_filler(value)
        or _PUBLIC.fullmatch(value) is not None
        or (_COIN.fullmatch(value) is not None and _is_address(value))
    )


def _is_address(value: str) -> bool:
    """Tell whether *value* is an address of Bitcoin: its sum is right (Base58Check), which no password's is."""
    number = 0
    for letter in value:
        number = number * 58 + _BASE58.index(letter)
    raw = number.to_bytes(26, "big")[1:]
    return sha256(sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]


def _is_filler(value: str) -> bool:
    """Tell whether *value* is made of the words that people write where a secret would be."""
    if re.search(r"[^A-Za-z0-9_.\- ]", value):
        return False
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", value)]
    return len(words) > 1 and all(word in _FILLERS for word in words)


def is_wordy(value: str) -> bool:
    """Tell whether *value* consists of words, numbers and versions, as names, paths, hosts and calls do."""
    value = value.lstrip("@")
    if _SETTING.fullmatch(value) or _FILE.fullmatch(value):
        return True
    if _HOST.fullmatch(value) or _PATH.fullmatch(value):
        return not any(is_random(part) and not is_hex(part) for part in re.split(r"[/\\.?=&:]", value))
    if _CALL.fullmatch(value):
        called = re.split(r"[(\[]", value, maxsplit=1)[0]
        return _DOTTED.fullmatch(called) is not None or (_is_named(called) and not any(map(str.isdigit, called)))
    return _is_named(value)


def _is_named(value: str) -> bool:
    return all(_PIECE.fullmatch(piece) for piece in _CUT.split(value) if piece)


@lru_cache(maxsize=4096)
def may_be(value: str) -> bool:
    """Tell whether *value* could be a secret at all, whatever stands around it. Cheap, and wrong on the safe side."""
    if (value.isascii() and value.isalpha() and len(value) < _DIGEST) or _WORD.fullmatch(value):
        return False
    if "://" in value and "@" in value:
        return True
    if is_wordy(value):
        return _SPELLED.search(value) is not None
    return not (len(value) < _DIGEST and _HEX.fullmatch(value))


def is_hex(value: str) -> bool:
    """Tell whether *value* looks like a digest or an id, which only its name can tell from a key."""
    return _HEX.fullmatch(value) is not None or _UUID.fullmatch(value) is not None


def is_random(value: str, least: int = LONG) -> bool:
    """Tell whether *value* was drawn by a machine: letters and digits take turns as in no word."""
    bare = re.sub(r"[^A-Za-z0-9]", "", value)
    if (
        len(bare) < least
        or len(value) - len(bare) > len(bare) / 6
        or not 2 <= sum(map(str.isdigit, bare)) < len(bare) - 2
    ):
        return False
    turns = sum(a.isdigit() != b.isdigit() or (a.islower() and b.isupper()) for a, b in pairwise(bare))
    return turns / len(bare) >= _TURNS and entropy(value) >= _VARIED


def is_key(value: str, least: int = 16) -> bool:
    """Tell whether *value*, given to a name that tells of a key, is one."""
    if len(value) < least or not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    if is_hex(value):
        return entropy(value) >= 2.9
    return entropy(value) >= 3 and (is_random(value, least) or not is_wordy(value))


def is_password(value: str, *, is_given: bool) -> bool:
    """Tell whether *value* is a password; less is asked of one that is plainly given to a name."""
    if len(value) < (6 if is_given else 8) or is_wordy(value) or not any(map(str.isalpha, value)):
        return False
    if len(value) < _DIGEST and _HEX.fullmatch(value):
        return False
    kinds = kinds_of(value)
    has_sign = _SIGNS.search(value[1:-1]) is not None or (is_given and _SIGNS.search(value) is not None)
    has_digit = any(map(str.isdigit, value))
    if is_given:
        return kinds >= 2 and (has_sign or has_digit)
    return kinds >= 3 and has_digit and (has_sign or is_random(value, 8))


def kinds_of(value: str) -> int:
    """Return how many there are of small letters, capitals, digits and signs."""
    kinds = (str.islower, str.isupper, str.isdigit, lambda letter: not letter.isalnum())
    return sum(any(map(kind, value)) for kind in kinds)


def entropy(text: str) -> float:
    """Return the Shannon entropy of the characters of *text*, in bits a character."""
    size = len(text)
    return -sum((n / size) * log2(n / size) for n in (text.count(letter) for letter in set(text)))


def is_masked(value: str) -> bool:
    """Tell whether *value* refers to a secret that is elsewhere, or has masks in its place."""
    return _shown_pattern().match(value) is not None or _is_filler(value)


def is_elsewhere(value: str) -> bool:
    """Tell whether *value* is where something lies: a file, a path, a host, a setting or a call."""
    return any(pattern.fullmatch(value) for pattern in (_FILE, _PATH, _HOST, _SETTING, _CALL, _DOTTED))


# What people say about secrets, and where they are: algorithms, formats, products, sizes, ids, names of settings.
@cache
def _technical_pattern() -> re.Pattern[str]:
    return re.compile(
        r"(?i)argon\d?(?:id|i|d)?|[bsy]?crypt\d*|(?:pbkdf|sha|md|aes|base|utf|tls|ssl|rsa|x|blake|uuid|iso|rfc|pkcs|http|oauth|saml|latin|scram|ntlm|ed|ipv?|ldapv?|gpg|fido|cl)[-_]?v?\d+\w*(?:[-_/.]\w+)*|scram(?:-\w+)*"
        r"|k8s|s3|ec2|[hrep]s\d{3}|1password|[a-z]\d{1,2}n|u2f|[2m]fa|zxcvbn|tiktoken|[a-z]{2,9}v\d"
        r"|v?\d+(?:\.\d+)+[a-z]?\d*|\d{4}-\d\d-\d\d|\d+(?:st|nd|rd|th|x|%|k|kb|mb|s|ms|h|d|m|min)"
        r"|\d+-?(?:(?:char(?:acter)?|digit|byte|bit|day|hour|minute|month|year|week|word)s?|(?:zeichen|stellig|tag|caract|carácter|jour|día|dia|cifr)\w{0,4})"
        r"|[\w-]+-(?:\w+ed|\w*(?:sensitive|sensible|specific|readable|compatible|safe)|only|bits?|bytes?|digits?|chars?|characters?|days?|like|free|wide|abhängig|codiert|kodiert|verschlüsselt|gehasht)"
        r"|(?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)|\w*(?:password|credential|secret_|_secret|token|_env|_key)\w*|id_\w+|mm-\w{4,10}|#\d+|#[a-z-]+|(?-i:[A-Z]{2,6}-\d+)"
    )


def is_technical(value: str) -> bool:
    """Tell whether *value* names something technical that stands beside secrets, such as `argon2id` or `12-digit`."""
    return _technical_pattern().fullmatch(value) is not None
