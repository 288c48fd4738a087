"""The card in a client: a page of ours in a frame of a host that speaks MCP Apps, with a real server behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from calling import connected
from mcp.client.extension import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID

from memsync import Memsync
from memsync.agents.live import Live
from memsync.janitor import queue
from memsync.learn.candidates import Candidates, Proposal
from memsync.mcp.early import CARD
from memsync.mcp.server import build
from memsync.records import Memory

pytestmark = pytest.mark.xdist_group("browser")

# What a client does: it answers the card's requests, the tools' by its server, and tells it what a tool has found.
HOST = """
async ({html, result}) => {
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts";
  window.addEventListener("message", async ({data, source}) => {
    if (source !== frame.contentWindow) return;
    const tell = (message) => source.postMessage({jsonrpc: "2.0", ...message}, "*");
    if (data.method === "ui/initialize") tell({id: data.id, result: {protocolVersion: "2026-01-26", hostInfo: {name: "test", version: "1"}, hostCapabilities: {serverTools: {}}, hostContext: {theme: "dark"}}});
    else if (data.method === "ui/notifications/initialized") { tell({method: "ui/notifications/tool-input", params: {arguments: {}}}); tell({method: "ui/notifications/tool-result", params: result}); }
    else if (data.method === "tools/call") tell({id: data.id, result: await window.callTool(data.params)});
    else if (data.method === "ui/notifications/size-changed") frame.height = data.params.height;
  });
  frame.srcdoc = html;
  document.body.append(frame);
}
"""
HOSTILE = [
    "node <script>alert(1)</script>",
    "node <img src=x onerror=alert(1)>",
    "node </script><svg/onload=alert(1)>",
    "node </textarea><iframe srcdoc='<script>alert(1)</script>'>",
    "node \"><a href='javascript:alert(1)'>x</a>",
]


@pytest.fixture
def show(repo, chromium) -> Iterator[Callable]:
    """Return what asks the server with *recall*, and shows the card of the answer in a host's frame."""
    complaints: list[str] = []
    able = advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})
    with connected(build(Live(repo.root)), extensions=[able]) as server:
        page = chromium.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))

        def call(params: dict) -> dict:
            result = server.ask("call_tool", params["name"], params.get("arguments"))
            return result.model_dump(by_alias=True, mode="json", exclude_none=True)

        def show(**query: object):
            page.expose_function("callTool", call)
            html = server.ask("read_resource", CARD).contents[0].text
            page.evaluate(HOST, {"html": html, "result": call({"name": "recall", "arguments": query})})
            frame = page.frame_locator("iframe")
            frame.locator("li").first.wait_for()
            return frame

        yield show
        page.close()
    assert complaints == []


def test_the_card_says_why_and_the_queue_is_decided_by_keys_in_it(show, repo, line):
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20", author="Test User"))
    with Memsync.open(repo.root) as project:
        Candidates(project).propose([Proposal(memory=Memory("", f"The box number {n} is red")) for n in range(3)])
    card = show(query="node of CI")
    assert "confidence" in card.locator("li").inner_text()
    card.get_by_role("button", name="Review").click()
    card.get_by_text("1 of 3").wait_for()
    kept = card.locator(".both .text").inner_text()
    card.locator("body").press("a")
    card.get_by_text("created: mm-").wait_for()
    card.locator("body").press("e")
    card.locator("textarea").fill("The box is blue")
    card.get_by_role("button", name="write").click()
    card.get_by_text("1 of 1").wait_for()
    card.locator("body").press("x")
    card.get_by_text("Nothing waits").wait_for()
    card.locator("body").press("u")
    card.get_by_text("took back").wait_for()
    with Memsync.open(repo.root) as project:
        assert {entry.content for entry in project.memories()} == {"CI needs Node 20", kept, "The box is blue"}
        assert len(queue.list_names(project)) == 1


def test_what_a_memory_says_is_text_and_never_an_element_of_the_card(show, repo, line):
    repo.write_memories("".join(line(f"mm-aaaaa{n}", text, author=text) for n, text in enumerate(HOSTILE)))
    with Memsync.open(repo.root) as project:
        Candidates(project).propose([Proposal(memory=Memory("", f"{text} {text}")) for text in HOSTILE])
    card = show()
    texts = card.locator("li .text").all_inner_texts()
    assert sorted(one.replace("&lt;", "<") for one in texts) == sorted(HOSTILE)
    card.get_by_role("button", name="Review").click()
    for number in range(1, len(HOSTILE) + 1):
        card.get_by_text(f"{number} of {len(HOSTILE)}").wait_for()
        assert card.locator("main script, main img, main svg, main iframe, main a").count() == 0
        card.locator("body").press("j")
