"""Counts by position for a promoter model trained without them, as `finetune --words.by_position true` adds them.

    PYTHONPATH=. python experiments/2026-11-no-tata/add_counts.py --model bundled-tata --output results/with-counts

Builds the labelled set of config/bundled-promoter.yaml; the weights of network and counts are chosen on its validation
rows. `python -m tools.bundled --bundle results/with-counts --ship` scores the result and makes it the bundled one.
"""

import argparse
from dataclasses import asdict
from pathlib import Path

import torch
import yaml

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.card import model_card
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.models.kmer_config import KmerHeadConfig
from dna_bigbird.models.kmer_head import bases_of_pieces
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.kmer_counts import fit_kmer_head
from dna_bigbird.training.label_training import objective_for, tokenized_splits
from tools import bundled


def main() -> None:
    """Write the model with counts, and print the scores on validation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=bundled.CHECKOUT.parent / "shared" / "data")
    parser.add_argument("--work", type=Path, default=bundled.CHECKOUT / "results/bundled-scores")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    genome, _ = bundled.build_set(
        yaml.safe_load(bundled.RECIPE.read_text()), asked.data, asked.work
    )
    labelled = LabelledSet(asked.work / "set.h5", Genome(genome))
    bundle = load_bundle(asked.model)
    training = TrainConfig(
        max_steps=1,
        validate_every=1,
        both_strands=False,
        positive_weight=bundle.config.training.positive_weight,
    )
    splits = tokenized_splits(
        labelled, bundle.tokenizer, training, max_tokens=bundle.config.encoder.max_tokens, seed=0
    )
    kept, scores = fit_kmer_head(
        bundle.model,
        KmerHeadConfig(max_k=0, together=False, positions=labelled.window_bp),
        bases_of_pieces(bundle.tokenizer.pieces, bundle.tokenizer.piece_bp),
        *splits,
        objective_for(labelled, training),
        labelled.label_type,
        precision=torch.float32,
    )
    print(scores)
    config = bundle.config.with_values(words=asdict(kept))
    save_bundle(
        asked.output,
        model=bundle.model,
        config=config,
        tokenizer=bundle.tokenizer,
        metrics=bundle.metrics,
        card=model_card(config, bundle.metrics),
        sequences_read=bundle.sequences_read,
    )


if __name__ == "__main__":
    main()
