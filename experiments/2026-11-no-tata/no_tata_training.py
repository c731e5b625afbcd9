"""Short trainings of experiments/2026-11-no-tata/no_tata.py: the bundled recipe on part of its rows, and changes of it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from no_tata_rows import OWN, POSITIVE, FoldRows
from torch import nn

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.bundled import bundled_encoder
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.optimisation import build_optimizer

STEPS, EVERY = 150, 50
HEAD = HeadConfig(pooling="parts", parts=60, dropout=0.2)
TRAINING = TrainConfig(
    max_steps=STEPS,
    batch_size=64,
    optimizer="muon",
    learning_rate=0.002,
    muon_learning_rate=0.005,
    weight_decay=0.1,
    gradient_clip=1.0,
    warmup_steps=15,
    validate_every=EVERY,
    precision="bf16-mixed",
)
"""As in config/bundled-promoter.yaml, with 150 steps for 600 and a warm-up of 15 for 40."""
AT_ONCE = 128
NUM_TATA = 300


@dataclass(frozen=True)
class Recipe:
    """What is trained on; the first column of a promoter's rows is the promoter."""

    site_columns: tuple[int, ...] = (0, 1, 2, 3, 4)
    tata_columns: tuple[int, ...] = (0, 1, 2, 3, 4)
    site_share: float = 1.0
    """Share of the sites that is in training."""
    site_times: int = 1
    """How often the rows of sites are shown per pass."""
    background_times: int = 1
    """How often `background` rows are shown per pass."""
    positive_weight: float = 4.0


RECIPES = {
    "shipped": Recipe(),
    "half": Recipe(site_share=0.5),
    "quarter": Recipe(site_share=0.25),
    "no_same_composition": Recipe((0, 1, 4), (0, 1, 4), positive_weight=2.0),
    "only_background": Recipe((POSITIVE, OWN), (POSITIVE, OWN), positive_weight=1.0),
    "own_background": Recipe(site_columns=(POSITIVE, OWN), site_times=8),
    "more_background": Recipe(background_times=3, positive_weight=6.0),
}


def training_rows(rows: FoldRows, recipe: Recipe) -> tuple[np.ndarray, np.ndarray]:
    """Return row numbers of a recipe, and how often each is shown per pass."""
    sites = rows.sites
    if recipe.site_share < 1:
        order = np.random.default_rng([5, rows.fold]).permutation(len(sites))
        sites = sites[np.sort(order[: round(len(sites) * recipe.site_share)])]
    of_sites = sites[:, recipe.site_columns].flatten()
    of_tata = rows.tata[:, recipe.tata_columns].flatten()
    times = np.concatenate([np.full(len(of_sites), recipe.site_times), np.ones(len(of_tata), int)])
    numbers = np.concatenate([of_sites, of_tata])
    if recipe.background_times > 1:
        background = np.concatenate([sites[:, OWN], rows.tata[:, OWN]])
        times[np.isin(numbers, background)] = recipe.background_times
    return numbers, times


class Tokens:
    """Windows of a fold as token ids, (rows, 302)."""

    def __init__(self, rows: FoldRows) -> None:
        self.rows = rows
        self.bundle = load_bundle(bundled_encoder())

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """Return [CLS] window [SEP] of some rows."""
        tokenizer = self.bundle.tokenizer
        ends = tokenizer.cls_id, tokenizer.sep_id
        windows = tokenizer.encode_all(self.rows.sequences(numbers))
        return np.array([np.r_[ends[0], ids, ends[1]] for ids in windows])

    def model(self, seed: int) -> SequenceClassifier:
        """Return the pretrained encoder with a fresh head."""
        encoder = replace(self.bundle.config.encoder, dropout=0.2)
        model = SequenceClassifier(encoder, 1, HEAD, seed=seed)
        model.encoder.load_state_dict(self.bundle.model.encoder.state_dict())
        return model


def train(rows: FoldRows, recipe: Recipe, seed: int, last: int) -> Iterator[tuple[int, dict]]:
    """Yield every 50 steps the step and the logits of the held-out rows.

    Args:
        last: Step after which the training stops; rates fall as for 150 steps.
    """
    tokens = Tokens(rows)
    model = tokens.model(seed)
    held_out = {part: tokens.of(numbers) for part, numbers in rows.held_out.items()}
    numbers, times = training_rows(rows, recipe)
    ids, labels = tokens.of(numbers), rows.labelled.labels_of(numbers).astype(np.float32)
    optimizer, schedule = build_optimizer(model, TRAINING)
    weight = torch.tensor(recipe.positive_weight)
    torch.manual_seed(seed)  # dropout
    model.train()
    for step, batch in enumerate(batches(times, seed, last), start=1):
        loss = nn.functional.binary_cross_entropy_with_logits(
            logits_of(model, ids[batch]), torch.from_numpy(labels[batch]), pos_weight=weight
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(list(model.parameters()), TRAINING.gradient_clip)
        optimizer.step()
        schedule.step()
        if step % EVERY == 0:
            yield step, {part: scores(model, x) for part, x in held_out.items()}


def batches(times: np.ndarray, seed: int, count: int) -> Iterator[np.ndarray]:
    """Yield the indices of each batch: all rows as often as `times` says, shuffled in every pass."""
    rng = np.random.default_rng([seed, 1])
    order = np.repeat(np.arange(len(times)), times)
    queue = np.zeros(0, dtype=np.int64)
    for _ in range(count):
        while len(queue) < TRAINING.batch_size:
            queue = np.concatenate([queue, rng.permutation(order)])
        batch, queue = queue[: TRAINING.batch_size], queue[TRAINING.batch_size :]
        yield batch


def logits_of(model: nn.Module, ids: np.ndarray) -> torch.Tensor:
    """Return the logits (rows, 1) in float32."""
    padding = torch.zeros(ids.shape, dtype=torch.bool)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return model(torch.from_numpy(ids), padding).float()


def scores(model: nn.Module, ids: np.ndarray) -> np.ndarray:
    """Return the logit of each row, without dropout."""
    model.eval()
    parts = np.array_split(ids, max(1, len(ids) // AT_ONCE))
    with torch.no_grad():
        values = [logits_of(model, part)[:, 0].numpy() for part in parts]
    model.train()
    return np.concatenate(values)
