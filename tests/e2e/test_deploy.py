#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""deploy/: each file is accepted by its reader, names only options that krait agent has, and grants no right too
many: the agent samples with exactly the capabilities and the file system that the unit leaves it."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

import yaml

import collector
import harness as h

DEPLOY = os.path.join(h.ROOT, "deploy")
# Its exposure as rated by systemd, from 0 to 10 (here times 10); an agent that sees all processes cannot reach 0.
EXPOSURE_MOST = 45


def read(name):
    with open(os.path.join(DEPLOY, name), encoding="utf-8") as f:
        return f.read()


def settings(unit):
    """Returns {key: last value} of a unit."""
    return dict(line.split("=", 1) for line in unit.splitlines() if re.match(r"^[A-Z]\w+=", line))


def keys(text):
    return [line.split("=")[0].strip() for line in text.splitlines() if "=" in line.split("#")[0]]


def check_config(tap, name, text, options, folder):
    unknown = [k for k in keys(text) if k not in options]
    tap.ok(keys(text) and not unknown, name + ": has options of its command only", unknown)
    if "check-config" not in options:
        return
    path = os.path.join(folder, "agent.conf")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as f:
        f.write(text)
    done = h.run_krait("agent", "--check-config", "--config", path)
    tap.ok(done.returncode == 0, name + ": krait takes it", done.stdout, done.stderr)


def check_files(tap, folder):
    """A configuration that passes the check starts: also as to the files that it names."""
    token = os.path.join(folder, "token")
    for option in (["--listen", "9464", "--listen-token-file"], ["--otlp-endpoint", "http://127.0.0.1:1", "--export-token-file"]):
        if os.path.exists(token):
            os.remove(token)
        done = h.run_krait("agent", "--check-config", *option, token)
        tap.ok(done.returncode == 2 and token in done.stderr, option[-1] + ": one that is missing is refused", done.stderr)
        with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o644), "w", encoding="ascii") as f:
            f.write("token\n")
        os.chmod(token, 0o644)
        done = h.run_krait("agent", "--check-config", *option, token)
        tap.ok(done.returncode == 2 and token in done.stderr, option[-1] + ": so is one that everybody can read", done.stderr)
        os.chmod(token, 0o600)
        done = h.run_krait("agent", "--check-config", *option, token)
        tap.equal(done.returncode, 0, option[-1] + ": its owner's is fine", done.stderr)


def check_unit(tap, unit, folder):
    # /bin/kill, say, is in procps, which minimal systems lack.
    tap.ok(settings(unit)["ExecReload"].startswith("/bin/sh -c 'kill "), "unit: a reload needs no other package",
           settings(unit)["ExecReload"])
    tap.equal(settings(unit).get("KillMode"), "mixed", "unit: the agent ends before its workers do")
    path = os.path.join(folder, "krait-agent.service")
    program = os.path.abspath(h.KRAIT)
    with open(path, "w", encoding="utf-8") as f:
        f.write(unit.replace("/usr/local/bin/krait", program))
    if not shutil.which("systemd-analyze"):
        tap.skip("unit", "no systemd-analyze")
        return
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, encoding="utf-8", check=False)
    said = [line for line in done.stderr.splitlines() if "krait-agent" in line]
    tap.ok(done.returncode == 0 and not said, "unit: systemd has nothing to say", done.stderr)
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=%d" % EXPOSURE_MOST, path],
                          capture_output=True, encoding="utf-8", check=False)
    tap.ok(done.returncode == 0, "unit: exposure of %d at most" % EXPOSURE_MOST, done.stdout[-100:], done.stderr)


def check_broker(tap, folder):
    """The units of krait broker (test_broker.py runs it with the rights of one)."""
    if not shutil.which("systemd-analyze"):
        tap.skip("broker", "no systemd-analyze")
        return
    paths = []
    for name in "krait-broker.socket", "krait-broker.service", "krait-broker-all.socket":
        paths.append(os.path.join(folder, name))
        with open(paths[-1], "w", encoding="utf-8") as f:
            f.write(read(name).replace("/usr/local/bin/krait", os.path.abspath(h.KRAIT)))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, encoding="utf-8", check=False)
    said = [line for line in done.stderr.splitlines() if "krait-broker" in line]
    tap.ok(done.returncode == 0 and not said, "broker: systemd has nothing to say", done.stderr)
    listens = settings(read("krait-broker.socket"))["ListenSequentialPacket"]
    tap.ok(listens in h.run_krait("broker", "--help").stdout.replace("\n", ""), "broker: the socket is where krait looks", listens)


def check_rights(tap, unit, folder):
    """Runs with the unit's capabilities and a file system in which only its own folder is writable."""
    caps = [c[len("CAP_"):].lower() for c in settings(unit)["CapabilityBoundingSet"].split()]
    state = os.path.join(folder, "state")
    os.makedirs(state, mode=0o700)
    out = os.path.join(state, "x.data")
    script = 'mount --make-rprivate / && mount --bind "$1" "$1" && mount -o remount,bind,ro / && shift && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", script, "sh", state, "setpriv", "--no-new-privs", "--inh-caps=-all",
               "--bounding-set=-all," + ",".join("+" + c for c in caps), os.path.abspath(h.KRAIT), "agent",
               "--keep", "1h", "--keep-dir", os.path.join(state, "memory"), "-i", "1s", "-r", "97", "-d", "2s"]
    python = h.newest([p for p in h.all_interpreters() if p.root == "/" and not p.free_threaded])
    with h.start(python, "split.py", "rest"):
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS, check=False)
    tap.ok(done.returncode == 0, "unit: the agent runs with its rights", done.stderr)
    made = h.run_krait("agent", "snapshot", "--keep-dir", os.path.join(state, "memory"), "-o", out)
    hot = h.run_krait("report", out, "--function", "hot").stdout if made.returncode == 0 else ""
    tap.ok("hot" in hot, "unit: and samples", made.stderr, done.stderr)


def check_kubernetes(tap, unit, options, folder):
    objects = {o["kind"]: o for o in yaml.safe_load_all(read("kubernetes.yaml"))}
    pod = objects["DaemonSet"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    rights = container["securityContext"]
    wanted = {c[len("CAP_"):] for c in settings(unit)["CapabilityBoundingSet"].split()}
    tap.ok(set(rights["capabilities"]["add"]) == wanted and rights["capabilities"]["drop"] == ["ALL"],
           "kubernetes: the capabilities of the unit", rights["capabilities"])
    tap.ok(pod["hostPID"] and not rights["allowPrivilegeEscalation"] and rights["readOnlyRootFilesystem"]
           and not rights.get("privileged"), "kubernetes: the host's processes, and no more", rights)
    volumes = {v["name"] for v in pod["volumes"]}
    mounts = {m["name"]: m for m in container["volumeMounts"]}
    tap.ok(set(mounts) == volumes, "kubernetes: each volume is mounted", volumes, mounts)
    text = objects["Secret"]["stringData"]["agent.conf"]
    check_config(tap, "kubernetes", text, options, folder)
    written = re.findall(r"(?m)^(?:spool|keep-dir) = (\S+)$", text)
    tap.ok(written and all(w.startswith(mounts["state"]["mountPath"] + "/") for w in written),
           "kubernetes: writes where there is a volume", written)


def check_schema(tap):
    """By the schemas of Kubernetes, which kubeconform uses, too; the oldest and the newest that has what we name."""
    if not shutil.which("kubernetes-validate"):
        tap.skip("kubernetes: schemas", "no kubernetes-validate (pip install kubernetes-validate)")
        return
    for version in "1.30", "1.37":
        done = subprocess.run(["kubernetes-validate", "--strict", "-k", version, os.path.join(DEPLOY, "kubernetes.yaml")],
                              capture_output=True, text=True, check=False)
        tap.ok(done.returncode == 0, "kubernetes: each object fits the schema of " + version, done)


def check_container(tap):
    """The image is of what scripts/static writes, and starts what the unit starts."""
    text = read("Containerfile")
    with open(os.path.join(h.ROOT, "scripts", "static"), encoding="utf-8") as f:
        script = f.read()
    ours = [name for names in re.findall(r"(?m)^COPY (.+) \S+$", text) for name in names.split()]
    tap.ok(ours and all("dist/" + name in script or "/" + name in script for name in ours), "container: of what make static writes", ours)
    tap.equal(re.findall(r"(?m)^FROM (.*)", text), ["scratch"], "container: of nothing else")
    started = re.search(r'(?m)^CMD \["(.*)"\]', text)[1].split('", "')
    unit = settings(read("krait-agent.service"))["ExecStart"].split()
    tap.equal(started, unit[1:], "container: starts what the unit starts")


def check_collector(tap):
    config = yaml.safe_load(read("collector.yaml"))
    pipeline = config["service"]["pipelines"]["profiles"]
    tap.ok(pipeline["receivers"] == ["otlp"] and set(config["exporters"]) == {"file", "otlphttp"},
           "collector: one pipeline of profiles", pipeline)
    why = collector.why_missing()
    if why:
        tap.skip("collector: validates", why)
        return
    done = subprocess.run([collector.PROGRAM, "validate", "--feature-gates=service.profilesSupport", "--config",
                           "file:" + collector.CONFIG], capture_output=True, encoding="utf-8", check=False)
    tap.ok(done.returncode == 0, "collector: validates", done.stderr[-500:])


def check_prometheus(tap):
    job = yaml.safe_load(read("prometheus.yaml"))["scrape_configs"][0]
    listened = re.findall(r"(?m)^listen = (\S+)$", read("agent.conf"))
    tap.ok(job["static_configs"][0]["targets"][0] in listened, "prometheus: scrapes where the agent listens", job, listened)


def check_metrics(tap):
    """The job's path has what Prometheus reads: each line is a comment or a sample."""
    job = yaml.safe_load(read("prometheus.yaml"))["scrape_configs"][0]
    port = collector.free_port()
    command = [h.KRAIT, "agent", "-i", "1s", "--listen", "127.0.0.1:%d" % port, "--otlp-endpoint", "http://127.0.0.1:1"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8") as process:
        text = ""
        deadline = time.monotonic() + h.PATIENCE_SECS
        while "krait_" not in text and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.2)
            with contextlib.suppress(OSError):
                with urllib.request.urlopen("http://127.0.0.1:%d%s" % (port, job["metrics_path"])) as answer:
                    text = answer.read().decode()
        process.terminate()
        said = process.communicate(timeout=h.PATIENCE_SECS)[1]
    odd = [line for line in text.splitlines()
           if not re.match(r'#|[a-zA-Z_:][\w:]*(\{(\w+="([^"\\\n]|\\.)*",?)*\})? [-+0-9.eEnaifNI]+$', line)]
    tap.ok("krait_" in text and not odd, "prometheus: the agent has metrics there", odd[:5], said[-300:])
    known = set(re.findall(r"(?m)^# TYPE (\w+) ", text))
    for name in "prometheus-rules.yaml", "grafana-dashboard.json":
        used = set(re.findall(r"krait_\w+", read(name)))
        tap.ok(used and used <= known, name + ": reads metrics that there are", used - known)


def check_rules(tap):
    """Alerts say what happened and what to do; Prometheus's own tool reads them, where there is one."""
    rules = [r for g in yaml.safe_load(read("prometheus-rules.yaml"))["groups"] for r in g["rules"]]
    tap.ok(rules and all(r["alert"] and r["expr"] and {"summary", "description"} <= set(r["annotations"]) for r in rules),
           "alerts have words", rules)
    if not shutil.which("promtool"):
        tap.skip("alerts: promtool", "not here (Debian package prometheus)")
        return
    done = subprocess.run(["promtool", "check", "rules", os.path.join(DEPLOY, "prometheus-rules.yaml")], capture_output=True,
                          encoding="utf-8", check=False)
    tap.equal(done.returncode, 0, "alerts: promtool reads them", done.stderr)


def check_dashboard(tap):
    """What Grafana 9 and later need of a dashboard: ids, places that do not overlap, a source that the reader chooses."""
    board = json.loads(read("grafana-dashboard.json"))
    panels = board["panels"]
    cells = [(x, y) for p in panels for g in [p["gridPos"]] for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])]
    tap.ok(len(cells) == len(set(cells)) and max(x for x, _ in cells) == 23, "dashboard: no panel lies on another")
    tap.equal(sorted(p["id"] for p in panels), list(range(1, len(panels) + 1)), "dashboard: each panel has an id")
    names = {v["name"] for v in board["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(panels))) - {"__rate_interval"}
    tap.equal(used, names, "dashboard: the variables that it uses are its own")
    tap.ok(all(p["title"] and p["description"] and p["targets"] for p in panels), "dashboard: each panel says what it shows")


def main():
    tap = h.Tap()
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    unit = read("krait-agent.service")
    options = set(re.findall(r"--([a-z][a-z-]+)", h.run_krait("agent", "--help").stdout))
    check_config(tap, "agent.conf", read("agent.conf"), options, folder)
    check_files(tap, folder)
    check_unit(tap, unit, folder)
    known = set(re.findall(r"--([a-z][a-z-]+)", h.run_krait("broker", "--help").stdout))
    check_config(tap, "broker.conf", read("broker.conf"), known, folder)
    check_broker(tap, folder)
    check_kubernetes(tap, unit, options, folder)
    check_schema(tap)
    check_container(tap)
    check_collector(tap)
    check_prometheus(tap)
    check_rules(tap)
    check_dashboard(tap)
    if os.environ.get("KRAIT_CAN_BPF", "1" if os.geteuid() == 0 else "0") == "1":
        check_rights(tap, unit, folder)
        check_metrics(tap)
    else:
        tap.skip("unit: rights", "need root and BPF")
    shutil.rmtree(folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
