"""`dna-bigbird sequence-set`."""

import shlex
from pathlib import Path
from typing import Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.paths import GenomePath, InputPath, check_paths, listed_paths
from dna_bigbird.core.settings import Count, ShareBelowOne
from dna_bigbird.core.shared_options import Assembly, MaxNFraction, NearIdentical, SetOutput
from dna_bigbird.labelled.set_files import LabelledSetFile, write_set
from dna_bigbird.labelled.splits import SplitConfig


@checked()
def sequence_set(
    input: list[InputPath] | InputPath,
    output: SetOutput,
    validation: list[InputPath] | InputPath = [],  # noqa: B006 - --help shows the default
    test: list[InputPath] | InputPath = [],  # noqa: B006
    genome: GenomePath | None = None,
    assembly: Assembly = "",
    type: Literal["auto", "binary", "multi-label", "multi-class", "regression"] = "auto",
    sequence_column: str = "sequence",
    label_columns: list[str] | str = [],  # noqa: B006
    group_column: str = "",
    classes_by_file: bool = False,
    positive: str = "",
    kmers: Count = 0,
    split: SplitConfig = SplitConfig(),  # noqa: B008
    validation_fraction: ShareBelowOne | None = None,
    test_fraction: ShareBelowOne | None = None,
    seed: int = 0,
    max_n_fraction: MaxNFraction = 0.1,
    duplicates: Literal["drop", "keep"] = "drop",
    conflicts: Literal["error", "drop"] = "error",
    missing: Literal["error", "drop"] = "error",
    near_identical: NearIdentical = "drop",
) -> LabelledSetFile:
    """Make a labelled set from your own sequences: one label, several labels, classes or targets.

    The set has the sequences itself, so no later command needs a genome. Rows are split so that equal
    sequences (on either strand), overlapping windows and rows of one group stay together.

    Examples:
        dna-bigbird sequence-set --input train.csv --output set.h5
        dna-bigbird sequence-set --input train.csv --validation dev.csv --test test.csv --output set.h5
        dna-bigbird sequence-set --input enhancer.fa promoter.fa --output set.h5 --split.folds 5
        dna-bigbird sequence-set --input regions.bed --genome hg19.fa --assembly hg19 --label_columns 5 \\
            --type regression --output set.h5 --split.validation chr7 --split.test chr8

    Args:
        input: File to read: a table with a header (CSV, TSV), a FASTA file with the sequences of a class,
            or intervals of a genome: a BED file with the label in column 4, or a table with a chromosome (region,
            chrom, chr), start, end (0-based, half-open) and strand, as Genomic Benchmarks has them; plain or gzip.
            Several are joined; NAME=FILE names the class of all rows of a file.
        validation: Validation data: files of the same form; if not given, part of the input.
        test: Test data: files of the same form; if not given, part of the input.
        genome: Genome: a FASTA file, plain or bgzip, for intervals.
        type: Type of the labels: binary (one of 0 and 1), multi-label (several), multi-class (one of several
            classes) or regression (numbers); auto infers it from the labels, and a note names it.
        sequence_column: Column with the sequence: its name in the header.
        label_columns: Columns with the labels: names in the header, or numbers (from 4) of a BED file.
            If not given: label, or column 4.
        group_column: Column whose rows of one text stay in one split, such as a gene or a family.
        classes_by_file: Every file is one class, named by the file, as FASTA files always are.
        positive: Class whose probability is learned: makes a binary label of two classes.
        kmers: Letters of the overlapping words that sequences are written as (6 for DNABERT's files); 0:
            plain sequences.
        split: Regions held out (for BED files), or folds.
        validation_fraction: Share of the input for validation: 0.1 if not given and no file or --split has
            its rows.
        test_fraction: Share of the input for the test: likewise.
        seed: Seed of the random numbers: which rows go to which split, with fractions.
        duplicates: Sequences that occur several times: drop all but one, furthest held out; or keep all rows
            as the files have them, also those with different labels, as published benchmarks do. Copies of
            held-out rows in training stay only with --near_identical keep.
        conflicts: Sequences that occur with different labels: an error, or drop them.
        missing: Rows whose label is missing (empty, NA, nan, None, null and so on): an error, or drop them.
    """
    from dna_bigbird.genome import Genome
    from dna_bigbird.labelled.sequences.files import SequenceColumns, sequence_files
    from dna_bigbird.labelled.sequences.labels import encode_labels
    from dna_bigbird.labelled.sequences.sets import (
        SequenceSplit,
        build_sequences,
        missing_notes,
        read_rows,
        with_counts,
    )
    from dna_bigbird.labelled.shared_rows import without_leaks

    if kmers == 1:
        raise InputError(f"--kmers {kmers}: expected 0, or at least 2")
    names = (label_columns,) if isinstance(label_columns, str) else tuple(label_columns)
    columns = SequenceColumns(sequence_column, names, group_column, kmers)
    reference = Genome(genome) if genome else None
    files = [
        file
        for role, paths in (("input", input), ("validation", validation), ("test", test))
        for file in sequence_files(listed_paths(paths), role, classes_by_file=classes_by_file)
    ]
    check_paths(sequence_set, {"output": output}, also_read=[file.path for file in files])
    rows, roles, unlabelled = read_rows(files, columns, reference, missing)
    if reference is not None and rows[0].interval is not None:
        split.check_regions(reference)
    label_names = names if names and rows[0].interval is None else columns.label_names
    labels = encode_labels(
        rows, label_names[: len(rows[0].labels)], label_type=type, positive=positive
    )
    choice = SequenceSplit(split, validation_fraction, test_fraction, seed)
    data = build_sequences(
        rows,
        labels,
        roles,
        choice,
        max_n_fraction=max_n_fraction,
        conflicts=conflicts,
        duplicates=duplicates,
    )
    if unlabelled:
        read = len(rows) + unlabelled
        counts = {"rows_read": read, "left_out_without_label": unlabelled}
        data.counts = counts | data.counts | {"rows_read": read}
    if near_identical == "drop":
        data = with_counts(without_leaks(data, None))
    settings = {
        "type": labels.label_type,
        "sequence_column": shlex.quote(sequence_column),
        "label_columns": " ".join(map(shlex.quote, names)),
        "group_column": shlex.quote(group_column),
        "classes_by_file": classes_by_file,
        "positive": shlex.quote(positive),
        "kmers": kmers,
        "validation_fraction": validation_fraction,
        "test_fraction": test_fraction,
        "seed": seed,
        "max_n_fraction": max_n_fraction,
        "duplicates": "keep" if duplicates == "keep" else None,
        "conflicts": conflicts,
        "missing": "drop" if missing == "drop" else None,
        "near_identical": near_identical,
    }
    has_regions = bool(split.folds or split.validation or split.test)
    numbers = {role: 0 for role in ("input", "validation", "test")}
    inputs = {"genome": Path(genome)} if genome else {}
    for file in files:
        numbers[file.role] += 1
        inputs[f"{file.role} {numbers[file.role]}"] = file.path
    result = write_set(
        Path(output),
        data,
        reference if data.has_coordinates else None,
        command="sequence-set",
        assembly=assembly,
        settings={key: value for key, value in settings.items() if value not in (None, "", "''")},
        split=split if has_regions else None,
        inputs=inputs,
    )
    named = f"{', '.join(data.label_names[:5])}{', …' if len(data.label_names) > 5 else ''}"
    note(f"{labels.label_type} ({named}): {result.counts_text()}")
    for text in missing_notes(data):
        note(text)
    return result
