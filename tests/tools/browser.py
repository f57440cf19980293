"""browser.py - Chromium without a window, by the DevTools protocol over pipes: pages, input, pixels."""
import base64
import fcntl
import json
import os
import struct
import subprocess
import sys
import zlib

PIPE_IN, PIPE_OUT = 3, 4  # where --remote-debugging-pipe reads and writes


class Browser:
    """Ends with its `with` block. If this process dies first, its pipes close, and the browser ends, too."""

    def __init__(self, folder, *options):
        away = lambda file: fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 20)
        (read_in, self.to), (self.come, write_out) = map(away, os.pipe()), map(away, os.pipe())

        def connect():
            os.dup2(read_in, PIPE_IN)
            os.dup2(write_out, PIPE_OUT)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             f"--user-data-dir={folder}", *options, "about:blank"],
            preexec_fn=connect, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(read_in), os.close(write_out)
        self.rest, self.calls, self.exceptions = b"", 0, []

    def call(self, method, session=None, **params):
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                got = os.read(self.come, 1 << 16)
                if not got:
                    sys.exit("browser: it ended")
                self.rest += got
            answer, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(answer)
            if answer.get("method") == "Runtime.exceptionThrown":
                self.exceptions.append(answer["params"]["exceptionDetails"])
            if answer.get("id") == self.calls:
                return answer.get("result", answer)

    def open(self, url):
        target = self.call("Target.createTarget", url=url)["targetId"]
        return Page(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        return answer.get("result", {}).get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def press(self, key, **more):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self):
        """What the window shows, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])


def unfilter(line, above, step, filter_type):
    """Add to each byte what the filter of PNG predicts from its neighbours."""
    for i in range(len(line)):
        left, corner, up = (line[i - step], above[i - step], above[i]) if i >= step else (0, 0, above[i])
        if filter_type == 1:
            guess = left
        elif filter_type == 2:
            guess = up
        elif filter_type == 3:
            guess = (left + up) // 2
        else:
            to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            guess = left if to_left <= to_up and to_left <= to_corner else up if to_up <= to_corner else corner
        line[i] = (line[i] + guess) & 255


def read_png(png, row_count):
    """The first rows of a picture of Chromium (8 bits a channel, no interlacing): lists of (red, green, blue)."""
    data, at = b"", 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            data += body
        at += length + 12
    assert depth == 8 and colour in (2, 6), "the picture has another format"
    step, raw, rows = 3 if colour == 2 else 4, zlib.decompress(data), []
    above = bytearray(width * step)
    for y in range(min(row_count, height)):
        start = y * (width * step + 1)
        line = bytearray(raw[start + 1:start + 1 + width * step])
        if raw[start]:
            unfilter(line, above, step, raw[start])
        rows.append([tuple(line[i:i + 3]) for i in range(0, len(line), step)])
        above = line
    return rows
