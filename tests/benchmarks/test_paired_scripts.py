"""benchmarks/context_worth.py and single_base.py: predictors on the same hidden tokens."""

import json
from pathlib import Path

import numpy as np
import pytest

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.masking import PAPER
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.genome import Genome
from dna_bigbird.genome.interval import Interval
from tests.toy_project import PRETRAIN, run

SHORT = PRETRAIN.replace("--training.max_steps 20", "--training.max_steps 4").replace(
    "--training.validate_every 10", "--training.validate_every 4"
)


@pytest.fixture(scope="module")
def short(toy_project, tmp_path_factory) -> Path:
    """A model of the toy project that reads half as many tokens."""
    folder = tmp_path_factory.mktemp("short")
    line = SHORT.replace("max_tokens 96", "max_tokens 48")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(toy_project)
        run(f"{line} --output {folder}/short --checkpoints {folder}/checkpoints")
    return folder / "short"


@pytest.fixture(scope="module")
def bases(toy_project, tmp_path_factory) -> Path:
    """A corpus and a model of single bases of the toy genome."""
    folder = tmp_path_factory.mktemp("bases")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(toy_project)
        run(
            f"train-tokenizer --genome toy.fa --documents train.bed.gz --output {folder}/bpe.model "
            f"--metrics {folder}/bpe.json --tokenizer.algorithm bases"
        )
        for split in ("train", "validation"):
            run(
                f"tokenize --genome toy.fa --documents {split}.bed.gz --tokenizer {folder}/bpe.model "
                f"--output {folder}/{split}.h5 --assembly demo-toy"
            )
        line = SHORT
        for name in ("train.h5", "validation.h5", "bpe.model"):
            line = line.replace(f" {name}", f" {folder}/{name}")
        run(f"{line} --output {folder}/model --checkpoints {folder}/checkpoints")
    return folder


def rows_of(folder, *key):
    rows = json.loads((folder / "results.json").read_text())["rows"]
    return {tuple(row[name] for name in key): row for row in rows}


@pytest.mark.parametrize(("length", "room", "stride"), [(100, 10, 5), (101, 10, 3), (7, 10, 5)])
def test_windows_answer_for_every_token_once(script, length, room, stride):
    parts = list(script("context_worth").windows(length, room, stride))
    answered = [token for _, _, first, last in parts for token in range(first, last)]
    assert answered == list(range(length))
    for start, end, first, last in parts:
        assert end - start == min(room, length)
        assert start <= first < last <= end
        # A quarter of the room on both sides, but at the ends of the stretch.
        assert first == 0 or first - start >= (room - stride) // 2
        assert last == length or end - last >= (room - stride) // 2


def test_windows_show_what_the_long_example_shows(script, toy_project):
    context = script("context_worth")
    tokenizer = load_bundle(toy_project / "pretrained").tokenizer
    store = TokenStore(toy_project / "test.h5")
    example = PretrainExamples(store, tokenizer, 96, PAPER, 3, random_second=False)[0]
    seen, positions = context.stretch_of(example, tokenizer)
    assert len(seen) == len(example["token_ids"]) - 3
    assert seen[positions].tolist() == example["token_ids"][example["positions"]].tolist()
    cut = context.in_windows(example, tokenizer, room=29, stride=14)
    text = " ".join(map(str, seen))
    for window in cut:
        shown, where = context.stretch_of(window, tokenizer)
        assert " ".join(map(str, shown)) in text
        assert shown[where].tolist() == window["token_ids"][window["positions"]].tolist()
        assert window["segment_ids"].tolist() == sorted(window["segment_ids"])
        assert np.flatnonzero(window["segment_ids"] == 0)[-1] == 29 // 2 + 1
    labels = np.concatenate([window["labels"] for window in cut])
    assert labels.tolist() == example["labels"].tolist()


def test_both_models_are_scored_on_the_same_tokens(script, toy_project, short, tmp_path):
    context = script("context_worth")
    paths = f"--long {toy_project}/pretrained --short {short} --corpus {toy_project}"
    more = f"--genome {toy_project}/toy.fa --split test --examples 6 --output {tmp_path}/out"
    context.main(f"{paths} {more}".split())
    rows = rows_of(tmp_path / "out", "part", "predictor")
    names = ["pretrained (96)", "short (48)"]
    bundle = load_bundle(toy_project / "pretrained")
    store = TokenStore(toy_project / "test.h5")
    examples = PretrainExamples(store, bundle.tokenizer, 96, PAPER, 1, random_second=False)
    nats = np.concatenate(context.nats_of(bundle, examples, 6))
    bp = sum(bundle.tokenizer.piece_bp[examples[i]["labels"]].sum() for i in range(6))
    long, other = (rows["all", name] for name in names)
    assert long["bits_per_base"] == pytest.approx(nats.sum() / np.log(2) / bp, abs=1e-5)
    assert long["hidden_bp"] == other["hidden_bp"] == bp
    assert long["difference"] is None
    for row in rows.values():
        if row["difference"] is not None:
            of_long = rows[row["part"], names[0]]["bits_per_base"]
            expected = row["bits_per_base"] - of_long
            assert row["difference"] == pytest.approx(expected, abs=3e-6)
    # The toy genome is in upper case from end to end.
    assert rows["unknown", names[0]]["hidden_bp"] == bp
    with pytest.raises(InputError, match="reads no fewer tokens than"):
        context.main(f"--long {short} --short {toy_project}/pretrained {more} --corpus .".split())


def test_hidden_bases_are_apart_and_known(script, tmp_path):
    rng = np.random.default_rng(0)
    letters = rng.choice(list("ACGT"), 5000)
    letters[1000:1100] = "N"
    (tmp_path / "g.fa").write_text(f">c\n{''.join(letters)}\n")
    regions = [Interval("c", 500, 4500)]
    sizes = {"length": 300, "margin": 30, "apart": 50}
    single_base, genome = script("single_base"), Genome(tmp_path / "g.fa")
    drawn = list(single_base.draw_windows(genome, regions, **sizes, passes=2, seed=4))
    hidden = []
    for window in drawn:
        assert window.sequence == genome.fetch(window.interval)
        assert (np.diff(window.hidden) >= 50).all()
        assert 30 <= window.hidden.min() <= window.hidden.max() < len(window.sequence) - 30
        assert all(window.sequence[i] != "N" for i in window.hidden)
        reverse = window.reversed()
        pairs = {"A": "T", "C": "G", "G": "C", "T": "A"}
        shown = [pairs[reverse.sequence[i]] for i in reverse.hidden[::-1]]
        assert shown == [window.sequence[i] for i in window.hidden]
        hidden += window.bounds[:, 0].tolist()
    assert len(drawn) == 2 * 17
    assert 2 * 70 < len(hidden) < 2 * 85
    assert max(hidden.count(base) for base in hidden) <= 2


def test_single_bases_next_to_counts(script, toy_project, bases, tmp_path):
    single_base = script("single_base")
    paths = f"--model {bases}/model --genome {toy_project}/toy.fa --corpus {bases}"
    more = f"--split test --output {tmp_path}/out --margin 5 --apart 25 --block_bp 500"
    single_base.main([*f"{paths} {more}".split(), "--regions", "chr1:50,001-54,000"])
    rows = rows_of(tmp_path / "out", "hidden", "part", "predictor")
    apart = {name: rows["25 apart", "all", name] for name in (
        single_base.BOTH, single_base.FORWARD, single_base.TWO_SIDED)}  # fmt: skip
    assert {row["hidden_bp"] for row in apart.values()} == {apart[single_base.BOTH]["hidden_bp"]}
    # Random letters with a motif of 24 bases every 400: the counts see it, four steps do not.
    assert apart[single_base.TWO_SIDED]["bits_per_base"] < 1.97
    assert apart[single_base.TWO_SIDED]["difference_high"] < 0
    # The mean of two probabilities costs at most the mean of their costs.
    model = single_base.Model(bases / "model")
    regions = [Interval("chr1", 50_000, 51_000)]
    sizes = {"length": model.length, "margin": 5, "apart": 25}
    genome = Genome(toy_project / "toy.fa")
    drawn = list(single_base.draw_windows(genome, regions, **sizes, passes=1, seed=1))
    forward = model.hidden_alone(drawn)
    reverse = model.hidden_alone([window.reversed() for window in drawn])
    for a, b, both in zip(forward, reverse, model.both_strands(drawn, forward), strict=True):
        assert np.exp(-both) == pytest.approx((np.exp(-a) + np.exp(-b[::-1])) / 2)
    masked = rows["15 %", "all", "token_bigram_informed_masked"]
    assert 0.14 * 4000 < masked["hidden_bp"] < 0.2 * 4000


def test_what_cannot_be_scored_is_named(script, toy_project, bases, tmp_path):
    single_base = script("single_base")
    more = f"--genome {toy_project}/toy.fa --corpus {bases} --split test --output {tmp_path}/out"
    with pytest.raises(InputError, match=r"model: has read chr1:\d+-40,000 in training"):
        single_base.main(f"--model {bases}/model {more} --regions chr1:39000-41000".split())
    with pytest.raises(InputError, match=r"its tokens have up to .* expected single bases"):
        single_base.main(
            f"--model {toy_project}/pretrained {more} --regions chr1:50001-51000".split()
        )
    assert not (tmp_path / "out").exists()
