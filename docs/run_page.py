"""Run the `sh` and `python` blocks of a page in order, in the current folder.

    python docs/run_page.py docs/from-fasta-to-picture.md

Shell blocks may only call `dna-bigbird`. Pictures are written where the page says.
"""

import re
import shlex
import sys
from pathlib import Path

import matplotlib

from dna_bigbird.cli.main import main


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and text of every block, in order."""
    return re.findall(
        r"^```(sh|python)\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE
    )


def run(page: Path) -> dict:
    """Run a page and return the names that its Python blocks leave."""
    matplotlib.use("Agg")
    names: dict = {"__name__": "page"}
    for number, (language, text) in enumerate(blocks(page), start=1):
        if language == "sh":
            for line in text.strip().splitlines():
                program, *arguments = shlex.split(line)
                assert program == "dna-bigbird", line
                main(arguments)
        else:
            exec(compile(text, f"{page.name}, block {number}", "exec"), names)
    return names


if __name__ == "__main__":
    run(Path(sys.argv[1]).resolve())
