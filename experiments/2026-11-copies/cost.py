"""How fast a masked model reads with and without its copies: tokens per second of one thread, three times.

python experiments/2026-11-copies/cost.py --model BUNDLE --test a.h5
"""

import argparse
import time

import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.corpus.masking import PAPER
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore

TOKENS = 98_304


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--test", required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    bundle = load_bundle(options.model)
    model, copies = bundle.model, bundle.model.copies
    started = time.perf_counter()
    for strand in copies.text.strands:
        for order in copies.config.orders:
            strand.index(order, copies.config.first_piece_id)
    print(
        f"index of {len(copies.text.forward.tokens):,} tokens: {time.perf_counter() - started:.1f} s"
    )
    length = bundle.config.encoder.max_tokens
    examples = PretrainExamples(TokenStore(options.test), bundle.tokenizer, length, PAPER, 0)
    size = max(1, 4096 // length)
    batches = [
        collate_pretraining([(i, examples[i]) for i in range(k, k + size)])
        for k in range(0, TOKENS // length, size)
    ]

    def tokens_per_second() -> float:
        begun = time.perf_counter()
        with torch.inference_mode():
            for x in batches:
                model(x.token_ids_BT, x.is_padding_BT, x.segment_ids_BT, x.positions_P)
        return sum(x.token_ids_BT.numel() for x in batches) / (time.perf_counter() - begun)

    tokens_per_second()
    for _ in range(3):
        model.copies = copies
        both = tokens_per_second()
        model.copies = None
        alone = tokens_per_second()
        print(f"{both:,.0f} tokens/s with copies, {alone:,.0f} without: {both / alone:.2f}")


if __name__ == "__main__":
    main()
