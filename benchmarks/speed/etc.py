"""BigBird-ETC attention: time and memory per token by length, next to the dense form and to ITC.

    GOMP_SPINCOUNT=0 python -m benchmarks.speed etc                    # base size, up to 65,536 tokens, about 20 minutes
    python -m benchmarks.speed etc --lengths 4096 --variants etc,itc   # one comparison

One attention module of the base model with its projections (hidden 768, 12 heads, radius 84, 256
global tokens), forward and backward, float32. Processor time of all threads, in turns, so another
program on the machine disturbs less. Ratios are taken round by round.

etc            blocked, as `auto` computes it
etc-dense      the whole score matrix, up to --dense_limit tokens
etc-no-labels  blocked without the term of the labels: another function, what labels cost
etc-no-global  blocked with a single global token: what the global stream costs
itc            BigBird-ITC with a window of 252 tokens (three blocks of 84), 3 random, 2 global blocks
itc-64         BigBird-ITC with blocks of 64 as the paper's base model
"""

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from unittest.mock import patch

import torch

from benchmarks.lib.growth import measure, print_growth, print_table
from benchmarks.lib.options import add_common, lengths, names, start
from benchmarks.lib.timing import TRAINING, Case, header, load
from dna_bigbird.attention.backends import etc_global, etc_long
from dna_bigbird.attention.cores import BigBirdEtc, BigBirdItc
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import EtcLayout

VARIANTS = ("etc", "etc-dense", "etc-no-labels", "etc-no-global", "itc", "itc-64")


@contextlib.contextmanager
def without_labels() -> Iterator[None]:
    """Leave out the labels of the blocked form."""

    def nothing(*_: object) -> None:
        return None

    def zeros(_: object, of_scores: torch.Tensor, num_labels: int) -> torch.Tensor:
        return of_scores.new_zeros(1, 1, 1, 1, 1).expand(*of_scores.shape[:-1], num_labels).clone()

    def no_gradient(of_scores: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        return of_scores.new_zeros(*of_scores.shape[:-1], 2)

    def no_scores(heads: object, labels: list[int] | slice = slice(None)) -> torch.Tensor:
        B, H, Q, _ = heads.q.shape
        zero = heads.label_biases[labels].T.reshape(1, H, 1, -1) * 0
        return zero.expand(B, H, Q, -1)

    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.object(etc_long.Band, "add_labels", nothing))
        stack.enter_context(patch.object(etc_long.Band, "label_gradient", zeros))
        for module in (etc_long, etc_global):
            stack.enter_context(patch.object(module, "add_cross_labels", nothing))
            stack.enter_context(patch.object(module, "cross_label_gradient", no_gradient))
            stack.enter_context(patch.object(module, "label_scores", no_scores))
        yield


def etc_layout(tokens: int, num_global: int) -> EtcLayout:
    """Return even sentences, one per global token, without padding."""
    owners = torch.arange(tokens) * num_global // tokens
    return EtcLayout.of_owners(
        owners[None, :, None],
        torch.zeros(1, tokens, dtype=torch.bool),
        torch.zeros(1, num_global, dtype=torch.bool),
    )


def prepare(options: argparse.Namespace, case: Case) -> Callable[[], object]:
    """Return one case, forward and backward, as a function without arguments."""
    torch.manual_seed(0)
    hidden = options.heads * options.head_dim
    x_long = torch.randn(1, case.tokens, hidden, requires_grad=True)
    if case.name.startswith("itc"):
        block = 64 if case.name == "itc-64" else options.radius
        core = BigBirdItc(
            hidden, options.heads, block_size=min(block, case.tokens), num_random=3,
            plan="uniform", seed=0,
        )  # fmt: skip
        inputs, outputs = (x_long,), lambda: (core(x_long),)
    else:
        num_global = 1 if case.name == "etc-no-global" else options.global_tokens
        backend = "dense" if case.name == "etc-dense" else "blocked"
        pattern = EtcPattern(options.radius, max_distance=options.max_distance)
        core = BigBirdEtc(hidden, options.heads, pattern, dropout_p=0.0, backend=backend)
        x_global = torch.randn(1, num_global, hidden, requires_grad=True)
        layout = etc_layout(case.tokens, num_global)
        inputs, outputs = (x_long, x_global), lambda: core(x_long, x_global, layout)

    def call() -> object:
        with without_labels() if case.name == "etc-no-labels" else contextlib.nullcontext():
            out = outputs()
            used = (*inputs, *core.parameters())
            weights = [torch.ones_like(x) for x in out]
            return torch.autograd.grad(out, used, weights, allow_unused=True)

    return call


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lengths", type=lengths, default=(4096, 16384, 65536))
    parser.add_argument("--variants", type=names(VARIANTS), default=VARIANTS)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--head_dim", type=int, default=64)
    parser.add_argument("--radius", type=int, default=84)
    parser.add_argument("--max_distance", type=int, default=12)
    parser.add_argument("--global_tokens", type=int, default=256)
    parser.add_argument("--dense_limit", type=int, default=4096, help="tokens of etc-dense")
    parser.add_argument("--peer_limit", type=int, default=4096, help="tokens of all others but etc")
    parser.add_argument("--no_memory", action="store_true", help="do not measure peak memory")
    add_common(parser, only_cpu=True)
    options = parser.parse_args(arguments)
    start(parser, options)
    return options


def main(arguments: list[str] | None = None) -> None:
    """Print times, memory and ratios."""
    options = parse(arguments)
    print("\n".join(header("cpu")))
    print(
        f"# batch 1, {options.heads} heads of {options.head_dim}, radius {options.radius}, "
        f"{options.global_tokens} global tokens; float32, {TRAINING}; processor time, median "
        f"[lowest, highest] of {options.rounds} interleaved rounds"
    )
    sys.stdout.flush()
    cases = [
        Case(tokens, TRAINING, name)
        for tokens in options.lengths
        for name in options.variants
        if name == "etc"
        or tokens <= (options.dense_limit if name == "etc-dense" else options.peer_limit)
    ]
    times, failed, peak = measure(options, cases, prepare)
    print_table(cases, times, failed, peak, reference="etc")
    print_growth([case for case in cases if case.name == "etc"], times, peak)
    print(f"# load after the run {load()}")


if __name__ == "__main__":
    main()
