"""One run over the variants of a VCF file: scores in memory, as a stream, or via partial results on disk."""

import copy
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dna_bigbird import __version__
from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.choice import Models, allele_notes, load_models, notes_on
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, Interrupted
from dna_bigbird.core.files import sha256_of, shown_name
from dna_bigbird.core.shared_options import Unphased
from dna_bigbird.core.signals import status_of
from dna_bigbird.genome.variants import VcfHeader
from dna_bigbird.models.classifier import counting_part
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.partial_results import computed_rows, file_identity, progress_bar
from dna_bigbird.prediction.partial_results_file import PartialResults
from dna_bigbird.prediction.results import (
    CARRIERS,
    HAPLOTYPE_EFFECTS,
    HaplotypeScores,
    TrackScores,
    VariantScores,
    VariantSummary,
    ZeroShotScores,
)
from dna_bigbird.prediction.variants.effects import (
    EFFECTS,
    FRAME_ALLELES,
    Effects,
    Strands,
    WindowCutter,
    choose_window,
)
from dna_bigbird.prediction.variants.haplotypes import (
    HaplotypeSites,
    HaplotypeWindows,
)
from dna_bigbird.prediction.variants.scorers import Score, TrackScorer, make_scorer
from dna_bigbird.prediction.variants.sites import AnchorWindows, Site, VariantSites, open_genome
from dna_bigbird.prediction.variants.writers import (
    Origin,
    VariantTarget,
    open_writers,
    rows_of_fitting,
)
from dna_bigbird.prediction.windows.tiling import short_window_notes


class VariantRun:
    """One run of `score_variants`, its inputs open."""

    @checked()
    def __init__(
        self,
        vcf: Path | str,
        fasta: Path | str,
        model: Models,
        *,
        targets: Sequence[VariantTarget],
        labels: str | Sequence[str] | None,
        window: int | None,
        strand: Strands | None,
        skip_mismatches: bool,
        probabilities: bool,
        compute: Compute,
        progress: bool,
        score: Score = "labels",
        shifts: tuple[int, ...] = (0,),
        anchors: Path | str | None = None,
        network_weight: float = 1.0,
        breakpoints: bool = False,
        haplotypes: bool = False,
        unphased: Unphased = "error",
        central_bp: int = 0,
    ) -> None:
        check_table(score, targets, probabilities, network_weight)
        if anchors is not None:
            check_anchored(anchors, targets, strand, shifts)
        if breakpoints:
            check_breakpoints(score, targets, anchors)
        if haplotypes:
            check_haplotypes(score, targets, anchors, shifts, breakpoints, probabilities)
        bundles = load_models(model)
        self._model_notes = [
            *notes_on(model), *allele_notes(bundles, "--sites", anchors is not None)
        ]  # fmt: skip
        changed = {}
        if network_weight != 1:
            bundles = [with_network_weight(bundle, network_weight) for bundle in bundles]
            changed["network_weight"] = f"{network_weight:g}"
        genome = open_genome(fasta, vcf)
        self.scorer = make_scorer(
            score, bundles, compute, labels, window=window, central_bp=central_bp
        )
        if isinstance(self.scorer, TrackScorer):
            check_tracks(targets, probabilities)
        self.window_bp = choose_window(window, self.scorer.window_bp, genome)
        strand = strand or bundles[0].config.default_strand
        self.anchors = None
        if anchors is not None:
            strand = "forward"  # of the anchor: one window per allele
            anchor_bp = bundles[0].config.anchor_in(self.window_bp)
            self.anchors = AnchorWindows(anchors, genome, self.window_bp, anchor_bp)
        self.cut: WindowCutter | HaplotypeWindows
        self.cut = WindowCutter(genome, self.window_bp, strand, shifts)
        self.haplotypes: HaplotypeSites | None = None
        if haplotypes:
            self.cut = HaplotypeWindows(genome, self.window_bp, strand)
            self.haplotypes = HaplotypeSites(self.cut, unphased, shown_name(vcf))
        self.sites = VariantSites(
            vcf,
            genome,
            # An allele fits into every shifted window if it fits into one that is so much shorter.
            window_bp=self.window_bp - 2 * largest_shift(shifts, self.window_bp),
            skip_mismatches=skip_mismatches,
            must_be_sorted=haplotypes or any(target.is_indexed for target in targets),
            only_substitutions=score == "likelihood",
            anchors=self.anchors,
            breakpoints=breakpoints,
            haplotypes=self.haplotypes,
        )
        self.targets, self.strand, self.progress = targets, strand, progress
        self.score, self.shifts, self.network_weight = score, shifts, network_weight
        self.central_bp = central_bp
        self.keys = ("site",) if breakpoints or anchors is not None else ()
        self.columns = tuple(self.scorer.columns)
        if self.columns == EFFECTS and not probabilities:
            self.columns = EFFECTS[:2]
        if haplotypes:
            self.keys, self.columns = CARRIERS, HAPLOTYPE_EFFECTS
        changed |= {} if shifts == (0,) else {"shifts": " ".join(map(str, shifts))}
        self.origin = Origin(
            [(b.folder.resolve().name, sha256_of(b.folder / "model.safetensors")) for b in bundles],
            {"window": f"{self.window_bp} bp", "strand": strand, **changed, "version": __version__},
        )

    @property
    def is_resumable(self) -> bool:
        """Whether scores are kept on disk: a file is written, and the VCF can be read again."""
        return bool(self.targets and self.targets[0].path) and not self.sites.streamed

    def facts(self) -> dict:
        """Return the fields of a summary."""
        sites, notes = self.sites, [*self._model_notes, *self.scorer.notes()]
        notes += short_window_notes(self.window_bp, self.scorer.window_bp)
        if sites.streamed and (
            question := sites.assembly_note()
        ):  # for a file it is printed earlier
            notes.append(question)
        if self.haplotypes:
            notes.append(
                f"{self.haplotypes.rows:,} alleles on haplotypes of samples have {self.haplotypes.distinct:,} distinct "
                "windows, each computed once"
            )
        if sites.at_breakpoints:
            notes.append(
                f"scored at their breakpoints alone, being longer than {sites.longest:,} bp: {sites.at_breakpoints:,} of "
                f"{sites.alleles:,} alleles"
            )
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

    def in_memory(self) -> VariantScores | TrackScores | ZeroShotScores | HaplotypeScores:
        """Return all scores."""
        variants, frames, keys = [], [], []
        with self.sites.open() as (_, stream):
            for sites, effects in self._effects(stream):
                fitting = [(x, alt) for x in sites if x.fits for alt in x.variant.alts]
                variants += [(x.variant, alt) for x, alt in fitting for _ in x.keys]
                keys += [key for x, _ in fitting for key in x.keys]
                has_row, times = rows_of_fitting(sites), [len(x.keys) for x, _ in fitting]
                frames.append({k: v[has_row].repeat(times, axis=0) for k, v in effects.items()})
        nothing = self._nothing(HAPLOTYPE_EFFECTS if self.haplotypes else self.scorer.columns)
        values = {
            name: np.concatenate([frame[name] for frame in [nothing, *frames]]) for name in nothing
        }
        alleles: dict[str, Any] = {
            "chrom": [v.chrom for v, _ in variants],
            "pos": np.array([v.pos for v, _ in variants], dtype=np.int64),
            "id": [v.id for v, _ in variants],
            "ref": [v.written_ref for v, _ in variants],
            "alt": [alt for _, alt in variants],
        }
        if self.haplotypes:
            return HaplotypeScores(
                **self.facts(),
                **alleles,
                label_names=self.scorer.label_names,
                sample=[name for name, _, _ in keys],
                haplotype=np.array([int(number) for _, number, _ in keys], dtype=np.int64),
                background=[text for _, _, text in keys],
                **values,
            )
        alleles["site"] = [name for (name,) in keys] if self.keys else None
        if isinstance(self.scorer, TrackScorer):
            return TrackScores(
                **self.facts(), **alleles, label_names=self.scorer.label_names, **values
            )
        if self.score != "labels":
            (name,) = values
            label = self.scorer.label_names[0]
            return ZeroShotScores(
                **self.facts(), **alleles, name=f"{label}_{name}", score=values[name][:, 0]
            )
        return VariantScores(
            **self.facts(),
            **alleles,
            label_names=self.scorer.label_names,
            diff=values["diff"],
            log_odds=values["log_odds"],
            ref_probability=values["ref"],
            alt_probability=values["alt"],
        )

    def streamed(self) -> VariantSummary:
        """Write every score as it is computed, for inputs that can be read only once."""
        output = self.targets[0].path
        try:
            with self.sites.open() as (header, stream):
                self._write(header, self._effects(stream))
        except KeyboardInterrupt as stop:
            message = "interrupted: standard output is incomplete"
            if output is not None:
                message = (
                    f"{output}: interrupted; nothing was left behind. If --vcf is a file, a run can be "
                    "continued with --resume"
                )
            raise Interrupted(message, status_of(stop)) from None
        return VariantSummary(**self.facts())

    def via_partial_results(self, resume: bool) -> VariantSummary:
        """Keep finished scores on disk until all are computed, then write them: a run can be resumed."""
        output, identity = self.targets[0].path, self._identity()
        computed_rows(output, identity, resume, self._columns, self._write_finished, "alleles")
        return VariantSummary(**self.facts())

    def _columns(self, done: int) -> Iterator[Effects]:
        """Yield the scores after those of `done` alleles."""
        with self.sites.open() as (_, stream):
            for _, effects in self._effects(stream, skip_alleles(stream, done)):
                yield {name: effects[name] for name in self.columns}

    def _write_finished(self, stored: PartialResults) -> None:
        with self.sites.open() as (header, stream):
            self._write(header, with_sites(stored.frames(), stream, self._nothing(self.columns)))

    def _effects(
        self, sites: Iterator[Site], done: int = 0
    ) -> Iterator[tuple[list[Site], Effects]]:
        to_terminal = any(t.path is None for t in self.targets) and sys.stdout.isatty()
        shown = self.progress and not to_terminal
        with progress_bar(shown, self.sites.rows, done, "variants") as advance:
            for frame, effects in self.scorer.effects(sites, self.cut):
                yield frame, effects
                advance(len(frame))

    def _write(self, header: VcfHeader, frames: Iterable[tuple[list[Site], Effects]]) -> None:
        with open_writers(
            self.targets,
            labels=self.scorer.label_names,
            columns=self.columns,
            keys=self.keys,
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
        return {c: np.empty((0, len(self.scorer.label_names)), np.float32) for c in columns}

    def _identity(self) -> dict:
        """Return what must be the same for an interrupted run to be continued."""
        return {
            "vcf": file_identity(self.sites.vcf),
            "fasta": file_identity(self.sites.genome.path),
            "models": [checksum for _, checksum in self.origin.models],
            "labels": self.scorer.label_names,
            "window": self.window_bp,
            "alleles": "one form, and breakpoints",  # earlier versions scored no structural alleles
            "rows": list(self.keys),
            **({"central_bp": self.central_bp} if self.central_bp else {}),
            **({"unphased": self.haplotypes.unphased} if self.haplotypes else {}),
            "strand": self.strand,
            "ref_mismatch": self.sites.skip_mismatches,
            "probabilities": len(self.columns) > 2,
            "precision": self.scorer.compute.precision,
            "float32_matmul": self.scorer.compute.float32_matmul,
            # As before these settings were there: a run that was interrupted then goes on.
            **({} if self.shifts == (0,) else {"shifts": list(self.shifts)}),
            **({} if self.score == "labels" else {"score": self.score}),
            **({} if self.network_weight == 1 else {"network_weight": self.network_weight}),
            **({"sites": file_identity(self.anchors.path)} if self.anchors else {}),
        }


def with_network_weight(bundle: Bundle, weight: float) -> Bundle:
    """Return a bundle whose network weighs so much next to its counts."""
    model = copy.deepcopy(bundle.model)
    if counting_part(model) is None:
        raise InputError(
            f"--network_weight {weight:g} is for a model with k-mer counts next to its network, and "
            f"{bundle.folder} has none: leave it out"
        )
    for member in getattr(model, "members", [model]):
        member.mix_outputs(weight, 0.0, 0.0)
    return replace(bundle, model=model)


def check_table(
    score: str, targets: Sequence[VariantTarget], probabilities: bool, network_weight: float
) -> None:
    """Raise InputError for results that a score without labels does not have."""
    if score == "labels":
        return
    if any(target.format == "vcf" for target in targets):
        raise InputError(
            f"--score {score} writes a table, not a VCF: end the name of --output in .tsv or .csv"
        )
    if probabilities:
        raise InputError(f"--probabilities: --score {score} has none; leave it out")
    if network_weight != 1:
        raise InputError(
            f"--network_weight {network_weight:g}: --score {score} reads no counts of labels; leave it out"
        )


def check_is_table(targets: Sequence[VariantTarget], rows: str) -> None:
    """Raise InputError for a VCF, which has one record for several rows."""
    if any(target.format == "vcf" for target in targets):
        raise InputError(
            f"{rows}, so a table is written, not a VCF: end the name of --output in .tsv or .csv"
        )


def check_anchored(
    anchors: Path | str,
    targets: Sequence[VariantTarget],
    strand: str | None,
    shifts: Sequence[int],
) -> None:
    """Raise InputError for what windows of anchors do not have."""
    check_is_table(targets, f"--sites {anchors}: a variant has a row for each site")
    if strand is not None or len(shifts) > 1:
        option = f"--shifts {len(shifts)}" if len(shifts) > 1 else f"--strand {strand}"
        raise InputError(
            f"{option}: the windows of --sites {anchors} have the place and strand of their site; leave it out"
        )


def check_breakpoints(score: str, targets: Sequence[VariantTarget], anchors: object) -> None:
    """Raise InputError for what has no rows for breakpoints."""
    if anchors is not None or score == "likelihood":
        other = "--score likelihood" if anchors is None else f"--sites {anchors}"
        raise InputError(
            f"--breakpoints: {other} scores no structural alleles; leave one of them out"
        )
    check_is_table(targets, "--breakpoints: an allele has a row for each breakpoint")


def check_haplotypes(
    score: str,
    targets: Sequence[VariantTarget],
    anchors: object,
    shifts: Sequence[int],
    breakpoints: bool,
    probabilities: bool,
) -> None:
    """Raise InputError for what alleles on haplotypes do not have."""
    options = {
        f"--score {score}": score != "labels",
        f"--sites {anchors}": anchors is not None,
        f"--shifts {len(shifts)}": len(shifts) > 1,
        "--breakpoints": breakpoints,
        "--probabilities": probabilities,
    }
    for option in (name for name, is_used in options.items() if is_used):
        raise InputError(
            f"--haplotypes: {option} is for alleles in the reference; leave one of them out"
        )
    check_is_table(targets, "--haplotypes: an allele has a row for each haplotype")


def check_tracks(targets: Sequence[VariantTarget], probabilities: bool) -> None:
    """Raise InputError for what tracks do not have."""
    if probabilities:
        raise InputError("--probabilities: for labels, and this is a model of tracks; leave it out")
    check_is_table(targets, "A model of tracks: an allele has three changes of each track")


def largest_shift(shifts: Sequence[int], window_bp: int) -> int:
    """Return by how many bases the window is shifted at most, with the variant still in it."""
    largest = max(map(abs, shifts))
    if largest >= window_bp // 2:
        raise InputError(
            f"--shifts {len(shifts)}: the window of {window_bp} bp would be shifted by {largest} bp; "
            f"expected less than its half. Choose a smaller --shift_step"
        )
    return largest


def skip_alleles(sites: Iterator[Site], alleles: int) -> int:
    """Skip the sites whose alleles are finished; return how many sites those were."""
    passed = 0
    while alleles > 0:
        alleles -= len(next(sites).variant.alts)
        passed += 1
    return passed


def with_sites(
    frames: Iterable[Effects], sites: Iterator[Site], nothing: Effects
) -> Iterator[tuple[list[Site], Effects]]:
    """Yield frames of scores with the sites that they belong to; the remaining sites get `nothing`."""
    for effects in frames:
        missing = len(next(iter(effects.values())))
        frame = []
        while missing > 0:
            frame.append(next(sites))
            missing -= len(frame[-1].variant.alts)
        yield frame, effects
    while rest := list(itertools.islice(sites, FRAME_ALLELES)):  # without alternative alleles
        yield rest, nothing
