"""The programs that the documents show."""

import pathlib
import re


def blocks(page: pathlib.Path, language: str) -> list[str]:
    """The blocks of a language, from the first to the last."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
