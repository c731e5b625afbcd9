"""The first section: cards, which is better, one table of the headline scores."""

from collections.abc import Sequence
from dataclasses import dataclass

from dna_bigbird.evaluation.model_results import ModelResult
from dna_bigbird.metrics import verdicts
from dna_bigbird.metrics.names import window_baseline
from dna_bigbird.metrics.scores import NO_SCORE, ModelMetrics
from dna_bigbird.metrics.verdicts import UNIGRAM, LanguageVerdict, NamedVerdict, Verdict
from dna_bigbird.models.label_types import HEADLINES as TYPE_HEADLINES
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
        return self.rows[0].verdict


@dataclass(frozen=True)
class HeadSummary:
    """A promoter or chromatin model with its best baseline."""

    metrics: ModelMetrics
    negatives: str | None
    best: NamedVerdict
    counts: NamedVerdict | None
    """The comparison with the model's own counts, if it has them."""


@dataclass(frozen=True)
class Summary:
    """The data of the section; what was not run is None."""

    pretrained: LanguageSummary | None
    heads: dict[str, HeadSummary | None]


def main_score(result: ModelResult) -> str:
    """Return the key of the score that a model is judged by: of a head, or of its type of labels."""
    return HEADLINES.get(result.name) or TYPE_HEADLINES[result.config.label_type][0]


def compared(result: ModelResult) -> list[NamedVerdict]:
    """Return the verdicts on the main score, the best baseline first, with names for readers.

    Without a baseline that has the score, that on k-mers, which then have none.
    """
    key, metrics = main_score(result), result.metrics
    none = NamedVerdict("kmer", Verdict(metrics.score(key), NO_SCORE))
    named = verdicts.compared(metrics, key) or [none]
    return [NamedVerdict(window_baseline(name), verdict) for name, verdict in named]


def summary(results: Results) -> Summary:
    """Return the headline scores of all models."""
    return Summary(
        _language(results.pretrained.metrics) if results.pretrained else None,
        {name: _head(result) for name, result in results.heads.items()},
    )


def _language(metrics: ModelMetrics) -> LanguageSummary:
    language = verdicts.language_verdict(metrics)
    none = Verdict(language.bits, NO_SCORE, higher_is_better=False)
    return LanguageSummary(metrics, language.masked or [NamedVerdict(UNIGRAM, none)], language)


def _head(result: ModelResult | None) -> HeadSummary | None:
    if result is None:
        return None
    named = compared(result)
    counts = next((x for x in named if x.baseline == window_baseline("counts")), None)
    return HeadSummary(result.metrics, result.config.negatives, named[0], counts)
