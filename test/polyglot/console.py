"""Runs the console blocks of a Markdown page as its reader would, in one shell."""

import pathlib
import re
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One command of a page, and what the page shows that it prints."""

    command: str
    shown: str


def steps(page: pathlib.Path) -> list[Step]:
    """The commands behind `$ `; a line that ends with a backslash, and a here-document, go on."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        lines = block.splitlines()
        while lines:
            line = lines.pop(0)
            assert line.startswith("$ "), f"{page.name}: a block begins with a command, not with {line!r}"
            command = [line[2:]]
            while command[-1].endswith("\\"):
                command.append(lines.pop(0))
            if here := re.search(r"<<'(\w+)'", command[0]):
                while command[-1] != here[1]:
                    command.append(lines.pop(0))
            shown = []
            while lines and not lines[0].startswith("$ "):
                shown.append(lines.pop(0))
            found.append(Step("\n".join(command), "\n".join(shown)))
    return found


def run(found: list[Step], directory: pathlib.Path, environment: dict[str, str], limit_seconds: int = 240) -> list[str]:
    """What each command printed on standard output. Fails for a command that ends with another status than 0."""
    script = ["set -m", "shopt -s expand_aliases"]
    for index, step in enumerate(found):
        script += [step.command, f"printf '\\n-- {index} %d\\n' $?"]
    finished = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=directory,
        env=environment,
        capture_output=True,
        timeout=limit_seconds,
    )
    # A line that a program writes over, as progress, is what it says last.
    stdout = re.sub(r"[^\n]*\r(?!\n)", "", finished.stdout.decode())
    printed = re.split(r"\n-- (\d+) (\d+)\n", stdout)
    outputs = printed[0::3][: len(found)]
    statuses = printed[2::3]
    for step, output, status in zip(found, outputs, statuses, strict=True):
        assert status == "0", f"{step.command}\nended with {status}:\n{output}\n{finished.stderr.decode()}"
    return outputs


def without_what_changes(text: str) -> str:
    """The text with times and checksums of another day replaced."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>", text)
    return re.sub(r"\b\d{9,}(\.\d+)?\b", "<number>", text).strip()
