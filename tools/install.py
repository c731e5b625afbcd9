"""Packages, megabytes and seconds of fresh installations, and `predict` from each.

    python -m tools.install
    python -m tools.install --before 8ed760b --folder /tmp/environments --keep

A wheel of the checkout (and of an earlier revision) is built, and installed with the pins of
constraints.txt into a new environment for each set of extras. In it `predict` runs on a short
sequence with the bundled model, outside the checkout. The seconds are those of pip without its
cache, so they include downloads, and building the packages that have no wheel; they depend on
the network and the load of the machine, the processor seconds less so.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.help import processor_seconds

ROOT = Path(__file__).resolve().parents[1]
SETS = {"core": "", "core + train": "train", "all": "all"}
"""Row of the table: extra."""
SIZES = """
import importlib.metadata as m, json
sizes = {}
for each in m.distributions():
    paths = {file.locate() for file in each.files or ()}
    sizes[each.name.lower()] = sum(path.stat().st_size for path in paths if path.is_file())
print(json.dumps(sizes))
"""
"""Bytes of each installed package, bytecode included where pip has listed it."""
WINDOWS = 3
"""Windows of the bundled model in the short sequence."""
OF_TORCH = ("torch", "triton")
CUDA = ("nvidia", "cuda")
"""The package of PyTorch and what only its CUDA builds require; names that begin so."""


@dataclass(frozen=True)
class Installation:
    """One row of the table."""

    name: str
    packages: int
    """Without pip, with dna-bigbird."""
    other_mb: float
    torch_mb: float
    seconds: float
    processor_seconds: float
    """Of pip and of what it started."""


def run(*command: object, folder: Path) -> str:
    """Return the output of a program that knows nothing of this environment and this checkout."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    return subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def build_wheel(sources: Path, folder: Path) -> Path:
    """Build the wheel of a copy of the sources."""
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ".", folder=sources)
    (wheel,) = folder.glob("dna_bigbird-*.whl")
    return wheel


def copy_sources(folder: Path, revision: str = "") -> Path:
    """Copy a revision, or the files of the working folder that git has or would add."""
    folder.mkdir(parents=True)
    command = ["git", "archive", revision] if revision else ["tar", "-c", "-T", "-"]
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    archive = subprocess.run(command, cwd=ROOT, check=True, input=listed, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def install(name: str, requirement: str, constraints: Path, folder: Path) -> Installation:
    """Make an environment, install into it, and predict."""
    folder.mkdir(parents=True)
    run(sys.executable, "-m", "venv", folder / "venv", folder=folder)
    python = folder / "venv" / "bin" / "python"
    started_at, busy_at = time.perf_counter(), processor_seconds()
    run(
        python, "-m", "pip", "install", "-q", "--no-cache-dir", "--constraint", constraints,
        requirement, folder=folder,
    )  # fmt: skip
    elapsed_s, busy_s = time.perf_counter() - started_at, processor_seconds() - busy_at
    sizes = json.loads(run(python, "-c", SIZES, folder=folder))
    del sizes["pip"]
    of_torch = {key for key in sizes if key in OF_TORCH or key.startswith(CUDA)}
    (folder / "short.fa").write_text(">a\n" + "ACGTTGCAAT" * 90 + "\n")
    program = folder / "venv" / "bin" / "dna-bigbird"
    table = run(program, "predict", "--fasta", folder / "short.fa", folder=folder)
    if len(table.splitlines()) != WINDOWS + 1:
        raise SystemExit(f"{name}: predict wrote\n{table}")
    return Installation(
        name,
        packages=len(sizes),
        other_mb=sum(sizes[key] for key in sizes.keys() - of_torch) / 1e6,
        torch_mb=sum(sizes[key] for key in of_torch) / 1e6,
        seconds=elapsed_s,
        processor_seconds=busy_s,
    )


def rows(installations: Sequence[Installation]) -> Iterator[str]:
    """Yield the lines of the table in Markdown."""
    yield "| installed | packages | MB without torch | MB of torch | seconds of pip | processor seconds |"
    yield "|---|---|---|---|---|---|"
    for each in installations:
        yield (
            f"| {each.name} | {each.packages} | {each.other_mb:.0f} | {each.torch_mb:.0f} | "
            f"{each.seconds:.0f} | {each.processor_seconds:.0f} |"
        )


@contextlib.contextmanager
def work_folder(folder: Path | None, keep: bool) -> Iterator[Path]:
    """Yield a new folder for the environments."""
    if keep:
        yield Path(tempfile.mkdtemp(dir=folder))
        return
    with tempfile.TemporaryDirectory(dir=folder) as name:
        yield Path(name)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", help="a revision to install first, without extras")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--folder", type=Path, help="where the environments are made")
    parser.add_argument("--keep", action="store_true", help="keep them, and print where they are")
    options = parser.parse_args(argv)
    measured = []
    with work_folder(options.folder, options.keep) as folder:
        if options.before:
            sources = copy_sources(folder / "before", options.before)
            wheel = build_wheel(sources, folder)
            pins = sources / "constraints.txt"
            measured.append(install(f"revision {options.before}", str(wheel), pins, folder / "old"))
            wheel.unlink()
        wheel = build_wheel(copy_sources(folder / "sources"), folder)
        for name in options.sets:
            extra = f"[{SETS[name]}]" if SETS[name] else ""
            target = folder / (SETS[name] or "core")
            print(f"installing {name}", file=sys.stderr)
            measured.append(install(name, f"{wheel}{extra}", ROOT / "constraints.txt", target))
        print(*rows(measured), sep="\n")
        if options.keep:
            print(f"# environments: {folder}")


if __name__ == "__main__":
    main()
