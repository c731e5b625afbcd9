"""Every recipe against `published_settings.tsv`: what its model, optimizer, schedule and options have when built."""

from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import yaml
from torch import nn

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.cli.main import build_parser
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.text.set_options import new_task
from dna_bigbird.text.text_train_run import encoder_settings, start_model
from dna_bigbird.training.optimisation import build_optimizer
from tests.text_bundle import write_text_bundle

ROOT = Path(__file__).parents[3]
CONFIGS = ROOT / "config" / "text"
SETS = ("arxiv", "pubmed", "bigpatent", "cnn-dailymail", "xsum")
TINY = {
    "vocab_size": 200, "hidden_size": 32, "num_layers": 1, "num_heads": 2, "ffn_size": 32, "max_tokens": 256,
    "block_size": 8,
}  # fmt: skip


def text_recipes() -> dict[str, tuple[str, ...]]:
    """Return the files of each recipe by its name in the table."""
    found = {}
    for path in sorted(CONFIGS.rglob("*.yaml")):
        name = str(path.relative_to(CONFIGS).with_suffix(""))
        if name.startswith("glue/"):
            found[name] = ("glue/recipe", name)
        elif not name.startswith(
            ("characters", "summarization/", "full-512", "squad", "longformer/")
        ):
            found[name] = (name,)
    for size in ("base", "large"):
        found |= {f"{size}/{x}": (f"summarization/{size}", f"summarization/{x}") for x in SETS}
    del found["glue/recipe"]
    return found


RECIPES = text_recipes()
DNA = ("grch37/pretraining", "grch37/promoter", "grch37/chromatin")
LINES = (Path(__file__).parent / "published_settings.tsv").read_text().splitlines()[1:]
ROWS = [
    (name, *line.split("\t"))
    for line in LINES
    for name in (*RECIPES, *DNA)
    if any(fnmatch(name, glob) for glob in line.split("\t")[1].split())
]


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    """Pretrained models: as the recipes of pretraining and `warm-start` leave them, in a small size."""
    folder = tmp_path_factory.mktemp("starts")
    write_text_bundle(folder / "bigbird", max_tokens=4096)
    write_text_bundle(folder / "full", max_tokens=4096, attention="full", attention_dropout=0.1)
    write_text_bundle(
        folder / "etc", max_tokens=4096, attention="etc", num_segments=16, attention_dropout=0.1
    )
    return cache(lambda name: load_bundle(folder / name))


@pytest.fixture(scope="module")
def built(starts):
    return cache(lambda name, attention=None: build(name, attention, starts))


def build(name: str, attention: str | None, starts: Callable) -> SimpleNamespace:
    """Return settings, model, optimizer and schedule of a recipe."""
    if name in DNA:
        return built_dna(name.removeprefix("grch37/"), attention)
    is_pretraining = "pretrain-" in name
    start = "--tokenizer" if is_pretraining else "--pretrained"
    paths = ["--train=x", "--validation=x", "--output=x", "--checkpoints=x", f"{start}=x"]
    argv = [*(f"--config={CONFIGS / file}.yaml" for file in RECIPES[name]), *paths]
    parser, _ = build_parser("text pretrain" if is_pretraining else "text train", argv)
    found = SimpleNamespace(**read_arguments(parser, argv))
    if is_pretraining:
        return finished(found, PretrainingModel(replace(found.model, **TINY), heads=("mlm",)))
    bundle = starts("etc" if name.startswith("etc/") else attention or "bigbird")
    changes = EncoderChanges(
        global_blocks=found.global_blocks, attention_dropout=found.attention_dropout, etc=found.etc
    )
    task = new_task(found.task, getattr(found, "set", None), found.options, found.head)
    encoder = encoder_settings(task, bundle, found.dropout, changes, True)
    task = task.changed(head=task.head_from(bundle.config), encoder=encoder, labels=["a", "b", "c"])
    return finished(found, start_model(task, bundle, encoder, 0, True))


def built_dna(section: str, attention: str | None) -> SimpleNamespace:
    run = yaml.safe_load((ROOT / "config" / "grch37.yaml").read_text())
    of_full = run["experiments"]["variants"]["full_512"]["model"] if attention == "full" else {}
    settings = EncoderConfig(vocab_size=run["tokenizer"]["vocab_size"], **run["model"] | of_full)
    encoder = replace(settings, **TINY)
    training = run[section] if section == "pretraining" else run[section]["training"]
    model = PretrainingModel(encoder)
    if section != "pretraining":
        model = SequenceClassifier(encoder, 2)
    return finished(SimpleNamespace(model=settings, training=TrainConfig(**training)), model)


def finished(found: SimpleNamespace, model: nn.Module) -> SimpleNamespace:
    found.built = model
    found.optimizer, found.schedule = build_optimizer(model, found.training)
    return found


def only(values) -> object:
    """Return the value that all are."""
    (value,) = set(values)
    return value


def attention_dropout(found) -> float:
    modules = found.built.encoder.modules()
    return only(x.dropout_p for x in modules if hasattr(x, "dropout_p"))


def decoder_dropout(found) -> float:
    decoder = found.built.decoder
    return only([decoder.config.attention_dropout, *(x.dropout_p for x in decoder.cross)])


def largest_tokens(found) -> int:
    options = getattr(found, "options", None)
    return (
        found.model.max_tokens
        if options is None
        else getattr(options, "max_source_tokens", None) or options.max_tokens
    )


def decay_of_matrices(found) -> float:
    groups = found.optimizer.param_groups
    assert all(not g["weight_decay"] for g in groups if any(p.ndim < 2 for p in g["params"]))
    return max(g["weight_decay"] for g in groups)


def batch(found) -> int:
    training = found.training
    return training.batch_size * training.accumulate * training.processes


MEASURED: dict[str, Callable] = {
    "layers, heads, width, inner width": lambda x: (
        x.model.num_layers, x.model.num_heads, x.model.hidden_size, x.model.ffn_size
    ),
    "tokens": largest_tokens,
    "block, window, random, global blocks": lambda x: (
        x.model.block_size, x.model.window_blocks, x.model.num_random, x.model.global_blocks
    ),
    "attention": lambda x: x.model.attention,
    "radius, largest distance": lambda x: (x.model.etc.radius, x.model.etc.max_distance),
    "batch": batch,
    "optimizer": lambda x: type(x.optimizer).__name__,
    "learning rate": lambda x: only(g["initial_lr"] for g in x.optimizer.param_groups),
    "steps, warm-up": lambda x: (x.training.max_steps, x.training.warmup_steps),
    "warm-up": lambda x: x.training.warmup_steps,
    "warm-up share": lambda x: x.training.warmup_steps / x.training.max_steps,
    "examples read": lambda x: x.training.max_steps * batch(x),
    "weight decay": decay_of_matrices,
    "beta2": lambda x: only(g["betas"][1] for g in x.optimizer.param_groups),
    "epsilon": lambda x: only(g["eps"] for g in x.optimizer.param_groups),
    "clip": lambda x: x.training.gradient_clip,
    "dropout": lambda x: only(
        m.p for m in x.built.encoder.modules() if isinstance(m, nn.Dropout)
    ),
    "head dropout": lambda x: x.built.head.dropout.p,
    "attention dropout": attention_dropout,
    "decoder's attention dropout": decoder_dropout,
    "masked share": lambda x: x.masking.fraction,
    "global tokens": lambda x: x.options.max_global_tokens,
    "global blocks": lambda x: x.built.encoder.config.global_blocks,
    "tokens, target tokens": lambda x: (x.options.max_source_tokens, x.options.max_target_tokens),
    "beams": lambda x: x.options.beam_size,
    "length penalty": lambda x: x.options.length_penalty,
    "label smoothing": lambda x: x.options.label_smoothing,
    "weight of positives": lambda x: x.training.positive_weight,
}  # fmt: skip
SCHEDULES: dict[str, Callable] = {
    "linear": lambda s, W, N: (N - s) / (N - W),
    "linear_from_zero": lambda s, W, N: 1 - s / N,
    "inverse_sqrt": lambda s, W, N: (W / s) ** 0.5,
}
ROUNDED = {"examples read": 0.03, "warm-up share": 0.02}


@pytest.mark.parametrize(
    ("name", "table", "recipes", "row", "value", "source"),
    ROWS,
    ids=[f"table {x[1]}-{x[0]}-{x[3]}" for x in ROWS],
)
def test_a_recipe_has_the_published_value(name, table, recipes, row, value, source, built):
    if row == "schedule":
        found = built(name)
        assert found.training.schedule == value
        W, N = found.training.warmup_steps, found.training.max_steps
        for step in torch.linspace(0, N - 1, 20).long().tolist():
            share = step / W if step < W else SCHEDULES[value](step, W, N)
            assert found.schedule.lr_lambdas[0](step) == pytest.approx(share), step
        return
    bare = row.removesuffix(" if full")
    measured = MEASURED[bare](built(name, *(["full"] if bare != row else [])))
    shown = " ".join(map(str, measured)) if isinstance(measured, tuple) else measured
    if isinstance(shown, str):
        assert shown == value
    else:
        assert shown == pytest.approx(float(value), rel=ROUNDED.get(row, 1e-9))


def test_the_table_has_every_recipe_and_no_other():
    assert {row[0] for row in ROWS} == {*RECIPES, *DNA}
    globs = {glob for line in LINES for glob in line.split("\t")[1].split()}
    assert [x for x in globs if not any(fnmatch(name, x) for name in (*RECIPES, *DNA))] == []
