"""Counts of tokens with the copies of a model, in the place of its network, on held-out regions.

    python experiments/2026-11-copies/counts_and_copies.py --model BUNDLE --corpus results/NAME/corpus \
        --test a.h5 b.h5 c.h5 --examples 40 75 16

The counts are those of the training store, so the gate cannot be fitted there: it is fitted on validation examples.
[MASK] at all hidden tokens; intervals are over blocks of 10 kb, paired.
"""

import argparse
import math
from pathlib import Path

import numpy as np
import torch

from dna_bigbird.baselines.token_mixture import BLOCK_TOKENS, TokenMixtureMasked
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.evaluation.evaluate_lm_parts import HiddenTokens
from dna_bigbird.metrics.language import interval
from dna_bigbird.models.copies import Copied, Copies, Evidence
from dna_bigbird.training import copying

FITTED, CHOSEN = 60, 15
"""Validation examples, of seeds 7 and 8, that the gate is fitted and chosen on."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--test", nargs="+", required=True)
    parser.add_argument("--examples", nargs="+", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    bundle = load_bundle(options.model)
    model, tokenizer = bundle.model, bundle.tokenizer
    own, model.copies = model.copies, None
    counts = TokenMixtureMasked(pieces=tokenizer.pieces)
    counts.fit(TokenStore(options.corpus / "train.h5"), None)
    encoder = bundle.config.encoder
    copies = Copies(own.config, encoder, torch.Generator().manual_seed(0))
    copies.text = own.text

    def examples_of(path, seed: int) -> PretrainExamples:
        return PretrainExamples(
            TokenStore(path), tokenizer, encoder.max_tokens, copying.MASKINGS[1], seed
        )

    def sample(examples: PretrainExamples, count: int) -> copying.Sample:
        parts = []
        for example in map(examples.__getitem__, range(count)):
            positions = example["positions"]
            shown = counts.shown(example["token_ids"], tokenizer.mask_id)
            blocks = [
                counts._distribution(counts._block(shown, positions[k : k + BLOCK_TOKENS]))
                for k in range(0, len(positions), BLOCK_TOKENS)
            ]
            log_p_PV = torch.from_numpy(np.log(np.maximum(np.concatenate(blocks), 1e-12))).float()
            ids_1T = torch.from_numpy(example["token_ids"])[None]
            labels_P = torch.from_numpy(example["labels"])
            positions_P = torch.from_numpy(positions)
            copied = copies.copied(ids_1T, positions_P)
            evidence = copies.evidence(log_p_PV, ids_1T, positions_P, copied)
            log_p_P = log_p_PV.log_softmax(-1).gather(1, labels_P[:, None])[:, 0]
            right_PK = copied.ids_PK == labels_P[:, None]
            parts.append((*copied, evidence.inputs_PW, log_p_P, right_PK))
        ids, scores, inputs, log_p, right = (torch.cat(x) for x in zip(*parts, strict=True))
        return Evidence(Copied(ids, scores), inputs), log_p, right

    validation = options.corpus / "validation.h5"
    fitted, chosen = (sample(examples_of(validation, s), n) for s, n in ((7, FITTED), (8, CHOSEN)))
    copying.fit_gate(copies, fitted, chosen, 0)
    for path, count in zip(options.test, options.examples, strict=True):
        examples = examples_of(path, 0)
        of_counts = sample(examples, count)
        of_model = copying.evidence_of(
            model, own, [examples], count, batch_size=1, leaves_out=False
        )
        with torch.no_grad():
            both = copying.nats(own, *of_model).double().numpy()
            instead = copying.nats(copies, *of_counts).double().numpy()
        hidden = HiddenTokens(examples, count, tokenizer.piece_bp)
        values = np.column_stack(
            [both, instead, -of_counts[1].numpy(), both - instead, hidden.bases]
        )
        *sums, bases = hidden.by_block(values).T
        names = ("network and copies", "counts and copies", "counts", "difference")
        for name, nats in zip(names, sums, strict=True):
            scores = interval("bits", nats / math.log(2), bases, 0)
            print(Path(path).stem, name, *scores.values(), sep="\t", flush=True)


if __name__ == "__main__":
    main()
