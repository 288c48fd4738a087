"""No answer of a server of ours waits for its head to be confirmed."""

from __future__ import annotations

import socket

import pytest

from memsync.hub import server as hub
from memsync.web import serve as desk


@pytest.mark.parametrize("listen", [lambda root: desk.listen(root, 0), lambda _: hub.listen("127.0.0.1", 0)])
def test_what_is_accepted_sends_each_part_of_an_answer_as_it_is_written(tmp_path, listen):
    with listen(tmp_path) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
