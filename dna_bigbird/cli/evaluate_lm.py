"""`dna-bigbird evaluate-lm`."""

from pathlib import Path

DESCRIPTIONS = {
    "token_unigram_masked": "token frequencies of the training documents, on exactly the masked "
    "positions the model predicts; ignores all context",
    "token_unigram_informed_masked": "the same, but it also uses the token shown at a position "
    "that does not show [MASK] (Bayes' rule with the shares of masking)",
    "token_bigram_informed_masked": "the token on either side of a masked one (Witten-Bell "
    "bigrams both ways), on the same positions, using shown tokens likewise",
    "token_ngram_causal": "token 3-gram, interpolated Witten-Bell; every token of the held-out "
    "documents from those before it",
    "base_ngram_causal": "base 12-gram, interpolated Witten-Bell; every base of the held-out "
    "documents from those before it",
}


def evaluate_lm(
    model: Path,
    train: Path,
    test: Path,
    output: Path,
    report: Path,
    seed: int = 0,
    examples: int = 1000,
    batch_size: int = 32,
    baseline_documents: int = 2000,
    threads: int = 0,
) -> None:
    """Score a pretrained model on held-out documents beside n-gram baselines.

    Bits per base: negative log-likelihood of the predicted tokens over ln 2 times the base pairs
    they cover, in float32. Masked and causal scores answer different questions and are named apart.

    Args:
        model: Bundle of `dna-bigbird pretrain`.
        train: Token store the baselines count; the one the model was trained on.
        test: Token store of held-out documents.
        output: Bundle to write: the same model with its test scores and card.
        report: JSON file to write: the scores again, with a description of each baseline.
        seed: Seed of the test examples, their masks and the bootstrap.
        examples: Number of test examples.
        batch_size: Examples computed at once.
        baseline_documents: Most documents that a baseline counts and, apart, scores; evenly
            spaced if there are more.
        threads: CPU threads; 0 leaves the choice to torch.
    """
    import torch
    from tqdm import tqdm

    from dna_bigbird.cli.training import check_tokenizer
    from dna_bigbird.corpus.masking import MaskingConfig
    from dna_bigbird.datasets.pretraining import PretrainExamples
    from dna_bigbird.datasets.token_store import TokenStore
    from dna_bigbird.errors import InputError
    from dna_bigbird.files import atomic_path
    from dna_bigbird.inference.bundle import PRETRAINING, load_bundle, to_json
    from dna_bigbird.inference.card import model_card, write_scored_bundle
    from dna_bigbird.models.pretraining import HEADS
    from dna_bigbird.tasks.config import TrainConfig
    from dna_bigbird.tasks.language_scores import score_examples
    from dna_bigbird.tasks.pretraining import PretrainingTask

    if examples < 1 or batch_size < 1:
        raise InputError(f"--examples {examples} --batch_size {batch_size}: expected at least 1")
    if threads:
        torch.set_num_threads(threads)
    bundle = load_bundle(model)
    if bundle.config["task"] != PRETRAINING:
        raise InputError(f"{model}: a {bundle.config['task']} model; expected a pretrained one")
    if bundle.model.heads != HEADS:
        found = ", ".join(bundle.model.heads) or "none"
        raise InputError(f"{model}: scoring needs the heads {', '.join(HEADS)}; it has {found}")
    bundle.check_reads_dna()
    stores = {"train": TokenStore(train), "test": TokenStore(test)}
    for store in stores.values():
        check_tokenizer(store, bundle.tokenizer, model)
    # A converted model does not say how it was masked.
    masking = MaskingConfig(**bundle.config.get("masking", {}))
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
    metrics = {
        **scores.metrics(seed),
        "step": bundle.metrics.get("step"),
        "seed": seed,
        "split": "test",
        "baselines": masked_baselines(stores, held_out, bundle, examples, baseline_documents, seed)
        | causal_baselines(stores, bundle.tokenizer, baseline_documents),
    }
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
        print(f"  {name}: {next(iter(table.values()))}")


def masked_baselines(
    stores: dict, examples, bundle, count: int, documents: int, seed: int
) -> dict[str, dict]:
    """Score the masked baselines on the very positions of the model's examples."""
    import numpy as np

    from dna_bigbird.baselines.masked_ngram import TokenBigramMasked
    from dna_bigbird.baselines.ngram import TokenUnigram, posterior_nll
    from dna_bigbird.tasks.language_scores import interval

    tokenizer = bundle.tokenizer
    unigram = TokenUnigram().fit(stores["train"], documents)
    bigram = TokenBigramMasked().fit(stores["train"], documents)
    shares = {name: getattr(examples.masking, name) for name in ("mask_share", "random_share")}
    pieces = tokenizer.vocab_size - tokenizer.first_piece_id
    nats: dict[str, list[float]] = {name: [] for name in list(DESCRIPTIONS)[:3]}
    base_pairs = []
    for number in range(count):
        example = examples[number]
        labels, positions = example["labels"], example["positions"]
        seen = example["token_ids"][positions]
        sides = bigram.neighbours(example["token_ids"], positions, tokenizer.mask_id)
        informed = {
            "token_unigram_informed_masked": [unigram.probability[i] for i in (labels, seen)],
            "token_bigram_informed_masked": [
                # [MASK] has no probability as a label; the value is not used there.
                bigram.probabilities(*sides, np.where(i == tokenizer.mask_id, labels, i))
                for i in (labels, seen)
            ],
        }
        nats["token_unigram_masked"].append(unigram.nll(labels).sum())
        for name, (p_label, p_seen) in informed.items():
            nll = posterior_nll(
                labels,
                seen,
                p_label,
                p_seen,
                mask_id=tokenizer.mask_id,
                num_pieces=pieces,
                **shares,
            )
            nats[name].append(nll.sum())
        base_pairs.append(tokenizer.piece_bp[labels].sum())
    return {
        name: interval(
            "bits_per_base_masked", np.array(values) / np.log(2), np.array(base_pairs), seed
        )
        for name, values in nats.items()
    }


def causal_baselines(stores: dict, tokenizer, documents: int) -> dict[str, dict]:
    """Score the n-grams on every token or base of the held-out documents, left to right."""
    from dna_bigbird.baselines.base_ngram import BaseNgramCausal
    from dna_bigbird.baselines.ngram import TokenNgramCausal

    train, test = stores["train"], stores["test"]
    tokens = TokenNgramCausal().fit(train, documents).score(test, tokenizer.piece_bp, documents)
    bases = BaseNgramCausal().fit(train, tokenizer, documents).score(test, tokenizer, documents)
    return {
        name: {"bits_per_base_causal": round(score.bits_per_base, 6), "n_bp": score.base_pairs}
        for name, score in (("token_ngram_causal", tokens), ("base_ngram_causal", bases))
    }
