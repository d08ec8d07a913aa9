"""The command-line tools that people have already, as they come: nothing but an endpoint and a key is told to them."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

import stock

TOOLS = pathlib.Path(sys.executable).parent
SECONDS_MAX = 60

#: Names that tools, paths and URLs are known to trip over.
ODD_NAMES = ["a b", "a+b", "a%b", "a%20b", "a&b=c", "a?b", "a#b", "ü/日本", "😀", "<x>&'", "~(p)[b]{c}", "$`|^", "x/.hidden"]

#: What only the clients of an SDK can name.
ODD_KEYS = [*ODD_NAMES, "/leading", "//two", "trailing/", "../up", "a/../b", "a/./b", "a\\b", "?acl", "k" * 1024]


@pytest.fixture(scope="module")
def run(environment):
    """Runs a tool and returns what it printed; a failure of the tool is one of the test unless it is expected."""

    def call(*command, expect=0, given=None):
        finished = subprocess.run(
            [str(part) for part in command],
            env=environment,
            input=given,
            capture_output=True,
            timeout=SECONDS_MAX,
        )
        output = finished.stdout.decode() + finished.stderr.decode()
        assert finished.returncode == expect, f"{command}: {finished.returncode}\n{output}"
        return finished.stdout.decode() if expect == 0 else output

    return call


@pytest.fixture(scope="module")
def aws(run):
    return lambda *command, **options: run(TOOLS / "aws", *command, **options)


@pytest.fixture
def s3cmd(run, system, tmp_path):
    file = stock.s3cmd_file(tmp_path, system)
    return lambda *command, **options: run(TOOLS / "s3cmd", "-c", file, "--no-progress", *command, **options)


@pytest.fixture(scope="module")
def client(system):
    """boto3 as it comes, but for as many connections as a test has threads."""
    return stock.client_of(
        system, retries={"total_max_attempts": 1}, read_timeout=SECONDS_MAX, max_pool_connections=16
    )


@pytest.fixture
def bucket(client, unique):
    name = f"stock-{unique}"
    client.create_bucket(Bucket=name)
    return name


@pytest.fixture
def tree(tmp_path):
    """Files with odd names, an empty one and one that is uploaded in parts; older than any upload of them.

    A listing gives whole seconds, so a file written in the second of its upload would seem newer than its object.
    """
    root = tmp_path / "tree"
    for name in ODD_NAMES:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    (root / "empty").touch()
    (root / "large.bin").write_bytes(bytes(range(256)) * 70_000)
    written = time.time() - 60
    for file in root.rglob("*"):
        os.utime(file, (written, written))
    return root


def contents(root: pathlib.Path) -> dict[str, bytes]:
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


def fetch(url: str, method: str = "GET", body: bytes | None = None, headers: dict[str, str] | None = None):
    """Status and body, whatever the status."""
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS_MAX) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read()


def test_aws_keeps_a_tree_of_files(aws, unique, tree, tmp_path):
    bucket = f"s3://aws-{unique}"
    assert aws("s3", "mb", bucket) == f"make_bucket: aws-{unique}\n"
    aws("s3", "sync", tree, f"{bucket}/tree", "--only-show-errors")
    assert aws("s3", "sync", tree, f"{bucket}/tree", "--no-progress") == ""
    (tree / "a b").unlink()
    assert aws("s3", "sync", tree, f"{bucket}/tree", "--delete", "--no-progress") == f"delete: {bucket}/tree/a b\n"
    aws("s3", "mv", f"{bucket}/tree", f"{bucket}/moved", "--recursive", "--only-show-errors")
    aws("s3", "sync", f"{bucket}/moved", tmp_path / "back", "--only-show-errors")
    assert contents(tmp_path / "back") == contents(tree)
    assert "BucketNotEmpty" in aws("s3", "rb", bucket, expect=1)
    aws("s3", "rb", bucket, "--force")
    assert "NoSuchBucket" in aws("s3", "ls", bucket, expect=255)


def test_aws_syncs_what_has_changed_by_exact_times(aws, bucket, tmp_path):
    up, down = tmp_path / "up", tmp_path / "down"
    up.mkdir()
    (up / "a").write_text("a")
    (up / "b").write_text("b")
    sync = ("s3", "sync", "--no-progress", "--exact-timestamps", f"s3://{bucket}", down)
    aws("s3", "sync", "--no-progress", up, f"s3://{bucket}")
    aws(*sync)
    assert aws(*sync) == ""
    (up / "b").write_text("changed")
    aws("s3", "cp", "--no-progress", up / "b", f"s3://{bucket}/b")
    assert aws(*sync).split()[:3] == ["download:", f"s3://{bucket}/b", "to"]
    assert contents(down) == contents(up)


def test_aws_streams_and_links(aws, bucket):
    aws("s3", "cp", "-", f"s3://{bucket}/a+b c", given=b"streamed")
    assert aws("s3", "cp", f"s3://{bucket}/a+b c", "-") == "streamed"
    url = aws("s3", "presign", f"s3://{bucket}/a+b c").strip()
    assert fetch(url) == (200, b"streamed")
    assert fetch(url, "DELETE")[0] == 403


def test_aws_reaches_the_other_services(aws, unique):
    aws("events", "create-event-bus", "--name", f"bus-{unique}")
    entry = {"Source": "shop", "DetailType": "order", "Detail": "{}", "EventBusName": f"bus-{unique}"}
    answer = json.loads(aws("events", "put-events", "--entries", json.dumps([entry])))
    assert (answer["FailedEntryCount"], len(answer["Entries"])) == (0, 1)
    refusal = aws("events", "describe-event-bus", "--name", "nowhere", expect=255)
    assert "(ResourceNotFoundException)" in refusal and "Event bus nowhere does not exist." in refusal

    aws("customer-profiles", "create-domain", "--domain-name", unique, "--default-expiration-days", "30")
    profile = json.loads(aws("customer-profiles", "create-profile", "--domain-name", unique, "--first-name", "Zoë"))
    found = aws(
        *("customer-profiles", "search-profiles", "--domain-name", unique),
        *("--key-name", "_profileId", "--values", profile["ProfileId"], "--query", "Items[].FirstName"),
    )
    assert json.loads(found) == ["Zoë"]

    spaces = ("migration-hub-refactor-spaces", "create-environment", "--network-fabric-type", "NONE")
    assert json.loads(aws(*spaces, "--name", unique))["State"] == "ACTIVE"


@pytest.mark.parametrize(("version", "parameter"), [("s3v4", "X-Amz-Signature="), (None, "AWSAccessKeyId=")])
def test_links_of_either_signing_version_carry_any_key(client, system, bucket, version, parameter):
    linker = stock.client_of(system, **({"signature_version": version} if version else {}))
    for key in ODD_KEYS:
        upload = linker.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": key, "ContentType": "a/b"})
        assert fetch(upload, "PUT", key.encode(), {"Content-Type": "a/b"}) == (200, b""), key
        download = linker.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": key})
        assert parameter in download
        assert fetch(download) == (200, key.encode()), key
        assert fetch(download, "DELETE")[0] == 403, key
    listed = [
        item["Key"]
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, PaginationConfig={"PageSize": 7})
        for item in page["Contents"]
    ]
    assert listed == sorted(ODD_KEYS, key=str.encode)
    answer = client.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key} for key in ODD_KEYS]})
    assert sorted(item["Key"] for item in answer["Deleted"]) == sorted(ODD_KEYS) and "Errors" not in answer


def test_more_uploads_than_connections_are_answered(client, bucket):
    def upload(number: int) -> int:
        return client.put_object(Bucket=bucket, Key=f"{number:05}", Body=b"x")["ResponseMetadata"]["HTTPStatusCode"]

    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        assert set(threads.map(upload, range(1200))) == {200}
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    assert [page["KeyCount"] for page in pages] == [1000, 200]


def test_s3cmd_keeps_a_tree_of_files(s3cmd, bucket, tree, tmp_path):
    place = f"s3://{bucket}/tree/"
    s3cmd("sync", f"{tree}/", place, "--multipart-chunk-size-mb=5")
    assert s3cmd("sync", f"{tree}/", place) == ""
    (tmp_path / "back").mkdir()
    s3cmd("sync", place, f"{tmp_path}/back/")
    assert contents(tmp_path / "back") == contents(tree)
    s3cmd("mv", f"{place}a+b", f"{place}moved")
    s3cmd("put", tree / "a%b", f"{place}typed", "--mime-type=application/x-test", "--add-header=x-amz-meta-who:zoe")
    told = s3cmd("info", f"{place}typed")
    assert "MIME type: application/x-test" in told and "x-amz-meta-who: zoe" in told
    link = s3cmd("signurl", f"{place}moved", "+60").strip()
    assert fetch(link) == (200, b"a+b")
    s3cmd("del", "--recursive", "--force", f"s3://{bucket}")
    s3cmd("rb", f"s3://{bucket}")


@pytest.mark.skipif(shutil.which("rclone") is None, reason="rclone is not installed; .ci/run installs it")
def test_rclone_keeps_a_tree_of_files(run, bucket, tree, tmp_path):
    place = f"quartet:{bucket}/tree"
    run("rclone", "sync", tree, place, "--s3-upload-cutoff=5M", "--s3-chunk-size=5M")
    run("rclone", "check", tree, place, "--download")
    run("rclone", "check", tree, place)
    assert set(run("rclone", "lsf", "-R", "--files-only", place).splitlines()) == set(contents(tree))
    run("rclone", "moveto", f"{place}/a+b", f"{place}/moved")
    run("rclone", "rcat", f"{place}/streamed", given=b"streamed")
    assert fetch(run("rclone", "link", f"{place}/streamed", "--expire=1h").strip()) == (200, b"streamed")
    (tree / "a+b").rename(tree / "moved")
    (tree / "streamed").write_text("streamed")
    run("rclone", "copy", place, tmp_path / "back")
    assert contents(tmp_path / "back") == contents(tree)
    run("rclone", "purge", f"quartet:{bucket}")


@pytest.mark.skipif(shutil.which("rclone") is None, reason="rclone is not installed; .ci/run installs it")
def test_rclone_keeps_names_that_xml_cannot_hold(run, bucket, tmp_path):
    here, place, back = tmp_path / "names", f"quartet:{bucket}/names", tmp_path / "back"
    here.mkdir()
    for name in ("a\vb", "a\fb", "tab\tb", "\x01", "delete\x7f"):
        (here / name).write_text(repr(name))
    run("rclone", "sync", here, place)
    run("rclone", "check", here, place)
    run("rclone", "sync", place, back)
    assert contents(back) == contents(here)
