"""`dna-bigbird text` vocabulary, warm-start and pretrain, from files to bundles."""

import json
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import torch

from dna_bigbird import load_bundle
from dna_bigbird.cli.main import build_parser, main
from dna_bigbird.cli.reading import read_arguments

WORDS = [
    "sun",
    "moon",
    "river",
    "stone",
    "castle",
    "bridge",
    "winter",
    "garden",
    "yellow",
    "thunder",
]
PRETRAIN = (
    "text pretrain --train train.jsonl --validation validation.txt --seed 1 --threads 1 "
    "--training.batch_size 4 --training.learning_rate 0.003 --training.warmup_steps 2 "
    "--training.max_steps 8 --training.validate_every 4 --training.precision 32-true "
    "--training.measure_speed false "
)
TINY = (
    "--model.hidden_size 16 --model.num_layers 1 --model.num_heads 2 --model.ffn_size 32 "
    "--model.max_tokens 48 --model.block_size 8 --model.num_random 1 "
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder with two corpora and a vocabulary."""
    folder = tmp_path_factory.mktemp("text")
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, rng.integers(5, 60))) for _ in range(40)]
    lines = [json.dumps({"text": text}) for text in texts[:30]]
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "validation.txt").write_text("\n\n".join(texts[30:]) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        main(
            [
                "text",
                "vocabulary",
                "--input",
                "train.jsonl",
                "--output",
                "bpe.model",
                "--size",
                "230",
            ]
        )
    return folder


@pytest.fixture(autouse=True)
def in_corpus(corpus, monkeypatch):
    monkeypatch.chdir(corpus)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(False)


@pytest.fixture(scope="module")
def pretrained(corpus):
    """A pretrained bundle."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(corpus)
        main(f"{PRETRAIN} {TINY} --tokenizer bpe.model --output bundle --checkpoints run".split())
    return corpus / "bundle"


def refused(capsys, arguments):
    with pytest.raises(SystemExit, match="2"):
        main(arguments.split())
    return capsys.readouterr().err.strip().splitlines()[-1]


def test_a_learnt_vocabulary_has_bigbirds_layout_and_equal_text_gives_equal_bytes():
    processor = sentencepiece.SentencePieceProcessor(model_file="bpe.model")
    assert processor.get_piece_size() == 230
    roles = {0: "<pad>", 1: "</s>", 2: "<s>", 65: "[CLS]", 66: "[SEP]", 67: "[MASK]", 100: "<unk>"}
    assert {i: processor.id_to_piece(i) for i in roles} == roles
    assert processor.unk_id() == 100
    assert processor.decode(processor.encode("the sun, a river")) != ""
    assert min(processor.encode("moon river stone")) >= 101
    marks = "<n> ~{@#$%^&*}| 0123456789 QXZ"  # none of them in the text
    assert processor.decode(processor.encode(marks)) == marks
    main(
        ["text", "vocabulary", "--input", "train.jsonl", "--output", "again.model", "--size", "230"]
    )
    assert Path("again.model").read_bytes() == Path("bpe.model").read_bytes()


def test_too_large_a_vocabulary_is_one_line(capsys):
    said = refused(capsys, "text vocabulary --input train.jsonl --output x.model --size 9000")
    assert "--size 9000 is too large for the text, which allows at most" in said
    said = refused(capsys, "text vocabulary --input train.jsonl --output x.model --size 195")
    assert "--size 195" in said


def test_the_bundle_holds_model_vocabulary_and_scores(pretrained):
    bundle = load_bundle(pretrained)
    assert bundle.config["task"] == "pretraining"
    assert bundle.config["heads"] == ["mlm"]
    assert bundle.config["reads"] == bundle.tokenizer.reads == "text"
    assert bundle.config["encoder"]["vocab_size"] == 230
    assert (pretrained / "spiece.model").read_bytes() == Path("bpe.model").read_bytes()
    metrics = bundle.metrics
    assert metrics["bits_per_token_low"] <= metrics["bits_per_token"]
    assert metrics["bits_per_char"] < metrics["bits_per_token"]
    assert metrics["baselines"]["unigram"]["bits_per_token"] < 8
    assert metrics["step"] in (4, 8)
    rows = [line.split("\t") for line in (pretrained / "history.tsv").read_text().splitlines()]
    chosen = [float(v) for s, k, n, v in rows[1:] if (k, n) == ("validation", "bits_per_token")]
    assert min(chosen) == pytest.approx(metrics["bits_per_token"], rel=1e-4)


def test_a_stopped_run_goes_on_to_the_same_bytes(pretrained, monkeypatch):
    """Stopped as by a kill after its first validation."""
    from dna_bigbird.text.tasks.mlm import MaskedTextTask

    steps = MaskedTextTask.training_step

    def stop(self, batch, batch_idx):
        if self.trainer.global_step == 6:
            raise RuntimeError("killed")
        return steps(self, batch, batch_idx)

    command = f"{PRETRAIN} {TINY} --tokenizer bpe.model --output other --checkpoints other-run"
    with monkeypatch.context() as patch:
        patch.setattr(MaskedTextTask, "training_step", stop)
        with pytest.raises(SystemExit, match="1"):
            main(command.split())
    main(command.split())
    for name in ("model.safetensors", "metrics.json", "history.tsv", "config.json", "README.md"):
        whole, resumed = pretrained / name, pretrained.parent / "other" / name
        assert resumed.read_bytes() == whole.read_bytes()


def test_data_workers_change_nothing(pretrained):
    main(
        f"{PRETRAIN} {TINY} --tokenizer bpe.model --output workers --checkpoints workers-run "
        "--training.workers 2".split()
    )
    weights = (pretrained.parent / "workers" / "model.safetensors").read_bytes()
    assert weights == (pretrained / "model.safetensors").read_bytes()


def test_a_bundle_is_pretrained_further(pretrained, capsys):
    command = f"{PRETRAIN} --initial bundle --output further --checkpoints further-run"
    main(command.split())
    before, after = load_bundle(pretrained), load_bundle("further")
    assert after.config["encoder"] == before.config["encoder"]
    assert after.metrics["bits_per_token"] < before.metrics["bits_per_token"]


def test_a_recipe_changes_what_no_weight_depends_on(pretrained, capsys):
    """As the recipes of config/text do with a model of `text warm-start`."""
    command = f"{PRETRAIN} --initial bundle --output changed --checkpoints changed-run"
    before = load_bundle(pretrained).config["encoder"]
    new = {"random_plan": "original", "dropout": 0.2, "gradient_checkpointing": True}
    options = " ".join(f"--model.{name} {value}" for name, value in new.items()).lower()
    main(f"{command} {TINY} {options}".split())
    assert load_bundle("changed").config["encoder"] == before | new
    other = "--output never --checkpoints never-run"
    for option, message in (
        ("--model.hidden_size 48", "hidden_size 48: the model of --initial bundle has 16"),
        ("--model.norm_first true", "norm_first True: the model of --initial bundle has False"),
        ("--model.random_plan original --model.window_blocks 5", "random_plan original has"),
        ("--model.positions rotary", "positions rotary: the model of --initial bundle has learned"),
        ("--model.stem_width 3", "stem_width 3: the model of --initial bundle has 0"),
    ):
        assert message in refused(capsys, f"{PRETRAIN} --initial bundle {option} {other}")
    assert not Path("never").exists()


def test_a_bundle_goes_to_both_streams_of_etc_and_no_way_back(pretrained, capsys):
    etc = "--model.attention etc --model.etc.radius 8 --model.etc.tokens_per_global 6"
    line = f"{PRETRAIN} --initial bundle --output lifted --checkpoints lifted-run --training.learning_rate 1e-9"
    main(f"{line} {etc}".split())
    before, after = (load_bundle(x).model.encoder for x in (pretrained, "lifted"))
    assert after.config.attention == "etc"
    for ours in ("output", "global_output"):
        weight = getattr(after.layers[0].attention, ours).weight
        torch.testing.assert_close(
            weight, before.layers[0].attention.output.weight, atol=1e-5, rtol=0
        )
    for option, message in (
        ("--model.attention full", "attention full: the model of --initial lifted has etc"),
        (f"{etc} --model.etc.max_distance 5", "the model of --initial lifted has EtcConfig("),
    ):
        other = f"{PRETRAIN} --initial lifted --output never --checkpoints never-run {option}"
        assert message in refused(capsys, other)
    further = f"{PRETRAIN} --initial lifted --output on --checkpoints on-run --model.attention etc"
    main(f"{further} --model.etc.radius 5 --model.etc.tokens_per_global 6".split())
    assert load_bundle("on").config.encoder.etc.radius == 5


def test_hidden_sentences_of_text(pretrained):
    rng = np.random.default_rng(1)
    for name in ("train", "validation"):
        texts = [
            " ".join(f"{' '.join(rng.choice(WORDS, 3))}." for _ in range(9)) for _ in range(30)
        ]
        Path(f"{name}-sentences.txt").write_text("\n\n".join(texts) + "\n")
    line = PRETRAIN.replace("train.jsonl", "train-sentences.txt")
    line = line.replace("validation.txt", "validation-sentences.txt")
    etc = "--model.attention etc --model.etc.radius 8 --tokenizer bpe.model"
    main(f"{line} {TINY} {etc} --output sentences --checkpoints sentences-run".split())
    bundle = load_bundle("sentences")
    assert bundle.model.heads == ("mlm", "cpc")
    assert bundle.config.objective["cpc"]["sentence_share"] == 0.1
    history = Path("sentences/history.tsv").read_text()
    chance = [
        float(x.split("\t")[3]) for x in history.splitlines() if "validation\tcpc_chance" in x
    ]
    assert 0 < chance[-1] < 1
    further = f"{line} {TINY} --initial sentences --output more --checkpoints more-run --model.attention etc"
    main(f"{further} --model.etc.radius 8 --training.learning_rate 1e-9".split())
    before, after = (load_bundle(x).model.cpc.context.weight for x in ("sentences", "more"))
    torch.testing.assert_close(after, before, atol=1e-6, rtol=0)


def test_cpc_of_another_attention_is_refused(capsys):
    line = f"{PRETRAIN} --tokenizer bpe.model --output no --checkpoints no-run --cpc.weight 0.5"
    assert "--cpc is read with --model.attention etc only" in refused(capsys, line)


def test_wrong_inputs_are_one_line(capsys):
    common = "--output x --checkpoints x-run"
    assert "give either --tokenizer or --initial" in refused(capsys, f"{PRETRAIN} {common}")
    said = refused(capsys, f"{PRETRAIN} --tokenizer none.model {common}")
    assert "none.model: no such vocabulary" in said
    said = refused(capsys, f"{PRETRAIN} --tokenizer train.jsonl {common}")
    assert "this is not a SentencePiece model" in said
    said = refused(
        capsys, f"{PRETRAIN} --tokenizer bpe.model {common} --masking.max_predictions -2"
    )
    assert "--masking.max_predictions -2" in said


@pytest.mark.parametrize(
    ("name", "batch", "layers"), [("pretrain-base", 256, 12), ("pretrain-large", 2048, 24)]
)
def test_the_papers_settings_are_read(name, batch, layers):
    parser, _ = build_parser("text pretrain")
    given = [
        "--train",
        "a",
        "--validation",
        "b",
        "--output",
        "c",
        "--checkpoints",
        "d",
        "--tokenizer",
        "e",
    ]
    path = Path(__file__).parents[3] / "config" / "text" / f"{name}.yaml"
    settings = read_arguments(parser, ["--config", str(path), *given])
    training, model = settings["training"], settings["model"]
    assert training.batch_size * training.accumulate * training.processes == batch
    assert (model.num_layers, model.max_tokens, model.block_size) == (layers, 4096, 64)
    assert (training.learning_rate, training.warmup_steps) == (1e-4, 10_000)
    assert settings["masking"].budget(model.max_tokens) == 600


@pytest.fixture(scope="module")
def bert(corpus):
    """A tiny random BERT of the library, with the words of the corpus in its vocab.txt."""
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=20,
    )
    transformers.BertForMaskedLM(config).save_pretrained(corpus / "bert")
    (corpus / "bert" / "vocab.txt").write_text("\n".join(words) + "\n")
    return corpus / "bert"


@pytest.mark.parametrize("vocabulary", ["", "--vocabulary bpe.model"])
def test_from_a_short_encoder_to_a_pretrained_one(bert, vocabulary):
    name = "own" if vocabulary else "kept"
    main(
        f"text warm-start --from_huggingface bert --output warm-{name} --max-tokens 48 --block-size 8 "
        f"{vocabulary}".split()
    )
    warm = load_bundle(f"warm-{name}")
    encoder = warm.config["encoder"]
    assert (encoder["max_tokens"], encoder["block_size"], encoder["activation"]) == (48, 8, "gelu")
    assert torch.equal(
        warm.model.encoder.position.weight[25], warm.model.encoder.position.weight[5]
    )
    card = Path(f"warm-{name}/README.md").read_text()
    shared = sum(f"▁{word}" in warm.tokenizer.pieces for word in WORDS)
    taken = f"{shared} pieces taken over, 7 special" if vocabulary else "15 pieces taken over, 0"
    assert shared > 3 or not vocabulary
    assert (
        f"a bert folder of 20 positions, tiled, with its head for masked tokens; vocabulary: {taken}"
        in card
    )
    main(
        f"{PRETRAIN} --initial warm-{name} --output from-{name} --checkpoints from-{name}-run".split()
    )
    assert load_bundle(f"from-{name}").metrics["bits_per_token"] > 0


def test_wrong_folders_to_start_from_are_one_line(capsys, bert, pretrained):
    said = refused(capsys, "text warm-start --from_huggingface bundle --output x")
    assert "bundle/config.json: model_type is '', not one of bert, roberta" in said
    said = refused(capsys, "text warm-start --from_huggingface bert --output x --max-tokens 0")
    assert "--max_tokens 0" in said
    assert not Path("x").exists()
