"""Time the whole pretraining model, ours and the library's, interleaved, in one process.

    python -m benchmarks.speed encoder                      # the base model at 4,096 tokens, 30 minutes
    python -m benchmarks.speed encoder --modes forward      # 10 minutes
    python -m benchmarks.speed encoder --logits predicted   # like for like: no model computes all logits
    python -m benchmarks.speed encoder --device cuda --lengths 4096,16384,65536,262144 --block_size 128 \
        --variants ours/bfloat16,full/bfloat16        # not tried where this was written: no GPU

A variant is MODEL/DTYPE[/LOGITS]. Models: `ours`; `ours-compiled`, `torch.compile` of it as one
graph; `full`, ours with full attention; `hf`, the library's as shipped; `hf-strip`, without its
probability tensors (peers.py); `hf-compiled`, `torch.compile` of `hf`. bfloat16 means autocast over float32 weights. Logits: `predicted`, of the
predicted positions only, or `all`. By default ours computes the former and the library's the
latter, as each comes; `--logits` sets one for all. Training is forward and backward of the MLM and
NSP loss with dropout, without the optimiser. Weights and tokens are random, sequences unpadded.
"""

import argparse
import functools
from collections.abc import Callable

import torch
from torch import nn

from benchmarks.lib import memory, peers
from benchmarks.lib.encoder_models import (
    LOGITS,
    OWN,
    PREDICTED,
    SIZES,
    Batch,
    Variant,
    library_logits,
    library_model,
    loss_of,
    own_logits,
    own_model,
)
from benchmarks.lib.options import add_common, lengths, start
from benchmarks.lib.table import print_cases
from benchmarks.lib.targets import encoder_targets, print_targets
from benchmarks.lib.timing import FAILURES, TRAINING, Case, header, interleaved, load, reason

DEFAULT = {
    "cpu": "ours/bfloat16,ours/bfloat16/all,ours/float32,hf/float32,hf-strip/float32,"
    "hf-strip/bfloat16,hf-compiled/float32",
    "cuda": "ours/bfloat16,full/bfloat16,hf-strip/bfloat16,hf/float32",
}


class Bench:
    """The models of a run, each made when it is first needed."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.model = functools.lru_cache(maxsize=None)(self._model)
        self.batch = functools.lru_cache(maxsize=None)(self._batch)

    def __reduce__(self) -> tuple:  # for the process that measures memory
        return Bench, (self.options,)

    def _batch(self, tokens: int) -> Batch:
        size = SIZES[self.options.size]
        return Batch.draw(self.options.batch, tokens, size["vocab_size"], self.options.device)

    def _model(self, name: str, tokens: int) -> nn.Module:
        if name in OWN:
            model = own_model(self.options, tokens, full=name == "full")
        else:
            model = library_model(self.options, tokens, stripped=name == "hf-strip")
        model = model.to(self.options.device)
        if name == "ours-compiled":
            model.compile(fullgraph=True, dynamic=True)  # as training does
        # Compiled in place, so that both ways to the logits use it.
        if name == "hf-compiled":
            model.bert.compile()
            model.cls.compile()
        return model

    def __call__(self, case: Case) -> Callable[[], object]:
        """Return one case as a function without arguments.

        Raises:
            peers.UnavailableError: If the peer cannot run here.
        """
        variant = Variant.parse(case.name)
        training = case.mode == TRAINING
        if variant.model == "hf-compiled" and training and not self.options.compiled_training:
            raise peers.UnavailableError("compiles every layer again; add --compiled_training")
        model, batch = self.model(variant.model, case.tokens), self.batch(case.tokens)
        logits_of = own_logits if variant.model in OWN else library_logits
        autocast = functools.partial(
            torch.autocast,
            self.options.device,
            torch.bfloat16,
            enabled=variant.dtype == "bfloat16",
        )

        def forward() -> object:
            model.eval()
            with torch.no_grad(), autocast():
                return logits_of(model, batch, variant.logits)

        def train() -> None:
            model.train()
            with autocast():
                loss = loss_of(logits_of(model, batch, variant.logits), batch, variant.logits)
            loss.backward()
            model.zero_grad(set_to_none=True)

        return train if training else forward


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=tuple(SIZES), default="base")
    parser.add_argument("--lengths", type=lengths, default=(4096,), help="tokens, with commas")
    parser.add_argument("--variants", help="MODEL/DTYPE[/LOGITS], with commas")
    parser.add_argument("--logits", choices=LOGITS, help="for every variant")
    parser.add_argument("--backend", default="auto", help="of our attention")
    parser.add_argument("--block_size", type=int, default=64)
    parser.add_argument("--num_random", type=int, default=3)
    parser.add_argument("--checkpointing", action="store_true", help="recompute in the backward")
    parser.add_argument("--compiled_training", action="store_true", help="train hf-compiled too")
    parser.add_argument("--memory", action="store_true", help="measure peak memory: twice as long")
    add_common(parser)
    options = parser.parse_args(arguments)
    try:
        texts = (options.variants or DEFAULT[options.device]).split(",")
        variants = [Variant.parse(text) for text in texts]
    except ValueError as error:
        parser.error(f"--variants: {error}")
    if options.logits:
        variants = [variant._replace(logits=options.logits) for variant in variants]
    options.variants = list(dict.fromkeys(variants))
    start(parser, options)
    return options


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    options = parse(arguments)
    print("\n".join(header(options.device)))
    size = ", ".join(f"{name} {value}" for name, value in SIZES[options.size].items())
    print(
        f"# {options.size} model: {size}; blocks of {options.block_size}, {options.num_random} random"
    )
    print(
        f"# batch {options.batch}; median [lowest, highest] of {options.rounds} interleaved rounds; "
        f"our attention backend: {options.backend}"
    )
    print(
        "# a name is model/dtype/logits: MLM logits of all tokens, or of the "
        f"{PREDICTED:.0%} predicted ones only; bfloat16 is autocast",
        flush=True,
    )
    names = [str(variant) for variant in options.variants]
    cases = [Case(t, m, n) for t in options.lengths for m in options.modes for n in names]
    make = Bench(options)
    peak = memory.peaks(make, cases, options.device) if options.memory else {}
    calls, failed = {}, {}
    for case in cases:
        try:
            calls[case] = make(case)
        except FAILURES as error:
            failed[case] = reason(error)
    times, not_run = interleaved(calls, options.rounds, options.device)
    columns = [name for name in names if not name.startswith("ours/")]
    print_cases(cases, times, failed | not_run, peak, columns, options.batch)
    print(f"# load after the run {load()}")
    if (options.size, options.block_size, options.batch) == ("base", 64, 1) or (
        options.device == "cuda" and options.size == "base"
    ):
        print_targets(encoder_targets(times, options.device))


if __name__ == "__main__":
    main()
