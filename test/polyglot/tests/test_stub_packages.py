"""The packages of stubs that `npm run stubs` writes: the Python one installed and used, the Go one compiled."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]
NODE = str(ROOT / "node_modules" / ".bin" / "node")

CALL = """
import sys
import grpc
from importlib.metadata import version
from quartet.eventbus.v1 import event_bus_service_pb2 as messages, event_bus_service_pb2_grpc as service
address, token = sys.argv[1:]
stub = service.EventBusServiceStub(grpc.insecure_channel(address))
request = messages.ListEventBusesRequest(name_prefix="default")
answer = stub.ListEventBuses(request, metadata=[("authorization", f"Bearer {token}")])
print(version("quartet-stubs"), service.__file__, *[bus.name for bus in answer.event_buses])
"""


def write_stubs(out: pathlib.Path, *options: str) -> None:
    script = ROOT / "gateway" / "exports" / "stubs-main.ts"
    subprocess.run([NODE, script, "--out", out, "--python", sys.executable, *options], check=True)


def test_the_python_package_is_installed_and_calls(tmp_path, system):
    write_stubs(tmp_path)
    installed = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--target", installed, tmp_path / "python"], check=True)
    address = system.urls["all"].removeprefix("http://")
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", CALL, address, system.token()]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()
    version = json.loads((ROOT / "package.json").read_text())["version"]
    module = installed / "quartet" / "eventbus" / "v1" / "event_bus_service_pb2_grpc.py"
    assert printed == [version, str(module), "default"]
    names = {str(path.relative_to(installed)) for path in installed.rglob("*")}
    assert {"quartet/py.typed", "quartet/eventbus/v1/event_bus_service_pb2.pyi"} <= names
    assert not [name for name in names if "storage/v1" in name and "objectstorage/v1" not in name]


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_the_go_module_compiles(tmp_path):
    plugins = tmp_path / "plugins"
    generators = ["google.golang.org/protobuf/cmd/protoc-gen-go", "google.golang.org/grpc/cmd/protoc-gen-go-grpc"]
    subprocess.run(["go", "build", "-o", f"{plugins}/", *generators], cwd=HERE / "go", check=True)
    write_stubs(tmp_path, "--go-plugins", str(plugins))
    module = tmp_path / "go"
    shutil.copy(HERE / "go" / "go.sum", module)
    subprocess.run(["go", "build", "-mod=mod", "./..."], cwd=module, check=True)
    packages = subprocess.run(["go", "list", "./..."], cwd=module, check=True, capture_output=True, text=True).stdout
    assert "quartet/stubs/quartet/eventbus/v1\n" in packages
