"""Ports of servers that somebody waits for."""

from __future__ import annotations

import socket


def answer_at_once(listener: socket.socket) -> None:
    """Have what *listener* accepts send each part of an answer as it is written.

    asyncio does so itself only where a socket names its protocol, which `socket.create_server` does not. Otherwise the body waits until the
    other side has confirmed the head: 40 ms on Linux, for nearly every page.
    """
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # what is accepted inherits it
