"""What a text has that may tell a secret: stems of telling names, and the words of sentences that tell passwords."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

# Names, lower-cased. Beside "password" in other languages: what teams write into their settings and notes.
_PASSWORDS: Final = (
    "pass kennwort losungswort zugangsdaten pwd mdp contraseña contrasena clave senha parola palabra_de_paso wachtwoord hasło"
    " haslo пароль паролем пароля 密码 密碼 口令 パスワード 暗証番号 비밀번호 암호 şifre sifre lösenord losenord adgangskode salasana heslo _pw jelszó"
    " jelszo parolă лозинка סיסמה मुकुट คำผ่าน รหัสผ่าน katasandi securestring credential creds"
).split()
_PHRASES: Final = [
    "mot de passe",
    "parola d'ordine",
    "mật khẩu",
    "kata sandi",
    "كلمة المرور",
    "palabra de paso",
    "code d'accès",
]
_KEYS: Final = (
    "secret token key bearer hmac salt auth psk cipher seed jwt geheim schlüssel ключ токен секрет 密钥 密鑰 秘钥 令牌 トークン 秘密鍵 キー 토큰"
    " 비밀키 clé chiave chave segreto segredo"
).split()
STEMS: Final = tuple(
    dict.fromkeys([*((stem, True) for stem in (*_PASSWORDS, *_PHRASES)), *((stem, False) for stem in _KEYS)])
)


class Words(NamedTuple):
    """The lists of sentences.txt, in their order."""

    names: frozenset[str]  # with those of the next two
    strict: frozenset[str]
    keys: frozenset[str]
    loose: frozenset[str]
    packed: frozenset[str]
    codes: frozenset[str]
    doors: frozenset[str]
    openers: frozenset[str]
    changes: frozenset[str]
    changing: tuple[str, ...]
    entering: frozenset[str]
    after: frozenset[str]
    states: frozenset[str]
    placeholders: frozenset[str]
    common: frozenset[str]
    users: frozenset[str]
    numbered: frozenset[str]
    abouts: tuple[str, ...]
    others: tuple[str, ...]
    binding: frozenset[str]
    logins: frozenset[str]
    locks: frozenset[str]
    asking: frozenset[str]
    steps: dict[str, str]  # each word of the other lists, and which list


@cache
def read_words() -> Words:
    """Return the lists of sentences.txt."""
    lists: dict[str, tuple[str, ...]] = {}
    for part in Path(__file__).with_name("sentences.txt").read_text("utf-8").split("\n= ")[1:]:
        head, _, body = part.partition("\n")
        lists[head.partition(":")[0]] = tuple(filter(None, map(str.strip, body.replace("\n", ",").split(","))))
    lists["strict"] += lists["loose"]
    lists["names"] += lists["strict"] + lists["keys"]
    steps = {word: step for step in _STEPS for word in lists[step]}
    begins = {name: lists[name] for name in ("changing", "abouts", "others")}
    return Words(**{name: frozenset(lists[name]) for name in Words._fields[:-1]} | begins, steps=steps)  # type: ignore[arg-type]


_STEPS: Final = ("resuming", "articles", "places", "adverbs", "giving", "links", "breaks")  # the last of a word counts


@cache
def known_words() -> frozenset[str]:
    """Return the words that belong to sentences such as these, which nobody's password is."""
    words = read_words()
    known = (words.openers, words.changes, words.changing, words.entering, words.after)
    return frozenset(words.steps).union(*known, words.states, words.placeholders, words.binding) - words.common


@cache
def _list_cues() -> tuple[str, ...]:
    """Return the words around which passwords are told: names of them, logins, and what opens or asks; or a pair of both."""
    words = read_words()
    names = words.names | words.codes | words.packed | {"ssid", "wlan", "wi-fi", "wifi"}
    return (*names, *words.logins, *words.locks, *words.asking, " / ")


def may_tell(lower: str) -> bool:
    """Tell whether a text, *lower* in small letters, has a whole cue, and not only a chunk that is in one."""
    return any(cue in lower for cue in _list_cues())


def list_hints() -> Iterator[str]:
    """Yield of what one is in a chunk of each text that may tell a password: words, with a blank where one begins or ends."""
    for hint in (*map(str.strip, _list_cues()), "token="):
        *before, end = hint.split()
        ends = [f" {end}", f"({end}"] if len(end) < _SHORT and hint.isascii() else [end]
        best = max((*map(" {} ".format, before), ends[0]), key=lambda end: (end.strip() not in _FREQUENT, len(end)))
        yield from ends if best == ends[0] else [best]


_SHORT: Final = 6  # letters, which also stand within other words
# Words that stand in many texts: another word of the hint is looked for.
_FREQUENT: Final = frozenset(
    "word client secret code session api user root access for the de la in on key pass passe token with use into http se des com".split()
)
