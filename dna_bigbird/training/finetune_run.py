"""Steps of `finetune`: the training of a setup, and the search for its recipe."""

from dataclasses import replace
from pathlib import Path

from dna_bigbird.baselines.config import KmerConfig
from dna_bigbird.baselines.kmer_baseline import fit_kmer_baseline
from dna_bigbird.baselines.recipe_search import TABLE, draw_recipes, search, trial_folder
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.lazy_names import load
from dna_bigbird.core.paths import next_to
from dna_bigbird.core.results import TrainedModel
from dna_bigbird.models.label_types import MONITORS
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.fit import FitResult, training_settings
from dna_bigbird.training.label_model import FinetuningSetup
from dna_bigbird.training.label_module import LabelModule
from dna_bigbird.training.label_training import train_on_labels
from dna_bigbird.training.training_checks import set_training_backend

BASELINES = ("kmer", "gc")


def score_trained(
    trained: TrainedModel, data: Path, genome: Path | None, scored: Path, seed: int
) -> TrainedModel:
    """Evaluate a model next to baselines of k-mer counts and GC content: the bundle `scored`."""
    paths = {name: next_to(scored, f"{name}.h5") for name in BASELINES}
    for name, path in paths.items():
        fit_kmer_baseline(genome, data, path, KmerConfig(), only_gc=name == "gc", seed=seed)
    evaluate = load("dna_bigbird.evaluation.evaluate:evaluate")
    evaluation = evaluate(genome, trained.output, data, scored, baselines=paths)
    return replace(trained, evaluation=evaluation)


def train(
    setup: FinetuningSetup, training: TrainConfig, checkpoints: Path
) -> tuple[LabelModule, FitResult, int]:
    """Train a setup; what `train_on_labels` returns."""
    network = setup.build_model()
    set_training_backend(network.encoder, training.attention_backend)
    return train_on_labels(
        network,
        setup.labelled,
        setup.source.tokenizer,
        training,
        max_tokens=network.encoder.config.max_tokens,
        checkpoints=checkpoints,
        seed=setup.seed,
        settings=setup.run_settings(network),
        leaves_out_frozen=setup.is_adapted and training.strategy != "fsdp",
        bins_at_once=setup.head.bins_at_once,
    )


def chosen_recipe(
    setup: FinetuningSetup, training: TrainConfig, count: int, checkpoints: Path
) -> tuple[FinetuningSetup, TrainConfig, Path, dict[str, str]]:
    """Return setup, settings and checkpoints of the best recipe, and the table as a file."""
    if not count:
        return setup, training, checkpoints, {}
    recipes = draw_recipes(training, setup.dropout, count, setup.seed)
    setups = [replace(setup, dropout=recipe.dropout) for recipe in recipes]
    checksum = sha256_of(setup.labelled.path)

    def run(number: int) -> tuple[float, int]:
        folder = trial_folder(checkpoints, number)
        task, result, _ = train(setups[number], recipes[number].training, folder)
        return result.best_metrics[task.monitor], result.best_step

    def identify(number: int) -> dict:
        tried = setups[number]
        return {
            "training": training_settings(recipes[number].training),
            "settings": tried.run_settings(tried.build_model()),
            "data": checksum,
            "seed": tried.seed,
        }

    values = [recipe.values for recipe in recipes]
    monitor = MONITORS[setup.labelled.label_type]
    done = search(values, run, identify, checkpoints, monitor=monitor)
    best = done.best.number
    chosen = replace(setups[best], trials=done.rows)
    return chosen, recipes[best].training, trial_folder(checkpoints, best), {TABLE: done.table}
