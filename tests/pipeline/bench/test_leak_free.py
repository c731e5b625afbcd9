"""Test rows of the leak-free score: what other rows show, and what the model has read."""

import pytest

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.pipeline.bench.leak_free import leak_free
from dna_bigbird.pipeline.bench.task_set import write_task_set
from dna_bigbird.suites.genomes import Genomes
from dna_bigbird.suites.registry import find_suite
from tests.pipeline.bench.label_runs import write_suite
from tests.pretrained_bundle import write_pretrained_bundle

NOT_KNOWN = (
    "Not all that the model read in its trainings can be compared with the test rows: it is not recorded, on "
    "another assembly, or the rows have no coordinates.",
)


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
    return dict.fromkeys(names, 0) | {"shares_bases": 2} | more


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
    "records",
    [
        None,
        [{"training": "promoter", "assembly": "GRCh37", "regions": {"chr1": "1-9000"}}],
        [{"training": "promoter", "assembly": "GRCh38", "regions": None}],
    ],
    ids=["no record", "another assembly", "unknown regions"],
)
def test_what_is_not_known_is_a_note(starts_left, records):
    result, starts = starts_left(records)
    assert starts == ALL
    assert (result.counts, result.notes) == (counts(), NOT_KNOWN)
