r"""Scoring variants: rate, what it takes in addition to the model, memory at two sizes, and bfloat16's error.

    python -m benchmarks.speed variants               # a small untrained model, about three minutes
    python -m benchmarks.speed variants --model results/models/chromatin \
        --vcf results/inputs/demo/variants.vcf --fasta results/genome/genome.fa   # bfloat16 only
    python -m benchmarks.speed variants --founders 2,10,50,200    # haplotypes of 100 samples only

The ratio compares the command with its own model on ready windows: what reading, checking, cutting
and writing cost. Memory is that of the process and its children.
"""

import argparse
import contextlib
import io
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.lib import memory_tree, targets
from benchmarks.lib.timing import MIN_ROUNDS, Case, Spread, header, interleaved, ratio, spread
from benchmarks.speed.corpus import simulate
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.bundles.weights import build_model
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor
from dna_bigbird.prediction.score_variants import score_variants
from dna_bigbird.prediction.variants.effects import allele_windows
from dna_bigbird.prediction.variants.sites import VariantSites

GENOME_MBP = 10
HEADER = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


def simulate_variants(path: Path, genome: Genome, count: int, seed: int = 0) -> Path:
    """Write sorted records at random places: 8 of 10 substitutions, a deletion, an insertion."""
    rng = np.random.default_rng(seed)
    (length,) = genome.lengths.values()
    with open(path, "w") as stream:
        stream.write(HEADER)
        for start in sorted(rng.choice(length - 10, size=2 * count, replace=False)):
            ref = genome.fetch(Interval("chr1", start, start + 4))
            if "N" in ref or count == 0:
                continue
            other = "ACGT"[("ACGT".index(ref[0]) + rng.integers(1, 4)) % 4]
            draw = rng.integers(10)
            alleles = (
                (ref, ref[0]) if draw == 0 else (ref[0], ref[0] + "ACGT" if draw == 1 else other)
            )
            stream.write(f"chr1\t{start + 1}\t.\t{alleles[0]}\t{alleles[1]}\t.\t.\t.\n")
            count -= 1
    return path


def small_bundle(folder: Path, genome: Genome) -> Path:
    """Write an untrained model with 24 labels and a window of 500 bp."""
    texts = [genome.fetch(Interval("chr1", x, x + 5_000)) for x in range(300_000, 1_300_000, 5_000)]
    model = train_tokenizer([t for t in texts if "N" not in t], TokenizerConfig(vocab_size=512))
    tokenizer = DnaTokenizer.from_bytes(model)
    config = {
        "task": "chromatin",
        "encoder": {
            "vocab_size": tokenizer.vocab_size, "hidden_size": 64, "num_layers": 2, "num_heads": 2,
            "ffn_size": 256, "max_tokens": 256, "block_size": 32, "num_random": 1,
        },
        "head": {"pooling": "cls"},
        "label_names": [f"label{i}" for i in range(24)],
        "label_groups": ["TF"] * 24,
        "window_bp": 500,
        "assembly": "none",
        "semi_synthetic": False,
    }  # fmt: skip
    save_bundle(
        folder, model=build_model(config), config=config, tokenizer=tokenizer,
        metrics={"n": 0, "seed": 0, "split": "none"}, card="# untrained\n",
    )  # fmt: skip
    return folder


def windows_of(vcf: Path, genome: Genome, window_bp: int) -> Iterator[list[str]]:
    """Yield the windows of each record, as score-variants cuts them."""
    with VariantSites(vcf, genome, window_bp=window_bp).open() as (_, sites):
        for site in sites:
            v = site.variant
            forward, reverse = allele_windows(genome, v.interval, [v.ref, *v.alts], window_bp)
            yield forward + reverse


def share_of_the_model(
    vcf: Path, genome: Genome, model: Path, rounds: int
) -> tuple[Spread, Spread]:
    """Return variants a processor second, and the time of the model alone over that of all."""
    bundle = load_bundle(model)
    predictor = Predictor(bundle, compute=Compute(precision="32-true"))
    groups = list(windows_of(vcf, genome, predictor.window_bp))
    alone, whole = Case(0, "", "model on ready windows"), Case(0, "", "score-variants")

    def all_of_it() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            score_variants(vcf, genome.path, bundle, output="-")

    calls = {alone: lambda: list(predictor.logits(groups)), whole: all_of_it}
    times, _ = interleaved(calls, rounds, "cpu", clock=time.process_time)
    return spread([len(groups) / s for s in times[whole]]), ratio(times, alone, whole)


def simulate_haplotypes(path: Path, genome: Genome, founders: int, count: int = 300) -> Path:
    """Write substitutions 100 bp apart, phased, of 100 samples whose 200 haplotypes are those of some founders."""
    rng = np.random.default_rng(founders)
    frequencies = rng.beta(0.3, 1, count)
    of_founder = (rng.random((founders, count)) < frequencies).astype(int)
    pairs = rng.permutation(np.arange(200) % founders).reshape(100, 2)
    names = "\t".join(f"S{i}" for i in range(len(pairs)))
    with open(path, "w") as stream:
        stream.write(HEADER.rstrip("\n") + f"\tFORMAT\t{names}\n")
        for number in range(count):
            start = 1_000_000 + 100 * number
            ref = genome.fetch(Interval("chr1", start, start + 1))
            alt = "ACGT"[("ACGT".index(ref) + 1) % 4]
            both = of_founder[pairs, number]
            calls = "\t".join(f"{first}|{second}" for first, second in both)
            stream.write(f"chr1\t{start + 1}\t.\t{ref}\t{alt}\t.\t.\t.\tGT\t{calls}\n")
    return path


def time_of_haplotypes(folder: Path, model: Path, genome: Genome, founders: list[int]) -> list[str]:
    """Return a line for each number of founders: processor seconds, rows, distinct windows."""
    bundle = load_bundle(model)
    vcfs = {x: simulate_haplotypes(folder / f"{x}.vcf", genome, x) for x in founders}
    lines = []
    for number, vcf in vcfs.items():
        spent = []
        for _ in range(MIN_ROUNDS):
            start = time.process_time()
            scores = score_variants(vcf, genome.path, bundle, haplotypes=True)
            spent.append(time.process_time() - start)
        (note,) = (x for x in scores.notes if "distinct windows" in x)
        low, middle, high = np.quantile(spent, [0, 0.5, 1])
        lines.append(f"{number} founders: {middle:.1f} [{low:.1f}, {high:.1f}] s; {note}")
    return lines


def bfloat16_error(vcf: Path, fasta: Path, model: Path) -> list[str]:
    """Return lines on how far effects in bfloat16 are from those in float32."""
    exact, rounded = (
        score_variants(vcf, fasta, model, precision=precision)
        for precision in ("32-true", "bf16-mixed")
    )
    lines = []
    for name in ("diff", "log_odds"):
        true, other = (getattr(x, name).ravel() for x in (exact, rounded))
        error = np.sqrt(np.nanmean((other - true) ** 2))
        lines.append(
            f"{name}: root mean square error {error:.2g}, median effect {np.nanmedian(abs(true)):.2g}, "
            f"correlation {np.corrcoef(true, other)[0, 1]:.4f}, "
            f"other sign {np.mean(np.sign(true) != np.sign(other)):.1%} (n = {true.size})"
        )
    return lines


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="bundle; a small untrained one if not given")
    parser.add_argument("--vcf", type=Path, help="only the error of bfloat16, on these variants")
    parser.add_argument("--fasta", type=Path, help="their genome")
    parser.add_argument("--founders", help="only the time of 100 samples' haplotypes: 2,10,50")
    parser.add_argument("--few", type=int, default=1_000, help="variants, also of a timed round")
    parser.add_argument("--many", type=int, default=10_000, help="variants of the larger run")
    parser.add_argument("--rounds", type=int, default=MIN_ROUNDS)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """Measure everything and print a row for each figure."""
    options = parse(argv)
    print(*header("cpu"), sep="\n")
    if options.vcf:
        print(*bfloat16_error(options.vcf, options.fasta, options.model), sep="\n")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        genome = Genome(simulate(folder / "simulated.fa", GENOME_MBP))
        model = options.model or small_bundle(folder / "model", genome)
        if options.founders:
            founders = [int(x) for x in options.founders.split(",")]
            print(*time_of_haplotypes(folder, model, genome, founders), sep="\n")
            return
        few, many = (
            simulate_variants(folder / f"{count}.vcf", genome, count)
            for count in (options.few, options.many)
        )
        peaks = [
            memory_tree.peak(
                *("score-variants", "--vcf", vcf, "--fasta", genome.path, "--model", model),
                *("--output", folder / "scores.vcf.gz", "--tsv", folder / "scores.tsv"),
            )
            / 1e9
            for vcf in (few, many)
        ]
        rate, share = share_of_the_model(few, genome, model, options.rounds)
        rows = [
            targets.Target("variants a processor second", None, None, rate),
            targets.Target(
                "model on ready windows / score-variants, processor time", 0.8, 0.9, share
            ),
        ]
        for count, peak in zip((options.few, options.many), peaks, strict=True):
            text = f"GB of all processes, {count:,} variants"
            rows.append(targets.Target(text, None, None, Spread(*[peak] * 3)))
        growth = Spread(*[peaks[1] / peaks[0]] * 3)
        text = "the larger over the smaller"
        rows.append(targets.Target(text, 1.2, 1.05, growth, at_most=True))
    targets.print_targets(rows)


if __name__ == "__main__":
    main()
