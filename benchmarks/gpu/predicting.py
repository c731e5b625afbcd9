"""Part (f) of gpu.py: windows per second, from strings of bases to probabilities of both strands."""

import functools
import statistics
from pathlib import Path

import numpy as np

from benchmarks.gpu.rows import Row, Values
from benchmarks.gpu.settings import Settings
from benchmarks.gpu.steps import fresh
from benchmarks.lib.timing import seconds
from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.bundled import bundled_model
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.metrics import Metrics
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor

BASE, BUNDLED = "base model, random weights", "bundled promoter model"
ROUNDS = 3


def rows(settings: Settings) -> list[Row]:
    """Return one row per model and backend."""
    return [
        Row(
            {"model": model, "backend": name},
            functools.partial(measure, settings, model, name),
            60.0 if name == "flex" else 25.0,
            3 if name != settings.main_backend else 1 if model == BASE else 2,
        )
        for model in (BASE, BUNDLED)
        for name in settings.backends
    ]


def base_bundle(settings: Settings) -> Bundle:
    """Return the paper's base model with one label, random weights and pieces of about four bases."""
    tokenizer = pieces()
    encoder, head = settings.encoder(**_context(settings, tokenizer)), HeadConfig()
    described = {
        "task": "promoter",
        "encoder": encoder,
        "head": head,
        "label_names": ["promoter"],
        "window_bp": settings.sizes.window_bp,
    }
    config = BundleConfig.from_json(described)
    model = fresh(lambda: SequenceClassifier(encoder, 1, head), "cpu").eval()
    return Bundle(model, config, tokenizer, Metrics.from_json({}), Path("base"))


def pieces() -> DnaTokenizer:
    """Return a vocabulary of 512 pieces learned on random bases."""
    rng = np.random.default_rng(0)
    text = ["".join(rng.choice(list("ACGT"), 1000)) for _ in range(200)]
    config = TokenizerConfig(vocab_size=512, max_piece_bp=6)
    return DnaTokenizer.from_bytes(train_tokenizer(iter(text), config))


def _context(settings: Settings, tokenizer: DnaTokenizer) -> dict[str, int]:
    return {"vocab_size": max(settings.encoder().vocab_size, tokenizer.vocab_size)}


def measure(settings: Settings, model: str, backend: str) -> Values:
    """Time the prediction of random windows."""
    sizes = settings.sizes
    bundle = base_bundle(settings) if model == BASE else load_bundle(bundled_model())
    rng = np.random.default_rng(0)
    windows = ["".join(rng.choice(list("ACGT"), sizes.window_bp)) for _ in range(sizes.windows)]
    predictor = Predictor(bundle, compute=Compute(device=settings.device, backend=backend))
    predictor.probabilities(windows[: max(len(windows) // 8, 1)])
    times = [
        seconds(lambda: predictor.probabilities(windows), settings.device) for _ in range(ROUNDS)
    ]
    tokens = [len(bundle.tokenizer.encode(window)) for window in windows[:16]]
    return {
        "windows": len(windows),
        "bases": sizes.window_bp,
        "tokens, mean": statistics.mean(tokens),
        "precision": predictor.compute.precision,
        "windows/s": len(windows) / statistics.median(times),
        "bases/s, one strand counted": len(windows) * sizes.window_bp / statistics.median(times),
    }
