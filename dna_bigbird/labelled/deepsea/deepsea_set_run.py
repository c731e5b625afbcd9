"""The published DeepSEA bundle as a labelled set: windows of any length, by coordinate.

Coordinates come from `allTFs.pos.bed`, never from alignment: the training rows are its first lines,
the validation rows the next, the test rows its lines on chr8 and chr9, in order (the bundle's
readme). How many, the .mat files say; in the published bundle 2,200,000, 4,000 and 227,512.
"""

from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.genome.bed import BedColumns, iter_bed, read_columns
from dna_bigbird.genome.chromosome_names import usual_name
from dna_bigbird.genome.coverage import covered_bp, merge_spans, unknown_spans
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.bedtools_check import second_reader
from dna_bigbird.labelled.deepsea.config import BIN_BP, DeepseaConfig
from dna_bigbird.labelled.deepsea.coordinates import Label
from dna_bigbird.labelled.deepsea.mat_files import CHANNELS, WINDOW_BP, MatFile
from dna_bigbird.labelled.labelled_data import LabelledData, PackedLabels
from dna_bigbird.labelled.splits import SPLITS

_SEARCHED_BP = 1000
"""How far from its coordinates a row's bases are looked for, to say what is wrong."""


def one_hot(bases: str, channels: str = CHANNELS) -> NDArray[np.uint8]:
    """Return (4, length); N is a column of zeros.

    Example:
        >>> one_hot("ANT").tolist()
        [[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]]
    """
    letters = np.frombuffer(bases.encode("ascii"), dtype=np.uint8)
    return (letters == np.frombuffer(channels.encode(), dtype=np.uint8)[:, None]).astype(np.uint8)


def check_rows(
    path: Path,
    first_row: int,
    every: slice,
    forward: tuple[NDArray, NDArray],
    reverse: tuple[NDArray, NDArray],
    centres: Windows,
    genome: Genome,
) -> None:
    """Raise InputError at the first checked row whose bases or labels differ, on either strand."""
    rows = np.arange(len(centres))[every]
    text = "".join(genome.fetch(centres[row]) for row in rows.tolist()).encode("ascii")
    letters = np.frombuffer(text, dtype=np.uint8).reshape(len(rows), WINDOW_BP)
    letters = np.asfortranarray(letters)  # both formats keep samples side by side in memory
    wrong, wrong_reverse = np.zeros((2, len(rows)), dtype=bool)
    for channel, base in enumerate(CHANNELS.encode()):
        expected = letters == base
        wrong |= (forward[0][every, channel] != expected).any(axis=1)
        # Channels A G C T backwards are their complements T C G A.
        wrong_reverse |= (reverse[0][every, 3 - channel, ::-1] != expected).any(axis=1)
    wrong_labels = (forward[1][every] != reverse[1][every]).any(axis=1)
    bad = np.flatnonzero(wrong | wrong_reverse | wrong_labels)
    if not len(bad):
        return
    row = int(rows[bad[0]])
    window = centres[row]
    if wrong[bad[0]]:
        reason = _reason(np.asarray(forward[0][row]), window, genome)
    elif wrong_reverse[bad[0]]:
        reason = (
            "its row of the second half is not its reverse complement; expected all "
            "forward windows, then all reverse complements in the same order"
        )
    else:
        reason = "its reverse complement in the second half has other labels"
    raise InputError(
        f"{path}: row {first_row + row:,} ({window.chrom}:{window.start}-{window.end}): {reason}"
    )


def _reason(window_4W: NDArray, window: Interval, genome: Genome) -> str:
    """Say why a row is not the window's bases."""
    if not np.isin(window_4W, (0, 1)).all() or (window_4W.sum(axis=0) > 1).any():
        return "its columns are not one-hot (at most one 1 each)"
    bases = genome.fetch(window)
    for order in permutations("ACGT"):
        if np.array_equal(window_4W, one_hot(bases, "".join(order))):
            return f"its channels are in the order {' '.join(order)}, expected {' '.join(CHANNELS)}"
    text = "".join(
        np.array([*CHANNELS, "N"])[np.where(window_4W.any(0), window_4W.argmax(0), 4)].tolist()
    )
    around = genome.fetch(
        Interval(window.chrom, window.start - _SEARCHED_BP, window.end + _SEARCHED_BP)
    )
    shift = around.find(text) - _SEARCHED_BP if text.strip("N") else -_SEARCHED_BP - 1
    if shift >= -_SEARCHED_BP:
        side = "right" if shift > 0 else "left"
        return (
            f"the file has the bases {abs(shift)} bp further {side}; is allTFs.pos.bed shifted, "
            "or does it not belong to these files?"
        )
    if text == reverse_complement(bases):
        return "it is the reverse complement; expected the forward windows in the first half"
    differ = sum(a != b for a, b in zip(text, bases, strict=True))
    return (
        f"{differ:,} of its {WINDOW_BP:,} bases are not those of {genome.path.name}. Is the genome "
        "hg19, and allTFs.pos.bed that of this bundle?"
    )


FILES = {"train": "train", "validation": "valid", "test": "test"}
"""Name of each split in the bundle."""


def build_deepsea(
    genome: Genome, bundle: Path, bed: Path, labels: list[Label], config: DeepseaConfig
) -> LabelledData:
    """Build the rows of the bundle, forward strand only, in the bundle's order."""
    # Training windows that share a base with a held-out window are left out and counted: the
    # published training rows end where validation begins.
    columns = read_columns(bed)  # first: test.mat is read whole when it is opened
    files = {name: MatFile(bundle / f"{file}.mat", file) for name, file in FILES.items()}
    for file in files.values():
        if file.labels != len(labels):
            raise InputError(
                f"{file.path}: {file.labels} labels in it, but {len(labels)} names were given"
            )
    lines = _lines_of_splits(bed, columns, files, config)
    order = np.concatenate([lines[name] for name in SPLITS])
    windows = _windows(bed, columns, order, genome, config.window)
    centres = Windows(windows.chromosomes, windows.chrom, columns.start[order] - 400, 1000)
    reader = second_reader(genome)
    parts, first = [], 0
    for name in SPLITS:
        here = centres[first : first + len(lines[name])]
        parts.append(_read_checked(files[name], here, reader, config))
        first += len(lines[name])
    data = LabelledData(
        task="chromatin",
        window_bp=config.window,
        label_names=[x.name for x in labels],
        label_groups=[x.group for x in labels],
        label_cells=[x.cell for x in labels],
        label_targets=[x.target for x in labels],
        intervals=windows,
        names=[],
        labels=PackedLabels.joined(parts, len(labels)),
        split=np.repeat(np.arange(3, dtype=np.uint8), [len(lines[name]) for name in SPLITS]),
        bin_starts=columns.start[order],
        bin_bp=BIN_BP,
    )
    return _without(data, genome, config)


def _lines_of_splits(
    bed: Path, columns: BedColumns, files: dict[str, MatFile], config: DeepseaConfig
) -> dict[str, NDArray[np.int64]]:
    """Return the lines of the BED file, counted from 0, that are the rows of each split."""
    wrong = np.flatnonzero(columns.end - columns.start != BIN_BP)
    if len(wrong):
        raise InputError(
            f"{bed}:{_line(bed, wrong[0])}: expected rows of {BIN_BP} bp (200-bp bins)"
        )
    train, validation = files["train"].rows, files["validation"].rows
    bare = [usual_name(x) for x in columns.chromosomes]
    test_names = [usual_name(x) for x in config.test_chromosomes]
    is_test = np.isin(columns.chrom, [i for i, x in enumerate(bare) if x in test_names])
    lines = {
        "train": np.arange(train),
        "validation": np.arange(train, train + validation),
        "test": np.flatnonzero(is_test),
    }
    names = " and ".join(config.test_chromosomes)
    if train + validation > len(columns):
        raise InputError(
            f"{bed}: {len(columns):,} rows, but the .mat files have {train:,} training and "
            f"{validation:,} validation rows. Is it cut short?"
        )
    early = np.flatnonzero(is_test[: train + validation])
    if len(early):
        raise InputError(
            f"{bed}:{_line(bed, early[0])}: a row of the test chromosomes {names} is among the "
            f"first {train + validation:,}, which are training and validation"
        )
    if len(lines["test"]) != files["test"].rows:
        raise InputError(
            f"{bed}: {len(lines['test']):,} rows on {names}, but test.mat has "
            f"{files['test'].rows:,} (and as many reverse complements)"
        )
    return lines


def _line(bed: Path, row: int) -> int:
    return next(x.line_number for i, x in enumerate(iter_bed(bed)) if i == row)


def _windows(
    bed: Path, columns: BedColumns, rows: NDArray[np.int64], genome: Genome, window_bp: int
) -> Windows:
    """Return the windows around the bins of some rows; they may run past a chromosome's ends."""
    names = [genome.find(chrom) for chrom in columns.chromosomes]
    lengths = np.array([genome.lengths[x] if x else -1 for x in names])[columns.chrom[rows]]
    wrong = np.flatnonzero(columns.end[rows] > lengths)
    if len(wrong):
        row = rows[wrong[0]]
        chrom = columns.chromosomes[columns.chrom[row]]
        genome.resolve(chrom)  # raises if it is not there
        raise InputError(
            f"{bed}:{_line(bed, row)}: end {columns.end[row]:,} is beyond the end of {chrom} "
            f"({lengths[wrong[0]]:,} bp in {genome.path.name}). Is the genome hg19?"
        )
    starts = columns.start[rows] - (window_bp - BIN_BP) // 2
    known = tuple(name or chrom for name, chrom in zip(names, columns.chromosomes, strict=True))
    return Windows(known, columns.chrom[rows].astype(np.uint32), starts, window_bp)


def _read_checked(
    file: MatFile, centres: Windows, genome: Genome, config: DeepseaConfig
) -> PackedLabels:
    """Return a split's labels; every `check_every`-th row is compared with the genome."""
    parts = []
    for start, end in file.slabs():
        sequences, labels = file.read(start, end)
        if not np.isin(labels, (0, 1)).all():
            raise InputError(f"{file.path}: a label of the rows {start}-{end} is neither 0 nor 1")
        reverse = file.read(file.rows + start, file.rows + end)
        every = slice(-start % config.check_every, None, config.check_every)
        here = centres[start:end]
        check_rows(file.path, start, every, (sequences, labels), reverse, here, genome)
        parts.append(PackedLabels(np.packbits(labels.astype(bool), axis=1), file.labels))
    return PackedLabels.joined(parts, file.labels)


def _without(data: LabelledData, genome: Genome, config: DeepseaConfig) -> LabelledData:
    """Leave out rows by rule, count everything, warn of labels without positives."""
    windows, split = data.intervals, data.split
    starts, ends = windows.start, windows.start + config.window
    past = np.zeros(len(data), dtype=bool)
    unknown, shared = np.zeros((2, len(data)), dtype=np.int64)
    for number, chrom in enumerate(windows.chromosomes):
        here = np.flatnonzero(windows.chrom == number)
        if not len(here):
            continue
        length = genome.lengths[chrom]
        outside = np.maximum(0, -starts[here]) + np.maximum(0, ends[here] - length)
        past[here] = outside > 0
        gaps = unknown_spans(genome, chrom)
        unknown[here] = outside + covered_bp(gaps, starts[here], ends[here])
        held_out = here[split[here] > 0]
        held_out = merge_spans(starts[held_out], ends[held_out])
        shared[here] = covered_bp(held_out, starts[here], ends[here])
    known = unknown <= config.max_n_fraction * config.window
    crossing = known & (split == 0) & (shared > 0)
    counts = {
        "rows_read": len(data),
        "left_out_window_with_n": int((~known).sum()),
        "left_out_training_window_in_held_out_bases": int(crossing.sum()),
    }
    keep = known & ~crossing
    kept = data.keep(keep)
    counts["kept_window_past_the_end"] = int((past & keep).sum())
    for number, name in enumerate(SPLITS):
        rows = np.flatnonzero(kept.split == number)
        empty = np.flatnonzero(kept.labels.positives(rows) == 0)
        counts[f"rows_{name}"] = len(rows)
        counts[f"labels_without_positive_{name}"] = len(empty)
        if len(empty):
            some = ", ".join(f"{i} {data.label_names[i]}" for i in empty[:5].tolist())
            more = ", …" if len(empty) > 5 else ""
            note(
                f"no positive in {name}: {len(empty)} label{'s' * (len(empty) != 1)} (column {some}{more})"
            )
    if not counts["rows_train"]:
        raise InputError("no training row is left; raise --max_n_fraction")
    kept.counts = counts
    return kept
