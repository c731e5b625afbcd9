"""Time fine-tuning a text classifier, ours and the library's with the same weights.

    python -m benchmarks.speed text                               # both models, 512 and 4096 tokens: long
    python -m benchmarks.speed text --sizes small                 # minutes
    python -m benchmarks.speed text --sizes base --tokens 4096 --batch_tokens 4096

The loop, the optimizer and the variants are those of finetuning.py; the loss is the cross-entropy
of one class per document, and our head has the library's activation. At 512 tokens both compute
full attention, at 4096 block-sparse attention with the library's random blocks. The logits must
agree before anything is timed. `hf-strip` is the library without the dense attention probabilities
that it builds from its blocks whether they are asked for or not (peers.py). Tokens are random,
without padding.
"""

import argparse
import copy
import time

import torch
from torch import nn

from benchmarks.lib.options import add_common, add_cpu_time, lengths, names, start
from benchmarks.lib.timing import Case, header, interleaved, load
from benchmarks.speed import finetuning
from benchmarks.speed.finetuning import Batch, check, library_twin, show, step_of
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig

STEP = "step"
SIZES = {
    "small": EncoderConfig(
        vocab_size=8192, hidden_size=256, num_layers=4, num_heads=4, ffn_size=1024,
        random_plan="huggingface",
    ),
    "base": EncoderConfig(vocab_size=50358, random_plan="huggingface"),
}  # fmt: skip
TOKENS = (512, 4096)


def run(size: str, tokens: int, options: argparse.Namespace) -> None:
    """Check, time and print one model at one length."""
    config = SIZES[size]
    count = max(1, options.batch_tokens // tokens)
    drawn = Batch.draw(count, tokens, config.vocab_size, 1)
    classes = torch.randint(0, options.labels, (count,), generator=torch.Generator().manual_seed(1))
    batch = drawn._replace(labels=classes)
    ours = SequenceClassifier(config, options.labels, HeadConfig(activation=config.activation))
    models = {"ours": ours}
    for name in {variant.split("/")[0] for variant in options.variants} - {"ours"}:
        models[name] = library_twin(ours, config, stripped=name == "hf-strip", head_act="gelu_new")
    differences = [check(ours, model, batch) for name, model in models.items() if name != "ours"]
    calls = {}
    for variant in options.variants:
        name, dtype = variant.split("/")
        calls[Case(tokens, STEP, variant)] = step_of(
            copy.deepcopy(models[name]), batch, dtype, nn.functional.cross_entropy
        )
    clock = time.process_time if options.cpu_time else time.perf_counter
    times, failed = interleaved(calls, options.rounds, "cpu", clock=clock)
    print(
        f"# {size}, {tokens} tokens, batch {count}; logits differ by at most "
        f"{max(differences, default=0):.1g} standard deviations",
        flush=True,
    )
    show(f"{size}\t{tokens}", times, count)
    for case, why in failed.items():
        print(size, tokens, case.mode, case.name, f"not run: {why}", sep="\t")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    variants = tuple(f"{m}/{d}" for m in finetuning.MODELS for d in ("float32", "bfloat16"))
    parser.add_argument("--sizes", type=names(tuple(SIZES)), default=tuple(SIZES))
    parser.add_argument("--tokens", type=lengths, default=TOKENS)
    parser.add_argument("--variants", type=names(variants), default=finetuning.VARIANTS)
    parser.add_argument("--labels", type=int, default=2, help="classes")
    parser.add_argument("--batch_tokens", type=int, default=8192)
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
        f"# {'processor' if options.cpu_time else 'clock'} time of a step of fine-tuning; "
        f"{options.labels} classes; median [lowest, highest] of {options.rounds} interleaved rounds"
    )
    ratios = (f"{peer} / this" for peer in finetuning.PEERS)
    print("model", "tokens", "mode", "name", "median_ms", "documents_per_s", *ratios, sep="\t")
    for size in options.sizes:
        for tokens in options.tokens:
            run(size, tokens, options)
    print(f"# load after the run {load()}")


if __name__ == "__main__":
    main()
