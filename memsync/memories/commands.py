"""What a line for a shell runs: the simple commands in it, without what only starts them. Imports next to nothing: hooks wait for it."""

from __future__ import annotations

import re
from collections.abc import Sequence

Words = tuple[str, ...]

_LONGEST = 8_192  # characters of a line that are read, the bodies of here-documents aside
_MOST = 32  # commands of a line
_DEEPEST = 4  # texts for a shell in texts for a shell
_ENDS = frozenset(";&|()`\n")
# What runs the command behind it: its options that take the next word, and how many words it takes itself.
_STARTERS = {
    **dict.fromkeys("npx bunx uvx pipx then do else if elif while until ! { } setsid nohup command builtin coproc".split(), ("", 0)),
    **dict.fromkeys("chronic unbuffer stdbuf caffeinate".split(), ("ioetw", 0)),
    **dict.fromkeys("sudo doas".split(), ("ugpCDhRrtTU", 0)),
    **dict.fromkeys("taskset chrt faketime function".split(), ("", 1)),
    "env": ("uC", 0), "time": ("fo", 0), "nice": ("n", 0), "ionice": ("cn", 0), "exec": ("a", 0), "strace": ("oepP", 0),
    "timeout": ("ks", 1), "flock": ("wE", 1), "chroot": ("", 1),
}  # fmt: skip
_VALUED = frozenset(
    "--user --group --signal --kill-after --adjustment --chdir --unset --host --interval --jobs".split()
)
# Which hand a command to a shell, or run it themselves, with what they take before it.
_RUNNING = {
    "xargs": ("IdEaLnPs", 0), "watch": ("n", 0), "parallel": ("jPNIdLn", 0), "ssh": ("bcDEeFIiJLlmOopQRSWw", 1), "eval": ("", 0), "trap": ("", 0),
}  # fmt: skip
_EXECUTING = frozenset(("-exec", "-execdir", "-ok", "-okdir"))  # of find
_TAKING_TEXT = frozenset("sh bash zsh dash ksh ash fish su script pwsh powershell".split())
# What runs the command behind it; the second word says so.
_RUNNERS = {
    "uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run", "hatch": "run", "rye": "run", "pixi": "run",
    "bundle": "exec", "pnpm": "exec", "yarn": "exec", "npm": "exec", "mise": "exec", "direnv": "exec",
}  # fmt: skip
_PART = re.compile(
    r"""(?s)(?<![^\s;&|()])\#[^\n]*|(?:[^\s;&|()<>`'"\\]|\\.|'[^']*(?:'|$)|"(?:\\.|[^"\\])*(?:"|$))+|<<<|<<-?|[;&|()<>`\n]"""
)
_QUOTED = re.compile(r"""(?s)'([^']*)'?|"((?:\\.|[^"\\])*)"?|\\(.)""")
_ESCAPED = re.compile(r"""\\([\\"$`])""")
_DOUBLE = re.compile(r"""(?s)'[^']*'|"((?:\\.|[^"\\])*)""")
_SHELLS = frozenset("sh bash zsh dash python python3 node ruby perl php source .".split())
_WRITERS = frozenset("rm mv cp tee touch truncate patch chmod unlink rmdir ln install".split())
_READERS = frozenset("cat head tail nl less bat sed".split())  # Codex has no other tool to read with
_GIT_WRITERS = frozenset("rm mv restore checkout".split())


class _Simple:
    """One simple command: its words, what it reads in the line itself, and the command whose output is piped into it."""

    def __init__(self, before: _Simple | None = None) -> None:
        self.words: list[str] = []
        self.read = ""  # the body of a here-document, or a here-string
        self.inner: list[str] = []  # what is run to make its words
        self.before = before


def split(line: str) -> list[Words]:
    """Return the simple commands of *line*, in order, each as its words, and behind each what it has a shell run.

    Comments and the bodies of here-documents are not read, unless a shell does.
    """
    return _split(line, _DEEPEST)


def _split(line: str, depth: int) -> list[Words]:
    found: list[Words] = []
    for one in _read(line):
        found.append(tuple(one.words))
        if depth and len(found) < _MOST:
            for text in (*one.inner, *_find_handed(one)):
                found += _split(text, depth - 1)
    return found[:_MOST]


def _read(line: str) -> list[_Simple]:
    """Return the simple commands of *line* as they stand there; what a here-document says belongs to the command that reads it."""
    line = line.replace("\\\r\n", "").replace("\\\n", "")
    reader, at, left = _Reader(), 0, _LONGEST
    while left > 0 and (match := _PART.search(line, at, at + left)):
        left -= match.end() - at
        at = match.end()
        if match[0] in _ENDS:
            reader.end(match[0])
            at = reader.take_bodies(line, at) if match[0] == "\n" else at
        elif match[0][0] != "#":
            reader.take(match[0])
    reader.end(";")
    return reader.found


class _Reader:
    """What was read of a line: its commands, the one that is being read, and the here-documents that follow the line."""

    def __init__(self) -> None:
        self.found: list[_Simple] = []
        self._now = _Simple()
        self._operator = ""
        self._bodies: list[tuple[_Simple, str]] = []

    def end(self, operator: str) -> None:
        """End the command that is being read."""
        before = self._now if self._now.words else None
        if before:
            self.found.append(before)
        self._now = _Simple(before if operator == "|" else None)

    def take(self, part: str) -> None:
        """Take a word, or an operator that belongs to the next one."""
        if part.startswith("<<"):
            self._operator = part
        elif self._operator == "<<<":
            self._now.read, self._operator = _unquote(part), ""
        elif self._operator:
            self._bodies.append((self._now, _unquote(part)))
            self._operator = ""
        else:
            self._now.words.append(_unquote(part))
            self._now.inner += _find_substituted(part) if '"' in part else ()

    def take_bodies(self, line: str, at: int) -> int:
        """Give each command its here-document, the first of which begins at *at*, and return where the last one ends."""
        for command, word in self._bodies:
            start = at
            while at < len(line):
                end = line.find("\n", at)
                end = len(line) if end < 0 else end
                row, last, at = line[at:end].strip(), at, end + 1
                if row == word:
                    command.read = line[start:last]
                    break
            else:
                command.read = line[start:]
        self._bodies.clear()
        return at


def _unquote(token: str) -> str:
    if not ("'" in token or '"' in token or "\\" in token):
        return token
    return _QUOTED.sub(lambda found: found[1] or _ESCAPED.sub(r"\1", found[2] or "") or found[3] or "", token)


def _find_substituted(token: str) -> list[str]:
    found: list[str] = []
    for match in _DOUBLE.finditer(token):
        inner = (match[1] or "").replace("\\$", "").replace("\\`", "")
        found += [part.rpartition(")")[0] or part for part in inner.split("$(")[1:]]
        found += inner.split("`")[1::2]
    return found


def _find_handed(one: _Simple) -> list[str]:
    words = strip([word for at, word in enumerate(one.words) if at == 0 or one.words[at - 1] not in ("<", ">")])
    name = words[0].rpartition("/")[2] if words else ""
    if name == "find":
        return [_join(words[at + 1 :]) for at, word in enumerate(words) if word in _EXECUTING]
    if name in _RUNNING:
        rest = list(words[1:])
        _drop_options(rest, *_RUNNING[name])
        rest = rest[: rest.index(":::")] if ":::" in rest else rest
        if name != "ssh" or (rest and not _is_shell_alone(rest)):
            return [_join(rest) if name == "xargs" or (name == "parallel" and rest[1:]) else " ".join(rest)]
        return [one.read, *_find_said(one.before)]
    return _find_script(words, one) if name in _TAKING_TEXT else []


def _find_script(words: Sequence[str], one: _Simple) -> list[str]:
    """Return what the shell *words* runs: the text that it is given, or what it reads."""
    for at, word in enumerate(words[1:-1], 1):
        if word in ("--command", "-Command") or (word[:1] == "-" and word[1:2] != "-" and word.endswith("c")):
            return [words[at + 1]]
    return [one.read, *_find_said(one.before)] if _is_shell_alone(words) else []


def _find_said(one: _Simple | None) -> list[str]:
    """Return what the command *one* certainly prints."""
    if one is None or one.words[0] not in ("echo", "printf", "cat"):
        return []
    return [one.read, " ".join(one.words[1:]).replace("\\n", "\n")]


def _is_shell_alone(words: Sequence[str]) -> bool:
    rest = [word for word in words[1:] if not (word.startswith("-") or word.isdecimal())]
    return words[0].rpartition("/")[2] in _TAKING_TEXT and not rest


def _join(words: Sequence[str]) -> str:
    return " ".join(f"'{word}'" if "'" not in word else '"' + word.replace('"', '\\"') + '"' for word in words)


def strip(words: Sequence[str]) -> Words:
    """Return the command *words* without assignments and what only starts it; a module that Python runs counts by its name."""
    rest = [word for word in words if word not in ("<", ">")]
    while rest:
        name = rest[0].removeprefix("./")
        if "=" in name and name.partition("=")[0].isidentifier():
            del rest[0]
        elif (starter := name.rpartition("/")[2]) in _STARTERS:
            del rest[0]
            _drop_options(rest, *_STARTERS[starter])
        elif _RUNNERS.get(name) in rest[1:2] or (name.startswith("python") and rest[1:2] == ["-m"] and len(rest) > 2):
            del rest[:2]
        else:
            return (name, *rest[1:])
    return ()


def _drop_options(rest: list[str], valued: str, own: int) -> None:
    """Take the options at the beginning of *rest* away, those of the letters *valued* with the next word, and *own* words behind."""
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--":
            break
        at = min((option.find(letter, 1) for letter in valued if letter in option[1:]), default=-1)
        is_last = not option.startswith("--") and at == len(option) - 1
        if option in _VALUED or (is_last and at > 0):
            del rest[:1]
    del rest[:own]


def fits(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Tell whether the stripped command *words* is the one that *wanted* names, with all of its words, in order."""
    if not (wanted and words and words[0] in _names(wanted[0])) and not (
        wanted and words and wanted[0] in _names(words[0])
    ):
        return False
    own = list(words[1:])
    if wanted[0] == "git":  # `git stash push` is not `git push`
        _drop_options(own, "Cc", 0)
        if wanted[1:] and wanted[1][:1] != "-" and own[:1] != [wanted[1]]:
            return False
    rest = iter(own)
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
