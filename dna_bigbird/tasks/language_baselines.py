"""Count-based baselines beside a masked model: on its very positions, and causal ones apart."""

import numpy as np

from dna_bigbird.baselines.base_ngram import BaseNgramCausal
from dna_bigbird.baselines.kneser_ney import kneser_ney_scores
from dna_bigbird.baselines.masked_ngram import TokenBigramMasked
from dna_bigbird.baselines.ngram import TokenNgramCausal, TokenUnigram, posterior_nll
from dna_bigbird.evaluation.language import interval

DESCRIPTIONS = {
    "token_unigram_masked": "token frequencies of the training documents, on exactly the masked "
    "positions the model predicts; ignores all context",
    "token_unigram_informed_masked": "the same, but it also uses the token shown at a position "
    "that does not show [MASK] (Bayes' rule with the shares of masking)",
    "token_bigram_informed_masked": "the token on either side of a masked one (Witten-Bell "
    "bigrams both ways), on the same positions, using shown tokens likewise",
    "token_ngram_causal": "token 3-gram, interpolated Witten-Bell; every token of the held-out "
    "documents from those before it",
    "base_ngram_causal": "base 12-gram, interpolated Witten-Bell; every base of the held-out "
    "documents from those before it",
    "token_ngram_kenlm_causal": "token 3-gram, modified Kneser-Ney by KenLM, likewise",
    "base_ngram_kenlm_causal": "base 12-gram, modified Kneser-Ney by KenLM, likewise; counted on "
    "20 Mbp at most",
}


class MaskedBaselines:
    """The predictors of hidden tokens, counted once.

    Args:
        store: Token store they count, the one the model was trained on.
        documents: Most documents that are counted.
    """

    names = tuple(name for name in DESCRIPTIONS if name.endswith("_masked"))

    def __init__(self, store, tokenizer, masking, documents: int) -> None:
        self.unigram = TokenUnigram().fit(store, documents)
        self.bigram = TokenBigramMasked().fit(store, documents)
        self.mask_id = tokenizer.mask_id
        self.known = {
            "mask_id": tokenizer.mask_id,
            "num_pieces": tokenizer.vocab_size - tokenizer.first_piece_id,
            "mask_share": masking.mask_share,
            "random_share": masking.random_share,
        }

    def nats(self, example: dict) -> np.ndarray:
        """Return the cost of each predicted token of an example, shape (M, names)."""
        labels, positions = example["labels"], example["positions"]
        seen = example["token_ids"][positions]
        p = self.unigram.probability
        sides = self.bigram.neighbours(example["token_ids"], positions, self.mask_id)
        # [MASK] has no probability as a label; the value is not used there.
        shown = np.where(seen == self.mask_id, labels, seen)
        between = [self.bigram.probabilities(*sides, tokens) for tokens in (labels, shown)]
        return np.column_stack(
            [
                self.unigram.nll(labels),
                posterior_nll(labels, seen, p[labels], p[seen], **self.known),
                posterior_nll(labels, seen, *between, **self.known),
            ]
        )


def causal_baselines(
    train, test, tokenizer, documents: int, *, seed: int, kenlm: bool = False
) -> dict[str, dict]:
    """Score the n-grams on every token or base of the held-out documents, left to right.

    Intervals are over documents.

    Args:
        train, test: Token stores.
        documents: Most documents that are counted and, apart, scored.
        seed: Of the bootstrap.
        kenlm: Those of KenLM too.

    Raises:
        InputError: If KenLM is asked for and not installed.
    """
    tokens = TokenNgramCausal().fit(train, documents).score(test, tokenizer.piece_bp, documents)
    bases = BaseNgramCausal().fit(train, tokenizer, documents).score(test, tokenizer, documents)
    scores = {"token_ngram_causal": tokens, "base_ngram_causal": bases}
    if kenlm:
        found = kneser_ney_scores(train, test, tokenizer, documents)
        scores |= {f"{unit}_ngram_kenlm_causal": score for unit, score in found.items()}
    return {
        name: interval("bits_per_base_causal", score.nll_nats / np.log(2), score.base_pairs, seed)
        | {"n_bp": int(score.base_pairs.sum()), "n_documents": len(score.base_pairs)}
        for name, score in scores.items()
    }
