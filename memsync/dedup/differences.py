"""What two texts of one frame differ in: in the place of a word, number, unit or name of one the other has another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from memsync.dedup.lexicon import SAME_QUANTIFIERS
from memsync.dedup.reading import CONTENT, Reading, Token, hold, kept, list_words

_FRAME: Final = 0.5  # share of the shorter text's words that both have in the same order
_LONG_FRAME: Final = 0.75  # the same, where it has more than _SHORT
_SHORT: Final = 12
_PLACES: Final = 2  # in which they may differ: more, and one says another thing, or the same in other words
_MOST: Final = 3  # words of content in such a place
_SUBJECT: Final = 2  # words of content that say what a text is about
_LONG: Final = 400


class Difference(NamedTuple):
    """What the new text has in the place of what the old one has."""

    new: str
    old: str
    place: int  # how many words of content the new text has before it


def are_of_one_subject(found: Sequence[Difference]) -> bool:
    """Tell whether two texts that differ in what was *found* speak of the same: else they are like "server a has 2 disks" and "server b has 4"."""
    return len(found) == 1 or found[0].place >= _SUBJECT


def is_one_frame(new: Reading, old: Reading) -> bool:
    """Tell whether two texts have most words in common, in one order."""
    return bool(_align(new, old))


def find_differences(new: Reading, old: Reading) -> tuple[Difference, ...]:
    """Return where *new* has something else than *old*, with which it has the rest in common; nothing if it is no such text."""
    if hold(new) == hold(old) or not (steps := _align(new, old)):
        return ()
    a, b = (_list_tokens(reading) for reading in (new, old))
    same = {token.form for what, i, j, _, _ in steps if what == "equal" for token in a[i:j] if token.kind in CONTENT}
    moved = (hold(new) & hold(old)) - same
    found, named = list[Difference](), set[str]()
    for what, i, j, k, m in steps:
        mine, theirs = _list_content(a[i:j], b[k:m]), _list_content(b[k:m], a[i:j])
        if what == "replace" and mine and theirs and not _say_alike(mine, theirs):
            if max(len(mine), len(theirs)) > _MOST:
                return ()  # in other words
            place = sum(token.kind in CONTENT for token in a[:i])
            found.append(Difference(_spell(mine), _spell(theirs), place))
            named |= {theirs[0].form} if len(theirs) == 1 else set()
    is_in_order = moved <= named  # but for what is named as replaced: "pnpm, because yarn was slow"
    return tuple(found) if is_in_order and len(found) <= min(_PLACES, len(same)) else ()


def _say_alike(mine: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """Tell whether both are words for the same quantity, as "each" and "every"."""
    said = {SAME_QUANTIFIERS.get(token.form, token.form) for token in (*mine, *theirs)}
    return len(said) == 1


def _align(new: Reading, old: Reading) -> Sequence[tuple[str, int, int, int, int]]:
    """Return the steps that make the words of *new* those of *old*; none if they are not of one frame."""
    one, other = list_words(new), list_words(old)
    least = (_FRAME if (shorter := min(len(one), len(other))) <= _SHORT else _LONG_FRAME) * shorter
    if max(len(one), len(other)) > _LONG or len({*one} & {*other}) < _FRAME * shorter:
        return []
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.get_opcodes() if sum(block.size for block in matcher.get_matching_blocks()) >= least else []


@kept
def _list_tokens(reading: Reading) -> tuple[Token, ...]:
    """Return the tokens that `list_words` has the forms of."""
    return tuple([token for token in reading.tokens if token.kind != "article"])


def _list_content(tokens: Sequence[Token], beside: Sequence[Token]) -> list[Token]:
    """Return those of *tokens* that carry meaning, or all of them in the place of a number, as "one" is in that of two."""
    is_number = any(token.kind == "value" for token in beside)
    return [token for token in tokens if token.kind in CONTENT] or [*(tokens if is_number else ())]


def _spell(tokens: list[Token]) -> str:
    return ("" if all(token.kind == "letter" for token in tokens) else " ").join(token.raw for token in tokens)
