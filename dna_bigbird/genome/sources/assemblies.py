"""Names and chromosome lengths of the assemblies that the workflow can distinguish."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import yaml

from dna_bigbird.genome.chromosome_names import usual_name

# Names of UCSC, Ensembl, the GATK bundle, the 1000 Genomes project and NCBI (accessions with
# version).
_ALIASES = {
    "GRCh37": (
        r"grch37|hg19|b37|hs37|build37|ncbi37|(human_?)?g1k_?v37|homo_sapiens_assembly19"
        r"|gca_000001405\.([1-9]|1[0-4])|gcf_000001405\.(1[3-9]|2[0-5])"
    ),
    "GRCh38": (
        r"grch38|hg38|b38|hs38|build38|ncbi38|homo_sapiens_assembly38"
        r"|gca_000001405\.(1[5-9]|2[0-9])|gcf_000001405\.(2[6-9]|3[0-9]|40)"
    ),
}
# Patches add sequences and leave the chromosomes as they are; so do decoys and sets for analysis.
_ADDITIONS = r"([.-]?p\d+)?(d5|d1|dh|[._+-]?(decoy|lite|1kg|analysis_set|grch3[78]|no_alt|full|plusmt)[a-z0-9_+.-]*)?"


def usual_assembly(name: str) -> str:
    """Return GRCh37 or GRCh38 for any common name or patch release; another name unchanged.

    Example:
        >>> [usual_assembly(x) for x in ("hg19", "b37", "hs37d5", "GRCh37.p13", "hg38", "GRCh38.p14")]
        ['GRCh37', 'GRCh37', 'GRCh37', 'GRCh37', 'GRCh38', 'GRCh38']
        >>> [usual_assembly(x) for x in ("hg18", "mm10", "demo", "my_hg19")]
        ['hg18', 'mm10', 'demo', 'my_hg19']
    """
    text = name.strip().lower().replace(" ", "_")
    for assembly, aliases in _ALIASES.items():
        if re.fullmatch(f"({aliases}){_ADDITIONS}", text):
            return assembly
    return name


@cache
def _tables() -> dict[str, dict[str, int]]:
    text = files("dna_bigbird.genome.sources").joinpath("data/assemblies.yaml").read_text()
    return yaml.safe_load(text)


def expected_lengths(assembly: str) -> dict[str, int]:
    """Return length in bp by chromosome name (`chr1` …); empty for an assembly without a table.

    Example:
        >>> expected_lengths("GRCh37")["chr22"], expected_lengths("hg38")["chr22"]
        (51304566, 50818468)
        >>> expected_lengths("my_fungus")
        {}
    """
    return dict(_tables().get(usual_assembly(assembly), {}))


def guess_assembly(lengths: Mapping[str, int]) -> str | None:
    """Name the assembly whose table agrees with every chromosome it knows, at least one.

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
    bare = usual_name(name)
    return "chrM" if bare == "MT" else f"chr{bare}"
