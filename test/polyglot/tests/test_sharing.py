"""Users with few rights and the tools that they have already: the aws command line and rclone."""

import pathlib
import shutil
import subprocess
import sys

import pytest

import stock
from system import System

TOOLS = pathlib.Path(sys.executable).parent
SECONDS_MAX = 60
BUCKET, OBJECTS = "arn:aws:s3:::homes", "arn:aws:s3:::homes/*"
HOME = [
    {
        "Effect": "Allow",
        "Action": "s3:ListBucket",
        "Resource": BUCKET,
        "Condition": {"StringLike": {"s3:prefix": "alice/*"}},
    },
    {
        "Effect": "Allow",
        "Action": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"],
        "Resource": "arn:aws:s3:::homes/alice/*",
    },
]
READING = [{"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": [BUCKET, OBJECTS]}]


def user(name, statements):
    policy = {"Version": "2012-10-17", "Statement": statements}
    return {"name": name, "policies": [policy], "accessKeys": [{"id": f"QKIA{name.upper()}", "secret": f"{name}-secret"}]}


@pytest.fixture(scope="module")
def sharing():
    account = {"accessKeys": [{"id": "QKIASHOP", "secret": "shop-secret"}]}
    account["users"] = [user("alice", HOME), user("rita", READING)]
    running = System({"accounts": {"111122223333": account}})
    yield running
    running.stop()


@pytest.fixture(scope="module")
def run(sharing):
    """Runs a tool as a user and returns its exit code and what it printed."""

    def call(name, *command):
        environment = stock.environment_of(sharing.urls["gateway"], f"QKIA{name.upper()}", f"{name}-secret")
        finished = subprocess.run(
            [str(part) for part in command], env=environment, capture_output=True, text=True, timeout=SECONDS_MAX
        )
        return finished.returncode, finished.stdout + finished.stderr

    return call


@pytest.fixture(scope="module")
def homes(run, tmp_path_factory):
    """A bucket with a file of Bob's, and a directory with files of Alice's."""
    directory = tmp_path_factory.mktemp("files")
    (directory / "letters").mkdir()
    for name in ("diary", "letters/one", "letters/two"):
        (directory / name).write_text(name)
    assert run("shop", TOOLS / "aws", "s3", "mb", "s3://homes")[0] == 0
    assert run("shop", TOOLS / "aws", "s3", "cp", directory / "diary", "s3://homes/bob/diary")[0] == 0
    return directory


def test_aws_syncs_a_home_and_nothing_else(run, homes, tmp_path):
    code, output = run("alice", TOOLS / "aws", "s3", "sync", homes, "s3://homes/alice/")
    assert (code, output.count("upload:")) == (0, 3), output
    code, output = run("alice", TOOLS / "aws", "s3", "sync", "s3://homes/alice/", tmp_path)
    assert code == 0, output
    assert (tmp_path / "letters" / "two").read_text() == "letters/two"
    (homes / "letters" / "one").unlink()
    code, output = run("alice", TOOLS / "aws", "s3", "sync", "--delete", homes, "s3://homes/alice/")
    assert (code, output.count("delete:")) == (0, 1), output
    for target in ("s3://homes/bob/", "s3://homes/"):
        code, output = run("alice", TOOLS / "aws", "s3", "sync", homes, target)
        assert code != 0 and "AccessDenied" in output
    assert run("alice", TOOLS / "aws", "s3", "cp", "s3://homes/bob/diary", tmp_path / "diary")[0] != 0


@pytest.mark.skipif(shutil.which("rclone") is None, reason="rclone is not installed")
def test_rclone_reads_and_writes_nothing(run, homes, tmp_path):
    code, output = run("rita", "rclone", "copy", "quartet:homes/bob", tmp_path)
    assert code == 0, output
    assert (tmp_path / "diary").read_text() == "diary"
    (tmp_path / "new").write_text("new")
    code, output = run("rita", "rclone", "copy", "--retries", "1", "--s3-no-check-bucket", tmp_path, "quartet:homes/bob")
    assert code != 0 and "AccessDenied" in output
    code, output = run("rita", "rclone", "deletefile", "--retries", "1", "quartet:homes/bob/diary")
    assert code != 0 and "AccessDenied" in output
    assert run("rita", "rclone", "cat", "quartet:homes/bob/diary") == (0, "diary")
