"""Steps of `plan`: the amounts (bases, rows, tokens) of a run, as far as its inputs tell before it starts."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.corpus.documents import DocumentConfig
from dna_bigbird.genome.fasta_index import parsed_or_empty
from dna_bigbird.genome.interval import parse_region
from dna_bigbird.genome.sources.assemblies import expected_lengths
from dna_bigbird.labelled.tracks.track_set_run import track_rows
from dna_bigbird.workflow.config.config_files import is_path, plain_path
from dna_bigbird.workflow.config.run_checks import peak_paths

DEMO_BP, DEMO_SITES, DEMO_VARIANTS, DEMO_LABELS = 1_000_000, 300, 300, 24
GZIP_FACTOR = 4.0
"""Bases per byte of a compressed FASTA file; a rule of thumb."""
MOST_PEAK_BYTES = 200_000_000
"""Larger peak files are not read for a plan."""


@dataclass(frozen=True)
class Amounts:
    """What the inputs of a run hold; None where only the run itself will tell."""

    genome_bp: int | None
    held_out_bp: dict[str, int | None]
    """Of the regions `validation` and `test`."""
    sites: int | None
    bins: int | None
    """Bins with a peak, at most."""
    labels: int | None
    variants: int | None
    tracks: int = 0

    def share(self, split: str) -> float:
        """Return which part of the genome a split has; a tenth for a held-out one that is unknown."""
        if split == "train":
            return max(0.0, 1 - self.share("validation") - self.share("test"))
        bp = self.held_out_bp[split]
        return 0.1 if bp is None or not self.genome_bp else min(1.0, bp / self.genome_bp)


def count_amounts(config: Mapping) -> Amounts:
    """Return what the inputs of a config hold; files are counted, nothing is downloaded."""
    inputs = config["inputs"]
    lengths = {} if config.get("pieces") else expected_lengths(config["assembly"])
    splits = {name: region_bp(regions, lengths) for name, regions in config["splits"].items()}
    if "demo" in inputs:
        demo = inputs["demo"]
        return Amounts(
            DEMO_BP,
            splits,
            demo.get("promoters", DEMO_SITES),
            DEMO_BP // config.get("chromatin", {}).get("bin", 200),
            DEMO_LABELS,
            demo.get("variants", DEMO_VARIANTS),
        )
    labels, bins = _peaks(inputs.get("peaks", ""), config.get("chromatin", {}).get("bin", 200))
    return Amounts(
        sum(lengths.values()) or _fasta_bp(inputs["genome"]),
        splits,
        _lines(inputs.get("promoters", "")),
        bins,
        labels if bins is not None or labels else (919 if "deepsea" in inputs else None),
        _lines(inputs.get("variants", "")),
        len(track_rows(peak_paths(inputs["tracks"]))) if "tracks" in inputs else 0,
    )


def region_bp(regions: Iterable[str], lengths: Mapping[str, int] | None = None) -> int | None:
    """Return the bases of regions; None if one is a chromosome of unknown length.

    Example:
        >>> region_bp(["chr8:1-100", "chr9:11-20"]), region_bp(["chrX"])
        (110, None)
    """
    total = 0
    for region in regions:
        if ":" in region:
            total += parse_region(region).length
        elif region in (lengths or {}):
            total += lengths[region]
        else:
            return None
    return total


def bp_per_token(vocab_size: int, max_piece_bp: int) -> float:
    """Return about how many bases a token has: 0.88 times those that the vocabulary could name.

    Example:
        >>> round(bp_per_token(512, 12), 2), round(bp_per_token(32_000, 32), 1)
        (3.96, 6.6)
    """
    return min(0.88 * math.log(vocab_size, 4), max_piece_bp)


def document_count(config: DocumentConfig, covered_bp: float) -> int:
    """Return about how many documents are drawn from so many bases."""
    sentences = (config.min_sentences + config.max_sentences) / 2
    sentence_bp = (config.min_sentence_bp + config.max_sentence_bp) / 2
    return max(1, round(config.passes * covered_bp / (sentences * sentence_bp)))


def _fasta_bp(sources: Iterable[str]) -> int | None:
    """Return about how many bases some FASTA files have, from their indexes or sizes."""
    total = 0
    for path in _local(sources):
        if path is None:
            return None
        if entries := parsed_or_empty(Path(f"{path}.fai")):
            total += sum(entry.length for entry in entries.values())
        else:
            size = path.stat().st_size
            total += int(size * GZIP_FACTOR if path.suffix in (".gz", ".bgz") else size / 1.016)
    return total


def _local(sources: Iterable[str]) -> list[Path | None]:
    """Return paths; None for a source that is fetched."""
    return [Path(plain_path(x)) if is_path(x) else None for x in sources]


def _lines(source: str) -> int | None:
    """Count the rows of a local table, without its comment lines."""
    from dna_bigbird.core.files import numbered_lines

    (path,) = _local([source])
    if not source or path is None:
        return None
    lines = (line for _, line in numbered_lines(path))
    return sum(1 for line in lines if line.strip() and not line.startswith(("#", "track")))


def _peaks(
    source: str | list[str] | Mapping[str, str], bin_bp: int
) -> tuple[int | None, int | None]:
    """Count the labels of a sheet or of peak files, and the bins that some peak touches."""
    values = source.values() if isinstance(source, Mapping) else source
    files = _local([values] if isinstance(values, str) else values)
    if not source or None in files:
        return None, None
    import numpy as np

    from dna_bigbird.genome.bed import read_columns
    from dna_bigbird.labelled.chromatin.peak_sheet import peak_rows

    rows = peak_rows([path for path in files if path is not None])
    if sum(row.path.stat().st_size for row in rows) > MOST_PEAK_BYTES:
        return len(rows), None
    bins: dict[str, list] = {}
    for row in rows:
        peaks = read_columns(row.path)
        for i, chrom in enumerate(peaks.chromosomes):
            here = peaks.chrom == i
            first, last = peaks.start[here] // bin_bp, (peaks.end[here] - 1) // bin_bp
            spans = [np.arange(a, b + 1) for a, b in zip(first, last, strict=True)]
            bins.setdefault(chrom, []).extend(spans)
    return len(rows), sum(len(np.unique(np.concatenate(x))) for x in bins.values() if x)
