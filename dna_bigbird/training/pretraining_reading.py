"""Step of `pretrain`: what training reads in addition to the token stores, sites and the case of the genome."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.files import sha256_of
from dna_bigbird.corpus.site_windows import SiteWindows
from dna_bigbird.corpus.store_checks import check_store_genome
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.bed import read_bed
from dna_bigbird.genome.repeats import UNKNOWN, RepeatClasses
from dna_bigbird.training.objective_config import ObjectiveConfig
from dna_bigbird.training.processes import is_first_on_node


@dataclass(frozen=True)
class PretrainingReading:
    """What training reads in addition to the token stores; None where an option is off."""

    sites: SiteWindows | None = None
    soft_mask: RepeatClasses | None = None
    checksums: dict[str, str] = field(default_factory=dict)
    """sha256 of the files, by option."""


def open_reading(
    store: TokenStore,
    piece_bp: np.ndarray,
    objective: ObjectiveConfig,
    genome: Path | None,
    sites: Path | None,
) -> PretrainingReading:
    """Open what the objective needs.

    Args:
        store: Of the training documents.
        piece_bp: Base pairs of every token id, as the tokenizer's.

    Raises:
        InputError: If the genome is missing, another one or not soft-masked, or no site is in the
            training documents.
    """
    files = {}
    if objective.repeat_weight != 1:
        if genome is None:
            raise InputError(
                f"--repeat_weight {objective.repeat_weight} reads lower case from the genome: give "
                "--genome, the FASTA file that the documents come from"
            )
        files["genome"] = genome
    if objective.sites_share:
        files["sites"] = sites
    return PretrainingReading(
        site_windows(store, piece_bp, sites, objective.sites_share) if "sites" in files else None,
        soft_mask(store, genome) if "genome" in files else None,
        {name: sha256_of(path) for name, path in files.items()},
    )


def site_windows(store: TokenStore, piece_bp: np.ndarray, path: Path, share: float) -> SiteWindows:
    """Read the sites, and say how many of them are in the training documents."""
    rows = read_bed(path)
    intervals = [row.interval for row in rows]
    sites = SiteWindows(store, intervals, share, piece_bp)
    if not sites.used:
        raise InputError(
            f"{path}: none of its {len(rows):,} sites is in the documents of {store.path}. Is "
            "it of the same assembly?"
        )
    if is_first_on_node():
        note(
            f"{path}: {sites.used:,} of {len(rows):,} sites are in the training documents; "
            f"{100 * share:g} % of the examples are drawn around them. {sites.outside:,} are outside "
            "and not used"
        )
    return sites


def soft_mask(store: TokenStore, path: Path) -> RepeatClasses:
    """Return the repeat classes by lower case."""
    genome = Genome(path)
    if is_first_on_node():
        check_store_genome(store, genome)
    classes = RepeatClasses.from_soft_mask(genome)
    if all(classes.classes(Interval(chrom, 0, 1))[0] == UNKNOWN for chrom in store.chromosomes):
        raise InputError(
            f"{path}: no chromosome of {store.path} has lower and upper case: repeats are not known. "
            "Give a soft-masked FASTA, or leave out --repeat_weight"
        )
    return classes
