"""Passwords told in ordinary sentences, of seven languages and more, and sentences about passwords that tell none."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from memsync.safety import secrets

_TOLD, _INNOCENT = (
    part.splitlines()[1:]
    for part in Path(__file__).parents[2].joinpath("told_passwords.txt").read_text("utf-8").split("\n= ")[1:]
)
_PHRASINGS: Final = (
    "The password for the test broker is {}",
    "the staging password is {}, log in with it",
    "The wifi passphrase in the workshop is {}",
    "login with root/{}",
    "log in with admin/{}",
    "the PIN of the vault is {}",
    "the password stays {} until Friday",
    "le mot de passe de la base de test est {}",
    "the db user is app with the password {}",
    "das Passwort für den Testserver lautet {}",
    "la contraseña del servidor es {}",
)
_VALUES: Final = (
    "Sommer2026",
    "qwerty123",
    "k8sRocks4ever",
    "Tr0ub4dor" + "&3",
    "eYYXwSLQcWtx",
    "maple7river31",
    "Kettle77Lamp",
    "letmein",
    "correcthorsebattery",
    "blue-Horse-93-lamp",
    "green-Otter-41-cable",
    "482913",
)


def test_nearly_every_sentence_that_tells_a_password_is_found():
    missed = [text for text in _TOLD if not secrets.scan(text)]
    assert len(missed) <= 0.02 * len(_TOLD), missed


def test_no_sentence_about_passwords_that_tells_none_is_flagged():
    assert [text for text in _INNOCENT if secrets.scan(text)] == []


@pytest.mark.parametrize("phrasing", _PHRASINGS)
def test_a_password_is_found_whatever_it_looks_like(phrasing):
    assert [value for value in _VALUES if not secrets.scan(phrasing.format(value))] == []


@pytest.mark.parametrize(
    "text", ["The password for the broker is maple7river31, log in with it", "log in with root / maple7river31"]
)
def test_only_the_password_itself_is_taken_out(text):
    assert secrets.redact(text) == text.replace("maple7river31", "[password, 13 characters]")
