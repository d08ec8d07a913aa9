"""Every command that the documents show is run, on a machine without any client configuration."""

import os
import pathlib
import sys

import pytest

from console import Step, run, steps, without_what_changes
from system import ROOT

PAGES = sorted((ROOT / "docs").rglob("*.md"))
WITH_COMMANDS = [page for page in PAGES if steps(page)]


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
        "upgrade",
        "users",
        "customer-profile",
        "event-bus",
        "object-storage",
        "refactoring-workspace",
    ]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.stem)
def test_a_page_prints_what_it_shows(page, environment, tmp_path):
    here = Step(f'npm() {{ command npm --prefix {ROOT} "$@"; }}', "")
    variables = Step('eval "$(npm run --silent env)"', "")
    found = steps(page)
    outputs = run([here, variables, *found], tmp_path, environment)[2:]
    assert_printed(outputs, found)


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
