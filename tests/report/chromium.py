"""A headless Chromium, driven through two pipes by its DevTools protocol; no other package is needed."""

import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PROGRAM = next(filter(None, map(shutil.which, PROGRAMS)), None)
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
)  # fmt: skip


class Tab:
    """One page of one browser without a network. Use as a context manager."""

    def __init__(self, profile: Path, width: int = 1200) -> None:
        to_browser, self._commands = os.pipe()
        self._answers, from_browser = os.pipe()
        self.events: list[dict] = []
        self._buffer = b""
        self._numbers = itertools.count(1)
        # The browser reads commands from descriptor 3 and writes answers to 4.
        command = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, PROGRAM, *OPTIONS, f"--user-data-dir={profile}"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call(
            "Network.emulateNetworkConditions",
            offline=True, latency=0, downloadThroughput=0, uploadThroughput=0,
        )  # fmt: skip

    def __enter__(self) -> "Tab":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def open(self, url: str) -> None:
        """Load a page and wait until its scripts have run."""
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def call(self, method: str, **parameters: object) -> dict:
        """Return the answer of the page to a command; events before it are kept."""
        return self._call(method, self._session, **parameters)

    def value(self, expression: str) -> object:
        """Return the value of a JavaScript expression, of a promise the value it resolves to."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def errors(self) -> list[dict]:
        """Errors on the console."""
        return [
            event
            for event in self.events
            if event["method"] == "Runtime.exceptionThrown"
            or event["params"].get("type") == "error"
            or event["params"].get("entry", {}).get("level") == "error"
        ]

    def _call(self, method: str, session: dict | None = None, **parameters: object) -> dict:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters} | (session or {})
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _next(self) -> dict:
        while b"\0" not in self._buffer:
            block = os.read(self._answers, 1 << 16)
            assert block, "the browser ended"
            self._buffer += block
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)
