"""What each part of the copies of a masked model is worth, on held-out regions.

    python experiments/2026-11-copies/ablation.py --model results/NAME/trained/pretrained \
        --corpus results/NAME/corpus --test a.h5 b.h5 c.h5 --examples 320 600 130

The gate of every arm is fitted as by `pretrain --counts`: on training examples whose documents are left out, the pass
chosen on validation. Test examples hide 15 %, [MASK] at all of it; intervals are over blocks of 10 kb, paired.
"""

import argparse
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.evaluation.evaluate_lm_parts import HiddenTokens
from dna_bigbird.metrics.language import interval
from dna_bigbird.models.copies import Copies
from dna_bigbird.models.read_text import ReadText, Strand
from dna_bigbird.training import copying

ALL_MASKED = copying.MASKINGS[1]


def only(text: ReadText, kept: np.ndarray) -> ReadText:
    """Return the text without the tokens of some documents."""

    def cut(strand: Strand) -> Strand:
        tokens = strand.tokens.copy()
        for d in np.flatnonzero(~kept):
            tokens[strand.starts[d] : strand.starts[d + 1]] = 0
        return Strand(tokens, strand.starts)

    return ReadText(cut(text.forward), cut(text.reverse), text.documents)


def arms(text: ReadText, settings, chromosomes) -> dict:
    """Return text, settings and whether documents are left out, by the name of an arm."""
    none = np.zeros(len(text.documents), bool)
    one_strand = ReadText(text.forward, only(text, none).reverse, text.documents)
    smaller = chromosomes.index("chr17")
    return {
        "as built": (text, settings, True),
        "one strand": (one_strand, settings, True),
        "text of chr17 only": (only(text, text.documents[:, 0] == smaller), settings, True),
        "shortest contexts only": (text, replace(settings, orders=settings.orders[:1]), True),
        "longest contexts only": (text, replace(settings, orders=settings.orders[-1:]), True),
        "own documents not left out": (text, settings, False),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--test", nargs="+", required=True)
    parser.add_argument("--examples", nargs="+", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    bundle = load_bundle(options.model)
    bundle.model.copies = None
    tokenizer, encoder = bundle.tokenizer, bundle.config.encoder
    length = encoder.max_tokens
    stores = {x: TokenStore(options.corpus / f"{x}.h5") for x in ("train", "validation")}
    text, chromosomes = copying.text_of(stores["train"], tokenizer)
    bp_per_token = stores["train"].num_bp / stores["train"].num_tokens
    settings = copying.settings_of(tokenizer, bp_per_token, chromosomes)
    seed, size = options.seed, max(1, 4096 // length)

    def sample(copies, store, own_seed, tokens, *, leaves_out):
        examples = [
            PretrainExamples(store, tokenizer, length, m, own_seed) for m in copying.MASKINGS
        ]
        count = -(-tokens // length)
        return copying.evidence_of(
            bundle.model, copies, examples, count, batch_size=size, leaves_out=leaves_out
        )

    for name, (read, own, leaves_out) in arms(text, settings, list(chromosomes)).items():
        copies = Copies(own, encoder, torch.Generator().manual_seed(seed))
        copies.text = read
        train = sample(
            copies, stores["train"], 2 * seed, copying.FITTED_TOKENS, leaves_out=leaves_out
        )
        held_out = sample(
            copies, stores["validation"], 2 * seed + 1, copying.HELD_OUT_TOKENS, leaves_out=False
        )
        gates = {name: copies}
        if name == "as built":
            fixed = Copies(own, encoder, torch.Generator().manual_seed(seed))
            fixed.text = read
            nn.init.zeros_(fixed.hidden.weight)
            fixed.hidden.weight.requires_grad_(False)
            gates["a gate that reads nothing"] = fixed
        for of_arm, gate in gates.items():
            copying.fit_gate(gate, train, held_out, seed)
            for path, count in zip(options.test, options.examples, strict=True):
                examples = PretrainExamples(TokenStore(path), tokenizer, length, ALL_MASKED, seed)
                evidence = copying.evidence_of(
                    bundle.model, gate, [examples], count, batch_size=size, leaves_out=False
                )
                with torch.no_grad():
                    both = copying.nats(gate, *evidence).double().numpy()
                alone = -evidence[1].double().numpy()
                hidden = HiddenTokens(examples, count, tokenizer.piece_bp)
                sums = hidden.by_block(np.column_stack([both, both - alone, hidden.bases]))
                nats, gain, bases = sums.T
                scores = interval("bits", nats / math.log(2), bases, seed)
                scores |= interval("gain", gain / math.log(2), bases, seed)
                print(of_arm, Path(path).stem, *scores.values(), sep="\t", flush=True)


if __name__ == "__main__":
    main()
