"""Sequences that a bundle has read in its fine-tunings, against loops over strings."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.seen_sequences import SEQUENCES
from dna_bigbird.cli.main import main
from dna_bigbird.labelled.labelled_set import LabelledSet, sequence_hash
from dna_bigbird.training.seen_rows import IN_FINE_TUNING, count_seen_rows, seen_rows

PAIRS = dict(zip("ACGTN", "TGCAN", strict=True))
SMALL = (
    "--tokenizer", "bases", "--model.hidden_size", "16", "--model.num_heads", "2",
    "--model.ffn_size", "16",
)  # fmt: skip
SHORT = (
    "--training.max_steps", "4", "--training.validate_every", "2", "--training.batch_size", "8",
    "--training.precision", "32-true", "--training.measure_speed", "false", "--threads", "1",
    "--words.max_k", "0",
)  # fmt: skip


def run(*words):
    main([str(word) for word in words])


def other_strand(text):
    return "".join(PAIRS[base] for base in reversed(text))


def strands(texts):
    return {*texts, *map(other_strand, texts)}


class Parts:
    """A set of sequences by split, each with its CSV file, and the labelled set of the three files."""

    def __init__(self, folder, name, **sequences):
        self.path, self.sequences = folder / f"{name}.h5", sequences
        for split, texts in sequences.items():
            rows = [f"{text},{number % 2}" for number, text in enumerate(texts)]
            (folder / f"{name}.{split}.csv").write_text("\n".join(["sequence,label", *rows]) + "\n")
        files = {split: folder / f"{name}.{split}.csv" for split in sequences}
        run(
            *("sequence-set", "--input", files["train"], "--validation", files["validation"]),
            *("--test", files["test"], "--output", self.path),
        )

    @property
    def read(self):
        """What a fine-tuning on the set reads."""
        return [*self.sequences["train"], *self.sequences["validation"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reads")


@pytest.fixture(scope="module")
def first(folder, random_dna):
    texts = [random_dna(60 + seed, seed) for seed in range(30)]
    return Parts(folder, "first", train=texts[:16], validation=texts[16:22], test=texts[22:])


@pytest.fixture(scope="module")
def second(folder, first, random_dna):
    """Its test rows are rows of the first set in both strands, its own ones, and new ones."""
    texts = [random_dna(80, seed) for seed in range(100, 140)]
    known = first.sequences
    test = [
        known["train"][0], other_strand(known["train"][1]), known["train"][2][1:],
        other_strand(known["validation"][0]), known["validation"][1], known["test"][0],
        other_strand(known["test"][1]), *texts[24:28],
    ]  # fmt: skip
    return Parts(folder, "second", train=texts[:16], validation=texts[16:24], test=test)


@pytest.fixture(scope="module")
def models(folder, first, second):
    """A model of the first set, and one that starts from it and is trained on the second."""
    run("finetune", "--data", first.path, "--output", folder / "a", *SMALL, *SHORT)
    run(
        *("finetune", "--data", second.path, "--pretrained", folder / "a", *SHORT),
        *("--output", folder / "b", "--scored", folder / "b-scored"),
    )
    return folder / "a", folder / "b"


def hashes(texts):
    return sorted({sequence_hash(text) for text in texts})


def test_a_bundle_remembers_training_and_validation_rows(models, first):
    bundle = load_bundle(models[0])
    assert bundle.sequences_read.tolist() == hashes(first.read)
    (record,) = bundle.config.regions_read
    assert (record.elsewhere, record.is_hashed) == ("16 sequences without coordinates", True)
    assert (
        "; 22 sequences without coordinates are remembered by hash"
        in (models[0] / "README.md").read_text()
    )


def test_it_keeps_those_of_the_bundle_that_it_starts_from(models, first, second):
    bundle = load_bundle(models[1])
    assert bundle.sequences_read.tolist() == hashes([*first.read, *second.read])
    assert [record.is_hashed for record in bundle.config.regions_read] == [True, True]


def test_fresh_weights_have_read_nothing_of_it(models, folder, second):
    run(
        *("finetune", "--data", second.path, "--pretrained", models[0], "--from_scratch", "true"),
        *("--output", folder / "fresh", *SHORT),
    )
    assert load_bundle(folder / "fresh").sequences_read.tolist() == hashes(second.read)


def test_rows_that_were_read_are_those_of_a_loop_over_strings(models, first, second):
    labelled = LabelledSet(second.path)
    for model, read in (
        (models[0], first.read),
        (models[1], [*first.read, *second.read]),
    ):
        expected = [labelled.sequence(i) in strands(read) for i in range(len(labelled))]
        result = seen_rows(load_bundle(model), labelled, np.arange(len(labelled)))
        assert result.with_labels.tolist() == expected
        assert 4 <= sum(expected) < len(labelled)
        assert not result.without_labels.any()
        assert result.is_known
    some = np.array([3, 0])
    some_read = seen_rows(load_bundle(models[0]), labelled, some).with_labels
    assert some_read.tolist() == [labelled.sequence(i) in strands(first.read) for i in (3, 0)]


def test_evaluate_counts_test_rows_and_keeps_the_file(models, first, second, folder):
    run(
        *("evaluate", "--model", models[0], "--data", second.path, "--replicates", 5),
        *("--output", folder / "a-on-second", "--threads", 1),
    )
    for scored, model in (("a-on-second", models[0]), ("b-scored", models[1])):
        metrics = json.loads((folder / scored / "metrics.json").read_text())
        expected = sum(text in strands(first.read) for text in second.sequences["test"])
        assert metrics[IN_FINE_TUNING] == expected == 4
        assert "n_test_windows_read_in_pretraining" not in metrics
        assert f"{IN_FINE_TUNING} = 4" in (folder / scored / "README.md").read_text()
        assert (folder / scored / SEQUENCES).read_bytes() == (model / SEQUENCES).read_bytes()
        load_bundle(folder / scored)


def test_what_a_source_of_an_older_version_has_read_is_unknown(models, second, folder, tmp_path):
    """Its record has the number of its sequences only."""
    config = json.loads((models[0] / "config.json").read_text())
    (record,) = config["regions_read"]
    del config["n_sequences_read"], config["sha256"], record["is_hashed"], record["validation"]
    old = tmp_path / "old"
    old.mkdir()
    for name in ("model.safetensors", "tokenizer.model", "metrics.json", "README.md"):
        (old / name).write_bytes((models[0] / name).read_bytes())
    (old / "config.json").write_text(json.dumps(config))
    labelled = LabelledSet(second.path)
    test = labelled.rows("test")
    assert count_seen_rows(load_bundle(old), labelled, test) == {}
    assert not seen_rows(load_bundle(old), labelled, test).is_known
    run(
        *("finetune", "--data", second.path, "--pretrained", old, *SHORT),
        *("--output", tmp_path / "next"),
    )
    bundle = load_bundle(tmp_path / "next")
    assert bundle.sequences_read.tolist() == hashes(second.read)
    assert count_seen_rows(bundle, labelled, test) == {}
    result = seen_rows(bundle, labelled, np.arange(len(labelled)))
    assert result.with_labels[labelled.rows("validation")].all()
    assert not result.is_known


def test_a_bundle_that_records_nothing_is_unknown(bundle_folder, second, folder):
    bundle = load_bundle(bundle_folder)
    labelled = LabelledSet(second.path)
    result = seen_rows(bundle, labelled, np.arange(len(labelled)))
    assert not result.is_known
    assert not result.with_labels.any()
    assert count_seen_rows(bundle, labelled, np.arange(len(labelled))) == {}
    run(
        *("finetune", "--data", second.path, "--pretrained", bundle_folder, *SHORT),
        *("--output", folder / "from-unknown"),
    )
    bundle = load_bundle(folder / "from-unknown")
    assert bundle.config.regions_read is None
    assert bundle.sequences_read.tolist() == hashes(second.read)
    assert count_seen_rows(bundle, labelled, np.arange(len(labelled))) == {}


def test_windows_of_a_genome_are_compared_with_remembered_sequences(models, first, tmp_path):
    """One chromosome with three sequences of the first set, on either strand, and a new one."""
    known = first.sequences
    texts = [
        known["train"][4], other_strand(known["train"][5]), known["test"][0],
        known["validation"][2],
    ]  # fmt: skip
    (tmp_path / "g.fa").write_text(f">chr1\n{'ACCGT'.join(texts)}\n")
    start, lines = 0, []
    for number, text in enumerate(texts):
        lines.append(f"chr1\t{start}\t{start + len(text)}\t{number % 2}\n")
        start += len(text) + 5
    (tmp_path / "regions.bed").write_text("".join(lines))
    run(
        *("sequence-set", "--input", tmp_path / "regions.bed", "--genome", tmp_path / "g.fa"),
        *("--output", tmp_path / "set.h5", "--assembly", "toy", "--near_identical", "keep"),
    )
    from dna_bigbird.genome import Genome

    labelled = LabelledSet(tmp_path / "set.h5", Genome(tmp_path / "g.fa"))
    assert labelled.has_coordinates
    result = seen_rows(load_bundle(models[0]), labelled, np.arange(4))
    is_read = {labelled.interval(i).start: bool(result.with_labels[i]) for i in range(4)}
    assert [is_read[start] for start in sorted(is_read)] == [True, True, False, True]
    assert result.is_known, "it has read no regions on another assembly"
    counts = count_seen_rows(load_bundle(models[0]), labelled, np.arange(4))
    assert counts == {"n_test_windows_read_in_pretraining": 0, IN_FINE_TUNING: 3}


def test_regions_are_not_compared_with_rows_that_have_no_coordinates(models, second):
    """A row of a CSV file may come from a region that was read: 0 would be a claim."""
    bundle = load_bundle(models[0])
    (record,) = bundle.config.regions_read
    regions = replace(record, regions={"chr1": "1-1000"}, is_hashed=False, elsewhere="")
    config = replace(bundle.config, regions_read=[regions, record])
    bundle = replace(bundle, config=config)
    labelled = LabelledSet(second.path)
    assert not seen_rows(bundle, labelled, labelled.rows("test")).is_known
    assert count_seen_rows(bundle, labelled, labelled.rows("test")) == {}
