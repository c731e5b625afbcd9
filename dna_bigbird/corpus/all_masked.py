"""Examples in which every predicted token shows [MASK]."""

from dataclasses import replace

import numpy as np

from dna_bigbird.corpus.pretraining_examples import PretrainExamples


class AllMasked:
    """The same examples and predicted positions, but all of these show [MASK].

    In the paper's masking one predicted token in five shows a token, the true one in half of the
    cases: a model that copies what it sees is rewarded there. Here it is not.
    """

    def __init__(self, examples: PretrainExamples) -> None:
        self.examples = examples
        self.seed = examples.seed
        self.vocabulary = examples.vocabulary
        self.masking = replace(examples.masking, mask_share=1.0, random_share=0.0)

    def __getitem__(self, index: int) -> dict[str, np.ndarray | int]:
        """Return one example, as `PretrainExamples`."""
        example = self.examples[index]
        seen = example["token_ids"].copy()
        seen[example["positions"]] = self.vocabulary.mask_id
        return example | {"token_ids": seen}

    def predicted_spans(self, index: int, piece_bp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the predicted tokens lie, as `PretrainExamples`."""
        return self.examples.predicted_spans(index, piece_bp)
