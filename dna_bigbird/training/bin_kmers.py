"""What a training on tracks begins with: k-mers and motifs around every bin, and windows with signal more often."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dna_bigbird.genome.kmer_numbers import canonical_kmers
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.metrics.label_objectives import TrackValues
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.kmer_config import KmerHeadConfig
from dna_bigbird.models.kmer_head import N_CODE, BinKmerHead
from dna_bigbird.training.probe import LabelledWindows, outputs, spread

# N windows, P bins of a window, M bins, D shares of k-mers or words, F filters, S bases around a bin, L tracks, W words
# around a bin, I bases of a word

AROUND_BP = (0, 200, 500, 1000)
"""Bases on either side of a bin: CpG islands, and so promoters, are seen over about 1 kb."""
HIDDEN, FILTERS = 64, 32
MOST_BINS = 100_000
"""Training bins that are read, of evenly spaced windows."""
EPOCHS, BATCH_BINS = 15, 256
RATE, WEIGHT_DECAY, DROPOUT = 1e-3, 0.01, 0.3
FILTER_EPOCHS, FILTER_BINS, FILTER_BATCH = 60, 3000, 64
"""Of the filters: passes, bins that are drawn for each, and at once."""
FILTER_RATE, FILTER_STD, FILTER_DROPOUT = 3e-3, 0.1, 0.2
WORD_BP, WORD_SIDE_BP, FEWEST = 8, 64, 20
"""The words that filters begin with: their bases, how far from a bin they count, and how often they occur at least."""
MATCH, FEWEST_MATCHES, SHIFT = 0.5, 5, 3
"""Weight of a base of a word, how many have to match, and by how many bases like words may be shifted."""
HIGHEST = 0.999
"""Quantile to which the signal of words is limited."""
LEAST_REACH_BP, PEAK_BP = 100, 164
"""How far from the end of a bin, and from its middle, a filter matches at least: a peak is wider than its motif."""
MOST_TIMES, ROWS_AT_ONCE = 20, 1024
"""How much more often a window with signal is read, at most; windows whose values are in memory at once."""


def reach_of(bin_bp: int) -> int:
    """Return how many bases on either side of a bin a filter may match."""
    return max(LEAST_REACH_BP, PEAK_BP - bin_bp // 2)


def rows_by_signal(labelled: LabelledSet) -> NDArray[np.int64]:
    """Return the training rows once, then rows with signal again: half of all by the square of their values."""
    # A site of a protein is in few windows; read evenly, its motif would be seen too seldom to be learned.
    rows = labelled.rows("train")
    parts = np.split(rows, range(ROWS_AT_ONCE, len(rows), ROWS_AT_ONCE))
    squares_NL = np.concatenate([np.nansum(labelled.labels_of(x) ** 2.0, axis=1) for x in parts])
    share_N = (squares_NL / squares_NL.mean(axis=0)).mean(axis=1)
    return np.concatenate([rows, np.repeat(rows, share_N.round().clip(0, MOST_TIMES).astype(int))])


@dataclass
class BinFit:
    """The fit of k-mers, then of filters, around the bins of a set; the best pass on validation is kept."""

    part: BinKmerHead
    objective: TrackValues
    generator: torch.Generator
    shares: Tensor
    """(M, D)"""
    codes: Tensor
    """(M, S)"""
    truth: Tensor
    """(M, L)"""
    held_shares: Tensor
    """(N, P, D)"""
    held_codes: Tensor
    """(N, bases of windows)"""
    held: NDArray[np.float32]
    """(N, P, L)"""

    def score(self) -> float:
        """Return the score on validation."""
        with torch.no_grad():
            logits_NPL = self._of_kmers(self.held_shares)
            parts = [self.part.matched(x) for x in self.held_codes.split(64)]
            logits_NPL = logits_NPL + self.part.matches(torch.cat(parts))
        return self.objective.scores(self.held, logits_NPL.numpy())[self.objective.monitor]

    def run(self) -> float:
        """Fit both; return the score."""
        self._keep_best(self._kmer_passes())
        self._begin_with_words()
        return self._keep_best(self._filter_passes())

    def _keep_best(self, passes: Iterator[None]) -> float:
        best, kept = -np.inf, {}
        for _ in passes:
            if (score := self.score()) > best:
                best, kept = score, {k: v.clone() for k, v in self.part.state_dict().items()}
        self.part.load_state_dict(kept)
        return best

    def _of_kmers(
        self, shares: Tensor, dropped: Callable[[Tensor], Tensor] = lambda x: x
    ) -> Tensor:
        return self.part.linear(dropped(self.part.hidden(dropped(shares)).relu()))

    def _kmer_passes(self) -> Iterator[None]:
        layers = [self.part.hidden, self.part.linear]
        dropped = partial(_dropped, share=DROPOUT, generator=self.generator)
        optimizer = _optimizer(layers, RATE)
        for _ in range(EPOCHS):
            order = torch.randperm(len(self.truth), generator=self.generator)
            for rows in order.split(BATCH_BINS):
                logits_ML = self._of_kmers(dropped(self.shares[rows]), dropped)
                _step(optimizer, self.objective.loss(logits_ML[:, None], self.truth[rows, None]))
            yield

    @torch.no_grad()
    def _begin_with_words(self) -> None:
        """Let half of the filters match words with more signal than k-mers tell; from noise few find a motif."""
        # Squares: peaks count, not the level between them.
        of_kmers_ML = torch.cat([self._of_kmers(x) for x in self.shares.split(4096)])
        excess_ML = (self.truth**2 - self.objective.predictions(of_kmers_ML) ** 2).nan_to_num()
        side = max(0, sum(self.part.sides) - WORD_SIDE_BP)
        near_MS = self.codes[:, side : self.codes.shape[1] - side]
        start = (self.part.filters.kernel_size[0] - WORD_BP) // 2
        most = len(self.part.filters.weight) // 2
        for i, word in enumerate(words_with_signal(near_MS, excess_ML, most)):
            weight_4W = self.part.filters.weight[i, :, start : start + WORD_BP]
            weight_4W.fill_(-MATCH)
            weight_4W[torch.from_numpy(word), torch.arange(WORD_BP)] = MATCH
            self.part.filters.bias[i] = -MATCH * FEWEST_MATCHES

    def _filter_passes(self) -> Iterator[None]:
        """Fit the filters next to the k-mers, which stay; bins with signal are drawn more often and weigh less."""
        yield  # without them
        with torch.no_grad():
            of_kmers_ML = torch.cat([self._of_kmers(x) for x in self.shares.split(4096)])
        squares_ML = self.truth.nan_to_num() ** 2
        share_M = (squares_ML / squares_ML.sum(dim=0)).mean(dim=1)
        drawn_M = 0.5 * share_M + 0.5 / len(share_M)
        # The root: rare signal would else weigh no more than if it were drawn as often as all.
        weight_M = (1 / len(share_M) / drawn_M).sqrt()
        optimizer = _optimizer([self.part.filters, self.part.matches], FILTER_RATE)
        dropped = partial(_dropped, share=FILTER_DROPOUT, generator=self.generator)
        for epoch in range(FILTER_EPOCHS):
            optimizer.param_groups[0]["lr"] = FILTER_RATE * (1 - epoch / FILTER_EPOCHS)
            drawn = torch.multinomial(
                drawn_M, FILTER_BINS, replacement=True, generator=self.generator
            )
            for rows in drawn.split(FILTER_BATCH):
                matched_MF = self.part.matched(self.codes[rows])[:, 0]
                logits_ML = of_kmers_ML[rows] + self.part.matches(dropped(matched_MF))
                truth_ML = self.truth[rows, None]
                _step(optimizer, self.objective.loss(logits_ML[:, None], truth_ML, weight_M[rows]))
            yield


def fit_bin_kmers(
    model: SequenceClassifier,
    kmers: KmerHeadConfig,
    bases_VI: np.ndarray,
    train: LabelledWindows,
    validation: LabelledWindows,
    objective: TrackValues,
    *,
    num_rows: int,
    seed: int,
    progress: Callable[[Iterable], Iterable] = iter,
) -> float:
    """Add k-mers and filters around bins to a model before its training, fixed; return their score on validation.

    `num_rows`: the first so many windows of `train` are read.
    """
    part = BinKmerHead(kmers, model.encoder.config.vocab_size, model.label_layer.out_features)
    model.words = part
    part.counts.bases_VI[: len(bases_VI)] = torch.from_numpy(bases_VI)  # ids may be more
    generator = torch.Generator().manual_seed(seed)
    for layer in (part.hidden, part.linear):
        nn.init.normal_(layer.weight, std=layer.in_features**-0.5, generator=generator)
        nn.init.zeros_(layer.bias)
    nn.init.normal_(part.filters.weight, std=FILTER_STD, generator=generator)
    held = np.arange(len(validation))
    read = partial(outputs, part, precision=torch.float32, progress=progress)
    held_NPD = read(validation, held, call=part.counts)
    some = spread(num_rows, max(1, MOST_BINS // held_NPD.shape[1]))
    shares_MD = read(train, some, call=part.counts).flatten(0, 1)
    part.mean_D.copy_(shares_MD.mean(dim=0))
    part.std_D.copy_(shares_MD.std(dim=0, correction=0).clamp(min=1e-6))
    codes_NS, held_NS = (
        read(x, i, call=part.spelled_bins).to(torch.int8)
        for x, i in ((train, some), (validation, held))
    )
    around = codes_NS.shape[1] - kmers.bin_bp * (held_NPD.shape[1] - 1)
    fit = BinFit(
        part,
        objective,
        generator,
        part.scaled(shares_MD),
        codes_NS.unfold(1, around, kmers.bin_bp).flatten(0, 1),
        torch.from_numpy(np.array(train.labels[some])).flatten(0, 1),
        part.scaled(held_NPD),
        held_NS,
        np.asarray(validation.labels[held]),
    )
    score = fit.run()
    part.requires_grad_(False)
    return score


def words_with_signal(codes_MS: Tensor, signal_ML: Tensor, most: int) -> list[NDArray[np.int64]]:
    """Return the bases of up to `most` unlike words whose bins have most signal, one of each track in turn.

    The score of a word is the sum of the standardised signal of the bins that have it, on either strand, by the root of
    how often it occurs.
    """
    if codes_MS.shape[1] < WORD_BP:
        return []
    signal_ML = signal_ML.minimum(signal_ML.new_tensor(np.quantile(signal_ML, HIGHEST, axis=0)))
    signal_ML = (signal_ML - signal_ML.mean(dim=0)) / signal_ML.std(dim=0).clamp(min=1e-6)
    shared = torch.from_numpy(canonical_kmers(WORD_BP))
    digits = 4 ** torch.arange(WORD_BP - 1, -1, -1)
    size = int(shared.max()) + 1
    counts, sums_LD = torch.zeros(size), torch.zeros(signal_ML.shape[1], size)
    for rows in torch.arange(len(codes_MS)).split(4096):
        words_MWI = codes_MS[rows].unfold(1, WORD_BP, 1).long()
        is_known_MW = (words_MWI < N_CODE).all(-1)
        numbers = shared[(words_MWI * digits).sum(-1)[is_known_MW]]
        counts += torch.bincount(numbers, minlength=size)
        for sums_D, signal_M in zip(sums_LD, signal_ML[rows].T, strict=True):
            weights = signal_M[:, None].expand_as(is_known_MW)[is_known_MW]
            sums_D += torch.bincount(numbers, weights, minlength=size)
    scores_LD = torch.where(counts < FEWEST, -torch.inf, sums_LD / counts.sqrt())
    firsts = np.unique(shared.numpy(), return_index=True)[1]
    kept: list[NDArray[np.int64]] = []
    for number in scores_LD.argsort(dim=1, descending=True).T.flatten().tolist():
        word = firsts[number] // digits.numpy() % 4
        if len(kept) == most or counts[number] < FEWEST:
            break
        if not any(_alike(word, other) for other in kept):
            kept.append(word)
    return kept


def _alike(word: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Return True if two words differ in at most one base where they overlap, on either strand."""
    return any(
        np.sum(word[max(0, s) : WORD_BP + min(0, s)] != strand[max(0, -s) : WORD_BP - max(0, s)])
        <= 1
        for strand in (other, 3 - other[::-1])
        for s in range(-SHIFT, SHIFT + 1)
    )


def _optimizer(layers: Sequence[nn.Module], rate: float) -> torch.optim.Optimizer:
    parameters = [p for layer in layers for p in layer.parameters()]
    return torch.optim.AdamW(parameters, rate, weight_decay=WEIGHT_DECAY)


def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _dropped(x: Tensor, share: float, generator: torch.Generator) -> Tensor:
    is_kept = torch.rand(x.shape, generator=generator) >= share
    return x * is_kept / (1 - share)
