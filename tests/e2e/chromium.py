# SPDX-License-Identifier: BSD-2-Clause
"""Drives a headless Chromium over --remote-debugging-pipe: no driver, no port, no packages.

Keeps every message, console line, exception and network request of the page, so that a test can assert that there
was none.

"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe"]

# Nothing here takes that long. But a browser that gets hardly any CPU answers late, which is no failure.
PATIENCE_SECS = 240


# The first one draws pages without a browser around: it takes half the CPU time to start and open a page.
NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]


def find(whole=False):
    """whole: prefer the full browser that people use, to measure what they wait for."""
    for name in sorted(NAMES, key=NAMES[:1].__contains__) if whole else NAMES:
        if path := shutil.which(name):
            return path
    return None


class Browser:
    def __init__(self, path, *flags, timeout=PATIENCE_SECS):
        self.timeout, self.last_id, self.buffer = timeout, 0, b""
        self.requests, self.errors, self.session = [], [], None
        self.profile = tempfile.mkdtemp(prefix="krait-chromium-")
        command_read, self.command = os.pipe()
        self.reply, reply_write = os.pipe()
        # The browser wants its ends as descriptors 3 and 4; a shell moves them there.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{command_read} 4>&{reply_write}', "sh", path, *FLAGS, *flags,
             f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(command_read, reply_write), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(command_read)
        os.close(reply_write)
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.command)
        os.close(self.reply)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _read(self, deadline):
        import select
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.reply], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self.reply, 1 << 20)
            if not chunk:
                raise ConnectionError("the browser ended")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def _note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(" ".join(str(a.get("value", a)) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        return method

    def call(self, method, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.command, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout
        while True:
            reply = self._read(deadline)
            if reply.get("id") == self.last_id:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                return reply["result"]
            self._note(reply)

    def open(self, path, fragment=""):
        self.requests.clear()
        self.errors.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path) + fragment)
        deadline = time.monotonic() + self.timeout
        while self._note(self._read(deadline)) != "Page.loadEventFired":
            pass
        # In a page of ours: wait until its scripts are unpacked.
        self.run("window.kraitStarted")
        self.settle()

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description"))
        return result["result"].get("value")

    def settle(self):
        """Waits two frames: then everything requested is drawn."""
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def key(self, key, text=None, modifiers=0):
        codes = {"Enter": 13, "Escape": 27, "Backspace": 8, "ArrowLeft": 37, "ArrowUp": 38,
                 "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}
        if text is None and len(key) == 1 and not modifiers:
            text = key
        code = codes.get(key, ord(key[0].upper()))
        down = {"type": "keyDown", "key": key, "windowsVirtualKeyCode": code,
                "modifiers": modifiers}
        if text:
            down["text"] = text
        self.call("Input.dispatchKeyEvent", **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code,
                  modifiers=modifiers)
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def click(self, x, y):
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                      clickCount=1)
        self.settle()

    def drag(self, x, y, to_x, to_y):
        self.move(x, y)
        mouse = lambda kind, x, y: self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                                             buttons=1, clickCount=1)
        mouse("mousePressed", x, y)
        mouse("mouseMoved", (x + to_x) / 2, (y + to_y) / 2)
        mouse("mouseMoved", to_x, to_y)
        mouse("mouseReleased", to_x, to_y)
        self.settle()

    def size(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=False)
        self.settle()

    def dark(self, on):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if on else "light"}])
        self.settle()

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))
