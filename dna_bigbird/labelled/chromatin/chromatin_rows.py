"""Steps of `chromatin-set`: read peaks, label the bins, draw background, check with bedtools."""

from dataclasses import asdict
from pathlib import Path

from dna_bigbird.core.errors import note
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.bedtools_check import check_labels
from dna_bigbird.labelled.chromatin.bins import read_blacklist
from dna_bigbird.labelled.chromatin.chromatin import build_chromatin
from dna_bigbird.labelled.chromatin.config import ChromatinConfig
from dna_bigbird.labelled.chromatin.peak_sheet import SheetRow, read_peaks
from dna_bigbird.labelled.labelled_data import LabelledData
from dna_bigbird.labelled.shared_rows import without_leaks
from dna_bigbird.labelled.splits import SplitConfig


def build_rows(
    genome: Genome,
    sheet: list[SheetRow],
    config: ChromatinConfig,
    split: SplitConfig,
    *,
    blacklist: Path | None,
    seed: int,
    drop_near_identical: bool,
    pieces: bool,
    check_every: int,
) -> tuple[LabelledData, ChromatinConfig]:
    """Return the rows, and the settings with the defaults for their number of labels.

    Args:
        check_every: Compare the labels of every n-th bin with those of bedtools; 0 compares none.

    Raises:
        InputError: If inputs are wrong or nothing is left, or bedtools makes other labels.
    """
    excluded = read_blacklist(blacklist, genome, pieces=pieces)
    # A row of the sheet gives at least one label.
    with_peak: dict | None = {} if config.for_labels(len(sheet)).background else None
    labels, counts = read_peaks(sheet, genome, config.bin, pieces=pieces, with_peak=with_peak)
    config = config.for_labels(len(labels), {label.group for label in labels})
    data = build_chromatin(
        genome,
        labels,
        config,
        split,
        blacklist=excluded,
        with_peak=with_peak,
        seed=seed,
        counts=counts,
    )
    if drop_near_identical:
        data = without_leaks(data, genome)
    if check_every:
        kept = [label for label in labels if label.positives >= config.min_positive]
        count = check_labels(data, sheet, kept, genome, check_every)
        note(f"the labels of {count:,} of {len(data):,} bins are those of bedtools")
    return data, config


def held_out_notes(data: LabelledData, split: SplitConfig) -> list[str]:
    """Return a note if validation or test has no row."""
    empty = [name for name in ("validation", "test") if not data.counts[f"rows_{name}"]]
    if not empty:
        return []
    regions = [region for name in empty for region in getattr(split, name)]
    advice = (
        f"no bin with a label is in {', '.join(regions)}; hold out regions that have peaks"
        if regions
        else "hold out regions or chromosomes: --split.validation chr10 --split.test chr8 chr9"
    )
    return [f"no row for {' and '.join(empty)}, which finetune and evaluate need: {advice}"]


def recorded_settings(
    config: ChromatinConfig, seed: int, near_identical: str, pieces: bool
) -> dict[str, object]:
    """Return the options that the set records, in the order of the command's help."""
    settings = asdict(config)
    if config.background:
        settings["seed"] = seed
    else:
        del settings["background"]
    return settings | {"near_identical": near_identical, "pieces": pieces}
