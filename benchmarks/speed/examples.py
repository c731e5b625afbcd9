"""Pretraining examples: how long they are, what an epoch leaves unread, what options of `pretrain` cost.

    python -m benchmarks.speed examples --corpus results/real-fast/corpus --genome results/real-fast/genome/genome.fa
    python -m benchmarks.speed examples --corpus results/real-bases/corpus --max_tokens 1024

No peer. The corpus is a folder of the workflow: train.h5 and the tokenizer next to it. Bases are counted on the
training regions; times are processor time per example with 30 % of the tokens hidden, the options in turn, median
of the rounds. Then BPE-dropout on windows of the training documents: tokens over those without, and time.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.lib.timing import interleaved, spread
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.piece_dropout import PieceDropout
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.site_windows import SiteWindows
from dna_bigbird.corpus.token_store import TokenStore, covering_documents
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.repeats import RepeatClasses
from dna_bigbird.training.pretrain_run import RepeatWeighted

ROUNDS, EXAMPLES, WINDOWS, WINDOW_BP = 7, 100, 20, 8000
SHARES = (0.1, 0.3)
SITES_APART_BP = 10_000


def reading(examples: PretrainExamples, tokenizer: DnaTokenizer) -> None:
    """Print the length of the examples of an epoch, and how often they read each base."""
    store = examples.store
    read = {name: np.zeros(0, np.int32) for name in store.chromosomes}
    reachable = {name: np.zeros(0, bool) for name in store.chromosomes}
    for document in range(store.num_documents):
        _add(reachable, store.document_interval(document), True)
    lengths = []
    for index in range(examples.examples_per_epoch):
        pair = examples.pair(index)
        lengths.append(0)
        for part in (pair.a, pair.b):
            bounds = store.token_bounds(part.document, tokenizer.piece_bp, part.first, part.last)
            begin = int(store.token_offsets(part.document)[part.first])
            own = bounds[part.start - begin : part.end - begin]
            chrom = store.document_interval(part.document).chrom
            _add(read, Interval(chrom, int(own.min()), int(own.max())), 1)
            lengths[-1] += int((own[:, 1] - own[:, 0]).sum())
    times = np.concatenate(
        [np.pad(read[n], (0, max(0, len(reachable[n]) - len(read[n]))))[reachable[n]] for n in read]
    )
    print(f"examples of an epoch\t{len(lengths):,}\tmean {np.mean(lengths):,.1f} bases")
    print(
        f"bases of the documents\t{len(times):,}\tread {times.mean():.2f} times (sd "
        f"{times.std() / times.mean():.0%}), {(times == 0).mean():.2%} not at all"
    )


def _add(counts: dict[str, np.ndarray], where: Interval, value: int | bool) -> None:
    """Add a value on an interval, making the array longer if it is too short."""
    row = counts[where.chrom]
    if len(row) < where.end:
        row = counts[where.chrom] = np.pad(row, (0, where.end - len(row)))
    row[where.start : where.end] += value


def timed(calls: dict[str, Callable[[int], object]], count: int) -> dict[str, float]:
    """Return the median processor milliseconds of one call of each."""
    passes = {
        name: lambda call=call: [call(index) for index in range(count)]
        for name, call in calls.items()
    }
    times, _ = interleaved(passes, ROUNDS, "cpu", clock=time.process_time)
    return {name: 1000 * spread(values).median / count for name, values in times.items()}


def ways(
    store: TokenStore, tokenizer: DnaTokenizer, max_tokens: int, genome: Path | None
) -> dict[str, Callable[[int], object]]:
    """Return how to make an example, by option."""
    masking = MaskingConfig(0.3)
    intervals = [store.document_interval(d) for d in range(store.num_documents)]
    sites = [
        Interval(p.chrom, at, at + 1)
        for p in intervals
        for at in range(p.start, p.end, SITES_APART_BP)
    ]
    around = SiteWindows(store, sites, 1.0, tokenizer.piece_bp)
    plain = PretrainExamples(store, tokenizer, max_tokens, masking, 0)
    examples_by = {
        "plain": plain,
        "spans of 30 bp": PretrainExamples(
            store, tokenizer, max_tokens, MaskingConfig(0.3, span_bp=30), 0
        ),
        "around sites": PretrainExamples(store, tokenizer, max_tokens, masking, 0, sites=around),
    }
    if genome is not None:
        classes = RepeatClasses.from_soft_mask(Genome(genome))
        examples_by["weights of repeats"] = RepeatWeighted(plain, classes, 0.1, tokenizer.piece_bp)
    return {name: examples.__getitem__ for name, examples in examples_by.items()}


def dropout(store: TokenStore, tokenizer: DnaTokenizer) -> None:
    """Print what BPE-dropout does to windows of the training documents."""
    chosen = covering_documents(store)[:WINDOWS]
    texts = [tokenizer.decode(store.document(d))[:WINDOW_BP] for d in chosen]
    usual = sum(len(tokenizer.encode(text)) for text in texts)
    windows = sum(map(len, texts)) / WINDOW_BP
    for share in SHARES:
        drop, rng = PieceDropout(tokenizer, share), np.random.default_rng(0)
        started = time.process_time()
        drawn = sum(len(drop.encode(text, rng)) for text in texts)
        elapsed_ms = 1000 * (time.process_time() - started)
        print(
            f"BPE-dropout {share:g}\t{drawn / usual:.2f} times the tokens\t"
            f"{elapsed_ms / windows:.0f} ms per {WINDOW_BP:,} bp"
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True, help="train.h5; tokenizer next to it")
    parser.add_argument("--genome", type=Path, help="for weights of repeats")
    parser.add_argument("--max_tokens", type=int, default=4096)
    options = parser.parse_args(argv)
    store = TokenStore(options.corpus / "train.h5")
    tokenizer = DnaTokenizer.from_file(options.corpus.parent / "tokenizer" / "dna_bpe.model")
    reading(PretrainExamples(store, tokenizer, options.max_tokens, MaskingConfig(), 0), tokenizer)
    examples_by = ways(store, tokenizer, options.max_tokens, options.genome)
    for name, milliseconds in timed(examples_by, EXAMPLES).items():
        print(f"example, {name}\t{milliseconds:.2f} ms")
    if tokenizer.piece_bp.max() > 1:
        dropout(store, tokenizer)


if __name__ == "__main__":
    main()
