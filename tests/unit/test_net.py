"""Which key goes to which server, how often a busy one is asked, and what a message may show."""

from __future__ import annotations

import math

import pytest

from memsync import net

VENDOR, OWN = "sk-vendor-0123456789", "own-0123456789"


def key_for(url: str, **env: str) -> str:
    return net.choose_key(url, env, own="MEMSYNC_LLM_KEY", vendor="OPENAI").key


@pytest.mark.parametrize(
    ("url", "gets_it"),
    [
        ("https://api.openai.com/v1", True),
        ("http://127.0.0.1:11434/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://localhost/v1", True),
        ("https://gateway.example.org/v1", True),
        ("https://gateway.example.org/v1/team", True),
        ("https://gateway.example.org/v10", False),
        ("https://gateway.example.org.evil.example/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("http://api.openai.com/v1", False),
        ("https://localhost.evil.example/v1", False),
        ("https://10.0.0.7/v1", False),
        ("https://evil.example/api.openai.com/v1", False),
    ],
)
def test_the_key_of_a_vendor_goes_to_the_vendor_to_where_the_environment_points_and_to_this_machine(url, gets_it):
    env = {"OPENAI_API_KEY": VENDOR, "OPENAI_BASE_URL": "https://gateway.example.org/v1/"}
    assert key_for(url, **env) == (VENDOR if gets_it else "")
    assert key_for(url, **env, MEMSYNC_LLM_KEY=f" {OWN} ") == OWN


@pytest.mark.parametrize("key", ["sk-ä", "sk\nX-Header: 1"])
def test_a_key_that_would_break_the_request_is_refused_and_not_repeated(key):
    with pytest.raises(ValueError, match="has a character that no key has") as caught:
        key_for("https://api.openai.com/v1", OPENAI_API_KEY=key)
    assert key not in str(caught.value)


def test_a_server_shows_no_key():
    server = net.choose_key("http://localhost/v1", {"MEMSYNC_LLM_KEY": OWN}, own="MEMSYNC_LLM_KEY", vendor="OPENAI")
    assert OWN not in repr(server)


def test_every_spelling_of_an_address_is_one_address():
    spelled = ("http://h:1/v1", "http://h:1/v1/", "HTTP://H:1/v1", " http://h:1/v1 ")
    assert {net.clean_url(text, "the URL", "KEY") for text in spelled} == {"http://h:1/v1"}
    assert net.clean_url("http://[::1]:9/v1", "the URL", "KEY") == "http://[::1]:9/v1"


@pytest.mark.parametrize(
    "text",
    [
        *("", "h/v1", "ftp://h/v1", "http://", "http://[::1", "http://h:port/", "http://h/\u200bv1", "http://h/a b"),
        *("http://user:hunter2@h/v1", "http://hunter2@h/v1", "http://h/v1?key=hunter2", "http://h/v1#hunter2"),
    ],
)
def test_what_is_no_address_is_refused_by_its_name_and_not_repeated(text):
    with pytest.raises(ValueError, match=r"llm\.base_url") as caught:
        net.clean_url(text, "llm.base_url", "KEY")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "said", [f"bad key {OWN}", f"bad\u200b key own-\u200b{OWN[4:]}", f"{'x' * 190} {OWN}", f"{OWN}{OWN}\n\x1b[31m"]
)
def test_what_a_server_says_is_shown_on_one_line_without_the_key(said):
    shown = net.redact(said, OWN)
    assert OWN not in shown
    assert OWN[:9] not in shown
    assert (shown.isprintable(), len(shown) <= 200) == (True, True)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_read(headers, wait):
    assert net.parse_wait(headers) == wait


def ask_busy(waits: list[float | None], **limits: float) -> tuple[int, list[float]]:
    """Ask a server that is busy once for each of *waits*; return how often it was asked, and the pauses."""
    now, slept, asked = [0.0], [], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    def ask(seconds: float) -> None:
        asked.append(seconds)
        if len(asked) <= len(waits):
            raise net.Busy("busy", waits[len(asked) - 1])

    bounds = {"until": 10.0, **limits}
    try:
        net.ask_again(ask, (1.0, 2.0), sleep=sleep, clock=lambda: now[0], **bounds)
    except net.Busy:
        return -len(asked), slept
    return len(asked), slept


@pytest.mark.parametrize(
    ("waits", "limits", "outcome"),
    [
        ([], {}, (1, [])),
        ([None, None], {}, (3, [1.0, 2.0])),
        ([4.0, None], {}, (3, [4.0, 2.0])),
        ([None] * 3, {}, (-3, [1.0, 2.0])),
        ([10.0], {}, (-1, [])),
        ([4.0], {"longest": 3.0}, (-1, [])),
        ([None, None], {"until": 2.0}, (-2, [1.0])),
    ],
)
def test_a_busy_server_is_asked_once_more_for_each_pause_and_never_beyond_the_time(waits, limits, outcome):
    assert ask_busy(waits, **limits) == outcome


def test_each_request_gets_no_more_than_its_own_time_or_what_is_left():
    given: list[float] = []
    net.ask_again(given.append, (), until=5.0, each=3.0, sleep=given.append, clock=lambda: 0.0)
    net.ask_again(given.append, (), until=5.0, each=math.inf, sleep=given.append, clock=lambda: 4.0)
    net.ask_again(given.append, (), until=5.0, sleep=given.append, clock=lambda: 9.0)
    assert given[:2] == [3.0, 1.0]
    assert 0 < given[2] < 0.1
