"""Bundles of text tasks: they come back as saved; settings that describe no model are one line."""

import json
from dataclasses import asdict

import pytest
import torch

from dna_bigbird.bundles import text_tasks
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.card import model_card
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.bundles.weights import build_model
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.stored_settings import settings_from
from dna_bigbird.text.tasks.task import task_class, task_for_set
from tests.text_vocabulary import tiny_text_tokenizer

ENCODER = EncoderConfig(
    vocab_size=409, hidden_size=16, num_layers=2, num_heads=2, ffn_size=32, max_tokens=64,
    block_size=16, num_random=1,
)  # fmt: skip


def config_of(task, **changes):
    labels = ["no", "yes"] if task in ("text-classification", "glue") else []
    return {
        "task": task,
        "set": task,
        "reads": "text",
        "encoder": asdict(ENCODER),
        "head": asdict(text_tasks.describe(task).head_type()()),
        "options": asdict(text_tasks.describe(task).options()),
        "label_names": labels,
    } | changes


def write(folder, made="text-classification", **changes):
    """Write a bundle, then change its config.json."""
    config = config_of(made)
    model = build_model(config)
    generator = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator)
    save_bundle(
        folder,
        model=model,
        config=config,
        tokenizer=tiny_text_tokenizer(),
        metrics={"accuracy": 0.5, "n": 2, "split": "test", "seed": 0},
        card=model_card(config, {"accuracy": 0.5, "n": 2, "split": "test", "seed": 0}),
    )
    path = folder / "config.json"
    changed = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({k: v for k, v in changed.items() if v is not ...}))
    return model


def test_every_task_is_known_everywhere():
    assert {task.name for task, _ in text_tasks.sets().values()} == set(text_tasks.tasks())


@pytest.mark.parametrize("task", text_tasks.tasks())
def test_a_task_comes_back(tmp_path, task):
    model = write(tmp_path, task)
    found = load_bundle(tmp_path)
    found.check_text_task()
    state = model.state_dict()
    assert state.keys() == found.model.state_dict().keys()
    for name, tensor in found.model.state_dict().items():
        assert torch.equal(tensor, state[name]), name
    assert found.config["head"] == config_of(task)["head"]
    assert f"# BigBird for text: {task}" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("plan", ["original", "huggingface"])
def test_a_published_plan_with_the_first_two_blocks_global_comes_back(tmp_path, plan):
    """It computes the same, and not what the published global blocks give."""
    settings = asdict(ENCODER) | {"block_size": 4, "random_plan": plan}
    write(tmp_path / "published", encoder=settings)
    write(tmp_path / "moved", encoder=settings | {"global_blocks": "first_two"})
    moved = load_bundle(tmp_path / "moved")
    save_bundle(
        tmp_path / "again",
        model=moved.model,
        config=moved.config,
        tokenizer=moved.tokenizer,
        metrics=moved.metrics,
        card="# again\n",
    )
    ids_BT = torch.arange(120).view(2, 60) + 10
    published, first, second = (
        load_bundle(tmp_path / name).model.encoder(ids_BT, ids_BT < 0)
        for name in ("published", "moved", "again")
    )
    assert torch.equal(first, second)
    assert not torch.allclose(first, published)


@pytest.mark.parametrize("task", text_tasks.tasks())
def test_settings_survive_json(task):
    """A bundle keeps them as JSON; what they are is checked by type and by their own rules."""
    description = text_tasks.describe(task)
    for kind in (description.head_type(), description.options):
        made = kind()
        assert settings_from(kind, json.loads(json.dumps(asdict(made)))) == made
    assert task_class(task).description is description


def test_every_set_has_a_task():
    for name in text_tasks.sets():
        kind = task_for_set(name)
        assert getattr(kind.options, "set", name) == name


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"head": {"pooling": "middle"}}, "head: pooling='middle'"),
        ({"head": {"activation": "silu"}}, "head: activation='silu'"),
        ({"head": {"depth": 1}}, "head: unknown setting 'depth'"),
        ({"head": ...}, "head is missing"),
        ({"options": ...}, "options is missing"),
        ({"options": []}, "options: expected an object, found list"),
        ({"options": {"max_tokens": True}}, "options: max_tokens is True, expected a whole number"),
        ({"options": {"max_tokens": 0}}, "options: max_tokens 0"),
        ({"options": {"set": "imbd"}}, "options: set='imbd'"),
        ({"label_names": []}, "label_names must have at least one name"),
        ({"label_names": ["a\nb", "c"]}, "label_names is "),
        ({"reads": ...}, "reads is None, expected 'text'"),
        ({"reads": "dna"}, "reads is 'dna', expected 'text'"),
        ({"label_names": ["a"]}, r"tensor 'head.dense.bias' is \(2,\), .* expects \(1,\)"),
        (
            {"task": "triviaqa", "options": {}, "head": {}},
            "the architecture in config.json expects",
        ),
    ],
)
def test_settings_that_describe_no_model_are_one_line(tmp_path, changes, words):
    write(tmp_path, **changes)
    with pytest.raises(InputError, match=words) as refusal:
        load_bundle(tmp_path)
    assert "\n" not in str(refusal.value)


def test_the_card_has_scores_beside_baselines():
    metrics = {
        "f1": 0.75, "f1_low": 0.7, "f1_high": 0.8, "n": 10, "seed": 0, "split": "validation",
        "n_question_cut": 3, "baselines": {"majority": {"f1": 0.5, "f1_low": 0.4, "f1_high": 0.6}},
    }  # fmt: skip
    card = model_card(config_of("hotpotqa"), metrics)
    assert "| f1 | 0.750 (0.700–0.800) | 0.500 (0.400–0.600) |" in card
    assert "- n_question_cut: 3" in card
    assert "95 % bootstrap interval over examples" in card


def test_the_card_of_a_pretrained_text_model():
    config = {"task": "pretraining", "reads": "text", "encoder": asdict(ENCODER)}
    card = model_card(config, {"bits_per_token": 5.5, "n_examples": 7, "seed": 0})
    assert "trained to fill masked tokens" in card
    assert "| bits_per_token | 5.500 |" in card
    assert "DNA" not in card
