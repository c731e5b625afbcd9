"""The page with a genome browser of a run: which tracks it shows, and which regions."""

import json
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from dna_bigbird.core.writing import atomic_path
from dna_bigbird.labelled.chromatin.peak_sheet import EVERY_NAME
from dna_bigbird.workflow.run import Run

_TRACK_SUFFIXES = tuple(
    suffix + packed
    for suffix in (".bed", ".narrowpeak", ".broadpeak", ".gtf", ".gff", ".gff3", ".vcf")
    for packed in ("", ".gz", ".bgz")
)


def browser_tracks(run: Run) -> list[tuple[str, str]]:
    """Return name and file of the tracks below those that are computed for the page."""
    return [x for x in _tracks(run) if x[1].lower().endswith(_TRACK_SUFFIXES)]


def _tracks(run: Run) -> Iterator[tuple[str, str]]:
    predictions, inputs = run.predictions, run.inputs
    model, patterns = predictions.browser["model"], predictions.browser["labels"]
    if model == "chromatin":
        for label, path in inputs.observed():
            if label == EVERY_NAME:  # a label per name in the file; the page shows the names
                yield f"{os.path.basename(path)} observed", path
            elif any(fnmatchcase(label, pattern) for pattern in patterns):
                yield f"{label} observed", path
    if model in predictions.scored:
        yield "variants with effects", f"{predictions.folder}/variants/{model}.vcf.gz"
    elif isinstance(inputs.variants, str):
        yield "variants", inputs.variants
    if "promoter" in run.tasks and isinstance(inputs.sites, str):
        yield "start sites", inputs.sites


def write_regions(output: str, regions: list[str], fasta: str, model: str) -> None:
    """Write regions as BED rows with a window of the model on either side, joined where they overlap."""
    # So every base of a region is in the middle of a window, even if the region is shorter than one.
    from dna_bigbird.genome.fasta import Genome, find_region
    from dna_bigbird.report.browser.extents import Extents

    window_bp = json.loads(Path(model, "config.json").read_text())["window_bp"]
    genome = Genome(Path(fasta))
    intervals = [find_region(genome, region) for region in regions]
    extents = Extents.around(genome, intervals, window_bp)
    with atomic_path(Path(output)) as path:
        path.write_text("".join(f"{x.chrom}\t{x.start}\t{x.end}\n" for x in extents))
