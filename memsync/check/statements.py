"""What an instruction file says that can be looked up: paths, links, imports, trees of folders, commands and names. Pure, and in linear steps."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

Kind = Literal["path", "link", "import", "tree", "command", "name", "role", "row"]

_LONGEST: Final = 2_000  # characters of a line that are read
_CODE: Final = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]+)\1(?!`)")
_LINK: Final = re.compile(r"\]\(\s{0,4}<?([^()\s<>]{1,400})>?(?:\s{1,4}\"[^\"]{0,200}\")?\s{0,4}\)")
_DEFINITION: Final = re.compile(r" {0,3}\[[^\]\[]{1,200}\]: {1,4}<?([^\s<>]{1,400})")
_IMPORT: Final = re.compile(r"(?<![\w`@./])@((?:\.{1,2}/)?[\w.-]{1,80}(?:/[\w.-]{1,80}){0,12})")
_IN_PROSE: Final = re.compile(
    r"(?<![\w./@:~$\\*{<%#=-])(?:\.{1,2}/)?[\w.-]{1,80}(?:/[\w.@-]{1,80}){1,12}(?![\w/*{<$(-])"
)
_MARKED: Final = re.compile(r"[`\[/@]")  # a line without is read no further
_DIGIT: Final = re.compile(r"\d")
_FENCE: Final = re.compile(r"\s*(?:>\s*|[-*]\s+)?(`{3,}|~{3,})\s*([\w+-]*)")
_HEADING: Final = re.compile(r"(#{1,6})\s+(.+)")
_BRANCH: Final = re.compile(r"([\s│|]*)(?:[├└]|[|`+](?=-))[─-]{1,3}\s*(\S.*)")
_ENTRY: Final = re.compile(r"[\w.@\[\]()+-]+(?:/[\w.@\[\]()+-]+)*/?")
_INDENTED: Final = re.compile(r"( *)([\w.@\[\]()+-]+(?:/[\w.@\[\]()+-]+)*/?)(?:\s{2,}\S.*|\s+#.*)?")
_LISTS: Final = frozenset(("", "text", "txt", "plaintext", "tree"))
_ROOT: Final = re.compile(r"\s*(\.|[\w.@-]+(?:/[\w.@-]+)*/?)\s*(?:#.*|\(.*)?")
_SHELLS: Final = frozenset("bash sh shell zsh console shellsession terminal fish".split())
_STARTERS: Final = re.compile(r"(?:\$ |> |% )?(?:(?:sudo|time|env) )?(?:[A-Z_][A-Z0-9_]*=\S* )*")
_COMMAND: Final = re.compile(_STARTERS.pattern + r"(?:\./)?[a-z][\w./-]*(?: [^\s=:]|$)")
_CUT: Final = re.compile(r"\s(?:&&|\|\||[;|&])\s|;\s|\s#\s")
_NAME: Final = re.compile(r"[A-Za-z_]\w{2,80}(?:(?:\.|::|#)[A-Za-z_]\w{1,80}){0,4}(?:\(\))?")
MEMBER: Final = re.compile(r"(?<![\w./@:-])([A-Z]\w{2,40})(?:\.|::)([A-Za-z_]\w{2,60})(?![\w*/-]|\.\w)(?:\(\))?")
_HUMP: Final = re.compile(r"[a-z\d]_[a-z\d]|[a-z]{2}[A-Z]|[A-Z]{2}_[A-Z]")
ENDINGS: Final = frozenset(
    "py pyi ts tsx js jsx mjs cjs mts cts go rs rb java kt kts scala swift c h cc cpp hpp cs fs php ex exs erl hs ml lua"
    " sh bash zsh ps1 bat sql graphql proto css scss less html vue svelte astro md mdx rst txt json jsonc json5 jsonl yaml"
    " yml toml ini cfg conf lock xml csv tf nix prisma mdc adoc ipynb gradle properties env plist snap tmpl hbs tex".split()
)
_DOTTED: Final = re.compile(r"\.[a-z][\w-]{2,30}(?:rc|ignore|config|\.[a-z]{2,5}|attributes)$")
_PATH: Final = re.compile(r"(?:\.{0,2}/)?[\w.@+\[\]()~*?-]+(?:/[\w.@+\[\]()~*?-]+)*/?")
_BACKSLASHED: Final = re.compile(r"(?:\.{1,2}\\)*[\w.@-]{2,}(?:\\[\w.@-]+)+")  # as Windows has them
_ACCEPT: Final = re.compile(r"<!--\s*memsync: accept\b(?:\s+because)?\s*(.*?)\s*-->")
_ROLE: Final = re.compile(r"/[a-z][a-z\d]+(?:[-:][a-z\d]+)*|[a-z][a-z\d]{2,}(?:[-:][a-z\d]+)*")
_CALLED: Final = r"(?i:(?:sub-?)?agents?|skills?)"  # right before or behind its name
_ALONE: Final = re.compile(r"\s*(?:#|\||`{3}|~{3}|<)")  # a line that is its own
_BEGIN: Final = re.compile(rf"{_ALONE.pattern}|\s*(?:[-*+>]|\d+[.)])\s|\s*[A-Z]")
_END: Final = re.compile(r"(?<!\be\.g)(?<!\bi\.e)[.!?:;](?=\s|$)")
_PLACE: Final = re.compile(r"(?::\d+(?:-\d+)?(?::\d+)?|#L\d+(?:-L?\d+)?|::[\w:.\[\]-]+)$")

_ENDED: Final = (  # the same in other languages
    r"删除|删掉|已删|移除|废弃|退役|取代|迁[入出至移]|削除|廃止|삭제|제거|удал[её]н|устаре|eliminad[oa]s?\b|removid[oa]s?\b|obsolet|entfernt|gelöscht|veraltet|supprimé"
)
_OVER: Final = re.compile(
    r"(?i)\b(?!(?-i:[A-Z]{3}))(?:no longer|(?:does|do|did|is|was|are|were)(?: not|n't) (?:exist|there|present|tracked|committed)|not exist|removed?|delet\w+|deprecat\w+|formerly|previously|historical\w*|used to be|renam\w+"
    r"|replac\w+|supersed\w+|obsolete|there is no|there are no|is wrong|gone|migrat\w+ (?:from|to)|moved (?:from|to)|instead of|legacy|old|never existed|retired|dropped|archived|split into|merged into|rather than|not `)"
    rf"|~~|{_ENDED}"
)
_OPEN: Final = re.compile(  # the file may be made, or is kept to oneself
    r"(?i)\b(?:creat\w+|generat\w+|writes|written|write (?:to|a|the|it|in)\b|outputs?|saved?|will be|would|planned|future|if (?:it |they |one )?(?:\w+ )?(?:exist|present|available|there)"
    r"|when present|optional\w*|placeholder|git-?ignored?|runtime|user's|users'|new file|temporary|local artifact\w*|not committed|artifact\w*|produc\w+|emit\w*|download\w*|gitignore)"
)
_KEPT: Final = re.compile(
    r"(?i)\bnot (?:in|committed|tracked)\b|git-?ignored?\b|\buntracked\b|generated (?:at|by)|\bat run-?time\b|local-only"
)
_LOOSE: Final = re.compile(  # an example, or a pattern
    r"(?i)\b(?:should be named|e\.g\.|for instance|example\w*|such as|like|template\w*|your|propos\w+|suppose|imagine|hypothetical|adding|add an?|named?|naming|pattern|convention"
    r"|another repo\w*|upstream|sibling repo\w*|~/)"
)
_ASIDE: Final = re.compile(
    r"(?i)example|template|planned|roadmap|future|proposed|migration|changelog|history|deprecated|anti-?pattern|naming|legacy"
    rf"|{_ENDED}"
)
_DENIED: Final = re.compile(
    r"(?i)\b(?:do not|don't|never|avoid|not|no|without|rather than|instead of)\W+(?:\w+\W+){0,3}$"
)


class Statement(NamedTuple):
    """Something that a line says: `said` begins `at` in `row`, is meant to be in `folder`, and stands in the tree `group`."""

    file: str
    line: int
    at: int
    said: str
    kind: Kind
    row: str
    section: str = ""
    folder: str = ""
    group: int = 0
    beside: str = ""  # what its sentence has in the lines before and behind

    @property
    def around(self) -> str:
        """The rest of its line and sentence, which says how it is meant."""
        return self.row[: self.at] + self.row[self.at + len(self.said) :] + self.beside

    def list_places(self, path: str) -> list[str]:
        """Return where *path* may be meant to be, from the root: beside the file, in a folder above it, or where a command is run."""
        above = posixpath.dirname(self.file)
        bases = [posixpath.join(above, self.folder), *([self.folder] if self.folder else [])]
        while above and (self.kind != "link" or path.startswith("/")):  # a site may have its root in any folder
            above = posixpath.dirname(above)
            bases.append(above)
        bases.append(self.file[: max(self.file.find("/."), 0)])  # what has the hidden folder of the file
        bases.append("")
        places = (posixpath.normpath(posixpath.join(base, path.lstrip("/"))) for base in bases)
        return list(dict.fromkeys(place for place in places if not place.startswith("..")))

    @property
    def is_over(self) -> bool:
        """Whether the line says that it was so, or its section is about what is not here."""
        return bool(_OVER.search(self.around) or _ASIDE.search(self.section))

    @property
    def is_meant(self) -> bool:
        """Whether it is said of what is, and not forbidden, over, or an example."""
        return not (self.is_over or _DENIED.search(self.row[: self.at]))

    @property
    def is_open(self) -> bool:
        """Whether it may be made, or is kept to oneself, as the line or its heading says."""
        return bool(_OPEN.search(self.around) or _KEPT.search(self.section.rpartition(" / ")[2]))

    @property
    def is_loose(self) -> bool:
        """Whether it is an example, or a pattern."""
        return bool(_LOOSE.search(self.around))


def read(file: str, text: str) -> list[Statement]:
    """Return what the *text* of *file* says, in its order, without the lines that are accepted for a reason."""
    reader = _Reader(file)
    rows = [row.rstrip("\r")[:_LONGEST] for row in text.split("\n")]
    for number, row in enumerate(rows, 1):
        reader.take(number, row)
    found = [one for one in reader.found if one.line not in reader.accepted]
    beside = {line: _find_sentence(rows, line - 1) for line in {one.line for one in found if not one.group}}
    return [one._replace(beside=beside[one.line]) if beside.get(one.line) else one for one in found]


def _find_sentence(rows: Sequence[str], at: int) -> str:
    """Return what the lines before and behind the one *at* have of the sentences that it ends and begins."""
    before, after = rows[at - 1] if at else "", rows[at + 1] if at + 1 < len(rows) else ""
    is_begun = _BEGIN.match(rows[at]) or not before.strip() or _ALONE.match(before)
    is_ended = _BEGIN.match(after) or not after.strip() or _ALONE.match(rows[at])
    lead = "" if is_begun else _END.split(before)[-1]
    rest = "" if is_ended else _END.split(after)[0]
    return f" {lead} {rest}" if lead or rest else ""


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Statement] = []
        self.accepted: set[int] = set()
        self._fence = self._language = ""
        self._headings: list[str] = []
        self._tree: list[tuple[int, str]] = []
        self._root = ""
        self._group = 0
        self._is_drawn = False
        self._comment = False
        self._folder = ""  # that of a `cd` in a line before, in the same fence

    def take(self, number: int, row: str) -> None:
        """Read one more line."""
        if "<!--" in row and (accepted := _ACCEPT.search(row)) and accepted[1]:
            self.accepted.update((number, number + 1) if row.strip() == accepted[0] else (number,))
        if fence := _FENCE.match(row):
            self._take_fence(number, fence)
        elif self._fence:
            self._take_code(number, row)
        elif self._comment or ("<!--" in row and "-->" not in row):
            self._comment = "-->" not in row
        else:
            if heading := _HEADING.match(row):
                del self._headings[len(heading[1]) - 1 :]
                self._headings.append(heading[2])
            if _DIGIT.search(row):
                self._add(number, 0, "", "row", row)
            if _MARKED.search(row):
                self._take_prose(number, row)

    def _take_fence(self, number: int, fence: re.Match[str]) -> None:
        if not self._fence:
            self._fence, self._language, self._tree = fence[1], fence[2].lower(), []
            self._root, self._group, self._is_drawn, self._folder = "", number, False, ""
        elif fence[1].startswith(self._fence) and not fence[2]:
            self._fence = ""

    def _add(self, number: int, at: int, said: str, kind: Kind, row: str, **more: str | int) -> None:
        self.found.append(Statement(self.file, number, at, said, kind, row, " / ".join(self._headings), **more))  # type: ignore[arg-type]

    def _take_prose(self, number: int, row: str) -> None:
        plain = list(row)
        links = (*_LINK.finditer(row), *filter(None, [_DEFINITION.match(row)]))
        for link in (one for one in links if row.count("`", 0, one.start()) % 2 == 0):  # not in a span of code
            first = max(row.rfind("[", 0, link.start() + 1), 0)
            plain[first : link.end()] = " " * (link.end() - first)
            self._add(number, link.start(1), link[1], "link", row)
        for code in _CODE.finditer("".join(plain)):
            plain[code.start() : code.end()] = " " * len(code[0])
            self._take_span(number, row, code[2].strip(), code.start(2) + len(code[2]) - len(code[2].lstrip()))
        rest = "".join(plain)
        for named in _IMPORT.finditer(rest):
            said = named[1].rstrip(".")
            if said.endswith(".md") or ("/" in said and has_ending(said)):
                self._add(number, named.start(1), said, "import", row)
        if "/" in rest:
            for match in _IN_PROSE.finditer(rest):
                if has_ending(said := match[0].rstrip(".")) and "//" not in said:
                    self._add(number, match.start(), said, "path", row)

    def _take_span(self, number: int, row: str, text: str, at: int) -> None:
        if " " in text or text.startswith("./"):
            if _COMMAND.match(text):
                self._take_command(number, row, text, at)
        elif (looks_like_path(text) and "](" not in text) or (_BACKSLASHED.fullmatch(text) and has_ending(text)):
            self._add(number, at, text, "path", row)
        elif _NAME.fullmatch(text) and (_HUMP.search(text) or text.endswith("()") or MEMBER.fullmatch(text)):
            self._add(number, at, text, "name", row)
        elif _ROLE.fullmatch(text) and (text[0] == "/" or _is_called(row[:at], row[at + len(text) :])):
            self._add(number, at, text, "role", row)

    def _take_code(self, number: int, row: str) -> None:
        if branch := _BRANCH.match(row):
            self._take_entry(number, row, branch)
        elif self._language in _SHELLS or row.startswith("$ "):
            text = row.strip()
            if not text.startswith("#") and _COMMAND.match(text):
                self._take_command(number, row, text, row.find(text))
        elif self._language not in _LISTS:
            for member in MEMBER.finditer(row):
                self._add(number, member.start(), member[0], "name", row)
        elif not self._is_drawn:
            self._take_indented(number, row)

    def _take_indented(self, number: int, row: str) -> None:
        if not self._tree and (root := _ROOT.fullmatch(row)):
            self._root = root[1].strip("/")
        if (entry := _INDENTED.fullmatch(row)) and ("/" in entry[2] or has_ending(entry[2])):
            self._add_entry(number, row, len(entry[1]), entry[2], "")

    def _take_entry(self, number: int, row: str, branch: re.Match[str]) -> None:
        if not self._is_drawn:  # what stood above the first branch is its root
            self.found = [one for one in self.found if one.group != self._group]
            self._is_drawn, self._tree = True, []
        entry = _ENTRY.match(branch[2])
        rest = branch[2][entry.end() :] if entry else ""
        is_name = entry and (not rest or rest[0] in " \t#") and entry[0].count("[") == entry[0].count("]")
        name = entry[0] if entry and is_name else ""
        self._add_entry(number, row, len(branch[1]), name, self._root)

    def _add_entry(self, number: int, row: str, column: int, name: str, root: str) -> None:
        """Note an entry of a tree: its folder is that of the last entries that stand further left."""
        while self._tree and self._tree[-1][0] >= column:
            self._tree.pop()
        folder = "/".join(part for _, part in self._tree)
        is_known = all(part for _, part in self._tree)
        if name and is_known:
            self._add(number, row.find(name), name, "tree", row, folder=f"{root}\0{folder}", group=self._group)
        self._tree.append((column, name.rstrip("/")))

    def _take_command(self, number: int, row: str, text: str, at: int) -> None:
        folder, end = self._folder if self._fence else "", 0
        for cut in (*_CUT.finditer(text), None):
            part = text[end : cut.start() if cut else len(text)]
            lead = _STARTERS.match(part.lstrip())
            skipped = len(part) - len(part.lstrip()) + (lead.end() if lead else 0)
            words = part[skipped:].split()
            if words[:1] == ["cd"] and len(words) == 2:
                folder = f"{folder}/{words[1]}".strip("/") if words[1][0] not in "/~$-<" else "?"
                self._folder = folder if part == text and folder != "?" else ""
            elif words and folder != "?":
                self._add(number, at + end + skipped, part[skipped:].rstrip(), "command", row, folder=folder)
            end = cut.end() if cut else 0
            if cut and "#" in cut[0]:
                break


def _is_called(before: str, after: str) -> bool:
    return bool(re.search(rf"\b{_CALLED}\W{{1,4}}$", before) or re.match(rf"\W{{1,4}}{_CALLED}\b", after))


def has_ending(path: str) -> bool:
    """Tell whether the last part of *path* has the ending of a text that people keep in a repository."""
    name = path.rpartition("/")[2]
    return "." in name.lstrip(".") and name.rpartition(".")[2].lower() in ENDINGS


def looks_like_path(text: str) -> bool:
    """Tell whether a span of code is a path: it has a slash, or an ending as files have it."""
    bare = cut_place(text)
    if not _PATH.fullmatch(bare) or "..." in bare or "//" in bare or bare.startswith("@"):
        return False
    is_folder = "/" in bare.strip("/") or (bare.endswith("/") and len(bare) > 2)
    return is_folder or has_ending(bare) or bool(_DOTTED.match(bare))


def cut_place(text: str) -> str:
    """Return the path in *text* without the line, or the test, that it names in the file."""
    return _PLACE.sub("", text)
