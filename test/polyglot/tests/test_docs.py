"""Every command that the documents show is run, on a machine without any client configuration."""

import json
import os
import pathlib
import re
import sys

import pytest

from console import Step, run, steps, without_what_changes
from system import ROOT, System

PAGES = sorted((ROOT / "docs").rglob("*.md"))
WITH_COMMANDS = [page for page in PAGES if steps(page)]


NPM = Step(f'npm() {{ command npm --prefix {ROOT} "$@"; }}', "")


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


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
def test_a_page_prints_what_it_shows(page, system, environment, tmp_path):
    variables = Step('eval "$(npm run --silent env)"', "")
    found = steps(page)
    admin = system.urls["admin"]
    there = [Step(step.command.replace("http://127.0.0.1:8089", admin), step.shown) for step in found]
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
    finally:
        secured.stop()
    assert printed[2:] == ["make_bucket: sealed\n", secured.urls["gateway"]]
    assert secured.urls["gateway"].startswith("https:")


def test_readme(system, environment):
    """Its commands, on the ports that the system chose here; grpcurl needs a program that is not one of the packages."""
    found = [step for step in steps(ROOT / "README.md") if "grpcurl" not in step.command]
    assert len(found) >= 5
    here = [Step(step.command.replace("http://127.0.0.1:8080", system.urls["gateway"]), step.shown) for step in found]
    outputs = run(here, ROOT, environment)
    assert_printed(outputs, found)


def assert_printed(outputs, found):
    for output, step in zip(outputs, found, strict=True):
        assert without_what_changes(output) == without_what_changes(step.shown), step.command
