"""Runs the Go client of ../go against the same system. Its stubs come from the stock Go generators."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import stock
from pages import blocks

HERE = pathlib.Path(__file__).resolve().parents[1]
PROTOS = HERE.parents[1] / "proto"
MODULE = "quartet.test/polyglot"
IMPORTS = ["context", "sync", "time", "github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/aws-sdk-go-v2/service/sts"]

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")


@pytest.fixture(scope="module")
def module():
    """A copy of the Go module in the cache, with generators built and stubs beside it."""
    directory = HERE / ".cache" / "go"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(HERE / "go", directory)
    tools = directory / "bin"
    generators = ["google.golang.org/protobuf/cmd/protoc-gen-go", "google.golang.org/grpc/cmd/protoc-gen-go-grpc"]
    subprocess.run(["go", "build", "-o", f"{tools}/", *generators], cwd=directory, check=True)
    names = sorted(str(path.relative_to(PROTOS)) for path in (PROTOS / "quartet").rglob("*.proto"))
    packages = ",".join(f"M{name}={MODULE}/stubs/{os.path.dirname(name)}" for name in names)
    (directory / "stubs").mkdir()
    command = [sys.executable, "-m", "grpc_tools.protoc", "--proto_path=."]
    for kind in ("go", "go-grpc"):
        command += [
            f"--plugin=protoc-gen-{kind}={tools}/protoc-gen-{kind}",
            f"--{kind}_out={directory}/stubs",
            f"--{kind}_opt=paths=source_relative,{packages}",
        ]
    subprocess.run([*command, *names], cwd=PROTOS, check=True)
    [token] = blocks(HERE.parents[1] / "docs" / "how-to" / "grpc.md", "go")
    lines = [f'\t"{name}"' for name in IMPORTS]
    (directory / "token.go").write_text("\n".join(["package polyglot", "import (", *lines, ")", token]))
    return directory


def test_the_go_client_passes(module, system):
    key = system.credentials()
    environment = {
        **stock.environment_of(system.urls["gateway"], key["accessKeyId"], key["secretAccessKey"]),
        "QUARTET_TOKEN": system.token(),
        "QUARTET_GATEWAY_ADDRESS": system.urls["all"].removeprefix("http://"),
    }
    for service in ("customer-profile", "refactoring-workspace", "event-bus", "object-storage"):
        variable = f"QUARTET_{service.upper().replace('-', '_')}_ADDRESS"
        environment[variable] = system.urls[service].removeprefix("http://")
    finished = subprocess.run(
        ["go", "test", "-count=1", "-mod=readonly", "."], cwd=module, env=environment, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
