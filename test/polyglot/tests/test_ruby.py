"""Runs the tests of the SDK for Ruby in ../ruby."""

import os
import pathlib
import subprocess

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1] / "ruby" / "storage_test.rb"


def has_sdk():
    try:
        return subprocess.run(["ruby", "-e", 'require "aws-sdk-s3"'], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


pytestmark = pytest.mark.skipif(not has_sdk(), reason="the SDK for Ruby is not installed; .ci/run installs it")

NAMES = [
    "an_object_with_metadata_and_tags",
    "refusals_have_their_classes",
    "a_file_in_parts_and_back_in_ranges",
    "a_stream_of_unknown_length",
    "signed_addresses_and_forms",
    "versions_and_waiters",
    "a_query",
    "content_that_the_client_encrypts",
]


@pytest.mark.parametrize("name", NAMES)
def test_passes(system, name):
    key = system.credentials()
    environment = {
        **{variable: value for variable, value in os.environ.items() if not variable.startswith("AWS_")},
        "AWS_ENDPOINT_URL": system.urls["gateway"],
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": key["accessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["secretAccessKey"],
    }
    finished = subprocess.run(["ruby", TESTS, "--name", f"test_{name}"], env=environment, capture_output=True, text=True)
    assert finished.returncode == 0 and "\n1 runs, " in finished.stdout, finished.stdout + finished.stderr
