"""An environment with the core of dna-bigbird alone: links to what it requires, nothing else."""

import importlib.metadata
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def closure(texts: list[str]) -> set[str]:
    """Names of the distributions that requirements install, with what those require.

    One that is not installed here counts, without what it requires.
    """
    names: set[str] = set()
    waiting = [(Requirement(text), "") for text in texts]
    seen = set()
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        names.add(name)
        for wanted_extra in ("", *requirement.extras):
            if (name, wanted_extra) not in seen:
                seen.add((name, wanted_extra))
                try:
                    texts = importlib.metadata.requires(name) or []
                except importlib.metadata.PackageNotFoundError:
                    texts = []
                waiting += [(Requirement(text), wanted_extra) for text in texts]
    return names


def link_packages(folder: Path, names: set[str]) -> None:
    """Make a folder for PYTHONPATH in which Python finds these distributions."""
    folder.mkdir()
    for name in names:
        distribution = importlib.metadata.distribution(name)
        tops = {file.parts[0] for file in distribution.files} - {"..", "__pycache__"}
        for top in tops:
            if not (folder / top).exists():
                (folder / top).symlink_to(distribution.locate_file(top))


def run_in(folder: Path, code: str, *argv: object) -> subprocess.CompletedProcess:
    """Run Python code with the packages of a folder, those of the standard library and ours."""
    environment = os.environ | {"PYTHONPATH": f"{folder}:{ROOT}", "PYTHONNOUSERSITE": "1"}
    return subprocess.run(
        [sys.executable, "-S", "-c", code, *map(str, argv)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
