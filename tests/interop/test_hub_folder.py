"""The folder of `convert --to-huggingface`: AutoModel loads it, and its card has the hub's metadata."""

import json
from pathlib import Path

import huggingface_hub
import pytest
import torch
import yaml

from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.cli.main import main
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.models.config import EncoderConfig, stored_encoder
from dna_bigbird.models.pretraining_model import PretrainingModel

transformers = pytest.importorskip("transformers")
ROOT = Path(__file__).parents[2]
RECIPE = yaml.safe_load((ROOT / "config/grch37.yaml").read_text())["model"]
"""Encoder of the paper; here with fewer layers and narrower, with all other settings."""
SMALL = {"num_layers": 2, "hidden_size": 48, "ffn_size": 64, "vocab_size": 64, "init_std": 0.2}
METRICS = {
    "bits_per_base_masked": 1.91, "bits_per_base_masked_low": 1.88, "bits_per_base_masked_high": 1.94,
    "mlm_accuracy": 0.31, "n_examples": 256, "seed": 0, "split": "test",
    "baselines": {"5-gram": {"bits_per_base_masked": 1.95, "n_examples": 256}},
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer(dna):
    texts = [dna(500, seed) for seed in range(20)]
    return DnaTokenizer.from_bytes(train_tokenizer(texts, TokenizerConfig(vocab_size=64)))


@pytest.fixture
def convert(tokenizer, tmp_path):
    """Function (settings of the encoder, options, settings of the bundle) -> (our model, folder)."""

    def convert(encoder=None, options="", metrics=METRICS, **config):
        encoder = EncoderConfig(**(RECIPE | SMALL | (encoder or {})))
        model = PretrainingModel(encoder, heads=["mlm", "pooler"]).eval()
        config = {
            "task": "pretraining", "encoder": stored_encoder(encoder), "heads": ["mlm", "pooler"],
            "assembly": "GRCh37",
        } | config  # fmt: skip
        save_bundle(
            tmp_path / "bundle",
            model=model,
            config=config,
            tokenizer=tokenizer,
            metrics=metrics,
            card="# A card\n",
        )
        main(f"convert --from {tmp_path}/bundle --to-huggingface {tmp_path}/hf {options}".split())
        return model, tmp_path / "hf"

    return convert


def metadata(folder: Path) -> dict:
    return huggingface_hub.metadata_load(folder / "README.md")


@pytest.mark.parametrize("length", [300, 1024])
def test_auto_model_computes_the_hidden_states_of_the_papers_recipe(convert, length):
    """Full attention below 704 tokens, block-sparse above."""
    model, folder = convert({"random_plan": "huggingface"})
    theirs = transformers.AutoModel.from_pretrained(folder).eval()
    ids_BT = torch.randint(5, 64, (1, length), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        found_BTE = theirs(ids_BT).last_hidden_state
        expected_BTE = model.encoder(ids_BT, torch.zeros_like(ids_BT, dtype=torch.bool))
    torch.testing.assert_close(found_BTE, expected_BTE, rtol=0, atol=1e-4)
    assert expected_BTE.std() > 0.1


@pytest.mark.slow
def test_the_papers_recipe_in_full_size(convert):
    """12 layers of 768, random weights; `-s` prints the differences."""
    sizes = {name: RECIPE[name] for name in SMALL if name in RECIPE} | {"init_std": 0.02}
    model, folder = convert(sizes | {"random_plan": "huggingface"})
    n_parameters = sum(weight.numel() for weight in model.parameters())
    for length in (704, 1536, 4096):
        theirs = transformers.AutoModel.from_pretrained(folder).eval()
        ids_BT = torch.randint(5, 64, (1, length), generator=torch.Generator().manual_seed(0))
        with torch.no_grad():
            found_BTE = theirs(ids_BT).last_hidden_state
            expected_BTE = model.encoder(ids_BT, torch.zeros_like(ids_BT, dtype=torch.bool))
        error, std = (found_BTE - expected_BTE).abs().max(), expected_BTE.std()
        print(f"{n_parameters:,} parameters, {length} tokens: {error:.1e} of {std:.2f}")
        assert error < 1e-4


def test_sequence_to_hidden_states_by_the_library_alone(convert, dna):
    """Its own tokenizer and model, as a user of the hub calls them."""
    model, folder = convert({"random_plan": "huggingface"})
    read = transformers.AutoTokenizer.from_pretrained(folder)(dna(2000, 5), return_tensors="pt")
    theirs = transformers.AutoModel.from_pretrained(folder).eval()
    ids_BT = read["input_ids"]
    with torch.no_grad():
        found_BTE = theirs(**read).last_hidden_state
        expected_BTE = model.encoder(ids_BT, torch.zeros_like(ids_BT, dtype=torch.bool))
    torch.testing.assert_close(found_BTE, expected_BTE, rtol=0, atol=1e-4)


def test_the_hub_reads_the_metadata(convert):
    _, folder = convert({"random_plan": "huggingface"}, "--license apache-2.0")
    card = huggingface_hub.ModelCard.load(folder / "README.md")
    assert card.data.license == "apache-2.0"
    assert card.data.library_name == "transformers"
    assert card.data.pipeline_tag == "fill-mask"
    assert card.data.tags == ["dna", "genomics", "biology", "big_bird", "dna-bigbird"]
    first, second = card.data.eval_results
    assert (first.metric_type, first.metric_value) == ("bits_per_base_masked", 1.91)
    assert first.metric_name == "bits_per_base_masked, 95 % interval 1.88 to 1.94"
    assert first.dataset_name == "GRCh37, test split, n = 256, seed 0"
    assert (second.metric_type, second.metric_value) == ("mlm_accuracy", 0.31)
    assert card.text.strip().endswith("# A card")


def test_without_measurements_there_is_no_index_of_scores(convert):
    _, folder = convert({"random_plan": "huggingface"}, metrics={})
    assert "model-index" not in metadata(folder)
    assert metadata(folder)["license"] == "unknown"


def test_scores_of_another_length_are_not_listed(convert):
    lengthened = [{"from_max_tokens": 2048, "positions": "tile"}]
    _, folder = convert({"random_plan": "huggingface"}, lengthened=lengthened)
    assert "model-index" not in metadata(folder)


def test_semi_synthetic_scores_are_marked(convert):
    _, folder = convert({"random_plan": "huggingface"}, semi_synthetic=True)
    (result,) = metadata(folder)["model-index"][0]["results"]
    assert result["dataset"]["name"].endswith("semi-synthetic")


def test_the_papers_plan_is_refused_by_name_or_written_without_scores(convert, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        convert()
    assert "the library cannot compute this model: random_plan" in capsys.readouterr().err
    assert not (tmp_path / "hf").exists()
    _, folder = convert(options="--allow-different-attention true")
    assert "model-index" not in metadata(folder)
    _, found = transformers.AutoModel.from_pretrained(folder, output_loading_info=True)
    assert not found["missing_keys"]


def test_a_wrong_licence_is_refused(convert, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        convert({"random_plan": "huggingface"}, "--license Apache_2")
    message = "--license: found 'Apache_2'; expected an identifier of the hub in lower case"
    assert message in capsys.readouterr().err
    assert not (tmp_path / "hf").exists()


def test_the_class_of_the_folder_decides_the_task_of_the_hub(convert):
    _, folder = convert({"random_plan": "huggingface"})
    name = json.loads((folder / "config.json").read_text())["architectures"][0]
    assert name == "BigBirdForMaskedLM"
    assert metadata(folder)["pipeline_tag"] == "fill-mask"
