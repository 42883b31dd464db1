# SPDX-License-Identifier: BSD-2-Clause
"""A real OpenTelemetry Collector (scripts/collector) with deploy/collector.yaml, and the data it has written."""
import base64
import collections
import contextlib
import json
import os
import signal
import socket
import subprocess
import time

import harness as h

FOLDER = os.path.join(h.CACHE, "collector")
PROGRAM = os.path.join(FOLDER, "otelcol")
CONFIG = os.path.join(h.ROOT, "deploy", "collector.yaml")


def why_missing():
    """Returns why it is missing, or None."""
    if os.access(PROGRAM, os.X_OK):
        return ""
    with contextlib.suppress(OSError), open(PROGRAM + ".why", encoding="utf-8") as f:
        return f.read().strip()
    return "no Collector (scripts/collector builds one; make check-all does)"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Collector:
    """A Collector running in a folder. next: the port of the one that it forwards to; none: it writes a file."""

    def __init__(self, folder, name="collector", next_port=None, env=None):
        self.file = os.path.join(folder, name + ".json")
        self.log = os.path.join(folder, name + ".log")
        self.grpc, self.http = free_port(), free_port()
        self.env = dict(os.environ, KRAIT_GRPC_ENDPOINT="127.0.0.1:%d" % self.grpc,
                        KRAIT_HTTP_ENDPOINT="127.0.0.1:%d" % self.http, KRAIT_PROFILES_FILE=self.file,
                        KRAIT_PROFILES_FLUSH="100ms")
        if next_port:
            self.env.update(KRAIT_EXPORTER="otlphttp", KRAIT_NEXT="http://127.0.0.1:%d" % next_port)
        self.env.update(env or {})
        self.process = None
        self.start()

    def start(self):
        """Starts it; may be called again after a kill(), for the same ports."""
        with open(self.log, "ab") as log:
            at = log.tell()
            self.process = subprocess.Popen(
                [PROGRAM, "--feature-gates=service.profilesSupport", "--config", "file:" + CONFIG],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env)
        deadline = time.monotonic() + h.PATIENCE_SECS
        while time.monotonic() < deadline and self.process.poll() is None:
            with open(self.log, "rb") as log:
                log.seek(at)
                if b"Everything is ready" in log.read():
                    return
            time.sleep(0.05)
        raise RuntimeError("the Collector does not start: " + self.tail())

    def tail(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()[-600:]

    def kill(self, number=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(h.PATIENCE_SECS)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        """Stops it after flushing."""
        self.resume()
        self.kill(signal.SIGTERM)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.resume()
            self.kill()

    def requests(self):
        """Returns what it has written so far: one object per complete request."""
        found = []
        with contextlib.suppress(FileNotFoundError), open(self.file, encoding="utf-8") as f:
            for line in f:
                # A request that was cut by a full disk was sent again.
                with contextlib.suppress(json.JSONDecodeError):
                    if line.endswith("\n"):
                        found.append(json.loads(line))
        return found

    def profiles(self):
        return decode(self.requests())


class Profile:
    """One decoded OTLP profile: resource {key: text}, type "samples/count", samples [(frames, attributes, weight)]
    with frames root first as (name, file, line, type)."""

    def __init__(self, resource, scope, data, tables):
        strings = tables["strings"]
        self.resource, self.scope, self.data = resource, scope, data
        # krait's accounts of the window, and other facts about the whole window.
        self.attributes = dict(tables["attributes"][i] for i in data.get("attributeIndices", []))
        kind = data.get("sampleType", {})
        self.type = strings[kind.get("typeStrindex", 0)] + "/" + strings[kind.get("unitStrindex", 0)]
        raw = data.get("profileId", "")
        self.id = raw if len(raw) == 32 else base64.b64decode(raw).hex()
        self.begin = int(data.get("timeUnixNano", 0))
        self.end = self.begin + int(data.get("durationNano", 0))
        self.times = []
        self.samples = []
        for sample in data.get("samples", []):
            values = [int(v) for v in sample.get("values", [])]
            times = [int(t) for t in sample.get("timestampsUnixNano", [])]
            self.times += times
            weight = sum(values) if values else len(times)
            attributes = dict(tables["attributes"][i] for i in sample.get("attributeIndices", []))
            self.samples.append((tables["stacks"][sample.get("stackIndex", 0)], attributes, weight))

    def total(self):
        return sum(weight for *_, weight in self.samples)


def plain(value, strings=()):
    """Converts an AnyValue to Python. The Collector puts resources' strings into the dictionary, too."""
    value = value or {}
    if "stringValueStrindex" in value:
        return strings[value["stringValueStrindex"]]
    for key in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if key in value:
            return value[key]
    if "intValue" in value:
        return int(value["intValue"])
    return [plain(v, strings) for v in value.get("arrayValue", {}).get("values", [])]


def tables_of(dictionary):
    strings = dictionary.get("stringTable", [""])
    functions = dictionary.get("functionTable", [])
    attributes = [(strings[a.get("keyStrindex", 0)], plain(a.get("value")))
                  for a in dictionary.get("attributeTable", [])]
    locations = []
    for location in dictionary.get("locationTable", []):
        kind = dict(attributes[i] for i in location.get("attributeIndices", [])).get("profile.frame.type", "")
        frames = []
        for line in location.get("lines", []):
            function = functions[line.get("functionIndex", 0)]
            frames.append((strings[function.get("nameStrindex", 0)], strings[function.get("filenameStrindex", 0)],
                           int(line.get("line", 0)), kind))
        locations.append(frames)
    stacks = []
    for stack in dictionary.get("stackTable", []):
        frames = [f for i in stack.get("locationIndices", []) for f in locations[i]]
        stacks.append(frames[::-1])
    return {"strings": strings, "attributes": attributes, "stacks": stacks}


def decode(requests):
    """Returns the profiles of all requests; repeated ones, by id, only once."""
    found = {}
    for profile in all_profiles(requests):
        found.setdefault(profile.id.strip("0") or len(found), profile)
    return list(found.values())


def all_profiles(requests):
    for request in requests:
        tables = tables_of(request.get("dictionary", {}))
        for of_resource in request.get("resourceProfiles", []):
            strings = tables["strings"]
            resource = {a.get("key") or strings[a.get("keyStrindex", 0)]: plain(a.get("value"), strings)
                        for a in of_resource.get("resource", {}).get("attributes", [])}
            for of_scope in of_resource.get("scopeProfiles", []):
                for data in of_scope.get("profiles", []):
                    yield Profile(resource, of_scope.get("scope", {}), data, tables)


def folded(name):
    """Returns the name as it is in folded text: programs of others, which are sampled, too, may have any."""
    return (h.printable(name) or "[unnamed]").replace(";", ":")


def leaves(profiles, kind="samples/count"):
    """Returns how often each function was the leaf, by its folded name."""
    found = collections.Counter()
    for p in profiles:
        if p.type == kind:
            for frames, _, weight in p.samples:
                found[folded(frames[-1][0] if frames else "")] += weight
    return found
