"""A web server on this machine that misbehaves on request."""

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Server:
    """What the server has, how it behaves, and what it was asked."""

    address: str
    body: bytes = b""
    etag: str = '"one"'
    ignore_range: bool = False
    status: list[int] = field(default_factory=list)
    """Error statuses of the next answers; 200 leaves an answer alone."""
    cut_after: list[int] = field(default_factory=list)
    """After how many bytes the next answers end, although they promise more."""
    stall_after: list[int] = field(default_factory=list)
    """After how many bytes the next answers say nothing any more."""
    ranges: list[str | None] = field(default_factory=list)
    """The Range header of every request, in order."""
    raw: list[bytes] = field(default_factory=list)
    """Whole answers, header and body, that are sent next as they are."""
    stop: threading.Event = field(default_factory=threading.Event)


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        server = self.server.settings
        wanted = self.headers.get("Range")
        server.ranges.append(wanted)
        if server.raw:
            self.close_connection = True
            self.wfile.write(server.raw.pop(0))
            return
        status = server.status.pop(0) if server.status else 200
        if status != 200:
            self.send_error(status)
            return
        start = self.first_byte(server, wanted)
        if start is not None and start >= len(server.body):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(server.body)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        rest = server.body[start or 0 :]
        self.send_response(200 if start is None else 206)
        self.send_header("Content-Length", str(len(rest)))
        self.send_header("ETag", server.etag)
        if start is not None:
            total = len(server.body)
            self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        self.end_headers()
        if server.cut_after:
            rest = rest[: server.cut_after.pop(0)]
            self.close_connection = True
        if server.stall_after:
            self.wfile.write(rest[: server.stall_after.pop(0)])
            self.wfile.flush()
            server.stop.wait()
            return
        self.wfile.write(rest)

    def first_byte(self, server, wanted) -> int | None:
        """First byte to send, or None for the whole file."""
        if wanted is None or server.ignore_range:
            return None
        if self.headers.get("If-Range") not in (None, server.etag):
            return None
        return int(wanted.removeprefix("bytes=").removesuffix("-"))


@pytest.fixture
def server():
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    settings = Server(address=f"http://127.0.0.1:{httpd.server_port}")
    httpd.settings = settings
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield settings
    settings.stop.set()
    httpd.shutdown()
    thread.join()
    httpd.server_close()
