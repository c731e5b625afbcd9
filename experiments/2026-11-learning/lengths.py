"""Bits per masked base of a pretrained model by the length it reads, also beyond its trained one.

    PYTHONPATH=. python experiments/2026-11-learning/lengths.py --model BUNDLE --test test.h5 --lengths 512 1024 2048 4096
    PYTHONPATH=. python experiments/2026-11-learning/lengths.py --model BUNDLE --test test.h5 --tokens 500000 --extend tile

No speed. Each line reads about the same number of held-out tokens, cut into examples of that length;
the attention pattern is that of the length. Masking is the paper's (15 %, 80/10/10). A model with
rotary positions reads any length; a learned table is extended by the rule of --extend, without
training. Lines hide different tokens, so differences below the intervals mean nothing.
"""

import argparse
from pathlib import Path

from benchmarks.lib.timing import header
from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.convert_run import RULES, extend_positions
from dna_bigbird.core.limits import use_threads
from dna_bigbird.corpus.masking import PAPER
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.evaluation.evaluate_lm_parts import HiddenTokens
from dna_bigbird.evaluation.evaluate_lm_run import load_masked_model, model_scores

COLUMNS = ("tokens", "trained", "examples", "hidden_bp", "bits_per_masked_base", "low", "high")
TOKENS_AT_ONCE = 8192


def reading(bundle: Bundle, tokens: int, rule: str | None) -> Bundle:
    """Return the bundle, its table of positions extended if it is too short for `tokens`."""
    encoder = bundle.config.encoder
    if not encoder.reads_any_length and tokens > encoder.max_tokens:
        bundle.model = extend_positions(bundle.model, tokens, rule)
    return bundle


def row(options: argparse.Namespace, store: TokenStore, tokens: int) -> tuple:
    """Return the cells of one length."""
    bundle = load_masked_model(options.model)
    trained = bundle.config.encoder.max_tokens
    bundle = reading(bundle, tokens, options.extend)
    examples = PretrainExamples(store, bundle.tokenizer, tokens, PAPER, options.seed)
    count = max(options.tokens // tokens, 1)
    scores = model_scores(bundle, examples, count, max(TOKENS_AT_ONCE // tokens, 1))
    metrics, name = (
        scores.metrics(options.seed, HiddenTokens(examples, count, bundle.tokenizer.piece_bp)),
        "bits_per_base_masked",
    )
    bits = (metrics[name], metrics[f"{name}_low"], metrics[f"{name}_high"])
    return tokens, tokens <= trained, count, int(scores.base_pairs.sum()), *bits


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="a pretrained bundle")
    parser.add_argument("--test", type=Path, required=True, help="token store of held-out DNA")
    parser.add_argument("--lengths", type=int, nargs="+", default=[512, 1024, 2048, 4096])
    parser.add_argument("--tokens", type=int, default=262_144, help="read at each length")
    parser.add_argument("--extend", choices=RULES, help="rule for a learned table of positions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args(arguments)
    use_threads(options.threads)
    store = TokenStore(options.test)
    print(*header("cpu"), sep="\n")
    print(*COLUMNS, sep="\t")
    for tokens in options.lengths:
        cells = row(options, store, tokens)
        print(*(f"{x:.4f}" if isinstance(x, float) else x for x in cells), sep="\t", flush=True)


if __name__ == "__main__":
    main()
