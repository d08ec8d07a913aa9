"""Runs the tests of the official SDK for Rust in ../rust."""

import os
import pathlib
import shutil
import subprocess

import pytest

from stock import environment_of

HERE = pathlib.Path(__file__).resolve().parents[1]

pytestmark = [
    pytest.mark.skipif(shutil.which("cargo") is None, reason="Rust's cargo is not installed"),
    pytest.mark.skipif(os.environ.get("QUARTET_ROUNDS") != "long", reason="minutes of compiling: QUARTET_ROUNDS=long"),
]


@pytest.mark.parametrize("name", ["object_storage", "other_services"])
def test_passes(system, name):
    key = system.credentials()
    environment = {
        **environment_of(system.urls["gateway"], key["accessKeyId"], key["secretAccessKey"]),
        "CARGO_TARGET_DIR": str(HERE / ".cache" / "rust"),
    }
    command = ["cargo", "test", "--locked", "--quiet", "--test", name]
    finished = subprocess.run(command, cwd=HERE / "rust", env=environment, capture_output=True, text=True)
    assert finished.returncode == 0 and "test result: ok. " in finished.stdout, finished.stdout + finished.stderr
