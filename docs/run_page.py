"""Run the blocks of a page in order, in the current folder, and compare what they print with the page.

    python docs/run_page.py --fresh docs/tutorials/read-a-promoter-model.md            # exits with 1 where they differ
    python docs/run_page.py --fresh --update docs/tutorials/read-a-promoter-model.md   # writes outputs and pictures

Blocks by language: `sh` and `python` are run; `yaml` whose first line is `# FILE.yaml` is written
to that file; `output` is what the block above it prints, both streams, without Snakemake's own
lines. If `...` is the first or last line of an output, only the lines after or before it are
compared.

Words and whole numbers must be equal. Decimals may differ by 0.05 or 5 %, because processors round
in different ways; seconds are not compared. Pictures may differ in few pixels.
"""

import argparse
import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import matplotlib
import numpy as np

from dna_bigbird.cli.main import main

BLOCK = re.compile(r"^```(sh|python|yaml|output)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
PROGRAMS = ("cat", "cp", "cut", "grep", "head", "ls", "mkdir", "printf", "sed", "snakemake", "tail")
"""What shell blocks may call besides `dna-bigbird`."""
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?")
SECONDS = re.compile(r"\b[\d.,]+ (?:s|seconds|min|minutes)\b")
MOST_DIFFERENT = 0.01
"""Mean difference of two pictures, where black and white differ by 1."""


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and text of every block, in order."""
    return BLOCK.findall(page.read_text())


def run_line(line: str) -> None:
    """Run one line of a shell block: `dna-bigbird` in this process, which saves its start."""
    command, _, target = line.partition(" > ")
    program, *arguments = shlex.split(command)
    if program == "dna-bigbird":
        with contextlib.ExitStack() as stack:
            if target:
                stream = stack.enter_context(Path(target.strip()).open("w"))
                stack.enter_context(contextlib.redirect_stdout(stream))
            main(arguments)
        return
    assert program in PROGRAMS, line
    done = subprocess.run(
        ["bash", "-c", line],
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}"
    if program != "snakemake":
        print(done.stdout, end="")


def run_block(language: str, text: str, names: dict, title: str) -> str:
    """Run a block and return what it prints."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    activated = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with (
        contextlib.redirect_stdout(stream),
        contextlib.redirect_stderr(stream),
        patch.dict(os.environ, activated),
    ):
        if language == "sh":
            for line in text.replace("\\\n", " ").strip().splitlines():
                run_line(line)
        else:
            exec(compile(text, title, "exec"), names)
    return stream.buffer.getvalue().decode()


def run(page: Path) -> tuple[dict, list[str]]:
    """Run a page; return the names that its Python blocks leave, and what each output shows now."""
    matplotlib.use("Agg")
    matplotlib.rcdefaults()  # pictures do not follow the style of whoever runs the page
    names: dict = {"__name__": "page"}
    printed, outputs = "", []
    for number, (language, text) in enumerate(blocks(page), start=1):
        if language == "output":
            outputs.append(shortened(printed, text))
        elif language == "yaml":
            if name := re.match(r"# (\S+\.yaml)$", text.partition("\n")[0]):
                Path(name[1]).parent.mkdir(parents=True, exist_ok=True)
                Path(name[1]).write_text(text)
        else:
            printed = run_block(language, text, names, f"{page.name}, block {number}")
    return names, outputs


def shortened(printed: str, shown: str) -> str:
    """Return the part of an output that the page shows, with the line `...` where it goes on."""
    lines, expected = printed.splitlines(), shown.splitlines()
    count = len(expected) - 1
    if expected[:1] == ["..."]:
        lines = ["...", *lines[-count:]]
    elif expected[-1:] == ["..."]:
        lines = [*lines[:count], "..."]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def is_close(shown: str, now: str) -> bool:
    """Return True if two texts differ in nothing but seconds and the last digits of decimals.

    Example:
        >>> is_close("AUROC 0.951, n = 30, 12 s", "AUROC 0.949, n = 30, 15.2 s")
        True
        >>> is_close("n = 30", "n = 31"), is_close("AUROC 0.95", "AUROC 0.65")
        (False, False)
    """
    shown, now = SECONDS.sub("some s", shown), SECONDS.sub("some s", now)
    if " ".join(NUMBER.sub("0", shown).split()) != " ".join(NUMBER.sub("0", now).split()):
        return False
    for first, second in zip(NUMBER.findall(shown), NUMBER.findall(now), strict=True):
        a, b = (float(text.replace(",", "")) for text in (first, second))
        tolerance = max(0.05, 0.05 * abs(a)) if "." in first + second else 0
        if abs(a - b) > tolerance:
            return False
    return True


def pictures(page: Path) -> list[Path]:
    """Return the pictures that a page shows from docs/images/ and whose names are written here."""
    targets = re.findall(r"\]\(((?:\.\./)*images/\S+?\.png)\)", page.read_text())
    return [page.parent / target for target in targets if Path(target).name in os.listdir()]


def are_alike(first: Path, second: Path) -> bool:
    """Return True if two pictures have one size and nearly the same pixels."""
    a, b = matplotlib.image.imread(first), matplotlib.image.imread(second)
    return a.shape == b.shape and float(np.abs(a - b).mean()) <= MOST_DIFFERENT


def stale(page: Path, outputs: list[str]) -> list[str]:
    """Return a text for each output and picture of a page that is not what its blocks give now."""
    shown = [text for language, text in blocks(page) if language == "output"]
    pairs = zip(shown, outputs, strict=True)
    wrong = [f"the page shows\n{a}\nnow it is\n{b}" for a, b in pairs if not is_close(a, b)]
    return wrong + [
        f"images/{picture.name} is another picture now"
        for picture in pictures(page)
        if not picture.is_file() or not are_alike(picture, Path(picture.name))
    ]


def update(page: Path, outputs: list[str]) -> None:
    """Write outputs into a page, and its pictures."""
    texts = iter(outputs)
    text = BLOCK.sub(
        lambda block: f"```output\n{next(texts)}```" if block[1] == "output" else block[0],
        page.read_text(),
    )
    page.write_text(text)
    for picture in pictures(page):
        shutil.copy(picture.name, picture)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--fresh", action="store_true", help="each page in a new folder")
    parser.add_argument("--update", action="store_true", help="write outputs and pictures")
    options = parser.parse_args()
    for page in [path.resolve() for path in options.pages]:
        with contextlib.ExitStack() as stack:
            if options.fresh:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tutorial-"))
                stack.enter_context(contextlib.chdir(folder))
            _, outputs = run(page)
            if options.update:
                update(page, outputs)
            elif wrong := stale(page, outputs):
                sys.exit("\n".join([f"{page.name}:", *wrong]))
