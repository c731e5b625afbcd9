"""benchmarks/gpu_pretrain.py on a toy corpus: two calls, the second from the weights of the first."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.documents import DocumentConfig
from dna_bigbird.corpus.token_store_writer import write_token_store
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome import Genome
from tests.benchmarks.blocked import run_without
from tests.toy_corpus import build_documents

SMALL = (
    "--device cpu --steps 4 --log_every 2 --hidden_size 32 --layers 1 --heads 2 --max_tokens 64 "
    "--block_size 16 --batch_size 2 --examples 4 --workers 0"
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> list[str]:
    """Options that name a small store, used for both splits, and its tokenizer."""
    folder = tmp_path_factory.mktemp("corpus")
    letters = np.random.default_rng(0).choice(list("ACGT"), 30_000)
    (folder / "toy.fa").write_text(f">chr1\n{''.join(letters)}\n")
    genome = Genome(folder / "toy.fa")
    config = DocumentConfig(
        passes=1, max_start_bp=300, min_sentences=6, max_sentences=12, min_sentence_bp=50,
        max_sentence_bp=100,
    )  # fmt: skip
    documents = build_documents(genome, [], [], config, seed=0)
    texts = [text for document in documents for text in document.texts(genome)]
    (folder / "bpe.model").write_bytes(train_tokenizer(texts, TokenizerConfig(vocab_size=100)))
    tokenizer = DnaTokenizer.from_file(folder / "bpe.model")
    write_token_store(folder / "store.h5", documents, genome, tokenizer, assembly="toy")
    store = str(folder / "store.h5")
    return ["--store", store, "--validation", store, "--tokenizer", str(folder / "bpe.model")]


def rows(folder) -> list[dict]:
    lines = [line.split("\t") for line in (folder / "log.tsv").read_text().splitlines()]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def test_a_second_call_starts_from_the_first(script, corpus, tmp_path, capsys, monkeypatch):
    model, bundle = tmp_path / "model", tmp_path / "bundle"
    words = [*corpus, *SMALL.split(), "--output", str(model)]
    done = run_without("gpu_pretrain.py", *words)
    assert done.returncode == 0, done.stderr
    assert "start: fresh weights" in done.stdout
    assert [(row["call"], row["step"]) for row in rows(model)] == [("1", step) for step in "0244"]
    scored = float(rows(model)[-1]["validation_bits_per_base"])

    script("gpu_pretrain").main(["--join", str(model), str(bundle)])
    joined = load_bundle(bundle)
    assert joined.config.masking["fraction"] == 0.3
    assert joined.config.heads == ["mlm"]
    assert joined.metrics.score("bits_per_base_masked").value == pytest.approx(scored, abs=1e-4)
    before = {name: x.clone() for name, x in joined.model.state_dict().items()}
    assert all(torch.equal(x, x.bfloat16().float()) for x in before.values())

    pieces = script("gpu_pieces")
    monkeypatch.setattr(pieces, "PIECE_BYTES", 20_000)
    capsys.readouterr()
    script("gpu_pretrain").main(words)
    text = capsys.readouterr().out
    assert f"start: weights of call 1 from {model}; new optimizer state, warm-up and examp" in text
    assert [row["call"] for row in rows(model)] == ["1"] * 4 + ["2"] * 4
    assert float(rows(model)[4]["validation_bits_per_base"]) == pytest.approx(scored, abs=1e-3)
    names = sorted(path.name for path in model.glob("model.safetensors.*"))
    assert names[0] == f"model.safetensors.1-of-{len(names)}"
    assert len(names) > 1
    assert len(list(model.iterdir())) == 4 + len(names)
    script("gpu_pretrain").main(["--join", str(model), str(bundle)])
    after = load_bundle(bundle).model.state_dict()
    assert any(not torch.equal(before[name], after[name]) for name in before)

    (model / names[0]).unlink()
    with pytest.raises(SystemExit, match="2"):
        script("gpu_pretrain").main(["--join", str(model), str(tmp_path / "other")])
    expected = f"error: {model}: {len(names) - 1} of {len(names)} pieces of model.safetensors are"
    assert expected in capsys.readouterr().err


def test_rates_are_those_of_the_recipe_at_its_width(script):
    assert {
        name: round(rate, 4) for name, rate in script("gpu_pretrain_run").rates(768).items()
    } == {
        "muon_learning_rate": 0.0006,
        "learning_rate": 0.0017,
    }


def test_the_usual_model_has_about_20_million_parameters_and_fits(script):
    options = script("gpu_pretrain").parse(["--join", "a", "b"])
    pretraining = script("gpu_pretrain_run")
    encoder = pretraining.encoder_of(options, 8192)
    assert (encoder.positions, encoder.norm_first, encoder.stem_width) == ("rotary", True, 5)
    with torch.device("meta"):
        model = pretraining.PretrainingModel(encoder, heads=("mlm",))
    assert 15e6 < sum(p.numel() for p in model.parameters()) < 25e6
    script("gpu_pieces").check_size(model)


def test_weights_beyond_the_pieces_are_refused(script, monkeypatch):
    pieces = script("gpu_pieces")
    monkeypatch.setattr(pieces, "PIECE_BYTES", 2**20)
    with pytest.raises(InputError, match="the weights take 6 MiB in bfloat16, and 4 pieces have 4"):
        pieces.check_size(torch.nn.Linear(2**20, 3))


def test_a_large_store_is_refused(script, tmp_path, capsys):
    path = tmp_path / "large.h5"
    with path.open("wb") as file:
        file.truncate(46 * 2**20)
    words = f"--store {path} --validation {path} --tokenizer bpe.model --output {tmp_path}/model"
    with pytest.raises(SystemExit, match="2"):
        script("gpu_pretrain").main([*words.split(), *SMALL.split()])
    assert capsys.readouterr().err == (
        f"error: {path}: 46.0 MiB, expected at most 45; draw fewer documents (dna-bigbird documents "
        "--documents.passes) and tokenize again\n"
    )


def test_a_loss_that_is_not_a_number_ends_the_call(script, corpus, tmp_path, capsys, monkeypatch):
    pretraining = script("gpu_pretrain_run")
    usual = pretraining.build_optimizer

    def broken(model, config):
        with torch.no_grad():
            model.encoder.word.weight.fill_(float("nan"))
        return usual(model, config)

    monkeypatch.setattr(pretraining, "build_optimizer", broken)
    with pytest.raises(SystemExit, match="2"):
        script("gpu_pretrain").main([*corpus, *SMALL.split(), "--output", str(tmp_path / "model")])
    assert "step 2: the loss is not a number; nothing is saved" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_the_rate_falls_to_zero_at_the_end_of_the_time(script, monkeypatch):
    """Half of the minutes are half of the schedule, however many steps they were."""
    pretraining = script("gpu_pretrain_run")
    run = SimpleNamespace(step=7, options=SimpleNamespace(steps=0))
    monkeypatch.setattr(pretraining.time, "monotonic", lambda: 130.0)
    assert pretraining.Run.share(run, began_at=100.0, until=160.0) == 0.5
    assert [pretraining.rate_share(x) for x in (0.0, 0.025, 0.05, 0.525, 1.0)] == [
        0,
        0.5,
        1,
        0.5,
        0,
    ]
    run.options.steps = 8
    assert pretraining.Run.share(run, began_at=100.0, until=160.0) == 7 / 8
