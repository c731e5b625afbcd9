"""`dna-bigbird track-set`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import note
from dna_bigbird.core.paths import GenomePath, InputPath, check_paths, listed_paths
from dna_bigbird.core.shared_options import Assembly, NearIdentical, SetOutput
from dna_bigbird.labelled.set_files import LabelledSetFile, held_out_notes, write_set
from dna_bigbird.labelled.splits import HeldOutRegions
from dna_bigbird.labelled.tracks.config import TrackConfig


@checked()
def track_set(
    genome: GenomePath,
    tracks: list[InputPath] | InputPath,
    output: SetOutput,
    assembly: Assembly,
    split: HeldOutRegions,
    blacklist: InputPath | None = None,
    near_identical: NearIdentical = "keep",
    pieces: bool = False,
    **settings: Annotated[Any, TrackConfig],
) -> LabelledSetFile:
    """Build windows with a value per bin and track from files of signal, with their splits.

    The bins in the middles of the windows tile the genome. A bin is missing, not 0, where its track was not measured:
    on chromosomes without a row, outside the regions of the sheet, at an N or a blacklisted base.

    Examples:
        dna-bigbird track-set --genome hg19.fa --tracks ctcf.bw h3k4me3.bedGraph.gz --output tracks.h5 \\
            --assembly hg19 --bin 32 --split.validation chr7 --split.test chr8 chr9

    Args:
        genome: Genome: a FASTA file, plain or bgzip.
        tracks: Tracks: files of signal (bigWig, or sorted bedGraph, plain or gzip), each one track, named as the file or as
            in CTCF=ctcf.bw. Or one tab-separated sheet with the columns label, group, cell, path (from the sheet's
            folder) and perhaps measured: a BED file of the regions where the track was measured.
        blacklist: BED file; bins that share a base with it are missing.
        pieces: The FASTA has only the first part of its chromosomes: leave out what the tracks have beyond it.
    """
    from dna_bigbird.genome import Genome
    from dna_bigbird.labelled.chromatin.peak_sheet import read_regions
    from dna_bigbird.labelled.shared_rows import without_leaks
    from dna_bigbird.labelled.tracks.track_set_run import build_tracks, track_rows

    config = TrackConfig(**settings)
    reference = Genome(genome)
    split.check_regions(reference, pieces=pieces)
    sheet = track_rows(listed_paths(tracks))
    files = [(f"line {x.line_number}", x.path, x.measured) for x in sheet]
    named = {f"track {line}": path for line, path, _ in files}
    named |= {f"measured {line}": path for line, _, path in files if path}
    check_paths(track_set, {"output": output}, also_read=list(named.values()))
    excluded = read_regions(Path(blacklist), reference, pieces=pieces) if blacklist else {}
    data = build_tracks(reference, sheet, config, split, excluded=excluded, pieces=pieces)
    if near_identical == "drop":
        data = without_leaks(data, reference)
    inputs = {"genome": Path(genome), **named} | (
        {"blacklist": Path(blacklist)} if blacklist else {}
    )
    result = write_set(
        Path(output),
        data,
        reference,
        command="track-set",
        assembly=assembly,
        settings=asdict(config) | {"near_identical": near_identical, "pieces": pieces},
        split=split,
        inputs=inputs,
    )
    for text in (result.labels_text(), *held_out_notes(data, split)):
        note(text)
    return result
