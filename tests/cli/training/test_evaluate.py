"""`dna-bigbird evaluate` and `evaluate-lm`, as the workflow calls them, on a toy genome."""

import csv
import json
import math
import os

import pytest
import torch
from scipy.special import logit
from sklearn.calibration import _SigmoidCalibration
from sklearn.metrics import average_precision_score, roc_auc_score

from dna_bigbird import load_bundle, predict
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore, covering_documents
from dna_bigbird.labelled.labelled_set import LabelledSet, open_labelled_set
from dna_bigbird.labelled.scores import read_scores
from tests.toy_project import refused, run


def metrics_of(folder) -> dict:
    return json.loads((folder / "metrics.json").read_text())


def test_language_scores_and_their_baselines(project):
    metrics = metrics_of(project / "final/pretrained")
    assert metrics["split"] == "test"
    assert metrics["n_examples"] == 20
    assert (metrics["block_bp"], metrics["n_blocks"]) == (10_000, 1)
    assert metrics["bits_per_base_masked_low"] is None  # one block has no scatter
    masked = {n for n, t in metrics["baselines"].items() if "bits_per_base_masked" in t}
    causal = {n for n, t in metrics["baselines"].items() if "bits_per_base_causal" in t}
    assert {n.rpartition("_")[2] for n in masked} == {"masked"}
    assert {n.rpartition("_")[2] for n in causal} == {"causal"}
    assert "token_unigram_masked" in masked
    for name in causal:  # over the documents
        table = metrics["baselines"][name]
        low, value, high = (table[f"bits_per_base_causal{end}"] for end in ("_low", "", "_high"))
        assert low <= value <= high
        assert table["n_documents"] > 1
    counted = {(t["n_counted_bp"], t["n_counted_documents"]) for t in metrics["baselines"].values()}
    ((bases, documents),) = counted  # all of them, and each base once
    train = TokenStore(project / "train.h5")
    places = [train.document_interval(d) for d in covering_documents(train)]
    assert (bases, documents) == (sum(place.length for place in places), len(places))
    report = json.loads((project / "report/lm.json").read_text())
    assert all(table["description"] for table in report["baselines"].values())
    card = (project / "final/pretrained/README.md").read_text()
    assert "token_unigram_masked" in card
    weights = project / "final/pretrained/model.safetensors"
    assert weights.read_bytes() == (project / "pretrained/model.safetensors").read_bytes()


def test_scores_of_blocks_add_up_to_those_of_the_model(project):
    with open(project / "report/examples.tsv", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    blocks = [row.pop("block") for row in rows]
    rows = [{k: float(v) for k, v in row.items()} for row in rows]
    metrics = metrics_of(project / "final/pretrained")
    total = {name: sum(row[name] for row in rows) for name in rows[0]}
    first = [int(block.partition(":")[2].partition("-")[0]) for block in blocks]
    assert first == sorted(first)
    assert all(start % 10_000 == 1 for start in first)
    assert len(blocks) == metrics["n_blocks"]
    assert metrics["block_bp"] == 10_000
    assert (total["tokens"], total["bp"]) == (metrics["n_masked_tokens"], metrics["n_masked_bp"])
    for shown, end in (("masked", ""), ("all_masked", "_all_masked")):
        bits = total[f"nats{end}"] / math.log(2) / total["bp"]
        assert metrics[f"bits_per_base_{shown}"] == pytest.approx(bits, abs=2e-6)
        assert metrics[f"mlm_accuracy{end}"] == pytest.approx(
            total[f"right{end}"] / total["tokens"], abs=1e-6
        )
    assert total["nats"] != total["nats_all_masked"]


def test_language_scores_by_chromosome_and_class_add_up(project):
    """One chromosome in one case: a single part each time, with the figures of the whole."""
    metrics = metrics_of(project / "final/pretrained")
    names = ("bits_per_base_masked", "bits_per_base_all_masked")
    keys = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    for table in (metrics, metrics["baselines"]["token_unigram_masked"]):
        whole = [table[key] for key in keys] + [metrics["n_masked_bp"]]
        assert list(table["by_chromosome"]) == ["chr1"]
        for part in (table["by_chromosome"]["chr1"], table["by_repeat_class"]["unknown"]):
            assert [part[key] for key in keys] + [part["n_bp"]] == pytest.approx(whole, abs=2e-6)
        nothing = table["by_repeat_class"]["soft_masked"]
        assert nothing == dict.fromkeys([*keys, *nothing]) | {"n_bp": 0}


def test_classes_of_sequence_add_up_to_the_whole(project):
    """The toy genome is random and in one case: nothing is seen, and no repeats are known."""
    metrics = metrics_of(project / "final/pretrained")
    for table in (metrics, metrics["baselines"]["token_mixture_informed_masked"]):
        classes = table["by_class"]
        assert list(classes) == ["unseen", "unique", "repeat", "unknown", "seen"]
        assert {name: part["n_bp"] for name, part in classes.items()} == {
            "unseen": metrics["n_masked_bp"],
            "unique": 0,
            "repeat": 0,
            "unknown": metrics["n_masked_bp"],
            "seen": 0,
        }
        for name in ("bits_per_base_masked", "bits_per_base_all_masked"):
            assert classes["unseen"][name] == pytest.approx(table[name], abs=2e-6)
    name = "model_minus_baseline_masked"
    assert classes["unseen"][name] == pytest.approx(table[name], abs=2e-6)


def test_sequence_of_the_training_text_is_seen(project):
    """A model that is scored on its own training documents has read all of them."""
    run(
        "evaluate-lm --model pretrained --train train.h5 --test train.h5 --output all_seen "
        "--report all_seen.json --seed 1 --examples 5 --unmasked_baselines false"
    )
    classes = metrics_of(project / "all_seen")["by_class"]
    assert classes["seen"]["n_bp"] == metrics_of(project / "all_seen")["n_masked_bp"]
    assert classes["unseen"]["n_bp"] == 0
    card = (project / "all_seen/README.md").read_text()
    assert "All hidden bases lie in 32-mers of the training text" in card


def test_without_the_baselines_that_read_no_hidden_token(project, capsys):
    line = (
        "evaluate-lm --model pretrained --train train.h5 --test test.h5 --output masked_only "
        "--report masked_only.json --seed 1 --examples 20 --genome toy.fa --unmasked_baselines false"
    )
    run(line)
    whole, part = (metrics_of(project / name) for name in ("final/pretrained", "masked_only"))
    masked = {n: t for n, t in whole["baselines"].items() if n.endswith("_masked")}
    assert part == whole | {"baselines": masked}
    assert len(masked) < len(whole["baselines"])
    error = refused(f"{line} --kenlm true", capsys)
    assert "--kenlm true: its n-grams are causal" in error


def test_all_masked_positions_against_a_loop(project):
    """The same hidden tokens, one example at a time, each of them showing [MASK]."""
    bundle, metrics = load_bundle(project / "pretrained"), metrics_of(project / "final/pretrained")
    max_tokens = bundle.config.encoder.max_tokens
    examples = PretrainExamples(
        TokenStore(project / "test.h5"), bundle.tokenizer, max_tokens, MaskingConfig(), seed=1
    )
    nats, right, bases = 0.0, 0, 0
    for index in range(20):
        example = examples[index]
        ids = example["token_ids"].copy()
        ids[example["positions"]] = bundle.tokenizer.mask_id
        arrays = (ids[None], example["segment_ids"][None], example["positions"], example["labels"])
        ids_1T, segments_1T, positions, labels = map(torch.as_tensor, arrays)
        with torch.inference_mode():
            logits, _ = bundle.model(
                ids_1T, torch.zeros_like(ids_1T, dtype=bool), segments_1T, positions
            )
        nats -= float(logits.double().log_softmax(-1)[range(len(labels)), labels].sum())
        right += int((logits.argmax(-1) == labels).sum())
        bases += int(bundle.tokenizer.piece_bp[example["labels"]].sum())
    expected = nats / math.log(2) / bases
    assert metrics["bits_per_base_all_masked"] == pytest.approx(expected, rel=1e-5)
    assert metrics["mlm_accuracy_all_masked"] == pytest.approx(
        right / metrics["n_masked_tokens"], abs=1e-6
    )
    # Where nothing is shown, knowing what is shown is worth nothing.
    plain, informed = (
        metrics["baselines"][f"token_unigram{name}_masked"] for name in ("", "_informed")
    )
    for table in (plain, informed):
        assert table["bits_per_base_all_masked"] == plain["bits_per_base_masked"]
    assert informed["bits_per_base_masked"] < plain["bits_per_base_masked"]


def test_another_genome_is_refused(project, capsys):
    letters = (project / "toy.fa").read_text().split("\n")[1]
    (project / "other.fa").write_text(f">chr1\n{letters[::-1]}\n")
    line = (
        "evaluate-lm --model pretrained --train train.h5 --test test.h5 --output never "
        "--report never.json --examples 1"
    )
    error = refused(f"{line} --genome other.fa", capsys)
    assert "test.h5: made from another genome (demo-toy): other.fa has other bases on chr1" in error
    assert "--repeats needs the genome too" in refused(f"{line} --repeats r.bed", capsys)
    assert not os.path.exists("never")


def test_promoter_scores_against_sklearn(project):
    labelled = LabelledSet(project / "set.h5")
    test = labelled.rows("test")
    labels = labelled.labels[test, 0]
    metrics = metrics_of(project / "final/promoter")
    assert metrics["n"] == len(test)
    assert metrics["n_positive"] == labels.sum()
    assert (metrics["split"], metrics["seed"], metrics["strand"]) == ("test", 1, "both")
    files = {"": "report/promoter/scores.h5", "kmer": "kmer.h5"}
    for name, file in files.items():
        table = metrics["baselines"][name] if name else metrics
        scores = read_scores(project / file).of(test)[:, 0]
        assert table["auroc"] == pytest.approx(roc_auc_score(labels, scores), abs=1e-6)
        expected = average_precision_score(labels, scores)
        assert table["auprc"] == pytest.approx(expected, abs=1e-6)
        assert metrics["n_blocks"] == 1, "so no interval"
        assert table["auroc_low"] is table["auroc_high"] is None
    row = (project / "report/promoter/per_label.tsv").read_text().splitlines()
    values = dict(zip(row[0].split("\t"), row[1].split("\t"), strict=True))
    assert float(values["kmer_auroc"]) == metrics["baselines"]["kmer"]["auroc"]
    assert values["label"] == "promoter"
    curves = (project / "report/promoter/curves.tsv").read_text()
    assert {line.split("\t")[1] for line in curves.splitlines()[1:]} == {"model", "kmer", "chance"}
    card = (project / "final/promoter/README.md").read_text()
    assert "random_base" in card
    assert "kmer" in card
    assert load_bundle(project / "final/promoter").config["window_bp"] == 200


def test_bundles_and_sets_that_do_not_belong_together_are_refused(project, capsys):
    common = "--output x --report y"
    message = refused(f"evaluate --genome toy.fa --model pretrained --data set.h5 {common}", capsys)
    assert "pretrained: a pretrained model without a label head" in message
    message = refused(
        f"evaluate-lm --model promoter --train train.h5 --test test.h5 {common}", capsys
    )
    assert "promoter: a promoter model; expected a pretrained one" in message
    run(
        "promoter-set --genome toy.fa --sites sites.bed --output small.h5 --assembly demo-toy "
        "--upstream 100 --downstream 50 "
        "--split.validation [chr1:40001-50000] --split.test [chr1:50001-60000]"
    )
    message = refused(f"evaluate --genome toy.fa --model promoter --data small.h5 {common}", capsys)
    assert "small.h5: its window_bp is 150, that of promoter 200" in message
    run("baseline --genome toy.fa --data small.h5 --output small_kmer.h5 --kmer.max_k 2")
    message = refused(
        "evaluate --genome toy.fa --model promoter --data set.h5 --baselines.kmer small_kmer.h5 "
        + common,
        capsys,
    )
    assert "small_kmer.h5: scores of another labelled set than set.h5" in message


def test_probabilities_are_corrected_on_validation_rows_as_evaluate_reads_them(project):
    """The slope and bias are those of scikit-learn on what `predict --raw` gives for these rows."""
    bundle = load_bundle(project / "promoter")
    labelled = open_labelled_set(project / "set.h5", project / "toy.fa")
    sequences = {name: labelled.rows(name) for name in ("validation", "test")}
    assert not bundle.config.directional
    raw, corrected = (
        {
            name: predict(
                sequences=[labelled.sequence(int(i)) for i in rows],
                model=project / "promoter",
                raw=is_raw,
                precision="32-true",
            ).probabilities[:, 0]
            for name, rows in sequences.items()
        }
        for is_raw in (True, False)
    )
    truth = {name: labelled.labels_of(rows)[:, 0] for name, rows in sequences.items()}
    peer = _SigmoidCalibration().fit(logit(raw["validation"]), truth["validation"])
    (slope,), (bias,) = bundle.config.calibration.slopes, bundle.config.calibration.biases
    assert (slope, bias) == pytest.approx((-peer.a_, -peer.b_), rel=0.02, abs=0.01)
    assert bundle.config.calibration.n == len(sequences["validation"])
    own = metrics_of(project / "promoter")
    for folder, split in ((own, "validation"), (metrics_of(project / "final/promoter"), "test")):
        for key, values in (("brier_raw", raw), ("brier", corrected)):
            assert folder[key] == pytest.approx(
                ((values[split] - truth[split]) ** 2).mean(), abs=1e-5
            )
    assert own["brier"] < own["brier_raw"]
    scores = read_scores(project / "report/promoter/scores.h5").of(sequences["test"])
    assert scores[:, 0] == pytest.approx(corrected["test"], abs=1e-6)
    assert roc_auc_score(truth["test"], raw["test"]) == roc_auc_score(truth["test"], scores[:, 0])
    kmer = read_scores(project / "kmer.h5").of(sequences["test"])[:, 0]
    found = metrics_of(project / "final/promoter")["baselines"]["kmer"]["brier"]
    assert found == pytest.approx(((kmer - truth["test"]) ** 2).mean(), abs=1e-6)
