"""Performer attention: time next to another implementation and exact attention, and growth by length.

    GOMP_SPINCOUNT=0 python -m benchmarks.speed performer                      # up to 16,384 tokens
    python -m benchmarks.speed performer --lengths 4096 --no_memory            # the comparison alone

Heads of the base model (12 of 64, 266 features), forward and backward, float32. Processor time of all
threads, in turns, so another program on the machine disturbs less. Ratios are taken round by round.

performer      one module with its projections
causal         the same, but no token reads a later one
relu           the same as performer with the ReLU kernel
full           exact softmax attention of PyTorch with the same projections, up to --full_limit tokens
heads          attention alone, without projections of the states
heads-causal   the same, causal
peer           FastAttention of performer-pytorch, if it is installed: the peer of heads
peer-causal    the same, causal: the peer of heads-causal
"""

import argparse
import sys
from collections.abc import Callable

import torch
import torch.nn.functional as F

from benchmarks.lib.growth import differentiated, report
from benchmarks.lib.options import add_common, lengths, names, start
from benchmarks.lib.timing import TRAINING, Case, header, load
from dna_bigbird.attention.cores import Performer
from dna_bigbird.attention.cores.performer import attend_favor
from dna_bigbird.attention.favor_features import Favor

PEERS = {"peer": "heads", "peer-causal": "heads-causal", "full": "performer"}
VARIANTS = ("performer", "causal", "relu", "full", "heads", "heads-causal", "peer", "peer-causal")
GROWING = ("performer", "causal")


class Exact(Performer):
    """The same projections around exact softmax attention."""

    def forward(self, x_BTE: torch.Tensor) -> torch.Tensor:
        """Return the attention output."""
        heads = self.qkv(x_BTE).unflatten(-1, (3, self.num_heads, self.head_dim))
        mixed = F.scaled_dot_product_attention(*heads.permute(2, 0, 3, 1, 4))
        return self.output(mixed.transpose(1, 2).flatten(2))


def layer(options: argparse.Namespace, case: Case) -> torch.nn.Module:
    """Return a module with projections."""
    module = Exact if case.name == "full" else Performer
    return module(
        options.heads * options.head_dim,
        options.heads,
        favor=Favor("relu" if case.name == "relu" else "softmax"),
        is_causal=case.name == "causal",
        redraw_interval=None,
    )


def heads_alone(options: argparse.Namespace, case: Case) -> Callable[..., torch.Tensor]:
    """Return attention as a function of q, k, v.

    Raises:
        ValueError: If the peer is not installed.
    """
    projection = layer(options, case).projection
    causal = case.name.endswith("causal")
    if case.name.startswith("peer"):
        try:
            from performer_pytorch import FastAttention
        except ImportError as error:
            raise ValueError("performer_pytorch is not installed") from error
        peer = FastAttention(options.head_dim, len(projection), causal=causal)
        peer.projection_matrix.copy_(projection)
        return peer
    return lambda q, k, v: attend_favor(q, k, v, projection, Favor(), None, causal)


def prepare(options: argparse.Namespace, case: Case) -> Callable[[], object]:
    """Return one case, forward and backward, as a function without arguments."""
    torch.manual_seed(0)
    if case.name.startswith(("heads", "peer")):
        shape = (1, options.heads, case.tokens, options.head_dim)
        inputs = tuple(torch.randn(shape, requires_grad=True) for _ in range(3))
        attend = heads_alone(options, case)
        return differentiated(lambda: attend(*inputs), inputs)
    module = layer(options, case)
    x = torch.randn(1, case.tokens, options.heads * options.head_dim, requires_grad=True)
    return differentiated(lambda: module(x), (x, *module.parameters()))


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lengths", type=lengths, default=(1024, 4096, 16384))
    parser.add_argument("--variants", type=names(VARIANTS), default=VARIANTS)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--head_dim", type=int, default=64)
    parser.add_argument("--full_limit", type=int, default=4096, help="tokens of full")
    parser.add_argument(
        "--peer_limit", type=int, default=4096, help="tokens of all but two variants"
    )
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
        f"# batch 1, {options.heads} heads of {options.head_dim}; float32, {TRAINING}; processor "
        f"time, median [lowest, highest] of {options.rounds} interleaved rounds"
    )
    sys.stdout.flush()
    cases = [
        Case(tokens, TRAINING, name)
        for tokens in options.lengths
        for name in options.variants
        if name in GROWING
        or tokens <= (options.full_limit if name == "full" else options.peer_limit)
    ]
    report(options, cases, prepare, reference="performer", peers=PEERS, growing=GROWING)
    print(f"# load after the run {load()}")


if __name__ == "__main__":
    main()
