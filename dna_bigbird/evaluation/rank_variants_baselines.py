"""Baselines of `rank-variants`: change of GC content, of a k-mer model's predictions, of count mixtures."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from dna_bigbird.baselines.base_two_sided import AROUND_BP, BaseMixtureTwoSided
from dna_bigbird.baselines.config import KmerConfig
from dna_bigbird.baselines.kmer_baseline import fitted_kmers
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.variants import Variant
from dna_bigbird.labelled.labelled_set import open_labelled_set
from dna_bigbird.models.classifier import counting_part
from dna_bigbird.prediction.predictor import Predictor
from dna_bigbird.prediction.variants.effects import WindowCutter, site_effects
from dna_bigbird.prediction.variants.sites import Site

LETTERS = frozenset("ACGT")


def gc_changes(variants: Sequence[Variant]) -> np.ndarray:
    """Return by how many each substitution changes the count of G and C, (variants, 1)."""
    return np.array([[float(_gc(v.alts[0]) - _gc(v.ref))] for v in variants])


def count_changes(variants: Sequence[Variant], genome: Genome, data: Path) -> np.ndarray:
    """Return log p(ALT) - log p(REF) by counts of the training windows, nats, (variants, 1)."""
    labelled = open_labelled_set(data, genome)
    rows = labelled.rows("train")
    training = joined([labelled.interval(int(row)) for row in rows])
    mixture = BaseMixtureTwoSided().fit_sequences([genome.fetch(piece) for piece in training])
    return counted_ratios(variants, genome, mixture)


def counted_ratios(
    variants: Sequence[Variant], genome: Genome, mixture: BaseMixtureTwoSided
) -> np.ndarray:
    """Return log p(ALT) - log p(REF) of substitutions by a fitted mixture, in nats, (variants, 1)."""
    sites = sorted({(v.interval.chrom, v.interval.start) for v in variants})
    around = [
        Interval(chrom, max(0, start - AROUND_BP), start + AROUND_BP + 1) for chrom, start in sites
    ]
    hidden = [np.array([s - piece.start]) for (_, s), piece in zip(sites, around, strict=True)]
    p = mixture.probabilities([genome.fetch(piece) for piece in around], hidden)
    log_p = {site: np.log(of_site[0]) for site, of_site in zip(sites, p, strict=True)}
    return np.array([[_ratio(v, log_p[v.interval.chrom, v.interval.start])] for v in variants])


def _ratio(variant: Variant, log_p: np.ndarray) -> float:
    ref, alt = ("ACGT".index(base) for base in (variant.ref, variant.alts[0].upper()))
    return float(log_p[alt] - log_p[ref])


def are_substitutions(variants: Sequence[Variant]) -> bool:
    """Return True if every variant replaces one known base by another."""
    return all(v.ref in LETTERS and v.alts[0].upper() in LETTERS for v in variants)


def joined(intervals: Sequence[Interval]) -> list[Interval]:
    """Return the union of intervals, on the forward strand.

    Example:
        >>> joined([Interval("a", 5, 9), Interval("a", 0, 6, "-"), Interval("b", 2, 3)])
        [Interval(chrom='a', start=0, end=9, strand='+'), Interval(chrom='b', start=2, end=3, strand='+')]
    """
    union: list[Interval] = []
    for chrom, start, end in sorted((x.chrom, x.start, x.end) for x in intervals):
        if union and union[-1].chrom == chrom and start <= union[-1].end:
            start, end = union[-1].start, max(end, union.pop().end)
        union.append(Interval(chrom, start, end))
    return union


def _gc(bases: str) -> int:
    return sum(base in "GC" for base in bases.upper())


def own_count_changes(
    variants: Sequence[Variant], genome: Genome, model: Path, labels: Sequence[str]
) -> np.ndarray | None:
    """Return changes of log odds by the k-mer counts of a model alone, (variants, labels); None: none."""
    bundle = load_bundle(model)
    counts = counting_part(bundle.model)
    if counts is None:
        return None
    missing = [label for label in labels if label not in bundle.config.label_names]
    if missing:
        raise InputError(f"--model {model}: no label {missing[0]!r}; is it the model of --scores?")
    columns = [bundle.config.label_names.index(label) for label in labels]
    scorer = Predictor(replace(bundle, model=counts), labels=columns)
    sites = [Site(v, (0,)) for v in variants]
    frames = site_effects(scorer, genome, sites, window_bp=scorer.window_bp)
    return np.concatenate([effects["log_odds"] for _, effects in frames]).astype(np.float64)


def kmer_changes(
    variants: Sequence[Variant], genome: Genome, data: Path, labels: Sequence[str]
) -> np.ndarray:
    """Fit the k-mer model on a set and return its changes of log odds, (variants, labels)."""
    labelled = open_labelled_set(data, genome)
    missing = [label for label in labels if label not in labelled.label_names]
    if missing:
        raise InputError(f"{data}: no label {missing[0]!r}; is the model from another set?")
    with threadpool_limits(1):
        model, _ = fitted_kmers(labelled, KmerConfig())
        cut = WindowCutter(genome, labelled.window_bp, "forward")
        windows = [window for v in variants for _, pair in cut(Site(v, (0,))) for window in pair]
        probabilities = model.predict(model.features(windows)).astype(np.float64)
    clipped = probabilities.clip(1e-9, 1 - 1e-9)
    logits = np.log(clipped / (1 - clipped)).reshape(len(variants), 2, -1)
    columns = [labelled.label_names.index(label) for label in labels]
    return (logits[:, 1] - logits[:, 0])[:, columns]
