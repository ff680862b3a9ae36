"""The folder deploy: what can be tested of it without a container engine, and without systemd as the first process.

The proxy and the rules for Prometheus are tested in tests/service/test_proxy.py.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from evenhand.service.settings import KINDS, read_settings
from tests.waiting import until

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = re.sub(r"\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text())
INSTRUCTIONS = [line.split(maxsplit=1) for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]
UNIT = (DEPLOY / "evenhand.service").read_text()


@pytest.fixture(scope="module")
def compose():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: pip install pyyaml")
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def told(name):
    """Return the arguments of every instruction of this name."""
    return [rest for instruction, rest in INSTRUCTIONS if instruction == name]


def copied():
    """Return the files and folders that come from the repository."""
    return [one for rest in told("COPY") if not rest.startswith("--from") for one in rest.split()[:-1]]


def variables():
    """Return the environment of the container."""
    return dict(pair.split("=", 1) for rest in told("ENV") for pair in rest.split())


def test_every_file_that_the_image_is_made_of_is_there_and_not_ignored():
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert copied()
    for one in copied():
        assert (ROOT / one).exists(), one
        assert one in allowed, f"{one} is left out by .dockerignore"
    assert sorted(allowed) == sorted(copied())


def test_the_image_has_two_stages_of_one_pinned_base_and_no_root():
    (base,) = [rest for rest in told("ARG") if rest.startswith("PYTHON=")]
    assert re.fullmatch(r"PYTHON=3\.\d+\.\d+-slim-\w+", base)
    assert [rest.split()[0] for rest in told("FROM")] == ["python:${PYTHON}"] * 2
    names = [instruction for instruction, _ in INSTRUCTIONS]
    assert names.index("USER") < names.index("CMD")
    assert told("USER") == ["10001"]
    assert told("HEALTHCHECK")
    assert told("RUN")[0] == "sh deploy/install.sh /opt/evenhand"
    assert json.loads(told("CMD")[0]) == ["evenhand", "serve"]


def test_the_container_finds_settings_that_are_ours():
    environment = variables()
    for name in environment:
        if name.startswith("EVENHAND_"):
            assert name == "EVENHAND_SETTINGS" or name.removeprefix("EVENHAND_").lower() in KINDS
    inside = environment.pop("EVENHAND_SETTINGS")
    assert f"deploy/service.toml {inside}" in told("COPY")
    found = read_settings(str(DEPLOY / "service.toml"), environment)
    assert found["host"] == "0.0.0.0"
    assert found["store"].startswith(told("VOLUME")[0] + "/")
    assert found["print_keys"] is False, "the log of a container is kept"


def test_compose_starts_the_service_on_a_database_that_is_healthy(compose):
    services = compose["services"]
    found = read_settings(str(DEPLOY / "compose.toml"), {})
    url = urlsplit(found["store"])
    database, service = services[url.hostname], services["service"]
    assert re.fullmatch(r"postgres:\d+\.\d+-\w+", database["image"])
    assert database["environment"]["POSTGRES_USER"] == url.username
    assert database["environment"]["POSTGRES_DB"] == url.path.removeprefix("/")
    assert database["environment"]["POSTGRES_PASSWORD_FILE"] == found["password_file"]
    assert url.password is None
    assert found["print_keys"] is False
    (secret,) = compose["secrets"]
    assert found["password_file"] == f"/run/secrets/{secret}"
    assert database["secrets"] == service["secrets"] == [secret]
    assert database["healthcheck"]["test"][0] == "CMD"
    assert service["depends_on"] == {url.hostname: {"condition": "service_healthy"}}
    assert f"./compose.toml:{variables()['EVENHAND_SETTINGS']}:ro" in service["volumes"]
    named = {one.split(":")[0] for each in services.values() for one in each["volumes"] if not one.startswith(".")}
    assert named == set(compose["volumes"])
    assert f"service:{told('VOLUME')[0]}" in service["volumes"]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["ports"] == ["127.0.0.1:8000:8000"]
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()


def test_no_secret_is_in_the_repository(compose):
    place = compose["secrets"]["database_password"]["file"]
    assert place.startswith("./secrets/")
    assert "deploy/secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    assert "PASSWORD:" not in (DEPLOY / "compose.yaml").read_text()


def test_the_unit_serves_with_settings_that_are_ours():
    (command,) = re.findall(r"^ExecStart=(.*)$", UNIT, re.MULTILINE)
    program, *words = command.split()
    assert program.endswith("/bin/evenhand")
    assert words == ["serve", "--settings", "/etc/evenhand/service.toml"]
    found = read_settings(str(DEPLOY / "service.toml"), {})
    assert "StateDirectory=evenhand" in UNIT
    assert found["store"].startswith("/var/lib/evenhand/")
    assert "host" not in found  # it is reached from the machine itself, until somebody says otherwise


def test_systemd_finds_no_fault_with_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt-get install systemd")
    unit = tmp_path / "evenhand.service"
    unit.write_text(UNIT.replace("/opt/evenhand/bin/evenhand", sys.executable))
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (verified.returncode, verified.stderr) == (0, "")
    judged = ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit]
    found = subprocess.run(judged, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-500:]
    spoiled = tmp_path / "spoiled.service"
    spoiled.write_text(UNIT.replace("Restart=on-failure", "Restart=perhaps"))
    assert subprocess.run(["systemd-analyze", "verify", spoiled], capture_output=True, text=True).stderr


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_what_the_image_is_made_of_serves_with_keys_made_on_the_machine(tmp_path):
    context, place = tmp_path / "context", tmp_path / "installed"
    for one in copied():
        (context / one).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / one).is_dir():
            shutil.copytree(ROOT / one, context / one, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / one, context / one)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("EVENHAND", "PYTHON"))}
    install = told("RUN")[0].replace("/opt/evenhand", str(place)).split()
    subprocess.run(install, cwd=context, env=clean | {"PIP_NO_COMPILE": "0"}, check=True)  # 0: does not, for speed
    settings = tmp_path / "service.toml"
    settings.write_text((DEPLOY / "service.toml").read_text().replace("/var/lib/evenhand", str(tmp_path)))
    more = {
        "EVENHAND_SETTINGS": str(settings),
        "EVENHAND_PORT": "0",
        "NUMBA_CACHE_DIR": str(tmp_path / "compiled"),
    }
    command = [str(place / "bin" / json.loads(told("CMD")[0])[0]), *json.loads(told("CMD")[0])[1:]]
    with open(tmp_path / "printed", "w") as printed:
        process = subprocess.Popen(command, cwd=tmp_path, env=clean | more, stdout=printed, stderr=printed)
    try:
        check = json.loads(told("HEALTHCHECK")[0].split("CMD ", 1)[1])

        def port():
            printed = (tmp_path / "printed").read_text()
            assert process.poll() is None, printed
            return re.search(r"http://\S+:(\d+)", printed)

        port = until(port, 0.1).group(1)
        check[-1] = check[-1].replace(":8000", f":{port}")
        until(lambda: subprocess.run(check, capture_output=True).returncode == 0, 0.2)
        add = [command[0], "keys", str(tmp_path / "studies.evenhand"), "add", "--role", "read", "--json"]
        made = subprocess.run(add, env=clean | more, capture_output=True, check=True)
        headers = {"Authorization": f"Bearer {json.loads(made.stdout)['key']}"}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/studies", headers=headers)
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer) == {"studies": [], "unreadable": []}
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert "eh_" not in (tmp_path / "printed").read_text()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
