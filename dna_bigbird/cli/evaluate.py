"""`dna-bigbird evaluate`."""

import sys
from pathlib import Path


def evaluate(
    genome: Path,
    model: Path,
    data: Path,
    output: Path,
    report: Path,
    baselines: dict[str, Path] = {},  # noqa: B006 - jsonargparse shows the default
    seed: int = 0,
    batch_size: int = 64,
    replicates: int = 1000,
    threads: int = 0,
) -> None:
    """Score a fine-tuned model on the held-out rows beside its baselines.

    Probabilities are means over both strands, in float32. Thresholds are chosen on validation rows (best F1),
    for the model and for each baseline alike; every score is of test rows.

    Args:
        genome: FASTA that the labelled set was made from.
        model: Bundle of `dna-bigbird finetune`.
        data: Labelled set.
        output: Bundle to write: the same model with its test scores and card.
        report: Folder for scores.h5 (probabilities of validation and test rows), per_label.tsv
            and curves.tsv.
        baselines: Score files of `dna-bigbird baseline` by name, e.g. '{kmer: kmer.h5}'.
        seed: Seed of the bootstrap.
        batch_size: Windows computed at once.
        replicates: Bootstrap draws of the test rows behind each interval.
        threads: CPU threads; 0 leaves the choice to torch.
    """
    import numpy as np
    import torch

    from dna_bigbird.datasets.labelled import LabelledSet
    from dna_bigbird.datasets.scores import Scores, read_scores, write_scores
    from dna_bigbird.errors import InputError
    from dna_bigbird.evaluation.curves import curve_rows, write_curves
    from dna_bigbird.evaluation.summary import choose_thresholds, per_label
    from dna_bigbird.files import atomic_path, sha256_of
    from dna_bigbird.genome import Genome
    from dna_bigbird.inference.bundle import load_bundle
    from dna_bigbird.inference.card import model_card, write_scored_bundle
    from dna_bigbird.inference.predict import Predictor

    if threads:
        torch.set_num_threads(threads)
    bundle = load_bundle(model)
    labelled = LabelledSet(data, Genome(genome))
    check_labels(bundle, labelled)
    checksum = sha256_of(data)
    others = {name: read_scores(path) for name, path in baselines.items()}
    for name, scores in others.items():
        if scores.set_sha256 != checksum:
            raise InputError(
                f"{baselines[name]}: scores of another labelled set than {data}; compute them "
                "again: dna-bigbird baseline"
            )
    validation, test = labelled.rows("validation"), labelled.rows("test")
    if not len(test):
        raise InputError(f"{data}: no row in the test split; give the set other --split regions")
    held_out = np.sort(np.concatenate([validation, test]))
    # Reported scores do not depend on what processor is at hand.
    predictor = Predictor(bundle, strand="both", batch_size=batch_size, precision="32-true")
    own = Scores(
        name="model",
        description="probabilities of the model, mean of both strands",
        label_names=labelled.label_names,
        rows=held_out,
        values=score_rows(predictor, labelled, held_out),
        set_sha256=checksum,
    )
    write_scores(report / "scores.h5", own)

    metrics = all_metrics(labelled, own, others, seed=seed, replicates=replicates)
    metrics |= {"step": bundle.metrics.get("step"), "strand": "both"}
    labels, of_test = labelled.labels[test], {name: x.of(test) for name, x in others.items()}
    rows = per_label(
        labels,
        own.of(test),
        labelled.label_names,
        labelled.label_groups,
        baselines=of_test,
        thresholds_L=choose_thresholds(labelled.labels[validation], own.of(validation)),
    )
    with atomic_path(report / "per_label.tsv") as path:
        path.write_text(to_tsv(rows))
    curves = curve_rows(labels, {"model": own.of(test), **of_test}, labelled.label_names)
    with atomic_path(report / "curves.tsv") as path:
        path.write_text(write_curves(curves))
    write_scored_bundle(model, output, metrics, model_card(bundle.config, metrics))
    key = "auroc" if len(labelled.label_names) == 1 else "macro_auroc"
    print(f"{output}: {key} {metrics[key]} ({metrics[f'{key}_low']}-{metrics[f'{key}_high']})")
    for name, table in metrics["baselines"].items():
        print(f"  {name}: {table[key]} ({table[f'{key}_low']}-{table[f'{key}_high']})")


def all_metrics(labelled, own, others: dict, *, seed: int, replicates: int) -> dict:
    """Return the test metrics of the model, with those of each baseline and the gain over it.

    Args:
        own, others: Scores (datasets.scores) of the model, and of the baselines by name.
    """
    from dna_bigbird.evaluation.binary import rounded
    from dna_bigbird.evaluation.summary import choose_thresholds, compare, summarise

    validation, test = labelled.rows("validation"), labelled.rows("test")
    labels = labelled.labels[test]
    draws = {"seed": seed, "units": labelled.pairs[test], "replicates": replicates}

    def summary(scores) -> dict:
        thresholds = choose_thresholds(labelled.labels[validation], scores.of(validation))
        table = summarise(labels, scores.of(test), thresholds, labelled.label_groups, **draws)
        return {**table, "seed": seed, "split": "test"}

    metrics = summary(own)
    for name, scores in others.items():
        gains = compare(labels, own.of(test), scores.of(test), **draws)
        metrics |= {key.replace("gain", f"gain_over_{name}"): x for key, x in gains.items()}
    metrics["baselines"] = {name: summary(scores) for name, scores in others.items()}
    return rounded(metrics)


def check_labels(bundle, labelled) -> None:
    """Refuse a model that was made for other labels or other windows.

    Raises:
        InputError: Naming what differs.
    """
    from dna_bigbird.errors import InputError
    from dna_bigbird.inference.bundle import PRETRAINING

    if bundle.config["task"] == PRETRAINING:
        raise InputError(
            f"{bundle.folder}: a pretrained model without a label head; fine-tune it first"
        )
    for key in ("label_names", "window_bp"):
        found, expected = bundle.config[key], getattr(labelled, key)
        if found != expected:
            raise InputError(
                f"{labelled.path}: its {key} is {shortened(expected)}, that of {bundle.folder} "
                f"{shortened(found)}; is it the set the model was fine-tuned on?"
            )


def shortened(value: object) -> str:
    """Return a value as text of at most 60 characters."""
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def score_rows(predictor, labelled, rows):
    """Return float32 probabilities (rows, labels), with a progress bar on a terminal."""
    import numpy as np
    from tqdm import tqdm

    from dna_bigbird.errors import InputError
    from dna_bigbird.inference.predict import CHUNK

    parts = []
    with tqdm(total=len(rows), desc="evaluate", unit=" windows", disable=None) as progress:
        for first in range(0, len(rows), CHUNK):
            chunk = rows[first : first + CHUNK]
            parts.append(predictor.probabilities([labelled.sequence(int(i)) for i in chunk]))
            progress.update(len(chunk))
    values = np.concatenate(parts)
    empty = np.flatnonzero(np.isnan(values).any(axis=1))
    if len(empty):
        raise InputError(
            f"{labelled.path}: row {rows[empty[0]]} holds no A, C, G or T, so it has no score; "
            "build the set with a smaller --max_n_fraction"
        )
    if predictor.num_split:
        print(
            f"dna-bigbird: note: {predictor.num_split} windows had more tokens than the model's "
            f"context of {predictor.max_pieces} and were scored in equal parts, then averaged",
            file=sys.stderr,
        )
    return values.astype(np.float32)


def to_tsv(rows: list[dict]) -> str:
    """Return a table with a header; scores that are not defined are `nan`."""
    lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
    return "\n".join(lines) + "\n"
