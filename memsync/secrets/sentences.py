"""Passwords told in a sentence: "The password for the staging db is …", "use … as the sudo password", "log in with root / …".

What the name of a password is said to be is one, whatever it looks like, unless it is what people say about passwords
("hashed", "argon2id", "12-digit"). Of a value that only stands beside a name, more is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from memsync.secrets.hints import ASKED_HINTS, PAIR_HINTS, name_hints, read_words
from memsync.secrets.values import is_elsewhere, is_masked, is_technical

_FAR: Final = 170  # characters behind a name that are looked at
_MOST: Final = 14  # words of them
_BEFORE: Final = 90  # characters in front of it
_QUOTES: Final = {
    "`": "`",
    '"': '"',
    "'": "'",
    "“": "”",
    "„": "“”",
    "«": "»",
    "「": "」",
    "*": "*",
    "‘": "’",
    "『": "』",
}
_EDGES: Final = ".,:;?()[]{}'\"`*…。、"
_CLAUSE: Final = re.compile(r"[.!?;](?=\s+(?!it[' i]|c'est)|\s*$)|\n|。")
_WORD: Final = re.compile(r"\S+")
_GLUED: Final = re.compile(
    r"[\"'`*)\]}»]{0,3}\s?(?:\([^()\n]{1,30}\)\s?)?(?P<sign>[:：]|(?<=\s)={1,2}(?=\s)|->|=>|→)\s*"
)
_PACKED_GAP: Final = re.compile(r"[^\x21-\x7e\n。、「『]{0,14}(?=[\x21-\x7e「『])[\"'`:=：]?\s?")
_PACKED_VALUE: Final = re.compile(r"[「『]([^」』\n]{4,60})[」』]|([\x21-\x7e]{4,60})")
_PACKED_STATES: Final = re.compile(
    "保存|管理|ハッシュ|哈希|加密|暗号|以上|以下|文字|長さ|长度|期限|存|使用|必要|再設定|リセット"
)
_FIRST: Final = re.compile(
    r"(?:^|(?<=[\s(]))([^\s\"'`「『*(]{4,60}|[\"'`*「『]{1,2}[^\"'`\n」』*]{4,60}[\"'`*」』]{1,2})[\"'`)]?,?\s(is|as|was|ist|als|war|est|comme|es|como|era|è|é|come)\s((?:[\w'.-]+\s){0,5}[\w'.-]*)$"
)
_TYPED: Final = re.compile(
    r"\b(?:type|enter|use|try|gib|tippe|nimm|tape[rz]?|saisi[srt]|utilise[rz]?|digit[ea]|inserisci|escrib[ea]|introduce|usa|usar|insira)\s[\"'`]?([^\s\"'`]{6,60})[\"'`]?\s"
    r"(?:at|when|whenever|if|as|als|wenn|quand|si|cuando|quando|se|comme|como|come)\b[^.\n]{0,50}$"
)
_OPENS: Final = re.compile(
    r"(?<![\w/.-])[\"'`]([^\s\"'`]{6,60})[\"'`]\s(?:unlocks|opens|decrypts|öffnet|entsperrt|ouvre|déverrouille|abre|desbloquea|apre|sblocca)\s"
)
_PACKED_FIRST: Final = re.compile(r"([\x21-\x7e]{6,60})\s?(?:を|が|是|为|は)\s?[^\s\x21-\x7e。、]{0,6}$")
_ASKED: Final = re.compile(
    r"(?:\b(?:prompt(?:s|ed)?|asks?|asked|fragt|demande|pide|pida|pedir|pede|chiede|chieda)\b[^.\n]{0,50}?"
    r"\b(?:type|enter|answer|use|give|say|gib|tippe|nimm|tape[rz]?|saisi[srt]|entre[rz]?|digit[ea]|inserisci|escrib[ea]|pon|introduce|usa|insira)|(?:聞|求め)[^。\n]{0,12}?)"
    r"\s[\"'`]?([^\s\"'`]{6,60})"
)
_OPENED: Final = re.compile(
    r"\b(?:keepass|vault|zip|archive|safe|locker|keychain|pdf|luks|disk|laptop|backup|phone|tablet|tresor|coffre)\b[^.\n]{0,40}?"
    r"\b(?:opens?|unlocks?|unlocked|decrypts?|decrypted|s'ouvre|öffnet)\s(?:with|using|mit|avec)\s[\"'`]?([^\s\"'`]{6,60})"
)
_LOGIN: Final = re.compile(
    r"\blog(?:s|ged|ging)? ?(?:in|on)\b|\bsign(?:s|ed)? in\b|\bcreds\b|credentials|basic auth|htpasswd|\bipmi\b|\bidrac\b|\bilo\b|\bbmc\b|anmelden|einlogg|zugang|testkonto|connecte|connexion"
    r"|identifiants|compte de|\binicia|\bentra\b|\bacced|credencia|credenzial|conta de|cuenta|account|sftp|ログイン|認証情報|管理画面"
)
_PAIR: Final = re.compile(
    r"(?<![\w/.@:-])(?P<user>[\w.+-]{2,40}(?:@[\w.-]{1,40})?)(?P<sign> ?/ ?|:)[\"'`]?(?P<value>[^\s\"'`,;<>/()\[\]{}]{4,60})(?![/(\[])"
)
_WITH: Final = re.compile(
    r"\s(?:as|with|als|mit|en tant que|comme|como|come|con|avec|com)\s[\"'`]?[\w@.-]{2,30}[\"'`]?\s(?:and|with|und|mit|et|avec|y|con|e|com)\s[\"'`]?([^\s\"'`,;<>/]{5,60})"
)
_ENDING: Final = re.compile(
    r".*(?:ed|ing|able|ible|[ai]al|ical|al|ic|ive|ous|ful|less|ory|ary|ent|ant|ly|ment|tion|ity|ness|ised|ized|[sz]iert|lich|bar|los|haft|isch|ig|é|ée|és|ées|[aiu]d[oa]s?|[aiu]t[oaie]|ori[oae]|oire|elle|iel|aire|ari[oa]|ente|ante|ique|iv[oa]|ic[oa]|ável|ível|mente|an[aey]|ova?n[ay])"
    r"|(?:ge|ver|be|er|ab|an|auf|aus|ein|hinter|zurück|vor|um|über|unter)\w+(?:t|en)"
)


@cache
def _name_pattern() -> re.Pattern[str]:

    words = read_words()
    names = sorted(map(re.escape, words.names), key=len, reverse=True)
    packed = "|".join(map(re.escape, words.packed))
    return re.compile(
        rf"(?P<packed>{packed})|(?:ssid|wi-?fi|wlan)\b[^.\n]{{0,40}}?\b(?:key|clé|clave|chiave|chave|schlüssel)\b|(?P<joined>passwort|kennwort|password|passphrase|passcode)(?![\w-])|(?<![^\W_])(?P<name>{'|'.join(names)})(?:s|es)?(?![\w-])"
    )


class _Value(NamedTuple):
    start: int
    end: int
    is_quoted: bool
    is_last: bool  # nothing of its clause follows


def in_sentences(text: str, lower: str) -> Iterator[tuple[str, int, int]]:
    """Yield the rule, begin and end of each password that *text*, *lower* in small letters, tells."""
    spaced = f" {lower} "
    for hints, find in ((name_hints(), _find_named), (ASKED_HINTS, _find_asked), (PAIR_HINTS, _find_pairs)):
        if any(map(spaced.__contains__, hints)):
            yield from (("password", found.start, found.end) for found in find(text, lower))


def _find_named(text: str, lower: str) -> Iterator[_Value]:
    """Yield the passwords that are told around a name."""
    for name in _name_pattern().finditer(lower):
        if name["packed"]:
            found = _find_packed(text, name.start(), name.end())
        else:
            found = _find_behind(text, lower, name) or _find_before(text, lower, name.start())
        if found:
            yield found


def _find_asked(text: str, lower: str) -> Iterator[_Value]:
    """Yield what is to be typed where a program asks, and what opens something."""
    for match in (*_ASKED.finditer(lower), *_OPENED.finditer(lower), *_OPENS.finditer(lower)):
        value = _read_value(text, match.start(1), match.end(1))
        if value and is_odd_password(text[value.start : value.end]):
            yield value


def _find_behind(text: str, lower: str, name: re.Match[str]) -> _Value | None:
    """Return the password that is told behind *name*."""
    end = name.end()
    clause = _CLAUSE.search(lower, end, end + _FAR)
    stop = clause.start() if clause else min(len(lower), end + _FAR)
    called = name["name"] or name["joined"] or ""
    if glued := _GLUED.match(lower, end, stop):
        is_code = text[name.start() - 1 : name.start()] in tuple(".(_[{'\"$") or called.startswith("cred")
        is_plain = glued["sign"] in ":：" and not is_code
        return _judge_told(text, lower, glued.end(), stop, called=called, is_plain=is_plain)
    closing = _CLOSED.match(lower, end, stop)
    tokens = [*_WORD.finditer(lower, closing.end(), stop)][:_MOST] if closing else []
    if tokens and (found := _find_beside(text, name.start(), tokens[0].start(), stop, called)):
        return found
    words = read_words()
    for token in tokens:
        word = token[0].strip("\"'`*()[],")
        if word in words.links or token[0].endswith(":"):
            found = _judge_told(text, lower, token.end(), stop, called=called, is_plain=word not in _LOOSE_LINKS)
        elif word in words.changes and _tells_change(lower, name.start(), stop):
            found = _judge_told(text, lower, token.end(), stop, called=called, is_plain=False)
        elif token is tokens[0] and called in words.strict and word not in words.openers:
            return None
        if found or word in words.breaks or word.startswith(words.abouts):
            return found
    return None


_CLOSED: Final = re.compile(r"[*`\"')\]»]{0,3}(?=\s)")
_LOOSE_LINKS: Final = frozenset(
    "be = == being use using nimmt nimm dient gilt verwende verwenden benutzen utilise utilisons usa usamos usiamo".split()
)


def _tells_change(lower: str, start: int, stop: int) -> bool:
    changing = read_words().changing
    return any(word[0].startswith(changing) for word in _WORD.finditer(lower, max(0, start - 60), stop))


_PAIRED: Final = re.compile(
    r"(?i)\b(?:user|as|login|benutzer|utilisateur|usuario|utente|wi-?fi|wlan|ssid|network|host|account|router|share)\b[^.\n]*?(?:,|\b(?:with|and|mit|und|avec|et|con|y|e)\b)\s(?:the |la |le |das |dem |a )?$"
)


def _find_beside(text: str, start: int, place: int, stop: int, called: str) -> _Value | None:
    """Return the value at *place*, right behind the name at *start*, if it is a password without a word that says so."""
    words, value = read_words(), _read_value(text, place, stop)
    told = text[value.start : value.end] if value else ""
    if value is None or told.lower() in words.links or (called in words.keys and not _is_drawn(told)):
        return None
    is_paired = value.is_last and _PAIRED.search(text, max(0, start - 60), start) is not None
    if value.is_quoted or is_paired:
        return value if is_told_password(told, is_last=True) else None
    is_number = told.isdigit() and 4 <= len(told) <= 12
    is_chosen = value.is_last and (told in words.common or ("-" in told and is_told_password(told, is_last=True)))
    is_one = is_odd_password(told) or is_number or is_chosen
    return value if is_one else None


def _judge_told(text: str, lower: str, place: int, stop: int, *, called: str, is_plain: bool) -> _Value | None:
    """Return the value from *place* on, behind a link and adverbs, if it is a password; one of plain words only with *is_plain*."""
    words = read_words()
    for token in [*_WORD.finditer(lower, place, stop)][:6]:
        value = _read_value(text, token.start(), stop)
        if value and (pair := _PAIR.match(text, value.start, value.end)):
            value = value._replace(start=pair.start("value"))
        if value:
            told = text[value.start : value.end]
            if called in words.keys and not _is_drawn(told):
                return None
            if is_odd_password(told) or (
                (is_plain or value.is_quoted or told.isdigit() or "-" in told)
                and is_told_password(told, is_last=value.is_last)
            ):
                return value
        if token[0].strip("\"'`*()[],:") not in words.adverbs:
            return _read_phrase(text, token.start(), stop) if is_plain else None
    return None


_PHRASE: Final = re.compile(r"[a-z]{3,12}(?: [a-z]{3,12}){2,7}(?=[.,;!?)]|\s*$|\n)", re.MULTILINE)


def _read_phrase(text: str, place: int, stop: int) -> _Value | None:
    """Return the words of a passphrase that begins at *place*: three and more, none of which binds words to a sentence."""
    match = _PHRASE.match(text, place)
    if match is None or match.end() > stop + 1:
        return None
    words, parts = read_words(), match[0].split()
    if any(
        part in words.binding
        or part in words.states
        or part in words.adverbs
        or part in words.openers
        or part in words.breaks
        or part.endswith("ed")
        for part in parts
    ):
        return None
    return _Value(match.start(), match.end(), is_quoted=False, is_last=True)


def _read_value(text: str, place: int, stop: int) -> _Value | None:
    """Return the value that begins at *place*: what is quoted, or a word without what stands around it."""
    closing = _QUOTES.get(text[place : place + 1])
    if closing:
        first = place + (2 if text[place : place + 2] == "**" else 1)
        ends = [at for at in (text.find(sign, first, first + 61) for sign in closing) if at > first]
        if ends:
            return _Value(first, min(ends), is_quoted=True, is_last=True)
    match = _WORD.match(text, place, max(stop, place))
    if match is None or match[0][0] in ")}]|,;=<>&":
        return None
    first, last = place, match.end()
    while first < last and text[first] in "([{'\"`*":
        first += 1
    while last > first and text[last - 1] in _EDGES:
        last -= 1
    last = min(last, text.find("、", first) if "、" in text[first:last] else last)
    rest = text[last : max(last, stop)].lstrip(_EDGES + " ")
    is_last = not rest or text[last : last + 1] in tuple(",.;!?)") or rest.split()[0].lower() in _AFTER
    return _Value(first, last, is_quoted=False, is_last=is_last) if last - first >= 4 else None


_AFTER: Final = frozenset(
    "until till for and on everywhere but since bis für und jusqu'à et pour hasta y para e fino per até".split()
)


# Values of code and of Markdown.
_REFERENCE: Final = re.compile(r"\$\w+.*|.*\]\(.*|.*![ras]|\w+=.*|[\w-]+[<>]=?.*|.*\*\*.*")


def is_told_password(value: str, *, is_last: bool) -> bool:
    """Tell whether *value*, which the name of a password is said to be, is one. *is_last*: nothing follows that it would belong to."""
    words, low = read_words(), value.lower()
    if low in words.states or _is_reference(value.rstrip("!")):
        return False
    if _DIGITS.fullmatch(value):
        return is_last and 4 <= len(value) <= 12
    if is_elsewhere(value) or len(value) < 5 or not any(map(str.isalpha, value)):
        return False
    return any(map(str.isdigit, value)) or (_is_phrase(low) if " " in value else _is_chosen(value, is_last=is_last))


def _is_reference(value: str) -> bool:
    """Tell whether *value* stands for what is elsewhere, or names something that is no password."""
    is_placeholder = value.lower() in read_words().placeholders or is_masked(value)
    return is_placeholder or is_technical(value) or _REFERENCE.fullmatch(value) is not None


def _is_phrase(low: str) -> bool:
    """Tell whether the words *low* are a passphrase and not what is said about one."""
    words, parts = read_words(), low.split()
    known = words.states | words.placeholders | _ABOUT
    return len(parts) >= 2 and all(map(str.isalnum, parts)) and known.isdisjoint(parts)


def _is_chosen(value: str, *, is_last: bool) -> bool:
    """Tell whether *value*, letters and perhaps signs, is one that somebody chose: no ordinary word of such a sentence."""
    words, bare = read_words(), value.rstrip("!")
    low = bare.lower()
    if _SIGNS.search(value):
        return True
    if "-" in bare or "_" in bare:
        return is_last
    if re.search(r"[a-z][A-Z]|[A-Z]{2}[a-z]", bare):
        return len(bare) >= 8 and is_last
    is_known = low in words.adverbs or low in words.breaks or low in words.openers
    return is_last and bare.isalpha() and len(bare) >= 6 and not is_known and not _ENDING.fullmatch(low)


_DIGITS: Final = re.compile(r"\d+|\d{2,6}(?:[- ]\d{2,6}){0,3}[#*]?")
_SIGNS: Final = re.compile(r"\w[!#*^?%&$=~@+]+\w")
_ABOUT: Final = frozenset("must should not be is are your enter least characters too invalid generate key".split())


def is_odd_password(value: str) -> bool:
    """Tell whether *value*, beside the name of a password, is one: it looks like nothing else."""
    if len(value) < 5 or _is_reference(value) or is_elsewhere(value):
        return False
    if any(map(str.isdigit, value)) and any(map(str.isalpha, value)):
        return len(value) >= 6
    if _SIGNED.search(value):
        return True
    return len(value) >= 8 and value.isalpha() and _HUMPS.fullmatch(value) is not None


_SIGNED: Final = re.compile(r"[^\W\d_][!#*^?%&$=~@+]+[^\W\d_]")
_HUMPS: Final = re.compile(r"(?=.*[a-z][A-Z]).*[A-Z]{2}.*")


def _find_before(text: str, lower: str, start: int) -> _Value | None:
    """Return the password of "… is the root password" and "use … as the password"."""
    first = max(0, start - _BEFORE)
    if typed := _TYPED.search(lower, first, start):
        value = _read_value(text, typed.start(1), typed.end(1))
        if value and is_odd_password(text[value.start : value.end]):
            return value
    match = _FIRST.search(text, first, start)
    if match is None or any(
        word in read_words().breaks or word in _NOT_BETWEEN for word in lower[match.start(3) : start].split()
    ):
        return None
    value = _read_value(text, match.start(1), match.end(1))
    if value is None:
        return None
    told, is_as = text[value.start : value.end], match[2] in _AS_WORDS
    is_quoted = value.is_quoted or (is_as and told.isdigit()) or told.count("-") > 1
    return value if is_odd_password(told) or (is_quoted and is_told_password(told, is_last=True)) else None


_NOT_BETWEEN: Final = frozenset("with that user not stored kept in".split())
_AS_WORDS: Final = frozenset("as als comme como come".split())


def _find_packed(text: str, start: int, end: int) -> _Value | None:
    """Return the password that is told around a name in a writing without blanks."""
    gap = _PACKED_GAP.match(text, end)
    if gap is None or _PACKED_STATES.search(gap[0]):
        first = _PACKED_FIRST.search(text, max(0, start - _BEFORE), start)
        value = _read_value(text, first.start(1), first.end(1)) if first else None
        return value if value and is_odd_password(text[value.start : value.end]) else None
    match = _PACKED_VALUE.match(text, gap.end())
    if match is None:
        return None
    if match[1]:
        return (
            _Value(*match.span(1), is_quoted=True, is_last=True)
            if is_told_password(match[1], is_last=True) or not match[1].isascii()
            else None
        )
    value = _read_value(text, gap.end(), match.end())
    told = text[value.start : value.end] if value else ""
    return value if told.strip("#*").isdigit() or is_told_password(told, is_last=False) else None


def _find_pairs(text: str, lower: str) -> Iterator[_Value]:
    """Yield the passwords of pairs such as `root / …`, and of "log in with … and …"."""
    logins = [*_LOGIN.finditer(lower)]
    for pair in _PAIR.finditer(text) if "/" in text or logins else ():
        value = _read_value(text, pair.start("value"), pair.end("value"))
        is_spaced = pair["sign"] == " / "
        is_near = any(_is_near(text, login, pair, is_spaced=is_spaced) for login in logins)
        if value and _is_login(pair["user"], text[value.start : value.end], is_spaced=is_spaced, is_near=is_near):
            yield value
    for login in logins:
        for match in _WITH.finditer(lower, login.end(), login.end() + 60):
            value = _read_value(text, match.start(1), match.end(1))
            if value and is_odd_password(text[value.start : value.end]):
                yield value


def _is_login(user: str, told: str, *, is_spaced: bool, is_near: bool) -> bool:
    """Tell whether *user* and *told* are a name and its password."""
    words, user = read_words(), user.lower()
    if is_odd_password(told) and (is_near or (is_spaced and (user in words.users or "@" in user or is_strong(told)))):
        return True
    is_told = is_near or (is_spaced and told in words.common)
    is_user = user in words.users or (is_spaced and is_near) or "-" in told
    return is_told and is_user and user != told.lower() and is_told_password(told, is_last=True)


def _is_near(text: str, login: re.Match[str], pair: re.Match[str], *, is_spaced: bool) -> bool:
    """Tell whether the word for a *login* stands in the line of *pair*, before it; with blanks around the slash also behind it."""
    if login.end() <= pair.start() <= login.end() + 90:
        return "\n" not in text[login.end() : pair.start()]
    return is_spaced and pair.end() <= login.start() <= pair.end() + 40 and "\n" not in text[pair.end() : login.start()]


def _is_drawn(value: str) -> bool:
    """Tell whether letters and digits take turns in *value* as in no name."""
    return len(re.findall(r"(?<=[A-Za-z])\d|(?<=\d)[A-Za-z]", value)) >= 3 or is_strong(value)


def is_strong(value: str) -> bool:
    """Tell whether *value* is a password by its looks alone: words and numbers that take turns, or signs."""
    return is_odd_password(value) and bool(
        re.search(r"[A-Za-z]\d+[A-Za-z]+\d|[!#*^?%&$=~@+]|[A-Z][a-z]+\d{2,}|[-_][a-z]+[-_]\d", value)
    )
