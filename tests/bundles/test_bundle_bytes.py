"""config.json and metrics.json keep every byte when a bundle is read and written again."""

import json
from dataclasses import asdict

import pytest

from dna_bigbird.bundles import (
    build_model,
    bundled_model,
    join_bundles,
    load_bundle,
    save_bundle,
    text_tasks,
)
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.config_file import read_config
from dna_bigbird.bundles.metrics import Metrics, read_metrics
from dna_bigbird.cli.main import main
from dna_bigbird.core.writing import json_text
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from tests.text_bundle import write_text_bundle
from tests.text_vocabulary import tiny_text_tokenizer

UNKNOWN = {"a key of a later version": {"b": [1, None, "é"], "a": 0.1}, "1": 1e-12}


def write_text_task(folder, name):
    """Write a bundle of a text task."""
    task = text_tasks.describe(name)
    encoder = EncoderConfig(
        vocab_size=409, hidden_size=16, num_layers=2, num_heads=2, ffn_size=32, max_tokens=64,
        block_size=16, num_random=1,
    )  # fmt: skip
    config = {
        "task": name,
        "set": task.sets[0].name,
        "reads": "text",
        "encoder": asdict(encoder),
        "head": asdict(task.head_type()()),
        "options": asdict(task.options()),
        "label_names": ["no", "yes"] if task.head_type() is HeadConfig else [],
    }
    metrics = {"f1": 0.5, "f1_low": 0.4, "f1_high": 0.6, "n": 2, "seed": 0, "split": "test"}
    save_bundle(
        folder,
        model=build_model(config),
        config=config,
        tokenizer=tiny_text_tokenizer(),
        metrics=metrics,
        card="",
    )


def write_ensemble(folder, member):
    """Write an ensemble of a bundle and of the same with another bias."""
    bundle = load_bundle(member)
    bundle.model.head.dense.bias.data += 1
    other = folder.with_name("other member")
    save_bundle(other, **parts(bundle))
    join_bundles([member, other], folder)


def parts(bundle):
    """Return the arguments of `save_bundle` that write a bundle again."""
    return {
        "model": bundle.model,
        "config": bundle.config,
        "tokenizer": bundle.tokenizer,
        "metrics": bundle.metrics,
        "card": "",
    }


def write_converted(folder, fine_tuned):
    """Write the bundle of a pretrained model that was a folder of the Hugging Face library."""
    first, theirs = folder.with_name("first"), folder.with_name("theirs")
    bundle = load_bundle(fine_tuned)
    config = {
        "task": "pretraining",
        "encoder": asdict(bundle.config.encoder) | {"random_plan": "huggingface"},
    }
    save_bundle(first, **(parts(bundle) | {"config": config, "model": build_model(config)}))
    main(["convert", "--from", str(first), "--to-huggingface", str(theirs),
          "--allow-different-attention", "true"])  # fmt: skip
    main(["convert", "--from-huggingface", str(theirs), "--to", str(folder)])


def check_unchanged(folder, again):
    """Check that a bundle that is loaded and saved has the same two files."""
    save_bundle(again, **parts(load_bundle(folder)))
    for name in ("config.json", "metrics.json"):
        assert (again / name).read_bytes() == (folder / name).read_bytes(), name


WRITERS = {
    "labels": lambda folder, member: save_bundle(folder, **parts(load_bundle(member))),
    "ensemble": write_ensemble,
    "pretrained text": lambda folder, member: write_text_bundle(folder),
    "converted": write_converted,
}


@pytest.mark.parametrize("unknown", [{}, UNKNOWN], ids=["known", "unknown"])
@pytest.mark.parametrize("variant", WRITERS)
def test_a_bundle_of_every_type_keeps_both_files(variant, unknown, bundle_folder, tmp_path):
    folder = tmp_path / "bundle"
    WRITERS[variant](folder, bundle_folder)
    for name in ("config.json", "metrics.json"):
        values = json.loads((folder / name).read_text())
        (folder / name).write_text(json_text(values | unknown))
    check_unchanged(folder, tmp_path / "again")


@pytest.mark.parametrize("name", text_tasks.tasks())
def test_a_bundle_of_every_text_task_keeps_both_files(name, tmp_path):
    write_text_task(tmp_path / "bundle", name)
    check_unchanged(tmp_path / "bundle", tmp_path / "again")


def test_the_bundled_model_is_written_as_it_was_read():
    for name, read in (("config.json", read_config), ("metrics.json", read_metrics)):
        path = bundled_model() / name
        assert read(path).to_json() == path.read_text()


def test_a_changed_value_keeps_its_position_and_a_new_one_is_last():
    values = {"task": "pretraining", "seed": 1, "encoder": {"num_layers": 1}, "later": 2}
    config = BundleConfig.from_json(values).with_values(seed=3, assembly="hg19")
    assert list(config.stored.items()) == [
        ("task", "pretraining"), ("seed", 3), ("encoder", {"num_layers": 1}), ("later", 2),
        ("assembly", "hg19"),
    ]  # fmt: skip
    assert (config.seed, config.assembly, config.encoder.num_layers) == (3, "hg19", 1)
    assert values["seed"] == 1


def test_settings_and_scores_are_still_mappings():
    """For callers of earlier versions: `bundle.config["label_names"]`."""
    values = {"task": "promoter", "encoder": {"num_layers": 2}, "label_names": ["p"], "set": "x"}
    config = BundleConfig.from_json(values)
    assert config["label_names"] == config.get("label_names") == config.label_names == ["p"]
    assert config["encoder"] == {"num_layers": 2}
    assert "members" not in config
    assert config.get("members", 1) == 1
    assert dict(config) == values
    assert config == values
    assert {**Metrics.from_json({"n": 3, "auroc": 0.5})} == {"n": 3, "auroc": 0.5}


def test_scores_have_intervals_and_baselines():
    kmer = {"auroc": 0.7, "auroc_low": 0.6, "auroc_high": 0.8, "description": "counts"}
    metrics = Metrics.from_json(
        {"auroc": 0.9, "mcc": None, "n": 40, "n_positive": 20, "seed": 0, "split": "test",
         "baselines": {"kmer": kmer}}
    )  # fmt: skip
    assert metrics.score("auroc") == (0.9, None, None)
    assert metrics.baselines["kmer"].score("auroc") == (0.7, 0.6, 0.8)
    assert metrics.baselines["kmer"].description == "counts"
    assert metrics.score("absent") == (None, None, None)
    assert metrics.score_names() == ["auroc", "mcc"]
    assert (metrics.n, metrics.seed, metrics.split, metrics.step) == (40, 0, "test", None)


@pytest.mark.parametrize(
    "values", [{"n": "many", "seed": -1, "split": 3}, {"baselines": [1]}, {"baselines": {"a": 1}}]
)
def test_facts_of_another_type_count_as_absent(values):
    """metrics.json may come from anywhere, and nothing is computed from it."""
    metrics = Metrics.from_json(values)
    assert (metrics.n, metrics.seed, metrics.split, metrics.baselines) == (None, None, None, {})
    assert metrics.to_json() == json_text(values)


def test_reading_settings_and_scores_loads_no_torch():
    import subprocess
    import sys

    code = (
        "import sys\n"
        "from dna_bigbird.bundles import Bundle, BundleConfig, Metrics, bundled_model\n"
        "from dna_bigbird.bundles.choice import notes_on\n"
        "from dna_bigbird.bundles.config_file import read_config\n"
        "read_config(bundled_model() / 'config.json')\n"
        "print(*({'torch', 'scipy', 'h5py', 'pytorch_lightning'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
