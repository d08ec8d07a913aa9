"""The play of docs/how-to/ansible.md with the collections as they come, told nothing but the variables of the system."""

import json
import re
import subprocess
import sys
from pathlib import Path

from stock import environment_of
from system import ROOT, System

PLAYBOOK = Path(sys.executable).with_name("ansible-playbook")
COLLECTIONS = ROOT / "test" / "polyglot" / ".cache" / "ansible"


def test_a_play_makes_everything_once(tmp_path):
    page = (ROOT / "docs" / "how-to" / "ansible.md").read_text()
    (tmp_path / "play.yml").write_text(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    system = System()
    try:
        key = system.credentials()
        environment = {
            **environment_of(system.urls["gateway"], key["accessKeyId"], key["secretAccessKey"]),
            "ANSIBLE_HOME": str(tmp_path / "home"),
            "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
            "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        }

        def played(*flags):
            command = [PLAYBOOK, *flags, str(tmp_path / "play.yml")]
            finished = subprocess.run(command, env=environment, capture_output=True, text=True)
            assert finished.returncode == 0, finished.stdout + finished.stderr
            return json.loads(finished.stdout)["stats"]["localhost"]

        first, again = played(), played()
    finally:
        system.stop()
    assert (first["ok"], first["changed"], first["failures"]) == (7, 7, 0)
    assert (again["ok"], again["changed"], again["failures"]) == (7, 0, 0)
