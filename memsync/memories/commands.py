"""What a line for a shell runs: the simple commands in it, without what only starts them. Imports next to nothing: hooks wait for it."""

from __future__ import annotations

from memsync.system.late import late_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

Words = tuple[str, ...]

_LONGEST = 8_192  # characters of a line that are read
_MOST = 32  # commands of a line
_ENDS = frozenset(";&|()\n")
# What runs the command behind it; the second word of those in _RUNNERS says so.
_STARTERS = frozenset("sudo env time nice nohup command exec npx bunx uvx pipx then do else if while until !".split())
_RUNNERS = {
    "uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run", "hatch": "run", "rye": "run", "pixi": "run",
    "bundle": "exec", "pnpm": "exec", "yarn": "exec", "npm": "exec", "mise": "exec", "direnv": "exec",
}  # fmt: skip
_PART = late_pattern(r"""(?s)(?:[^\s;&|()<>'"\\]|\\.|'[^']*(?:'|$)|"(?:\\.|[^"\\])*(?:"|$))+|[;&|()<>\n]""")
_QUOTES = late_pattern(r"""['"]|\\(?=.)""")
_SHELLS = frozenset("sh bash zsh dash python python3 node ruby perl php source .".split())
_WRITERS = frozenset("rm mv cp tee touch truncate patch chmod unlink rmdir ln install".split())
_READERS = frozenset("cat head tail nl less bat sed".split())  # Codex has no other tool to read with
_GIT_WRITERS = frozenset("rm mv restore checkout".split())


def split(line: str) -> list[Words]:
    """Return the simple commands of *line*, in order, each as its words; the body of a here-document is not read."""
    line = line[:_LONGEST]
    at = line.find("<<")
    if at >= 0 and (end := line.find("\n", at)) >= 0:
        line = line[:end]
    commands: list[Words] = []
    words: list[str] = []
    for word in (*_tokens(line), ";"):
        if word not in _ENDS:
            words.append(word)
        elif words:
            commands.append(tuple(words))
            words = []
    return commands[:_MOST]


def _tokens(line: str) -> list[str]:
    """Return words, and of each operator its characters; quotes are taken away."""
    found: list[str] = _PART.findall(line) if line else []
    return [one if one in _ENDS or one in "<>" else _QUOTES.sub("", one) for one in found]


def strip(words: Sequence[str]) -> Words:
    """Return the command *words* without assignments and what only starts it; a module that Python runs counts by its name."""
    rest = [word for word in words if word not in "<>"]
    while rest:
        name = rest[0].removeprefix("./")
        if "=" in name and name.partition("=")[0].isidentifier():
            del rest[0]
        elif name in _STARTERS:
            del rest[0]
            while rest and (rest[0].startswith("-") or rest[0].isdecimal()):
                del rest[0]
        elif _RUNNERS.get(name, "-") in rest[1:2] or (
            name.startswith("python") and rest[1:2] == ["-m"] and len(rest) > 2
        ):
            del rest[:2]
        else:
            return (name, *rest[1:])
    return ()


def fits(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Tell whether the stripped command *words* is the one that *wanted* names, with all of its words, in order."""
    if not (wanted and words and words[0] in _names(wanted[0])) and not (
        wanted and words and wanted[0] in _names(words[0])
    ):
        return False
    rest = iter(words[1:])
    return all(any(one == word or one.startswith(f"{word}=") for one in rest) for word in wanted[1:])


def keys(words: Sequence[str]) -> list[str]:
    """Return under which keys an anchor to the stripped command *words* may stand: its name, alone or with one of its words."""
    plain = [word for word in words[1:9] if not word.startswith("-")]
    return [f"$ {' '.join(pair)}" for name in _names(words[0]) for pair in ((name,), *((name, word) for word in plain))]


def key(wanted: Sequence[str]) -> str:
    """Return the key of an anchor to the stripped command *wanted*."""
    plain = [word for word in wanted[1:] if not word.startswith("-")]
    return f"$ {' '.join((wanted[0], *plain[:1]))}"


def _names(program: str) -> tuple[str, ...]:
    return (program, program.rpartition("/")[2]) if "/" in program else (program,)


def paths(line: str) -> list[str]:
    """Return the files that *line* changes or runs, as it spells them."""
    found: list[str] = []
    for raw in split(line):
        found += [raw[at + 1] for at, word in enumerate(raw[:-1]) if word == ">"]
        words = strip(raw)
        plain = [word for word in words[1:] if not word.startswith("-")]
        if not words:
            continue
        if "/" in words[0]:
            found.append(words[0])
        if words[0] in _SHELLS:
            found += plain[:1]
        elif words[0] in _WRITERS or (words[0] in ("sed", "perl") and any(w.startswith("-i") for w in words[1:])):
            found += plain
        elif words[0] == "git" and words[1:2] and words[1] in _GIT_WRITERS:
            found += plain[1:]
    return list(dict.fromkeys(found))[:_MOST]


def reads(line: str) -> list[str]:
    """Return the files that *line* shows, as it spells them; among them may be numbers and scripts, which name no file."""
    found: list[str] = []
    for words in map(strip, split(line)):
        if words and words[0] in _READERS:
            found += [word for word in words[1:] if not word.startswith("-")]
    return list(dict.fromkeys(found))[:_MOST]
