"""What background is worth in a set from three peak files: k-mers with and without it.

    python experiments/2026-11-background-sets/background.py --data ../shared/data   # a few seconds

Real ENCODE peaks of CTCF in three cell lines on hg19 chr22 (up to 21 Mb). One set has only bins with a
peak, the other one also three bins without a peak per such bin. Printed is the macro AUROC of test rows.
"""

import argparse
import gzip
import tempfile
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from dna_bigbird.baselines.config import KmerConfig
from dna_bigbird.baselines.kmer_baseline import fitted_kmers
from dna_bigbird.cli.main import main as dna_bigbird
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.metrics.binary import auroc

CELLS = ("GM12878", "HeLa-S3", "K562")
SPLIT = ("--split.test=[chr22:19500001-20000000]", "--split.validation=[chr22:20000001-20500000]")


def prepare(data: Path, folder: Path) -> None:
    """Write the genome, three peak files and their sheet."""
    fasta = data / "genome" / "hg19_chr22_1-21000000.fa.gz"
    (folder / "chr22.fa").write_bytes(gzip.decompress(fasta.read_bytes()))
    with gzip.open(data / "chromatin" / "encode_ctcf_rad21_hg19_chr17_chr22.bed.gz", "rt") as text:
        peaks = [line for line in text if line.startswith("chr22\t")]
    rows = ["label\tgroup\tcell\tpath"]
    for cell in CELLS:
        own = [line for line in peaks if line.split()[3] == f"{cell}_CTCF_None"]
        (folder / f"{cell}.bed").write_text("".join(own))
        rows.append(f"{cell}\tTF\t{cell}\t{cell}.bed")
    (folder / "sheet.tsv").write_text("\n".join(rows) + "\n")


def build(folder: Path, name: str, *options: str) -> LabelledSet:
    """Make a set with windows of 1,000 bp."""
    output = folder / f"{name}.h5"
    files = [f"--genome={folder / 'chr22.fa'}", f"--peaks={folder / 'sheet.tsv'}"]
    words = [f"--output={output}", "--assembly=hg19", "--pieces", "--window=1000"]
    dna_bigbird(["chromatin-set", *files, *words, *SPLIT, *options])
    return LabelledSet(output, Genome(folder / "chr22.fa"))


def scores(model, labelled: LabelledSet) -> tuple[float, int]:
    """Return the macro AUROC of the test rows of a set, and their number."""
    rows = labelled.rows("test")
    values = model.predict(model.features(labelled.sequence(int(i)) for i in rows))
    labels = labelled.labels_of(rows)
    areas = [auroc(labels[:, i], values[:, i]) for i in range(labels.shape[1])]
    return float(np.mean(areas)), len(rows)


def main(argv: list[str] | None = None) -> None:
    """Print a row per training set and set of test rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the sample data")
    data = parser.parse_args(argv).data
    with tempfile.TemporaryDirectory() as name, threadpool_limits(1):
        folder = Path(name)
        prepare(data, folder)
        sets = {
            "peaks alone": build(folder, "alone", "--require_group=TF"),
            "with background": build(folder, "background"),
        }
        models = {name: fitted_kmers(labelled, KmerConfig())[0] for name, labelled in sets.items()}
        print("training rows\ttest rows\tmacro AUROC\tn")
        for trained, model in models.items():
            for tested, labelled in sets.items():
                area, n = scores(model, labelled)
                print(f"{trained}\t{tested}\t{area:.3f}\t{n}")


if __name__ == "__main__":
    main()
