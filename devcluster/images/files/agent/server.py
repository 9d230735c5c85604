"""The stand-in agent's HTTP side: /healthz says 200, or 503 while the state folder has a file `unhealthy`."""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STATE = Path(sys.argv[1] if len(sys.argv) > 1 else "/tmp")
PORT = int(os.environ.get("PORT", "8080"))


class Handler(BaseHTTPRequestHandler):
    """Answers /healthz, /step and /version; everything else is 404."""

    def do_GET(self) -> None:
        """Answer one request with a short text."""
        if self.path == "/healthz":
            sick = (STATE / "unhealthy").exists()
            self.answer(503 if sick else 200, "unhealthy" if sick else "ok")
        elif self.path == "/step":
            file = STATE / "step"
            self.answer(200, file.read_text().strip() if file.exists() else "0")
        elif self.path == "/version":
            self.answer(200, os.environ.get("AGENT_VERSION", "1"))
        else:
            self.answer(404, "not found")

    def answer(self, status: int, text: str) -> None:
        """Send a status and a text."""
        body = (text + "\n").encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the agent's log to its steps."""


ThreadingHTTPServer(("", PORT), Handler).serve_forever()
