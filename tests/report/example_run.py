"""Writes a results folder that looks like a finished run: made-up numbers, true to every schema.

Also a command, to look at the report while working on it:

    python tests/report/example_run.py FOLDER
    dna-bigbird report --results FOLDER/results --config_file FOLDER/config.yaml --output x.html \
        --truth_promoters FOLDER/promoters.bed --truth_peaks FOLDER/peaks.tsv
"""

import gzip
import json
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from dna_bigbird.metrics.curves import curve_rows, write_curves

LABELS = {
    "TF": ["CTCF", "REST", "GATA1", "SPI1", "NRF1", "YY1", "MYC-MAX", "CEBPB", "E2F1", "p300<&>"],
    "DNase": ["DNase like", "open $cell$ chromatin"],
    "HM": ["H3K4me3 like", "H3K27ac like", "H3K27me3 like"],
}
CHROM, START, END = "demo22", 800_000, 1_000_000


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_weights(path: Path, count: int) -> None:
    """Write the header of a safetensors file with so many float32 numbers, and no numbers."""
    header = json.dumps(
        {"w": {"dtype": "F32", "shape": [count], "data_offsets": [0, 4 * count]}}
    ).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)


def write_example(
    folder: Path, *, semi_synthetic: bool = True, strength: float = 1.4, kmer: float = 0.8
) -> Path:
    """Write a run below `folder` and return its results folder.

    Args:
        strength, kmer: How well the model and the k-mer baseline tell positives; the larger wins.
    """
    rng = np.random.default_rng(7)
    results = folder / "results"
    write_pretrained(results, semi_synthetic, rng)
    truth, peaks = write_truth(folder, rng)
    write_head(results, "promoter", {"": ["promoter"]}, semi_synthetic, strength, kmer, rng)
    write_head(results, "chromatin", LABELS, semi_synthetic, strength, kmer, rng)
    write_predictions(results, truth, peaks, rng)
    write_variants(results, semi_synthetic, np.random.default_rng(8))
    write_corpus(results, rng)
    write_benchmarks(results, rng)
    write_text(
        folder / "config.yaml",
        "# the demo\nname: demo\nseed: 11\nresults: results\nmodel:\n  hidden_size: 128\n"
        "splits:\n  validation: ['demo22:700,001-800,000']\n  test: ['demo22:800,001-1,000,000']\n"
        "pretrain:\n  max_steps: 400\n  note: '<b>not markup</b> & so on'\nkmer:\n  seed: 3\n",
    )
    return results


ENCODER = {
    "vocab_size": 2000,
    "hidden_size": 128,
    "num_layers": 4,
    "num_heads": 4,
    "ffn_size": 512,
    "max_tokens": 512,
    "block_size": 32,
    "num_random": 3,
}


def model_config(task: str, semi_synthetic: bool, **more: object) -> dict:
    return {
        "format_version": 1,
        "dna_bigbird_version": "0.1.0",
        "task": task,
        "encoder": ENCODER,
        "assembly": "demo22 (semi-synthetic, hg19 chr22:20,000,001-21,000,000)"
        if semi_synthetic
        else "GRCh37",
        "semi_synthetic": semi_synthetic,
        "training": {"max_steps": 400, "batch_size": 32},
        "examples_per_step": 32,
        "chosen_step": 350,
        "seed": 11,
        **more,
    }


def history(rng: np.random.Generator, curves: dict[tuple[str, str], tuple[float, float]]) -> str:
    lines = ["step\tsplit\tname\tvalue"]
    for (split, name), (first, last) in curves.items():
        for step in range(10 if split == "train" else 50, 401, 10 if split == "train" else 50):
            value = (
                last + (first - last) * np.exp(-step / 90) + rng.normal() * abs(first - last) / 60
            )
            lines.append(f"{step}\t{split}\t{name}\t{value:.6g}")
    return "\n".join(lines) + "\n"


def write_pretrained(results: Path, semi_synthetic: bool, rng: np.random.Generator) -> None:
    bundle = results / "models" / "pretrained"
    baselines = {
        name: {
            "bits_per_base_masked": bits,
            "bits_per_base_masked_low": bits - 0.006,
            "bits_per_base_masked_high": bits + 0.006,
            "bits_per_base_all_masked": bits + 0.1,
            "model_minus_baseline_masked": 1.921345 - bits,
            "model_minus_baseline_masked_low": 1.921345 - bits - 0.007,
            "model_minus_baseline_masked_high": 1.921345 - bits + 0.007,
        }
        for name, bits in (
            ("token_unigram_masked", 1.951207),
            ("token_unigram_informed_masked", 1.902341),
            ("token_bigram_informed_masked", 1.893117),
        )
    } | {
        "token_ngram_causal": {"bits_per_base_causal": 1.947755, "n_bp": 100_000},
        "base_ngram_causal": {"bits_per_base_causal": 1.918121, "n_bp": 100_000},
    }
    metrics = {
        "bits_per_base_masked": 1.921345,
        "bits_per_base_masked_low": 1.913333,
        "bits_per_base_masked_high": 1.929999,
        "mlm_accuracy": 0.034567,
        "nsp_accuracy": 0.541,
        "nsp_accuracy_low": 0.481,
        "nsp_accuracy_high": 0.602,
        "bits_per_base_all_masked": 2.021345,
        "n_examples": 256,
        "n_masked_tokens": 15_360,
        "n_masked_bp": 74_112,
        "step": 350,
        "seed": 11,
        "split": "test",
        "baselines": baselines,
    }
    write_json(bundle / "metrics.json", metrics)
    write_json(bundle / "config.json", model_config("pretraining", semi_synthetic))
    write_weights(bundle / "model.safetensors", 1_234_567)
    described = {n: {"description": f"how {n} counts", **b} for n, b in baselines.items()}
    write_json(
        results / "evaluation" / "pretrained" / "lm.json", metrics | {"baselines": described}
    )
    curves = {
        ("train", "loss"): (7.7, 6.9),
        ("train", "bits_per_base_masked"): (2.25, 1.91),
        ("validation", "loss"): (7.6, 7.0),
        ("validation", "bits_per_base_masked"): (2.2, 1.92),
    }
    write_text(results / "trained" / "pretrained" / "history.tsv", history(rng, curves))


def write_head(
    results: Path,
    name: str,
    labels: dict[str, list[str]],
    semi_synthetic: bool,
    strength: float,
    kmer: float,
    rng: np.random.Generator,
) -> None:
    names = [label for group in labels.values() for label in group]
    groups = [group for group, members in labels.items() for _ in members]
    single = len(names) == 1
    rows = 300 if single else 900
    share = 0.5 if single else np.linspace(0.02, 0.2, len(names))
    truth = (rng.random((rows, len(names))) < share).astype(int)
    if not single:
        truth[:, 1] = 0  # REST has no positive
    scores = {
        source: truth * signal * rng.uniform(0.6, 1.3, len(names)) + rng.normal(size=truth.shape)
        for source, signal in (("model", strength), ("kmer", kmer))
    }
    table = ["label\tgroup\tn_positive\tauroc\tauprc\tkmer_auroc\tkmer_auprc"]
    areas: dict[str, list[float]] = {"model": [], "kmer": []}
    for i, label in enumerate(names):
        cells = []
        for source, values in scores.items():
            defined = 0 < truth[:, i].sum() < rows
            pair = (
                (roc_auc_score(truth[:, i], values[:, i]),
                 average_precision_score(truth[:, i], values[:, i]))
                if defined else (np.nan, np.nan)
            )  # fmt: skip
            areas[source].append(pair[0])
            cells += [f"{x:.6f}" if defined else "nan" for x in pair]
        table.append(f"{label}\t{groups[i]}\t{truth[:, i].sum()}\t" + "\t".join(cells))
    folder = results / "evaluation" / name
    write_text(folder / "per_label.tsv", "\n".join(table) + "\n")
    write_text(folder / "curves.tsv", write_curves(curve_rows(truth, scores, names)))

    def headline(source: str) -> dict:
        values = np.array(areas[source])
        area = round(float(np.nanmean(values)), 6)
        key = "auroc" if single else "macro_auroc"
        other = {} if single else {"median_auroc_TF": round(float(np.nanmedian(values[:10])), 6)}
        extra = {"f1": 0.7123, "mcc": 0.4012, "threshold": 0.41} if single else {}
        return {
            key: area,
            f"{key}_low": round(area - 0.021, 6),
            f"{key}_high": round(area + 0.019, 6),
            ("auprc" if single else "macro_auprc"): round(area - 0.2, 6),
            **other,
            **extra,
        }

    counts = {"n": rows, "n_positive": int(truth.sum())} if single else {"n": rows, "n_labels": 15}
    metrics = headline("model") | counts | {"strand": "both", "seed": 11, "split": "test"}
    means = {"kmer": np.nanmean(areas["kmer"])} | ({"gc": 0.52} if single else {})
    for baseline, area in means.items():
        for key, move in (("", 0), ("_low", -0.017), ("_high", 0.018)):
            gain = round(float(np.nanmean(areas["model"]) - area + move), 6)
            metrics[f"auroc_gain_over_{baseline}{key}"] = gain
    baselines = {"kmer": headline("kmer")}
    if single:  # GC content knows nothing
        key, found_gc = "auroc", {"f1": 0.667, "mcc": 0.0}
        baselines["gc"] = found_gc | {key: 0.52, f"{key}_low": 0.46, f"{key}_high": 0.57}
        write_text(results / name / "leakage.tsv", "row\tsplit\tkind\n")
    metrics |= {"ece": 0.02, "ece_raw": 0.12, "brier": 0.18, "brier_raw": 0.2}
    write_text(folder / "calibration.tsv", calibration(0.5 if single else 0.05))
    bundle = results / "models" / name
    write_json(bundle / "metrics.json", metrics | {"baselines": baselines})
    write_json(
        bundle / "config.json",
        model_config(
            name,
            semi_synthetic,
            label_names=names,
            label_groups=groups,
            head={},
            window_bp=8000 if single else 2000,
            negatives="random_base" if single else "",
            initial_weights="pretrained",
            **({} if single else {"members": 2}),
        ),
    )
    write_weights(bundle / "model.safetensors", 1_200_000)
    curves = {
        ("train", "loss"): (0.69, 0.3),
        ("validation", "loss"): (0.69, 0.35),
        ("validation", "macro_auroc"): (0.5, 0.86),
    }
    write_text(results / "trained" / name / "history.tsv", history(rng, curves))


def calibration(share: float) -> str:
    """Write reliability bins: probabilities too high, and corrected."""
    lines = ["group\tprobabilities\tbin\tn\tn_positive\tmean_probability\tshare_positive"]
    for probabilities, factor in (("raw", 1.6), ("calibrated", 1.02)):
        for i in range(1, 11):
            true = share * i / 10
            lines.append(
                f"all\t{probabilities}\t{i}\t100\t{round(100 * true)}\t{true * factor:.4f}\t{true:.4f}"
            )
    return "\n".join(lines) + "\n"


def write_truth(folder: Path, rng: np.random.Generator) -> tuple[list, dict]:
    """Write promoters.bed and peaks.tsv with one BED per label; the middle of the region is rich."""
    sites = [*sorted(int(x) for x in rng.integers(860000, 895000, 5)), 990000]
    truth = [(site, "+-"[i % 2]) for i, site in enumerate(sites)]
    write_text(
        folder / "promoters.bed",
        "".join(f"{CHROM}\t{s}\t{s + 1}\tP{i}\t0\t{x}\n" for i, (s, x) in enumerate(truth)),
    )
    sheet = ["label\tgroup\tcell\tpath"]
    peaks: dict[str, list[tuple[int, int]]] = {}
    for group, names in LABELS.items():
        for number, label in enumerate(names):
            width = {"TF": 400, "DNase": 800, "HM": 2500}[group]
            starts = np.concatenate(
                [rng.integers(861_000, 893_000, 4), rng.integers(START, END, 3)]
            )
            peaks[label] = sorted((int(s), int(s) + width) for s in starts)
            write_text(
                folder / "peaks" / f"{group}{number}.bed",
                "".join(f"{CHROM}\t{a}\t{b}\n" for a, b in peaks[label]),
            )
            sheet.append(f"{label}\t{group}\tdemo\tpeaks/{group}{number}.bed")
    write_text(folder / "peaks.tsv", "\n".join(sheet) + "\n")
    return truth, peaks


def write_predictions(results: Path, truth: list, peaks: dict, rng: np.random.Generator) -> None:
    def near(at: float, spans: list[tuple[int, int]], reach: int) -> float:
        gaps = [max(a - at, at - b, 0) for a, b in spans]
        return float(np.exp(-((min(gaps) / reach) ** 2)))

    lines = ["sequence\tstart\tend\tpromoter"]
    spans = [(site, site) for site, _ in truth]
    for start in range(START, END - 8000 + 1, 500):
        value = np.clip(0.1 + 0.8 * near(start + 4000, spans, 900) + rng.normal() * 0.06, 0, 1)
        lines.append(f"{CHROM}\t{start}\t{start + 8000}\t{value:.4f}")
    write_text(results / "predictions" / "promoter.tsv", "\n".join(lines) + "\n")
    lines = ["\t".join(["sequence", "start", "end", *peaks])]
    for start in range(START, END - 2000 + 1, 200):
        values = [
            np.clip(0.03 + 0.3 * near(start + 1000, spans, 400) + rng.normal() * 0.02, 0, 1)
            for spans in peaks.values()
        ]
        cells = "\t".join(f"{v:.4f}" for v in values)
        lines.append(f"{CHROM}\t{start}\t{start + 2000}\t{cells}")
    write_text(results / "predictions" / "chromatin.tsv", "\n".join(lines) + "\n")


def write_variants(results: Path, semi_synthetic: bool, rng: np.random.Generator) -> None:
    """Write scores of 60 variants, a region of 30 bases, and in the demo how known variants rank."""
    folder = results / "predictions"
    labels = ["CTCF", "p300<&>"]
    effects = ["break"] * 25 + ["create"] * 5 + ["none"] * 30
    values = rng.normal(0, 0.2, (60, 2)) + np.array(
        [[-(e == "break"), 2 * (e == "create")] for e in effects]
    )
    lines = [
        "\t".join(
            [
                "chrom",
                "pos",
                "id",
                "ref",
                "alt",
                *(f"{x}_{y}" for x in labels for y in ("diff", "log_odds")),
            ]
        )
    ]
    ranked = [
        "chrom\tpos\tid\tref\talt\teffect\tmodel_largest\tmodel_own_label\tgc_largest\tkmer_largest\tkmer_own_label"
    ]
    for i, (effect, row) in enumerate(zip(effects, values, strict=True)):
        variant = f"{CHROM}\t{850_000 + 1000 * i}\tV{i}\tA\tC"
        lines.append(variant + "".join(f"\t{v / 9:.5g}\t{v:.5g}" for v in row))
        largest = np.abs(row).max()
        ranked.append(
            f"{variant}\t{effect}\t{largest:.5g}\t{row[0]:.5g}\t1\t{largest / 2:.5g}\tnan"
        )
    lines.append(f"{CHROM}\t990000\tV60\tA\t*" + "\tnan" * 4)
    write_text(folder / "variants" / "chromatin.tsv", "\n".join(lines) + "\n")
    lines = [
        "\t".join(["chrom", "pos", "ref", *(f"{x}_{b}_log_odds" for x in labels for b in "ACGT")])
    ]
    for i, base in enumerate("ACGTN" * 6):
        cells = [
            "nan" if base == "N" else "0" if b == base else f"{rng.normal():.5g}"
            for b in "ACGT" * 2
        ]
        lines.append("\t".join([CHROM, str(860_001 + i), base, *cells]))
    write_text(folder / "mutagenesis.tsv", "\n".join(lines) + "\n")
    if not semi_synthetic:
        return
    write_text(folder / "variants" / "ranking_chromatin" / "ranked.tsv", "\n".join(ranked) + "\n")

    def areas(centre: float) -> dict:
        metrics_of_source = {}
        for key, n, positive in (
            ("break", 55, 25),
            ("break_own_label", 40, 25),
            ("create", 35, 5),
            ("create_own_label", 20, 5),
        ):
            metrics_of_source |= {
                f"auroc_{key}": centre,
                f"auroc_{key}_low": centre - 0.071,
                f"auroc_{key}_high": centre + 0.069,
            }
            metrics_of_source |= {f"n_{key}": n, f"n_{key}_positive": positive}
        return metrics_of_source

    metrics = areas(0.712345) | {
        "n": 60,
        "n_labels": 2,
        "n_blocks": 12,
        "block_bp": 5000,
        "seed": 11,
        "split": "test",
    }
    metrics |= {
        "semi_synthetic": True,
        "baselines": {
            "gc": areas(0.501234),
            "kmer": areas(0.823456),
            "counts": {k: v for k, v in areas(0.634521).items() if "own_label" not in k},
        },
    }
    write_json(folder / "variants" / "ranking_chromatin" / "metrics.json", metrics)


def write_corpus(results: Path, rng: np.random.Generator) -> None:
    folder = results / "corpus"
    folder.mkdir(parents=True)
    for split, (low, high, count) in {
        "train": (0, 700_000, 40),
        "validation": (700_000, 800_000, 4),
        "test": (800_000, 1_000_000, 6),
    }.items():
        lines = []
        for number in range(count):
            start = int(rng.integers(low, high - 9000))
            sizes = ",".join(["750"] * 12)
            starts = ",".join(str(750 * i) for i in range(12))
            fields = [CHROM, start, start + 9000, f"d{number}", 0, "+", start, start + 9000, 0, 12]
            lines.append("\t".join(map(str, [*fields, sizes, starts])) + "\n")
        with gzip.GzipFile(folder / f"{split}.bed.gz", "wb", mtime=0) as stream:
            stream.write("".join(lines).encode())
    tokenizer = {
        "bp_per_token": 4.821337,
        "vocab_size": 1024,
        "sample_bp": 360_000,
        "mean_piece_bp": 5.912345,
        "unused_pieces_share": 0.012,
        "unknown_tokens": 0,
        "n": 74_600,
        "n_documents": 40,
        "seed": 11,
        "split": "train",
    }
    write_json(results / "tokenizer" / "metrics.json", tokenizer)


def write_benchmarks(results: Path, rng: np.random.Generator) -> None:
    stages = {
        "demo_data": 1.9, "genome": 0.4, "documents": 0.9, "train_tokenizer": 2.2, "tokenize": 1.5,
        "pretrain": 183.4, "evaluate_lm": 22.0, "promoter_set": 1.2, "chromatin_set": 2.7,
        "baseline_promoter": 3.3, "baseline_chromatin": 9.9, "finetune_promoter": 61.0,
        "finetune_chromatin": 95.2, "evaluate_promoter": 6.1, "evaluate_chromatin": 14.4,
        "predict_promoter": 12.2, "predict_chromatin": 17.7,
    }  # fmt: skip
    header = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"
    for rule, seconds in stages.items():
        memory = f"{rng.uniform(150, 1400):.2f}" if seconds > 1 else "NA"
        row = f"{seconds:.4f}\t0:00:00\t{memory}\t-\t-\t-\t0.0\t0.0\t99.0\t{seconds * 1.7:.2f}\n"
        write_text(results / "benchmarks" / f"{rule}.tsv", header + row)


if __name__ == "__main__":
    write_example(Path(sys.argv[1]))
