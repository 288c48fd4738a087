"""Embedders of the user's choice: what they are called, what they send, and how they fail."""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers import GitRepo, memory_line, memsync
from loopback import Loopback, Reply

from memsync import Memsync
from memsync.errors import ConfigError
from memsync.index.bulk import make_index
from memsync.index.embed import EmbedderFailed, Meaning
from memsync.index.embedders import FORMS, choose, open_named
from memsync.index.openai_embedder import LONGEST, MOST_LETTERS, Limits, OpenAIEmbedder, Patience, batches
from memsync.records import Change, Memory
from memsync.store.settings import parse_value

SHORT = Limits(Patience(0.2, 0.6), Patience(0.1, 0.1))
TEXTS = ["use tabs", "tests need docker", "deploy on friday"]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as made:
        yield made


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def tiny(server, time) -> OpenAIEmbedder:
    return OpenAIEmbedder("tiny", server.url, env={}, sleep=time.sleep, clock=time)


def expected(server: Loopback, *texts: str) -> np.ndarray:
    rows = np.array([server.vector(text) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# what a setting names


@pytest.mark.parametrize(
    ("spec", "id_"),
    [
        ("openai:nomic-embed-text@http://127.0.0.1:11434/v1", "openai:nomic-embed-text@http://127.0.0.1:11434/v1"),
        ("openai:m@http://LocalHost:1/v1/embeddings/", "openai:m@http://localhost:1/v1"),
        ("openai:org/m@v2:q4@https://[::1]:8/v1", "openai:org/m@v2:q4@https://[::1]:8/v1"),
        ("openai:a@http://b@https://api.openai.com/v1", "openai:a@http://b@https://api.openai.com/v1"),
        (r"model2vec:C:\models\potion", "model2vec-missing"),
        (r"sentence-transformers:\\nas\models\e5", "sentence-transformers-missing"),
        ("model2vec:/no/such: folder", "model2vec-missing"),
        ("model2vec:~/potion", "model2vec-missing"),
        (" openai:m@http://h/v1 ", "openai:m@http://h/v1"),
    ],
)
def test_a_setting_names_an_embedder_that_nobody_has_asked_yet(spec, id_):
    meaning = choose(parse_value("memory.embedder", spec))
    assert (meaning.id, meaning.failed) == (id_, "")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("model2vce:/m", "did you mean model2vec:PATH?"),
        ("sentence_transformers:/m", "did you mean sentence-transformers:PATH?"),
        ("OpenAI:m@http://h/v1", "did you mean openai:MODEL@URL?"),
        ("buildin", "did you mean builtin?"),
        ("builtin:x", "is no embedder"),
        ("none:", "is no embedder"),
        ("model2vec:", "is no embedder"),
        ("", "is no embedder"),
        ("model2vec:models/potion", "write the whole path"),
        ("openai:m", "use openai:MODEL@URL, such as openai:nomic-embed-text@http://127.0.0.1:11434/v1"),
        ("openai:@http://h/v1", "lacks a model"),
        ("openai:m@httpx://h/v1", "neither http:// nor https://"),
        ("openai:m@http://", "cannot be read"),
        ("openai:m@http://h:port/v1", "cannot be read"),
        ("openai:m@http://h/v 1", "cannot be read"),
        ("openai:m@http://h/v1?api-version=1", "more than a path"),
    ],
)
def test_a_setting_that_names_none_says_what_there_is(spec, said):
    with pytest.raises(ValueError) as caught:
        choose(spec)
    assert said in str(caught.value)
    if "is no embedder" in str(caught.value):
        assert all(form in str(caught.value) for form in FORMS)


@pytest.mark.parametrize("url", ["http://user:sk-secret@h/v1", "http://sk-secret@h/v1", "http://h/v1?key=sk-secret"])
def test_a_key_in_a_url_is_refused_and_not_repeated(url):
    with pytest.raises(ValueError) as caught:
        open_named(f"openai:m@{url}")
    assert "secret" not in str(caught.value)
    assert "MEMSYNC_EMBEDDER_KEY" in str(caught.value)


def test_a_wrong_setting_is_an_error_of_the_settings(repo):
    configured("model2vce:/m")
    with pytest.raises(ConfigError, match=r"memory\.embedder: .* did you mean model2vec:PATH\?"):
        Memsync.open(repo.root).recall("anything")


def test_an_address_with_or_without_its_endpoint_is_one_address():
    spelled = ("http://h/v1", "http://h/v1/", "http://H/v1", "http://h/v1/embeddings")
    assert {open_named(f"openai:m@{text}").url for text in spelled} == {"http://h/v1"}


# what is sent, and what comes back


def test_texts_are_sent_as_openai_wants_them_and_rows_have_length_one(server, tiny):
    rows = tiny.embed(TEXTS)
    assert np.allclose(rows, expected(server, *TEXTS), atol=1e-6)
    (asked,) = server.asked
    assert (asked.path, asked.body) == ("/v1/embeddings", {"model": "tiny", "input": TEXTS})
    assert (asked.headers["Content-Type"], "Authorization" in asked.headers) == ("application/json", False)


def test_the_order_is_told_by_the_index_and_not_by_the_place(server, tiny):
    server.replies.append(Reply(change=lambda answer: answer["data"].reverse()))
    assert np.allclose(tiny.embed(TEXTS), expected(server, *TEXTS), atol=1e-6)


def test_an_answer_without_indices_is_taken_in_its_order(server, tiny):
    server.replies.append(Reply(change=lambda answer: [item.pop("index") for item in answer["data"]]))
    assert np.allclose(tiny.embed(TEXTS), expected(server, *TEXTS), atol=1e-6)


def test_many_texts_go_in_batches_of_64(server, tiny):
    texts = [f"text {number}" for number in range(150)]
    rows = tiny.embed(texts)
    assert [len(asked.texts) for asked in server.asked] == [64, 64, 22]
    assert np.allclose(rows, expected(server, *texts), atol=1e-6)


def test_a_batch_is_small_in_letters_too_and_long_texts_are_cut():
    texts = ["x" * 7_000] * 40 + ["y" * 30_000]
    made = list(batches(texts))
    assert max(sum(map(len, batch)) for batch in made) <= MOST_LETTERS
    assert [text for batch in made for text in batch] == ["x" * 7_000] * 40 + ["y" * LONGEST]
    assert list(batches([])) == []


def test_blank_texts_are_not_sent_and_half_characters_are_replaced(server, tiny):
    rows = tiny.embed(["", "tabs \ud800", " \n"])
    assert [asked.texts for asked in server.asked] == [["tabs ?"]]
    assert [bool(row.any()) for row in rows] == [False, True, False]


def test_what_a_model_finds_too_long_is_halved_until_it_fits(server, tiny):
    server.most_letters = 1_000
    texts = ["short", "long " * 1_200, "other"]
    rows = tiny.embed(texts)
    assert np.allclose(rows, expected(server, *texts), atol=0.05)


def test_a_request_that_is_refused_at_any_size_fails_after_a_few_tries(server, tiny):
    server.most_letters = 1
    with pytest.raises(EmbedderFailed, match=r"does not take what it was sent \(400: This model's maximum context"):
        tiny.embed(["text " * 2_000] * 64)
    assert len(server.asked) <= 12


# trying again


@pytest.mark.parametrize(
    ("replies", "slept"),
    [
        ([Reply.error(429, Retry_After="2")], [2.0]),
        ([Reply.error(429)], [0.5]),
        ([Reply.error(429, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT")], [0.5]),
        ([Reply.error(500), Reply.error(503)], [0.5, 1.0]),
        ([Reply(resets=True), Reply.error(502)], [0.5, 1.0]),
        ([Reply(cut=9)], [0.5]),
    ],
)
def test_a_server_that_is_busy_or_breaks_off_is_asked_twice_more(server, tiny, time, replies, slept):
    server.replies.extend(replies)
    assert np.allclose(tiny.embed(TEXTS), expected(server, *TEXTS), atol=1e-6)
    assert (time.slept, len(server.asked)) == (slept, len(replies) + 1)


@pytest.mark.parametrize(
    ("replies", "slept"),
    [
        ([Reply.error(500, "out of memory")] * 3, [0.5, 1.0]),
        ([Reply.error(429, "slow down", Retry_After="6")], []),
    ],
)
def test_a_server_that_stays_busy_is_given_up(server, tiny, time, replies, slept):
    server.replies.extend(replies)
    with pytest.raises(EmbedderFailed, match=r"busy or broken \(.*(out of memory|slow down)\); try again later"):
        tiny.embed(TEXTS)
    assert (time.slept, len(server.asked)) == (slept, len(replies))


def test_a_query_never_waits_longer_than_a_query_may_take(server, tiny, time):
    server.replies.append(Reply.error(429, Retry_After="4"))
    with pytest.raises(EmbedderFailed):
        tiny.query("tabs")
    assert time.slept == []


def test_a_server_that_was_given_up_is_left_alone_for_a_while_and_then_asked_again(server, tiny, time):
    server.replies.extend([Reply.error(500, "out of memory")] * 3)
    for _ in range(3):
        with pytest.raises(EmbedderFailed, match="out of memory"):
            tiny.embed(TEXTS)
    assert len(server.asked) == 3
    time.now += 31
    assert len(tiny.embed(TEXTS)) == 3


# failing


@pytest.mark.parametrize("ask", [lambda embedder: embedder.embed(TEXTS), lambda embedder: embedder.query("tabs")])
def test_a_server_that_hangs_is_given_up_in_time(server, ask):
    server.replies.append(Reply(hangs=True))
    with pytest.raises(EmbedderFailed, match="did not answer in time; see whether it is overloaded, or set"):
        ask(OpenAIEmbedder("tiny", server.url, limits=SHORT, env={}))


def broken(**item: object) -> Reply:
    return Reply(change=lambda answer: answer["data"][1].update(item))


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(body=b"<html>"), "not what OpenAI's API would say"),
        (Reply(body=b""), "not what OpenAI's API would say"),
        (Reply(body=b"\xff\xfe"), "not what OpenAI's API would say"),
        (Reply(body=b"[]"), "not what OpenAI's API would say"),
        (Reply(body=b'{"data": {"a": 1}}'), "not what OpenAI's API would say"),
        (Reply(body=b"[" * 100_000), "not what OpenAI's API would say"),
        (Reply(change=lambda answer: answer["data"].pop()), "2 vectors for 3 texts"),
        (Reply(change=lambda answer: answer["data"].append(answer["data"][0])), "4 vectors for 3 texts"),
        (broken(index=2), "other numbers than asked for"),
        (broken(index=[1]), "not what OpenAI's API would say"),
        (broken(embedding=[math.nan] * 64), "not finite"),
        (broken(embedding=[math.inf] * 64), "not finite"),
        (broken(embedding=[1e300] * 64), "not finite"),
        (broken(embedding=[1.0] * 63), "different lengths"),
        (broken(embedding=["1"] * 64), "no vector of numbers"),
        (broken(embedding="AACAPwAAgD8="), "different lengths"),
        (broken(embedding=None), "different lengths"),
        (Reply(change=lambda answer: [i.update(embedding=[]) for i in answer["data"]]), "no vector of numbers"),
        (Reply(change=lambda answer: [i.update(embedding="AACA") for i in answer["data"]]), "no vector of numbers"),
    ],
)
def test_nonsense_is_no_vector_and_says_what_to_look_at(server, tiny, reply, said):
    server.replies.append(reply)
    with pytest.raises(EmbedderFailed, match=r"see whether tiny is for embeddings, or set memory\.embedder") as caught:
        tiny.embed(TEXTS)
    assert (said in str(caught.value), server.url in str(caught.value)) == (True, True)


def test_vectors_that_change_their_length_within_one_call_are_nonsense(server, tiny):
    server.replies.extend([Reply(), Reply(change=lambda a: [i["embedding"].append(0.0) for i in a["data"]])])
    with pytest.raises(EmbedderFailed, match="changes the length of its vectors"):
        tiny.embed([f"text {number}" for number in range(100)])


def test_an_answer_of_another_kind_says_where_to_look(server, tiny):
    server.replies.extend([Reply.error(404, "model 'tiny' not found, try pulling it first"), Reply.error(418)])
    with pytest.raises(EmbedderFailed, match=r"no such model, or no /embeddings \(404: .* try pulling it first\)"):
        tiny.embed(TEXTS)
    with pytest.raises(EmbedderFailed, match=r"answers 418; check the URL"):
        tiny.embed(TEXTS)


def test_a_refused_connection_fails_at_once_and_is_tried_anew_each_time(server, tiny, time):
    server.stop()
    with pytest.raises(EmbedderFailed, match=r"cannot be reached .*refused.*; start the server, check the URL, or set"):
        tiny.embed(TEXTS)
    server.start()
    assert (len(tiny.embed(TEXTS)), time.slept) == (3, [])


def test_what_is_no_http_server_says_so():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")

        thread = threading.Thread(target=talk)
        thread.start()
        embedder = OpenAIEmbedder("tiny", f"http://127.0.0.1:{listener.getsockname()[1]}/v1", env={})
        with pytest.raises(EmbedderFailed, match="does not speak HTTP"):
            embedder.embed(TEXTS)
        thread.join()


# keys


@pytest.mark.parametrize(
    ("env", "sent"),
    [
        ({"MEMSYNC_EMBEDDER_KEY": "sk-own", "OPENAI_API_KEY": "sk-openai"}, "Bearer sk-own"),
        ({"OPENAI_API_KEY": " sk-openai\n"}, "Bearer sk-openai"),
        ({"OPENAI_API_KEY": ""}, None),
        ({}, None),
    ],
)
def test_the_key_comes_from_the_environment(server, env, sent):
    OpenAIEmbedder("tiny", server.url, env=env).embed(TEXTS)
    assert server.asked[0].headers.get("Authorization") == sent


@pytest.mark.parametrize(
    ("url", "base", "is_sent"),
    [
        ("https://api.openai.com/v1", "", True),
        ("http://api.openai.com/v1", "", False),
        ("https://api.openai.com.evil.example/v1", "", False),
        ("http://collector.example/v1", "", False),
        ("http://gpu.example:8000/v1", "http://gpu.example:8000/v1/", True),
        ("http://gpu.example:8001/v1", "http://gpu.example:8000/v1", False),
        ("http://gpu.example/v1", "http://[broken", False),
    ],
)
def test_the_key_for_openai_goes_only_where_its_owner_points_it(url, base, is_sent):
    embedder = OpenAIEmbedder("m", url, env={"OPENAI_API_KEY": "sk-openai", "OPENAI_BASE_URL": base})
    assert ("Authorization" in embedder._endpoint._headers()) is is_sent


def test_a_refused_key_is_in_no_message_and_no_log(server, caplog):
    caplog.set_level(logging.DEBUG)
    server.key = "sk-right"
    meaning = Meaning(OpenAIEmbedder("tiny", server.url, env={"MEMSYNC_EMBEDDER_KEY": "sk-wrong-0123"}))
    assert meaning.embed(TEXTS) is None
    assert "refuses the key (401: Incorrect API key provided: Bearer ***); set MEMSYNC_EMBEDDER_KEY" in meaning.failed
    assert "sk-wrong" not in meaning.failed + caplog.text + meaning.id


def test_a_key_with_a_line_break_is_refused_before_it_is_sent_and_not_repeated(server):
    embedder = OpenAIEmbedder("tiny", server.url, env={"MEMSYNC_EMBEDDER_KEY": "sk-a\nX-Evil: 1"})
    with pytest.raises(EmbedderFailed, match="has a character that no key has") as caught:
        embedder.embed(TEXTS)
    assert ("sk-a" in str(caught.value), server.asked) == (False, [])


def test_a_redirect_is_not_followed_with_the_key_and_the_memories(server, tiny):
    with Loopback() as other:
        for status in (301, 307):
            server.replies.append(Reply.error(status, Location=f"{other.url}/embeddings"))
            with pytest.raises(EmbedderFailed, match=f"answers {status}; check the URL"):
                tiny.embed(TEXTS)
        assert other.asked == []


def test_a_proxy_is_not_asked_for_a_server_of_this_machine(server, tiny, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert len(tiny.embed(TEXTS)) == 3


# folders


def model(path: Path, weights: bytes = b"w" * 3_000_000) -> Path:
    (path / "1_Pooling").mkdir(parents=True)
    (path / "config.json").write_text('{"normalize": true}')
    (path / "1_Pooling" / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(weights)
    return path


def id_of(path: Path, kind: str = "model2vec") -> str:
    return open_named(f"{kind}:{path}").id


def test_the_id_of_a_folder_is_its_content_and_not_its_place(tmp_path):
    one, two = model(tmp_path / "one"), model(tmp_path / "two")
    (two / "README.md").write_text("other")
    (two / ".gitattributes").write_text("other")
    assert id_of(one) == id_of(two) != id_of(one, "sentence-transformers")


@pytest.mark.parametrize(
    "change",
    [
        lambda path: (path / "config.json").write_text('{"normalize": false}'),
        lambda path: (path / "1_Pooling" / "config.json").write_text('{"mean": true}'),
        lambda path: (path / "model.safetensors").write_bytes(b"w" * 3_000_001),
        lambda path: (path / "model.safetensors").write_bytes(b"x" + b"w" * 2_999_999),
        lambda path: (path / "model.safetensors").write_bytes(b"w" * 2_999_999 + b"x"),
        lambda path: (path / "model.safetensors").rename(path / "other.safetensors"),
        lambda path: (path / "tokenizer.json").write_text("{}"),
    ],
)
def test_the_id_of_a_folder_changes_with_any_file_of_the_model(tmp_path, change):
    before = id_of(model(tmp_path / "model"))
    change(tmp_path / "model")
    assert id_of(tmp_path / "model") != before


@pytest.mark.parametrize("kind", ["model2vec", "sentence-transformers"])
def test_a_folder_without_a_model_is_never_looked_for_on_the_internet(tmp_path, kind):
    embedder = open_named(f"{kind}:{tmp_path / 'minishlab' / 'potion-base-8M'}")
    with pytest.raises(EmbedderFailed, match=r"is no folder with a model .*; put a model there, or set memory\.embed"):
        embedder.embed(TEXTS)
    with pytest.raises(EmbedderFailed):
        embedder.query("tabs")


@pytest.mark.parametrize("kind", ["model2vec", "sentence-transformers"])
def test_a_package_that_is_missing_is_named_with_the_way_to_install_it(tmp_path, kind):
    package = kind.replace("-", "_")
    try:
        __import__(package)
    except ImportError:
        with pytest.raises(EmbedderFailed) as caught:
            open_named(f"{kind}:{model(tmp_path / 'model')}").embed(TEXTS)
        assert f"[{kind}]" in str(caught.value)
        assert "pip install" in str(caught.value)
    else:
        pytest.skip(f"NOT TESTED: {package} is installed")


@pytest.mark.parametrize("kind", ["model2vec", "sentence-transformers"])
def test_a_damaged_model_fails_with_its_folder_and_a_remedy(tmp_path, kind):
    package = kind.replace("-", "_")
    pytest.importorskip(package, reason=f"NOT TESTED: {package} is not installed")
    embedder = open_named(f"{kind}:{model(tmp_path / 'model')}")
    with pytest.raises(EmbedderFailed, match=r"model: .*; put a model there, or set memory\.embedder to builtin"):
        embedder.embed(TEXTS)


# the product with an embedder that fails

MEANS = {"automobile": "car", "repaired": "mended"}


def configured(spec: str) -> None:
    home = Path(os.environ["HOME"]) / ".gobby"
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(f"memory:\n  embedder: {spec!r}\n")


def texts_asked(server: Loopback) -> list[str]:
    return [text for asked in server.asked for text in asked.texts]


CAR, TEA = "the car was mended", "green tea at noon"


@pytest.fixture
def cars(repo, server) -> GitRepo:
    """Return a repository of two memories that is searched through *server*."""
    server.means.update(MEANS)
    configured(server.spec)
    repo.write_memories(memory_line("mm-car", CAR) + memory_line("mm-tea", TEA))
    return repo


def found(recall) -> tuple[list[str], bool]:
    return [hit.id for hit in recall], bool(recall.degraded)


ASKED = "automobile repaired"  # shares no word with any memory


def test_a_server_finds_by_meaning_what_words_do_not(cars):
    with Memsync.open(cars.root) as project:
        assert found(project.recall(ASKED)) == (["mm-car"], False)


def test_what_is_cached_is_not_embedded_again_by_the_next_process(cars, server):
    assert memsync("memory", "recall", ASKED, "--json", cwd=cars.root).json["count"] == 1
    server.asked.clear()
    cars.write_memories(cars.memories.read_text() + memory_line("mm-new", "a new one"))
    assert memsync("memory", "recall", ASKED, "--json", cwd=cars.root).json["count"] == 1
    assert {text for text in texts_asked(server) if text in (CAR, TEA, "a new one")} == {"a new one"}


def test_without_the_server_words_still_answer_and_it_is_said(cars, server):
    server.stop()
    with Memsync.open(cars.root) as project:
        recall = project.recall("car")
        assert found(recall) == (["mm-car"], True)
        assert "cannot be reached" in recall.degraded
        assert found(project.recall(ASKED)) == ([], True)


def test_a_process_that_began_without_the_server_recovers_when_it_is_back(cars, server):
    server.stop()
    with Memsync.open(cars.root) as project:
        assert found(project.recall(ASKED)) == ([], True)
        server.start()
        assert found(project.recall(ASKED)) == (["mm-car"], False)


def test_a_rebuild_embeds_what_is_missing(cars, server):
    server.stop()
    with Memsync.open(cars.root) as project:
        assert found(project.recall(ASKED)) == ([], True)
        server.start()
        project.finder.rebuild()
        assert found(project.recall(ASKED)) == (["mm-car"], False)


def test_a_server_that_goes_away_and_comes_back_is_used_again(cars, server):
    with Memsync.open(cars.root) as project:
        assert found(project.recall(ASKED)) == (["mm-car"], False)
        server.stop()
        assert found(project.recall(ASKED)) == ([], True)
        server.start()
        assert found(project.recall(ASKED)) == (["mm-car"], False)


def test_a_process_that_begins_with_the_cache_but_without_the_server_answers_by_words(cars, server):
    memsync("memory", "recall", ASKED, cwd=cars.root)
    server.stop()
    with Memsync.open(cars.root) as project:
        assert found(project.recall("car")) == (["mm-car"], True)


def test_an_outage_costs_no_vector_that_was_there_before(cars, server):
    memsync("memory", "recall", ASKED, cwd=cars.root)
    server.stop()
    cars.write_memories(cars.memories.read_text() + memory_line("mm-new", "a new one"))
    degraded = memsync("memory", "recall", "car", "--json", cwd=cars.root).json
    assert ([memory["id"] for memory in degraded["memories"]], bool(degraded["degraded"])) == (["mm-car"], True)
    server.start()
    server.asked.clear()
    assert memsync("memory", "recall", ASKED, "--json", cwd=cars.root).json["count"] == 1
    assert not {CAR, TEA} & set(texts_asked(server))


@pytest.mark.parametrize("again", [False, True], ids=["same process", "next process"])
def test_a_memory_written_during_an_outage_is_embedded_when_the_server_is_back(cars, server, again):
    project = Memsync.open(cars.root)
    assert found(project.recall(ASKED)) == (["mm-car"], False)
    server.stop()
    cars.write_memories(memory_line("mm-tea", TEA) + memory_line("mm-late", CAR))
    assert found(project.recall(ASKED)) == ([], True)
    server.start()
    if again:
        project.close()
        project = Memsync.open(cars.root)
    assert found(project.recall(ASKED)) == (["mm-late"], False)
    project.close()


def test_a_memory_without_its_vector_is_never_kept_silent(cars, server):
    with Memsync.open(cars.root) as project:
        project.recall(ASKED)
        server.replies.extend([Reply(body=b"nonsense")] * 2)
        cars.write_memories(cars.memories.read_text() + memory_line("mm-new", "a new one"))
        understood = len(server.asked) + 2
        first, second = project.recall("tea"), project.recall("tea")
        is_embedded = "a new one" in [t for asked in server.asked[understood:] for t in asked.texts]
        assert bool(first.degraded) is True
        assert bool(second.degraded) is not is_embedded


@pytest.mark.parametrize("again", [False, True], ids=["same process", "next process"])
def test_a_model_with_another_dimension_makes_all_vectors_anew(cars, server, again):
    project = Memsync.open(cars.root)
    assert found(project.recall(ASKED)) == (["mm-car"], False)
    if again:
        project.close()
        project = Memsync.open(cars.root)
    server.dim = 96
    project.recall(ASKED)
    assert found(project.recall(ASKED)) == (["mm-car"], False)
    assert texts_asked(server).count(CAR) == 2
    project.close()


def test_another_model_at_the_same_server_makes_all_vectors_anew(cars, server):
    memsync("memory", "recall", ASKED, cwd=cars.root)
    configured(server.spec.replace("tiny", "other"))
    memsync("memory", "recall", ASKED, cwd=cars.root)
    assert [asked.body["model"] for asked in server.asked if CAR in asked.texts] == ["tiny", "other"]


def test_an_empty_store_grows_with_a_server(repo, server):
    server.means.update(MEANS)
    configured(server.spec)
    with Memsync.open(repo.root) as project:
        assert found(project.recall(ASKED)) == ([], False)
        project.remember(CAR)
        assert [hit.content for hit in project.recall(ASKED)] == [CAR]


def test_an_index_without_its_embedder_finds_by_words_and_says_so(server, tiny):
    server.stop()
    made = make_index([("project", Memory(id="a", content="use tabs"))], Meaning(tiny))
    made.apply("project", [Change("b", Memory(id="b", content="before"), Memory(id="b", content="tabs again"))])
    ranking = made.search("tabs", limit=5, allow=lambda *_: 0.5)
    assert {match.memory.id for match in ranking.matches} == {"a", "b"}
    assert "cannot be reached" in ranking.degraded


def test_many_new_memories_are_a_few_requests_and_not_one_each(cars, server):
    with Memsync.open(cars.root) as project:
        project.recall(ASKED)
        server.asked.clear()
        cars.write_memories("".join(memory_line(f"mm-{n}", f"number {n}") for n in range(128)))
        project.recall(ASKED)
    assert len(server.asked) <= 4


def test_a_memory_that_comes_with_another_dimension_does_no_harm(cars, server):
    with Memsync.open(cars.root) as project:
        project.recall(ASKED)
        server.dim = 96
        cars.write_memories(cars.memories.read_text() + memory_line("mm-new", "a new one"))
        assert found(project.recall(ASKED)) == (["mm-car"], False)


def test_another_dimension_of_many_memories_is_made_good_by_the_next_process_at_the_latest(cars, server):
    many = "".join(memory_line(f"mm-{n}", f"number {n}") for n in range(1000))
    cars.write_memories(cars.memories.read_text() + many)
    memsync("memory", "recall", ASKED, cwd=cars.root)
    server.dim = 96
    first = memsync("memory", "recall", ASKED, "--json", cwd=cars.root).json
    second = memsync("memory", "recall", ASKED, "--json", cwd=cars.root).json
    assert (first["count"] == 1 or first["degraded"] != "") is True
    assert (second["memories"][0]["id"], second["degraded"]) == ("mm-car", "")
