"""Clients that sign requests by version 2 in a header, where the installation accepts that."""

import pathlib
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

import pytest

import stock
from system import System

TOOLS = pathlib.Path(sys.executable).parent
SECONDS_MAX = 60


@pytest.fixture(scope="module")
def accepting():
    running = System({"gateway": {"signatureVersion2": "headers"}})
    yield running
    running.stop()


def run(*command, **options):
    finished = subprocess.run([str(part) for part in command], capture_output=True, timeout=SECONDS_MAX, **options)
    output = finished.stdout.decode(errors="replace") + finished.stderr.decode(errors="replace")
    assert finished.returncode == 0, f"{command}: {finished.returncode}\n{output}"
    return output


@pytest.fixture
def s3cmd(accepting, tmp_path):
    file = stock.s3cmd_file(tmp_path, accepting, signature_v2="True")
    return lambda *command: run(TOOLS / "s3cmd", "-c", file, "--no-progress", *command)


@pytest.fixture
def files(tmp_path):
    directory = tmp_path / "files"
    directory.mkdir()
    (directory / "a b+ü").write_bytes(b"small")
    (directory / "large").write_bytes(bytes(range(256)) * 50_000)
    return directory


def test_s3cmd_keeps_files(s3cmd, files, tmp_path):
    s3cmd("mb", "s3://old-s3cmd")
    s3cmd("sync", f"{files}/", "s3://old-s3cmd/", "--multipart-chunk-size-mb=5")
    s3cmd("cp", "s3://old-s3cmd/large", "s3://old-s3cmd/copy", "--add-header=x-amz-meta-who:zoe")
    assert "x-amz-meta-who: zoe" in s3cmd("info", "s3://old-s3cmd/copy")
    s3cmd("get", "s3://old-s3cmd/a b+ü", "s3://old-s3cmd/copy", f"{tmp_path}/")
    assert (tmp_path / "a b+ü").read_bytes() == b"small"
    assert (tmp_path / "copy").read_bytes() == (files / "large").read_bytes()
    s3cmd("del", "--recursive", "--force", "s3://old-s3cmd")
    s3cmd("rb", "s3://old-s3cmd")


@pytest.mark.skipif(shutil.which("s3") is None, reason="libs3 is not installed; .ci/run installs it")
def test_libs3_keeps_files(accepting, files, tmp_path):
    key, host = accepting.credentials(), urllib.parse.urlsplit(accepting.urls["gateway"]).netloc
    environment = {
        "S3_ACCESS_KEY_ID": key["accessKeyId"],
        "S3_SECRET_ACCESS_KEY": key["secretAccessKey"],
        "S3_HOSTNAME": host,
    }
    s3 = lambda *command: run("s3", "-u", *command, env=environment)  # noqa: E731
    s3("create", "old-libs3")
    s3("put", "old-libs3/a b+ü", f"filename={files / 'a b+ü'}", "contentType=text/plain", "x-amz-meta-who=zoe")
    s3("put", "old-libs3/large", f"filename={files / 'large'}")
    s3("copy", "old-libs3/large", "old-libs3/copy")
    assert "x-amz-meta-who: zoe" in s3("head", "old-libs3/a b+ü")
    s3("get", "old-libs3/copy", f"filename={tmp_path / 'copy'}")
    assert (tmp_path / "copy").read_bytes() == (files / "large").read_bytes()
    listed = s3("list", "old-libs3")
    assert "copy" in listed and "large" in listed
    s3("getacl", "old-libs3", f"filename={tmp_path / 'acl'}")
    assert "FULL_CONTROL" in (tmp_path / "acl").read_text()
    for name in ("a b+ü", "copy", "large"):
        s3("delete", f"old-libs3/{name}")
    s3("delete", "old-libs3")


def test_others_are_told_which_version_to_use(system):
    request = urllib.request.Request(f"{system.urls['gateway']}/", headers={"Authorization": "AWS AKIA:c2ln"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=SECONDS_MAX)
    assert refused.value.code == 400
    assert b"Please use AWS4-HMAC-SHA256" in refused.value.read()
