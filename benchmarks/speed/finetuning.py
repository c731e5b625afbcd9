"""Time fine-tuning and evaluating a classifier, ours and the library's with the same weights.

    python -m benchmarks.speed finetuning                        # both models, all lengths: long
    python -m benchmarks.speed finetuning --sizes small          # the demo's model: minutes
    python -m benchmarks.speed finetuning --sizes base --tokens 1024,4096

A step is forward, backward, and the optimizer that `dna-bigbird finetune` uses; evaluation is the
mean probability over both strands, without gradients. Both go through one loop, on the same batch.
The library's `BigBirdForSequenceClassification` gets our weights and tanh in its head, as ours has;
its logits must be ours before anything is timed. A variant is MODEL/DTYPE: models `ours`, `hf` (as
shipped) and `hf-strip` (without its probability tensors, see peers.py); bfloat16 is autocast over
float32 weights, as `finetune` uses by default where the processor has it, and for steps only, since
`evaluate` computes in float32. Weights and tokens are random, windows without padding.
"""

import argparse
import copy
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.lib import peers
from benchmarks.lib.options import add_common, add_cpu_time, lengths, names, start
from benchmarks.lib.timing import Case, Times, header, interleaved, load, ratio, spread
from dna_bigbird.bundles.huggingface.tensor_names import to_library
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.optimisation import build_optimizer

STEP, EVALUATION = "step", "evaluation"
SIZES = {
    "small": EncoderConfig(  # config/config.yaml
        vocab_size=512, hidden_size=128, num_layers=4, num_heads=4, ffn_size=256, block_size=32,
        num_random=2, random_plan="huggingface",
    ),
    "base": EncoderConfig(random_plan="huggingface"),
}  # fmt: skip
WINDOWS = {
    "small": {256: "1000 bp", 2048: "8000 bp"},  # about 4 bp a token, as measured on the demo
    "base": {128: "1000 bp", 1024: "8000 bp", 4096: "all of the context"},  # 8.78 bp, the paper's
}
MODELS = ("ours", "hf", "hf-strip")
TOLERANCE = 1e-4
"""Largest difference of two logits, in standard deviations of all of them."""


class Batch(NamedTuple):
    """Random windows with random labels."""

    token_ids: Tensor  # (B, T)
    is_padding: Tensor  # (B, T)
    labels: Tensor  # (B, L)

    @classmethod
    def draw(cls, batch: int, tokens: int, vocab_size: int, labels: int) -> "Batch":
        """Draw a batch without padding."""
        generator = torch.Generator().manual_seed(0)
        return cls(
            torch.randint(6, vocab_size, (batch, tokens), generator=generator),
            torch.zeros(batch, tokens, dtype=torch.bool),
            torch.randint(0, 2, (batch, labels), generator=generator).float(),
        )

    def other_strand(self) -> "Batch":
        """Return windows of the same size that stand for the reverse complements."""
        return self._replace(token_ids=self.token_ids.flip(1))


def library_twin(
    ours: SequenceClassifier, config: EncoderConfig, *, stripped: bool, head_act: str = "tanh"
) -> nn.Module:
    """Return the library's classifier with the weights of ours.

    Args:
        head_act: Activation of its head, under the library's name: that of ours.

    Raises:
        peers.UnavailableError: If the library is missing or of another shape.
        ValueError: If a weight of ours has no place in it.
    """
    module = peers.library()
    labels = ours.head.dense.out_features
    settings = module.BigBirdConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        num_hidden_layers=config.num_layers,
        num_attention_heads=config.num_heads,
        intermediate_size=config.ffn_size,
        max_position_embeddings=config.max_tokens,
        block_size=config.block_size,
        num_random_blocks=config.num_random,
        attention_probs_dropout_prob=config.attention_dropout,
        num_labels=labels,
    )
    theirs = module.BigBirdForSequenceClassification(settings)
    theirs.classifier.config = copy.copy(settings)
    theirs.classifier.config.hidden_act = head_act
    state = to_library(ours.state_dict(), "BigBirdForSequenceClassification")
    missing, unexpected = theirs.load_state_dict(state, strict=False)
    if unexpected or any(not name.startswith("bert.pooler.") for name in missing):
        raise ValueError(f"weights do not fit: missing {missing}, unexpected {unexpected}")
    return peers.strip(theirs) if stripped else theirs


def logits_of(model: nn.Module, batch: Batch) -> Tensor:
    """Return logits (B, L) of either model."""
    if isinstance(model, SequenceClassifier):
        return model(batch.token_ids, batch.is_padding)
    return model(batch.token_ids, attention_mask=(~batch.is_padding).long()).logits


def check(ours: nn.Module, theirs: nn.Module, batch: Batch) -> float:
    """Return the largest difference of the logits in evaluation, in their standard deviations.

    Raises:
        SystemExit: If it is beyond `TOLERANCE`.
    """
    with torch.no_grad():
        expected, measured = (logits_of(model.eval(), batch) for model in (theirs, ours))
    difference = float((measured - expected).abs().max() / expected.std())
    if not difference <= TOLERANCE:
        raise SystemExit(f"the models compute different things: logits differ by {difference:.2g}")
    return difference


def step_of(
    model: nn.Module,
    batch: Batch,
    dtype: str,
    loss_of: Callable[[Tensor, Tensor], Tensor] = nn.functional.binary_cross_entropy_with_logits,
) -> Callable[[], object]:
    """Return one step of fine-tuning as a function without arguments."""
    optimizer, schedule = build_optimizer(model, TrainConfig(max_steps=10_000))

    def step() -> None:
        model.train()
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16"):
            logits = logits_of(model, batch).float()
            loss = loss_of(logits, batch.labels)
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def evaluation_of(model: nn.Module, batch: Batch) -> Callable[[], object]:
    """Return the probabilities of one batch, both strands, as a function without arguments."""

    def evaluate() -> Tensor:
        model.eval()
        with torch.inference_mode():
            strands = (batch, batch.other_strand())
            return torch.stack([logits_of(model, x).sigmoid() for x in strands]).mean(dim=0)

    return evaluate


def run(size: str, tokens: int, options: argparse.Namespace) -> None:
    """Check, time and print one model at one length."""
    config = replace(SIZES[size], max_tokens=tokens)
    count = min(16, max(1, options.batch_tokens // tokens))
    batch = Batch.draw(count, tokens, config.vocab_size, options.labels)
    ours = SequenceClassifier(config, options.labels)
    models = {"ours": ours}
    for name in {variant.split("/")[0] for variant in options.variants} - {"ours"}:
        models[name] = library_twin(ours, config, stripped=name == "hf-strip")
    differences = [check(ours, model, batch) for name, model in models.items() if name != "ours"]
    calls = {}
    for variant in options.variants:
        name, dtype = variant.split("/")
        calls[Case(tokens, STEP, variant)] = step_of(copy.deepcopy(models[name]), batch, dtype)
        if dtype == "float32":
            calls[Case(tokens, EVALUATION, variant)] = evaluation_of(models[name], batch)
    calls = dict(sorted(calls.items(), key=lambda item: item[0].mode))
    clock = time.process_time if options.cpu_time else time.perf_counter
    times, failed = interleaved(calls, options.rounds, "cpu", clock=clock)
    window = WINDOWS[size].get(tokens, "window")
    print(
        f"# {size}, {tokens} tokens ({window}), batch {count}; logits differ by at most "
        f"{max(differences, default=0):.1g} standard deviations",
        flush=True,
    )
    show(f"{size}\t{tokens}", times, count)
    for case, why in failed.items():
        print(size, tokens, case.mode, case.name, f"not run: {why}", sep="\t")


def show(start_of_line: str, times: Times, batch: int) -> None:
    """Print a line for each case, with the ratio of each of the library's times to it."""
    for case in times:
        median_s = spread(times[case]).median
        cells = [f"{1000 * median_s:.4g}", f"{batch / median_s:.4g}"]
        for peer in PEERS:
            speedup = ratio(times, case._replace(name=peer), case)
            cells.append("-" if speedup is None or peer == case.name else str(speedup))
        print("\t".join([start_of_line, case.mode, case.name, *cells]), flush=True)


PEERS = ("hf/float32", "hf-strip/float32")
VARIANTS = ("ours/float32", "ours/bfloat16", *PEERS)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    variants = tuple(f"{m}/{d}" for m in MODELS for d in ("float32", "bfloat16"))
    parser.add_argument("--sizes", type=names(tuple(SIZES)), default=tuple(SIZES))
    parser.add_argument("--tokens", type=lengths, help="by default those of 1000 and 8000 bp")
    parser.add_argument("--variants", type=names(variants), default=VARIANTS)
    parser.add_argument("--labels", type=int, default=919)
    parser.add_argument("--batch_tokens", type=int, default=4096, help="16 windows at most")
    add_cpu_time(parser)
    add_common(parser, only_cpu=True)
    options = parser.parse_args(arguments)
    start(parser, options)
    return options


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    options = parse(arguments)
    print("\n".join(header("cpu")))
    print(
        f"# {'processor' if options.cpu_time else 'clock'} time; {options.labels} labels; median [lowest, highest] of {options.rounds} interleaved "
        "rounds; windows a second count each window once, evaluation reads both strands of it"
    )
    ratios = (f"{peer} / this" for peer in PEERS)
    print("model", "tokens", "mode", "name", "median_ms", "windows_per_s", *ratios, sep="\t")
    for size in options.sizes:
        for tokens in options.tokens or WINDOWS[size]:
            run(size, tokens, options)
    print(f"# load after the run {load()}")


if __name__ == "__main__":
    main()
