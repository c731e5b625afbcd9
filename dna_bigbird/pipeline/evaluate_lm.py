"""`dna-bigbird evaluate-lm`."""

from dna_bigbird.errors import InputError, checked_settings
from dna_bigbird.paths import InputPath, OutputPath


def evaluate_lm(
    model: InputPath,
    train: InputPath,
    test: InputPath,
    output: OutputPath,
    report: OutputPath,
    seed: int = 0,
    examples: int = 1000,
    batch_size: int = 32,
    baseline_counted_documents: int = 0,
    baseline_scored_documents: int = 2000,
    threads: int = 0,
    genome: InputPath | None = None,
    repeats: InputPath | None = None,
    pieces: bool = False,
    kenlm: bool = False,
) -> None:
    """Score a pretrained model on held-out documents beside n-gram baselines.

    Bits per base: negative log-likelihood of the predicted tokens over ln 2 times the base pairs
    they cover, in float32, whole, by chromosome and by repeat class. Masked and causal scores
    answer different questions and are named apart.

    Args:
        model: Bundle of `dna-bigbird pretrain`.
        train: Token store the baselines count; the one the model was trained on.
        test: Token store of held-out documents.
        output: Bundle to write: the same model with its test scores and card.
        report: JSON file to write: the scores again, with a description of each baseline.
        seed: Seed of the test examples, their masks and the bootstrap.
        examples: Number of test examples.
        batch_size: Examples computed at once.
        baseline_counted_documents: Most training documents that a baseline counts, evenly spaced
            if there are more; 0: all that cover the training regions once (docs/metrics.md has
            the memory).
        baseline_scored_documents: Most held-out documents that a causal baseline scores, likewise.
        threads: CPU threads; 0 leaves the choice to torch.
        genome: FASTA file the documents come from; with it, scores also come by repeat class:
            lower case against upper case, or those of --repeats.
        repeats: BED file with a repeat class in column 4, such as RepeatMasker's.
        pieces: The FASTA file holds only the first part of its chromosomes.
        kenlm: Add the n-grams of KenLM, which must be installed (docs/experiments.md).
    """
    import torch
    from tqdm import tqdm

    from dna_bigbird.baselines.kneser_ney import missing as kenlm_missing
    from dna_bigbird.bundles.bundle import to_json
    from dna_bigbird.bundles.card import model_card, write_scored_bundle
    from dna_bigbird.datasets.pretraining import PretrainExamples
    from dna_bigbird.limits import use_threads
    from dna_bigbird.pipeline.language_inputs import load_masked_model, load_stores, ways_to_divide
    from dna_bigbird.tasks.config import TrainConfig
    from dna_bigbird.tasks.language_baselines import (
        DESCRIPTIONS,
        BaselineDocuments,
        causal_baselines,
    )
    from dna_bigbird.tasks.language_scores import score_examples
    from dna_bigbird.tasks.pretraining import PretrainingTask
    from dna_bigbird.writing import atomic_path

    if examples < 1 or batch_size < 1:
        raise InputError(f"--examples {examples} --batch_size {batch_size}: expected at least 1")
    if kenlm and kenlm_missing():
        raise InputError(f"--kenlm: not installed: {kenlm_missing()}; see docs/experiments.md")
    with checked_settings():
        documents = BaselineDocuments(baseline_counted_documents, baseline_scored_documents)
    use_threads(threads)
    bundle, masking = load_masked_model(model)
    stores = load_stores(train, test, bundle.tokenizer, model)
    strata = ways_to_divide(stores["test"], genome, repeats, pieces)
    max_tokens = bundle.config["encoder"]["max_tokens"]
    held_out = PretrainExamples(stores["test"], bundle.tokenizer, max_tokens, masking, seed)
    task = PretrainingTask(bundle.model, TrainConfig(), bundle.tokenizer.piece_bp)
    task.to("cuda" if torch.cuda.is_available() else "cpu")
    scores = score_examples(
        task,
        held_out,
        examples,
        batch_size=batch_size,
        progress=lambda batches: tqdm(batches, desc="examples", unit=" batches", disable=None),
    )
    metrics = {**scores.metrics(seed), "step": bundle.metrics.get("step")}
    metrics |= {"seed": seed, "split": "test"}
    metrics |= masked_tables(scores, held_out, bundle.tokenizer, stores["train"], strata, documents)
    metrics["baselines"] |= causal_baselines(
        stores["train"], stores["test"], bundle.tokenizer, documents, seed=seed, kenlm=kenlm
    )
    lines = dict(metrics)
    lines["baselines"] = {
        name: {"description": DESCRIPTIONS[name], **table}
        for name, table in metrics["baselines"].items()
    }
    with atomic_path(report) as path:
        path.write_text(to_json(lines))
    write_scored_bundle(model, output, metrics, model_card(bundle.config, metrics))
    print(f"{output}: bits per base {metrics['bits_per_base_masked']} (masked); baselines:")
    for name, table in metrics["baselines"].items():
        bits, counted = next(iter(table.values())), table["n_counted_bp"]
        print(f"  {name}: {bits}, counted on {counted:,} bp")


def masked_tables(scores, examples, tokenizer, train, strata: dict, documents) -> dict:
    """Return the tables by chromosome and class of the model, and its masked baselines with theirs."""
    import numpy as np
    from tqdm import tqdm

    from dna_bigbird.evaluation.language import interval
    from dna_bigbird.tasks.language_baselines import MaskedBaselines
    from dna_bigbird.tasks.language_strata import spread_costs, strata_tables

    seed, piece_bp = examples.seed, tokenizer.piece_bp
    masked = MaskedBaselines(train, tokenizer, examples.masking, documents.most_counted)
    whole, parts = spread_costs(
        examples,
        scores.token_nats,
        masked.nats,
        piece_bp,
        strata,
        progress=lambda numbers: tqdm(numbers, desc="baselines", disable=None),
    )
    baselines = {
        name: interval("bits_per_base_masked", whole[:, k] / np.log(2), whole[:, -1], seed)
        | masked.counted
        | strata_tables(strata, parts, k, seed)
        for k, name in enumerate(masked.names, start=1)
    }
    return {**strata_tables(strata, parts, 0, seed), "baselines": baselines}
