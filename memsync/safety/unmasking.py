"""What a text says behind a mask: without invisible characters, in plain letters, decoded once, put together again."""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, NamedTuple

from memsync.system.texts import INVISIBLE


class Unmasked(NamedTuple):
    """A text that was found behind a mask. `places` says where in the masked text each of its characters stands."""

    text: str
    places: tuple[tuple[int, int], ...]

    def where(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the masked text the characters from *start* to *end* are."""
        return self.places[start][0], self.places[end - 1][1]


_BLANK: Final = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # are drawn as nothing
_TAGS: Final = 0xE0000  # tag characters spell ASCII behind this
_BETWEEN: Final = re.compile(r"0x|[ :,-]")  # the digits of a run
_PERCENT: Final = re.compile(r"(?:[\w.~+/=:-]|%[0-9A-Fa-f]{2}){12,}")
_ENTITIES: Final = re.compile(r"(?:[\w.~+/=:-]|&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,10});){6,}")
_ESCAPES: Final = re.compile(
    r"(?:[\w.~+/=:-]|\\u[0-9A-Fa-f]{4}|\\[uU]\{?[0-9A-Fa-f]{1,8}\}?|\\x[0-9A-Fa-f]{2}|\\[0-7]{3}){6,}"
)
_PERCENT_SIGN: Final = re.compile("%[0-9A-Fa-f]{2}")
_ENTITY: Final = re.compile("&(?:#\\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,10});")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|[uU]\{?([0-9A-Fa-f]{1,8})\}?|x([0-9A-Fa-f]{2})|([0-7]{3}))")
_HEX: Final = re.compile(r"(?<![0-9A-Za-z])(?:0x)?(?:[0-9A-Fa-f]{2}(?:[ :-]|, ?0x| 0x)?){16,}(?![0-9A-Za-z])")
_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}={0,2}")
_FAR: Final = 300
_TOKEN: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_.=-:")
_MOST: Final = 7  # breaks in one token
_PIECES: Final = re.compile(r"(?:(?<=[\"'`])-)?[A-Za-z0-9/_][A-Za-z0-9+/_.=:-]*")
_BREAK: Final = re.compile(
    r"-?[\"'`]?\s{0,3}[\\\\+.&]?\s{0,3}[\"'`]?|\s{1,3}[\"'`#*>|-]{0,3}\s{0,3}"
    r"|[\"'`]\s?,\s?[\"'`]|\*{1,2}|</?[a-z]{1,6}\s?/?>|<!--[^<>]{0,20}-->"
)


# Beside what is not seen: letters that are read as others, and the controls that count as blanks.
@cache
def _mask_pattern() -> re.Pattern[str]:
    return re.compile(
        f"[{INVISIBLE}\x0b\x0c\x1c-\x1f\x85\ufe0f\u2100-\u214f\u2460-\u24ff\uff00-\uffef\U0001d400-\U0001d7ff]"
    )


def shown(text: str) -> Unmasked | None:
    """Return *text* in the letters that it is read as; None if those are the ones that it is written in."""
    if text.isascii() and text.replace("\n", " ").isprintable():
        return None
    return _unmask(text) if _mask_pattern().search(text) else None


def _unmask(text: str) -> Unmasked:
    from unicodedata import category, normalize

    letters, places = [], []
    for place, letter in enumerate(text):
        code = ord(letter)
        plain = (
            letter if letter <= "~" else chr(code - _TAGS) if _TAGS < code < _TAGS + 0x7F else normalize("NFKC", letter)
        )
        if plain in _BLANK or _is_selector(code) or (category(plain[:1] or "\0")[0] == "C" and plain not in "\t\n\r"):
            continue
        letters.append(plain)
        places += [(place, place + 1)] * len(plain)
    return Unmasked("".join(letters), tuple(places))


def _is_selector(code: int) -> bool:
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180F


def decoded(text: str, *, with_chunks: bool = True) -> Iterator[Unmasked]:
    """Yield what the encoded parts of *text* say when they are decoded once; of whole chunks only *with_chunks*."""
    for sign, letter, pattern, decode in (
        ("%", _PERCENT_SIGN, _PERCENT, from_percent),
        ("&", _ENTITY, _ENTITIES, from_entities),
        ("\\", _ESCAPE, _ESCAPES, from_escapes),
    ):
        if sign in text and letter.search(text):
            yield from _decode_runs(text, pattern, sign, decode)
    if with_chunks:
        yield from _decode_runs(text, _HEX, "", from_hex)
        yield from _decode_runs(text, _BASE64, "", from_base64)


def _decode_runs(text: str, pattern: re.Pattern[str], sign: str, decode: Callable[[str], str]) -> Iterator[Unmasked]:
    """Yield what the runs that *pattern* finds, and that hold *sign*, say when decoded; with what stands before them."""
    for run in pattern.finditer(text):
        said = _read_as_seen(decode(run[0])) if sign in run[0] else ""
        if said and said != run[0] and (sign or said.isascii()):
            first = max(text.rfind("\n", 0, run.start()) + 1, run.start() - 40)
            before = tuple((place, place + 1) for place in range(first, run.start()))
            yield Unmasked(text[first : run.start()] + said, before + (run.span(),) * len(said))


def _read_as_seen(said: str) -> str:
    plain = shown(said)
    return plain.text if plain else said


def from_percent(run: str) -> str:
    """Return *run* with its percent signs decoded."""
    from urllib.parse import unquote

    return unquote(run)


def from_entities(run: str) -> str:
    """Return *run* with its HTML entities decoded."""
    from html import unescape

    return unescape(run)


def from_escapes(run: str) -> str:
    """Return *run* with the backslash escapes of programming languages decoded."""

    def letter(match: re.Match[str]) -> str:
        code = int(match[4], 8) if match[4] else int(match[1] or match[2] or match[3], 16)
        return chr(code) if code <= sys.maxunicode else ""

    return _ESCAPE.sub(letter, run)


def from_hex(run: str) -> str:
    """Return the text that pairs of hexadecimal digits spell; "" if it is not one."""
    digits = _BETWEEN.sub("", run)
    return _as_text(bytes.fromhex(digits)) if len(digits) % 2 == 0 else ""


def from_base64(run: str) -> str:
    """Return the text that *run* is in base64, also where it is packed with gzip or in base64 twice; "" if it is not one."""
    from base64 import b64decode

    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        data = b64decode(body + "=" * (-len(body) % 4))
        text = _as_text(
            zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _UNPACKED) if data[:2] == _GZIP else data
        )
    except (ValueError, zlib.error):
        return ""
    return (from_base64(text.strip()) or text) if _BASE64.fullmatch(text.strip()) else text


_GZIP: Final = b"\x1f\x8b"
_UNPACKED: Final = 65_536  # characters that are looked at


def _as_text(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return text if all(letter.isprintable() or letter in "\r\n\t" for letter in text) else ""


def joined(text: str, place: int) -> Iterator[tuple[Unmasked, int]]:
    """Yield what is around *place*, put together of two pieces, then of three …, and where the last piece begins.

    A plain word is no piece: a broken token goes on as it began.
    """
    start = place
    while start and text[start - 1] in _TOKEN:
        start -= 1
    whole, places = "", list[tuple[int, int]]()
    for count, piece in enumerate(_PIECES.finditer(text, start, start + _FAR)):
        if count > _MOST or (
            count and not (_BREAK.fullmatch(text, places[-1][1], piece.start()) and _goes_on(piece[0]))
        ):
            return
        at = len(whole)
        whole += piece[0]
        places += [(n, n + 1) for n in range(*piece.span())]
        if count:
            yield Unmasked(whole, tuple(places)), at
        if whole.endswith("-") and text[piece.end() : piece.end() + 1] == "\n":
            whole, places = whole[:-1], places[:-1]  # hyphenated


def _goes_on(piece: str) -> bool:
    return not (piece.isalpha() and (piece.islower() or piece.istitle())) and not piece.isdigit()
