"""What it costs to verify token stores, labelled sets and checkpoints, next to reading them.

    python -m benchmarks.speed verifying               # about two minutes, 2 GB of disk
    python -m benchmarks.speed verifying --gb 0.1      # seconds

Processor seconds, with the files in the page cache: a disk slower than that adds its own time, which
reading alone needs too.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.lib.targets import Target, print_targets
from benchmarks.lib.timing import MIN_ROUNDS, Case, Spread, header, interleaved, ratio, spread
from dna_bigbird.core.hdf5 import _blocks, open_hdf5
from dna_bigbird.corpus.token_store import DATASETS, STORE, TokenStore
from dna_bigbird.corpus.token_store_writer import Appender, Part
from dna_bigbird.genome import Genome
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.labelled_data import LabelledData, PackedLabels, write_labelled_set
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.training.checkpoint_files import read_checkpoint, save_checkpoint

WHOLE_GENOME_GB = 7.4
"""A store of GRCh37, ten passes: docs/explanation/documents-and-tokens.md."""
LIMIT_S = 60
DOCUMENTS, SENTENCES, TOKENS = 64, 75, 85
"""In one part: documents, sentences of each, tokens of each sentence."""
LABELS = 919


def simulate_store(path: Path, gb: float) -> Path:
    """Write a token store of random numbers, in the layout and the proportions of a real one."""
    rng = np.random.default_rng(0)
    sentences = DOCUMENTS * SENTENCES
    with STORE.create(path) as store:
        out = Appender(store)
        while out.tokens_done * 2 + out.sentences_done * 24 < gb * 1e9:
            out.append_part(
                Part(
                    rng.integers(0, 32_000, sentences * TOKENS).astype(np.uint16),
                    np.full(sentences, TOKENS),
                    rng.integers(0, 2**28, (sentences, 2)),
                    np.full(DOCUMENTS, SENTENCES),
                    rng.integers(0, 2**28, (DOCUMENTS, 2)),
                    np.full(DOCUMENTS, "chr1"),
                    np.ones(DOCUMENTS, np.int8),
                )
            )
        store.describe({"chromosomes": '["chr1"]', "vocab_size": 32_000})
        store.file.attrs.update({"assembly": "none", "tokenizer_sha256": "0", "checksum": "0"})
    return path


def read_store(path: Path) -> None:
    """Read what verifying reads, in the same blocks."""
    with open_hdf5(path, "") as file:
        for name in DATASETS:
            for rows in _blocks(file[name]):
                file[name][rows]


def simulate_set(folder: Path, gb: float) -> Path:
    """Write a labelled set whose labels take `gb` unpacked, about 2 % of them positive."""
    (folder / "g.fa").write_text(">chr1\n" + "ACGT" * 300 + "\n")
    count = max(100, int(gb * 1e9 / (-(-LABELS // 8))))
    rng, packed = np.random.default_rng(0), []
    for start in range(0, count, 65_536):
        rows = min(65_536, count - start)
        packed.append(PackedLabels.of(rng.random((rows, LABELS), np.float32) < 0.02))
    data = LabelledData(
        task="chromatin",
        window_bp=1000,
        label_names=["x"] * LABELS,
        label_groups=["g"] * LABELS,
        intervals=Windows(("chr1",), np.zeros(count, int), rng.integers(0, 200, count), 1000),
        names=[],
        labels=PackedLabels.joined(packed, LABELS),
        split=rng.integers(0, 3, count),
    )
    path = folder / "set.h5"
    write_labelled_set(path, data, Genome(folder / "g.fa"), assembly="", command="", inputs={})
    return path


def simulate_checkpoint(path: Path, gb: float) -> Path:
    """Write a checkpoint of random numbers with the number of tensors of the base model."""
    each = max(1, int(gb * 1e9 / 4 / 200))
    weights = {f"w{i}": torch.rand(each) for i in range(200)}
    save_checkpoint({"state_dict": weights}, path)
    return path


def compare(name: str, size_gb: float, verify, read, rounds: int) -> tuple[Spread, list[Target]]:
    """Return the seconds per GB of verifying, and the rows of the table."""
    verified, plain = Case(0, "", f"{name}, verified"), Case(0, "", f"{name}, only read")
    times, failed = interleaved(
        {verified: verify, plain: read}, rounds, "cpu", clock=time.process_time
    )
    if failed:
        raise RuntimeError(str(failed))
    per_gb = spread([s / size_gb for s in times[verified]])
    only_read = spread([s / size_gb for s in times[plain]])
    return per_gb, [
        Target(f"{name}: processor seconds per GB, verified", None, None, per_gb),
        Target(f"{name}: processor seconds per GB, only read", None, None, only_read),
        Target(f"{name}: verified / only read", None, None, ratio(times, verified, plain)),
    ]


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gb", type=float, default=1, help="size of each simulated file")
    parser.add_argument("--rounds", type=int, default=MIN_ROUNDS)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """Measure the three formats and print a row for each figure."""
    options = parse(argv)
    torch.set_num_threads(1)
    print(*header("cpu"), sep="\n")
    gb, rounds = options.gb, options.rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = simulate_store(folder / "store.h5", gb)
        store = TokenStore(path)
        size = path.stat().st_size / 1e9
        per_gb, rows = compare("token store", size, store.verify, lambda: read_store(path), rounds)
        whole = Spread(*(s * WHOLE_GENOME_GB for s in per_gb))
        text = f"token store of {WHOLE_GENOME_GB} GB, verified: seconds, estimated"
        rows.append(Target(text, LIMIT_S, None, whole, at_most=True))
        path.unlink()
        labelled = simulate_set(folder, gb / 4)
        rows += compare(
            "labels of a set, unpacked",
            gb / 4,
            lambda: LabelledSet(labelled).packed_labels,
            lambda: LabelledSet(labelled, verify=False).packed_labels,
            rounds,
        )[1]
        state = simulate_checkpoint(folder / "c.ckpt", gb)
        rows += compare(
            "checkpoint",
            state.stat().st_size / 1e9,
            lambda: read_checkpoint(state),
            lambda: torch.load(state, map_location="cpu", weights_only=True),
            rounds,
        )[1]
    print_targets(rows)


if __name__ == "__main__":
    main()
