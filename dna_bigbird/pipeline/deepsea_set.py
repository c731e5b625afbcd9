"""`dna-bigbird deepsea-set`."""

import shlex

from dna_bigbird.choices import checked, renamed
from dna_bigbird.errors import checked_settings, note
from dna_bigbird.paths import GenomePath, InputPath, check_paths
from dna_bigbird.pipeline.set_files import LabelledSetFile, write_set
from dna_bigbird.shared_options import Assembly, SetOutput

_TEST = ["chr8", "chr9"]


@renamed(coordinates="row_coordinates", labels="label_names")
@checked()
def deepsea_set(
    bundle: InputPath,
    genome: GenomePath,
    label_names: InputPath,
    output: SetOutput,
    assembly: Assembly,
    window: int = 8000,
    row_coordinates: InputPath | None = None,
    check_every: int = 1,
    max_n_fraction: float = 1.0,
    test_chromosomes: list[str] = _TEST,
) -> LabelledSetFile:
    """Build a labelled set from the published DeepSEA bundle, with windows of any length.

    Coordinates come from the published BED file; the bases of the rows are compared with the genome,
    which pyfaidx reads for that.

    Examples:
        dna-bigbird deepsea-set --bundle deepsea_train --genome hg19.fa --assembly hg19 \\
            --label_names data_specs/deepsea_919_peaks.tsv --output deepsea.h5

    Args:
        bundle: Folder with train.mat, valid.mat and test.mat.
        genome: Genome: a plain FASTA file of hg19.
        label_names: The 919 label names, one per line, or a tab-separated table with the columns
            label, group and cell (data_specs/deepsea_919_peaks.tsv).
        window: Window in base pairs: what the model reads, centred on the 200-bp bin.
        row_coordinates: allTFs.pos.bed, plain, gzip or the published allTFs.pos.bed.tar.gz; looked
            for in the folder of the bundle and next to it if not given.
        check_every: Check every n-th row against its source: its 1000 bp with the genome; 1 checks
            all.
        max_n_fraction: Windows with a larger share of N are left out; bases past a chromosome's
            end count as N. 1 keeps every published row.
        test_chromosomes: Chromosomes of the rows in test.mat.
    """
    from dna_bigbird.datasets.deepsea import FILES, DeepseaConfig, build_deepsea
    from dna_bigbird.datasets.deepsea_coordinates import (
        BED,
        find_coordinates,
        unpacked_coordinates,
    )
    from dna_bigbird.datasets.deepsea_labels import read_labels
    from dna_bigbird.genome import Genome

    with checked_settings():
        config = DeepseaConfig(window, check_every, max_n_fraction, test_chromosomes)
    row_coordinates = row_coordinates or find_coordinates(bundle)
    check_paths(deepsea_set, {"row_coordinates": row_coordinates, "output": output})
    reference = Genome(genome)
    with unpacked_coordinates(row_coordinates) as bed:
        data = build_deepsea(reference, bundle, bed, read_labels(label_names), config)
    inputs = {f"{name}.mat": bundle / f"{name}.mat" for name in FILES.values()}
    inputs |= {BED: row_coordinates, "genome": genome, "labels": label_names}
    settings = {
        "window": window,
        "check_every": check_every,
        "max_n_fraction": max_n_fraction,
        "test_chromosomes": shlex.quote(f"[{','.join(test_chromosomes)}]"),
    }
    result = write_set(
        output,
        data,
        reference,
        command="deepsea-set",
        assembly=assembly,
        settings=settings,
        inputs=inputs,
    )
    note(result.labels_text())
    return result
