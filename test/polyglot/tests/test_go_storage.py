"""Runs the Go clients of object storage in ../go-storage: minio-go, the official SDK and Thanos' acceptance test."""

import os
import pathlib
import shutil
import subprocess

import pytest

MODULE = pathlib.Path(__file__).resolve().parents[1] / "go-storage"

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    built = tmp_path_factory.mktemp("go") / "storage.test"
    subprocess.run(["go", "test", "-c", "-mod=readonly", "-o", built, "."], cwd=MODULE, check=True)
    return built


@pytest.mark.parametrize("test", ["TestMinioClient", "TestSDK", "TestThanosAcceptance"])
def test_passes(program, system, test):
    key = system.credentials()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        "AWS_ENDPOINT_URL": system.urls["gateway"],
        "AWS_ACCESS_KEY_ID": key["accessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["secretAccessKey"],
    }
    finished = subprocess.run([program, "-test.run", f"^{test}$"], env=environment, capture_output=True, text=True)
    assert finished.returncode == 0 and "no tests to run" not in finished.stdout, finished.stdout + finished.stderr
