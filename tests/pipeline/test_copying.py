"""`pretrain --counts`, on a genome half of which is repeats."""

import json

import numpy as np
import pytest
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.corpus.masking import PAPER
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.genome import reverse_complement
from dna_bigbird.models.copies import Copied
from dna_bigbird.training import copying
from tests.toy_project import MODEL, STEPS, bytes_of, refused, run

PRETRAIN = (
    "pretrain --train train.h5 --validation validation.h5 --tokenizer bases.model --seed 1 "
    f"{MODEL.replace('96', '256')} {STEPS} "
    "--training.max_steps 4 --training.validate_every 4 --training.validation_examples 12"
)


def repeating_letters() -> str:
    """Draw 50 kb: by turns 500 bp of a family of 5 kb with 3 % substitutions, on either strand, and 500 bp of their own."""
    rng = np.random.default_rng(0)
    family, parts = rng.choice(list("ACGT"), 5_000), []
    for number in range(50):
        start = rng.integers(0, 4_500)
        piece = family[start : start + 500].copy()
        changed = rng.random(500) < 0.03
        piece[changed] = rng.choice(list("ACGT"), changed.sum())
        text = "".join(piece)
        parts += [
            reverse_complement(text) if number % 2 else text,
            "".join(rng.choice(list("ACGT"), 500)),
        ]
    return "".join(parts)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with token stores and a pretrained model with copies."""
    folder = tmp_path_factory.mktemp("copies")
    (folder / "toy.fa").write_text(f">chr1\n{repeating_letters()}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        sizes = (
            "--documents.passes 2 --documents.min_sentences 4 --documents.max_sentences 8 "
            "--documents.min_sentence_bp 80 --documents.max_sentence_bp 160 "
            "--documents.max_start_bp 500 --documents.both_strands true"
        )
        for split, region in {"train": "1-40000", "validation": "40001-50000"}.items():
            run(
                f"documents --genome toy.fa --regions [chr1:{region}] --output {split}.bed.gz --seed 1 {sizes}"
            )
            if split == "train":
                run(
                    "train-tokenizer --genome toy.fa --documents train.bed.gz --output bases.model "
                    "--metrics bases.json --seed 1 --tokenizer.algorithm bases"
                )
            run(
                f"tokenize --genome toy.fa --documents {split}.bed.gz --tokenizer bases.model "
                f"--output {split}.h5 --assembly toy"
            )
        run(f"{PRETRAIN} --counts gate --output model --checkpoints checkpoints")
    return folder


def test_the_bundle_copies_where_sequence_repeats(project, monkeypatch):
    monkeypatch.chdir(project)
    run(
        "evaluate-lm --model model --train train.h5 --test validation.h5 --output scored --report scores.json "
        "--examples 40 --unmasked_baselines false --genome toy.fa"
    )
    scores = json.loads((project / "scored" / "metrics.json").read_text())
    seen = scores["by_class"]["seen"]["bits_per_base_masked"]
    alone = scores["baselines"]["network_alone_masked"]
    # Two bits are chance, for all that is not a repeat.
    assert seen < 1.0 < 1.9 < alone["by_class"]["seen"]["bits_per_base_masked"]
    assert scores["bits_per_base_masked"] < alone["bits_per_base_masked"]
    unseen = scores["by_class"]["unseen"]["bits_per_base_masked"]
    assert unseen < alone["by_class"]["unseen"]["bits_per_base_masked"] + 0.02


def test_it_is_the_same_again_and_is_added_to_a_finished_training(project, monkeypatch, capsys):
    monkeypatch.chdir(project)
    run(f"{PRETRAIN} --counts gate --output again --checkpoints checkpoints")
    trained = json.loads((project / "again" / "metrics.json").read_text())
    network, whole = (
        trained[x] for x in ("bits_per_base_masked_of_network", "bits_per_base_masked")
    )
    assert whole < network
    assert f"{network:.4g} of the network, {whole:.4g} of the whole" in capsys.readouterr().out
    assert bytes_of(project / "again") == bytes_of(project / "model")


def test_no_copies_are_added_where_they_do_not_help(project, monkeypatch, capsys):
    monkeypatch.chdir(project)
    monkeypatch.setattr("dna_bigbird.training.copying.fit_gate", lambda *rest: float("inf"))
    run(f"{PRETRAIN} --counts gate --output without --checkpoints checkpoints")
    assert "copies" in capsys.readouterr().err
    assert not (project / "without" / "text_read.safetensors").exists()
    assert load_bundle("without").model.copies is None


def test_the_reference_is_not_copied_from_itself(project, monkeypatch):
    monkeypatch.chdir(project)
    letters = (project / "toy.fa").read_text().split("\n")[1]
    rng = np.random.default_rng(1)
    own = [i for i in range(1000, 39_000) if i % 1000 >= 500]  # of no repeat
    at = np.sort(rng.choice(own, 60, replace=False))
    rows = ["#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"]
    for position in at.tolist():
        ref = letters[position]
        rows.append(f"chr1\t{position + 1}\t.\t{ref}\t{'ACGT'.replace(ref, '')[0]}\t.\t.\t.")
    (project / "toy.vcf").write_text("\n".join(rows) + "\n")
    command = "score-variants --vcf toy.vcf --fasta toy.fa --score likelihood --model"
    run(f"{command} model --output with.tsv")
    lines = (project / "with.tsv").read_text().splitlines()[1:]
    ratios = [float(line.split("\t")[-1]) for line in lines]
    # The own document would give the reference nearly all of the probability: ratios of -5 and less.
    assert len(ratios) == 60
    assert np.median(ratios) > -1


def test_what_a_bundle_with_copies_refuses(project, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(project)
    said = refused("convert --from model --to-huggingface library", capsys)
    assert "copies" in said
    assert not (project / "library").exists()
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for name, content in bytes_of(project / "model").items():
        (damaged / name).write_bytes(content)
    text = (damaged / "text_read.safetensors").read_bytes()
    (damaged / "text_read.safetensors").write_bytes(text[:-1] + bytes([text[-1] ^ 1]))
    with pytest.raises(InputError, match=r"text_read\.safetensors"):
        load_bundle(damaged)
    (damaged / "text_read.safetensors").unlink()
    with pytest.raises(InputError, match=r"text_read\.safetensors"):
        load_bundle(damaged)


INPUTS = f"{PRETRAIN} --counts inputs --checkpoints checkpoints_inputs"


@pytest.fixture(scope="module")
def with_inputs(project):
    """The bundle of a network that reads copies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        run(f"{INPUTS} --output inputs")
    return load_bundle(project / "inputs")


def test_training_reads_what_the_bundle_looks_up(project, with_inputs):
    store, tokenizer = TokenStore(project / "train.h5"), with_inputs.tokenizer
    model = with_inputs.model
    read = copying.CopiedText(model.copies.text, model.copies.config)
    plain = PretrainExamples(store, tokenizer, 256, PAPER, 2)
    numbers = [0, 1, 2]
    examples = copying.WithCopies(plain, read, leaves_out=True)
    batch = collate_pretraining([(n, examples[n]) for n in numbers])
    own = torch.tensor(np.stack([copying.own_documents(plain, n, read.text) for n in numbers]))
    tokens = (batch.token_ids_BT, batch.is_padding_BT, batch.segment_ids_BT, batch.positions_P)
    copied = Copied(batch.copied_PK, batch.copied_scores_PKF)
    with torch.no_grad():
        given = model(*tokens, copied=copied)[0]
        torch.testing.assert_close(model(*tokens, left_out_BD=own)[0], given)
        # The own documents know the answer: that it is not theirs is seen here.
        assert (model(*tokens)[0] - given).abs().max() > 0.1
    assert model.copies.inputs.of_token.weight.abs().sum() > 0


def test_inputs_help_where_sequence_repeats_and_continue_exactly(project, with_inputs, monkeypatch):
    monkeypatch.chdir(project)
    scores = with_inputs.metrics
    assert scores["bits_per_base_masked"] < scores["bits_per_base_masked_of_network"] - 0.1
    run(f"{INPUTS} --output inputs_again")
    assert bytes_of(project / "inputs_again") == bytes_of(project / "inputs")


def test_what_inputs_refuse(project, monkeypatch, capsys):
    monkeypatch.chdir(project)
    etc = PRETRAIN.replace(" --seed", " --model.attention etc --seed")
    said = refused(f"{etc} --counts inputs --output etc --checkpoints etc_checkpoints", capsys)
    assert "--counts inputs" in said
    assert not (project / "etc_checkpoints").exists()
