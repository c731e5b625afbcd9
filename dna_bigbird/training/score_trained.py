"""The last step of `finetune --scored`: the test rows, next to baselines."""

from dataclasses import replace
from pathlib import Path

from dna_bigbird.baselines.kmer_baseline import fit_word_baseline
from dna_bigbird.baselines.kmer_config import KmerConfig
from dna_bigbird.core.lazy_names import load
from dna_bigbird.core.paths import next_to
from dna_bigbird.core.results import TrainedModel

BASELINES = ("kmer", "gc")


def score_trained(
    trained: TrainedModel, data: Path, genome: Path | None, scored: Path, seed: int
) -> TrainedModel:
    """Fit the baselines of word counts and GC content, and evaluate the model next to them.

    Args:
        scored: Bundle to write; scores of the baselines go next to it.

    Returns:
        The same result with its evaluation.
    """
    paths = {name: next_to(scored, f"{name}.h5") for name in BASELINES}
    for name, path in paths.items():
        fit_word_baseline(genome, data, path, KmerConfig(), only_gc=name == "gc", seed=seed)
    evaluate = load("dna_bigbird.evaluation.evaluate:evaluate")
    evaluation = evaluate(genome, trained.output, data, scored, baselines=paths)
    return replace(trained, evaluation=evaluation)
