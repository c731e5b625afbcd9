"""`dna-bigbird deepsea-set`."""

import shlex
from dataclasses import asdict
from typing import Annotated, Any

from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.errors import note
from dna_bigbird.core.paths import GenomePath, InputPath, check_paths
from dna_bigbird.core.shared_options import Assembly, SetOutput
from dna_bigbird.labelled.deepsea.config import DeepseaConfig
from dna_bigbird.labelled.set_files import LabelledSetFile, write_set


@renamed(coordinates="row_coordinates", labels="label_names")
@checked()
def deepsea_set(
    bundle: InputPath,
    genome: GenomePath,
    label_names: InputPath,
    output: SetOutput,
    assembly: Assembly,
    row_coordinates: InputPath | None = None,
    **settings: Annotated[Any, DeepseaConfig],
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
        row_coordinates: allTFs.pos.bed, plain, gzip or the published allTFs.pos.bed.tar.gz; looked
            for in the folder of the bundle and next to it if not given.
    """
    from dna_bigbird.genome import Genome
    from dna_bigbird.labelled.deepsea.coordinates import (
        BED,
        find_coordinates,
        read_labels,
        unpacked_coordinates,
    )
    from dna_bigbird.labelled.deepsea.deepsea_set_run import FILES, build_deepsea

    config = DeepseaConfig(**settings)
    row_coordinates = row_coordinates or find_coordinates(bundle)
    check_paths(deepsea_set, {"row_coordinates": row_coordinates, "output": output})
    reference = Genome(genome)
    with unpacked_coordinates(row_coordinates) as bed:
        data = build_deepsea(reference, bundle, bed, read_labels(label_names), config)
    inputs = {f"{name}.mat": bundle / f"{name}.mat" for name in FILES.values()}
    inputs |= {BED: row_coordinates, "genome": genome, "labels": label_names}
    chromosomes = shlex.quote(f"[{','.join(config.test_chromosomes)}]")
    result = write_set(
        output,
        data,
        reference,
        command="deepsea-set",
        assembly=assembly,
        settings=asdict(config) | {"test_chromosomes": chromosomes},
        inputs=inputs,
    )
    note(result.labels_text())
    return result
