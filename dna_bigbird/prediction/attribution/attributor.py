"""Windows of DNA to the effects of their bases on the log odds of labels."""

# S bases, B batch, T tokens, L labels, C candidates of a token

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.models.classifier import EnsembleClassifier
from dna_bigbird.models.label_types import TRACKS
from dna_bigbird.prediction.attribution.embedding_gradients import (
    TokenEffects,
    VectorGradients,
    constant_weights,
    kmer_effects,
)
from dna_bigbird.prediction.compute import Compute, beyond_training
from dna_bigbird.prediction.engine import set_up
from dna_bigbird.prediction.predictor import check_together, columns_of
from dna_bigbird.prediction.runner import BundleRunner, label_values

Method = Literal["constant", "gradient", "integrated"]
LETTERS = "ACGT"
TOLERANCE = 0.01
"""Of integrated gradients: largest part of the difference that their sum may miss."""
SMALL = 0.1
"""Differences of the log odds below this count as this in the tolerance."""
FIRST_STEPS, MOST_STEPS = 16, 256
"""Points of integrated gradients; doubled where they are too few."""


@dataclass
class BaseEffects:
    """What the bases of a sequence add to the log odds of L labels; zeros, then sums are added to it."""

    effects: NDArray[np.float64]
    """(S, L)"""
    of_bases: NDArray[np.float64] | None
    """(S, 4, L) of A, C, G and T in place of the base; None if tokens are longer than a base."""
    difference: NDArray[np.float64]
    """(L,) log odds of the sequence minus those of the reference."""

    @classmethod
    def zeros(cls, num_bases: int, num_labels: int, has_bases: bool) -> "BaseEffects":
        """Return no effects."""
        of_bases = np.zeros((num_bases, 4, num_labels)) if has_bases else None
        return cls(np.zeros((num_bases, num_labels)), of_bases, np.zeros(num_labels))

    def add(self, other: "BaseEffects", share: float, start: int = 0) -> None:
        """Add a share of the effects of a part that begins at base `start`."""
        stop = start + len(other.effects)
        self.effects[start:stop] += share * other.effects
        if self.of_bases is not None:
            self.of_bases[start:stop] += share * other.of_bases
        self.difference += share * other.difference

    def of_other_strand(self) -> "BaseEffects":
        """Return the effects on the complementary bases, in their order."""
        of_bases = None if self.of_bases is None else self.of_bases[::-1, ::-1]
        return BaseEffects(self.effects[::-1], of_bases, self.difference)

    @property
    def missed(self) -> float:
        """Largest part of a difference that the sum of the effects misses."""
        away_L = np.abs(self.effects.sum(axis=0) - self.difference)
        return float((away_L / np.maximum(np.abs(self.difference), SMALL)).max(initial=0.0))


@dataclass
class Attributor:
    """Computes effects of bases on the mean log odds of bundles; `labels` are columns."""

    # missed: the largest part of a difference of log odds that the effects of a window do not add
    # up to. A window of more tokens than the context is read in equal parts, as `Predictor` does.

    bundles: Sequence[Bundle]
    labels: Sequence[int]
    compute: Compute
    method: Method = "constant"
    strand: Literal["both", "forward"] = "both"
    summed: slice | None = None
    """Bins whose sum is explained, of models of tracks."""
    missed: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        check_fields(self)
        check_together(self.bundles)
        first = self.bundles[0]
        if first.config.label_type == TRACKS and any(x.config.has_counts for x in self.bundles):
            raise InputError(
                f"{first.folder}: a model of tracks with k-mers around its bins, whose bases have no effects apart; "
                "score-variants compares sequences, or train one with --words.max_k 0"
            )
        self.label_names = [first.config.label_names[i] for i in self.labels]
        self.window_bp: int = first.config.window_bp
        for bundle in self.bundles:
            if self.method == "constant" and bundle.config.encoder.attention == "etc":
                raise InputError(
                    f"{bundle.folder}: --method constant is not for attention etc; use integrated or gradient"
                )
            if bundle.config.encoder.word_memory:
                raise InputError(
                    f"{bundle.folder}: a model with word_memory looks words up, which no gradient sees; use mutagenesis"
                )
        setup = set_up(self.bundles, self.compute)
        self.compute, self._notes = setup.compute, setup.notes
        if first.config.directional and self.strand == "both":
            self.strand = "forward"
            self._notes.append("the labels belong to one strand: the given strand is read")
        self._runners = [
            BundleRunner(bundle, setup.compute, setup.device, with_gradients=True)
            for bundle in self.bundles
        ]
        self._columns = [columns_of(bundle, self.label_names, first) for bundle in self.bundles]
        self._num_split = self._longest = 0
        self.reads_bases = all(is_of_bases(bundle) for bundle in self.bundles)

    def notes(self) -> list[str]:
        """Return what a user should know about the computation, one line each."""
        lines = [*self._notes]
        if self._num_split:
            lines.append(
                f"{self._num_split} windows had more tokens than the context and were read in equal parts"
            )
        lines += beyond_training(self.bundles[0].config.encoder, self._longest)
        if self.missed > TOLERANCE:
            lines.append(
                f"the effects of a window miss {100 * self.missed:.1f} % of the difference of the log odds, also "
                f"with {MOST_STEPS} points"
            )
        return lines

    def of_windows(self, sequences: Sequence[str]) -> list[BaseEffects]:
        """Return the effects of the bases of some normalised sequences; NaN where there is no A, C, G or T."""
        groups = [(text, reverse_complement(text)) for text in sequences]
        if self.strand == "forward":
            groups = [(text,) for text in sequences]
        num_labels = len(self.label_names)
        totals = [BaseEffects.zeros(len(x), num_labels, self.reads_bases) for x in sequences]
        for runner, bundle, columns in zip(self._runners, self.bundles, self._columns, strict=True):
            of_bundle = iter(self._of_bundle(runner, bundle, columns, groups))
            for total, group in zip(totals, groups, strict=True):
                share = 1 / (len(self.bundles) * len(group))
                for number in range(len(group)):
                    of_strand = next(of_bundle)
                    total.add(of_strand.of_other_strand() if number else of_strand, share)
        for total, text in zip(totals, sequences, strict=True):
            if not text.strip("N"):
                total.effects[:] = total.difference[:] = np.nan
                if total.of_bases is not None:
                    total.of_bases[:] = np.nan
            elif self.method == "integrated":
                self.missed = max(self.missed, total.missed)
        return totals

    def _of_bundle(
        self,
        runner: BundleRunner,
        bundle: Bundle,
        columns: Sequence[int],
        groups: Sequence[Sequence[str]],
    ) -> list[BaseEffects]:
        """Return the effects of every sequence of every group by one bundle, in order."""
        plan = runner.plan(groups)
        self._num_split += plan.num_split
        self._longest = max(self._longest, plan.longest)
        texts, encoded = list(plan.tokens), list(plan.tokens.values())
        parts: dict[str, BaseEffects] = {
            text: BaseEffects.zeros(len(text), len(columns), self.reads_bases) for text in texts
        }
        members = members_of(bundle)
        for member in members:
            gradients = _gradients(member, bundle, columns, runner, self.summed)
            for rows, of_rows in runner.results(
                encoded, lambda *batch, g=gradients: self._batch(g, *batch)
            ):
                for row, of_tokens in zip(rows, of_rows, strict=True):
                    part = self._on_bases(of_tokens, texts[row], runner, member, columns)
                    parts[texts[row]].add(part, 1 / len(members))
        result = []
        for pieces in plan.parts:
            whole = BaseEffects.zeros(sum(map(len, pieces)), len(columns), self.reads_bases)
            start, known = 0, [text for text in pieces if text in parts]
            for text in pieces:
                if text in parts:
                    whole.add(parts[text], 1 / len(known), start)
                start += len(text)
            result.append(whole)
        return result

    def _batch(
        self, gradients: VectorGradients, token_ids_BT: Tensor, is_padding_BT: Tensor
    ) -> list[TokenEffects]:
        """Return the effects of the tokens of each sequence of a batch."""
        is_word_BT = ~is_padding_BT
        is_word_BT[:, 0] = False  # [CLS]
        is_word_BT &= is_word_BT.roll(-1, dims=1)  # the last token of a row is [SEP]
        batch = (token_ids_BT, is_padding_BT, is_word_BT)
        if self.method == "gradient":
            effects = gradients.gradient(*batch)
        elif self.method == "constant":
            with constant_weights(gradients.model):
                effects = gradients.gradient(*batch)
        else:
            effects = self._integrated(gradients, batch)
        return [
            TokenEffects(
                *(getattr(effects, name)[row].cpu() for name in TokenEffects.__dataclass_fields__)
            )
            for row in range(len(token_ids_BT))
        ]

    def _integrated(self, gradients: VectorGradients, batch: tuple[Tensor, ...]) -> TokenEffects:
        """Return integrated gradients with enough points for every sequence of a batch."""
        steps = FIRST_STEPS
        while True:
            effects = gradients.integrated(*batch, steps)
            away_BL = effects.logits - effects.reference_logits
            missed_BL = (effects.effects.sum(1) - away_BL).abs() / away_BL.abs().clamp(min=SMALL)
            if missed_BL.max() <= TOLERANCE or 2 * steps > MOST_STEPS:
                return effects
            steps *= 2

    def _on_bases(
        self,
        of_tokens: TokenEffects,
        text: str,
        runner: BundleRunner,
        member: torch.nn.Module,
        columns: Sequence[int],
    ) -> BaseEffects:
        """Return the effects of the bases of a sequence: those of a token in equal parts on its bases."""
        effects_SL = np.zeros((len(text), len(columns)))
        of_bases = None
        spans = runner.tokenizer.encode_with_spans(text)[1]
        bp_T = spans[:, 1] - spans[:, 0]
        effects_TL = of_tokens.effects[1 : len(spans) + 1].numpy()
        covered = np.concatenate([np.arange(a, b) for a, b in spans.tolist()])
        effects_SL[covered] = np.repeat(effects_TL / bp_T[:, None], bp_T, axis=0)
        if self.reads_bases:
            of_bases = of_tokens.of_candidates[1 : len(spans) + 1].numpy()
        difference_L = (of_tokens.logits - of_tokens.reference_logits).numpy()
        result = BaseEffects(effects_SL, of_bases, difference_L)
        if member.words is not None:
            result.add(_kmers(member, text, columns, self.reads_bases), 1.0)
        return result


def _gradients(
    member: torch.nn.Module,
    bundle: Bundle,
    columns: Sequence[int],
    runner: BundleRunner,
    summed: slice | None,
) -> VectorGradients:
    device = member.encoder.word.weight.device
    tokenizer = bundle.tokenizer
    is_bases = is_of_bases(bundle)
    pieces = tokenizer.encode(LETTERS) if is_bases else np.flatnonzero(tokenizer.piece_bp)
    with torch.no_grad():
        reference = member.encoder.word(torch.as_tensor(pieces, device=device)).mean(0)
    candidates = torch.as_tensor(pieces if is_bases else [], dtype=torch.int64, device=device)

    def read(outputs: Tensor) -> Tensor:
        values = label_values(outputs, bundle.config)
        return (values if summed is None else values[:, summed].sum(dim=1))[:, list(columns)]

    return VectorGradients(
        member,
        read,
        reference,
        candidates,
    )


def _kmers(
    member: torch.nn.Module, text: str, columns: Sequence[int], reads_bases: bool
) -> BaseEffects:
    effects_SL, of_bases, sums_L = kmer_effects(member.words, text)
    return BaseEffects(
        effects_SL[:, columns], of_bases[..., columns] if reads_bases else None, sums_L[columns]
    )


def is_of_bases(bundle: Bundle) -> bool:
    """Return True if every token of DNA is one base."""
    return int(np.max(bundle.tokenizer.piece_bp)) == 1


def members_of(bundle: Bundle) -> list[torch.nn.Module]:
    """Return the classifiers of a bundle: one, or the members of an ensemble."""
    model = bundle.model
    return list(model.members) if isinstance(model, EnsembleClassifier) else [model]
