"""Every command that the documents show is run, on a machine without any client configuration."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import boto3
import pytest

from console import Step, run, steps, without_what_changes
from pages import blocks
from system import ROOT, System

PAGES = sorted((ROOT / "docs").rglob("*.md"))
WITH_COMMANDS = [page for page in PAGES if steps(page)]


NPM = Step(f'npm() {{ command npm --prefix {ROOT} "$@"; }}', "")


@pytest.fixture
def environment(system, tmp_path):
    """A reader's: an empty home directory, no region, the programs that the documents name."""
    home = tmp_path / "home"
    home.mkdir()
    programs = [str(pathlib.Path(sys.executable).parent), str(ROOT / "node_modules" / ".bin"), os.environ["PATH"]]
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join(programs),
        "QUARTET_DATA_DIR": system.data_directory,
        "LANG": "C.UTF-8",
    }


def test_pages_with_commands():
    assert [page.stem for page in WITH_COMMANDS] == [
        "backup",
        "clients",
        "find-duplicates",
        "find-objects",
        "fork-buckets",
        "grpc",
        "import-profiles",
        "migrate-objects",
        "monitoring",
        "tls",
        "upgrade",
        "users",
        "customer-profile",
        "event-bus",
        "object-storage",
        "refactoring-workspace",
    ]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.stem)
def test_a_page_prints_what_it_shows(page, system, environment, tmp_path, request):
    variables = Step('eval "$(npm run --silent env)"', "")
    found = steps(page)
    if any("grpcurl" in step.command for step in found):
        environment["PATH"] = f"{request.getfixturevalue('grpcurl')}{os.pathsep}{environment['PATH']}"
    ports = {
        "http://127.0.0.1:8089": system.urls["admin"],
        "127.0.0.1:8082": system.urls["all"].split("//")[1],
        "http://127.0.0.1:50051": system.urls["customer-profile"],
    }
    port = re.compile("|".join(re.escape(name) for name in ports))
    there = [Step(port.sub(lambda name: ports[name[0]], step.command), step.shown) for step in found]
    outputs = run([NPM, variables, *there], tmp_path, environment)[2:]
    assert_printed(outputs, found)


def test_the_settings_of_the_page_on_tls(environment, tmp_path):
    """With the certificates of its commands, on free ports; the page's clients reach the gateway."""
    page = ROOT / "docs" / "how-to" / "tls.md"
    run(steps(page), tmp_path, environment)
    configuration = {}
    for block in blocks(page, "json"):
        configuration |= json.loads(re.sub(r"\btls/", f"{tmp_path}/tls/", block))
    [clients] = blocks(page, "sh")
    secured = System(configuration)
    try:
        here = {**environment, "QUARTET_DATA_DIR": secured.data_directory}
        commands = [NPM, Step(clients, ""), Step("aws s3 mb s3://sealed", ""), Step("printf %s $AWS_ENDPOINT_URL", "")]
        printed = run(commands, tmp_path, here)
        file, back = tmp_path / "film", tmp_path / "back"
        file.write_bytes(bytes(range(256)) * 50_000)
        key = secured.credentials()
        client = boto3.client(
            "s3",
            endpoint_url=secured.urls["gateway"],
            region_name="us-east-1",
            verify=str(tmp_path / "tls" / "authority.pem"),
            aws_access_key_id=key["accessKeyId"],
            aws_secret_access_key=key["secretAccessKey"],
        )
        # In parts, as files above 8 MiB are.
        client.upload_file(str(file), "sealed", "film")
        client.download_file("sealed", "film", str(back))
        assert back.read_bytes() == file.read_bytes()
        client.delete_object(Bucket="sealed", Key="film")
    finally:
        secured.stop()
    assert printed[2:] == ["make_bucket: sealed\n", secured.urls["gateway"]]
    assert secured.urls["gateway"].startswith("https:")


def test_the_copies_elsewhere_of_the_page_on_backups(system, environment, tmp_path):
    """With a repository in a directory instead of on another machine."""
    page = ROOT / "docs" / "how-to" / "backup.md"
    places = {
        "sftp:backup@elsewhere:/quartet": f"{tmp_path}/elsewhere",
        "/opt/quartet": str(ROOT),
        "/var/backups/quartet": f"{tmp_path}/backups",
        "/var/tmp/quartet": f"{tmp_path}/restored",
    }
    place = re.compile("|".join(re.escape(name) for name in places))
    found = [Step(place.sub(lambda name: places[name[0]], block), "") for block in blocks(page, "sh")]
    assert len(found) == 3
    here = {**environment, "RESTIC_PASSWORD": "of a test"}
    *_, verified = run([NPM, *found], tmp_path, here)
    assert "is whole" in verified


@pytest.fixture(scope="module")
def grpcurl():
    """The directory of the program, which is built from its Go module."""
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    directory = ROOT / "test" / "polyglot" / ".cache" / "bin"
    command = ["go", "install", "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3"]
    subprocess.run(command, env={**os.environ, "GOBIN": str(directory)}, check=True, timeout=600)
    return directory


def test_readme(system, environment, grpcurl):
    """Its commands, on the ports that the system chose here."""
    found = steps(ROOT / "README.md")
    assert len(found) == 6
    ports = {"http://127.0.0.1:8080": system.urls["gateway"], "127.0.0.1:8082": system.urls["all"].split("//")[1]}
    port = re.compile("|".join(re.escape(name) for name in ports))
    here = [Step(port.sub(lambda name: ports[name[0]], step.command), step.shown) for step in found]
    outputs = run(here, ROOT, {**environment, "PATH": f"{grpcurl}{os.pathsep}{environment['PATH']}"})
    assert_printed(outputs, found)


def assert_printed(outputs, found):
    for output, step in zip(outputs, found, strict=True):
        assert without_what_changes(output) == without_what_changes(step.shown), step.command
