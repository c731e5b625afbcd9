"""Vocabularies that cut both strands at the same places, next to plain byte-pair encoding.

    python experiments/2026-11-tokenizer/symmetric_tokens.py --picture docs/images/symmetric_tokens.png   # about two minutes

Learned from hg19 chr22 up to 19.5 Mb, measured on sequences of 1,000 bases at 19.7-20.0 Mb (the
sample data's piece; validation in tests/real/pretraining.yaml). A boundary between two tokens is shared if the
tokens of the reverse complement have it, too; the ends of a sequence do not count.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dna_bigbird.core.figures.style import GREY, KMER, MODEL, new_figure, save, style
from dna_bigbird.corpus.symmetric_vocabulary import (
    FIRST_PIECE_ID,
    alternate_strands,
    closed_pieces,
    vocabulary_file,
)
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome import Genome, reverse_complement
from dna_bigbird.genome.alphabet import BASES
from dna_bigbird.genome.interval import parse_region

SIZES = [64, 128, 256, 512, 1024, 2048, 4096, 8192]
TRAINING_BP, MEASURED_BP = 750, 1000
ROUNDS = 5
PLAIN, MERGES, SYMMETRIC = "bpe", "closed, merges", "symmetric_bpe"
COLUMNS = (
    "| algorithm | entries | closed | shared boundaries | shared tokens | bases per token | "
    "bits per base | Mtokens/s |\n|---|---|---|---|---|---|---|---|"
)


def sequences(genome: Genome, region: str, length: int) -> list[str]:
    """Return the sequences of a length that tile a region; those that are mostly N are left out."""
    whole = genome.fetch(parse_region(region))
    pieces = [whole[i : i + length] for i in range(0, len(whole) - length + 1, length)]
    return [piece for piece in pieces if 2 * piece.count("N") < length]


def learn(algorithm: str, size: int, training: Sequence[str]) -> DnaTokenizer:
    """Return a vocabulary of a size."""
    if algorithm != MERGES:
        config = TokenizerConfig(algorithm=algorithm, vocab_size=size)
        return DnaTokenizer.from_bytes(train_tokenizer(training, config))
    config = TokenizerConfig(vocab_size=size)
    proposed = train_tokenizer(alternate_strands(training), config)
    pieces = DnaTokenizer.from_bytes(proposed).pieces[FIRST_PIECE_ID:]
    scores: dict[str, float] = {}
    for piece in closed_pieces(pieces, size - FIRST_PIECE_ID - len(BASES), config.max_piece_bp):
        score = scores.get(reverse_complement(piece), -float(len(scores)))
        scores[piece] = score
    scores |= dict.fromkeys(BASES, -float(len(scores)))
    return DnaTokenizer.from_bytes(vocabulary_file(scores))


def shared(tokenizer: DnaTokenizer, texts: Sequence[str]) -> tuple[float, float]:
    """Return the share of boundaries, and of tokens, that both strands have."""
    boundaries, tokens = np.zeros(2), np.zeros(2)
    for text in texts:
        spans = tokenizer.spans(tokenizer.encode(text))
        other = len(text) - tokenizer.spans(tokenizer.encode(reverse_complement(text)))[::-1, ::-1]
        for counts, here, there in (
            (boundaries, spans[1:, :1], other[1:, :1]),
            (tokens, spans, other),
        ):
            a, b = set(map(tuple, here.tolist())), set(map(tuple, there.tolist()))
            counts += 2 * len(a & b), len(a) + len(b)
    return boundaries[0] / boundaries[1], tokens[0] / tokens[1]


def bits_per_base(tokenizer: DnaTokenizer, training: Sequence[str], texts: Sequence[str]) -> float:
    """Return what the texts cost under the token frequencies of the training text."""
    counts = np.bincount(tokenizer.encode_flat(training)[0], minlength=tokenizer.vocab_size) + 0.5
    counts[:FIRST_PIECE_ID] = 0
    shares = counts[FIRST_PIECE_ID:] / counts.sum()
    ids, _ = tokenizer.encode_flat(texts)
    return float(-np.log2(shares[ids - FIRST_PIECE_ID]).sum() / sum(map(len, texts)))


def rate(encode: Callable[[], object], tokens: int) -> float:
    """Return million tokens per processor second, the median of some rounds."""
    times = []
    for _ in range(ROUNDS + 1):
        started_at = time.process_time()
        encode()
        times.append(time.process_time() - started_at)
    return tokens / float(np.median(times[1:])) / 1e6


def measure(
    algorithm: str, size: int, training: Sequence[str], texts: Sequence[str]
) -> tuple[float, float, str]:
    """Return bases per token, the share of boundaries, and the row of the table."""
    tokenizer = learn(algorithm, size, training)
    pieces = set(tokenizer.pieces[FIRST_PIECE_ID:])
    closed = np.mean([reverse_complement(piece) in pieces for piece in pieces])
    boundaries, tokens = shared(tokenizer, texts)
    count = len(tokenizer.encode_flat(texts)[0])
    bp_per_token = sum(map(len, texts)) / count
    row = (
        f"| {algorithm} | {size:,} | {closed:.1%} | {boundaries:.2%} | {tokens:.2%} | "
        f"{bp_per_token:.2f} | {bits_per_base(tokenizer, training, texts):.3f} | "
        f"{rate(lambda: tokenizer.encode_flat(texts), count):.1f} |"
    )
    return bp_per_token, boundaries, row


def picture(curves: dict[str, list[tuple[float, float]]]) -> bytes:
    """Draw the curves: shared boundaries against bases per token, one point per size."""
    looks = {SYMMETRIC: (MODEL, "-", "o"), MERGES: (GREY, "--", "s"), PLAIN: (KMER, ":", "^")}
    names = {
        SYMMETRIC: "symmetric_bpe (highest sum of scores)",
        MERGES: "the same pieces, joined in order",
        PLAIN: "bpe",
    }
    with style():
        figure = new_figure(5.6, 3.4)
        axes = figure.add_subplot()
        for name, points in curves.items():
            colour, line, marker = looks[name]
            x, y = zip(*points, strict=True)
            axes.plot(
                x, y, color=colour, linestyle=line, marker=marker, markersize=4, label=names[name]
            )
        axes.set_ylim(0, 1.03)
        axes.set_xlabel(f"bases per token ({min(SIZES):,} to {max(SIZES):,} entries)")
        axes.set_ylabel("boundaries shared by both strands")
        axes.set_title("Where both strands are cut, held-out hg19")
        axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.52))
    return save(figure, "png")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--fasta",
        type=Path,
        default=Path("../shared/data/genome/hg19_chr22_1-21000000.fa.gz"),
        help="genome",
    )
    parser.add_argument(
        "--train", default="chr22:16,050,001-19,500,000", help="region to learn from"
    )
    parser.add_argument(
        "--held_out", default="chr22:19,700,001-20,000,000", help="region to measure"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="entries")
    parser.add_argument("--picture", type=Path, help="PNG to write")
    options = parser.parse_args()
    genome = Genome(options.fasta)
    training = sequences(genome, options.train, TRAINING_BP)
    texts = sequences(genome, options.held_out, MEASURED_BP)
    print(f"learned from {sum(map(len, training)):,} bp, measured on {sum(map(len, texts)):,} bp\n")
    print(COLUMNS)
    curves: dict[str, list[tuple[float, float]]] = {}
    for algorithm in (PLAIN, MERGES, SYMMETRIC):
        for size in options.sizes:
            *point, row = measure(algorithm, size, training, texts)
            curves.setdefault(algorithm, []).append(tuple(point))
            print(row, flush=True)
    if options.picture:
        options.picture.write_bytes(picture(curves))


if __name__ == "__main__":
    main()
