"""`dna-bigbird chromatin-set`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import note
from dna_bigbird.core.paths import GenomePath, InputPath, check_paths, listed_paths
from dna_bigbird.core.settings import Count
from dna_bigbird.core.shared_options import Assembly, SetOutput
from dna_bigbird.labelled.chromatin.config import ChromatinConfig
from dna_bigbird.labelled.set_files import LabelledSetFile, held_out_notes, write_set
from dna_bigbird.labelled.splits import HeldOutRegions


@checked()
def chromatin_set(
    genome: GenomePath,
    peaks: list[InputPath] | InputPath,
    output: SetOutput,
    assembly: Assembly,
    split: HeldOutRegions,
    seed: int = 0,
    blacklist: InputPath | None = None,
    near_identical: Literal["drop", "keep"] = "keep",
    pieces: bool = False,
    check_every: Count = 0,
    **settings: Annotated[Any, ChromatinConfig],
) -> LabelledSetFile:
    """Build bins with one label per peak file, with their windows and splits.

    A label is on where its merged peaks cover more than half of the bin.

    Examples:
        dna-bigbird chromatin-set --genome hg19.fa --peaks peaks.tsv --output chromatin.h5 --assembly hg19 \\
            --split.validation chr7 --split.test chr8 chr9

    Args:
        genome: Genome: a FASTA file, plain or bgzip.
        peaks: Peak files (BED, narrowPeak, broadPeak; plain or gzip), each one label, named as the file or
            as in CTCF=peaks.bed; the name `*` makes one label of each name in column 4. Or one
            tab-separated sheet with the columns label, group, cell, path (from the sheet's
            folder) and perhaps prefix, and measured: a BED file of the regions where the label was
            measured; without it the label was measured everywhere.
        seed: Seed of the random numbers: of the background.
        blacklist: BED file; bins that share a base with it are left out.
        near_identical: What to do with training and validation rows that are nearly identical to
            one of a held-out split: looking for them reads every window.
        pieces: The FASTA has only the first part of its chromosomes: leave out peaks beyond it.
        check_every: Check every n-th row against its source: the labels of the bin with those that
            bedtools makes from the peak files; 0 compares none. The set is the same.
    """
    from dna_bigbird.genome import Genome
    from dna_bigbird.genome.bedtools import check_has_bedtools
    from dna_bigbird.labelled.chromatin.chromatin_set_run import (
        background_notes,
        build_chromatin,
        measured_notes,
    )
    from dna_bigbird.labelled.chromatin.peak_sheet import peak_rows, read_peaks, read_regions
    from dna_bigbird.labelled.shared_rows import without_leaks

    config = ChromatinConfig(**settings)
    if check_every:
        check_has_bedtools(f"--check_every {check_every}")
    reference = Genome(genome)
    split.check_regions(reference, pieces=pieces)
    sheet = peak_rows(listed_paths(peaks))
    named = {f"{x} line {row.line_number}": y for row in sheet for x, y in row.files.items()}
    check_paths(chromatin_set, {"output": output}, also_read=list(named.values()))
    excluded = read_regions(Path(blacklist), reference, pieces=pieces) if blacklist else {}
    labels, with_peak, counts = read_peaks(sheet, reference, config.bin, pieces=pieces)
    config = config.for_labels(len(labels), {label.group for label in labels})
    data = build_chromatin(
        reference,
        labels,
        config,
        split,
        blacklist=excluded,
        with_peak=with_peak,
        seed=seed,
        counts=counts,
    )
    if near_identical == "drop":
        data = without_leaks(data, reference)
    if check_every:
        from dna_bigbird.labelled.bedtools_check import check_labels

        kept = [label for label in labels if label.positives >= config.min_positive]
        count = check_labels(data, sheet, kept, reference, check_every)
        note(f"the labels of {count:,} of {len(data):,} bins are those of bedtools")
    recorded = asdict(config) | ({"seed": seed} if config.background else {})
    if not config.background:
        del recorded["background"]
    inputs = {"genome": Path(genome), **named}
    inputs |= {"blacklist": Path(blacklist)} if blacklist else {}
    result = write_set(
        Path(output),
        data,
        reference,
        command="chromatin-set",
        assembly=assembly,
        settings=recorded | {"near_identical": near_identical, "pieces": pieces},
        split=split,
        inputs=inputs,
    )
    note(result.labels_text())
    notes = (*background_notes(data, config.background or 0), *measured_notes(data))
    for text in (*notes, *held_out_notes(data, split)):
        note(text)
    return result
