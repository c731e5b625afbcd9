"""`dna-bigbird convert`, and what a converted bundle is then used for."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dna_bigbird import load_bundle
from dna_bigbird.cli.main import main
from dna_bigbird.core.result_folders import RECORD
from tests.tiny_bundle import write_rotary_bundle

SMALL = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "block_size": 8,
    "num_random_blocks": 1,
    "max_position_embeddings": 256,
    "initializer_range": 0.5,
}


@pytest.fixture(scope="module")
def project(library_model, save_library_model, tmp_path_factory):
    """A folder with `hf` in GENA-LM's form and the bundle `gena` made from it."""
    folder = tmp_path_factory.mktemp("convert")
    (folder / "hf").mkdir()
    save_library_model(library_model("BigBirdForMaskedLM", std=0.1, **SMALL), folder / "hf")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("convert --from-huggingface hf --to gena")
    return folder


@pytest.fixture(scope="module", autouse=True)
def rotary(project):
    """A pretrained bundle with rotary positions and all other settings of our own."""
    write_rotary_bundle(project / "rotary")


@pytest.fixture(autouse=True)
def in_project(project, monkeypatch):
    monkeypatch.chdir(project)


def run(line: str) -> None:
    main(line.split())


def refused(line: str, capsys) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        run(line)
    error = capsys.readouterr().err
    assert error.startswith("dna-bigbird: error: ")
    assert error.count("\n") == 1
    return error


def test_a_converted_bundle(project, capsys):
    assert {path.name for path in (project / "gena").iterdir()} == {
        RECORD,
        "README.md", "config.json", "metrics.json", "model.safetensors", "special_tokens_map.json",
        "tokenizer.json",
    }  # fmt: skip
    bundle = load_bundle(project / "gena")
    assert bundle.config["heads"] == ["mlm", "pooler"]
    assert bundle.tokenizer.pad_id == 3
    assert "nothing was measured here" in (project / "gena/README.md").read_text()
    run("info gena --format json")
    assert json.loads(capsys.readouterr().out)["config"]["encoder"]["random_plan"] == "huggingface"


def test_both_ways(project, capsys):
    run("convert --from gena --to-huggingface back")
    assert "back: written; the library computes the same" in capsys.readouterr().out
    for name in ("model.safetensors", "tokenizer.json"):
        assert (project / "back" / name).read_bytes() == (project / "hf" / name).read_bytes()
    run("convert --from-huggingface back --to again")
    for name in ("model.safetensors", "config.json", "tokenizer.json", "README.md"):
        assert (project / "again" / name).read_bytes() == (project / "gena" / name).read_bytes()


def test_a_model_with_a_name(project):
    run("models add gena-by-name gena")
    run("convert --from gena-by-name --to-huggingface of_name")
    for name in ("model.safetensors", "tokenizer.json"):
        assert (project / "of_name" / name).read_bytes() == (project / "hf" / name).read_bytes()


def test_another_plan_is_chosen_and_does_not_go_back(capsys):
    run("convert --from-huggingface hf --to uniform --plan uniform")
    assert load_bundle("uniform").config["encoder"]["random_plan"] == "uniform"
    message = refused("convert --from uniform --to-huggingface x", capsys)
    assert "uniform: the library cannot compute this model: random_plan uniform" in message
    run("convert --from uniform --to-huggingface other --allow-different-attention true")
    out = capsys.readouterr().out
    assert "other: written; the library computes something else\n  random_plan uniform" in out


@pytest.mark.parametrize("rule", ["tile", "interpolate"])
def test_lengthened(project, rule):
    run(f"convert --from gena --to {rule} --max-tokens 512 --positions {rule}")
    old, new = load_bundle("gena"), load_bundle(rule)
    assert new.config["encoder"] == old.config["encoder"] | {"max_tokens": 512}
    assert new.config["lengthened"] == [{"from_max_tokens": 256, "positions": rule}]
    table, before = new.model.encoder.position.weight, old.model.encoder.position.weight
    assert torch.equal(table[256 if rule == "tile" else 511], before[0 if rule == "tile" else 255])
    assert "Lengthened from 256 to 512 tokens" in (project / rule / "README.md").read_text()
    ids_BT = torch.randint(5, 100, (1, 400), generator=torch.Generator().manual_seed(0))
    assert new.model.encoder(ids_BT, ids_BT < 0).isfinite().all()


def test_rotary_positions_are_lengthened_without_a_rule(project, capsys):
    run("convert --from rotary --to longer --max-tokens 512")
    assert "longer: 128 -> 512 tokens, positions: rotary" in capsys.readouterr().out
    old, new = load_bundle("rotary"), load_bundle("longer")
    assert new.config.encoder == replace(old.config.encoder, max_tokens=512)
    assert new.config["lengthened"] == [{"from_max_tokens": 128, "positions": "rotary"}]
    ids_BT = torch.randint(5, 60, (1, 400), generator=torch.Generator().manual_seed(0))
    states = [bundle.model.encoder(ids_BT, ids_BT < 0) for bundle in (old, new)]
    assert torch.equal(*states)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "convert: no option given; expected one of: --from-huggingface DIR --to BUNDLE"),
        ("--from gena --to x", "convert: --from --to given; expected one of"),
        ("--from-huggingface hf", "convert: --from-huggingface given"),
        ("--from-huggingface hf --to-huggingface x", "--from-huggingface --to-huggingface given"),
        ("--from gena --from-huggingface hf --to x", "--from --from-huggingface --to given"),
        ("--from-huggingface hf --to x --max-tokens 512 --positions tile", "--positions given"),
        ("--from gena --to-huggingface x --plan uniform", "--to-huggingface --plan given"),
        (
            "--from gena --to x --max-tokens 512",
            "gena: its positions are a learned table; say how it grows: --positions tile or",
        ),
        (
            "--from rotary --to x --max-tokens 512 --positions tile",
            "rotary: --positions tile is for a table of positions; the model has none: leave",
        ),
        (
            "--from rotary --to-huggingface x --allow-different-attention true",
            "rotary: the library's BigBird cannot hold this model: norm_first is True (its norms",
        ),
        ("--from rotary --to x --max-tokens 128", "rotary: the model reads 128 tokens already"),
        ("--from gena --to x --max-tokens 8 --positions tile", "gena: the model reads 256 tokens"),
        (
            "--from gena --to x --max-tokens 512 --positions x",
            "--positions: found 'x', expected one of tile, interpolate",
        ),
        (
            "--from-huggingface hf --to x --plan x",
            "--plan: found 'x', expected one of uniform, original, huggingface",
        ),
        ("--from-huggingface none --to x", "none: no config.json; expected a folder of"),
        ("--from none --to-huggingface x", "none: no such model bundle"),
        (
            "--from-huggingface hf --to ./hf",
            "--to hf: this is the input --from_huggingface hf, which",
        ),
        ("--from-huggingface hf --to papers", "papers: the folder holds 1.txt, which no run"),
        ("--from-huggingface hf --to papers/1.txt", "papers/1.txt: this is not a folder"),
    ],
)
def test_refused(project, options, message, capsys):
    (project / "papers").mkdir(exist_ok=True)
    (project / "papers/1.txt").write_text("keep me")
    assert message in refused(f"convert {options}", capsys)
    assert not (project / "x").exists()
    assert [path.name for path in project.iterdir() if path.name.startswith(".")] == []
    assert (project / "papers/1.txt").read_text() == "keep me"


def test_options_may_stand_in_yaml(project):
    (project / "lengthen.yaml").write_text(
        "from: gena\nto: from-yaml\nmax_tokens: 300\npositions: tile\n"
    )
    run("convert --config lengthen.yaml")
    assert load_bundle("from-yaml").config["encoder"]["max_tokens"] == 300


@pytest.mark.parametrize(
    "line", ["--from-huggingface hf --to twice", "--from gena --to-huggingface back"]
)
def test_a_finished_folder_is_replaced_whole_if_a_run_wrote_it(project, capsys, line):
    folder = project / line.split()[-1]
    run(f"convert {line}")
    written = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "notes.md").write_text("mine")
    assert "holds notes.md, which no run" in refused(f"convert {line}", capsys)
    assert (folder / "notes.md").read_text() == "mine"
    with open(folder / RECORD, "a") as record:
        record.write("notes.md\n")
    run(f"convert {line}")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == written
    (folder / RECORD).unlink()  # as an earlier version wrote it
    run(f"convert {line}")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == written


@pytest.fixture(scope="module")
def labelled(project, dna):
    """A toy genome with N, lower case and promoters that carry a motif, and its labelled set."""
    motif = "GCGCCGTATAAAAGGGGCGCAGCC"
    letters = np.array(list(dna(30_000, 1)))
    sites = np.arange(500, 29_600, 400)
    for site in sites:
        letters[site - 30 : site - 30 + len(motif)] = list(motif)
        letters[site + 150 : site + 153] = "N"  # no promoter window has any
        letters[site + 30 : site + 40] = [c.lower() for c in letters[site + 30 : site + 40]]
    (project / "toy.fa").write_text(f">chr1\n{''.join(letters)}\n")
    rows = "".join(f"chr1\t{s}\t{s + 1}\tsite{s}\t0\t+\n" for s in sites)
    (project / "sites.bed").write_text(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        run(
            "promoter-set --genome toy.fa --sites sites.bed --output set.h5 --assembly demo-toy "
            "--seed 1 --upstream 100 --downstream 50 "
            "--split.validation [chr1:20001-25000] --split.test [chr1:25001-30000]"
        )
    return project / "set.h5"


FINETUNE = (
    "finetune --genome toy.fa --data set.h5 --output promoter --checkpoints checkpoints --seed 1 "
    "--training.batch_size 8 --training.max_steps 4 --training.validate_every 4 "
    "--training.warmup_steps 1 --threads 1"
)


def test_a_converted_model_is_fine_tuned_scored_and_predicts(project, labelled, capsys):
    run(f"{FINETUNE} --pretrained gena --training.learning_rate 1e-9")
    tuned, gena = load_bundle("promoter"), load_bundle("gena")
    assert tuned.tokenizer.files == gena.tokenizer.files
    words, before = (b.model.encoder.word.weight for b in (tuned, gena))
    torch.testing.assert_close(words, before, rtol=0, atol=1e-6)
    run(
        "evaluate --genome toy.fa --model promoter --data set.h5 --output final --report report "
        "--seed 1 --replicates 20"
    )
    assert load_bundle("final").tokenizer.files == gena.tokenizer.files
    capsys.readouterr()
    run(
        "predict --precision 32-true --fasta toy.fa --model final --window 300 --stride 5000 --strand forward"
    )
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["sequence", "start", "end", "promoter"]
    assert len(rows) == 8
    probabilities = [float(row[3]) for row in rows[1:]]
    # The weights are drawn, and the draws differ between versions of torch.
    assert 0.001 < max(probabilities) - min(probabilities) < 1
    # The same by hand: [CLS] window [SEP] with the vocabulary's own ids.
    bases = "".join((project / "toy.fa").read_text().splitlines()[1:])[5000:5300].upper()
    ids_BT = torch.tensor([[1, *tuned.tokenizer.encode(bases), 2]])
    assert (ids_BT == 0).sum() == bases.count("N") > 0
    with torch.inference_mode():
        expected = tuned.model(ids_BT, torch.zeros_like(ids_BT, dtype=torch.bool)).sigmoid()
    assert probabilities[1] == pytest.approx(float(expected), rel=1e-4)


def test_what_stands_in_padding_does_not_matter():
    """Training fills up with id 0, which is [UNK] in this vocabulary."""
    model, tokenizer = load_bundle("gena").model.encoder, load_bundle("gena").tokenizer
    ids_BT = torch.full((1, 120), 7)
    is_padding_BT = torch.arange(120)[None] >= 99
    states = [
        model(ids_BT.masked_fill(is_padding_BT, fill), is_padding_BT)
        for fill in (0, tokenizer.pad_id, tokenizer.mask_id)
    ]
    assert all(torch.equal(states[0], other) for other in states[1:])


def test_a_model_without_mlm_head_is_not_scored(library_model, save_library_model, capsys):
    Path("encoder").mkdir()
    save_library_model(library_model("BigBirdModel", std=0.1, **SMALL), Path("encoder"))
    run("convert --from-huggingface encoder --to headless")
    line = "evaluate-lm --model headless --train a.h5 --test b.h5 --output x --report y"
    message = refused(line, capsys)
    assert "headless: scoring needs the head mlm; it has pooler" in message


def test_a_fine_tuned_model_is_not_written(labelled, capsys):
    run(f"{FINETUNE} --pretrained gena".replace("promoter", "tuned"))
    message = refused("convert --from tuned --to-huggingface x", capsys)
    assert "tuned: a promoter model; the library has no head like ours" in message


def test_a_text_model_is_held_but_does_not_read_dna(
    project, labelled, library_model, real_data, capsys
):
    settings = SMALL | {"vocab_size": 50358, "hidden_size": 8, "pad_token_id": 0}
    library_model(**settings).save_pretrained(project / "english")
    shutil.copy(
        real_data / "vocab/bigbird_gpt2_sentencepiece.model", project / "english/spiece.model"
    )
    run("convert --from-huggingface english --to text")
    assert load_bundle("text").tokenizer.encode("Hello, my").tolist() == [18536, 112, 717]
    message = refused(f"{FINETUNE} --pretrained text", capsys)
    assert "text: a model of text, not of DNA; its vocabulary cannot cut DNA" in message
