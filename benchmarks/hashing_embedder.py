"""Serve OpenAI's embeddings API on a free loopback port, which it prints: vectors of hashed words, a stand-in for a model."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMENSIONS = 256


def embed(text: str) -> list[float]:
    """Return the counts of the words of *text*, each at the place of its checksum, of length 1."""
    vector = [0.0] * DIMENSIONS
    for word in text.lower().split():
        vector[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
    length = sum(x * x for x in vector) ** 0.5 or 1.0
    return [x / length for x in vector]


class Handler(BaseHTTPRequestHandler):
    """Answer every POST with the vectors of its `input`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one request."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        packed = asked.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": number, "embedding": pack(embed(text)) if packed else embed(text)}
            for number, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        body = json.dumps({"object": "list", "model": asked.get("model"), "data": data, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def pack(vector: list[float]) -> str:
    """Return *vector* as OpenAI's clients ask for it: base64 of 32-bit floats."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()
