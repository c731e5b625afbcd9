"""Longformer attention: time next to the Hugging Face layer, and time and memory per token by length.

    GOMP_SPINCOUNT=0 python -m benchmarks.speed longformer                     # up to 65,536 tokens, about 10 minutes
    python -m benchmarks.speed longformer --lengths 4096 --no_memory           # the comparison alone

One attention module of the base model with its projections (hidden 768, 12 heads, window 256 on either
side, one global token), forward and backward, float32. Processor time of all threads, in turns, so
another program on the machine disturbs less. Ratios are taken round by round.

longformer     blocked, as `auto` computes it
dilated        the same, but every second token is read by two heads
causal         the same as longformer, but no token reads a later one
relative       as causal, with relative positions and without global tokens
many-global    the same as longformer, with --global_tokens global tokens
dense          the whole score matrix, up to --dense_limit tokens
windows        attention alone: no projection, no global token
hf             LongformerSelfAttention of the installed library, and an output projection, which it lacks
hf-many        the same with --global_tokens global tokens: the peer of many-global
hf-windows     the same layer without projections and global tokens: the peer of windows
"""

import argparse
import sys
from collections.abc import Callable

import torch

from benchmarks.lib.growth import differentiated, report
from benchmarks.lib.options import add_common, lengths, names, start
from benchmarks.lib.timing import TRAINING, Case, header, load
from dna_bigbird.attention.cores import Longformer, RelativeLongformer
from dna_bigbird.attention.cores.longformer import attend_windows
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout

PEERS = {"hf": "longformer", "hf-many": "many-global", "hf-windows": "windows"}
OURS = ("longformer", "dilated", "causal", "relative", "many-global", "dense", "windows")
VARIANTS = (*OURS, *PEERS)
GROWING = ("longformer", "dilated", "relative")
GOAL = 3.0
"""How many times longer the library's layer should take."""


class Copy(torch.nn.Module):
    """In place of a projection."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a copy, because the layer divides its queries in place."""
        return x.clone()


def library_layer(options: argparse.Namespace, case: Case) -> torch.nn.Module:
    """Return the library's layer as a function of states and the layout.

    Raises:
        ValueError: For a length that it does not read.
    """
    if case.tokens % (2 * options.window):
        raise ValueError(f"the library reads multiples of {2 * options.window} tokens")
    from transformers import LongformerConfig
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            config = LongformerConfig(
                hidden_size=options.heads * options.head_dim,
                num_attention_heads=options.heads,
                attention_window=[2 * options.window],
                attention_probs_dropout_prob=0.0,
            )
            self.attention = LongformerSelfAttention(config, layer_id=0)
            self.output = torch.nn.Linear(config.hidden_size, config.hidden_size)
            if case.name == "hf-windows":
                self.attention.query = self.attention.key = self.attention.value = Copy()
                self.output = torch.nn.Identity()

        def forward(self, x: torch.Tensor, layout: LongformerLayout) -> torch.Tensor:
            (out,) = self.attention(
                x,
                attention_mask=layout.is_global.float() * 10000,
                is_index_masked=layout.is_padding,
                is_index_global_attn=layout.is_global,
                is_global_attn=bool(layout.num_global),
            )
            return self.output(out)

    return Layer()


def own_layer(options: argparse.Namespace, case: Case) -> torch.nn.Module:
    """Return our module."""
    dilated = (1,) * (options.heads - 2) + (2, 2)
    pattern = LongformerPattern(
        options.window,
        dilated if case.name == "dilated" else (1,),
        is_causal=case.name in ("causal", "relative"),
    )
    if case.name == "relative":
        return RelativeLongformer(options.heads * options.head_dim, options.heads, pattern)
    backend = "dense" if case.name == "dense" else "blocked"
    return Longformer(
        options.heads * options.head_dim, options.heads, pattern, dropout_p=0.0, backend=backend
    )


def prepare(options: argparse.Namespace, case: Case) -> Callable[[], object]:
    """Return one case, forward and backward, as a function without arguments."""
    torch.manual_seed(0)
    is_global = torch.zeros(1, case.tokens, dtype=torch.bool)
    if not case.name.endswith("windows"):
        is_global[:, : options.global_tokens if "many" in case.name else 1] = True
    layout = LongformerLayout(torch.zeros_like(is_global), is_global)
    if case.name == "windows":
        shape = (1, options.heads, case.tokens, options.head_dim)
        inputs = tuple(torch.randn(shape, requires_grad=True) for _ in range(3))
        pattern = LongformerPattern(options.window)
        return differentiated(
            lambda: attend_windows(*inputs, pattern, layout, backend="blocked"), inputs
        )
    layer = (library_layer if case.name in PEERS else own_layer)(options, case)
    x = torch.randn(1, case.tokens, options.heads * options.head_dim, requires_grad=True)
    if case.name == "relative":
        return differentiated(lambda: layer(x), (x, *layer.parameters()))
    return differentiated(lambda: layer(x, layout), (x, *layer.parameters()))


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lengths", type=lengths, default=(4096, 16384, 65536))
    parser.add_argument("--variants", type=names(VARIANTS), default=VARIANTS)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--head_dim", type=int, default=64)
    parser.add_argument("--window", type=int, default=256, help="on either side")
    parser.add_argument("--global_tokens", type=int, default=64, help="of many-global and hf-many")
    parser.add_argument("--dense_limit", type=int, default=2048, help="tokens of dense")
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
        f"# batch 1, {options.heads} heads of {options.head_dim}, window {options.window} on either "
        f"side; float32, {TRAINING}; processor time, median [lowest, highest] of {options.rounds} "
        f"interleaved rounds"
    )
    sys.stdout.flush()
    cases = [
        Case(tokens, TRAINING, name)
        for tokens in options.lengths
        for name in options.variants
        if name in GROWING
        or tokens <= (options.dense_limit if name == "dense" else options.peer_limit)
    ]
    report(options, cases, prepare, reference="longformer", peers=PEERS, growing=GROWING, goal=GOAL)
    print(f"# load after the run {load()}")


if __name__ == "__main__":
    main()
