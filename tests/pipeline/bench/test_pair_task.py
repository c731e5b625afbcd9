"""Pair tasks: models by construction, every file read again, and scores of real bundles by hand."""

import json
import shutil
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from dna_bigbird.bench import pair_task
from dna_bigbird.bench.leak_free import LeakFree
from dna_bigbird.bench.pair_task import (
    ModelScorer,
    PairSource,
    compare,
    run_pairs,
    strand_agreement,
)
from dna_bigbird.bench.parts import ArrayParts
from dna_bigbird.bench.suites import tata
from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import PairRow, PairRows
from dna_bigbird.bench.task_scores import PairScores, TaskRun
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.bundled import bundled_model
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.writing import json_text
from dna_bigbird.genome import reverse_complement
from dna_bigbird.metrics.task_results import MODEL, TaskResult
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor
from tests.pipeline.bench.task_runs import toy_run
from tests.tiny_bundle import write_pretrained_bundle

TSS = 249


def make_run(model: Path, folder: Path) -> TaskRun:
    return toy_run(model, folder, seeds=())


def result_of(score, rows: PairRows) -> TaskResult:
    """The result of a model that is a Python function of a sequence."""
    real, changed, control = (
        np.array([score(getattr(row, form)) for row in rows.rows], dtype=float)
        for form in ("sequence", "changed", "control")
    )
    sources = {MODEL: PairSource("by construction", PairScores(real, changed, control))}
    number = len(rows.rows)
    everything = LeakFree(np.arange(number), np.ones(number, dtype=bool), {})
    return compare(make_run(bundled_model(), Path("unused")), rows, sources, everything)


@pytest.fixture(scope="module")
def promoters(real_data) -> PairRows:
    folder = real_data / "promoters"
    return tata.read(folder, tata.tasks(folder)[0], Genomes({}))


def test_a_model_that_reads_the_position_of_the_box_is_always_right(promoters):
    def reads_position(sequence):
        return max(
            sum(a in b for a, b in zip(sequence[start:], ("T", "A", "T", "A", "AT", "A", "AT", "AG"), strict=False))
            for start in range(TSS - 36, TSS - 25)
        )  # fmt: skip

    model = result_of(reads_position, promoters).model.scores["published"]
    assert (model["accuracy"].value, model["accuracy"].low) == (1.0, 1.0)
    assert model["mean_difference"].value > 1


def test_a_model_that_counts_bases_is_at_chance_exactly(promoters):
    model = result_of(lambda x: x.count("T") - 2 * x.count("G"), promoters).model
    score = model.scores["published"]["accuracy"]
    assert (score.value, score.low, score.high) == (0.5, 0.5, 0.5)


def test_a_model_that_counts_words_is_near_chance(promoters):
    """Words of 3 bases with random weights, some of which the borders of the blocks change."""
    weights = np.random.default_rng(1).normal(size=64)

    def counts_words(sequence):
        codes = np.array(["ACGT".index(base) for base in sequence])
        return weights[codes[:-2] * 16 + codes[1:-1] * 4 + codes[2:]].sum()

    score = result_of(counts_words, promoters).model.scores["published"]["accuracy"]
    assert score.low < 0.5 < score.high or abs(score.value - 0.5) < 0.04
    assert score.high - score.low < 0.08


def toy_rows(random_dna, count=30, *, control=True) -> PairRows:
    rows = [
        PairRow(
            f"s{i // 2}",
            random_dna(120, i),
            random_dna(120, 100 + i),
            random_dna(120, 200 + i) if control else "",
            group=f"g{i % 3}",
        )
        for i in range(count)
    ]
    return PairRows(rows, counts={"rows_read": count + 1, "left_out_short": 1})


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory) -> Path:
    return write_pretrained_bundle(tmp_path_factory.mktemp("pretrained") / "tiny")


def test_a_classifier_scores_by_the_log_odds_of_its_first_label(
    bundle_folder, random_dna, tmp_path
):
    rows = toy_rows(random_dna)
    result = run_pairs(make_run(bundle_folder, tmp_path), rows)
    predictor = Predictor(
        load_bundle(bundle_folder), compute=Compute(precision="32-true"), strand="forward"
    )

    def log_odds(form):
        texts = [getattr(row, form) for row in rows.rows]
        both = [texts, [reverse_complement(text) for text in texts]]
        p = np.array([predictor.probabilities(each)[:, 0] for each in both])
        return np.log(p / (1 - p)).mean(axis=0)

    changed, control = log_odds("changed"), log_odds("control")
    scores = result.model.scores["published"]
    assert scores["accuracy"].value == pytest.approx(float((control > changed).mean()), abs=1e-6)
    assert scores["mean_difference"].value == pytest.approx(
        float((control - changed).mean()), abs=1e-4
    )
    assert result.model.strands.keys() == {"flip_rate", "correlation"}
    weights = (bundle_folder / "model.safetensors").read_bytes()
    assert result.settings["model_sha256"] == sha256(weights).hexdigest()
    for number, group in enumerate(["g0", "g1", "g2"]):
        here = slice(number, None, 3)
        expected = float((control[here] > changed[here]).mean())
        assert result.groups[group]["published"].value == pytest.approx(expected, abs=1e-6)


def test_baselines_are_compared_on_the_same_draws(bundle_folder, random_dna, tmp_path):
    result = run_pairs(make_run(bundle_folder, tmp_path), toy_rows(random_dna, control=False))
    assert [source.name for source in result.sources] == ["model", "counting", "gc"]
    for source in result.sources[1:]:
        minus, scores = source.minus["published"], source.scores["published"]
        difference = result.model.scores["published"]["accuracy"].value - scores["accuracy"].value
        assert minus.value == pytest.approx(difference, abs=2e-6)
        assert minus.low <= minus.value <= minus.high
    assert not result.model.minus


def test_a_directional_classifier_takes_the_higher_strand(random_dna):
    bundle = load_bundle(bundled_model())
    assert bundle.config.directional
    scorer = ModelScorer(bundle, 1)
    texts = [random_dna(300, i) for i in range(4)]
    scores = scorer.score(texts)
    p = Predictor(bundle, compute=Compute(precision="32-true")).probabilities(texts)[:, 0]
    np.testing.assert_allclose(scorer.join(scores), np.log(p / (1 - p)), atol=1e-4)


def test_random_weights_score_as_a_network_that_was_not_trained(pretrained, random_dna, tmp_path):
    rows = toy_rows(random_dna)
    result = run_pairs(make_run(pretrained, tmp_path / "parts"), rows)
    names = [source.name for source in result.sources]
    assert names == ["model", "random_weights", "counting", "gc"]
    new = write_pretrained_bundle(tmp_path / "new", scale=1)
    of_new = run_pairs(make_run(new, tmp_path / "new-parts"), rows)
    assert result.sources[1].scores == of_new.model.scores != result.model.scores
    assert not result.sources[1].is_trained


def test_counts_rank_sequences_of_a_simple_pattern_above_random_ones(
    bundle_folder, random_dna, tmp_path
):
    rows = [
        PairRow(f"r{i}", "ACGGT" * 20 + random_dna(20, i), random_dna(120, 90 + i))
        for i in range(40)
    ]
    result = run_pairs(make_run(bundle_folder, tmp_path), PairRows(rows))
    counting = next(source for source in result.sources if source.name == "counting")
    assert counting.scores["published"]["accuracy"].value == 1.0


def test_counts_have_not_seen_the_group_that_they_score(bundle_folder, random_dna, tmp_path):
    """Two motifs, one in each half: what is common within a motif does not help."""
    motifs = {"aa": "TTGACGTCAATTGACGTCAA", "ab": "CCATATTAGGCCATATTAGG"}
    rows = []
    for group, motif in motifs.items():
        other = "".join(np.random.default_rng(0).permutation(list(motif)))
        for i in range(30):
            left, right = random_dna(50, i), random_dna(50, 500 + i)
            rows.append(PairRow(f"b{i}", left + motif + right, left + other + right, group=group))
    result = run_pairs(make_run(bundle_folder, tmp_path), PairRows(rows))
    counting = next(source for source in result.sources if source.name == "counting")
    assert counting.scores["published"]["accuracy"].value < 0.9


def test_finished_scores_are_read_again(pretrained, random_dna, tmp_path, monkeypatch):
    rows = toy_rows(random_dna, 12)
    first = json_text(run_pairs(make_run(pretrained, tmp_path), rows).to_json())
    files = sorted(path for path in tmp_path.rglob("*.npz"))
    stamps = [path.read_bytes() for path in files]

    def refuse(self, texts):
        raise AssertionError("computed again")

    with monkeypatch.context() as patch:
        patch.setattr(pair_task.ModelScorer, "score", refuse)
        again = json_text(run_pairs(make_run(pretrained, tmp_path), rows).to_json())
        with pytest.raises(AssertionError, match="computed again"):
            run_pairs(make_run(pretrained, tmp_path), toy_rows(random_dna, 11))
    fresh = json_text(run_pairs(make_run(pretrained, tmp_path / "other"), rows).to_json())
    assert first == again == fresh
    assert [path.name for path in files] == ["model-0000000.npz", "random_weights-0000000.npz"]
    assert [path.read_bytes() for path in files] == stamps
    assert TaskResult.from_json(json.loads(first)).to_json() == json.loads(first) | {
        "label_names": []
    }


def test_a_damaged_file_or_another_model_is_computed_again(
    pretrained, bundle_folder, random_dna, tmp_path
):
    rows = toy_rows(random_dna, 6)
    expected = run_pairs(make_run(pretrained, tmp_path), rows)
    (path,) = tmp_path.rglob("model-*.npz")
    for content in (path.read_bytes()[:-40], b"{}", b""):
        path.write_bytes(content)
        assert run_pairs(make_run(pretrained, tmp_path), rows) == expected
    assert run_pairs(make_run(bundle_folder, tmp_path), rows) != expected


def test_another_version_or_config_is_computed_again(pretrained, random_dna, tmp_path, monkeypatch):
    rows = toy_rows(random_dna, 6)
    model = shutil.copytree(pretrained, tmp_path / pretrained.name)
    first = run_pairs(make_run(model, tmp_path / "parts"), rows)
    score, calls = ModelScorer.score, []

    def counted(self, texts):
        calls.append(len(texts))
        return score(self, texts)

    monkeypatch.setattr(ModelScorer, "score", counted)
    assert run_pairs(make_run(model, tmp_path / "parts"), rows) == first
    assert calls == []
    with monkeypatch.context() as patch:
        patch.setattr("dna_bigbird.bench.parts.__version__", "0.0.0")
        run_pairs(make_run(model, tmp_path / "parts"), rows)
    assert calls == [18, 18]  # the model and random weights
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"metadata": {"note": "other"}}))
    run_pairs(make_run(model, tmp_path / "parts"), rows)
    assert calls == [18] * 4


def test_stopped_between_two_parts_it_ends_with_the_same_bytes(
    pretrained, random_dna, tmp_path, monkeypatch
):
    """36 sequences in parts of 16: the second one is never finished in the first call."""
    monkeypatch.setattr(ArrayParts.scored, "__kwdefaults__", {"at_once": 16})
    rows = toy_rows(random_dna, 12)
    whole = json_text(run_pairs(make_run(pretrained, tmp_path / "whole"), rows).to_json())
    score, calls = ModelScorer.score, []

    def stopped(self, texts):
        calls.append(len(texts))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return score(self, texts)

    monkeypatch.setattr(ModelScorer, "score", stopped)
    run = make_run(pretrained, tmp_path / "parts")
    with pytest.raises(KeyboardInterrupt):
        run_pairs(run, rows)
    assert [path.name for path in run.folder.iterdir()] == ["model-0000000.npz"]
    assert json_text(run_pairs(run, rows).to_json()) == whole
    assert calls == [16, 16, 16, 4, 16, 16, 4]


def test_a_task_without_pairs(pretrained, tmp_path):
    with pytest.raises(InputError, match=r"toy: no pair is left; \{'rows_read': 3\}"):
        run_pairs(make_run(pretrained, tmp_path), PairRows([], counts={"rows_read": 3}))


def test_all_pairs_or_none_have_a_control(pretrained, random_dna, tmp_path):
    rows = [*toy_rows(random_dna, 2).rows, *toy_rows(random_dna, 3, control=False).rows]
    with pytest.raises(ValueError, match="2 of 5 pairs have a control"):
        run_pairs(make_run(pretrained, tmp_path), PairRows(rows))


def test_strands_agree_as_far_as_signs_and_differences_do():
    def pairs(*differences):
        return PairScores(np.array(differences, dtype=float), np.zeros(len(differences)))

    forward, reverse = pairs(1, -2, 3, 4), pairs(2, 1, 5, -1)
    agreement = strand_agreement(forward, reverse)
    assert agreement["flip_rate"] == 0.5
    assert agreement["correlation"] == pytest.approx(
        np.corrcoef([1, -2, 3, 4], [2, 1, 5, -1])[0, 1], abs=1e-6
    )
    assert strand_agreement(forward, pairs(1, 1, 1, 1))["correlation"] is None
