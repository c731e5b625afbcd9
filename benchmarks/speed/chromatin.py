"""`chromatin-set` on simulated peaks of a whole genome: time, memory, rows.

    python -m benchmarks.speed chromatin                       # 919 files, GRCh37's lengths
    python -m benchmarks.speed chromatin --labels 20 --scale 0.01

Simulated are a FASTA of the given share of GRCh37 (random bases, a tenth of each chromosome N at
its beginning; 3.1 GB) with its index, and narrowPeak files, gzipped, with ten columns. Four peaks
of five lie at shared places, some in demand a hundred times as much as others, as transcription
factors do; the others lie anywhere. Making them is not measured. Processor time is that of the
command alone, so other work on the machine matters little to it.
"""

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dna_bigbird.genome.sources.assemblies import expected_lengths
from dna_bigbird.labelled.labelled_set import LabelledSet

LINE_BP = 60
GROUPS = (("DHS", 125, 200), ("TF", 690, 250), ("HM", 104, 1500))
"""Name, number in the published set, typical width of a peak."""
LIMIT_MINUTES, LIMIT_GB = 30, 4


def write_genome(path: Path, scale: float, seed: int = 0) -> dict[str, int]:
    """Write a FASTA with GRCh37's chromosomes, each `scale` as long, and its index."""
    rng = np.random.default_rng(seed)
    bases = np.frombuffer(b"ACGTacgt", dtype=np.uint8)
    lengths = {chrom: int(n * scale) for chrom, n in expected_lengths("GRCh37").items()}
    with open(path, "wb") as fasta, open(f"{path}.fai", "w") as index:
        for chrom, length in lengths.items():
            fasta.write(f">{chrom}\n".encode())
            index.write(f"{chrom}\t{length}\t{fasta.tell()}\t{LINE_BP}\t{LINE_BP + 1}\n")
            for first in range(0, length, LINE_BP * 100_000):
                size = min(length - first, LINE_BP * 100_000)
                letters = bases[np.frombuffer(rng.bytes(size), np.uint8) & 7]
                letters[: max(0, length // 10 - first)] = ord("N")
                lines = np.full((-(-size // LINE_BP), LINE_BP + 1), ord("\n"), dtype=np.uint8)
                whole = size // LINE_BP
                lines[:whole, :LINE_BP] = letters[: whole * LINE_BP].reshape(whole, LINE_BP)
                fasta.write(lines[:whole].tobytes())
                if whole * LINE_BP < size:
                    fasta.write(letters[whole * LINE_BP :].tobytes() + b"\n")
    return lengths


def write_peaks(
    folder: Path, lengths: dict[str, int], labels: int, per_file: tuple[int, int], seed: int = 1
) -> Path:
    """Write one narrowPeak file a label, and the sheet that names them."""
    rng = np.random.default_rng(seed)
    chroms, sizes = list(lengths), np.array(list(lengths.values()))
    ends = np.cumsum(sizes)
    positions = rng.integers(0, ends[-1], max(1, int(ends[-1] // 1500)))
    demand = np.cumsum(100 ** rng.random(len(positions)))
    groups = [x for group, count, width in GROUPS for x in [(group, width)] * count]
    rows = ["label\tgroup\tcell\tpath"]
    for i in range(labels):
        group, width = groups[i * len(groups) // labels]
        count = int(rng.integers(per_file[0], per_file[1] + 1))
        shared = positions[np.searchsorted(demand, rng.random(count) * demand[-1] * (1 - 1e-9))]
        centre = np.where(rng.random(count) < 0.8, shared, rng.integers(0, ends[-1], count))
        chrom = np.searchsorted(ends, centre, side="right")
        widths = np.minimum(rng.lognormal(np.log(width), 0.5, count).astype(int) + 20, sizes.min())
        start = centre - (ends - sizes)[chrom] + rng.integers(-40, 41, count) - widths // 2
        start = np.clip(start, 0, sizes[chrom] - widths)
        order = np.lexsort((start, chrom))
        text = "".join(
            f"{chroms[c]}\t{s}\t{s + w}\t.\t{w % 1000}\t.\t{w / 7:.4f}\t-1\t4.2136\t{w // 2}\n"
            for c, s, w in zip(*(x[order].tolist() for x in (chrom, start, widths)), strict=True)
        )
        name = f"{i:03}.narrowPeak.gz"
        (folder / name).write_bytes(gzip.compress(text.encode(), compresslevel=1))
        rows.append(f"label{i}\t{group}\tcell{i % 90}\t{name}")
    (folder / "sheet.tsv").write_text("\n".join(rows) + "\n")
    return folder / "sheet.tsv"


def run(arguments: list[str]) -> tuple[float, float, float]:
    """Run dna-bigbird; return minutes on the clock, processor minutes, peak memory in GB.

    Raises:
        subprocess.CalledProcessError: If it fails.
    """
    started_at = time.perf_counter()
    with subprocess.Popen([sys.executable, "-m", "dna_bigbird", *arguments]) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    clock = time.perf_counter() - started_at
    return clock / 60, (used.ru_utime + used.ru_stime) / 60, used.ru_maxrss * 1024 / 1e9


def main(argv: list[str] | None = None) -> None:
    """Simulate, measure, and print a row for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, default=919)
    parser.add_argument("--peaks", type=int, nargs=2, default=(30_000, 60_000), help="in a file")
    parser.add_argument("--scale", type=float, default=1.0, help="share of GRCh37's lengths")
    parser.add_argument("--window", type=int, default=8000)
    parser.add_argument("--folder", type=Path, help="for 5 GB of files; deleted afterwards")
    options = parser.parse_args(argv)
    folder = Path(tempfile.mkdtemp(prefix="chromatin-", dir=options.folder))
    try:
        lengths = write_genome(folder / "genome.fa", options.scale)
        sheet = write_peaks(folder, lengths, options.labels, tuple(options.peaks))
        output = folder / "set.h5"
        clock, processor, memory = run(
            [
                "chromatin-set",
                f"--genome={folder / 'genome.fa'}",
                f"--peaks={sheet}",
                f"--output={output}",
                f"--window={options.window}",
                "--assembly=simulated",
                "--split.validation=[chr7]",
                "--split.test=[chr8,chr9]",
                "--allow_empty_labels=true",
            ]
        )
        data = LabelledSet(output)
        print(f"labels\t{options.labels}")
        print(f"genome, Gb\t{sum(lengths.values()) / 1e9:.3f}")
        print(f"peaks read\t{data.counts['peaks_read']}")
        print(f"bins with a label\t{data.counts['bins_with_a_label']}")
        print(f"rows\t{len(data)}")
        print(f"minutes on the clock (limit {LIMIT_MINUTES})\t{clock:.2f}")
        print(f"processor minutes\t{processor:.2f}")
        print(f"peak memory, GB (limit {LIMIT_GB})\t{memory:.2f}")
        print(f"size of the set, GB\t{output.stat().st_size / 1e9:.3f}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
