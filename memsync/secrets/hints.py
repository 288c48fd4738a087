"""What a text has that may tell a secret: stems of telling names, and the words of sentences that tell passwords."""

from __future__ import annotations

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
# Of what one is in each sentence that tells a password without its name: of pairs, and of what is asked for or opened.
PAIR_HINTS: Final = (
    " / ", "login", "logon", "log in", "log on", "logs in", "logged in", "sign in", "signs in", "creds", "credential", "basic auth", "htpasswd", "ipmi", "idrac", "ilo ", " bmc", "einlogg", "anmelden", "zugang", "testkonto",
    "se connecter", "connecte-toi", "identifiants", "compte de", "inicia ", " entra ", "acced", "credenzial", "conta de", "cuenta", "account", "sftp", "ログイン", "認証情報", "管理画面",
)  # fmt: skip
ASKED_HINTS: Final = ("prompts", "prompted", " asks ", "fragt", "demande", " pide", " pida", "pedir", " pede", "chiede", "聞い", "keepass", "unlock", "decrypt", "opens", "s'ouvre", "öffnet", "ouvre ", "apre ", "abre ")  # fmt: skip


class Words(NamedTuple):
    """The lists of sentences.txt."""

    names: tuple[str, ...]
    strict: frozenset[str]
    packed: tuple[str, ...]
    openers: frozenset[str]
    links: frozenset[str]
    changes: frozenset[str]
    changing: tuple[str, ...]
    adverbs: frozenset[str]
    breaks: frozenset[str]
    states: frozenset[str]
    placeholders: frozenset[str]
    common: frozenset[str]
    users: frozenset[str]
    abouts: tuple[str, ...]
    keys: frozenset[str]
    binding: frozenset[str]


@cache
def read_words() -> Words:
    """Return the lists of sentences.txt."""
    lists: list[list[str]] = []
    for line in Path(__file__).with_name("sentences.txt").read_text("utf-8").splitlines():
        if line.startswith("= "):
            lists.append([])
        elif line and not line.startswith("#"):
            lists[-1] += [word.strip() for word in line.split(",") if word.strip()]
    (
        names,
        strict,
        packed,
        openers,
        links,
        changes,
        changing,
        adverbs,
        breaks,
        states,
        placeholders,
        common,
        users,
        abouts,
        keys,
        binding,
    ) = lists
    return Words(
        names=(*names, *strict, *keys), strict=frozenset((*strict, *keys)), packed=tuple(packed), openers=frozenset(openers), links=frozenset(links),
        changes=frozenset(changes), changing=tuple(changing), adverbs=frozenset(adverbs), breaks=frozenset(breaks), states=frozenset(states),
        placeholders=frozenset(placeholders), common=frozenset(common), users=frozenset(users), abouts=tuple(abouts), keys=frozenset(keys), binding=frozenset(binding),
    )  # fmt: skip


@cache
def name_hints() -> tuple[str, ...]:
    """Return of what one is in each text that tells a password behind its name."""
    words = read_words()
    return (
        *(f" {name}" if len(name) < 4 else name for name in words.names),
        *words.packed,
        "ssid",
        "wifi",
        "wi-fi",
        "wlan",
    )


# Words of names that stand in many texts: another word of the name is looked for.
_FREQUENT: Final = frozenset("code session api user root access for the de la in on key pass passe token".split())


def list_hints() -> list[str]:
    """Return of what one is in every text that tells a password, in small letters: words, with a blank where one begins or ends."""
    return [_rarest_word(hint) for hint in (*name_hints(), *PAIR_HINTS, *ASKED_HINTS)]


def _rarest_word(hint: str) -> str:
    words = hint.split()
    if len(words) < 2:
        return hint
    ends = [f" {word} " for word in words[:-1]] + [f" {words[-1]}"]
    return max(ends, key=lambda end: (end.strip() not in _FREQUENT, len(end)))
