"""Programs that keep backups, mirrors and images in object storage, each through what its users do with it."""

import hashlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

SECONDS_MAX = 120
#: The kind of manifests that are pushed and asked for.
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
LARGE = bytes(range(256)) * 30_000


def needs(tool):
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed; .ci/run installs it")


@pytest.fixture(scope="module")
def environment(environment, tmp_path_factory):
    own = {
        **environment,
        "HOME": str(tmp_path_factory.mktemp("home")),
        "RESTIC_PASSWORD": "the password of the backups",
        "PASSPHRASE": "the password of the backups",
    }
    yield own
    # What encrypts for duplicity leaves an agent, which would stay as long as its directory.
    if shutil.which("gpgconf"):
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], env=own, check=True, timeout=SECONDS_MAX)


@pytest.fixture(scope="module")
def run(environment):
    """Runs a program and returns what it printed; a failure of it is one of the test."""

    def call(*command, further=None):
        finished = subprocess.run(
            [str(part) for part in command], env={**environment, **(further or {})}, capture_output=True, timeout=SECONDS_MAX
        )
        assert finished.returncode == 0, f"{command}: {finished.stdout.decode()}\n{finished.stderr.decode()}"
        return finished.stdout.decode()

    return call


@pytest.fixture
def bucket(s3, unique):
    name = f"backup-{unique}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    for number in range(40):
        file = root / f"folder {number % 4}" / f"{number} ü+%.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"file {number}\n" * number)
    (root / "large.bin").write_bytes(LARGE)
    return root


def contents(root: pathlib.Path) -> dict[str, bytes]:
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


@needs("restic")
def test_restic_keeps_restores_and_prunes_snapshots(run, system, bucket, tree, tmp_path):
    def restic(*command):
        return run("restic", "--no-cache", "-q", "-r", f"s3:{system.urls['gateway']}/{bucket}/restic", *command)

    first = contents(tree)
    restic("init")
    restic("backup", tree)
    (tree / "folder 1" / "1 ü+%.txt").write_text("changed")
    (tree / "large.bin").write_bytes(LARGE[::-1])
    restic("backup", tree)
    restic("check", "--read-data")
    older, newer = [snapshot["short_id"] for snapshot in json.loads(restic("snapshots", "--json"))]
    restic("restore", older, "--target", tmp_path / "older")
    assert contents(tmp_path / "older" / tree.relative_to("/")) == first
    restic("forget", older, "--prune")
    restic("check", "--read-data")
    restic("restore", newer, "--target", tmp_path / "newer")
    assert contents(tmp_path / "newer" / tree.relative_to("/")) == contents(tree)
    assert [snapshot["short_id"] for snapshot in json.loads(restic("snapshots", "--json"))] == [newer]


@needs("duplicity")
def test_duplicity_keeps_full_and_incremental_backups(run, system, bucket, tree, tmp_path):
    place = f"boto3+s3://{bucket}/duplicity"
    settings = ("--s3-endpoint-url", system.urls["gateway"], "--archive-dir", tmp_path / "archive")
    first = contents(tree)
    run("duplicity", "full", *settings, tree, place)
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime())
    # A backup is named by its second.
    time.sleep(1.1)
    (tree / "large.bin").write_bytes(LARGE + b"more")
    run("duplicity", "incremental", *settings, tree, place)
    run("duplicity", "verify", "--compare-data", *settings, place, tree)
    run("duplicity", "restore", *settings, place, tmp_path / "newer")
    assert contents(tmp_path / "newer") == contents(tree)
    run("duplicity", "restore", "--time", since, *settings, place, tmp_path / "older")
    assert contents(tmp_path / "older") == first


@needs("rclone")
def test_rclone_mirrors_both_ways_by_checksums(run, bucket, tree, tmp_path):
    place, back = f"quartet:{bucket}/mirror", tmp_path / "back"
    run("rclone", "sync", "--checksum", tree, place)
    run("rclone", "sync", "--checksum", place, back)
    assert contents(back) == contents(tree)
    # The same size and time, so that only the checksum differs.
    file = back / "folder 2" / "2 ü+%.txt"
    times = file.stat()
    file.write_text("FILE 2\n" * 2)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    (back / "folder 3" / "3 ü+%.txt").unlink()
    run("rclone", "sync", "--checksum", back, place)
    run("rclone", "sync", "--checksum", place, tree)
    assert contents(tree) == contents(back) and (tree / "folder 2" / "2 ü+%.txt").read_text().startswith("FILE")


@needs("rclone")
def test_rclone_encrypts_names_and_contents(run, s3, bucket, tree, tmp_path):
    secret = run("rclone", "obscure", "the password of the names").strip()
    further = {
        "RCLONE_CONFIG_SECRET_TYPE": "crypt",
        "RCLONE_CONFIG_SECRET_REMOTE": f"quartet:{bucket}/crypt",
        "RCLONE_CONFIG_SECRET_PASSWORD": secret,
    }
    run("rclone", "sync", tree, "secret:", further=further)
    run("rclone", "cryptcheck", tree, "secret:", further=further)
    keys = [item["Key"] for item in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert len(keys) == 41 and not any("folder" in key or "large" in key for key in keys)
    run("rclone", "copy", "secret:", tmp_path / "back", further=further)
    assert contents(tmp_path / "back") == contents(tree)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.fixture
def registry(system, environment, bucket, tmp_path):
    """A Docker registry that keeps its images in the bucket."""
    address = f"127.0.0.1:{free_port()}"
    settings = tmp_path / "registry.json"
    storage = {
        "s3": {
            "region": "us-east-1",
            "regionendpoint": system.urls["gateway"],
            "bucket": bucket,
            "secure": False,
            "v4auth": True,
            "chunksize": 5 * 1024 * 1024,
        },
        "delete": {"enabled": True},
        "redirect": {"disable": True},
    }
    settings.write_text(json.dumps({"version": "0.1", "storage": storage, "http": {"addr": address}, "log": {"level": "error"}}))
    process = subprocess.Popen(
        ["docker-registry", "serve", str(settings)], env=environment, stdout=subprocess.DEVNULL
    )
    try:
        for _attempt in range(600):
            try:
                urllib.request.urlopen(f"http://{address}/v2/", timeout=SECONDS_MAX).close()
                break
            except OSError:
                assert process.poll() is None, "the registry has ended"
                time.sleep(0.05)
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(SECONDS_MAX)


def ask(url: str, method: str = "GET", body: bytes | None = None, kind: str = "application/octet-stream"):
    """Headers and body of an answer, which must be a success."""
    request = urllib.request.Request(url, data=body, method=method, headers={"Content-Type": kind, "Accept": MANIFEST})
    with urllib.request.urlopen(request, timeout=SECONDS_MAX) as response:
        return response.headers, response.read()


@needs("docker-registry")
def test_a_docker_registry_keeps_layers_pushed_in_chunks(registry):
    def push(blob: bytes) -> dict:
        digest = f"sha256:{hashlib.sha256(blob).hexdigest()}"
        place = ask(f"{registry}/v2/cats/blobs/uploads/", "POST", b"")[0]["Location"]
        for at in range(0, len(blob), 6 * 1024 * 1024):
            place = ask(place, "PATCH", blob[at : at + 6 * 1024 * 1024])[0]["Location"]
        ask(f"{place}{'&' if '?' in place else '?'}digest={urllib.parse.quote(digest)}", "PUT", b"")
        return {"mediaType": "application/octet-stream", "size": len(blob), "digest": digest}

    # A layer in three chunks, of which the last is small.
    layer = (LARGE * 2)[: 13 * 1024 * 1024]
    config = b"{}"
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {**push(config), "mediaType": "application/vnd.docker.container.image.v1+json"},
            "layers": [{**push(layer), "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip"}],
        }
    ).encode()
    ask(f"{registry}/v2/cats/manifests/latest", "PUT", manifest, MANIFEST)

    assert json.loads(ask(f"{registry}/v2/cats/tags/list")[1])["tags"] == ["latest"]
    pulled = json.loads(ask(f"{registry}/v2/cats/manifests/latest")[1])
    assert ask(f"{registry}/v2/cats/blobs/{pulled['layers'][0]['digest']}")[1] == layer
    assert ask(f"{registry}/v2/cats/blobs/{pulled['config']['digest']}")[1] == config
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(f"{registry}/v2/cats/blobs/sha256:{'0' * 64}")
