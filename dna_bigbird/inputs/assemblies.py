"""Chromosome lengths of the assemblies that the workflow can tell apart."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import yaml


@cache
def _tables() -> dict[str, dict[str, int]]:
    text = files("dna_bigbird.inputs").joinpath("data/assemblies.yaml").read_text()
    return yaml.safe_load(text)


def expected_lengths(assembly: str) -> dict[str, int]:
    """Return length in bp by chromosome name (`chr1` …); empty for an assembly without a table.

    Example:
        >>> expected_lengths("GRCh37")["chr22"]
        51304566
        >>> expected_lengths("my_fungus")
        {}
    """
    return dict(_tables().get(assembly, {}))


def guess_assembly(lengths: Mapping[str, int]) -> str | None:
    """Name the assembly whose table agrees with every chromosome it knows, at least one.

    Args:
        lengths: Length in bp by name, with or without `chr`. Unknown names (contigs) do not count.

    Example:
        >>> guess_assembly({"22": 50818468, "contig_7": 1000})
        'GRCh38'
        >>> guess_assembly({"chr22": 21000000}) is None
        True
    """
    for assembly, table in _tables().items():
        known = [(table.get(_usual(name)), length) for name, length in lengths.items()]
        agreeing = [right == length for right, length in known if right is not None]
        if agreeing and all(agreeing):
            return assembly
    return None


def _usual(name: str) -> str:
    bare = name.removeprefix("chr")
    return "chrM" if bare == "MT" else f"chr{bare}"
