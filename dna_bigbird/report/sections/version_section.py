"""The section with what a second run needs: versions and seeds."""

import importlib.metadata
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dna_bigbird import __version__
from dna_bigbird.report.run_results import Results

PACKAGES = [
    "torch",
    "pytorch-lightning",
    "snakemake",
    "sentencepiece",
    "tokenizers",
    "safetensors",
    "h5py",
    "numpy",
    "scipy",
    "scikit-learn",
    "pysam",
    "pyfaidx",
    "pybedtools",
    "pyBigWig",
    "pyliftover",
    "matplotlib",
]


@dataclass(frozen=True)
class Versions:
    """The data of the section."""

    versions: Sequence[tuple[str, str]]
    seeds: Sequence[tuple[str, object]]
    """Where a seed is set, and the seed."""
    config_text: str


def versions(results: Results) -> Versions:
    """Return the versions of the packages, the seeds and the configuration."""
    known = [("dna-bigbird", __version__), ("python", platform.python_version())]
    seeds = list(_seeds(results.config))
    seeds += [
        (f"models/{name}/metrics.json", model.metrics.seed)
        for name, model in results.models.items()
        if model.metrics.seed is not None
    ]
    return Versions([*known, *((x, _version(x)) for x in PACKAGES)], seeds, results.config_text)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _seeds(config: object, parent: str = "") -> Iterator[tuple[str, object]]:
    """Yield every setting whose name is or ends in `seed`, with its path in the configuration."""
    for key, value in config.items() if isinstance(config, dict) else ():
        path = f"{parent}.{key}" if parent else str(key)
        if isinstance(value, dict):
            yield from _seeds(value, path)
        elif str(key).endswith("seed"):
            yield path, value
