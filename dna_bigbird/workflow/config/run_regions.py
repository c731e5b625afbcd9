"""Compares the regions in a run's config with its genome, where that is there before the run."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.yaml_files import read_yaml
from dna_bigbird.corpus.regions import read_region
from dna_bigbird.genome import Genome
from dna_bigbird.workflow.config.config_files import (
    ConfigFiles,
    is_path,
    plain_path,
    results_folder,
)
from dna_bigbird.workflow.config.run_checks import region_texts

OF_GENOME = ("demo", "genome", "promoter_sequences")
"""Entries of `inputs` that the genome is made of."""


def check_regions(run: Mapping, files: ConfigFiles) -> None:
    """Check that the genome has the regions of a config; without an index the first job does."""
    for genome in indexed_genomes(run):
        for path, text in region_texts(run):
            try:
                read_region(text.rpartition(":")[0] or text if run["pieces"] else text, genome)
            except InputError as error:
                raise files.error(path, str(error)) from None


def indexed_genomes(run: Mapping) -> Iterator[Genome]:
    """Yield the genome of a run if it has an index: the user's one file, or what an earlier run made of the same."""
    inputs = run.get("inputs", {})
    own = {key: inputs[key] for key in OF_GENOME if key in inputs}
    candidates = []
    if len(sources := own.get("genome", [])) == 1 and len(own) == 1 and is_path(sources[0]):
        candidates.append(Path(plain_path(sources[0])))
    results, recorded = results_folder(run), {}
    with contextlib.suppress(InputError):  # no earlier run
        recorded = read_yaml(results / "config.yaml").values().get("inputs") or {}
    if "demo" in own or (
        own and own == {key: recorded[key] for key in OF_GENOME if key in recorded}
    ):
        candidates.append(results / "genome" / "genome.fa")
    for path in candidates:
        if path.is_file() and Path(f"{path}.fai").is_file():
            try:
                yield Genome(path)
            except InputError:
                continue  # the job that reads it says why
            return
