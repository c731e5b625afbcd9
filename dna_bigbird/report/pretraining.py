"""The section on masked-token pretraining."""

from dna_bigbird.report.figures.history_figure import history_figure
from dna_bigbird.report.gallery import Gallery
from dna_bigbird.report.glossary import term
from dna_bigbird.report.markup import Html, is_number, join, not_run, paragraph, shown, table
from dna_bigbird.report.model_results import ModelResult
from dna_bigbird.report.parts import chosen_step, interval_of, share
from dna_bigbird.report.run_results import Results
from dna_bigbird.report.words import (
    MASKED_BITS,
    baseline_title,
    bits_of,
    score_of,
    strongest_masked,
)


def pretraining(results: Results, gallery: Gallery) -> Html:
    """Return the section on masked-token pretraining."""
    result = results.pretrained
    return join(
        [
            paragraph(
                Html(
                    f"The model learns from unlabelled sequence: some {term('token', 'tokens')} are "
                ),
                "hidden and it names them from both sides, and it tells whether one stretch of DNA "
                "follows another.",
                Html(f"The measure is {term('bits-per-base')}."),
                Html(f"The baselines, {term('ngram', 'n-grams')}, count and do not learn."),
                Html('Who wins is said <a href="#summary">above</a>.'),
            ),
            _figures(result, gallery),
            _scores(results),
            _parts(results.pretrained.metrics),
        ]
    )


def _figures(result: ModelResult, gallery: Gallery) -> Html:
    if not result.history:
        return not_run("loss and bits per base over training", "the rule pretrain (history.tsv)")
    step = chosen_step(result)
    baselines = result.metrics.get("baselines", {})
    lines = [(baseline_title(n), bits_of(b).value) for n, b in baselines.items()]
    lines = [(n, v) for n, v in lines if is_number(v)]
    kept = f"Step {step:,} had the fewest bits per base on validation and was kept." if step else ""
    return join(
        [
            Html('<div class="panels">'),
            gallery.show(
                "pretraining_bits_per_base",
                history_figure(
                    result.history,
                    MASKED_BITS,
                    title="Bits per base, masked",
                    ylabel="bits per base (lower is better)",
                    chosen_step=step,
                    lines=lines,
                    tag=gallery.tag,
                ),
                alt="Bits per base of masked tokens over the training steps. "
                + "; ".join(f"{n} {v:.3f}" for n, v in lines),
                caption=f"Bits per base while training. {kept} The lines across are baselines on "
                "the test split; causal ones see only the left side.",
            ),
            gallery.show(
                "pretraining_loss",
                history_figure(
                    result.history,
                    "loss",
                    title="Training loss",
                    ylabel="loss (nats)",
                    chosen_step=step,
                    tag=gallery.tag,
                ),
                alt="Loss over the training steps, training and validation.",
                caption="Loss that training minimises: masked tokens plus next sentence. Validation above training means that the "
                "model has begun to learn its training regions by heart.",
            ),
            Html("</div>"),
        ]
    )


def _scores(results: Results) -> Html:
    metrics = results.pretrained.metrics
    described = results.language.get("baselines", {})
    rows = [
        (
            "BigBird",
            "masked",
            interval_of(score_of(metrics, MASKED_BITS)),
            Html(
                f"names {share(metrics, 'mlm_accuracy')} of hidden tokens exactly "
                f"({term('mlm', 'MLM')}); next sentence right in {share(metrics, 'nsp_accuracy')} "
                f"({term('nsp', 'NSP')})"
            ),
            "–",
        )
    ]
    for name, entry in metrics.get("baselines", {}).items():
        kind = "causal" if "causal" in name else "masked" if "masked" in name else "–"
        found = described.get(name)
        text = found.get("description", "") if isinstance(found, dict) else ""
        title = baseline_title(name).removesuffix(f" ({kind})")
        counted = entry.get("n_counted_bp") if isinstance(entry, dict) else None
        rows.append(
            (title, kind, interval_of(bits_of(entry)), text, shown(counted) if counted else "–")
        )
    return table(
        ["what predicts", "seen", "bits per base [95\u00a0%]", "how", "counted bp"],
        rows,
        caption="Bits per base on the test split. Compare masked with masked, causal with causal. "
        "Counted bp: bases of the training documents that a baseline counted, each base once",
        numeric=[2, 4],
    )


def _parts(metrics: dict) -> Html:
    """Return bits per base by chromosome and repeat class; nothing if there is but one part each."""
    best, _ = strongest_masked(metrics)
    rows: list[tuple] = []
    for way, title in (("by_chromosome", "chromosome"), ("by_repeat_class", "repeat class")):
        found = {name: part for name, part in metrics.get(way, {}).items() if part["n_bp"]}
        if len(found) < 2:
            continue
        rows.append((title,))
        baseline = metrics.get("baselines", {}).get(best, {}).get(way, {})
        rows += [
            (
                name.replace("_", " "),
                interval_of(score_of(part, MASKED_BITS)),
                interval_of(score_of(baseline.get(name, {}), MASKED_BITS)),
                shown(part["n_bp"]),
            )
            for name, part in found.items()
        ]
    if not rows:
        return Html("")
    return table(
        ["part", "BigBird [95\u00a0%]", f"{baseline_title(best)} [95\u00a0%]", "masked bp"],
        rows,
        caption="Bits per base by part of the test split; a token in two parts is shared by its bases",
        numeric=[1, 2, 3],
        groups=True,
    )
