"""Weights of predicted tokens: soft-masked repeats count less in the loss of training."""

import numpy as np

from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.genome.repeats import SOFT_MASKED, RepeatClasses


class RepeatWeighted:
    """The same examples with `weights`, (M,) float32: of each predicted token, for the loss.

    A base in lower case has the weight `repeat_weight`, every other one 1, also all of a chromosome in
    one case; a token has the mean over its bases.

    Args:
        classes: `RepeatClasses.from_soft_mask` of the genome of the documents.
        piece_bp: Base pairs of every token id, as the tokenizer's.
    """

    def __init__(
        self,
        examples: PretrainExamples,
        classes: RepeatClasses,
        repeat_weight: float,
        piece_bp: np.ndarray,
    ) -> None:
        self.examples = examples
        self.classes = classes
        self.repeat_weight = repeat_weight
        self.piece_bp = piece_bp

    def __getitem__(self, index: int) -> dict[str, np.ndarray | int]:
        """Return one example, as `PretrainExamples`, with `weights`."""
        example = self.examples[index]
        chroms, bounds = self.examples.predicted_spans(index, self.piece_bp, example["positions"])
        return example | {"weights": self._weights(chroms, bounds)}

    def _weights(self, chroms: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        names = self.examples.store.chromosomes
        weights = np.ones(len(chroms))
        for number in np.unique(chroms).tolist():
            here = chroms == number
            shares = self.classes.shares(names[number], bounds[here])
            weights[here] += (self.repeat_weight - 1) * shares[:, SOFT_MASKED]
        return weights.astype(np.float32)
