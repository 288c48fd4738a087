"""Passwords told in a sentence: "The password for the staging db is …", "use … as the sudo password", "log in with root / …".

Two judgements, whatever the wording. `weigh` says how much a value looks like something that a person chose, and like
nothing else. The frame, which is read word by word from the name of a password on, says how much is asked for: right
behind "is" an ordinary word is enough, and further on only what looks like nothing else. The words are in sentences.txt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import Final, NamedTuple

from memsync.safety.hints import known_words, read_words
from memsync.safety.values import is_elsewhere, is_masked, is_shown, is_technical

# How much a value looks like a password, and how much a frame asks for.
_WORD, _PLAIN, _CHOSEN, _MIXED, _STRONG, _NEVER = range(1, 7)
_FAR: Final = 170  # characters behind a name that are looked at
_MOST: Final = 18  # words of them
_BEFORE: Final = 90  # characters in front of it
_LINE: Final = 110  # characters around the word for a login or a lock
_LONG: Final = 14  # letters, which few ordinary words have
_QUOTES: Final = {"`": "`", '"': '"', "'": "'", "“": "”", "„": "“”", "«": "»", "「": "」", "*": "*", "‘": "’", "『": "』"}  # fmt: skip
_EDGES: Final = ".,:;?()[]{}'\"`*…。、"
_AROUND: Final = "\"'`*()[]{},.;?!…«»„“”"
_ENDS: Final = (".", "!", "?", ";", "。")
_CLAUSE: Final = re.compile(r"[.!?;](?=\s|$)|\n|。")
_TOKEN: Final = re.compile(r"\S+")
_GLUED: Final = re.compile(
    r"[\"'`*)\]}»]{0,3}\s?(?:\([^()\n]{1,30}\)\s?)?(?P<sign>[:：]|(?<=\s)={1,2}(?=\s)|=(?=[\"'\w])|->|=>|→|['’]s(?=\s))\s*"
)
_CLOSED: Final = re.compile(r"[*`\"')\]»,?!.;]{0,3}(?=\s)")
_PAIRED: Final = re.compile(
    r"\b(?:user(?:name)?|as|login|benutzer\w*|utilisateur|usuario|usuário|utente|wi-?fi|wlan|ssid|network|host|account|router|share|make|set|choose)\b[^.\n]*?(?:,|\b(?:with|and|mit|und|avec|et|con|y|e|make|set|choose|[\w.-]{2,20})\b)\s(?:the |la |le |das |dem |a )?$"
)
_PACKED_GAP: Final = re.compile(r"[^\x21-\x7e\n。、「『]{0,14}(?=[\x21-\x7e「『])[\"'`:=：]?\s?")
_PACKED_VALUE: Final = re.compile(r"[「『]([^」』\n]{4,60})[」』]|([\x21-\x7e]{4,60})")
_PACKED_FIRST: Final = re.compile(r"([\x21-\x7e]{6,60})\s?(?:を|が|是|为|は)\s?[^\s\x21-\x7e。、]{0,6}$")
_FIRST: Final = re.compile(
    r"(?:^|(?<=[\s(]))([^\s\"'`「『*(]{4,60}|[\"'`*「『]{1,2}[^\"'`\n」』*]{4,60}[\"'`*」』]{1,2})[\"'`)]?,?\s(is|as|was|for|ist|als|war|für|est|comme|pour|es|como|era|para|è|é|come|per)\s((?:[\w'.-]+\s){0,5}[\w'.-]*)$"
)
_ENDING: Final = re.compile(
    r".*(?:ed|ing|able|ible|[ai]al|ical|al|ic|ive|ous|ful|less|ory|ary|ent|ant|ly|ment|tion|ity|ness|ised|ized|written|given|taken|broken|chosen|hidden|shown|known|built|made|[sz]iert|lich|bar|los|haft|isch|ig|é|ée|és|ées|[aiu]d[oa]s?|[aiu]t[oaie]|ori[oae]|oire|elle|iel|aire|ari[oa]|ente|ante|ique|iv[oa]|ic[oa]|ável|ível|mente|an[aey]|ova?n[ay])"
    r"|(?:ge|ver|be|er|ab|an|auf|aus|ein|hinter|zurück|vor|um|über|unter)\w+(?:t|en)"
)
_DONE: Final = re.compile(
    r".*(?:ed|ing|[sz]iert|[ai]d[oa]s?|[aiu]t[oaie]|é|ée|és|ées)|(?:ge|ver|be|er|ab|an|auf|aus|ein|hinter|unter)\w+(?:t|en)"
)
_PHRASE: Final = re.compile(r"[^\W\d_]{2,14}(?: [^\W_]{1,14}){1,7}(?=[.,;!?)]|\s*$|\n)", re.MULTILINE)
# Values of code and of Markdown.
_REFERENCE: Final = re.compile(r"\$\w+.*|.*\]\(.*|.*![ras]|\w+=.*|[\w-]+[<>]=?.*|.*\*\*.*")
_SPELLED: Final = re.compile(r"(?:[^\W_][ -]){4,}[^\W_](?!\w)")
_DIGITS: Final = re.compile(r"\d{4,24}|\d{1,6}(?:[- ]\d{1,6}){1,3}[#*]?|\d{4,8}[#*]")
_YEAR: Final = re.compile(r"(?:19|20)\d\d|\d{4}-\d\d(?:-\d\d)?")
_SIGNED: Final = re.compile(r"[^\W_][!#*^?%&$~@]+[^\W_]|\d[+=]+[^\W_]|[^\W_][+=]+\d|^(?=.*\d)[^\W_]+[-_\w]*[!$%&*]+$")
_TURNS: Final = re.compile(
    r"[A-Za-z]\d+[A-Za-z]+\d|[a-zA-Z][013567][a-z]{2}|[^\W\d_]{4,}\d{2,}$|^\d+[a-z]{5,}$|[^\W\d_]{4,}\d+[^\W\d_]{3,}|^[A-Z][a-z]{4,}_\d+$"
)
_IDENTIFIER: Final = re.compile(
    r"[A-Z]{2,}\d{1,2}|[0-9a-f]{7,12}|.*[-_]v\d+|.*:v?\d+\.\d.*|([a-z]+)2\1|[a-z]+[-_]id\d?"
)
_NUMBERED: Final = re.compile(r"([^\W\d_]+)[-_]?[\d.]+[a-z]?")


_PAIR: Final = re.compile(
    r"(?<![\w/.@:-])(?:(?i:\b(?:as|with|using|used?|usa|als|mit|nimm|en tant que|comme|como|come|con|avec|com)\s|[:,]\s|\()[\"'`]?(?P<with>[\w@.-]{2,30})[\"'`]?(?:,|\s(?:and|with|&|\+|und|mit|et|avec|y|con|e|com|using|puis))(?:\sthen|\sdann|\sluego|\sdepois|\spoi)?\s"
    r"|(?P<name>\w+[.@_][\w@.-]{1,30}) (?:with|using|mit|avec|con|com) (?:the )?"
    r"|(?P<user>[\w.+-]{2,40}(?:@[\w.-]{1,40})?)(?P<sign>/| / |:))[\"'`]?(?P<value>[^\s\"'`,;<>/()\[\]{}|]{4,60})(?![/(\[])"
)
_OPENING: Final = ("eingeben", "unlocks", "opens", "entsperrt", "öffnet", "ouvre", "abre", "apre")


class _Value(NamedTuple):
    start: int
    end: int
    is_quoted: bool
    is_last: bool  # nothing of its clause follows


def _any_of(words: frozenset[str]) -> str:
    """Return an expression for any of *words*, the longest that fits, which tells at the first letter where none begins."""
    begun = dict[str, list[str]]()
    for word in sorted(words, key=lambda word: (-len(word), word)):
        begun.setdefault(word[0], []).append(re.escape(word[1:]))
    return "|".join(f"{re.escape(letter)}(?:{'|'.join(rest)})" for letter, rest in begun.items())


@cache
def _cue_pattern() -> re.Pattern[str]:
    """Return an expression for the names of passwords, the words for a login, and those that something opens with or is asked with."""
    words = read_words()
    codes, doors = _any_of(words.codes), _any_of(words.doors)
    return re.compile(
        rf"(?P<packed>{_any_of(words.packed)})|(?P<joined>passwort|kennwort|password|passphrase|passcode)(?![\w-])|(?<![^\W_])(?:"
        rf"(?P<name>{_any_of(words.names)})(?:s|es)?(?![\w-])|(?:ssid|wi-?fi|wlan)\b[^.\n]{{0,40}}?\b(?:key|clé|clave|chiave|chave|schlüssel)\b"
        rf"|(?:{codes})\b(?=[^.\n]{{0,25}}?\b(?:{doors})(?!\w))|(?:{doors})(?: \w{{1,4}})?[ -]?(?:{codes})(?!\w)"
        rf"|(?P<opens>{_any_of(words.locks)})|(?P<asks>(?:{_any_of(words.asking)})\b|{_any_of(words.logins)}))"
    )


@cache
def _login_pattern() -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{_any_of(read_words().logins)})")


def in_sentences(text: str, lower: str) -> Iterator[tuple[str, int, int]]:
    """Yield the rule, begin and end of each password that *text*, *lower* in small letters, tells."""
    cues = [*_cue_pattern().finditer(lower)]
    found = [value for cue in cues if not (cue["opens"] or cue["asks"]) and (value := _find_told(text, lower, cue))]
    found += _find_pairs(text, lower) if cues or " / " in text else ()
    found += [value for cue in cues if (value := _find_entered(text, lower, cue))]
    return (("password", start, end) for start, end, *_ in found)


def _find_told(text: str, lower: str, name: re.Match[str]) -> _Value | None:
    """Return the password that is told around *name*."""
    if name["packed"]:
        value = _find_packed(text, name.start(), name.end())
        is_key = name["packed"] in read_words().keys
        return None if is_key and value and not _is_drawn(text[value.start : value.end]) else value
    return _find_behind(text, lower, name) or _find_before(text, lower, name)


class _Asked(NamedTuple):
    """How much a value must look like a password: `least` here, and not less than `floor` anywhere from here on."""

    least: int
    floor: int
    is_near: bool = False  # a word has told that something is given
    is_new: bool = False  # another sentence begins, which the value must be alone


def _find_behind(text: str, lower: str, name: re.Match[str]) -> _Value | None:
    """Return the password that is told behind *name*, which is read word by word."""
    words, called, limit = read_words(), name["name"] or name[0], min(len(lower), name.end() + _FAR)
    least, place = _begin(text, lower, name, limit)
    is_new = least == _MIXED and lower[place - 1].isspace()
    asked = _Asked(least, _MIXED if is_new or called in words.loose else _WORD, is_new=is_new)
    is_strict = called in words.strict and _GLUED.match(lower, name.end(), limit) is None
    changes = words.changes if _tells_change(lower, name.start(), limit) else frozenset[str]()
    for count, token in enumerate(islice(_TOKEN.finditer(lower, place, limit), _MOST if place else 0)):
        between, word = lower[place : token.start()], token[0].strip(_AROUND).rstrip(":")
        if "\n" in between and (between.count("\n") > 1 or asked.least > _PLAIN):
            return None
        may_be_phrase = not is_strict and asked.least <= (_WORD if count else _PLAIN)
        if found := _read_told(text, token.start(), limit, asked, called, may_be_phrase=may_be_phrase):
            return found
        if (is_strict and word.startswith(words.abouts)) or (count < 2 and word.startswith(words.others)):
            return None
        asked = _go_on(asked, token[0], word, changes, is_strict=is_strict, is_loose=called in words.loose)
        place, is_strict = token.end(), False
    return None


def _go_on(asked: _Asked, token: str, word: str, changes: frozenset[str], *, is_strict: bool, is_loose: bool) -> _Asked:
    """Return what is asked behind *token*, whose bare *word* it is."""
    words, has_colon = read_words(), token.endswith((":", "：", "="))
    step = words.steps.get(word, "")
    is_odd = is_strict and step in ("", "places", "resuming") and word not in words.openers
    if asked.is_new:
        is_resumed, is_given = step in ("links", "adverbs"), has_colon or step in ("resuming", "giving")
        least = _PLAIN if is_given else asked.least if is_resumed else _NEVER
        return _Asked(least, max(_CHOSEN, _MIXED * is_loose) if least < _NEVER else _NEVER)
    if token.endswith(_ENDS):
        return asked._replace(least=_MIXED, floor=max(asked.floor, _MIXED), is_new=True)
    if has_colon or step == "links":
        floor = min(asked.floor, _MIXED) if has_colon else asked.floor
        return asked._replace(least=_WORD, floor=max(floor, _CHOSEN * is_odd), is_near=True)
    if step == "breaks" or is_odd:
        return _Asked(_STRONG, _NEVER if is_loose else _STRONG)
    return asked._replace(least=_CHOSEN) if word in changes else _go_past(asked, word, step)


def _go_past(asked: _Asked, word: str, step: str) -> _Asked:
    """Return what is asked behind a *word* that neither ends a sentence nor says what is what."""
    if step == "giving" or (step == "articles" and asked.least <= _PLAIN):
        return asked._replace(least=_PLAIN, is_near=True)
    if step == "adverbs":
        return asked
    if asked.least == _WORD and _DONE.fullmatch(word) and not word.startswith(read_words().changing):
        return _Asked(_STRONG, _STRONG)
    is_near = asked.is_near or asked.least == _CHOSEN
    return asked._replace(least=_NEVER if step == "places" else _MIXED if is_near else _STRONG)


def _begin(text: str, lower: str, name: re.Match[str], limit: int) -> tuple[int, int]:
    """Return what *name* and the signs behind it ask for, and where the words begin; 0 and 0 if none may follow."""
    end = name.end()
    if glued := _GLUED.match(lower, end, limit):
        is_code = text[name.start() - 1 : name.start()] in tuple(".(_[{'\"$") or name[0].startswith("cred")
        is_set = glued["sign"] == "=" and glued.end() == glued.end("sign")
        return _MIXED if is_set else _WORD if glued["sign"] in ":：" and not is_code else _PLAIN, glued.end()
    closing = _CLOSED.match(lower, end, limit)
    if closing is None:
        return 0, 0
    if not {*_ENDS}.isdisjoint(closing[0]):
        return _MIXED, closing.end() + 1
    if _PAIRED.search(lower, max(0, name.start() - 60), name.start()):
        return _WORD, closing.end()
    return _NEVER if name["name"] in read_words().loose else _CHOSEN, closing.end()


def _read_told(text: str, place: int, limit: int, asked: _Asked, called: str, *, may_be_phrase: bool) -> _Value | None:
    """Return the password at *place*, if it is enough of one."""
    if text.startswith("[[", place):  # a link to another memory
        return None
    value, least = _read_value(text, place, limit), max(asked.least, asked.floor)
    if value and least <= _PLAIN and (pair := _USER.match(text, *value[:2])):
        value = value._replace(start=pair.end())
    told = text[value.start : value.end] if value else ""
    if called in read_words().keys:
        is_last = (asked.least == _WORD or text[place - 1] == "=") and value is not None and value.is_last
        is_chosen = is_last and _KEY.fullmatch(told) and weigh(told) >= _MIXED and not _names_counted(told)
        return value if (is_chosen or (asked.least < _NEVER and _is_drawn(told))) and not is_shown(told) else None
    if value is None or (asked.is_new and _ALONE.match(text, value.end) is None):
        return None
    is_last = value.is_last or (least == _CHOSEN and told.isdigit())
    is_enough = weigh(told, is_last=is_last, is_quoted=value.is_quoted) >= least
    return value if is_enough else _read_phrase(text, place, limit) if may_be_phrase and least <= _PLAIN else None


_KEY: Final = re.compile(r"[^\s\"'{}:,;/\\.]{9,}")  # no part of JSON, no file, and not as short as a name
_USER: Final = re.compile(r"[\w.+-]{2,40}(?:@[\w.-]{1,40})?(?: ?/ ?|:)(?=[^\s/])(?!(?:19|20)\d\d(?!\S))")
_ALONE: Final = re.compile(r"[\"'`*.,!)]*\s*(?:$|\n)")


def _tells_change(lower: str, start: int, stop: int) -> bool:
    changing = read_words().changing
    return any(word[0].startswith(changing) for word in _TOKEN.finditer(lower, max(0, start - 60), stop))


def _read_phrase(text: str, place: int, stop: int) -> _Value | None:
    """Return the words of a passphrase that begins at *place*, none of which binds words to a sentence."""
    match = _PHRASE.match(text, place)
    if match is None or match.end() > stop + 1:
        return None
    words, parts = read_words(), match[0].lower().split()
    numbers = [at for at, part in enumerate(parts) if part.isdigit()]
    known = known_words().intersection(parts)
    is_pair = len(parts) == 2
    if (
        parts[0] in words.states
        or numbers not in ([], [len(parts) - 1], [1, len(parts) - 1])
        or len(known) > (len(parts) > 3)
        or not words.binding.isdisjoint(parts)
        or any(part.endswith(("ed", "iert")) or is_technical(part) for part in parts)
        or (
            is_pair
            and any(len(part) < 4 or not part.isalpha() or _is_ordinary(part, is_quoted=False) for part in parts)
        )
    ):
        return None
    return _Value(*match.span(), is_quoted=False, is_last=True)


def _read_value(text: str, place: int, stop: int) -> _Value | None:
    """Return the value that begins at *place*: what is quoted, or a word without what stands around it."""
    while text[place : place + 1] in ("(", "["):
        place += 1
    closing = _QUOTES.get(text[place : place + 1])
    if closing:
        first = place + (2 if text[place : place + 2] == "**" else 1)
        ends = [at for at in (text.find(sign, first, first + 61) for sign in closing) if at > first]
        if ends:
            return _Value(first, min(ends), is_quoted=True, is_last=True)
    if spelled := _SPELLED.match(text, place, max(stop, place)):
        return _Value(*spelled.span(), is_quoted=True, is_last=True)
    match = _TOKEN.match(text, place, max(stop, place))
    if match is None or match[0][0] in ")}]|,;=<>&":
        return None
    first, last = place, match.end()
    while first < last and text[first] in "([{'\"`*":
        first += 1
    while last > first and text[last - 1] in _EDGES and not (text[last - 1] == "*" and text[last - 2].isdigit()):
        last -= 1
    last = min(last, text.find("、", first) if "、" in text[first:last] else last)
    rest = text[last : max(last, stop)].lstrip(_EDGES + " ").split(maxsplit=1)
    is_last = (
        not rest
        or text[last : last + 1] in tuple(",.;!?)\n")
        or rest[0].lower() in read_words().after
        or rest[0].startswith("|")  # a table's cell ends there too
    )
    return _Value(first, last, is_quoted=False, is_last=is_last) if last - first >= 4 else None


@lru_cache(maxsize=4096)
def weigh(value: str, *, is_last: bool = True, is_quoted: bool = False) -> int:
    """Return how much *value* looks like a password that a person chose: 0 not at all, 1 as any word, 5 as nothing else.

    *is_last*: nothing follows that it would belong to.
    """
    low = value.lower()
    is_word = value.isalpha() and value[1:].islower()
    if len(value) < 4 or (is_word and (not is_last or low in known_words())) or _is_reference(value):
        return 0
    if _DIGITS.fullmatch(value) and sum(map(str.isdigit, value)) >= 4:
        return (_WORD if _YEAR.fullmatch(value) else _CHOSEN) if is_last else 0
    if is_elsewhere(value) or _PATH.fullmatch(value) or not any(map(str.isalpha, value)):
        return 0
    if " " in value:
        return _STRONG if _SPELLED.fullmatch(value) else _CHOSEN * _is_phrase(low)
    if any(map(str.isdigit, value)) and len(value) > 4:
        return _weigh_mixed(value, low)
    is_odd = _SIGNED.search(value) is not None
    return _STRONG if is_odd else _weigh_letters(value, is_last=is_last, is_quoted=is_quoted)


_PATH: Final = re.compile(r"[\w.@-]+(?:/[\w.@{}-]*)+")


def _weigh_mixed(value: str, low: str) -> int:
    """Weigh a *value* with letters and digits."""
    if len(value) < 6:
        return _PLAIN
    if (match := _NUMBERED.fullmatch(low)) and _names_counted(match[1]):
        return _PLAIN
    if _SIGNED.search(value):
        return _STRONG
    if _IDENTIFIER.fullmatch(value):
        return _PLAIN
    return _MIXED if _names_counted(value) or not _TURNS.search(value) else _STRONG


def _names_counted(value: str) -> bool:
    """Tell whether a word of *value* is one for things that are counted, such as servers and versions."""
    words = read_words()
    return not (words.numbered | words.states).isdisjoint(re.findall(r"[a-z]+", value.lower()))


def _weigh_letters(value: str, *, is_last: bool, is_quoted: bool) -> int:
    """Weigh a *value* without a digit."""
    bare = value.rstrip("!")
    low = bare.lower()
    if not is_last or len(bare) < 5:
        return 0
    if low in read_words().common or "-" in bare or "_" in bare:
        is_name = re.fullmatch(r"[a-z]+(?:_[a-z]+)+", bare)  # as functions have
        return _PLAIN if is_name else _CHOSEN * read_words().placeholders.isdisjoint(re.split("[-_]", low))
    if re.search(r"[a-z][A-Z]|[A-Z]{2}[a-z]", bare):
        return _PLAIN if len(bare) >= 8 else 0
    if not bare.isalpha() or len(bare) < 6 or low in known_words() or _is_ordinary(bare, is_quoted=is_quoted):
        return 0
    return _CHOSEN if is_quoted else _WORD


def _is_ordinary(bare: str, *, is_quoted: bool) -> bool:
    """Tell whether *bare* ends as the words do that say how something is."""
    return not is_quoted and len(bare) < _LONG and _ENDING.fullmatch(bare.lower()) is not None


def _is_reference(value: str) -> bool:
    """Tell whether *value* stands for what is elsewhere, or names something that is no password."""
    words, low, value = read_words(), value.lower(), value.rstrip("!?+")
    if low in words.states or low in words.placeholders or value[:1] in ("", "-", "_", "?") or value[-1] == "_":
        return True
    return (
        is_masked(value)
        or any(map(is_technical, (value, *value.split("-"))))
        or _REFERENCE.fullmatch(value) is not None
    )


def _is_phrase(low: str) -> bool:
    """Tell whether the words *low* are a passphrase and not what is said about one."""
    words, parts = read_words(), low.split()
    if (
        len(parts) < 2
        or not all(map(str.isalnum, parts))
        or not _ABOUT.isdisjoint(parts)
        or any(map(is_technical, parts))
    ):
        return False
    return len((words.states | words.placeholders).intersection(parts)) <= (len(parts) > 2)


_ABOUT: Final = frozenset("must should not be is are your enter least characters too invalid generate key".split())


def is_odd_password(value: str) -> bool:
    """Tell whether *value*, beside the name of a password, is one: it looks like nothing else."""
    return weigh(value) >= _MIXED


def _find_before(text: str, lower: str, name: re.Match[str]) -> _Value | None:
    """Return the password of "… is the root password" and "use … as the password"."""
    words, first = read_words(), _clause_start(lower, name.start(), _BEFORE)
    match, follows = _FIRST.search(text, first, name.start()), _TOKEN.match(lower, name.end() + 1)
    if match is None or (follows and follows[0].startswith(words.abouts)):
        return None
    if any(
        words.steps.get(word) == "breaks" or word in _NOT_BETWEEN
        for word in lower[match.start(3) : name.start()].split()
    ):
        return None
    value, told, is_as = _read_value(text, *match.span(1)), match[1], match[2] in _AS_WORDS
    is_plain = (value and value.is_quoted) or (is_as and told.isdigit()) or told.count("-") > 1
    least = _CHOSEN if is_plain else _MIXED
    return value if value and weigh(text[value.start : value.end], is_quoted=value.is_quoted) >= least else None


def _clause_start(lower: str, place: int, most: int) -> int:
    first = max(0, place - most)
    return max([first, *(clause.end() for clause in _CLAUSE.finditer(lower, first, place))])


_NOT_BETWEEN: Final = frozenset("with that user not stored kept in".split())
_AS_WORDS: Final = frozenset("as als comme como come".split())


def _find_packed(text: str, start: int, end: int) -> _Value | None:
    """Return the password that is told around a name in a writing without blanks."""
    gap = _PACKED_GAP.match(text, end)
    if gap is None:
        first = _PACKED_FIRST.search(text, max(0, start - _BEFORE), start)
        value = _read_value(text, first.start(1), first.end(1)) if first else None
        return value if value and is_odd_password(text[value.start : value.end]) else None
    match = _PACKED_VALUE.match(text, gap.end())
    if match is None:
        return None
    if match[1]:
        is_one = weigh(match[1], is_quoted=True) or not match[1].isascii()
        return _Value(*match.span(1), is_quoted=True, is_last=True) if is_one else None
    value = _read_value(text, gap.end(), match.end())
    told = text[value.start : value.end] if value else ""
    return value if told.strip("#*").isdigit() or weigh(told, is_last=False) > _PLAIN else None


def _find_pairs(text: str, lower: str) -> Iterator[_Value]:
    """Yield the passwords of pairs such as `root / …`, and of "log in with … and …"."""
    logins = [*_login_pattern().finditer(lower)]
    for pair in _PAIR.finditer(text) if logins or " / " in text else ():
        value, user, sign = (
            _read_value(text, *pair.span("value")),
            pair["user"] or pair["name"] or pair["with"],
            pair["sign"] or "",
        )
        is_near = any(_is_near(text, login, pair, is_spaced=sign not in ("/", ":")) for login in logins)
        if value and _is_login(user, text[value.start : value.end], sign, is_near=is_near):
            yield value


def _is_login(user: str, told: str, sign: str, *, is_near: bool) -> bool:
    """Tell whether *user* and *told* are a name and its password, with *sign* between."""
    words, weight, is_spaced, low = read_words(), weigh(told), sign == " / ", user.lower()
    is_user = low in words.users or "@" in user
    is_word = not is_user and (low in known_words() or (not sign and user.isupper()))
    if low == told.lower() or is_word or not weight:
        return False
    if is_near:
        return weight >= _MIXED or (sign != "" and (is_user or (weight >= _CHOSEN and ("-" in told or is_spaced))))
    return is_spaced and (_is_drawn(told) or (is_user and (weight >= _MIXED or told in words.common)))


def _is_near(text: str, login: re.Match[str], pair: re.Match[str], *, is_spaced: bool) -> bool:
    """Tell whether the word for a *login* stands in the line of *pair*, before it; with blanks around its sign also behind it."""
    if login.start() <= pair.start("value") <= login.end() + _LINE:
        return "\n" not in text[login.end() : pair.start()]
    return is_spaced and pair.end() <= login.start() <= pair.end() + 40 and "\n" not in text[pair.end() : login.start()]


def _is_drawn(value: str) -> bool:
    """Tell whether letters and digits take turns in *value* as in no name."""
    if re.search(r"[/\\:.]", value):
        return False
    return len(re.findall(r"(?<=[A-Za-z])\d|(?<=\d)[A-Za-z]", value)) >= 3 or weigh(value) == _STRONG


def _find_entered(text: str, lower: str, cue: re.Match[str]) -> _Value | None:
    """Return what is to be typed where a program asks, or opens something, around *cue*."""
    words, opens, before = read_words(), cue["opens"] is not None, ""
    first, last = _clause_start(lower, cue.start(), _LINE), min(len(lower), cue.end() + _LINE)
    if stop := _CLAUSE.search(lower, cue.end(), last + 1):
        last = min(last, stop.start())
    for token in _TOKEN.finditer(lower, first, last):
        is_entered = before in words.entering or (before.endswith(":") and opens)
        if is_entered or lower.startswith(_OPENING, token.end() + 1):
            value = _read_value(text, token.start(), last)
            told = text[value.start : value.end] if value else " "
            is_named = not opens and cue["asks"] is None and token.start() < cue.start()
            is_plain = value and (told[0].isdigit() or value.is_quoted) and (opens or is_named)
            least = _CHOSEN if is_plain else _MIXED if is_named or "sudo" in lower[first:last] else _STRONG
            if value and " " not in told and weigh(told) >= least:
                return value
        before = token[0].strip(_AROUND)
    return _find_odd(text, first, last)


def _find_odd(text: str, first: int, last: int) -> _Value | None:
    """Return what looks like a password and like nothing else, from *first* to *last*."""
    for token in _TOKEN.finditer(text, first, last):
        value = _read_value(text, token.start(), last) if _ODD.match(token[0]) else None
        told = text[value.start : value.end] if value else ""
        if weigh(told) == _STRONG and not is_shown(told):
            return value
    return None


# A capital, a small letter and a digit, all Latin, and more than a word with a number.
_ODD: Final = re.compile(r"(?=.*[A-Z])(?=.*[a-z])(?=.*\d)(?![^\W\d_]+\d+$)[!-<>-\u024f]+$")
