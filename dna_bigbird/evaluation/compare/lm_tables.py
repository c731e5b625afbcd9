"""The paper's Table 5, Figure 8 and Table 1 for our runs: rows, notes, pictures, files."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from dna_bigbird.core.figures.style import (
    GREEN,
    GREY,
    KMER,
    MODEL,
    PURPLE,
    SKY,
    line_look,
    new_figure,
    style,
)
from dna_bigbird.core.tables import Table
from dna_bigbird.evaluation.compare.lm_runs import (
    PARTS,
    Run,
    cells,
    differences,
    ranking_notes,
    seed_cells,
    sums_of,
)
from dna_bigbird.evaluation.model_results import key_share
from dna_bigbird.evaluation.rendering import sentence
from dna_bigbird.metrics.names import ngram_name, ngram_title
from dna_bigbird.metrics.scores import PredictorScores
from dna_bigbird.metrics.seed_means import difference, holm
from dna_bigbird.metrics.verdicts import best_masked, language_verdict

LOOKS = [(MODEL, "-"), (KMER, "--"), (GREEN, "-."), (PURPLE, ":"), (SKY, (0, (5, 1)))]


def steps_figure(runs: Sequence[Run], tag: str = "") -> Figure:
    """Draw MLM accuracy and bits per base on validation over the steps, one line per run."""
    panels = {
        "mlm_accuracy": "masked tokens named exactly",
        "bits_per_base_masked": "bits per base (lower is better)",
    }
    with style():
        fig = new_figure(8.6, 3.6, tag)
        for ax, (name, label) in zip(fig.subplots(1, 2), panels.items(), strict=True):
            for i, run in enumerate(runs):
                points = _validation(run, name)
                if points:
                    colour, line = line_look(i, LOOKS)
                    tokens = run.real_tokens_per_step
                    shown = f"{run.name}, {tokens:,} tokens per step" if tokens else run.name
                    ax.plot(*np.array(points).T, color=colour, ls=line, lw=1.8, label=shown)
            ax.set(xlabel="optimizer step", ylabel=label)
            ax.ticklabel_format(axis="y", useOffset=False)
        fig.axes[0].legend()
    return fig


def scores_figure(rows: Sequence[dict], names: Sequence[str], tag: str = "") -> Figure:
    """Draw scores with their intervals: one row per row of a table, one panel per name."""
    with style():
        fig = new_figure(1.6 + 3.5 * len(names), 1.0 + 0.34 * len(rows), tag)
        panels = fig.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for ax, name in zip(panels, names, strict=True):
            for y, row in enumerate(rows):
                value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
                causal = row.get("seen") == "causal"
                colour = GREY if causal else MODEL
                if value is not None:
                    ax.plot(value, y, "s" if causal else "o", color=colour, ms=5)
                if low is not None:
                    ax.plot([low, high], [y, y], color=colour, lw=1.8)
            ax.set(xlabel=name.replace("_", " "))
            ax.locator_params(axis="x", nbins=5)
        labels = [
            next(iter(row.values())) + (" (causal)" if row.get("seen") == "causal" else "")
            for row in rows
        ]
        panels[0].set_yticks(range(len(rows)), labels)
        panels[0].invert_yaxis()
    return fig


NAMES = {
    "bits_per_base_masked": "bits per base",
    "bits_per_base_all_masked": "bits per base, all [MASK]",
    "mlm_accuracy": "MLM accuracy",
}
LEVEL = 0.05


def pair_rows(runs: Sequence[Run]) -> list[dict]:
    """Return one row per score and pair of runs; none if a training lacks the scores of each block."""
    if not all(training.examples for run in runs for training in run.trainings):
        return []
    rows = []
    for score in NAMES:
        of_score = [_row(score, *pair) for pair in itertools.combinations(runs, 2)]
        for row, corrected in zip(of_score, holm([row["p"] for row in of_score]), strict=True):
            rows.append(row | {"p": _short(row["p"]), "p_holm": _short(corrected)})
            rows[-1]["clear"] = "yes" if corrected < LEVEL else "no"
    return rows


def _row(score: str, first: Run, second: Run) -> dict:
    examples = [run.trainings[0].examples for run in (first, second)]
    same_tokens = examples[0].has_tokens_of(examples[1])
    sums = sums_of(first, score), sums_of(second, score)
    estimate = difference(*sums, same_tokens=same_tokens)
    low, high = estimate.ends
    covers_seeds = first.members and second.members
    return {
        "score": NAMES[score],
        "pair": f"{first.name} - {second.name}",
        "difference": round(estimate.value, 6),
        "difference_low": round(low, 6),
        "difference_high": round(high, 6),
        "se_examples": _short(estimate.se_examples),
        "se_seeds": _short(estimate.se_seeds) if covers_seeds else None,
        "same_tokens": "yes" if same_tokens else "no",
        "p": estimate.p,
    }


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def pair_notes(rows: Sequence[dict]) -> list[str]:
    """Report for every score which pairs differ clearly, and what the intervals cover."""
    notes = []
    for score in NAMES.values():
        of_score = [row for row in rows if row["score"] == score]
        if of_score:
            clear = [row for row in of_score if row["clear"] == "yes"]
            notes.append(sentence("notes.pairs", score, clear, len(of_score)))
    if rows:
        covered = [row["se_seeds"] is not None for row in rows]
        notes.append(sentence("notes.pair_intervals", all(covered), any(covered)))
    return notes


PAPER = {"layers": 12, "hidden": 768, "vocabulary": 32000, "steps": 1_000_000}
"""Table 21 of the paper; it does not say how long the models of these tables were trained."""
PAPER_BITS = {("full", 512): 1.23, ("bigbird", 4096): 1.12}
"""Bits per base of Table 5, by attention and length."""
PAPER_BLOCKS = {"random": 60.1, "window": 58.3, "random + window": 62.7, "full attention": 64.2}
"""MLM accuracy in per cent of Table 1, by the building blocks of the pattern."""
PAPER_LENGTHS = {512: 22, 1024: 24, 4096: 27}
"""MLM accuracy in per cent at the end of Figure 8, read off the picture by eye."""


@dataclass(frozen=True)
class Comparison:
    """A table with a score and its interval in every row."""

    title: str
    rows: tuple[dict, ...]
    notes: tuple[str, ...]
    parts: tuple[dict, ...] = ()
    """Rows of bits per base by chromosome, repeat class and class of sequence."""
    parts_shown: tuple[tuple[str, str], ...] = ()
    """Of them (positions_of, predictor) for the readable table."""
    pairs: tuple[dict, ...] = ()
    """Differences of all pairs of models, if every training has the scores of each block."""


def table5(runs: Sequence[Run]) -> Comparison:
    """Bits per base of n-grams, full attention and BigBird (paper, Table 5)."""
    first = runs[0]
    baselines = first.metrics.baselines
    no_seeds = dict.fromkeys(seed_cells(first, runs))
    rows = [_baseline_row(key, x, first) | no_seeds for key, x in baselines.items()]
    rows += [_table5_row(run) | seed_cells(run, runs) for run in runs]
    pairs = pair_rows(runs)
    bits = [(x.name, x.bits) for x in runs]
    notes = [
        *(pair_notes(pairs) or ranking_notes(bits, "bits per base", higher_is_better=False)),
        *(note for run in runs for note in _against_baseline(run)),
        sentence("notes.masked_positions", first.name),
        sentence("notes.counted_bp"),
        *differences(runs),
    ]
    return Comparison(
        "Table 5: bits per base on held-out regions",
        tuple(rows),
        tuple(notes),
        tuple(part_rows(runs)),
        (
            *((run.name, "model") for run in runs),
            *((run.name, best_masked(run.metrics)[0]) for run in runs),
        ),
        tuple(pairs),
    )


def _table5_row(run: Run) -> dict:
    size = (run.encoder.attention, run.encoder.max_tokens)
    return (
        {"predictor": run.name, "seen": "masked", **cells("bits_per_base", run.bits)}
        | {"n_bp": run.metrics.number("n_masked_bp"), "counted_bp": None}
        | {"paper": PAPER_BITS.get(size), "real_tokens_per_step": run.real_tokens_per_step}
        | {"differs": differs(run)}
    )


def figure8(runs: Sequence[Run]) -> Comparison:
    """MLM accuracy by length of the context (paper, Figure 8)."""
    rows = [
        {"variant": run.name, "max_tokens": run.encoder.max_tokens}
        | _training(run)
        | {"validation_mlm_accuracy": _last(run, "mlm_accuracy")}
        | {"validation_bits_per_base": _last(run, "bits_per_base_masked")}
        | _test_scores(run)
        | seed_cells(run, runs)
        | {"paper_mlm_percent": PAPER_LENGTHS.get(run.encoder.max_tokens)}
        for run in runs
    ]
    pairs = pair_rows(runs)
    return Comparison(
        "Figure 8: masked tokens named exactly, by length of the context",
        tuple(rows),
        _rankings(runs, pairs),
        pairs=tuple(pairs),
    )


def table1(runs: Sequence[Run]) -> Comparison:
    """MLM accuracy by building block of the pattern (paper, Table 1)."""
    rows = []
    for run in runs:
        blocks = run.encoder.building_blocks
        rows.append(
            {"variant": run.name, "building_blocks": blocks}
            | {"key_blocks_read": round(key_share(run.encoder), 4)}
            | _training(run)
            | _test_scores(run)
            | seed_cells(run, runs)
            | {"paper_mlm_percent": PAPER_BLOCKS.get(blocks)}
        )
    pairs = pair_rows(runs)
    return Comparison(
        "Table 1: building blocks of the attention pattern",
        tuple(rows),
        (*_rankings(runs, pairs), sentence("notes.english_text")),
        pairs=tuple(pairs),
    )


TABLES = {"table5": table5, "figure8": figure8, "table1": table1}


def part_rows(runs: Sequence[Run]) -> list[dict]:
    """Return bits per base by part of the genome, of models and masked baselines."""
    return [
        {"positions_of": run.name, "predictor": name, "way": division, "part": part}
        | cells("bits_per_base", scores.bits_per_base)
        | {"n_bp": scores.number("n_bp")}
        for run in runs
        for name, predictor in {"model": run.metrics, **run.metrics.baselines}.items()
        if "causal" not in name
        for division in PARTS
        for part, scores in predictor.parts(division).items()
    ]


def differs(run: Run) -> str:
    """Return how a run differs from the paper's."""
    encoder = run.encoder
    ours = {
        "layers": encoder.num_layers,
        "hidden": encoder.hidden_size,
        "vocabulary": encoder.vocab_size,
        "steps": run.max_steps,
    }
    pairs = [(name, ours[name], paper) for name, paper in PAPER.items() if ours[name] != paper]
    texts = [f"{name} {own:,} for {paper:,}" for name, own, paper in pairs]
    return "; ".join(texts) or "nothing that its config shows"


def _baseline_row(key: str, scores: PredictorScores, run: Run) -> dict:
    causal = "causal" in key
    is_paper = key == "token_ngram_causal"
    unstated = "paper: order, unit and discounting not stated" if is_paper else ""
    discounting = ""
    if causal and "ngram" in key:
        discounting = "modified Kneser-Ney" if "kenlm" in key else "Witten-Bell"
    return (
        {"predictor": ngram_name(key), "seen": "causal" if causal else "masked"}
        | cells("bits_per_base", scores.bits_per_base)
        | {"n_bp": scores.number("n_bp") if causal else run.metrics.number("n_masked_bp")}
        | {"counted_bp": scores.number("n_counted_bp")}
        | {"paper": 1.57 if is_paper else None, "real_tokens_per_step": None}
        | {"differs": "; ".join(filter(None, (discounting, unstated)))}
    )


def _against_baseline(run: Run) -> list[str]:
    return [
        f"{run.name}. "
        + sentence("sentences.verdict", verdict, "bits per base", f"the {ngram_title(name)}")
        for name, verdict in language_verdict(run.metrics).masked[:1]
    ]


def _rankings(runs: Sequence[Run], pairs: Sequence[dict]) -> tuple[str, ...]:
    if pairs:
        return (*pair_notes(pairs), *differences(runs))
    accuracies = [(run.name, run.accuracy) for run in runs]
    bits = [(run.name, run.bits) for run in runs]
    return (
        *ranking_notes(accuracies, "MLM accuracy", higher_is_better=True),
        *ranking_notes(bits, "bits per base", higher_is_better=False),
        *differences(runs),
    )


def _training(run: Run) -> dict:
    return {
        "parameters": run.parameters,
        "steps": run.max_steps,
        "tokens_per_step": run.tokens_per_step,
        "real_tokens_per_step": run.real_tokens_per_step,
    }


def _test_scores(run: Run) -> dict:
    return (
        cells("mlm_accuracy", run.accuracy)
        | cells("bits_per_base", run.bits)
        | {"n_masked_tokens": run.metrics.number("n_masked_tokens")}
    )


def _last(run: Run, name: str) -> float | None:
    points = _validation(run, name)
    return round(points[-1][1], 6) if points else None


def _validation(run: Run, name: str) -> list[tuple[int, float]]:
    """Return the rising steps and the values of a score on validation."""
    rows = (row for row in run.history if (row.split, row.name) == ("validation", name))
    return sorted((row.step, row.value) for row in rows)


def to_markdown(comparison: Comparison) -> str:
    """Write a comparison for readers: scores with their intervals, then the notes."""
    lines = [f"# {comparison.title}", "", *Table(comparison.rows).to_markdown(), ""]
    if comparison.parts:
        lines += ["By chromosome, repeat class and class of sequence:", ""]
        parts = _side_by_side(comparison.parts, comparison.parts_shown)
        lines += [*Table(parts).to_markdown(), ""]
    if comparison.pairs:
        lines += ["Differences between models:", "", *Table(comparison.pairs).to_markdown(), ""]
    lines += [f"- {note}" for note in comparison.notes]
    return "\n".join([*lines, "", sentence("notes.brackets", "seeds" in comparison.rows[0])]) + "\n"


def _side_by_side(parts: Sequence[dict], shown: Sequence[tuple[str, str]]) -> list[dict]:
    """Return one row per part, with a column for each predictor."""
    rows: dict[tuple[str, str], dict] = {}
    for part in parts:
        key = part["positions_of"], part["predictor"]
        if key in shown:
            run, predictor = key
            name = run if predictor == "model" else f"{ngram_title(predictor)}, {run}"
            row = rows.setdefault((part["way"], part["part"]), {"part": part["part"]})
            row |= cells(name, PredictorScores(part).bits_per_base) | {
                f"masked bp of {run}": part["n_bp"]
            }
    return list(rows.values())
