"""A tiny model and tiny examples, so that training is tested apart from attention."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.data_modules import pretraining_data
from dna_bigbird.training.pretraining_task import PretrainingTask

VOCAB = 12
PIECE_BP = np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4])


class TinyModel(nn.Module):
    """Dropout and a sum over the sequence: enough to be trained, and to lose exactness."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.tokens = nn.Embedding(VOCAB, 8)
        self.norm = nn.LayerNorm(8)
        self.dropout = nn.Dropout(0.3)
        self.vocabulary = nn.Linear(8, VOCAB)
        self.next = nn.Linear(8, 2)

    def forward(self, token_ids, is_padding, segment_ids, positions):
        hidden = self.dropout(self.norm(self.tokens(token_ids) + segment_ids[..., None] * 0.1))
        whole = (hidden * ~is_padding[..., None]).mean(dim=1, keepdim=True)
        logits = self.vocabulary(hidden + whole).flatten(0, 1)[positions]
        return logits, self.next(whole[:, 0])


class TinyExamples:
    """Numbered examples, each a function of (seed, number)."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def __getitem__(self, index):
        rng = np.random.default_rng([self.seed, index])
        length = int(rng.integers(8, 16))
        ids = rng.integers(5, VOCAB, size=length)
        positions = np.sort(rng.choice(np.arange(1, length), size=3, replace=False))
        labels = ids[positions].copy()
        ids[positions] = 4
        return {
            "token_ids": ids,
            "segment_ids": (np.arange(length) > length // 2).astype(np.int64),
            "positions": positions,
            "labels": labels,
            "is_next": int(rng.integers(2)),
        }


@pytest.fixture
def tiny():
    """The stand-ins by name."""
    return SimpleNamespace(
        Model=TinyModel, Examples=TinyExamples, piece_bp=PIECE_BP, vocab_size=VOCAB
    )


@pytest.fixture
def tiny_run():
    """Function (model, **TrainConfig settings) -> (task, data, config), all fresh."""

    def make(model=TinyModel, **settings):
        values = {"max_steps": 12, "batch_size": 4, "learning_rate": 1e-2, "validate_every": 4}
        values |= {"log_every": 3, "warmup_steps": 2, "precision": "32-true"}
        values |= {"measure_speed": False}
        config = TrainConfig(**(values | settings))
        data = pretraining_data(
            TinyExamples(1),
            TinyExamples(2),
            batch_size=config.batch_size,
            validation_examples=10,
            accumulate=config.accumulate,
            workers=config.workers,
        )
        return PretrainingTask(model(), config, PIECE_BP), data, config

    return make


@pytest.fixture
def muon_run(tiny_run):
    """As tiny_run, with what the paper has not: rotary positions, a stem, Muon, a late decay."""
    sizes = {"hidden_size": 8, "num_layers": 2, "num_heads": 2, "ffn_size": 16, "block_size": 4}
    encoder = EncoderConfig(
        vocab_size=VOCAB,
        max_tokens=16,
        num_random=1,
        norm_first=True,
        dropout=0.0,
        positions="rotary",
        qk_norm=True,
        stem_width=3,
        **sizes,
    )
    recipe = {"optimizer": "muon", "schedule": "stable_decay", "decay_share": 0.5}

    def make(**settings):
        return tiny_run(lambda: PretrainingModel(encoder), **(recipe | settings))

    return make


@pytest.fixture(autouse=True)
def leave_torch_alone():
    """Training asks torch for deterministic algorithms; other tests must not notice."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(False)
