"""Test rows of the leak-free score: what other rows show, and what the model has read."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dna_bigbird.bench.leak_free import leak_free, leak_free_pairs, leak_free_windows
from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import PairRow, PairRows, find_suite
from dna_bigbird.bench.trainings import write_task_set
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.seen_regions import SeenRegions
from dna_bigbird.genome import Interval, reverse_complement
from dna_bigbird.labelled.labelled_set import sequence_hash
from tests.pipeline.bench.label_runs import write_suite
from tests.pretrained_bundle import write_pretrained_bundle

NOT_RECORDED = "The bundle does not record what it has read: no row is left out as read."
NOT_COMPARED = "cannot all be compared with the test rows: it is not recorded, on another assembly, or one of both"


@pytest.fixture
def labelled(tmp_path):
    """Rows of 60 bases at every hundredth base; test rows begin at 2,400 to 3,900, and at 150 and 300."""
    data, fasta = write_suite(tmp_path)
    suite = find_suite("genomic-benchmarks")
    task = suite.tasks(data)[0]
    rows = suite.read(data, task, Genomes({"GRCh38": fasta}))
    return write_task_set(tmp_path / "set.h5", suite, task, rows)


@pytest.fixture
def starts_left(tmp_path, labelled):
    """Function (records of trainings or None) -> the result and the starts of the leak-free rows."""

    def find(records):
        config = {} if records is None else {"regions_read": records}
        bundle = load_bundle(write_pretrained_bundle(tmp_path / "model", **config))
        result = leak_free(labelled, bundle)
        assert result.rows("published").tolist() == labelled.rows("test").tolist()
        rows = result.rows("leak_free").tolist()
        return result, sorted(labelled.interval(row).start for row in rows)

    return find


def counts(**more):
    names = (
        "shares_bases", "nearly_identical", "same_sequence_or_group", "read_with_labels",
        "read_without_labels",
    )  # fmt: skip
    values = dict.fromkeys(names, 0) | {"shares_bases": 2} | more
    return {name: value for name, value in values.items() if value is not None}


ALL = list(range(2_400, 4_000, 100))


def test_of_a_model_that_read_nothing_only_rows_that_overlap_training_are_left_out(starts_left):
    result, starts = starts_left([])
    assert starts == ALL
    assert (result.counts, result.notes) == (counts(), ())


def test_rows_read_with_labels_are_left_out_and_others_are_counted(starts_left):
    """Regions count from 1: 2,460-2,600 begins with the last base of one row and ends before the third.

    The row at 150 is in a region too, and counted once; pretraining has read from 2,360 to 2,799.
    """
    records = [
        {"training": "promoter", "assembly": "hg38", "regions": {"chr1": "151-160,2460-2600"}},
        {"training": "pretraining", "assembly": "GRCh38", "regions": {"chr1": "2361-2800"}},
    ]
    result, starts = starts_left(records)
    assert starts == ALL[2:]
    assert result.counts == counts(read_with_labels=2, read_without_labels=2)
    assert result.notes == ()


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        ([{"training": "promoter", "assembly": "GRCh37", "regions": {"chr1": "1-9000"}}], "chr1:1-9,000 of GRCh37"),
        ([{"training": "promoter", "assembly": "GRCh38", "regions": None}], "unknown regions of GRCh38"),
    ],
    ids=["another assembly", "unknown regions"],
)  # fmt: skip
def test_what_cannot_be_compared_is_a_note_and_not_a_zero(starts_left, records, sentence):
    result, starts = starts_left(records)
    assert starts == ALL
    assert result.counts == counts(read_with_labels=None)
    start = f"What was read in the fine-tuning on promoter labels: {sentence} {NOT_COMPARED}"
    assert [note.startswith(start) for note in result.notes] == [True]


def test_a_bundle_without_a_record_has_neither_count(starts_left):
    result, starts = starts_left(None)
    assert starts == ALL
    assert result.counts == counts(read_with_labels=None, read_without_labels=None)
    assert result.notes == (NOT_RECORDED,)


def bundle_with(*records: SeenRegions, texts: Sequence[str] = ()) -> SimpleNamespace:
    """A bundle that has read regions, and remembers sequences."""
    config = BundleConfig(task="chromatin", encoder=None, regions_read=list(records))
    hashes = np.array(sorted(map(sequence_hash, texts)), dtype=np.uint64)
    return SimpleNamespace(config=config, sequences_read=hashes)


def unrecorded() -> SimpleNamespace:
    config = BundleConfig(task="chromatin", encoder=None)
    return SimpleNamespace(config=config, sequences_read=np.empty(0, np.uint64))


STARTS = (89, 90, 91, 119, 120)
INTERVALS = [Interval("chr1", start, start + 10) for start in STARTS]


def of_pairs(bundle):
    rows = [PairRow(f"r{each.start}", "A", "C", interval=each) for each in INTERVALS]
    return leak_free_pairs(bundle, PairRows(rows, "GRCh38"))


def of_windows(bundle):
    return leak_free_windows(bundle, INTERVALS, "GRCh38")


both = pytest.mark.parametrize("find", [of_pairs, of_windows], ids=["pairs", "variants"])


@both
def test_rows_read_in_both_trainings_are_left_out_and_counted_once(find):
    """Regions count from 1 with both ends: 101-120 are the bases 100 to 119 from 0."""
    labels = SeenRegions("chromatin", "hg38", {"1": "101-120"})
    pretraining = SeenRegions("pretraining", "GRCh38", {"chr1": "100-130"})
    result = find(bundle_with(pretraining, labels))
    assert result.keeps.tolist() == [True, True, False, False, True]
    assert result.counts == {"read_with_labels": 2, "read_without_labels": 2}
    assert result.notes == ()


@both
@pytest.mark.parametrize(
    ("bundle", "counts_left"),
    [
        (unrecorded(), {}),
        (bundle_with(SeenRegions("chromatin", "GRCh37", {"chr1": "1-5"})), {"read_without_labels": 0}),
        (bundle_with(SeenRegions("chromatin", "GRCh38", None)), {"read_without_labels": 0}),
        (bundle_with(SeenRegions("pretraining", "GRCh37", {"1": "1-5"})), {"read_with_labels": 0}),
    ],
    ids=["no record", "another assembly", "too many regions", "pretraining on another assembly"],
)  # fmt: skip
def test_rows_stay_where_nothing_is_known(find, bundle, counts_left):
    result = find(bundle)
    assert result.keeps.all()
    assert result.counts == counts_left
    assert len(result.notes) == 1


@both
def test_what_is_known_is_left_out_although_more_is_not(find):
    known = SeenRegions("chromatin", "GRCh38", {"chr1": "101-120"})
    result = find(bundle_with(known, SeenRegions("promoter", "GRCh37", {"chr1": "1-5"})))
    assert result.keeps.tolist() == [True, True, False, False, True]
    assert result.counts == {"read_with_labels": 2, "read_without_labels": 0}
    assert len(result.notes) == 1


def test_sequences_without_coordinates_are_compared_with_remembered_ones(random_dna):
    texts = [random_dna(60, seed) for seed in range(4)]
    rows = PairRows([PairRow(f"s{i}", text, "A") for i, text in enumerate(texts)])
    record = SeenRegions("promoter", "none", {}, "9 sequences without coordinates")
    forgotten = leak_free_pairs(bundle_with(record), rows)
    assert (forgotten.keeps.all(), forgotten.counts) == (True, {"read_without_labels": 0})
    read = [texts[1], reverse_complement(texts[2])]
    hashed = replace(record, is_hashed=True)
    result = leak_free_pairs(bundle_with(hashed, texts=read), rows)
    assert result.keeps.tolist() == [True, False, False, True]
    assert result.counts == {"read_with_labels": 2, "read_without_labels": 0}
    assert result.notes == ()
    regions = SeenRegions("pretraining", "GRCh38", {"chr1": "1-5"})
    result = leak_free_pairs(bundle_with(hashed, regions, texts=read), rows)
    assert result.counts == {"read_with_labels": 2}
    assert result.notes[0].startswith(f"What was read in pretraining: chr1:1-5 of GRCh38 {NOT_COMPARED}")  # fmt: skip


def test_windows_are_not_compared_with_remembered_sequences():
    record = SeenRegions("promoter", "none", {}, "9 sequences without coordinates", is_hashed=True)
    result = of_windows(bundle_with(record, texts=["ACGT"]))
    assert (result.keeps.all(), result.counts) == (True, {"read_without_labels": 0})
    assert result.notes[0].startswith(
        f"What was read in the fine-tuning on promoter labels: 9 sequences without coordinates {NOT_COMPARED}"
    )
