"""Numbers of terms: the same in every process and version, or no cache fits any more."""

from __future__ import annotations

import subprocess
import sys

from memsync.index.terms import term_key


def test_the_number_of_a_term_is_the_same_in_every_process():
    script = "from memsync.index.terms import term_key; print(term_key('café'), term_key('=src/a.py'))"
    seeded = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert seeded == {f"{term_key('café')} {term_key('=src/a.py')}\n"}


def test_terms_that_look_alike_have_numbers_of_their_own():
    terms = [f"{head}{n}{tail}" for head in ("", "=", "ab", "ba") for n in range(5000) for tail in ("", "x", "é")]
    keys = {term_key(term) for term in terms}
    assert (len(keys), max(keys) < 2**64) == (len(terms), True)


def test_a_term_and_its_mirror_image_and_a_lone_surrogate_have_numbers():
    assert len({term_key("abc"), term_key("cba"), term_key("\ud800"), term_key("")}) == 4
