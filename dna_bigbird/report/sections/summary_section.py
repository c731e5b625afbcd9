"""The first section: cards, who wins, one table of the headline scores."""

from collections.abc import Sequence
from dataclasses import dataclass

from dna_bigbird.evaluation.model_results import ModelResult
from dna_bigbird.metrics.names import window_baseline
from dna_bigbird.metrics.scores import (
    NO_SCORE,
    UNIGRAM,
    LanguageVerdict,
    ModelMetrics,
    NamedVerdict,
    Verdict,
    is_number,
    language_verdict,
)
from dna_bigbird.models.label_types import HEADLINES as TYPE_HEADLINES
from dna_bigbird.models.label_types import gain_key
from dna_bigbird.report.run_results import Results

HEADLINES = {"promoter": "auroc", "chromatin": "macro_auroc"}
"""The main score of the two heads of a workflow run."""


@dataclass(frozen=True)
class LanguageSummary:
    """Pretraining: the model with the unigram and with the best masked baseline."""

    metrics: ModelMetrics
    rows: Sequence[NamedVerdict]
    """By the key of the baseline."""
    language: LanguageVerdict

    @property
    def card(self) -> Verdict:
        """The comparison with the best masked baseline."""
        return self.rows[-1].verdict


@dataclass(frozen=True)
class HeadSummary:
    """A promoter or chromatin model with its best baseline."""

    metrics: ModelMetrics
    negatives: str | None
    best: NamedVerdict


@dataclass(frozen=True)
class Summary:
    """The data of the section; what was not run is None."""

    pretrained: LanguageSummary | None
    heads: dict[str, HeadSummary | None]


def main_score(result: ModelResult) -> str:
    """Return the key of the score that a model is judged by: of a head, or of its type of labels."""
    return HEADLINES.get(result.name) or TYPE_HEADLINES[result.config.label_type][0]


def compared(result: ModelResult) -> list[NamedVerdict]:
    """Compare the main score with that of each baseline on the same draws, the best baseline first.

    Without a baseline that has the score, with k-mers, which then have none.
    """
    key, metrics = main_score(result), result.metrics
    scores = {name: x.score(key) for name, x in metrics.baselines.items()}
    known = sorted(
        (x for x in scores if is_number(scores[x].value)), key=lambda x: -scores[x].value
    )
    return [
        NamedVerdict(
            window_baseline(name),
            Verdict(
                metrics.score(key), scores.get(name, NO_SCORE), metrics.score(gain_key(key, name))
            ),
        )
        for name in known or ["kmer"]
    ]


def summary(results: Results) -> Summary:
    """Return the headline scores of all models."""
    return Summary(
        _language(results.pretrained.metrics) if results.pretrained else None,
        {name: _head(result) for name, result in results.heads.items()},
    )


def _language(metrics: ModelMetrics) -> LanguageSummary:
    language = language_verdict(metrics)
    none = Verdict(language.bits, NO_SCORE, higher_is_better=False)
    return LanguageSummary(metrics, language.masked or [NamedVerdict(UNIGRAM, none)], language)


def _head(result: ModelResult | None) -> HeadSummary | None:
    if result is None:
        return None
    return HeadSummary(result.metrics, result.config.negatives, compared(result)[0])
