"""The section on a fine-tuned head: what it predicts, curves, scores, every label."""

import math
import re

from dna_bigbird.report.calibration import calibration_part
from dna_bigbird.report.compare.head_runs import BASELINES
from dna_bigbird.report.figures.curve_figure import curve_figure
from dna_bigbird.report.figures.history_figure import history_figure
from dna_bigbird.report.figures.label_figure import MOST_LABEL_ROWS, label_figure
from dna_bigbird.report.gallery import Gallery
from dna_bigbird.report.glossary import term
from dna_bigbird.report.markup import (
    Html,
    as_html,
    is_number,
    join,
    not_run,
    number,
    paragraph,
    shown,
    table,
)
from dna_bigbird.report.model_results import Curve, LabelScore, ModelResult
from dna_bigbird.report.negatives import NEGATIVES
from dna_bigbird.report.parts import (
    KEYS,
    chosen_step,
    counts,
    head_scores,
    head_verdict,
    interval_of,
)
from dna_bigbird.report.run_results import Results
from dna_bigbird.report.words import against_chance, score_of, verdict

STRANDS = {
    "both": " Probabilities are means over both strands.",
    "forward": " Probabilities are of the forward strand only.",
}
GROUP_KEY = re.compile(r"(median|mean)_(auroc|auprc)_(.+)(?<!_low)(?<!_high)")


def head(results: Results, name: str, gallery: Gallery) -> Html:
    """Return the section on a fine-tuned head: `promoter` or `chromatin`."""
    result = results.heads[name]
    if result is None:
        return not_run(f"the {name} model", f"the rules finetune and evaluate (task {name})")
    model, _ = head_scores(result)
    return join(
        [
            paragraph(
                _task_sentence(result),
                head_verdict(result),
                against_chance(model),
                _started(result),
            ),
            paragraph(_negatives(result)),
            paragraph(*_other_baselines(result)),
            paragraph(_leakage(result)),
            _head_figures(result, gallery),
            _score_table(result),
            _label_part(result, gallery) if len(result.labels) > 1 else "",
        ]
    )


def _task_sentence(result: ModelResult) -> Html:
    window = shown(result.config.get("window_bp"))
    if result.name == "promoter":
        return Html(f"The task: does this window of {window} bp hold a promoter at its start site?")
    count = len(result.config.get("label_names") or result.labels)
    return Html(
        f"The task: for each of {count} labels (bound factors, open chromatin, histone marks), does "
        f"its peak cover the middle of this window of {window} bp?"
    )


def _negatives(result: ModelResult) -> Html:
    """Name the negatives, and say what they make of a score."""
    name = str(result.config.get("negatives", ""))
    if not name:
        return Html("")
    kmer = result.metrics.get("baselines", {}).get("kmer", {})
    trivial = f" Here the k-mer baseline reaches F1 {shown(kmer['f1'])}." if "f1" in kmer else ""
    return Html(
        f"<b>Negatives: {as_html(name)}.</b> {as_html(NEGATIVES.get(name, ''))}{trivial} Scores on other "
        "negatives are not comparable with these."
    )


def _other_baselines(result: ModelResult) -> list[str]:
    """Compare the model with each baseline but the k-mer one, which stands first."""
    key = KEYS[result.name]
    return [
        verdict(
            score_of(result.metrics, key),
            score_of(scores, key),
            what="AUROC" if key == "auroc" else "macro AUROC",
            baseline_name=f"the baseline {BASELINES.get(name, name)}",
            gain=score_of(result.metrics, f"auroc_gain_over_{name}"),
        )
        for name, scores in result.metrics.get("baselines", {}).items()
        if name != "kmer"
    ]


def _leakage(result: ModelResult) -> str:
    if result.leaks is None:
        return ""
    found = f"{result.leaks:,} pairs of rows" if result.leaks else "nothing"
    return (
        "The leakage report looked for bases and near-identical sequences shared between training, "
        f"validation and test, and found {found}."
    )


def _started(result: ModelResult) -> str:
    step, steps = chosen_step(result), result.config.get("training", {}).get("max_steps")
    weights = result.config.get("initial_weights")
    text = f"It was fine-tuned for {shown(steps)} steps" if is_number(steps) else ""
    text += f" from {weights} weights" if text and isinstance(weights, str) else ""
    text += f" and step {step:,}, the best on validation, was kept" if text and step else ""
    both = STRANDS.get(str(result.metrics.get("strand")), "")
    members = result.config.get("members", 1)
    if members > 1:
        both += f" They are also means of {members} models, trained with other seeds."
    return f"{text}.{both}" if text else both


def _head_figures(result: ModelResult, gallery: Gallery) -> Html:
    parts = [Html('<div class="panels">')]
    averages = [x for x in ("macro-average", "micro-average") if _curves(result, x)]
    chosen = averages or list(dict.fromkeys(c.label for c in result.curves))[:1]
    for label in chosen:
        curves = _curves(result, label)
        suffix = f", {label}" if averages else ""
        for kind, name, key in (("roc", "ROC", "roc"), ("pr", "Precision-recall", "pr")):
            parts.append(
                gallery.show(
                    f"{result.name}_{kind}" + (f"_{label.split('-')[0]}" if averages else ""),
                    curve_figure(curves, kind, title=f"{name}{suffix}", tag=gallery.tag),
                    alt=f"{name} curve of the {result.name} model and its baselines{suffix}.",
                    caption=_curve_caption(result, kind, label, key),
                )
            )
    if not chosen:
        parts.append(not_run("curves: no label has both kinds of test row", "the test regions"))
    if any(r.name == "loss" for r in result.history):
        parts += _training_figures(result, gallery)
    parts.append(calibration_part(result, gallery))
    return join([*parts, Html("</div>")])


def _curves(result: ModelResult, label: str) -> list[Curve]:
    return [c for c in result.curves if c.label == label]


def _curve_caption(result: ModelResult, kind: str, label: str, key: str) -> Html:
    link = term(key)
    if label == "macro-average":
        how = "the mean curve of all labels, each counting the same"
    elif label == "micro-average":
        how = "all cells of all labels pooled, so frequent labels count more"
    else:
        scores = [result.metrics, result.metrics.get("baselines", {}).get("kmer", {})]
        area = "auroc" if kind == "roc" else "auprc"
        pair = [shown(s.get(area)) for s in scores]
        how = f"area {pair[0]}, k-mer baseline {pair[1]}"
    chance = "diagonal" if kind == "roc" else "share of positives"
    return Html(f"{link}: {how}. Dotted: chance, the {chance}.")


def _training_figures(result: ModelResult, gallery: Gallery) -> list[Html]:
    step = chosen_step(result)
    pictures = [
        gallery.show(
            f"{result.name}_loss",
            history_figure(
                result.history,
                "loss",
                title="Fine-tuning loss",
                ylabel="binary cross-entropy (nats)",
                chosen_step=step,
                tag=gallery.tag,
            ),
            alt=f"Loss of the {result.name} model over its training steps.",
            caption="Loss of fine-tuning, training and validation.",
        )
    ]
    key = next((k for k in ("macro_auroc", "auroc") if _logged(result, k)), None)
    if key:
        pictures.append(
            gallery.show(
                f"{result.name}_validation_auroc",
                history_figure(
                    result.history,
                    key,
                    title="Validation AUROC",
                    ylabel="AUROC" if len(result.labels) < 2 else "AUROC, mean over labels",
                    chosen_step=step,
                    tag=gallery.tag,
                ),
                alt=f"Validation AUROC of the {result.name} model over its training steps.",
                caption="AUROC on validation, by which the step was chosen.",
            )
        )
    return pictures


def _logged(result: ModelResult, name: str) -> bool:
    return any(r.name == name and math.isfinite(r.value) for r in result.history)


def _score_table(result: ModelResult) -> Html:
    """Return every score of the model with that of each baseline beside it."""
    known = {
        "auroc": "AUROC",
        "auprc": "AUPRC",
        "macro_auroc": "AUROC, macro",
        "macro_auprc": "AUPRC, macro",
        "f1": "F1",
        "f1_at_half": "F1 at threshold 0.5",
        "macro_f1": "F1, macro",
        "mcc": "MCC",
        "macro_mcc": "MCC, macro",
        "precision": "precision",
        "recall": "recall",
        "threshold": "threshold (from validation)",
        "brier": "Brier score",
        "ece": "expected calibration error",
        "ece_calibrated": "the same, corrected on validation",
    } | {
        f"{area}_gain_over_{name}": f"{area.upper()}, gain over {BASELINES.get(name, name)}"
        for name in result.metrics.get("baselines", {})
        for area in ("auroc", "auprc")
    }
    by_group = {
        key: f"{found[2].upper()}, {found[1]} of {found[3].replace('_', ' ')}"
        for key in result.metrics
        if (found := GROUP_KEY.fullmatch(key))
    }
    baselines = result.metrics.get("baselines", {})
    rows = [
        (
            title,
            *(
                interval_of(score_of(found, key)) if key in found else "–"
                for found in (result.metrics, *baselines.values())
            ),
        )
        for key, title in (known | by_group).items()
        if key in result.metrics
    ]
    names = [BASELINES.get(name, name) for name in baselines]
    return table(
        ["score", "BigBird", *names],
        rows,
        caption=f"Scores with 95 % intervals where they were drawn; {counts(result.metrics)}",
        numeric=range(1, 2 + len(names)),
    )


def _label_part(result: ModelResult, gallery: Gallery) -> Html:
    better = sum(
        x.auroc > x.kmer_auroc
        for x in result.labels
        if math.isfinite(x.auroc) and math.isfinite(x.kmer_auroc)
    )
    both = sum(math.isfinite(x.auroc) and math.isfinite(x.kmer_auroc) for x in result.labels)
    parts: list[object] = []
    if any(math.isfinite(x.auroc) for x in result.labels):
        parts.append(
            gallery.show(
                f"{result.name}_labels",
                label_figure(result.labels, tag=gallery.tag),
                alt=f"AUROC of each label: BigBird above the k-mer baseline on {better} of {both}.",
                caption=f"AUROC of each label by group: BigBird is above the k-mer baseline on "
                f"{better} of {both} labels. In brackets: positives among the test rows.",
                wide=len(result.labels) <= MOST_LABEL_ROWS,
            )
        )
    listing = _label_table(result.labels)
    if len(result.labels) > MOST_LABEL_ROWS:
        text = f"Table of all {len(result.labels)} labels"
        listing = Html(f"<details><summary>{text}</summary>{listing}</details>")
    return join([*parts, listing])


def _label_table(labels: tuple[LabelScore, ...]) -> Html:
    rows: list[tuple[object, ...]] = []
    for group in dict.fromkeys(x.group for x in labels):
        rows.append((group,))
        found = [x for x in labels if x.group == group]
        for x in sorted(found, key=lambda x: (not math.isfinite(x.auroc), -_or_zero(x.auroc))):
            why = "no positives" if x.n_positive == 0 else "no negatives"
            missing = "not scored"
            rows.append(
                (
                    x.label,
                    number(x.n_positive),
                    _bold(number(x.auroc, why=why), x.auroc, x.kmer_auroc),
                    _bold(
                        number(x.kmer_auroc, why=missing if math.isfinite(x.auroc) else why),
                        x.kmer_auroc,
                        x.auroc,
                    ),
                    _bold(number(x.auprc, why=why), x.auprc, x.kmer_auprc),
                    _bold(
                        number(x.kmer_auprc, why=missing if math.isfinite(x.auprc) else why),
                        x.kmer_auprc,
                        x.auprc,
                    ),
                )
            )
    return table(
        ["label", "positives", "AUROC", "AUROC k-mer", "AUPRC", "AUPRC k-mer"],
        rows,
        caption="Every label on the test split; bold: the better of the two",
        numeric=range(1, 6),
        groups=True,
    )


def _or_zero(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _bold(cell: Html, value: float, other: float) -> Html:
    return Html(f"<b>{cell}</b>") if value > other else cell
