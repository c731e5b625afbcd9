"""`dna-bigbird finetune`, as the workflow calls it, on a toy genome."""

import json
import re

import numpy as np
import pytest
import torch
from scipy.special import logit
from sklearn.calibration import _SigmoidCalibration
from sklearn.metrics import brier_score_loss, roc_auc_score

from dna_bigbird import load_bundle
from dna_bigbird.evaluation.rank_variants_baselines import own_count_changes
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.genome.variants import Variant
from dna_bigbird.labelled.labelled_set import LabelledSet, open_labelled_set
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.training.encoder_source import open_source
from dna_bigbird.training.finetune_run import choose_settings
from dna_bigbird.training.label_config import LabelHeadConfig, LabelTrainConfig
from tests.toy_project import FINETUNE, PRETRAIN, refused, run


def test_finetuning_with_dropout_of_its_own(project, capsys):
    """The weights differ from those trained without, and the bundle carries the dropout."""
    run(f"{FINETUNE} --dropout 0.2 --output dropped --checkpoints checkpoints/dropped")
    dropped, kept = load_bundle(project / "dropped"), load_bundle(project / "promoter")
    assert (dropped.config["encoder"]["dropout"], kept.config["encoder"]["dropout"]) == (0.2, 0.1)
    weights = "head.dense.weight"
    assert not dropped.model.state_dict()[weights].equal(kept.model.state_dict()[weights])
    run(f"{FINETUNE} --dropout 0.1 --output same --checkpoints checkpoints/same")
    same = load_bundle(project / "same").model.state_dict()
    assert all(same[name].equal(value) for name, value in kept.model.state_dict().items())
    message = refused(f"{FINETUNE} --dropout 1 --output x --checkpoints y", capsys)
    assert "--dropout 1.0" in message


def test_bpe_dropout_changes_the_training_and_nothing_else(project, capsys):
    """Equal runs give equal weights, with data workers, too; the bundle keeps the share."""
    line = f"{FINETUNE} --training.bpe_dropout 0.05"
    run(f"{line} --output drawn0 --checkpoints checkpoints/drawn0")
    run(f"{line} --training.workers 1 --output drawn1 --checkpoints checkpoints/drawn1")
    weights = [load_bundle(name).model.state_dict() for name in ("promoter", "drawn0", "drawn1")]
    assert load_bundle("drawn0").config["training"]["bpe_dropout"] == 0.05
    assert all(weights[1][name].equal(value) for name, value in weights[2].items())
    assert not weights[0]["head.dense.weight"].equal(weights[1]["head.dense.weight"])
    message = refused(f"{FINETUNE} --training.bpe_dropout 0.95 --output x --checkpoints y", capsys)
    assert "set.h5: with --training.bpe_dropout 0.95 a window of 200 bp has" in message
    assert "the model reads at most 96" in message
    message = refused(f"{PRETRAIN} --training.bpe_dropout 0.1 --output x --checkpoints y", capsys)
    assert "--training.bpe_dropout 0.1 is for finetune" in message
    message = refused(f"{FINETUNE} --training.bpe_dropout 1 --output x --checkpoints y", capsys)
    assert "bpe_dropout 1.0" in message
    assert not (project / "x").exists()


def test_few_validation_positives_are_noted(project, capsys, monkeypatch):
    labelled = LabelledSet("set.h5")
    count = int(labelled.labels_of(labelled.rows("validation")).sum())
    line = f"{FINETUNE} --training.max_steps 4 --training.validate_every 4"
    capsys.readouterr()
    run(f"{line} --output few --checkpoints checkpoints/few")
    note = f"note: set.h5: {count} positives for validation, expected at least 200: the choice of"
    assert capsys.readouterr().err.count(note) == 1
    monkeypatch.setattr("dna_bigbird.labelled.set_files.ENOUGH", count)
    run(f"{line} --output enough --checkpoints checkpoints/enough")
    assert "positives for validation" not in capsys.readouterr().err
    assert (project / "few/metrics.json").read_text() == (
        project / "enough/metrics.json"
    ).read_text()
    drawn = "--training.validation_examples 8 --output drawn --checkpoints checkpoints/drawn"
    run(f"{line} {drawn}")
    assert "positives for validation" in capsys.readouterr().err, "of the rows that are looked at"


def test_a_validation_row_without_bases_stops_no_training(project, monkeypatch):
    validation = open_labelled_set(project / "set.h5", project / "toy.fa").rows("validation")
    read = LabelledSet.sequence

    def sequence(labelled: LabelledSet, row: int) -> str:
        return "N" * 90 if row == validation[0] else read(labelled, row)

    monkeypatch.setattr(LabelledSet, "sequence", sequence)
    run(f"{FINETUNE} --output gap --checkpoints checkpoints/gap")
    assert load_bundle("gap").config.calibration.n == len(validation) - 1


def test_fine_tuning_starts_from_the_pretrained_encoder(project):
    """With a tiny learning rate the encoder hardly changes; from scratch it is a different one."""
    few = "--training.learning_rate 1e-12 --training.max_steps 2 --training.validate_every 2"
    line = FINETUNE.replace("--training.max_steps 20 --training.validate_every 10", "")
    line = line.replace("--training.warmup_steps 3", "--training.warmup_steps 0")
    run(f"{line} {few} --output still --checkpoints ck/still")
    run(f"{line} {few} --output scratch --checkpoints ck/scratch --from_scratch true")
    words = {
        name: load_bundle(project / name).model.encoder.word.weight.detach().numpy()
        for name in ("pretrained", "still", "scratch")
    }
    assert np.allclose(words["still"], words["pretrained"], atol=1e-6)
    assert np.abs(words["scratch"] - words["pretrained"]).mean() > 0.01
    assert load_bundle(project / "scratch").config["initial_weights"] == "random"


def test_windows_that_do_not_fit_are_refused_before_training(project, capsys):
    run(
        "promoter-set --genome toy.fa --sites sites.bed --output long.h5 --assembly demo-toy "
        "--upstream 800 --downstream 200 "
        "--split.validation [chr1:40001-50000] --split.test [chr1:50001-60000]"
    )
    line = FINETUNE.replace("set.h5", "long.h5")
    message = refused(f"{line} --output x --checkpoints ck/x", capsys)
    assert "long.h5: row" in message
    assert "the model reads at most 96" in message
    assert "--model.max_tokens" in message
    assert not (project / "x").exists()
    assert not (project / "ck/x").exists()


def test_a_set_without_validation_rows_is_refused(project, capsys):
    run(
        "promoter-set --genome toy.fa --sites sites.bed --output whole.h5 --assembly demo-toy "
        "--upstream 150 --downstream 50 --split.test [chr1:50001-60000]"
    )
    line = FINETUNE.replace("set.h5", "whole.h5")
    assert "whole.h5: no row in the validation split" in refused(
        f"{line} --output x --checkpoints ck/x", capsys
    )


def test_an_encoder_with_other_settings_needs_fresh_weights(project, capsys):
    line = f"{FINETUNE} --model.num_layers 0 --model.stem_width 3 --model.positions rotary"
    message = refused(f"{line} --output x --checkpoints ck/x", capsys)
    assert (
        "--model.num_layers 0: the weights of pretrained were trained with num_layers 2" in message
    )
    assert "give --from_scratch true" in message
    assert not (project / "x").exists()
    run(f"{line} --from_scratch true --output bare --checkpoints ck/bare")
    bare = load_bundle("bare")
    encoder, own = bare.config.encoder, load_bundle("pretrained").config.encoder
    assert (encoder.num_layers, encoder.stem_width, encoder.positions) == (0, 3, "rotary")
    assert (encoder.hidden_size, encoder.vocab_size) == (own.hidden_size, own.vocab_size)
    assert len(bare.model.encoder.layers) == 0
    run("evaluate --genome toy.fa --model bare --data set.h5 --output bare_scored --replicates 5")
    run(f"{FINETUNE} --model.num_random 0 --output near --checkpoints ck/near")
    assert load_bundle("near").config.encoder.num_random == 0, "no weight depends on it"


def test_a_small_encoder_on_single_bases_needs_no_pretraining(project, capsys):
    line = FINETUNE.replace("--pretrained pretrained", "--tokenizer bases")
    few = "--training.optimizer muon --model.hidden_size 16 --model.num_heads 2 --model.ffn_size 16"
    run(f"{line} {few} --output single --checkpoints ck/single")
    small = load_bundle("single")
    assert small.tokenizer.pieces[5:] == list("ACGTN")
    assert small.config.initial_weights == "random"
    assert [record.training for record in small.config.regions_read] == ["promoter"], (
        "no pretraining"
    )
    encoder = small.config.encoder
    assert (encoder.num_layers, encoder.positions, encoder.norm_first) == (2, "rotary", True)
    assert (encoder.stem_width, encoder.vocab_size, encoder.max_tokens) == (9, 10, 202)
    (project / "one.fa").write_text(">a\n" + "ACGT" * 50 + "\n")
    run("predict --fasta one.fa --model single --output one.tsv")
    assert len((project / "one.tsv").read_text().splitlines()) == 2
    run(f"{line.replace('bases', 'bpe.model')} {few} --output own --checkpoints ck/own")
    assert load_bundle("own").tokenizer.vocab_size == 128
    for options, expected in (
        ("--pretrained pretrained", "--tokenizer bases with --pretrained pretrained"),
        ("--model.hidden_size 9", "--model.hidden_size 9 is not a multiple of --model.num_heads 4"),
    ):
        assert expected in refused(f"{line} {options} --output x --checkpoints ck/x", capsys)
    other = line.replace("bases", "nothing.model")
    assert "nothing.model" in refused(f"{other} --output x --checkpoints ck/x", capsys)


def test_a_head_trained_on_one_strand_has_a_direction(project, capsys):
    line = f"{FINETUNE} --training.both_strands false --training.max_steps 2"
    line = line.replace("--training.max_steps 20 --training.validate_every 10", "")
    line = line.replace("--training.warmup_steps 3", "") + " --training.validate_every 2"
    run(f"{line} --output directed --checkpoints ck/directed")
    assert load_bundle("directed").config.directional
    assert "directional" not in load_bundle("promoter").config.stored
    run("evaluate --genome toy.fa --model directed --data set.h5 --output dir --replicates 5")
    assert load_bundle("dir").metrics.strand == "forward"
    steps = "--training.max_steps 2 --training.validate_every 2 --cnnprom.width 0.1 --threads 1"
    net = f"baseline --genome toy.fa --data set.h5 --method cnnprom {steps}"
    for name, options in (("forward", "--training.both_strands false"), ("both", "")):
        run(f"{net} --output {name}.h5 {options}")
        assert read_scores(project / f"{name}.h5").strand == name


def test_random_shifts_change_the_training_and_nothing_else(project, capsys):
    line = f"{FINETUNE} --training.max_shift 8"
    capsys.readouterr()
    run(f"{line} --output moved0 --checkpoints checkpoints/moved0")
    assert "moves each window within itself" in capsys.readouterr().err, "negatives are stored"
    run(f"{line} --training.workers 1 --output moved1 --checkpoints checkpoints/moved1")
    weights = [load_bundle(name).model.state_dict() for name in ("promoter", "moved0", "moved1")]
    assert all(weights[1][name].equal(value) for name, value in weights[2].items())
    assert not weights[0]["head.dense.weight"].equal(weights[1]["head.dense.weight"])
    message = refused(f"{FINETUNE} --training.max_shift 200 --output x --checkpoints y", capsys)
    assert "--training.max_shift 200: the windows of set.h5 are 200 bp; expected less" in message
    message = refused(f"{PRETRAIN} --training.max_shift 3 --output x --checkpoints y", capsys)
    assert "--training.max_shift 3 is for finetune" in message
    assert not (project / "x").exists()
    settings = (project / "checkpoints/promoter/settings.json").read_text()
    assert "max_shift" not in settings, "a run that an earlier version began continues"
    assert '"max_shift": 8' in (project / "checkpoints/moved0/settings.json").read_text()


@pytest.mark.parametrize("options", ["--freeze encoder", "--lora.rank 2 --lora.targets query ffn"])
def test_most_weights_of_the_encoder_may_stay(project, options):
    """Checkpoints have only what is trained; a run that was stopped ends with the same bundle."""
    name = options.split()[0].strip("-").replace(".", "_")
    line = f"{FINETUNE} {options} --training.learning_rate 0.01"
    line = line.replace("--training.learning_rate 0.003 ", "")
    run(f"{line} --output {name} --checkpoints ck/{name}")
    adapted = load_bundle(name).model.state_dict()
    before = load_bundle("pretrained").model.encoder.state_dict()
    changed = {key for key, value in before.items() if not adapted[f"encoder.{key}"].equal(value)}
    if "freeze" in options:
        assert changed == set()
    else:
        parts = ("attention.qkv", "ffn_in", "ffn_out")
        assert changed == {f"layers.{i}.{part}.weight" for i in (0, 1) for part in parts}
        qkv = "layers.0.attention.qkv.weight"
        assert adapted[f"encoder.{qkv}"][16:].equal(before[qkv][16:]), "keys and values stay"
        difference = adapted[f"encoder.{qkv}"][:16] - before[qkv][:16]
        assert torch.linalg.matrix_rank(difference, tol=1e-5) <= 2
    best = max((project / "ck" / name).glob("best_*.ckpt"))
    names = torch.load(best, weights_only=True)["state_dict"]
    assert "model.head.dense.weight" in names
    assert "model.encoder.word.weight" not in names
    for path in (project / "ck" / name).glob("*20.ckpt"):
        path.unlink()  # as if the run had been killed after step 10
    run(f"{line} --output {name}_again --checkpoints ck/{name}")
    again = load_bundle(f"{name}_again").model.state_dict()
    assert all(again[key].equal(value) for key, value in adapted.items())


def test_word_counts_are_added_to_the_trained_network(project, capsys):
    """The training is the same; the last layer is scaled, and the bundle says what was counted."""
    run(f"{FINETUNE} --words.max_k 3 --output counted --checkpoints checkpoints/counted")
    told = capsys.readouterr().err
    assert re.search(r"network 0\.\d+ .*, k-mers of up to 3 bp 0\.\d+ .*, together 0\.\d+", told)
    counted, plain = load_bundle("counted"), load_bundle("promoter")
    words = counted.config.words
    assert (words.max_k, words.centre_bp, words.together) == (3, 0, True)
    weights, before = counted.model.state_dict(), plain.model.state_dict()
    assert all(
        weights[f"encoder.{k}"].equal(v) for k, v in plain.model.encoder.state_dict().items()
    )
    share = counted.metrics["network"]
    assert torch.allclose(
        weights["head.dense.weight"], share * before["head.dense.weight"], atol=1e-5
    )
    assert counted.metrics["macro_auroc_of_network"] == plain.metrics["macro_auroc"]
    assert counted.metrics["macro_auroc"] >= counted.metrics["macro_auroc_of_network"]
    # The bases that the tokens spell are stored with it.
    ids = torch.tensor([plain.tokenizer.encode("ACGTTGCATTTGACCA" * 4).tolist()])
    shares = counted.model.words.counts(ids, torch.zeros_like(ids, dtype=torch.bool))
    assert shares[0, 0] == pytest.approx((4 + 5) / 16), "A and T"
    run(f"{FINETUNE} --words.max_k 3 --output counted_again --checkpoints checkpoints/counted")
    again = load_bundle("counted_again").model.state_dict()
    assert all(again[name].equal(value) for name, value in weights.items())


def test_counts_are_scored_without_the_network_and_named_with_the_score(project, capsys):
    """The counts alone are the model whose last layer has weight 0."""
    run(f"{FINETUNE} --words.max_k 3 --output added --checkpoints checkpoints/added")
    line = "evaluate --genome toy.fa --data set.h5 --batch_size 8 --seed 1 --replicates 50"
    run(f"{line} --model added --output added_scored --baselines kmer=kmer.h5")
    told = capsys.readouterr().out
    bundle, labelled = (
        load_bundle("added"),
        open_labelled_set(project / "set.h5", project / "toy.fa"),
    )
    bundle.model.head.dense.weight.data.zero_()
    bundle.model.head.dense.bias.data.zero_()

    def scored(rows) -> np.ndarray:
        scores = []
        for row in rows:
            sequence = labelled.sequence(int(row))
            values = []
            for text in (sequence, reverse_complement(sequence)):
                ids = [bundle.tokenizer.cls_id, *bundle.tokenizer.encode(text)]
                ids = torch.tensor([[*ids, bundle.tokenizer.sep_id]])
                with torch.no_grad():
                    logits = bundle.model(ids, torch.zeros_like(ids, dtype=torch.bool))
                values.append(logits.sigmoid())
            scores.append(float(sum(values) / 2))
        return np.array(scores)

    rows, held = labelled.rows("test"), labelled.rows("validation")
    scores, truth = scored(rows), labelled.labels_of(rows)[:, 0]
    metrics = json.loads((project / "added_scored/metrics.json").read_text())
    assert [*metrics["baselines"]] == ["counts", "kmer"]
    counts = metrics["baselines"]["counts"]
    assert counts["auroc"] == pytest.approx(roc_auc_score(truth, scores), abs=1e-6)
    peer = _SigmoidCalibration().fit(logit(scored(held)), labelled.labels_of(held)[:, 0])
    corrected = peer.predict(logit(scores))
    assert counts["brier"] == pytest.approx(brier_score_loss(truth, corrected), abs=1e-3)
    gain = metrics["auroc_gain_over_counts"]
    assert gain == pytest.approx(metrics["auroc"] - counts["auroc"], abs=2e-6)
    alone = json.loads((project / "added/metrics.json").read_text())
    weights = "; ".join(
        f"{name}: weight {metrics[part]:.2f}, {alone[f'macro_auroc_of_{part}']:.3f} alone on validation"
        for name, part in (("network", "network"), ("k-mer counts", "words"))
    )
    assert f"the model is BigBird with k-mer counts ({weights})" in told
    assert "model minus counts: " in told
    card = (project / "added_scored/README.md").read_text()
    assert f"are added ({weights})." in card
    assert "| score | model with counts | counts | kmer |" in card
    refused(f"{line} --model added --output x --baselines counts=kmer.h5", capsys)
    check_counts_of_a_variant(project, bundle)
    # A weight of 0 is said plainly.
    found = json.loads((project / "added/metrics.json").read_text()) | {"network": 0.0}
    (project / "added/metrics.json").write_text(json.dumps(found))
    run(f"{line} --model added --output regression")
    assert "the regression on k-mer counts alone, without the network" in capsys.readouterr().out
    card = (project / "regression/README.md").read_text()
    assert "Its network has weight 0: the model is the regression on the counts" in card


def check_counts_of_a_variant(project, without_network):
    """The windows of 200 bp have 100 bases before the variant, on each strand as it reads."""
    genome, start = Genome(project / "toy.fa"), 5000
    text = genome.fetch(Interval("chr1", start - 200, start + 200))
    alt = "A" if text[200] != "A" else "C"
    logits = {}
    for base in (text[200], alt):
        changed = text[:200] + base + text[201:]
        for strand in (changed[100:300], reverse_complement(changed[101:301])):
            ids = [without_network.tokenizer.cls_id, *without_network.tokenizer.encode(strand)]
            ids = torch.tensor([[*ids, without_network.tokenizer.sep_id]])
            with torch.no_grad():
                value = without_network.model(ids, torch.zeros_like(ids, dtype=torch.bool))
            logits[base] = logits.get(base, 0) + float(value) / 2
    variant = Variant("chr1", start + 1, ".", text[200], (alt,), line=1)
    changes = own_count_changes([variant], genome, project / "added", ["promoter"])
    assert changes == pytest.approx(np.array([[logits[alt] - logits[text[200]]]]), abs=1e-4)
    assert own_count_changes([variant], genome, project / "promoter", ["promoter"]) is None


def test_freezing_and_lora_are_one_or_the_other(project, capsys):
    line = f"{FINETUNE} --output x --checkpoints ck/x"
    message = refused(f"{line} --freeze encoder --lora.rank 2", capsys)
    assert "LoRA trains the encoder; leave one out" in message
    assert "--lora.rank 99 is larger than the width 16" in refused(f"{line} --lora.rank 99", capsys)


def test_the_bundled_encoder_with_the_recipe_for_whole_windows(project, capsys):
    steps = "--training.max_steps 2 --training.validate_every 2 --threads 1 --seed 1"
    line = f"finetune --genome toy.fa --data set.h5 {steps}"
    run(f"{line} --output usual --checkpoints ck/usual")
    told = capsys.readouterr().err
    assert "no --pretrained given: fine-tuning the bundled encoder" in told
    assert "muon, learning rate 0.002 (head 0.002, matrices 0.005)" in told
    assert "pooling parts (40)" in told
    config = load_bundle("usual").config
    assert (config.head.pooling, config.head.parts, config.encoder.dropout) == ("parts", 40, 0.2)
    run(f"{line} --output named --checkpoints ck/named --pretrained bundled-encoder")
    assert load_bundle("named").config.encoder.dropout == 0.0, "as it was pretrained"
    run(f"{line} --output probe --checkpoints ck/probe --freeze encoder")
    assert "adamw, learning rate 0.0003" in capsys.readouterr().err, "Muon has no matrix to train"


def test_what_was_chosen_is_noted_by_one_process(project, capsys, monkeypatch):
    """And of a set without validation rows, which is refused later, no strands are chosen."""
    run(
        "promoter-set --genome toy.fa --sites sites.bed --output blind.h5 --assembly demo-toy "
        "--upstream 150 --downstream 50 --split.test [chr1:50001-60000]"
    )
    source = open_source(None, None, EncoderChanges(), from_scratch=False)
    capsys.readouterr()
    for rank, data, notes in (("0", "set.h5", 2), ("1", "set.h5", 0), ("0", "blind.h5", 1)):
        monkeypatch.setenv("LOCAL_RANK", rank)
        labelled = open_labelled_set(project / data, project / "toy.fa")
        choose_settings(LabelTrainConfig(), LabelHeadConfig(), labelled, source)
        told = capsys.readouterr().err.splitlines()
        assert [bool(re.match(r"dna-bigbird: note: .+", line)) for line in told] == [True] * notes
        assert any("both_strands" in line for line in told) == (notes == 2)


def test_an_encoder_of_single_bases_reads_longer_windows_with_a_note(capsys):
    source = open_source(None, None, EncoderChanges(), from_scratch=False)
    assert source.for_windows(300) is source
    assert source.for_windows(2000).encoder.max_tokens == 2002
    assert "windows of 2,002 tokens; the encoder was pretrained on at most 1,024" in (
        capsys.readouterr().err
    )
    given = open_source(None, None, EncoderChanges(max_tokens=1500), from_scratch=False)
    assert given.for_windows(2000).encoder.max_tokens == 1500


def test_a_training_may_start_at_a_probe(project, capsys):
    """With a tiny learning rate the bundle is the probe: its score on validation is that of the note."""
    line = f"{FINETUNE} --training.start_at_probe true --training.learning_rate 1e-12"
    capsys.readouterr()
    run(f"{line} --output probed --checkpoints checkpoints/probed")
    told = re.search(r"start at the probe: macro_auroc ([\d.]+) on", capsys.readouterr().err)
    metrics = load_bundle("probed").metrics
    assert metrics["macro_auroc"] == pytest.approx(float(told[1]), abs=1e-3)
    assert float(told[1]) > 0.6
    plain = (
        f"{FINETUNE} --training.learning_rate 1e-12 --output plain --checkpoints checkpoints/plain"
    )
    run(plain)
    assert load_bundle("plain").metrics["macro_auroc"] < float(told[1])
    settings = (project / "checkpoints/plain/settings.json").read_text()
    assert "start_at_probe" not in settings, "a run that an earlier version began continues"
    network = (
        "baseline --genome toy.fa --data set.h5 --method cnnprom --training.start_at_probe true"
    )
    assert "is for a pretrained encoder, not for a network" in refused(
        f"{network} --output x.h5 --checkpoints ck/x", capsys
    )
