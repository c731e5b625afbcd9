"""Count-based baselines of a masked model: on the same positions, and separately causal ones."""

import copy
from collections.abc import Callable, Iterable

import numpy as np

from dna_bigbird.baselines.base_kmers import UNKNOWN, base_codes
from dna_bigbird.baselines.base_mixture import BaseMixtureCausal
from dna_bigbird.baselines.base_ngram import BaseNgramCausal
from dna_bigbird.baselines.base_two_sided import BaseMixtureTwoSided
from dna_bigbird.baselines.kneser_ney import kneser_ney_scores
from dna_bigbird.baselines.ngram import (
    TokenBigramMasked,
    TokenNgramCausal,
    TokenUnigram,
    posterior_nll,
)
from dna_bigbird.baselines.token_mixture import TokenMixtureMasked
from dna_bigbird.corpus.token_store import covering_tokens
from dna_bigbird.evaluation.language_baselines import LanguageBaselines
from dna_bigbird.metrics.language import interval
from dna_bigbird.metrics.verdicts import NETWORK

# N examples, M predicted tokens of one, P of all examples

DESCRIPTIONS = {
    "token_unigram_masked": "token frequencies of the training documents, on exactly the masked "
    "positions the model predicts; ignores all context",
    "token_unigram_informed_masked": "the same, but it also uses the token shown at a position "
    "that does not show [MASK] (Bayes' rule with the shares of masking)",
    "token_bigram_informed_masked": "the token on either side of a masked one (Witten-Bell "
    "bigrams both ways), on the same positions, using shown tokens likewise",
    "token_mixture_informed_masked": "up to three tokens on either side and on both, and the bases of "
    "either side, mixed with weights fitted on training documents, on the same positions, using "
    "shown tokens likewise; counted on 50 Mbp at most (single bases: 5 Mbp)",
    "base_mixture_informed_masked": "bases on both sides, in contexts of many shapes, and copies of long "
    "contexts that go on over hidden bases, counted on both strands and mixed with weights fitted on "
    "masked training documents, on the same positions, using the token shown there likewise; only of "
    "models of single bases; counted on 50 Mbp at most",
    NETWORK: "the network of the model without its copies, on the same positions",
    "base_mixture_one_hidden": "bases on both sides, in contexts of many shapes, mixed with weights "
    "fitted on training documents, both strands counted; one base hidden at a time, 50 or more "
    "apart, everything else seen; counted on 50 Mbp at most",
    "token_ngram_causal": "token 3-gram, interpolated Witten-Bell; every token of the held-out "
    "documents from those before it",
    "base_ngram_causal": "base 12-gram, interpolated Witten-Bell; every base of the held-out "
    "documents from those before it",
    "base_mixture_causal": "adaptive mixture of counts of contexts of 1 to 20 bases and of copies, on "
    "both strands; every base of the held-out documents from those before it, which are counted "
    "too; counted on 50 Mbp, scored on 1 Mbp at most",
    "token_ngram_kenlm_causal": "token 3-gram, modified Kneser-Ney by KenLM, likewise; counted on "
    "200 Mbp at most",
    "base_ngram_kenlm_causal": "base 12-gram, modified Kneser-Ney by KenLM, likewise; counted on "
    "20 Mbp at most",
}


class MaskedBaselines:
    """The predictors of hidden tokens, counted once on (at most `documents` of) a token store."""

    def __init__(self, store, tokenizer, masking, documents: int | None) -> None:
        tokens = covering_tokens(store, documents)
        self.counted = counted(tokens, tokenizer.piece_bp)
        self.unigram = TokenUnigram().fit_sequences(tokens, store.vocab_size)
        self.bigram = TokenBigramMasked().fit_sequences(tokens, store.vocab_size)
        self.mixture = TokenMixtureMasked(pieces=tokenizer.pieces)
        self.mixture.fit(store, documents)
        self.bases: BaseMixtureTwoSided | None = None
        if tokenizer.piece_bp.max() == 1:
            share = masking.fraction
            self.bases = BaseMixtureTwoSided(hidden_share=share).fit(store, tokenizer, documents)
            self._letters = np.array([x if x in set("ACGT") else "N" for x in tokenizer.pieces])
        named = [x for x in DESCRIPTIONS if x.endswith("_masked") and x != NETWORK]
        self.names = [name for name in named if self.bases or not name.startswith("base_")]
        self.mask_id, self.piece_bp = tokenizer.mask_id, tokenizer.piece_bp
        self.known = {
            "mask_id": tokenizer.mask_id,
            "num_pieces": tokenizer.vocab_size - tokenizer.first_piece_id,
            **_shares(masking),
        }

    def for_masking(self, masking) -> "MaskedBaselines":
        """Return the same counts for examples that are masked in another way."""
        other = copy.copy(self)
        other.known = self.known | _shares(masking)
        return other

    def counted_by(self, name: str) -> dict[str, int]:
        """Return how many bases and documents a predictor has counted, by name of the metric."""
        if name == NETWORK:
            return {"n_counted_bp": 0, "n_counted_documents": 0}
        if name.startswith("base_mixture"):
            return counted_by_bases(self.bases)
        if name.startswith("token_mixture"):
            return {
                "n_counted_bp": int(self.mixture.counted_tokens @ self.piece_bp),
                "n_counted_documents": self.mixture.counted_documents,
            }
        return self.counted

    def of_bases(self, examples, count: int) -> np.ndarray | None:
        """Return the probabilities of A C G T for the hidden tokens of all examples, (P, 4).

        None if tokens are longer than a base. All are hidden, also those that show a token.
        """
        if self.bases is None:
            return None
        read = [examples[number] for number in range(count)]
        texts = ["".join(self._letters[example["token_ids"]]) for example in read]
        return np.concatenate(self.bases.probabilities(texts, [x["positions"] for x in read]))

    def nats(
        self,
        examples,
        count: int,
        of_bases: np.ndarray | None = None,
        progress: Callable[[Iterable], Iterable] = iter,
    ) -> np.ndarray:
        """Return the cost of each predicted token of the first examples, shape (P, names)."""
        read = [examples[number] for number in progress(range(count))]
        nats = np.concatenate([self.nats_of_tokens(example) for example in read])
        return nats if of_bases is None else np.column_stack([nats, self._joined(read, of_bases)])

    def nats_of_tokens(self, example: dict) -> np.ndarray:
        """Return the cost of each predicted token of an example by the counts of tokens."""
        labels, positions = example["labels"], example["positions"]
        seen = example["token_ids"][positions]
        p = self.unigram.probability
        sides = self.bigram.neighbours(example["token_ids"], positions, self.mask_id)
        asked = self._asked(labels, seen)
        between = self.bigram.probabilities(*sides, asked)
        shown = self.mixture.shown(example["token_ids"], self.mask_id)
        mixed = self.mixture.probabilities(shown, positions, asked)
        return np.column_stack(
            [
                self.unigram.nll(labels),
                posterior_nll(labels, seen, p[labels], p[seen], **self.known),
                posterior_nll(labels, seen, *between, **self.known),
                posterior_nll(labels, seen, *mixed, **self.known),
            ]
        )

    def _joined(self, examples: list[dict], of_bases: np.ndarray) -> np.ndarray:
        """Return the cost of the tokens by `of_bases` and the frequencies of tokens of other letters."""
        labels = np.concatenate([example["labels"] for example in examples])
        seen = np.concatenate([x["token_ids"][x["positions"]] for x in examples])
        asked = self._asked(labels, seen)
        codes = base_codes("".join(self._letters[asked.ravel()])).reshape(asked.shape)
        frequencies = self.unigram.probability
        is_base = frequencies[self._letters != "N"].sum()
        p = of_bases[np.arange(len(labels)), np.minimum(codes, UNKNOWN - 1)] * is_base
        p = np.where(codes < UNKNOWN, p, frequencies[asked])
        return posterior_nll(labels, seen, *p, **self.known)

    def _asked(self, labels: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return the ids whose probability is needed: the true ones and those shown, (2, M)."""
        # [MASK] has no probability as a label; the value is not used there.
        return np.stack([labels, np.where(seen == self.mask_id, labels, seen)])


def _shares(masking) -> dict[str, float]:
    return {"mask_share": masking.mask_share, "random_share": masking.random_share}


def counted(tokens: list[np.ndarray], piece_bp: np.ndarray) -> dict[str, int]:
    """Return how many bases and documents some tokens are, by name of the metric."""
    bases = sum(int(piece_bp[ids].sum()) for ids in tokens)
    return {"n_counted_bp": bases, "n_counted_documents": len(tokens)}


def causal_baselines(
    train, test, tokenizer, config: LanguageBaselines, *, seed: int
) -> dict[str, dict]:
    """Score the n-grams on the held-out documents, left to right; intervals are over documents."""
    most, scored = config.most_counted, config.baseline_scored_documents
    ids = covering_tokens(train, most)
    facts = counted(ids, tokenizer.piece_bp)
    tokens = TokenNgramCausal().fit_sequences(ids, train.vocab_size)
    del ids
    scores = {"token_ngram_causal": (tokens.score(test, tokenizer.piece_bp, scored), facts)}
    del tokens  # gigabytes, of a whole genome
    bases = BaseNgramCausal().fit(train, tokenizer, most)
    of_bases = facts | {"n_counted_bp": bases.counted_bp}
    scores["base_ngram_causal"] = (bases.score(test, tokenizer, scored), of_bases)
    del bases
    mixture = BaseMixtureCausal().fit(train, tokenizer, most)
    scores["base_mixture_causal"] = (
        mixture.score(test, tokenizer, scored),
        counted_by_bases(mixture),
    )
    if config.kenlm:
        for unit, unit_scores in kneser_ney_scores(train, test, tokenizer, most, scored).items():
            scores[f"{unit}_ngram_kenlm_causal"] = unit_scores
    return {
        name: interval("bits_per_base_causal", score.nll_nats / np.log(2), score.base_pairs, seed)
        | {"n_bp": int(score.base_pairs.sum()), "n_documents": len(score.base_pairs)}
        | counts
        for name, (score, counts) in scores.items()
    }


def counted_by_bases(mixture: BaseMixtureTwoSided | BaseMixtureCausal) -> dict[str, int]:
    """Return how many bases and documents a mixture of single bases has counted."""
    return {"n_counted_bp": mixture.counted_bp, "n_counted_documents": mixture.counted_documents}


def one_hidden_baseline(
    train,
    test,
    tokenizer,
    config: LanguageBaselines,
    *,
    seed: int,
) -> dict[str, dict]:
    """Score the two-sided mixture on bases hidden one at a time; intervals are over documents."""
    mixture = BaseMixtureTwoSided().fit(train, tokenizer, config.most_counted)
    score = mixture.score(test, tokenizer, config.baseline_scored_documents)
    bits = interval("bits_per_base_one_hidden", score.nll_nats / np.log(2), score.base_pairs, seed)
    counts = {"n_bp": int(score.base_pairs.sum()), "n_documents": len(score.base_pairs)}
    return {"base_mixture_one_hidden": bits | counts | counted_by_bases(mixture)}
