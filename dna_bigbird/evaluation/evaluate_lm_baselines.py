"""Count-based baselines of a masked model: on the same positions, and separately causal ones."""

import copy
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

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
from dna_bigbird.metrics.language import by_stratum, interval

# N examples, M predicted tokens of one, S strata, K predictors


class Strata(Protocol):
    """A way to divide the genome; every base lies in exactly one part."""

    names: list[str]

    def sums(self, chroms: np.ndarray, bounds: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Sum values of tokens by part: (M,), (M, 2), (M, K) to (S, K)."""
        ...


class ByChromosome:
    """One part per chromosome of a token store."""

    def __init__(self, chromosomes: list[str]) -> None:
        self.names = chromosomes

    def sums(self, chroms: np.ndarray, bounds: np.ndarray, values: np.ndarray) -> np.ndarray:
        """See `Strata.sums`; a token lies on one chromosome."""
        total = np.zeros((len(self.names), values.shape[1]))
        np.add.at(total, chroms, values)
        return total


class ByRepeatClass:
    """One part per class of `RepeatClasses`; a token in two is shared by its bases."""

    def __init__(self, repeats, chromosomes: list[str]) -> None:
        self.names = list(repeats.names)
        self._repeats = repeats
        self._chromosomes = chromosomes

    def sums(self, chroms: np.ndarray, bounds: np.ndarray, values: np.ndarray) -> np.ndarray:
        """See `Strata.sums`."""
        total = np.zeros((len(self.names), values.shape[1]))
        for number in np.unique(chroms):
            here = chroms == number
            total += self._repeats.sums(self._chromosomes[number], bounds[here], values[here])
        return total


def spread_costs(
    examples,
    token_nats: list[np.ndarray],
    baseline_nats: Callable[[dict], np.ndarray],
    piece_bp: np.ndarray,
    strata: dict[str, Strata],
    progress: Callable[[Iterable], Iterable] = iter,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return nats of model and K - 1 baselines, then bases: (N, K + 1); by part (N, S, K + 1)."""
    whole = []
    parts: dict[str, list[np.ndarray]] = {name: [] for name in strata}
    for number in progress(range(len(token_nats))):
        example = examples[number]
        values = np.column_stack(
            [token_nats[number], baseline_nats(example), piece_bp[example["labels"]]]
        )
        whole.append(values.sum(axis=0))
        if strata:
            chroms, bounds = examples.predicted_spans(number, piece_bp)
            for name, way in strata.items():
                parts[name].append(way.sums(chroms, bounds, values))
    return np.array(whole), {name: np.array(rows) for name, rows in parts.items()}


def strata_tables(
    strata: dict[str, Strata],
    parts: dict[str, np.ndarray],
    predictor: int,
    seed: int,
    score: str = "bits_per_base_masked",
) -> dict[str, dict]:
    """Return the tables of one predictor (0: the model) for each division."""
    return {
        name: by_stratum(
            way.names, parts[name][:, :, predictor], parts[name][:, :, -1], seed, score
        )
        for name, way in strata.items()
    }


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

    names = tuple(name for name in DESCRIPTIONS if name.endswith("_masked"))

    def __init__(self, store, tokenizer, masking, documents: int | None) -> None:
        tokens = covering_tokens(store, documents)
        self.counted = counted(tokens, tokenizer.piece_bp)
        self.unigram = TokenUnigram().fit_sequences(tokens, store.vocab_size)
        self.bigram = TokenBigramMasked().fit_sequences(tokens, store.vocab_size)
        self.mixture = TokenMixtureMasked(pieces=getattr(tokenizer, "pieces", None))
        self.mixture.fit(store, documents)
        self._counted_by_mixture = {
            "n_counted_bp": int(self.mixture.counted_tokens @ tokenizer.piece_bp),
            "n_counted_documents": self.mixture.counted_documents,
        }
        self.mask_id = tokenizer.mask_id
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
        return self._counted_by_mixture if name.startswith("token_mixture") else self.counted

    def nats(self, example: dict) -> np.ndarray:
        """Return the cost of each predicted token of an example, shape (M, names)."""
        labels, positions = example["labels"], example["positions"]
        seen = example["token_ids"][positions]
        p = self.unigram.probability
        sides = self.bigram.neighbours(example["token_ids"], positions, self.mask_id)
        # [MASK] has no probability as a label; the value is not used there.
        shown = np.where(seen == self.mask_id, labels, seen)
        between = self.bigram.probabilities(*sides, np.stack([labels, shown]))
        mixed = self.mixture.probabilities(
            self.mixture.shown(example["token_ids"], self.mask_id),
            positions,
            np.stack([labels, shown]),
        )
        return np.column_stack(
            [
                self.unigram.nll(labels),
                posterior_nll(labels, seen, p[labels], p[seen], **self.known),
                posterior_nll(labels, seen, *between, **self.known),
                posterior_nll(labels, seen, *mixed, **self.known),
            ]
        )


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
        {"n_counted_bp": mixture.counted_bp, "n_counted_documents": mixture.counted_documents},
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


def one_hidden_baseline(
    train, test, tokenizer, config: LanguageBaselines, *, seed: int
) -> dict[str, dict]:
    """Score the two-sided mixture on bases hidden one at a time; intervals are over documents."""
    mixture = BaseMixtureTwoSided().fit(train, tokenizer, config.most_counted)
    score = mixture.score(test, tokenizer, config.baseline_scored_documents)
    bits = interval("bits_per_base_one_hidden", score.nll_nats / np.log(2), score.base_pairs, seed)
    counts = {"n_bp": int(score.base_pairs.sum()), "n_documents": len(score.base_pairs)}
    facts = {"n_counted_bp": mixture.counted_bp, "n_counted_documents": mixture.counted_documents}
    return {"base_mixture_one_hidden": bits | counts | facts}
