"""The furthest vector, learned: one full layer next to sparse layers of growing depth (docs/explanation/theory.md).

    python experiments/2026-11-furthest-vector/furthest.py --output results/furthest

Every token is a random unit vector with a label; the answer at each token is the label of the token
whose vector is furthest from its own (the task of Appendix C; a label, because the vector itself is
nearly guessed as the negative of the own one). Layers are those of this package's models, norm
first. Sparse ones read three neighbouring blocks, the first and the last block, and one random block
of four tokens; every layer has random blocks of its own. All are trained for equally many steps on
fresh examples, and scored on 4,096 new tokens or more. An illustration: what is not learned here may
be expressible.

Writes furthest.tsv and furthest.png. `read` is the share of answers that one layer reads directly.
"""

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from dna_bigbird.attention.packing import Packing
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import EncoderLayer

# B batch, N vectors, D dimensions, E hidden size

LABELS = 8
DIMS = 8
BLOCK = 4
ARMS = {"full, 1 layer": ("full", 1)} | {
    f"sparse, {depth} layer{'s' * (depth > 1)}": ("bigbird", depth) for depth in (1, 2, 4)
}
COLUMNS = ("arm", "vectors", "accuracy", "chance", "read", "tokens", "steps", "seed")


class Finder(nn.Module):
    """Vectors with labels to the label of the furthest vector."""

    def __init__(self, attention: str, depth: int, hidden: int, seed: int) -> None:
        super().__init__()
        config = EncoderConfig(
            hidden_size=hidden, num_layers=depth, num_heads=4, ffn_size=2 * hidden, block_size=BLOCK,
            attention=attention, num_random=1, pattern_seed=seed, norm_first=True, dropout=0.0,
            attention_dropout=0.0,
        )  # fmt: skip
        self.first = nn.Linear(DIMS + LABELS, hidden)
        self.layers = nn.ModuleList(EncoderLayer(config, i) for i in range(depth))
        self.norm = nn.LayerNorm(hidden)
        self.last = nn.Linear(hidden, LABELS)

    def forward(self, x_BNE: Tensor) -> Tensor:
        """Return logits (batch, vectors, labels)."""
        B, N, _ = x_BNE.shape
        packing = Packing.of(torch.zeros(B, N, dtype=torch.bool), BLOCK, None)
        x_PE = self.first(x_BNE).flatten(0, 1)
        for layer in self.layers:
            x_PE = layer(x_PE, packing)
        return self.last(self.norm(x_PE)).view(B, N, LABELS)


def draw(batch: int, vectors: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Return inputs (B, N, D + labels), answers (B, N) and the furthest vector's number (B, N)."""
    u_BND = torch.randn(batch, vectors, DIMS, generator=generator)
    u_BND = u_BND / u_BND.norm(dim=-1, keepdim=True)
    labels_BN = torch.randint(LABELS, (batch, vectors), generator=generator)
    furthest_BN = (u_BND @ u_BND.mT).argmin(dim=-1)
    x_BNE = torch.cat([u_BND * DIMS**0.5, nn.functional.one_hot(labels_BN, LABELS)], dim=-1)
    return x_BNE, labels_BN.gather(1, furthest_BN), furthest_BN


def train(arm: str, vectors: int, steps: int, hidden: int, seed: int) -> dict:
    """Train one arm on examples with this many vectors, and score it."""
    attention, depth = ARMS[arm]
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Finder(attention, depth, hidden, seed)
    batch = max(1, 2048 // vectors)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, steps, pct_start=0.1)
    for _ in range(steps):
        x_BNE, answers_BN, _ = draw(batch, vectors, generator)
        loss = nn.functional.cross_entropy(model(x_BNE).flatten(0, 1), answers_BN.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return score(model, arm, vectors, steps, seed)


@torch.no_grad()
def score(model: Finder, arm: str, vectors: int, steps: int, seed: int) -> dict:
    """Return a row of the table, on new examples."""
    held_out = torch.Generator().manual_seed(10_000 + seed)
    x_BNE, answers_BN, furthest_BN = draw(max(8, 4096 // vectors), vectors, held_out)
    right = (model(x_BNE).argmax(dim=-1) == answers_BN).float().mean()
    pattern = model.layers[0].attention.pattern(vectors)
    blocks = torch.from_numpy(pattern.times() > 0).any(dim=0)
    reads = blocks.repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)[:vectors, :vectors]
    read = reads[torch.arange(vectors).expand_as(furthest_BN), furthest_BN].float().mean()
    shares = [f"{share:.3f}" for share in (right, 1 / LABELS, read)]
    values = (arm, vectors, *shares, answers_BN.numel(), steps, seed)
    return dict(zip(COLUMNS, values, strict=True))


def picture(rows: Sequence[dict], path: Path) -> None:
    """Draw accuracy by the number of vectors, one line per arm."""
    from dna_bigbird.core.figures import style as house

    looks = [(house.MODEL, "-"), (house.KMER, ":"), (house.KMER, "--"), (house.KMER, "-")]
    with house.style():
        figure = house.new_figure(5.6, 3.6)
        axes = figure.subplots()
        for arm, (colour, dashes) in zip(ARMS, looks, strict=True):
            own = [row for row in rows if row["arm"] == arm]
            counts = [row["vectors"] for row in own]
            accuracy = [float(row["accuracy"]) for row in own]
            axes.plot(counts, accuracy, marker="o", ms=4, color=colour, ls=dashes, label=arm)
        axes.axhline(1 / LABELS, color=house.GREY, lw=0.9, label="chance")
        axes.set_xscale("log", base=2)
        ticks = sorted({row["vectors"] for row in rows})
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.set(xlabel="vectors", ylabel="accuracy on new examples", ylim=(0, 1.03))
        figure.legend(loc="outside right upper")
    with atomic_path(path) as out:
        out.write_bytes(house.save(figure, "png"))


def main(words: Sequence[str] | None = None) -> None:
    """Train every arm at every number of vectors, write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--vectors", type=int, nargs="+", default=[16, 32, 64, 128])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    torch.set_num_threads(1)
    options.output.mkdir(parents=True, exist_ok=True)
    rows = []
    for vectors in options.vectors:
        for arm in ARMS:
            rows.append(train(arm, vectors, options.steps, options.hidden, options.seed))
            print(*rows[-1].values(), sep="\t", flush=True)
    with atomic_path(options.output / "furthest.tsv") as path, path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    picture(rows, options.output / "furthest.png")


if __name__ == "__main__":
    main()
