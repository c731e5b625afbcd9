"""Promoter and chromatin models as `compare-heads` reads them: made-up scores, true to the schema."""

import json
from pathlib import Path

import numpy as np

from dna_bigbird.genome import Genome, Interval
from dna_bigbird.labelled.labelled_set import LabelledData, write_labelled_set
from tests.report.example_run import ENCODER

GROUPS = {"TF": ["CTCF", "REST", "SPI1"], "DNase": ["open"], "HM": ["H3K4me3", "H3K27ac"]}


def score(name: str, value: float, half: float = 0.02) -> dict:
    return {name: value, f"{name}_low": value - half, f"{name}_high": value + half}


def promoter_scores(value: float) -> dict:
    names = ("f1", "f1_at_half", "precision", "recall", "mcc", "auroc", "auprc")
    scores: dict = {}
    for name in names:
        scores |= score(name, value)
    return scores | {"threshold": 0.5, "n": 200, "n_positive": 100, "seed": 0, "split": "test"}


def chromatin_scores(value: float) -> dict:
    scores = score("macro_auroc", value) | score("macro_auprc", value - 0.3)
    for i, group in enumerate(GROUPS):
        scores |= score(f"median_auroc_{group}", value - i / 50)
    counts = {"n": 5000, "n_positive": 900, "n_labels": 6, "n_labels_undefined": 1}
    return scores | counts | {"seed": 0, "split": "test"}


def write_model(
    results: Path, name: str, metrics: dict, *, negatives: str = "", window_bp: int = 300, **config
) -> None:
    """Write models/NAME and evaluation/NAME."""
    bundle, evaluation = results / "models" / name, results / "evaluation" / name
    for folder in (bundle, evaluation):
        folder.mkdir(parents=True, exist_ok=True)
    labels = {"": ["promoter"]} if negatives else GROUPS
    described = {
        "format_version": 1,
        "label_names": [label for members in labels.values() for label in members],
        "task": "promoter" if negatives else "chromatin",
        "negatives": negatives,
        "window_bp": window_bp,
        "assembly": "GRCh37",
        "encoder": ENCODER,
        "head": {},
        "training": {"max_steps": 1200},
        "examples_per_step": 32,
        "initial_weights": "pretrained",
        "semi_synthetic": False,
    }
    (bundle / "config.json").write_text(json.dumps(described | config))
    (bundle / "metrics.json").write_text(json.dumps(metrics))
    rows = [
        f"{label}\t{group}\t{0 if label == 'REST' else 40}\t{'nan' if label == 'REST' else 0.8}\t0.5"
        for group, members in labels.items()
        for label in members
    ]
    header = "label\tgroup\tn_positive\tauroc\tauprc"
    (evaluation / "per_label.tsv").write_text("\n".join([header, *rows]) + "\n")
    (evaluation / "curves.tsv").write_text("label\tsource\tcurve\tx\ty\n")


def write_set(path: Path, fasta: Path, *, task: str, negatives: str = "", command: str) -> None:
    """Write a labelled set of four rows on a small genome."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not fasta.is_file():
        fasta.write_text(">chr1\n" + "ACGT" * 300 + "\n")
    names = ["promoter"] if task == "promoter" else [x for g in GROUPS.values() for x in g]
    groups = [""] if task == "promoter" else [g for g, x in GROUPS.items() for _ in x]
    labels = np.zeros((4, len(names)), np.uint8)
    labels[::2] = 1
    genome = Genome(fasta)
    data = LabelledData(
        task=task,
        window_bp=300,
        label_names=names,
        label_groups=groups,
        intervals=[Interval("chr1", 300 * i, 300 * i + 300) for i in range(4)],
        names=[""] * 4,
        labels=labels,
        split=np.array([0, 0, 1, 2], np.uint8),
        negatives=negatives,
    )
    write_labelled_set(path, data, genome, assembly="GRCh37", command=command, inputs={})


def write_table6(results: Path, fasta: Path) -> list[str]:
    """Write two models on one random-base set and one on a permuted set; return the options."""
    sets = {"random": "random_base", "permuted": "permuted"}
    for i, (name, negatives) in enumerate(sets.items()):
        path = results / "heads" / name / "set.h5"
        command = f"promoter-set --negatives {negatives} --split.folds 5 --split.fold {i}"
        write_set(path, fasta, task="promoter", negatives=negatives, command=command)
        path.with_name("leakage.tsv").write_text("row\tsplit\n")
    values = {"random": 0.93, "random_scratch": 0.90, "permuted": 0.60}
    for name, value in values.items():
        kmer = promoter_scores(0.92 if "random" in name else 0.56)
        metrics = promoter_scores(value) | score("auroc_gain_over_kmer", 0.03, 0.01)
        negatives = sets[name.split("_")[0]]
        metrics["baselines"] = {"kmer": kmer, "gc": promoter_scores(0.5)}
        write_model(results, f"heads/{name}", metrics, negatives=negatives)
    data = [results / "heads" / name.split("_")[0] / "set.h5" for name in values]
    return _options(results, [f"heads/{name}" for name in values], data)


def write_table7(results: Path, fasta: Path) -> list[str]:
    """Write two chromatin models on one set; return the options."""
    path = results / "chromatin" / "set.h5"
    command = "chromatin-set --split.test '[\"chr8\"]'"
    write_set(path, fasta, task="chromatin", command=command)
    for name, value in {"chromatin": 0.80, "heads/two": 0.86}.items():
        metrics = chromatin_scores(value)
        metrics["baselines"] = {"kmer": chromatin_scores(0.81), "deepsea": chromatin_scores(0.7)}
        write_model(results, name, metrics, window_bp=1000)
    return _options(results, ["chromatin", "heads/two"], [path, path])


def _options(results: Path, runs: list[str], data: list[Path]) -> list[str]:
    paths = json.dumps([str(path) for path in data])
    return ["--results", str(results), "--runs", json.dumps(runs), "--data", paths]
