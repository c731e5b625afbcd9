"""Bits per base of the count mixtures on a held-out stretch: causal alone, given training, two-sided.

    python experiments/2026-11-count-mixtures/counts.py --fasta ../shared/data/genome/hg19_chr17_1-1000000.fa.gz \\
        ../shared/data/genome/hg19_chr22_1-21000000.fa.gz

Splits are those of tests/real/heads_pieces.yaml; `--test chr22:20,000,001-20,500,000` scores its validation
region instead. Bases of both regions are not counted. Intervals (95 %) are bootstraps over pieces of
10,000 bases. `base_ngram` is the causal 12-gram of the older tables on the same bases.
"""

import argparse
import time

import numpy as np

from dna_bigbird.baselines.base_mixture import BaseMixtureCausal
from dna_bigbird.baselines.base_ngram import BaseNgramCausal
from dna_bigbird.baselines.base_two_sided import APART_BP, BaseMixtureTwoSided
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.interval import parse_region
from dna_bigbird.metrics.language import interval

PIECE_BP, DOCUMENT_BP = 10_000, 20_000
COLUMNS = "predictor\tbits_per_base\tlow\thigh\tn_bases\tprocessor_s"


def training(genomes: list[Genome], excluded: list[Interval]) -> list[str]:
    """Return documents of all bases outside some regions."""
    documents = []
    for genome in genomes:
        for chrom, length in genome.lengths.items():
            edges = sorted((e.start, e.end) for e in excluded if e.chrom == chrom)
            starts = [0, *(end for _, end in edges)]
            for start, end in zip(starts, [*(start for start, _ in edges), length], strict=True):
                for at in range(start, end, DOCUMENT_BP):
                    text = genome.fetch(Interval(chrom, at, min(end, at + DOCUMENT_BP)))
                    if set(text.upper()) != {"N"}:
                        documents.append(text.upper())
    return documents


def row(name: str, nats: np.ndarray, positions: np.ndarray, seconds: float) -> None:
    """Print one line; N (NaN) is left out."""
    known = np.isfinite(nats)
    piece = positions[known] // PIECE_BP
    bits, bases = np.bincount(piece, nats[known] / np.log(2)), np.bincount(piece)
    value, low, high = interval("bits", bits[bases > 0], bases[bases > 0], seed=0).values()
    print(f"{name}\t{value:.4f}\t{low:.4f}\t{high:.4f}\t{known.sum()}\t{seconds:.0f}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Print a line per predictor."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fasta", nargs="+", required=True)
    parser.add_argument("--test", default="chr22:19,500,001-20,000,000")
    parser.add_argument("--not_counted", nargs="*", default=["chr22:20,000,001-20,500,000"])
    options = parser.parse_args(arguments)
    genomes = [Genome(path) for path in options.fasta]
    test = parse_region(options.test)
    excluded = {
        test,
        parse_region("chr22:19,500,001-20,000,000"),
        *map(parse_region, options.not_counted),
    }
    genome = next(g for g in genomes if test.chrom in g.lengths)
    text, documents = genome.fetch(test).upper(), training(genomes, list(excluded))
    everywhere = np.arange(len(text))
    apart = np.arange(APART_BP // 2, len(text), 7)
    cases = {
        "base_ngram_causal": lambda: BaseNgramCausal().fit_sequences(documents).nll(text),
        "base_mixture_causal, alone": lambda: BaseMixtureCausal().nll([text])[0],
        "base_mixture_causal, given training": lambda: (
            BaseMixtureCausal().fit_sequences(documents).nll([text])[0]
        ),
    }
    print(
        f"# {test}, {sum(map(len, documents)) - sum(d.count('N') for d in documents):,} bases counted"
    )
    print(COLUMNS)
    for name, nats_of in cases.items():
        started = time.process_time()
        nats = nats_of()
        row(name, nats, everywhere, time.process_time() - started)
    started = time.process_time()
    mixture = BaseMixtureTwoSided().fit_sequences(documents)
    nats = mixture.nll([text], [apart])[0]
    row("base_mixture_one_hidden, every 7th base", nats, apart, time.process_time() - started)


if __name__ == "__main__":
    main()
