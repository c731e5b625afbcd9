"""Seconds of the five commands of docs/tutorials/your-peaks.md, each a process, and the scores of the model.

    python -m tools.own_peaks --data ../shared/data --output results/own-peaks-timed

The commands are read from the page. `--data` is the folder with the real chr22 and its peaks, which get
the page's names in `--output`. Standard output gets Markdown tables.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/tutorials/your-peaks.md"
FILES = {
    "chr22.fa.gz": "genome/hg19_chr22_1-21000000.fa.gz",
    "tfbs.bed.gz": "chromatin/encode_tfbs_clustered_hg19_chr22_1-21000000.bed.gz",
    "ctcf.bed.gz": "chromatin/encode_ctcf_rad21_hg19_chr17_chr22.bed.gz",
    "h3k4me3.broadPeak.gz": "chromatin/encode_h3k4me3_hela_hg19_chr22_1-21000000.broadPeak.gz",
}
"""The page's names of the real files."""
SCORES = ("macro_auroc", "macro_auprc")


def commands(page: Path = PAGE) -> list[str]:
    """Return the shell lines of the page's first section, those of the five commands."""
    section = page.read_text().split("\n## ")[1]
    blocks = re.findall(r"^```sh\n(.*?)^```", section, flags=re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith(("dna-bigbird ", "printf "))]


def copy_files(data: Path, folder: Path) -> None:
    """Copy the real files to the page's names."""
    for name, source in FILES.items():
        shutil.copyfile(data / source, folder / name)


def time_commands(folder: Path) -> list[tuple[str, float, float]]:
    """Run the commands in a folder; return the name, seconds and processor seconds of each."""
    program = f"{sys.executable} -m dna_bigbird "
    rows = []
    for line in commands():
        before, started_at = os.times(), time.perf_counter()
        command = re.sub("^dna-bigbird ", program, line)
        subprocess.run(["bash", "-c", command], cwd=folder, check=True)
        elapsed_s, after = time.perf_counter() - started_at, os.times()
        used_s = after.children_user + after.children_system
        used_s -= before.children_user + before.children_system
        if line.startswith("dna-bigbird "):
            rows.append((line.split()[1], elapsed_s, used_s))
    return rows


def score_rows(metrics: dict) -> list[str]:
    """Return a Markdown row for the model and for each baseline."""
    rows = []
    for name, values in {"model": metrics, **metrics["baselines"]}.items():
        cells = [
            f"{values[key]:.3f} [{values[key + '_low']:.3f}, {values[key + '_high']:.3f}]"
            for key in SCORES
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return rows


def main() -> None:
    """Copy the files, run the commands, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--output", type=Path, required=True, help="new folder")
    asked = parser.parse_args()
    asked.output.mkdir(parents=True)
    copy_files(asked.data, asked.output)
    rows = time_commands(asked.output)
    print("| command | seconds | processor seconds |\n|---|---|---|")
    for name, elapsed_s, used_s in rows:
        print(f"| `{name}` | {elapsed_s:.0f} | {used_s:.0f} |")
    print(f"| all | {sum(x[1] for x in rows):.0f} | {sum(x[2] for x in rows):.0f} |\n")
    metrics = json.loads((asked.output / "scored" / "metrics.json").read_text())
    print(f"| n = {metrics['n']:,} | {' | '.join(SCORES)} |\n|---|---|---|")
    print("\n".join(score_rows(metrics)))


if __name__ == "__main__":
    main()
