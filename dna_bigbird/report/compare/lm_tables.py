"""The paper's Table 5, Figure 8 and Table 1 for our runs: rows, notes, and files to keep."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dna_bigbird.report.compare.lm_runs import Run, accuracy, bits, cells, ranking, uneven
from dna_bigbird.report.words import baseline_title, bits_of, strongest_masked

PAPER = {"layers": 12, "hidden": 768, "vocabulary": 32000, "steps": 1_000_000}
"""Table 21 of the paper; it does not say how long the models of these tables were trained."""
PAPER_LENGTHS = {512: 22, 1024: 24, 4096: 27}
"""MLM accuracy in per cent at the end of Figure 8, read off the picture by eye."""


@dataclass(frozen=True)
class Comparison:
    """A table with a score and its interval in every row."""

    title: str
    rows: tuple[dict, ...]
    notes: tuple[str, ...]
    parts: tuple[dict, ...] = ()
    """Rows of bits per base by chromosome and repeat class."""
    parts_shown: tuple[tuple[str, str], ...] = ()
    """Of them (positions_of, predictor) for the readable table."""


def table5(runs: Sequence[Run], key_share: Callable[[Run], float]) -> Comparison:
    """Bits per base of n-grams, full attention and BigBird (paper, Table 5)."""
    first = runs[0]
    baselines = first.metrics.get("baselines", {})
    rows = [_baseline_row(name, entry, first) for name, entry in baselines.items()]
    for run in runs:
        kind = (run.encoder.get("attention", "bigbird"), run.encoder["max_tokens"])
        paper = {("full", 512): 1.23, ("bigbird", 4096): 1.12}.get(kind)
        rows.append(
            {"predictor": run.name, "seen": "masked", **cells("bits_per_base", bits(run.metrics))}
            | {"n_bp": run.metrics["n_masked_bp"], "counted_bp": None}
            | {"paper": paper, "differs": differs(run)}
        )
    notes = [
        *ranking(
            [(r.name, bits(r.metrics)) for r in runs], "bits per base", higher_is_better=False
        ),
        *(_against_baseline(run) for run in runs),
        f"Masked baselines stand on the positions of {first.name}. Causal ones see the left side "
        "only: another question, not ranked. The paper calls its row `n-gram` and says no more.",
        "counted bp: bases of the training documents that a baseline counted, each base once.",
    ]
    return Comparison(
        "Table 5: bits per base on held-out regions",
        tuple(rows),
        (*notes, *uneven(runs)),
        tuple(part_rows(runs)),
        (
            *((run.name, "model") for run in runs),
            *((run.name, strongest_masked(run.metrics)[0]) for run in runs),
        ),
    )


def figure8(runs: Sequence[Run], key_share: Callable[[Run], float]) -> Comparison:
    """MLM accuracy by length of the context (paper, Figure 8)."""
    rows = [
        {"variant": run.name, "max_tokens": run.encoder["max_tokens"]}
        | _training(run)
        | {"validation_mlm_accuracy": _last(run, "mlm_accuracy")}
        | {"validation_bits_per_base": _last(run, "bits_per_base_masked")}
        | _test_scores(run)
        | {"paper_mlm_percent": PAPER_LENGTHS.get(run.encoder["max_tokens"])}
        for run in runs
    ]
    return Comparison(
        "Figure 8: masked tokens named exactly, by length of the context",
        tuple(rows),
        _rankings(runs),
    )


def table1(runs: Sequence[Run], key_share: Callable[[Run], float]) -> Comparison:
    """MLM accuracy by building block of the pattern (paper, Table 1)."""
    rows = []
    for run in runs:
        blocks = _building_blocks(run)
        paper = {
            "random": 60.1,
            "window": 58.3,
            "random + window": 62.7,
            "full attention": 64.2,
        }.get(blocks)
        rows.append(
            {"variant": run.name, "building_blocks": blocks}
            | {"key_blocks_read": round(key_share(run), 4)}
            | _training(run)
            | _test_scores(run)
            | {"paper_mlm_percent": paper}
        )
    note = "The paper's figures are of English text, and its table has no row with global blocks."
    return Comparison(
        "Table 1: building blocks of the attention pattern", tuple(rows), (*_rankings(runs), note)
    )


TABLES = {"table5": table5, "figure8": figure8, "table1": table1}


def part_rows(runs: Sequence[Run]) -> list[dict]:
    """Return bits per base by chromosome and repeat class, of models and masked baselines."""
    rows = []
    for run in runs:
        masked = {n: b for n, b in run.metrics.get("baselines", {}).items() if "causal" not in n}
        for name, metrics in {"model": run.metrics, **masked}.items():
            for way in ("by_chromosome", "by_repeat_class"):
                rows += [
                    {"positions_of": run.name, "predictor": name, "way": way, "part": part}
                    | cells("bits_per_base", bits(entry))
                    | {"n_bp": entry["n_bp"]}
                    for part, entry in metrics.get(way, {}).items()
                    if entry["n_bp"]
                ]
    return rows


def differs(run: Run) -> str:
    """Say in what a run is not the paper's."""
    ours = {
        "layers": run.encoder["num_layers"],
        "hidden": run.encoder["hidden_size"],
        "vocabulary": run.encoder["vocab_size"],
        "steps": run.max_steps,
    }
    found = [
        f"{name} {ours[name]:,} for {PAPER[name]:,}" for name in PAPER if ours[name] != PAPER[name]
    ]
    return "; ".join(found) or "nothing that its config shows"


def _baseline_row(name: str, entry: dict, run: Run) -> dict:
    causal = "causal" in name
    return (
        {"predictor": baseline_title(name).rpartition(" (")[0]}
        | {"seen": "causal" if causal else "masked", **cells("bits_per_base", bits_of(entry))}
        | {"n_bp": entry["n_bp"] if causal else run.metrics["n_masked_bp"]}
        | {"counted_bp": entry.get("n_counted_bp")}
        | (
            {"paper": 1.57, "differs": "paper: order and unit not stated"}
            if name == "token_ngram_causal"
            else {"paper": None, "differs": ""}
        )
    )


def _against_baseline(run: Run) -> str:
    name, best = strongest_masked(run.metrics)
    named = [(run.name, bits(run.metrics)), (f"the {baseline_title(name)} there", best)]
    return " ".join(ranking(named, "bits per base", higher_is_better=False))


def _rankings(runs: Sequence[Run]) -> tuple[str, ...]:
    return (
        *ranking(
            [(r.name, accuracy(r.metrics)) for r in runs], "MLM accuracy", higher_is_better=True
        ),
        *ranking(
            [(r.name, bits(r.metrics)) for r in runs], "bits per base", higher_is_better=False
        ),
        *uneven(runs),
    )


def _training(run: Run) -> dict:
    return {
        "parameters": run.parameters,
        "steps": run.max_steps,
        "tokens_per_step": run.tokens_per_step,
    }


def _test_scores(run: Run) -> dict:
    return (
        cells("mlm_accuracy", accuracy(run.metrics))
        | cells("bits_per_base", bits(run.metrics))
        | {"n_masked_tokens": run.metrics["n_masked_tokens"]}
    )


def _last(run: Run, name: str) -> float | None:
    points = [(r.step, r.value) for r in run.history if (r.split, r.name) == ("validation", name)]
    return round(max(points)[1], 6) if points else None


def _building_blocks(run: Run) -> str:
    encoder = run.encoder
    if encoder.get("attention") == "full":
        return "full attention"
    found = {
        "random": encoder["num_random"],
        "window": encoder.get("window_blocks", 3),
        "global": encoder.get("global_blocks", "first_last") != "none",
    }
    return " + ".join(name for name, there in found.items() if there)
