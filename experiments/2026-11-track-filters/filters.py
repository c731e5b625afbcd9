"""What the filters of a model of tracks begin with: noise, words of the signal, or half of each.

    python experiments/2026-11-track-filters/filters.py --data ../shared/data --folder results/track-filters

Fits k-mers around the bins of the tracks of config/own-tracks.yaml once for each of `FITS`, as `finetune` does before
its training, then filters from each beginning. Prints validation correlations; reads no test row.
"""

import argparse
import copy
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

import dna_bigbird
from dna_bigbird.core.limits import use_threads
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.splits import SplitConfig
from dna_bigbird.labelled.tokenized import RowsOnTheFly
from dna_bigbird.metrics.regression import regression_scores
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EVERY_BIN, HeadConfig
from dna_bigbird.models.encoder_changes import SMALL
from dna_bigbird.models.kmer_config import KmerHeadConfig
from dna_bigbird.models.kmer_head import bases_of_pieces
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training import bin_kmers
from dna_bigbird.training.label_training import objective_for

GENOME = "genome/hg19_chr22_1-21000000.fa.gz"
TRACKS = {"CTCF": "ctcf", "H3K4me3": "h3k4me3", "MYC": "myc"}
FITS = ((128, 100, 0), (128, 100, 1), (32, 148, 0), (32, 148, 1))
"""Bases of a bin, reach of a filter in bases, seed."""
BEGINNINGS = {"noise": 0, "words": bin_kmers.FILTERS, "half words": bin_kmers.FILTERS // 2}
"""How many filters begin with words."""


class EachBeginning(bin_kmers.BinFit):
    """Fits the k-mers once, then filters from each beginning."""

    def run(self) -> float:
        """Print the correlations; return 0."""
        self._keep_best(self._kmer_passes())
        self.report("k-mers alone")
        fitted, words = copy.deepcopy(self.part.state_dict()), bin_kmers.words_with_signal
        for name, number in BEGINNINGS.items():
            self.part.load_state_dict(fitted)
            self.generator.manual_seed(self.generator.initial_seed())
            with patch.object(
                bin_kmers,
                "words_with_signal",
                lambda codes, signal, _, n=number: words(codes, signal, n),
            ):
                self._begin_with_words()
            self._keep_best(self._filter_passes())
            self.report(name)
        return 0.0

    @torch.no_grad()
    def report(self, name: str) -> None:
        """Print the mean of the tracks and each track."""
        matched = torch.cat([self.part.matched(x) for x in self.held_codes.split(64)])
        logits = self._of_kmers(self.held_shares) + self.part.matches(matched)
        values = self.objective.predictions(logits).numpy()
        each = []
        for track in range(values.shape[-1]):
            known = ~np.isnan(self.held[..., track])
            truth, predicted = self.held[known, track], values[known, track]
            each.append(regression_scores(truth, predicted)["pearson"][0])
        print(f"  {name}: {np.mean(each):.3f};", *(f"{x:.3f}" for x in each), flush=True)


def fit(
    folder: Path, genome: Path, tracks: list[str], bin_bp: int, reach_bp: int, seed: int
) -> None:
    """Make the set unless it is there, and fit."""
    output = folder / f"bins{bin_bp}.h5"
    if not output.exists():
        split = SplitConfig(["chr22:19,000,001-19,500,000"], ["chr22:19,500,001-20,000,000"])
        settings = {"bin": bin_bp, "window": 4096, "crop": 1024, "transform": "log1p"}
        dna_bigbird.track_set(
            genome, tracks, output, "GRCh37", split=split, pieces=True, **settings
        )
    labelled = LabelledSet(output, Genome(genome))
    tokenizer = DnaTokenizer(train_tokenizer([], TokenizerConfig(algorithm="bases")))
    rows = bin_kmers.rows_by_signal(labelled), labelled.rows("validation")
    most = labelled.window_bp + 2
    train, validation = (RowsOnTheFly(labelled, x, tokenizer, max_tokens=most) for x in rows)
    kmers = KmerHeadConfig(
        4,
        around_bp=bin_kmers.AROUND_BP,
        bin_bp=bin_bp,
        crop_bp=labelled.crop_bp,
        hidden=bin_kmers.HIDDEN,
        filters=bin_kmers.FILTERS,
        reach_bp=reach_bp,
    )
    encoder = replace(SMALL, vocab_size=tokenizer.vocab_size)
    head = HeadConfig(pooling=EVERY_BIN, bin_bp=bin_bp, crop_bp=labelled.crop_bp)
    print(f"bins of {bin_bp} bp, reach {reach_bp} bp, seed {seed}", flush=True)
    with patch.object(bin_kmers, "BinFit", EachBeginning):
        bin_kmers.fit_bin_kmers(
            SequenceClassifier(encoder, len(TRACKS), head),
            kmers,
            bases_of_pieces(tokenizer.pieces, tokenizer.piece_bp),
            train,
            validation,
            objective_for(labelled, TrainConfig(), "mse_log"),
            num_rows=len(labelled.rows("train")),
            seed=seed,
        )


def main() -> None:
    """Fit all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    use_threads(1)
    files = "tracks/{}_hela_hg19_chr22_16000001-21000000.bedGraph.gz"
    tracks = [f"{name}={options.data / files.format(x)}" for name, x in TRACKS.items()]
    for each in FITS:
        fit(options.folder, options.data / GENOME, tracks, *each)


if __name__ == "__main__":
    main()
