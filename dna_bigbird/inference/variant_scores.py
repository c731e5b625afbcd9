"""Scores of the variants in a VCF file: `score_variants`."""

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird import __version__
from dna_bigbird.errors import InputError, Interrupted, checked_settings
from dna_bigbird.files import sha256_of
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.variants import VcfHeader
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.labels import choose_labels
from dna_bigbird.inference.loading import Models, load_models
from dna_bigbird.inference.predictor import Predictor, check_together
from dna_bigbird.inference.progress import progress_bar
from dna_bigbird.inference.spool import file_identity, open_spool
from dna_bigbird.inference.variant_effects import FRAME_ALLELES, Effects, exact, site_effects
from dna_bigbird.inference.variant_sites import Site, VariantSites
from dna_bigbird.inference.variant_targets import (
    Target,
    check_targets,
    choose_targets,
    open_writers,
)
from dna_bigbird.inference.variant_writers import Origin


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
    """A row for each alternative allele, in the order of the file; NaN where there is no score."""

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


def score_variants(
    vcf: Path | str,
    fasta: Path | str,
    model: Models = None,
    output: Path | str | None = None,
    format: Literal["tsv", "vcf"] | None = None,
    tsv: Path | str | None = None,
    labels: str | Sequence[str] | None = None,
    window: int | None = None,
    strand: Literal["both", "forward"] = "both",
    ref_mismatch: Literal["error", "skip"] = "error",
    probabilities: bool = False,
    resume: bool = False,
    progress: bool = False,
    **compute,
) -> VariantSummary:
    """Compare the alleles of variants: what each changes in a model's output.

    The reference window is centred on REF, on each strand in its own direction; in the window of an
    alternative allele the flank before it stays and the flank after it fills up (docs/variants.md).

    Args:
        vcf: VCF file: plain, gzip, bgzip, or '-' for standard input.
        fasta: Genome of the VCF's assembly; `22` and `chr22` are the same chromosome.
        model: Bundle, or its folder; several with the same labels are averaged. Without it the one
            that comes with the package.
        output: File to write; '-' for standard output; None returns the scores.
        format: If not given it goes by the name of `output`: .vcf, .vcf.gz (with an index) or else tsv.
        tsv: Second file, a table beside an annotated VCF.
        labels: Names or shell patterns; all if not given.
        window: Bases; the model's own if not given.
        ref_mismatch: 'skip' leaves out records that do not fit the genome.
        probabilities: A table also has the probabilities themselves, `<label>_ref` and `<label>_alt`.
        resume: Go on with an interrupted run.
        progress: Show a bar on a terminal.
        compute: How, never what: fields of `Compute`; precision 'auto' is float32 here.

    Returns:
        `VariantScores` where `output` is None, else a `VariantSummary`.

    Raises:
        InputError: If an input is malformed, the VCF does not fit the genome, or an output cannot be
            written.
    """
    with checked_settings():
        settings = exact(Compute(**compute))
    targets = choose_targets(output, format, tsv)
    check_targets(targets, inputs=[vcf, fasta])
    bundles = load_models(model)
    check_together(bundles)
    genome = Genome(fasta)
    chosen = choose_labels(bundles[0].config["label_names"], labels)
    predictor = Predictor(bundles, compute=settings, strand=strand, labels=chosen)
    window_bp = choose_window(window, predictor.window_bp, genome)
    sites = VariantSites(
        vcf,
        genome,
        window_bp=window_bp,
        skip_misfits=ref_mismatch == "skip",
        must_be_sorted=any(target.is_indexed for target in targets),
    )
    on_disk = bool(targets) and targets[0].path is not None and not sites.streamed
    if resume and not on_disk:
        raise InputError("--resume goes on with a file: name it with --output, and the --vcf too")
    sites.check()
    run = _Run(
        predictor,
        sites,
        window_bp=window_bp,
        strand=strand,
        columns=("diff", "log_odds", *(("ref", "alt") if probabilities else ())),
        targets=targets,
        models=[
            (b.folder.resolve().name, sha256_of(b.folder / "model.safetensors")) for b in bundles
        ],
        progress=progress,
    )
    if not targets:
        return run.in_memory()
    if on_disk:
        run.by_way_of_disk(resume)
    else:
        run.straight_through()
    return VariantSummary(**run.facts())


def choose_window(window: int | None, of_model: int, genome: Genome) -> int:
    """Return the window in bp.

    Raises:
        InputError: If one is asked for that has no middle, or is longer than every chromosome.
    """
    if window is None:
        return of_model
    longest = max(*genome.lengths.values(), of_model)
    if not 2 <= window <= longest:
        raise InputError(f"--window {window}: expected from 2 to {longest} base pairs")
    return window


class _Run:
    """One call with its inputs open.

    Args:
        columns: Effects that are kept.
        models: Name and SHA-256 of the weights of each.
    """

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
        variants, frames = [], [self._nothing()]
        with self.sites.open() as (_, stream):
            for sites, effects in self._effects(stream):
                variants += [(site.variant, alt) for site in sites for alt in site.variant.alts]
                frames.append(effects)
        columns = {name: np.concatenate([f[name] for f in frames]) for name in ("diff", "log_odds")}
        return VariantScores(
            **self.facts(),
            label_names=self.predictor.label_names,
            chrom=[v.chrom for v, _ in variants],
            pos=np.array([v.pos for v, _ in variants], dtype=np.int64),
            id=[v.id for v, _ in variants],
            ref=[v.ref for v, _ in variants],
            alt=[alt for _, alt in variants],
            **columns,
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
                self._write(header, with_sites(spool.frames(), stream, self._nothing()))

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

    def _nothing(self) -> Effects:
        return {c: np.empty((0, len(self.predictor.label_names)), np.float32) for c in self.columns}

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
