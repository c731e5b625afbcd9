"""Small tasks in the format of Genomic Benchmarks, and runs of `bench` on them that take seconds."""

import gzip
from pathlib import Path

from dna_bigbird.bench.bench import BenchResult, bench
from dna_bigbird.training.label_config import LabelTrainConfig
from tests.tiny_bundle import draw_dna

TASKS = ("human_enhancers_ensembl", "human_ocr_ensembl")
"""Tasks whose rows may have any length."""
SHORT = LabelTrainConfig(
    max_steps=2, batch_size=4, validate_every=1, precision="32-true", measure_speed=False
)
MOTIF = "GGGCGGGGCC"


def write_genome(folder: Path, count: int, *, motif: str = MOTIF) -> Path:
    """Write `chr1` with 60 bases per row, a gap of 40 after each; every other row has the motif."""
    text = ""
    for number in range(count):
        bases = draw_dna(60, number)
        if number % 2:
            bases = bases[:20] + motif + bases[20 + len(motif) :]
        text += bases + draw_dna(40, 10_000 + number)
    path = folder / "made.fa"
    path.write_text(f">chr1\n{text}\n")
    return path


def write_task(
    folder: Path, name: str, *, train: range, test: range, more_test: tuple[str, ...] = ()
) -> None:
    """Write the rows at some places; those with the motif are the positives.

    Args:
        more_test: Further lines of the positive test rows.
    """
    for part, places in (("train", train), ("test", test)):
        for remainder, label in enumerate(("negative", "positive")):
            lines = [f"p{i},chr1,{100 * i},{100 * i + 60},+" for i in places if i % 2 == remainder]
            if part == "test" and label == "positive":
                lines += more_test
            path = folder / name / part / f"{label}.csv.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            table = "\n".join(["id,region,start,end,strand", *lines, ""])
            path.write_bytes(gzip.compress(table.encode(), mtime=0))


def write_suite(folder: Path) -> tuple[Path, Path]:
    """Write two tasks of 42 rows and return their folder and the genome.

    Of the test rows of the first one shares ten bases with a training row, and one is a training row on the
    other strand.
    """
    fasta = write_genome(folder, 160)
    data = folder / "data"
    write_task(
        data, TASKS[0], train=range(24), test=range(24, 40),
        more_test=("x1,chr1,150,210,+", "x2,chr1,300,360,-"),
    )  # fmt: skip
    write_task(data, TASKS[1], train=range(80, 104), test=range(120, 138))
    return data, fasta


def run_bench(data: Path, fasta: Path, model: Path, output: Path, **options) -> BenchResult:
    """Run the suite with two short trainings per task."""
    settings = {
        "seeds": 2, "training": SHORT, "replicates": 20, "threads": 1, "page": False,
        "genome": {"GRCh38": fasta},
    }  # fmt: skip
    return bench(
        "genomic-benchmarks",
        data,
        output,
        model=model,
        progress=False,
        **settings | options,
    )
