"""Documents, tokens and training batches, on a simulated genome: rates, ratios, memory.

    python -m benchmarks.speed corpus               # about four minutes
    python -m benchmarks.speed corpus --no_memory   # about two

Rates a core count processor seconds; what involves several processes is timed by the clock on the
wall and wants a machine with two free processors.
"""

import argparse
import itertools
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

from benchmarks.lib import memory_tree, targets
from benchmarks.lib.timing import MIN_ROUNDS, Case, Spread, header, interleaved, ratio, spread
from dna_bigbird.corpus import token_store_writer
from dna_bigbird.corpus.document_file import genome_lines, iter_document_file, write_documents
from dna_bigbird.corpus.documents import DocumentConfig, draw_documents, find_stretches
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome import Genome
from dna_bigbird.training.data_modules import pretraining_data

LINE_BP, BATCH, TOKENS = 60, 4, 4096
WARM_PARTS = 4
"""Not counted: two workers may start one after the other, and these are begun before either."""


def simulate(path: Path, mbp: float, seed: int = 0) -> Path:
    """Write one chromosome of random bases: half in lower case, a fiftieth in gaps of N."""
    rng = np.random.default_rng(seed)
    lines = max(1, int(mbp * 1e6) // LINE_BP)
    letters = np.frombuffer(b"ACGTacgt", dtype=np.uint8)
    with open(path, "wb") as stream:
        stream.write(b">chr1\n")
        for first in range(0, lines, 50_000):
            count = min(50_000, lines - first)
            rows = np.full((count, LINE_BP + 1), ord("\n"), dtype=np.uint8)
            rows[:, :LINE_BP] = letters[rng.integers(0, 8, size=(count, LINE_BP))]
            rows[: count // 50, :LINE_BP] = ord("N")
            stream.write(rows.tobytes())
    return path


def document_rates(genome: Genome, output: Path, rounds: int) -> Spread:
    """Return Mbp of genome per processor second: gaps found, documents drawn, checksum, all written."""

    def make() -> None:
        stretches = find_stretches(genome, [], [], DocumentConfig())
        lines = genome_lines(genome, genome.lengths)
        write_documents(output, draw_documents(stretches, DocumentConfig(), seed=0), lines)

    case = Case(0, "", "documents")
    times, _ = interleaved({case: make}, rounds, "cpu", clock=time.process_time)
    total_mbp = sum(genome.lengths.values()) / 1e6
    return spread([total_mbp / s for s in times[case]])


def against_sentencepiece(corpus: SimpleNamespace, rounds: int) -> Spread:
    """Return the time of SentencePiece alone over that of making a store from the same text.

    SentencePiece gets the normalised sentences as a list, already in memory.
    """
    texts = [text for document in corpus.some for text in document.texts(corpus.genome)]
    processor = corpus.tokenizer._processor
    alone, ours = Case(0, "", "SentencePiece alone"), Case(0, "", "token store")
    calls = {
        alone: lambda: processor.encode(texts, num_threads=1),
        ours: lambda: token_store_writer.write_token_store(
            corpus.folder / "some.h5", corpus.some, corpus.genome, corpus.tokenizer
        ),
    }
    times, _ = interleaved(calls, rounds, "cpu", clock=time.process_time)
    return ratio(times, alone, ours)


def parts_per_second(corpus: SimpleNamespace, workers: int) -> float:
    """Return how fast parts become ready, once all workers are at work."""
    stamps: list[float] = []
    usual = token_store_writer.iter_parts

    def stamped(*arguments):
        for part in usual(*arguments):
            stamps.append(time.perf_counter())
            yield part

    token_store_writer.iter_parts = stamped
    try:
        token_store_writer.write_token_store(
            corpus.folder / "parts.h5",
            corpus.many,
            corpus.genome,
            corpus.tokenizer,
            workers=workers,
        )
    finally:
        token_store_writer.iter_parts = usual
    return (len(stamps) - WARM_PARTS) / (stamps[-1] - stamps[WARM_PARTS - 1])


def two_workers_over_one(corpus: SimpleNamespace, rounds: int) -> Spread:
    """Return how much faster two workers make parts than this process alone."""
    return spread(
        [parts_per_second(corpus, 2) / parts_per_second(corpus, 1) for _ in range(rounds)]
    )


def loader_rates(corpus: SimpleNamespace, rounds: int, batches: int) -> Spread:
    """Return million tokens a second received from one data worker."""
    store = TokenStore(corpus.folder / "parts.h5")
    examples = PretrainExamples(store, corpus.tokenizer, TOKENS, MaskingConfig(), seed=0)
    data = pretraining_data(
        examples, examples, batch_size=BATCH, validation_examples=BATCH, workers=1
    )
    data.trainer = SimpleNamespace(global_step=0, world_size=1, global_rank=0)
    stream = iter(data.train_dataloader())
    rates = []
    for _ in range(rounds + 1):  # the first warms up
        started_at = time.perf_counter()
        tokens = sum(int((~b.is_padding_BT).sum()) for b in itertools.islice(stream, batches))
        rates.append(tokens / (time.perf_counter() - started_at) / 1e6)
    return spread(rates[1:])


def tree_peak_gb(folder: Path, mbp: float, model: Path) -> dict[str, float]:
    """Return the peak memory of `documents`, and of `tokenize` with two workers (one pass)."""
    fasta = simulate(folder / f"simulated_{mbp:g}.fa", mbp)
    documents, once = folder / "all.bed.gz", folder / "once.bed.gz"
    peaks = {
        "documents": memory_tree.peak("documents", "--genome", fasta, "--output", documents),
    }
    memory_tree.peak("documents", "--genome", fasta, "--output", once, "--documents.passes", 1)
    peaks["tokenize, 2 workers"] = memory_tree.peak(
        *("tokenize", "--genome", fasta, "--documents", once, "--tokenizer", model),
        *("--output", folder / "tree.h5", "--workers", 2),
    )
    fasta.unlink()
    return {name: num_bytes / 1e9 for name, num_bytes in peaks.items()}


def memory_rows(corpus: SimpleNamespace, sizes_mbp: tuple[float, float]) -> list[targets.Target]:
    """Return the rows about memory at both sizes of the genome."""
    small, large = (tree_peak_gb(corpus.folder, mbp, corpus.model) for mbp in sizes_mbp)
    rows = []
    for name in small:
        for mbp, peaks in zip(sizes_mbp, (small, large), strict=True):
            text = f"GB of all processes, {name}, {mbp:g} Mbp genome"
            rows.append(targets.Target(text, 1.5, 0.8, Spread(*[peaks[name]] * 3), at_most=True))
        growth = Spread(*[large[name] / small[name]] * 3)
        rows.append(targets.Target(f"the larger over the smaller, {name}", None, None, growth))
    return rows


def prepare(folder: Path, options: argparse.Namespace) -> SimpleNamespace:
    """Make the genome, its documents, a vocabulary learnt from some of them, and their subsets."""
    genome = Genome(simulate(folder / "simulated.fa", options.mbp))
    stretches = find_stretches(genome, [], [], DocumentConfig())
    write_documents(folder / "d.bed.gz", draw_documents(stretches, DocumentConfig(), seed=0))
    documents = list(iter_document_file(folder / "d.bed.gz"))
    texts = (text for document in documents[::10] for text in document.texts(genome))
    config = TokenizerConfig(vocab_size=options.vocab_size)
    model = train_tokenizer(itertools.islice(texts, options.learn_sentences), config)
    (folder / "bpe.model").write_bytes(model)
    return SimpleNamespace(
        folder=folder,
        genome=genome,
        model=folder / "bpe.model",
        tokenizer=DnaTokenizer.from_bytes(model),
        some=documents[: 2 * token_store_writer.DOCUMENTS_PER_PART],
        many=documents[: options.parts * token_store_writer.DOCUMENTS_PER_PART],
    )


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mbp", type=float, default=30, help="size of the simulated genome")
    parser.add_argument("--large_mbp", type=float, default=300, help="the same, for memory only")
    parser.add_argument("--no_memory", action="store_true", help="leave out the peak memory")
    parser.add_argument("--vocab_size", type=int, default=32000)
    parser.add_argument("--learn_sentences", type=int, default=20_000)
    parser.add_argument("--documents_per_part", type=int, default=16)
    parser.add_argument("--parts", type=int, default=18)
    parser.add_argument("--batches", type=int, default=100, help="in one round")
    parser.add_argument("--rounds", type=int, default=MIN_ROUNDS)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """Measure everything and print a row for each figure."""
    options = parse(argv)
    torch.set_num_threads(1)
    print(*header("cpu"), sep="\n")
    token_store_writer.DOCUMENTS_PER_PART = options.documents_per_part
    with tempfile.TemporaryDirectory() as name:
        corpus = prepare(Path(name), options)
        rounds, row = options.rounds, targets.Target
        documents = document_rates(corpus.genome, corpus.folder / "d.bed.gz", rounds)
        alone = against_sentencepiece(corpus, rounds)
        two = two_workers_over_one(corpus, rounds)
        loader = loader_rates(corpus, rounds, options.batches)
        rows = [
            row("documents, Mbp of genome a processor second", 50, 200, documents),
            row("SentencePiece alone / token store, processor time", 0.8, 0.95, alone),
            row("tokenizing, two workers / one", 1.8, 1.95, two),
            row("M tokens/s from one data worker", 1, 3, loader),
        ]
        if not options.no_memory:
            rows += memory_rows(corpus, (options.mbp, options.large_mbp))
    targets.print_targets(rows)


if __name__ == "__main__":
    main()
