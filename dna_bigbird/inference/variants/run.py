"""One run over the variants of a VCF file: scores in memory, as a stream, or by way of the disk."""

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird import __version__
from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError, Interrupted
from dna_bigbird.genome.variants import VcfHeader
from dna_bigbird.inference.predictor import Predictor
from dna_bigbird.inference.progress import progress_bar
from dna_bigbird.inference.spool import file_identity, open_spool
from dna_bigbird.inference.variants.effects import EFFECTS, FRAME_ALLELES, Effects, site_effects
from dna_bigbird.inference.variants.sites import Site, VariantSites
from dna_bigbird.inference.variants.targets import Target, open_writers
from dna_bigbird.inference.variants.writers import Origin, rows_of_fitting
from dna_bigbird.inference.windows.tiling import short_window_notes


@dataclass(frozen=True)
class VariantSummary:
    """What was read and what was left out."""

    records: int
    alleles: int
    """Alternative alleles, scored or not."""
    skipped: dict[str, int]
    """Alleles without a score, by reason; a record without an alternative allele counts as one."""
    notes: list[str]
    """What a user should know of how they were scored."""


@dataclass(frozen=True)
class VariantScores(VariantSummary):
    """A row for each alternative allele, in the order of the file; NaN where there is no score.

    Records that do not fit the genome (`ref_mismatch="skip"`) have no row.
    """

    label_names: list[str]
    chrom: list[str]
    pos: NDArray[np.int64]
    """From 1, as in the file."""
    id: list[str]
    ref: list[str]
    alt: list[str]
    diff: NDArray[np.float32]
    """Probability of ALT minus that of REF, mean over strands, (alleles, labels)."""
    log_odds: NDArray[np.float32]
    """The same of the log-odds."""
    ref_probability: NDArray[np.float32]
    """Mean over strands of the probability of REF."""
    alt_probability: NDArray[np.float32]
    """The same of ALT."""


class VariantRun:
    """One run of `score_variants`, its inputs open.

    Args:
        columns: Effects that are kept.
        models: Name and SHA-256 of the weights of each.
    """

    @checked()
    def __init__(
        self,
        predictor: Predictor,
        sites: VariantSites,
        *,
        window_bp: int,
        strand: Literal["both", "forward"],
        columns: Sequence[str],
        targets: Sequence[Target],
        models: list[tuple[str, str]],
        progress: bool,
    ) -> None:
        self.predictor, self.sites, self.targets = predictor, sites, targets
        self.window_bp, self.strand, self.columns = window_bp, strand, columns
        self.origin = Origin(
            models, {"window": f"{window_bp} bp", "strand": strand, "version": __version__}
        )
        self.progress = progress

    def facts(self) -> dict:
        """Return the fields of a summary."""
        sites, notes = self.sites, self.predictor.notes()
        notes += short_window_notes(self.window_bp, self.predictor.window_bp)
        if sites.streamed and (question := sites.assembly_note()):  # of a file it is asked before
            notes.append(question)
        if sites.skipped:
            parts = ", ".join(f"{n:,} {reason}" for reason, n in sorted(sites.skipped.items()))
            notes.append(
                f"not scored, of {sites.alleles:,} alleles in {sites.records:,} records: {parts}"
            )
        return {
            "records": sites.records,
            "alleles": sites.alleles,
            "skipped": dict(sorted(sites.skipped.items())),
            "notes": notes,
        }

    def in_memory(self) -> VariantScores:
        """Return all scores."""
        variants, frames = [], []
        with self.sites.open() as (_, stream):
            for sites, effects in self._effects(stream):
                variants += [
                    (site.variant, alt) for site in sites if site.fits for alt in site.variant.alts
                ]
                has_row = rows_of_fitting(sites)
                frames.append({name: values[has_row] for name, values in effects.items()})
        nothing = self._nothing(EFFECTS)
        diff, log_odds, ref, alt = (
            np.concatenate([frame[name] for frame in [nothing, *frames]]) for name in EFFECTS
        )
        return VariantScores(
            **self.facts(),
            label_names=self.predictor.label_names,
            chrom=[v.chrom for v, _ in variants],
            pos=np.array([v.pos for v, _ in variants], dtype=np.int64),
            id=[v.id for v, _ in variants],
            ref=[v.ref for v, _ in variants],
            alt=[alt for _, alt in variants],
            diff=diff,
            log_odds=log_odds,
            ref_probability=ref,
            alt_probability=alt,
        )

    def straight_through(self) -> None:
        """Write every score as it comes: what is streamed cannot be read again.

        Raises:
            Interrupted: On Ctrl-C while a file is written.
            InputError: On Ctrl-C while standard output is written, which then ends too early.
        """
        output = self.targets[0].path
        try:
            with self.sites.open() as (header, stream):
                self._write(header, self._effects(stream))
        except KeyboardInterrupt:
            if output is None:
                raise InputError("interrupted: standard output is incomplete") from None
            raise Interrupted(
                f"{output}: interrupted; nothing was left behind. With --vcf from a file a run "
                "can go on with --resume"
            ) from None

    def by_way_of_disk(self, resume: bool) -> None:
        """Keep finished scores on disk until all are there, so that a stopped run can go on."""
        with open_spool(self.targets[0].path, self._identity(), resume, "alleles") as spool:
            with self.sites.open() as (_, stream):
                done = skip_alleles(stream, spool.rows)
                for _, effects in self._effects(stream, done):
                    spool.append({name: effects[name] for name in self.columns})
            with self.sites.open() as (header, stream):
                nothing = self._nothing(self.columns)
                self._write(header, with_sites(spool.frames(), stream, nothing))

    def _effects(
        self, sites: Iterator[Site], done: int = 0
    ) -> Iterator[tuple[list[Site], Effects]]:
        to_terminal = any(t.path is None for t in self.targets) and sys.stdout.isatty()
        shown = self.progress and not to_terminal
        with progress_bar(shown, self.sites.records, done, "variants") as advance:
            for frame, effects in site_effects(
                self.predictor,
                self.sites.genome,
                sites,
                window_bp=self.window_bp,
                strand=self.strand,
            ):
                yield frame, effects
                advance(len(frame))

    def _write(self, header: VcfHeader, frames: Iterable[tuple[list[Site], Effects]]) -> None:
        with open_writers(
            self.targets,
            labels=self.predictor.label_names,
            columns=self.columns,
            origin=self.origin,
            longest_bp=max(self.sites.genome.lengths.values()),
        ) as writers:
            for writer in writers:
                writer.begin(header)
            for sites, effects in frames:
                for writer in writers:
                    writer.write(sites, effects)
                if self.targets[0].path is None:
                    sys.stdout.flush()

    def _nothing(self, columns: Sequence[str]) -> Effects:
        return {c: np.empty((0, len(self.predictor.label_names)), np.float32) for c in columns}

    def _identity(self) -> dict:
        """Return what must not change between an interrupted run and the one that goes on."""
        return {
            "vcf": file_identity(self.sites.vcf),
            "fasta": file_identity(self.sites.genome.path),
            "models": [checksum for _, checksum in self.origin.models],
            "labels": self.predictor.label_names,
            "window": self.window_bp,
            "strand": self.strand,
            "ref_mismatch": self.sites.skip_misfits,
            "probabilities": len(self.columns) > 2,
            "precision": self.predictor.precision,
            "float32_matmul": self.predictor.compute.float32_matmul,
        }


def skip_alleles(sites: Iterator[Site], alleles: int) -> int:
    """Read past the sites whose alleles are done; return how many sites those were."""
    passed = 0
    while alleles > 0:
        alleles -= len(next(sites).variant.alts)
        passed += 1
    return passed


def with_sites(
    frames: Iterable[Effects], sites: Iterator[Site], nothing: Effects
) -> Iterator[tuple[list[Site], Effects]]:
    """Yield frames of scores with the sites that they belong to; sites left over get `nothing`."""
    for effects in frames:
        missing = len(effects["diff"])
        frame = []
        while missing > 0:
            frame.append(next(sites))
            missing -= len(frame[-1].variant.alts)
        yield frame, effects
    while rest := list(itertools.islice(sites, FRAME_ALLELES)):  # without alternative alleles
        yield rest, nothing
