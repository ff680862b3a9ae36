"""deploy/nginx.conf in front of a service, and deploy/prometheus.rules.yaml beside its metrics."""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from evenhand.studies.statistics.gauges import LATE
from tests.waiting import until

ROOT = Path(__file__).parents[2]
CONFIGURATION = (ROOT / "deploy" / "nginx.conf").read_text()
RULES = (ROOT / "deploy" / "prometheus.rules.yaml").read_text()
PLACES = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
"""What nginx keeps temporary files of, by default in a folder of root's."""
ASK = "POST /studies/ads/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def changed(text, *changes):
    """Return the configuration with other values, each of which must be there once."""
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A folder with a certificate for localhost, signed by itself."""
    for program in ("nginx", "openssl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: apt-get install nginx-light openssl")
    folder = tmp_path_factory.mktemp("tls")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", folder / "key.pem", "-out", folder / "certificate.pem"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, *files]
    subprocess.run(command, check=True, capture_output=True)
    return folder


class Proxied:
    """A proxy on a free port, and a client that trusts its certificate."""

    def __init__(self, port, certificate):
        self.port, self.context = port, ssl.create_default_context(cafile=str(certificate / "certificate.pem"))
        self.http = httpx.Client(base_url=f"https://localhost:{port}", verify=self.context, trust_env=False, timeout=60)

    def connected(self):
        """A connection on which nothing is sent yet."""
        bare = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        return self.context.wrap_socket(bare, server_hostname="localhost")


@pytest.fixture
def proxied(served, certificate, tmp_path):
    """Start the proxy in front of the service, with changes to its configuration."""

    @contextmanager
    def start(*changes):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        places = "".join(f"{name}_temp_path {tmp_path}/{name};\n" for name in PLACES)
        text = changed(
            CONFIGURATION,
            ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
            ("server 127.0.0.1:8000;", f"server 127.0.0.1:{urlsplit(served.url).port};"),
            ("/etc/evenhand/tls/certificate.pem", f"{certificate}/certificate.pem"),
            ("/etc/evenhand/tls/key.pem", f"{certificate}/key.pem"),
            ("worker_processes auto;", "worker_processes 1;"),
            ("    server_tokens off;", f"    {places}    server_tokens off;"),
            *changes,
        )
        (tmp_path / "nginx.conf").write_text(text)
        alone = "daemon off; pid nginx.pid; error_log error.log;" + (" user root;" if os.getuid() == 0 else "")
        command = ["nginx", "-p", tmp_path, "-e", "error.log", "-c", "nginx.conf", "-g", alone]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            try:
                proxy = Proxied(port, certificate)

                def answers():
                    assert process.poll() is None, process.stderr.read()
                    with suppress(httpx.TransportError):
                        return proxy.http.get("/livez").status_code in (200, 429)

                until(answers, 0.02)
                yield proxy
                proxy.http.close()
            finally:
                process.terminate()

    return start


def answer(connection):
    """Return all that is received until the connection is closed."""
    received = b""
    with suppress(ConnectionError, ssl.SSLError):
        while part := connection.recv(2**16):
            received += part
    return received


def test_a_study_is_talked_to_through_the_proxy_and_its_metrics_are_not_shown(served, proxied):
    with proxied() as proxy:
        keys = {role: {"Authorization": f"Bearer {key}"} for role, key in served.keys.items()}
        asked = proxy.http.post("/studies/ads/ask", json={"count": 3}, headers=keys["decide"]).json()["decisions"]
        rows = [{"ticket": one["ticket"], "reward": 1.0} for one in asked]
        told = proxy.http.post("/studies/ads/tell", json={"batch": rows}, headers=keys["report"]).json()["results"]
        assert [one["status"] for one in told] == ["told"] * 3
        state = proxy.http.get("/studies/ads", headers=keys["read"])
        assert (state.json()["told"], len(state.headers["X-Request-Id"])) == (3, 32)
        assert proxy.http.get("/").headers["Content-Type"].startswith("text/html")
        assert proxy.http.get("/metrics", headers=keys["read"]).status_code == 404
        large = proxy.http.post("/studies/ads/ask", content=b" " * (9 * 2**20), headers=keys["decide"])
        assert large.status_code == 413
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as plain:
            plain.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert answer(plain).startswith(b"HTTP/1.1 400"), "nothing is said without TLS"
    assert served.read("/studies/ads")["decisions"] == 3


@pytest.mark.parametrize(
    "part", ["P", ASK, f"{ASK}Content-Length: 20\r\n\r\n{{"], ids=["a letter", "half a head", "half a body"]
)
def test_who_is_slow_is_cut_off_before_the_service_hears_of_it(served, proxied, part):
    soon = [(f"client_{what}_timeout 20s;", f"client_{what}_timeout 200ms;") for what in ("header", "body")]
    with proxied(*soon) as proxy, proxy.connected() as slow:
        slow.sendall(part.encode())
        received = answer(slow)
        assert received == b"" or received.startswith(b"HTTP/1.1 408")
        assert "/studies/{name}/ask" not in {line["route"] for line in served.lines()}
        assert proxy.http.get("/livez").status_code == 200


def test_an_address_has_so_many_connections_and_no_more(proxied):
    few = ("limit_conn connections 100;", "limit_conn connections 3;")
    with proxied(few) as proxy, ExitStack() as held:
        for _ in range(3):
            held.enter_context(proxy.connected()).sendall(f"{ASK}Content-Length: 20\r\n\r\n{{".encode())
        until(lambda: proxy.http.get("/livez").status_code == 429)


# ---------------------------------------------------------------------- what is watched


def families(served):
    text = served.send("read", "GET", "/metrics").text
    return {family.name for family in text_string_to_metric_families(text)}


def test_every_rule_is_about_a_gauge_that_there_is(served):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: pip install pyyaml")
    (group,) = yaml.safe_load(RULES)["groups"]
    assert len(group["rules"]) == len({rule["alert"] for rule in group["rules"]}) > 5
    for rule in group["rules"]:
        (name,) = re.findall(r"evenhand_\w+", rule["expr"])
        assert name in families(served)
        assert set(map(int, re.findall(r'seconds="(\d+)"', rule["expr"]))) <= set(LATE)
        assert "{{ $labels.study }}" in rule["annotations"]["summary"]


def test_the_gauges_of_the_documentation_are_those_that_there_are(served):
    told = set(re.findall(r"evenhand_\w+", (ROOT / "docs" / "service.md").read_text()))
    gauges = {name for name in families(served) if not name.startswith(("evenhand_request", "evenhand_refusals"))}
    assert told == gauges - {"evenhand_decisions", "evenhand_tells", "evenhand_forgotten"}
