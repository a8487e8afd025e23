"""A web server on this machine that serves a test's files, well or badly."""

import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class LocalServer:
    """Serves `files` {path: bytes} at `url`; `faults` {path: [fault, ...]} are spent one a request.

    Faults: ("cut", n) closes the connection after n bytes, ("status", code, {headers}) answers with that, ("bytes", content) sends
    other bytes. `ranges` and `tags` turn the support of ranges and of ETags off. `asked` lists (path, range) of every request.
    """

    def __init__(self):
        self.files, self.faults, self.asked = {}, {}, []
        self.ranges = self.tags = True
        self.kind = "application/octet-stream"
        # Seconds before an answer.
        self.delay = 0.0
        # Answers a POST: (request, body) -> status, content, headers.
        self.post = None
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                owner.answer(self)

            def do_POST(self):
                owner.send(self, *owner.post(self, self.rfile.read(int(self.headers["Content-Length"]))))

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        path, span = request.path, request.headers.get("Range")
        self.asked.append((path, span))
        time.sleep(self.delay)
        fault = self.faults[path].pop(0) if self.faults.get(path) else None
        if fault and fault[0] == "status":
            return self.send(request, fault[1], b"", fault[2] if len(fault) > 2 else {})
        if path not in self.files:
            return self.send(request, 404, b"")
        content = fault[1] if fault and fault[0] == "bytes" else self.files[path]
        tag = f'"{hashlib.sha256(content).hexdigest()[:12]}"'
        headers = {"Content-Type": self.kind} | ({"ETag": tag} if self.tags else {})
        status, body = 200, content
        if span and self.ranges and request.headers.get("If-Range", tag) == tag:
            start = int(span.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                return self.send(request, 416, b"", {"Content-Range": f"bytes */{len(content)}"})
            status, body = 206, content[start:]
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self.send(request, status, body, headers, cut=fault[1] if fault and fault[0] == "cut" else None)

    def send(self, request, status, body, headers=(), cut=None):
        request.send_response(status)
        for name, value in dict(headers).items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            request.wfile.flush()
            request.close_connection = True
