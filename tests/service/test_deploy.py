"""The files in deploy/: each is checked by the tool that reads it, and used where that is possible on one machine."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement
from prometheus_client.parser import text_string_to_metric_families
from typer.main import get_command

from matroid_bandits.cli import app
from matroid_bandits.service import Database, Settings, create_key
from service_kit import counted, create, serving, until
from service_visitors import free_ports

pytestmark = pytest.mark.compiled

DEPLOY = Path(__file__).parents[2] / "deploy"


def tool(name, package):
    """Where a program is; a test that needs one that is missing is left out, and says what to install."""
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if path is None:
        pytest.skip(f"left out: needs {name} ({package})")
    return path


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The names of all figures that a server tells; of counts that nothing was counted for, too."""
    with serving(str(tmp_path_factory.mktemp("deploy") / "campaigns.db")) as client:
        at = create(client, holdout=0.5)
        for number in range(4):  # so many that the uplift is known
            asked = client.post(f"{at}/ask/batch", json={"requests": [{}] * 100}).json()["decisions"]
            answers = [
                {"decision": each["decision"], "weights": {e: float(k % 3 == number % 3) for e in each["items"]}}
                for k, each in enumerate(asked)
            ]
            assert client.post(f"{at}/tell/batch", json={"answers": answers}).status_code == 200
        page = client.get("/metrics").text
    names = {sample.name for family in text_string_to_metric_families(page) for sample in family.samples}
    return names | {f"{name}_total" for name in re.findall(r"^# TYPE (\S+)_total counter", page, re.MULTILINE)}


def figures_in(text):
    return set(re.findall(r"\b(?:matroid_bandits|process)_[a-z_]+\b", text))


def test_every_figure_of_the_board_is_told(told):
    board = json.loads((DEPLOY / "grafana.json").read_text())
    panels = board["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    queries += [variable["query"] for variable in board["templating"]["list"]]
    used = set().union(*map(figures_in, queries))
    assert used - {"matroid_bandits"} <= told
    assert {"matroid_bandits_decisions_total", "matroid_bandits_weight_sum", "matroid_bandits_stopped"} <= used
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)


def test_every_figure_of_the_rules_is_told(told):
    used = figures_in(re.sub(r"summary:.*", "", (DEPLOY / "alerts.yaml").read_text()))
    assert used <= told
    assert len(used) >= 8


def test_the_queries_of_the_board_and_the_rules_are_promql(tmp_path):
    promtool = tool("promtool", "apt-get install prometheus")
    run(promtool, "check", "rules", str(DEPLOY / "alerts.yaml"))
    run(promtool, "test", "rules", str(DEPLOY / "alerts.test.yaml"))
    board = json.loads((DEPLOY / "grafana.json").read_text())
    rules = [
        {"record": f"panel:{panel['id']}:{k}", "expr": _filled_in(target["expr"])}
        for panel in board["panels"]
        for k, target in enumerate(panel["targets"])
    ]
    (tmp_path / "board.json").write_text(json.dumps({"groups": [{"name": "board", "rules": rules}]}))
    run(promtool, "check", "rules", str(tmp_path / "board.json"))
    config = (DEPLOY / "prometheus.yaml").read_text()
    key = "/etc/prometheus/matroid-bandits.key"
    assert key in config
    (tmp_path / "key").touch()
    (tmp_path / "prometheus.yaml").write_text(config.replace(key, str(tmp_path / "key")))
    shutil.copy(DEPLOY / "alerts.yaml", tmp_path)
    run(promtool, "check", "config", str(tmp_path / "prometheus.yaml"))


def _filled_in(expression):
    return expression.replace("$__rate_interval", "5m").replace("$campaign", ".*")


def test_prometheus_takes_what_a_server_tells(tmp_path):
    promtool = tool("promtool", "apt-get install prometheus")
    with serving(str(tmp_path / "campaigns.db")) as client:
        at = create(client)
        client.post(f"{at}/ask")
        page = client.get("/metrics").text
    done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr  # 3: it would have other names, as without a unit
    assert "error" not in done.stderr.lower().replace("database_errors", "")


def test_the_unit_is_one_that_systemd_takes(tmp_path):
    verify = tool("systemd-analyze", "apt-get install systemd")
    program = tmp_path / "matroid-bandits"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = (DEPLOY / "matroid-bandits.service").read_text()
    command = re.search(r"^ExecStart=(\S+) (.*)$", text, re.MULTILINE)
    _check_command(command[2])
    (tmp_path / "matroid-bandits.service").write_text(text.replace(command[1], str(program)))
    said = run(verify, "verify", str(tmp_path / "matroid-bandits.service"))
    assert "matroid-bandits.service" not in said


def _check_command(arguments):
    """Raise unless the command line takes these arguments."""
    name, *options = arguments.split()
    get_command(app).commands[name].make_context(name, options)


def test_the_image_is_made_of_files_that_are_there():
    text = (DEPLOY / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE):
        for file in line.split():
            assert (DEPLOY.parent / file).exists(), file
    _check_command(re.search(r'^CMD \["(\w+)"\]', text, re.MULTILINE)[1])
    variables = set(re.findall(r"MATROID_BANDITS_(\w+)=", text))
    compose = (DEPLOY / "compose.yaml").read_text()
    variables |= set(re.findall(r"MATROID_BANDITS_(\w+):", compose))
    options = {param.name for param in get_command(app).commands["serve"].params}
    assert {name.lower() for name in variables} <= options
    extras = re.search(r"\.\[([\w,]+)\]", text)[1]
    for extra in extras.split(","):
        assert f"\n{extra} = [" in (DEPLOY.parent / "pyproject.toml").read_text()
    hadolint = shutil.which("hadolint")
    if hadolint is not None:
        run(hadolint, str(DEPLOY / "Dockerfile"))


def test_every_dependency_of_the_image_is_pinned():
    """Its requirements are versions, of all that its extras need, which pyproject.toml allows."""
    lines = [line for line in (DEPLOY / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    pinned = dict(line.split("==") for line in lines)
    names = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pinned.items()}
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    waiting, needed = [*project["dependencies"], *extras["serve"], *extras["archive"]], []
    while waiting:
        each = Requirement(waiting.pop())
        if each.name == "matroid-bandits":
            waiting += [one for extra in each.extras for one in extras[extra]]
        else:
            needed.append(each)
    for each in needed:
        assert each.specifier.contains(names[each.name]), each
    assert len(names) > len(needed)  # with what these need


def test_the_image_begins_with_kernels_that_are_compiled(tmp_path):
    """What compile.py leaves is copied by the entry point, and a server that plays compiles nothing more."""
    kernels, cache = tmp_path / "kernels", tmp_path / "state" / "numba"
    environment = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(kernels)}
    one_policy = f"import sys; sys.path[:0] = ['{DEPLOY}']; import compile as it; it.POLICIES = it.POLICIES[:1]; "
    play = one_policy + "it.main(*sys.argv[1:])"
    said = run(sys.executable, "-c", play, "uniform", env=environment)
    assert "uniform, OMM" in said
    program = tmp_path / "bin" / "matroid-bandits"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{play}" "$@"\n')
    program.chmod(0o755)
    environment |= {
        "KERNELS": str(kernels),
        "NUMBA_CACHE_DIR": str(cache),
        "PATH": f"{program.parent}:{os.environ['PATH']}",
    }
    made = {path.relative_to(kernels): path.read_bytes() for path in kernels.rglob("*.nb?")}
    assert len(made) > 20
    run("sh", str(DEPLOY / "entrypoint.sh"), "uniform", env=environment)
    assert {path.relative_to(cache): path.read_bytes() for path in cache.rglob("*.nb?")} == made


def test_compose_takes_the_file():
    environment = os.environ | {"DOMAIN": "bandits.example.com", "POSTGRES_PASSWORD": "secret"}
    said = run(
        tool("docker-compose", "apt-get install docker-compose"),
        "-f",
        str(DEPLOY / "compose.yaml"),
        "config",
        env=environment,
    )
    assert "postgresql://bandits:secret@database/bandits" in said


def test_the_replicas_of_kubernetes_drain_and_find_each_other(tmp_path):
    """Read by kubectl where there is one; and what it would start is started here, step by step."""
    yaml = pytest.importorskip("yaml")
    text = (DEPLOY / "kubernetes.yaml").read_text()
    parts = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(text)}
    found = {kind: each for (kind, name), each in parts.items() if name == "matroid-bandits"}
    assert {*found} == {"Deployment", "Service", "PodDisruptionBudget", "Ingress"}
    if (kubectl := shutil.which("kubectl")) is not None:
        (tmp_path / "kustomization.yaml").write_text("resources: [kubernetes.yaml]\n")
        shutil.copy(DEPLOY / "kubernetes.yaml", tmp_path)
        assert [each["kind"] for each in yaml.safe_load_all(run(kubectl, "kustomize", str(tmp_path)))]
    _check_stores(parts)
    spec = found["Deployment"]["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["replicas"] > 1
    for selector in (spec["selector"]["matchLabels"], found["Service"]["spec"]["selector"]):
        assert selector.items() <= labels.items()
    variables = {each["name"]: each.get("value") for each in container["env"]}
    options = {param.name for param in get_command(app).commands["serve"].params}
    own = {name.removeprefix("MATROID_BANDITS_").lower() for name in variables if name.startswith("MATROID_BANDITS_")}
    assert own <= options
    _check_command(" ".join(container["args"]))
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    told = Settings(advertise=variables["MATROID_BANDITS_ADVERTISE"].replace("$(POD_IP)", "10.0.0.7")).advertise
    assert told.endswith(f":{ports['http']}")
    assert pod["securityContext"]["runAsUser"] == int(
        re.search(r"USER (\d+)", (DEPLOY / "Dockerfile").read_text())[1]
    )
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > pause + 2 * Settings().drain
    with serving(str(tmp_path / "campaigns.db")) as client:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert container[probe]["httpGet"]["port"] in ports
            assert client.get(container[probe]["httpGet"]["path"]).status_code == 200
        client.service.drain()
        assert client.get(container["readinessProbe"]["httpGet"]["path"]).status_code == 503
        assert client.get(container["livenessProbe"]["httpGet"]["path"]).status_code == 200


def _check_stores(parts):
    """The database, the archive, the backups and the pod for commands fit each other, and no password is typed."""
    claims = {name for kind, name in parts if kind == "PersistentVolumeClaim"}
    claims |= {each["metadata"]["name"] for each in parts["StatefulSet", "postgres"]["spec"]["volumeClaimTemplates"]}
    pods = {
        name: each["spec"]["template"]["spec"]
        for (kind, name), each in parts.items()
        if kind in ("Deployment", "StatefulSet")
    }
    backup = parts["CronJob", "matroid-bandits-backup"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    for pod in (*pods.values(), backup):
        (container,) = pod["containers"]
        assert {*container["resources"]} == {"requests", "limits"}
        volumes = {each["name"]: each for each in pod.get("volumes", ())}
        used = [
            each["persistentVolumeClaim"]["claimName"] for each in volumes.values() if "persistentVolumeClaim" in each
        ]
        assert {*used} <= claims
        assert {each["name"] for each in container["volumeMounts"]} <= {*volumes, "data"}
        secret = {
            each["name"]: each["valueFrom"]["secretKeyRef"]
            for each in container["env"]
            if "secretKeyRef" in each.get("valueFrom", {})
        }
        assert [*secret.values()] == [{"name": "matroid-bandits", "key": "password"}]
        values = {each["name"]: each.get("value", "") for each in container["env"]}
        if pod is not pods["postgres"]:
            assert values["MATROID_BANDITS_DB"] == "postgresql://bandits:$(PASSWORD)@postgres/bandits"
            assert values["MATROID_BANDITS_ARCHIVE"].startswith("/archive/")
            assert ("Service", "postgres") in parts
    command = shlex.split(backup["containers"][0]["args"][0].splitlines()[0])
    assert command[:3] == ["matroid-bandits", "campaign", "backup"]
    get_command(app).commands["campaign"].commands["backup"].make_context("backup", command[3:])
    backend = parts["Ingress", "matroid-bandits"]["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    assert ("Service", backend["name"]) in parts


@pytest.fixture
def guarded(tmp_path):
    """A server with a key, and its campaign."""
    url = str(tmp_path / "campaigns.db")
    database = Database(url)
    database.open()
    key = create_key(database, "admin")
    database.close()
    with serving(url, key) as client:
        create(client)
        yield client


def _certificate(folder):
    openssl = tool("openssl", "apt-get install openssl")
    names = ["-subj", "/CN=bandits.example.com", "-addext", "subjectAltName=DNS:bandits.example.com,DNS:localhost"]
    pair = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    run(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, *pair)


def _check_proxy(address, key, started):
    """Ask, tell, follow a stream and sign in through a proxy."""
    with httpx.Client(base_url=address, verify=False, timeout=240.0) as client:
        end = time.monotonic() + 240.0
        while True:
            assert started.poll() is None, started.communicate()[0]
            try:
                if client.get("/healthz").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            assert time.monotonic() < end
            time.sleep(0.1)
        bearer = {"Authorization": f"Bearer {key}"}
        decision = client.post("/v1/campaigns/ads/ask", headers=bearer).json()
        body = {"decision": decision["decision"], "weights": [0.5, 0.5]}
        assert client.post("/v1/campaigns/ads/tell", json=body, headers=bearer).status_code == 200
        with client.stream("GET", "/v1/campaigns/ads/stream?after=0", headers=bearer) as stream:
            lines = stream.iter_lines()
            assert any(line == "event: created" for line in (next(lines) for _ in range(10)))  # as it comes
        origin = {"Origin": address}  # as a browser without Sec-Fetch-Site says it
        login = client.post("/login", data={"key": key}, headers=origin)
        assert login.status_code == 303, login.text
        assert "Secure" in login.headers["set-cookie"]  # it knows that the browser came by https
        assert client.get("/metrics", headers=bearer).status_code == 404


def test_nginx_serves_it_with_tls(guarded, tmp_path):
    nginx = tool("nginx", "apt-get install nginx-light")
    _certificate(tmp_path)
    port, plain = free_ports(2)
    text = (DEPLOY / "nginx.conf").read_text()
    for old, new in {
        "127.0.0.1:8080": f"127.0.0.1:{guarded.base_url.port}",
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "/etc/ssl/certs/bandits.example.com.pem": str(tmp_path / "cert.pem"),
        "/etc/ssl/private/bandits.example.com.key": str(tmp_path / "key.pem"),
    }.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "site.conf").write_text(text)
    folders = "".join(
        f"{kind}_temp_path {tmp_path}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "main.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log stderr; events {{}} "
        f"http {{ access_log off; {folders} include {tmp_path}/site.conf; }}"
    )
    command = [nginx, "-p", str(tmp_path), "-e", "stderr", "-c", str(tmp_path / "main.conf")]
    run(*command, "-t")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as started:
        try:
            _check_proxy(f"https://localhost:{port}", guarded.headers["Authorization"].split()[1], started)
            moved = httpx.get(f"http://127.0.0.1:{plain}/x", headers={"Host": "bandits.example.com"})
            assert (moved.status_code, moved.headers["location"]) == (301, "https://bandits.example.com/x")
        finally:
            started.terminate()  # with its workers


def test_a_proxy_that_hashes_names_saves_the_hop(tmp_path):
    """Each campaign's requests come to one server, which is given its lease; as nginx and Caddy are set up here."""
    nginx = tool("nginx", "apt-get install nginx-light")
    url, port = str(tmp_path / "campaigns.db"), free_ports(1)[0]
    with serving(url) as one, serving(url) as two:
        for name in "abcdefgh":
            create(one, name)
        until(lambda: all(two.service.leases.url_of(name) for name in "abcdefgh"))
        text = (DEPLOY / "nginx-many.conf").read_text()
        new = {"listen 8080;": f"listen 127.0.0.1:{port};"}
        new |= {f"127.0.0.1:{8081 + n}": f"127.0.0.1:{each.base_url.port}" for n, each in enumerate((one, two))}
        for old, value in new.items():
            assert old in text
            text = text.replace(old, value)
        (tmp_path / "site.conf").write_text(text)
        kinds = "client_body", "proxy", "fastcgi", "uwsgi", "scgi"
        folders = "".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
        (tmp_path / "main.conf").write_text(
            f"daemon off; pid {tmp_path}/pid; error_log stderr; events {{}} "
            f"http {{ access_log off; {folders} include {tmp_path}/site.conf; }}"
        )
        command = [nginx, "-p", str(tmp_path), "-e", "stderr", "-c", str(tmp_path / "main.conf")]
        run(*command, "-t")
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
            try:
                with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=240.0) as client:
                    until(lambda: _answers(client))
                    for name in "abcdefgh":
                        for _ in range(25):
                            assert client.post(f"/v1/campaigns/{name}/ask").status_code == 200
                    n_passed = counted(two.service, "passed_on_requests", result="answered")
                    assert n_passed % 25 == 0  # all requests of a campaign came to one server
                    assert 0 < n_passed < 200
                    held = len(one.service.leases.held)
                    one.service.leases._next_weighing = 0.0  # what it does every ten seconds
                    one.service.leases.look()
                    assert len(one.service.leases.held) == held - 1
                    assert client.get("/metrics").status_code == 404
            finally:
                started.terminate()


def _answers(client):
    try:
        return client.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False


def test_caddy_takes_the_file_for_many_servers():
    caddy = tool("caddy", "apt-get install caddy")
    run(caddy, "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile.many"))
    formatted = subprocess.run([caddy, "fmt", str(DEPLOY / "Caddyfile.many")], capture_output=True, text=True).stdout
    assert formatted == (DEPLOY / "Caddyfile.many").read_text()


def test_caddy_serves_it_with_tls(guarded, tmp_path):
    caddy = tool("caddy", "apt-get install caddy")
    _certificate(tmp_path)
    (port,) = free_ports(1)
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    environment |= {"DOMAIN": f"localhost:{port}", "UPSTREAM": f"127.0.0.1:{guarded.base_url.port}"}
    original = DEPLOY / "Caddyfile"
    run(caddy, "validate", "--adapter", "caddyfile", "--config", str(original), env=environment)
    formatted = subprocess.run([caddy, "fmt", str(original)], capture_output=True, text=True).stdout
    assert formatted == original.read_text()
    text = original.read_text().replace("encode gzip", f"tls {tmp_path}/cert.pem {tmp_path}/key.pem\n\tencode gzip")
    (tmp_path / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text)
    command = [caddy, "run", "--adapter", "caddyfile", "--config", str(tmp_path / "Caddyfile")]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as started:
        try:
            _check_proxy(f"https://localhost:{port}", guarded.headers["Authorization"].split()[1], started)
        finally:
            started.kill()  # it would wait for connections to end
