"""What a variant is scored by: the labels of a model, or what its encoder makes of the alleles."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.choice import choose_labels
from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Interval
from dna_bigbird.models.label_types import TRACKS
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.embedder import Embedder, usual_window_bp
from dna_bigbird.prediction.engine import chunks_of, set_up
from dna_bigbird.prediction.predictor import Predictor, check_together
from dna_bigbird.prediction.results import HAPLOTYPE_EFFECTS, TRACK_EFFECTS
from dna_bigbird.prediction.runner import BundleRunner
from dna_bigbird.prediction.variants.effects import (
    EFFECTS,
    Effects,
    OneWindow,
    WindowCutter,
    Windows,
    compared_sites,
    framed,
    site_effects,
    with_effects,
)
from dna_bigbird.prediction.variants.haplotypes import (
    HaplotypeWindows,
    compare_haplotypes,
)
from dna_bigbird.prediction.variants.sites import Site
from dna_bigbird.prediction.windows.bins import check_central, tracks_of

# B batch, T tokens, K hidden tokens, V vocabulary, P hidden tokens of a batch


class HiddenAllele(NamedTuple):
    """A window whose tokens at the variant are hidden."""

    masked: bytes
    """int64 token ids of the window, [MASK] at the hidden ones."""
    hidden: tuple[int, ...]
    """The hidden token ids, from the left."""
    left_out: tuple[int, ...] = ()
    """Documents of the training text that a model with copies does not copy from here."""


class MaskedLikelihood:
    """Log-probabilities of alleles by a pretrained model."""

    # The tokens in which the windows of two alleles differ are hidden together; log p of an allele
    # is the sum over those of its own window. With one token per base both windows are then the
    # same. With longer tokens they may have different numbers of hidden tokens, and show how many:
    # a part of the score comes from the vocabulary. A window with more tokens than the model reads
    # keeps those next to the hidden ones.

    def __init__(self, bundle: Bundle, compute: Compute) -> None:
        bundle.check_reads_dna()
        bundle.check_single("--score likelihood")
        if bundle.config.task != PRETRAINING or bundle.model.mlm is None:
            raise InputError(
                f"{bundle.folder}: --score likelihood needs a pretrained model, which predicts masked "
                "tokens; this one predicts labels. Name the bundle that it was fine-tuned from, or "
                "take --score embedding"
            )
        if compute.workers:
            raise InputError(
                f"--workers {compute.workers}: --score likelihood computes in one process; leave it out"
            )
        setup = set_up([bundle], compute)
        self.compute, self._notes = setup.compute, setup.notes
        self._runner = BundleRunner(bundle, setup.compute, setup.device)
        self._mask_id = bundle.tokenizer.mask_id
        self._copies = bundle.model.copies
        self._left_out: tuple[int, ...] = ()

    @property
    def max_pieces(self) -> int:
        """Most tokens of a window, without [CLS] and [SEP]."""
        return self._runner.max_pieces

    def notes(self) -> list[str]:
        """Return what a user should know about the computation, one line each."""
        return [*self._notes]

    def _documents_at(self, interval: Interval, reach: int) -> tuple[int, ...]:
        """Return the documents of the text within `reach` of a place: the reference would be copied from itself."""
        if self._copies is None:
            return ()
        names = [name.removeprefix("chr") for name in self._copies.config.chromosomes]
        chrom = interval.chrom.removeprefix("chr")
        if chrom not in names:
            return ()
        bounds = (interval.start - reach, interval.end + reach)
        own = self._copies.text.overlapping(names.index(chrom), *bounds)
        return tuple(np.flatnonzero(own).tolist())

    def log_ratios(
        self,
        groups: Sequence[list[list[str]]],
        locations: Sequence[Interval],
    ) -> Iterator[NDArray[np.float64]]:
        """Yield log p(allele) - log p(reference) in nats for each group, (windows, 1 + alleles).

        Args:
            groups: For each site a row per strand and shift, the window of the reference first; texts of
                a row are equally long.
            locations: Bases of each site; a model with copies leaves its windows out of the text.
        """
        pairs = []
        for group, location in zip(groups, locations, strict=True):
            reach = max(len(row[0]) for row in group)
            own = self._documents_at(location, reach)
            pairs.append([[self._hide(row[0], x, own) for x in row[1:]] for row in group])
        flat = [side for group in pairs for row in group for pair in row for side in pair]
        of_side = self.log_probabilities(list(dict.fromkeys(flat)))
        for group in pairs:
            yield np.array(
                [[0.0, *(of_side[alt] - of_side[ref] for ref, alt in row)] for row in group]
            )

    def _hide(
        self, reference: str, allele: str, left_out: tuple[int, ...]
    ) -> tuple[HiddenAllele, HiddenAllele]:
        """Return both windows with the tokens hidden in which they differ."""
        first, second = self._runner.tokenizer.encode_all([reference, allele])
        before, after = shared_ends(first, second)
        return tuple(self._hidden(x, before, after, left_out) for x in (first, second))

    def _hidden(
        self, ids: NDArray[np.int64], before: int, after: int, left_out: tuple[int, ...]
    ) -> HiddenAllele:
        end = len(ids) - after
        most = self._runner.max_pieces
        if end - before > most:
            raise InputError(
                f"an allele has {end - before} tokens, the model reads {most}; choose a smaller --window"
            )
        masked = ids.copy()
        masked[before:end] = self._mask_id
        if len(ids) > most:
            side = (most - (end - before)) // 2
            start = min(max(0, before - side), len(ids) - most)
            masked = masked[start : start + most]
        return HiddenAllele(masked.tobytes(), tuple(ids[before:end].tolist()), left_out)

    @torch.no_grad()
    def log_probabilities(self, sides: Sequence[HiddenAllele]) -> dict[HiddenAllele, float]:
        """Return the sum of the log-probabilities of the hidden tokens of each window, in nats."""
        results: dict[HiddenAllele, float] = {}
        for left_out in dict.fromkeys(side.left_out for side in sides):
            self._left_out = left_out
            results |= self._computed([side for side in sides if side.left_out == left_out])
        return results

    def _computed(self, sides: Sequence[HiddenAllele]) -> dict[HiddenAllele, float]:
        """Return the same for windows that leave out the same documents."""
        texts = list(dict.fromkeys(side.masked for side in sides))
        encoded = [np.frombuffer(text, dtype=np.int64) for text in texts]
        readers: dict[bytes, list[HiddenAllele]] = {text: [] for text in texts}
        for side in sides:
            readers[side.masked].append(side)
        results: dict[HiddenAllele, float] = {}
        for batch, rows in self._runner.run(encoded, self._forward):
            for index, row_KV in zip(batch, rows, strict=True):
                for side in readers[texts[index]]:
                    chosen = row_KV[np.arange(len(side.hidden)), list(side.hidden)]
                    results[side] = float(chosen.astype(np.float64).sum())
        return results

    def _forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return log-probabilities at the hidden tokens, zero after the last one: (B, K, V)."""
        is_hidden_BT = token_ids_BT == self._mask_id
        positions_P = is_hidden_BT.flatten().nonzero()[:, 0]
        logits_PV, _ = self._runner.model(
            token_ids_BT,
            is_padding_BT,
            None,
            positions_P,
            left_out_BD=self._documents(token_ids_BT),
        )
        log_p_PV = logits_PV.float().log_softmax(dim=-1)
        counts_B = is_hidden_BT.sum(dim=1)
        rows_P = positions_P // token_ids_BT.shape[1]
        starts_B = counts_B.cumsum(dim=0) - counts_B
        number_P = torch.arange(len(positions_P), device=rows_P.device) - starts_B[rows_P]
        shape = (len(counts_B), int(counts_B.max()), log_p_PV.shape[1])
        log_p_BKV = log_p_PV.new_zeros(shape)
        log_p_BKV[rows_P, number_P] = log_p_PV
        return log_p_BKV

    def _documents(self, token_ids_BT: Tensor) -> Tensor | None:
        """Return the documents that are left out, for each row, (B, D)."""
        if not self._left_out:
            return None
        out_BD = torch.zeros(len(token_ids_BT), len(self._copies.text.documents), dtype=torch.bool)
        out_BD[:, list(self._left_out)] = True
        return out_BD


def shared_ends(first: NDArray[np.int64], second: NDArray[np.int64]) -> tuple[int, int]:
    """Return how many tokens two windows share at their beginning, and at their end after these.

    Example:
        >>> shared_ends(np.array([7, 8, 9, 7]), np.array([7, 5, 7]))
        (1, 1)
    """
    shorter = min(len(first), len(second))
    differs = first[:shorter] != second[:shorter]
    before = int(differs.argmax()) if differs.any() else shorter
    rest = shorter - before
    differs = first[len(first) - rest :][::-1] != second[len(second) - rest :][::-1]
    after = int(differs.argmax()) if differs.any() else rest
    return before, after


# How probable a pretrained model finds whole sequences: the mean log-likelihood of their hidden bases.

STRIDE = 6
"""Every so many tokens one is hidden, in as many passes: each token is hidden once, and about as many are hidden
together as in pretraining (15 %). DART-Eval (Patel et al. 2024) hides a single token in each pass, which takes as
many passes as there are tokens."""


class SequenceLikelihood:
    """Pseudo-log-likelihoods of sequences by a pretrained model."""

    # In pass k of `STRIDE` the tokens k, k + `STRIDE`, … are hidden together: with one token per
    # base the same positions in sequences of one length. A sequence beyond the context is cut into
    # the fewest equal parts.

    def __init__(self, bundle: Bundle, compute: Compute) -> None:
        self._likelihood = MaskedLikelihood(bundle, compute)
        self._tokenizer = bundle.tokenizer
        self._most = self._likelihood.max_pieces

    def nats_per_base(self, sequences: Sequence[str]) -> NDArray[np.float64]:
        """Return the sum of log p of all tokens over the bases, (n,); NaN if empty."""
        hidden = [self._hidden(ids) for ids in self._tokenizer.encode_all(sequences)]
        of_part = self._likelihood.log_probabilities(
            list(dict.fromkeys(part for parts in hidden for part in parts))
        )
        return np.array(
            [
                sum(of_part[part] for part in parts) / len(text) if text else np.nan
                for text, parts in zip(sequences, hidden, strict=True)
            ]
        )

    def _hidden(self, ids: NDArray[np.int64]) -> list[HiddenAllele]:
        """Return a sequence once for every pass and part, with the tokens of the pass hidden."""
        parts = np.array_split(ids, -(-len(ids) // self._most)) if len(ids) else []
        windows = []
        for part in parts:
            for first in range(min(STRIDE, len(part))):
                masked = part.copy()
                masked[first::STRIDE] = self._tokenizer.mask_id
                windows.append(HiddenAllele(masked.tobytes(), tuple(part[first::STRIDE].tolist())))
        return windows


Score = Literal["labels", "embedding", "likelihood"]
ZERO_SHOT = {"embedding": "distance", "likelihood": "log_ratio"}
"""Scores that need no labels, and the end of their column's name."""
GROUPS_AT_ONCE = 64
"""Sites whose windows share batches."""


class LabelScorer:
    """The changes of the predictions of fine-tuned bundles, for chosen labels."""

    columns = EFFECTS

    def __init__(
        self, bundles: Sequence[Bundle], compute: Compute, labels: str | Sequence[str] | None
    ) -> None:
        check_together(bundles)
        chosen = choose_labels(bundles[0].config.label_names, labels)
        self._predictor = Predictor(bundles, compute=compute, labels=chosen)
        self._predictor.check_probabilities("a comparison of alleles")
        self.label_names = self._predictor.label_names
        self.window_bp = self._predictor.window_bp
        self.compute = self._predictor.compute
        self.notes = self._predictor.notes

    def effects(
        self, sites: Iterable[Site], cut: WindowCutter | HaplotypeWindows
    ) -> Iterator[tuple[list[Site], Effects]]:
        """See `site_effects`; of windows of haplotypes `HAPLOTYPE_EFFECTS`."""
        if isinstance(cut, HaplotypeWindows):
            return compared_sites(
                self._predictor, cut, sites, cut.strand, compare_haplotypes, HAPLOTYPE_EFFECTS
            )
        return site_effects(
            self._predictor,
            cut.genome,
            sites,
            window_bp=cut.window_bp,
            strand=cut.strand,
            shifts=cut.shifts,
        )


class TrackScorer:
    """The changes of the profiles of tracks over the bins in the middle of the window; mean over strands and shifts."""

    columns = TRACK_EFFECTS

    # An insertion or deletion moves the bins after it: they are compared by their distance from the begin of the window,
    # on the other strand from its end.

    def __init__(
        self,
        bundles: Sequence[Bundle],
        compute: Compute,
        labels: str | Sequence[str] | None,
        window: int | None,
        central_bp: int,
    ) -> None:
        check_together(bundles)
        chosen = choose_labels(bundles[0].config.label_names, labels)
        self.bins, self.span = tracks_of(bundles, window, central_bp).values()
        self._predictor = Predictor(bundles, compute=compute, labels=chosen, bins=self.bins)
        self.label_names = self._predictor.label_names
        self.window_bp = self._predictor.window_bp
        self.compute = self._predictor.compute
        self.notes = self._predictor.notes

    def effects(
        self, sites: Iterable[Site], cut: WindowCutter | OneWindow | HaplotypeWindows
    ) -> Iterator[tuple[list[Site], Effects]]:
        """Yield `TRACK_EFFECTS`, (alleles, tracks) each; of windows of haplotypes `HAPLOTYPE_EFFECTS` of the total."""
        of_haplotypes = isinstance(cut, HaplotypeWindows)
        columns = HAPLOTYPE_EFFECTS if of_haplotypes else self.columns

        def compare(values: NDArray[np.float64]) -> NDArray[np.float32]:
            profiles = values.reshape(*values.shape[:2], self.bins.count, -1)[:, :, self.span]
            if of_haplotypes:
                return compare_haplotypes(profiles.sum(axis=2))
            return compare_profiles(profiles)

        compared = with_effects(self._profiles, cut, sites, compare)
        return framed(compared, columns, len(self.label_names))

    def _profiles(self, groups: Iterable[list[str]]) -> Iterator[NDArray[np.float64]]:
        """Yield (windows, P * L) for each group."""
        for values in self._predictor.logits(groups):
            yield values.reshape(-1, self.bins.count * len(self.label_names))


def compare_profiles(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return shape, total and largest, (3, alleles, L), from profiles (windows, 1 + alleles, P, L), the reference first.

    Example:
        >>> compare_profiles(np.array([[[[1.0], [3.0]], [[1.0], [1.0]]]])).ravel().tolist()
        [0.25, -2.0, -2.0]
    """
    change = values[:, 1:] - values[:, :1]
    totals = values.sum(axis=2, keepdims=True)
    shares = np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)
    shape = np.abs(shares[:, 1:] - shares[:, :1]).sum(axis=2) / 2
    bins = np.abs(change).argmax(axis=2, keepdims=True)
    largest = np.take_along_axis(change, bins, axis=2)[:, :, 0]
    parts = [shape, change.sum(axis=2), largest]
    return np.stack([x.mean(axis=0) for x in parts]).astype(np.float32)


class EmbeddingScorer:
    """Euclidean distance of the alleles' mean vectors; mean over strands and shifts."""

    columns = (ZERO_SHOT["embedding"],)

    def __init__(self, bundle: Bundle, compute: Compute) -> None:
        self.label_names = ["embedding"]
        self._embedder = Embedder(bundle, compute=compute, both_strands=False)
        self.window_bp = usual_window_bp(bundle)
        self.compute = self._embedder.compute
        self.notes = self._embedder.notes

    def effects(
        self, sites: Iterable[Site], cut: WindowCutter
    ) -> Iterator[tuple[list[Site], Effects]]:
        """Yield the distances, (alleles, 1)."""
        compared = with_effects(self._vectors, cut, sites, distances)
        return framed(compared, self.columns, 1)

    def _vectors(self, groups: Iterable[list[str]]) -> Iterator[NDArray[np.float64]]:
        for some in chunks_of(groups, lambda group: 1, GROUPS_AT_ONCE):
            vectors = self._embedder.pooled([text for group in some for text in group])
            edges = np.cumsum([len(group) for group in some])[:-1]
            yield from np.split(vectors.astype(np.float64), edges)


class LikelihoodScorer:
    """The log-probability of ALT minus that of REF by a pretrained model: see `MaskedLikelihood`."""

    columns = (ZERO_SHOT["likelihood"],)

    def __init__(self, bundle: Bundle, compute: Compute) -> None:
        self.label_names = ["likelihood"]
        self._model = MaskedLikelihood(bundle, compute)
        self.window_bp = usual_window_bp(bundle)
        self.compute = self._model.compute
        self.notes = self._model.notes

    def effects(
        self, sites: Iterable[Site], cut: WindowCutter
    ) -> Iterator[tuple[list[Site], Effects]]:
        """Yield the log-ratios in nats, means over strands and shifts, (alleles, 1)."""
        windows_per_allele = len(cut.shifts) * (2 if cut.strand == "both" else 1)
        locations: deque[Interval] = deque()

        def windows_of(site: Site) -> list[Windows]:
            parts = cut(site)
            locations.extend(site.variant.interval for _ in parts)
            return parts

        def log_ratios(groups: Iterable[list[str]]) -> Iterator[NDArray[np.float64]]:
            for some in chunks_of(groups, lambda group: 1, GROUPS_AT_ONCE):
                nested = [np.array(group).reshape(windows_per_allele, -1) for group in some]
                own = [locations.popleft() for _ in some]
                for values in self._model.log_ratios([rows.tolist() for rows in nested], own):
                    yield values.reshape(-1, 1)

        compared = with_effects(
            log_ratios,
            windows_of,
            sites,
            lambda values: values[:, 1:].mean(axis=0)[None].astype(np.float32),
        )
        return framed(compared, self.columns, 1)


def make_scorer(
    score: str,
    bundles: Sequence[Bundle],
    compute: Compute,
    labels: str | Sequence[str] | None = None,
    *,
    window: int | None = None,
    central_bp: int = 0,
) -> LabelScorer | TrackScorer | EmbeddingScorer | LikelihoodScorer:
    """Return what scores variants by the labels or tracks, the vectors or the masked tokens of a model."""
    if score == "labels" and bundles[0].config.label_type == TRACKS:
        return TrackScorer(bundles, compute, labels, window, central_bp)
    check_central(central_bp, is_tracks=False)
    if score == "labels":
        return LabelScorer(bundles, compute, labels)
    if labels is not None:
        raise InputError(f"--labels {labels}: --score {score} has no labels; leave it out")
    if len(bundles) != 1:
        raise InputError(f"--score {score} reads one model, and {len(bundles)} are given")
    return (EmbeddingScorer if score == "embedding" else LikelihoodScorer)(bundles[0], compute)


def distances(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return mean distances (1, alleles, 1) from the first vector of (both, 1 + alleles, width).

    Example:
        >>> distances(np.array([[[0.0, 0.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, 2.0]]])).tolist()
        [[[3.0]]]
    """
    lengths = np.linalg.norm(vectors[:, 1:] - vectors[:, :1], axis=-1)
    return lengths.mean(axis=0)[None, :, None].astype(np.float32)
