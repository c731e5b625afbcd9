"""What several sections share: headline scores, counts of test rows, the chosen step."""

from dna_bigbird.report.markup import Html, is_number, number, shown, with_interval
from dna_bigbird.report.model_results import ModelResult
from dna_bigbird.report.words import Score, score_of, verdict

TITLES = {"pretrained": "Pretraining", "promoter": "Promoters", "chromatin": "Chromatin labels"}
KEYS = {"promoter": "auroc", "chromatin": "macro_auroc"}


def head_scores(result: ModelResult) -> tuple[Score, Score]:
    """Return the headline AUROC of a head and of its k-mer baseline."""
    key = KEYS[result.name]
    kmer = result.metrics.get("baselines", {}).get("kmer", {})
    return score_of(result.metrics, key), score_of(kmer, key)


def head_gain(result: ModelResult) -> Score:
    """Return how much a head's AUROC exceeds the k-mer baseline's, if that was drawn."""
    return score_of(result.metrics, "auroc_gain_over_kmer")


def head_verdict(result: ModelResult) -> str:
    """Say whether the head or its k-mer baseline is better."""
    what = "AUROC" if result.name == "promoter" else "macro AUROC"
    return verdict(*head_scores(result), what=what, gain=head_gain(result))


def chosen_step(result: ModelResult) -> int | None:
    """Return the step whose weights were kept, if a file says so."""
    for found in (result.config.get("chosen_step"), result.validation.get("step")):
        if is_number(found):
            return int(found)
    return None


def counts(metrics: dict) -> str:
    """Return n, positives, split and seed as one cell."""
    parts = []
    for key, text in (
        ("n", "rows"),
        ("n_positive", "positive cells" if "n_labels" in metrics else "positive"),
        ("n_labels", "labels"),
        ("n_labels_undefined", "of them not defined"),
        ("n_examples", "examples"),
        ("n_masked_tokens", "masked tokens"),
        ("n_masked_bp", "masked bp"),
    ):
        if is_number(metrics.get(key)) and not (key == "n_labels_undefined" and metrics[key] == 0):
            parts.append(f"{shown(metrics[key])} {text}")
    return ", ".join([*parts, f"{metrics.get('split', '?')} split", f"seed {metrics.get('seed')}"])


def interval_of(score: Score) -> Html:
    """Return a score with its interval as markup."""
    return with_interval(score.value, score.low, score.high)


def share(metrics: dict, key: str) -> Html:
    """Return a metric that is a share as per cent."""
    value = metrics.get(key)
    return Html(f'<data value="{value!r}">{value:.1%}</data>') if is_number(value) else number(None)
