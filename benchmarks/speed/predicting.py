"""Time predicting labels for long windows, ours and the library's model with the same weights.

    python -m benchmarks.speed predicting --threads 2                  # both models
    python -m benchmarks.speed predicting --threads 2 --sizes small    # the demo's model: minutes
    python -m benchmarks.speed predicting --streaming                  # memory of the command instead

From text to probabilities, the mean over both strands: tokenizing, batches, model. `ours` is
`prediction.predictor.Predictor` as `dna-bigbird predict` uses it, `hf` the library as its
documentation drives it: its tokenizer, batches in the order of the input, padded to the longest,
`torch.inference_mode`. `hf-strip` lacks the library's probability tensors, which nothing reads (see
peers.py). The token ids must be equal and the logits of single windows agree before anything is
timed; the library's pattern follows the padded width, so in a batch its own scores move a little.

Windows are real hg19 (the piece in the package), the vocabulary is learnt from it, weights are
random. A variant is MODEL/DTYPE; bfloat16 is autocast over float32 weights in ours, and weights of
that type in the library's, which autocast stops.
"""

import argparse
import functools
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from benchmarks.lib import memory, memory_tree
from benchmarks.lib.options import add_common, add_cpu_time, lengths, names, start
from benchmarks.lib.timing import Case, header, interleaved, load, ratio, spread
from benchmarks.speed.finetuning import MODELS, SIZES, library_twin
from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.huggingface.huggingface_writing import tokenizer_json
from dna_bigbird.bundles.metrics import Metrics
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.bundles.weights import build_model
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome import reverse_complement
from dna_bigbird.genome.embedded_sequence import GAP, load_background
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor

MODE = "predict"
VOCABULARY = {"small": 512, "base": 8192}
"""Pieces; the paper's 32,000 cannot be learnt from one megabase."""
WINDOWS = {"small": 16, "base": 4}
PRECISIONS = {"float32": "32-true", "bfloat16": "bf16-mixed"}
VARIANTS = ("ours/float32", "ours/bfloat16", "hf/float32", "hf/bfloat16", "hf-strip/float32")
TOLERANCE = 1e-4
"""Largest difference of two logits, in standard deviations of all of them."""

Score = Callable[[], np.ndarray]


def windows_of(bp: int, count: int) -> list[str]:
    """Return windows from the embedded piece of hg19, without its gap, ends overlapping at most."""
    bases = load_background()
    bases = bases[: GAP[0]] + bases[GAP[1] :]
    starts = np.linspace(0, len(bases) - bp, count).astype(int)
    return [bases[first : first + bp] for first in starts]


@functools.cache
def bundle_of(size: str, labels: int) -> Bundle:
    """Return a bundle of this size with random weights."""
    bases = load_background()
    vocabulary = VOCABULARY[size]
    tokenizer = DnaTokenizer.from_bytes(
        train_tokenizer([bases], TokenizerConfig(vocab_size=vocabulary, max_piece_bp=12))
    )
    config = {
        "task": "chromatin",
        "encoder": asdict(replace(SIZES[size], vocab_size=vocabulary)),
        "head": asdict(HeadConfig()),
        "label_names": [f"label{i}" for i in range(labels)],
        "label_groups": ["none"] * labels,
        "window_bp": 8000,
        "assembly": "none",
        "semi_synthetic": True,
    }
    return Bundle(
        build_model(config).eval(),
        BundleConfig.from_json(config),
        tokenizer,
        Metrics.from_json({}),
        Path("none"),
    )


class Library:
    """The library's tokenizer and classifier."""

    def __init__(self, bundle: Bundle, dtype: str, batch_size: int, *, stripped: bool) -> None:
        from transformers import PreTrainedTokenizerFast

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "tokenizer.json")
            path.write_bytes(tokenizer_json(bundle.tokenizer))
            self.tokenizer = PreTrainedTokenizerFast(
                tokenizer_file=str(path), pad_token=bundle.tokenizer.names["pad"]
            )
        config = replace(SIZES["small"], **bundle.config["encoder"])
        self.model: nn.Module = library_twin(bundle.model, config, stripped=stripped).eval()
        if dtype == "bfloat16":
            self.model.bfloat16()
        self.batch_size = batch_size

    @torch.inference_mode()
    def logits(self, texts: list[str]) -> torch.Tensor:
        """Return the logits of texts in their order."""
        parts = []
        for first in range(0, len(texts), self.batch_size):
            some = texts[first : first + self.batch_size]
            inputs = self.tokenizer(
                some, padding=True, return_tensors="pt", return_token_type_ids=False
            )
            parts.append(self.model(**inputs).logits.float())
        return torch.cat(parts)

    def probabilities(self, texts: list[str]) -> np.ndarray:
        """Return the mean over both strands."""
        strands = (texts, [reverse_complement(text) for text in texts])
        return torch.stack([self.logits(x).sigmoid() for x in strands]).mean(dim=0).numpy()


def score_of(variant: str, size: str, bp: int, options: argparse.Namespace) -> Score:
    """Return what scores all windows."""
    name, dtype = variant.split("/")
    bundle = bundle_of(size, options.labels)
    texts = windows_of(bp, options.windows or WINDOWS[size])
    if name == "ours":
        compute = Compute(precision=PRECISIONS[dtype], workers=options.workers)
        model = Predictor(bundle, compute=compute)
    else:
        model = Library(bundle, dtype, options.batch, stripped=name == "hf-strip")
    return lambda: model.probabilities(texts)


def made_in_a_child(case: Case, size: str, options: argparse.Namespace) -> Score:
    """Return the call whose memory is measured."""
    return score_of(case.name, size, case.tokens, options)


def check(size: str, bp: int, options: argparse.Namespace) -> tuple[float, float]:
    """Return the largest difference of the logits of single windows, and base pairs per token.

    Raises:
        SystemExit: If ours and the library's are not the same tokens and the same model.
    """
    bundle = bundle_of(size, options.labels)
    theirs = Library(bundle, "float32", 1, stripped=False)
    texts = windows_of(bp, 2)
    tokens = 0
    for text in texts:
        ids = theirs.tokenizer(text)["input_ids"][1:-1]
        tokens += len(ids)
        if ids != bundle.tokenizer.encode(text).tolist():
            raise SystemExit("the tokenizers cut the same window into different tokens")
    expected = theirs.logits(texts).numpy()
    ours = Predictor(bundle, compute=Compute(precision="32-true"))
    measured = np.concatenate(list(ours.logits([texts])))
    difference = float(np.abs(measured - expected).max() / expected.std())
    if not difference <= TOLERANCE:
        raise SystemExit(f"the models compute different things: logits differ by {difference:.2g}")
    return difference, len(texts) * bp / tokens


def run(size: str, bp: int, options: argparse.Namespace) -> None:
    """Check, time, measure and print one model at one window."""
    difference, bp_per_token = check(size, bp, options)
    count = options.windows or WINDOWS[size]
    calls = {Case(bp, MODE, v): score_of(v, size, bp, options) for v in options.variants}
    clock = time.process_time if options.cpu_time else time.perf_counter
    times, failed = interleaved(calls, options.rounds, "cpu", clock=clock)
    peaks = {}
    if not options.no_memory:
        make = functools.partial(made_in_a_child, size=size, options=options)
        peaks = memory.peaks(make, times, "cpu")
    print(
        f"# {size}, windows of {bp} bp (about {bp / bp_per_token:.0f} tokens of {bp_per_token:.2f} "
        f"bp), {count} of them; logits differ by at most {difference:.1g} standard deviations",
        flush=True,
    )
    for case in times:
        median_s = spread(times[case]).median
        peak = peaks.get(case, "-")
        megabytes = f"{peak / 1e6:.0f}" if isinstance(peak, int) else peak
        cells = [case.name, f"{median_s:.4g}", f"{count / median_s:.4g}", megabytes]
        for peer in PEERS:
            speedup = ratio(times, case._replace(name=peer), case)
            cells.append("-" if speedup is None or peer == case.name else str(speedup))
        print(size, bp, *cells, sep="\t", flush=True)
    for case, why in failed.items():
        print(size, bp, case.name, f"not run: {why}", sep="\t")


PEERS = ("hf/float32", "hf/bfloat16", "hf-strip/float32")


def streaming(options: argparse.Namespace) -> None:
    """Print the memory of the whole command, with its processes, as inputs grow."""
    print("input", "windows", "peak_MB", "seconds", sep="\t")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle = bundle_of("small", 1)
        encoder = bundle.config["encoder"] | {"hidden_size": 32, "num_layers": 1, "num_heads": 2}
        config = bundle.config | {"encoder": encoder | {"ffn_size": 32}, "window_bp": 1000}
        save_bundle(
            folder / "tiny",
            model=build_model(config),
            config=config,
            tokenizer=bundle.tokenizer,
            metrics={"n": 0, "seed": 0, "split": "none"},
            card="# tiny\n",
        )
        for label, records, bp in options.inputs:
            fasta = folder / "input.fa"
            with open(fasta, "w") as stream:
                stream.writelines(_fasta(records, bp))
            started_at = time.perf_counter()
            peak = memory_tree.peak(
                "predict", "--fasta", fasta, "--model", folder / "tiny",
                "--output", folder / "out.tsv", "--workers", options.workers,
            )  # fmt: skip
            elapsed_s = time.perf_counter() - started_at
            with open(folder / "out.tsv") as stream:
                rows = sum(1 for _ in stream) - 1
            print(label, rows, f"{peak / 1e6:.0f}", f"{elapsed_s:.0f}", sep="\t", flush=True)


INPUTS = (
    ("10,000 sequences of 300 bp", 10_000, 300),
    ("100,000 sequences of 300 bp", 100_000, 300),
    ("one record of 5 Mbp", 1, 5_000_000),
    ("one record of 50 Mbp", 1, 50_000_000),
)


def _fasta(records: int, bp: int) -> Iterator[str]:
    """Yield FASTA of random DNA, lines of at most 100 kb."""
    rng = np.random.default_rng(0)
    for number in range(records):
        yield f">r{number}\n"
        for first in range(0, bp, 100_000):
            letters = rng.integers(0, 4, min(100_000, bp - first), dtype=np.uint8)
            yield np.frombuffer(b"ACGT", dtype=np.uint8)[letters].tobytes().decode() + "\n"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    variants = tuple(f"{m}/{d}" for m in MODELS for d in PRECISIONS)
    parser.add_argument("--sizes", type=names(tuple(SIZES)), default=tuple(SIZES))
    parser.add_argument("--bp", type=lengths, default=(8000,), help="windows, in base pairs")
    parser.add_argument("--windows", type=int, default=0, help="0: 16, of the base model 4")
    parser.add_argument("--batch", type=int, default=8, help="windows in a batch of the library's")
    parser.add_argument("--variants", type=names(variants), default=VARIANTS)
    parser.add_argument("--labels", type=int, default=919)
    parser.add_argument("--workers", type=int, default=0, help="processes of ours that score")
    parser.add_argument("--no_memory", action="store_true", help="leave out the peak memory")
    parser.add_argument("--streaming", action="store_true", help="only the memory of the command")
    add_cpu_time(parser)
    add_common(parser, only_cpu=True)
    options = parser.parse_args(arguments)
    options.inputs = INPUTS
    start(parser, options)
    return options


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    options = parse(arguments)
    print("\n".join(header("cpu")))
    if options.streaming:
        streaming(options)
        return
    print(
        f"# {'processor' if options.cpu_time else 'clock'} time; {options.labels} labels; median "
        f"[lowest, highest] of {options.rounds} interleaved rounds; both strands of each window; "
        "peak memory is what scoring adds to a process that holds the model"
    )
    ratios = (f"{peer} / this" for peer in PEERS)
    print("model", "bp", "name", "seconds", "windows_per_s", "peak_MB", *ratios, sep="\t")
    for size in options.sizes:
        for bp in options.bp:
            run(size, bp, options)
    print(f"# load after the run {load()}")


if __name__ == "__main__":
    main()
