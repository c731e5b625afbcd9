"""What a model has read: in bundles, and test windows in it, against loops over single bases."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.bundled import bundled_model
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.seen_regions import SeenRegions
from dna_bigbird.bundles.seen_sequences import no_sequences
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.coverage import merge_spans
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.labelled_set import LabelledSet, sequence_hash
from dna_bigbird.training import seen_rows as steps
from dna_bigbird.training.seen_rows import count_seen_rows, seen_rows


def labelled(starts, *, chrom="chr1", assembly="GRCh37", window_bp=100):
    """What these functions read of a labelled set."""
    starts = np.array(starts, dtype=np.int64)
    windows = Windows((chrom,), np.zeros(len(starts), dtype=np.uint32), starts, window_bp)
    facts = {"assembly": assembly, "task": "chromatin", "has_coordinates": True}
    return SimpleNamespace(intervals=windows, **facts)


def bundle_with(records):
    """What these functions read of a bundle."""
    values = {"task": "pretraining", "encoder": {"num_layers": 1}}
    config = BundleConfig.from_json(values | ({} if records is None else {"regions_read": records}))
    return SimpleNamespace(config=config, sequences_read=no_sequences())


PRETRAINED = {"training": "pretraining", "assembly": "hg19", "regions": {"1": "301-350,1000-1099"}}
PROMOTER = {"training": "promoter", "assembly": "b37", "regions": {"chr1": "1-1"}}
SEQUENCES = {"training": "sequence", "assembly": "none", "regions": {}, "elsewhere": "3 sequences"}


def test_test_windows_are_counted_against_single_bases():
    rng = np.random.default_rng(0)
    starts = rng.integers(0, 1500, 200)
    bases = {*range(300, 350), *range(999, 1099)}
    expected = sum(bool(bases & set(range(start, start + 100))) for start in starts.tolist())
    counts = count_seen_rows(bundle_with([PRETRAINED, PROMOTER]), labelled(starts), np.arange(200))
    assert 0 < expected < 200
    assert counts == {
        "n_test_windows_read_in_pretraining": expected,
        "n_test_windows_read_in_fine_tuning": int((starts == 0).sum()),
    }


def test_only_the_asked_rows_count():
    counts = count_seen_rows(bundle_with([PRETRAINED]), labelled([320, 5000]), np.array([1]))
    assert counts["n_test_windows_read_in_pretraining"] == 0


@pytest.mark.parametrize(
    ("records", "known"),
    [
        (None, set()),
        ([], {"pretraining", "fine_tuning"}),
        ([{**PRETRAINED, "assembly": "hg38"}], {"fine_tuning"}),
        ([PRETRAINED, {**PROMOTER, "regions": None}], {"pretraining"}),
        ([PRETRAINED, SEQUENCES], {"pretraining"}),
        ([PRETRAINED, {**SEQUENCES, "is_hashed": True}], {"pretraining", "fine_tuning"}),
    ],
)
def test_what_is_not_known_is_not_counted(records, known):
    bundle = bundle_with(records)
    counts = count_seen_rows(bundle, labelled([320]), np.arange(1))
    assert set(counts) == {f"n_test_windows_read_in_{what}" for what in known}
    assert seen_rows(bundle, labelled([320]), np.arange(1)).is_known == (len(known) == 2)


@pytest.mark.parametrize(
    ("is_hashed", "elsewhere"), [(False, ""), (False, "2 more"), (True, "2 more")]
)
def test_sequences_that_are_not_remembered_make_a_record_incomplete(is_hashed, elsewhere):
    record = {**PROMOTER, "elsewhere": elsewhere, "is_hashed": is_hashed}
    read = seen_rows(bundle_with([record]), labelled([320]), np.arange(1))
    assert read.is_known == (is_hashed or not elsewhere)


def test_rows_are_marked_by_the_regions_of_either_training():
    """Against single bases; regions on another assembly mark nothing."""
    starts = np.arange(0, 1500, 7)
    validation = {**PROMOTER, "validation": {"chr1": "1201-1230,1400-1400"}}
    other = {**PRETRAINED, "assembly": "hg38", "regions": {"1": "1-1500"}}
    read = seen_rows(
        bundle_with([PRETRAINED, validation, other]), labelled(starts), np.arange(len(starts))
    )
    windows = [set(range(start, start + 100)) for start in starts.tolist()]
    without_labels = {*range(300, 350), *range(999, 1099)}
    with_labels = {0, *range(1200, 1230), 1399}
    assert read.without_labels.tolist() == [bool(x & without_labels) for x in windows]
    assert read.with_labels.tolist() == [bool(x & with_labels) for x in windows]
    assert not read.is_known


def test_many_regions_are_joined_but_not_over_held_out_windows(monkeypatch):
    monkeypatch.setattr(steps, "MOST_REGIONS", 4)
    starts = np.arange(0, 10_000, 150)
    spans = {"chr1": merge_spans(starts, starts + 100)}
    assert steps.as_text(spans) == {"chr1": "1-10000"}
    apart = {"chr1": merge_spans([4010], [4040])}
    assert steps.as_text(spans, apart) == {"chr1": "1-4000,4051-10000"}
    monkeypatch.setattr(steps, "MOST_REGIONS", 0)
    assert steps.as_text(spans) is None


def test_a_pretrained_bundle_names_the_documents(toy_project):
    config = load_bundle(toy_project / "pretrained").config
    store = TokenStore(toy_project / "train.h5")
    is_read = np.zeros(60_000, dtype=bool)
    for number in range(store.num_documents):
        interval = store.document_interval(number)
        is_read[interval.start : interval.end] = True
    (record,) = config.regions_read
    assert (record.training, record.assembly) == ("pretraining", "demo-toy")
    named = np.zeros(60_000, dtype=bool)
    for chrom, first, last in record.bounds():
        assert chrom == "chr1"
        named[first - 1 : last] = True
    assert (named == is_read).all()


def test_a_fine_tuned_bundle_keeps_the_record_and_adds_its_rows(toy_project):
    before = load_bundle(toy_project / "pretrained").config.regions_read
    *kept, own = load_bundle(toy_project / "promoter").config.regions_read
    assert kept == before
    assert own.training == "promoter"
    assert max(last for _, _, last in own.bounds()) <= 40_000, "the rest is held out"
    assert own.is_hashed
    assert load_bundle(toy_project / "promoter").config.anchor_bp == 150  # --upstream
    metrics = json.loads((toy_project / "final/promoter/metrics.json").read_text())
    assert metrics["n_test_windows_read_in_pretraining"] == 0
    card = (toy_project / "final/promoter/README.md").read_text()
    assert "- regions read: in pretraining: chr1:" in card
    assert "n_test_windows_read_in_pretraining = 0" in card


def test_validation_rows_are_marked_too(toy_project):
    """They choose the step of the training."""
    labelled_set = LabelledSet(toy_project / "set.h5")
    own = load_bundle(toy_project / "promoter").config.regions_read[-1]
    windows = [labelled_set.interval(row) for row in labelled_set.rows("validation").tolist()]
    bases = {base for x in windows for base in range(x.start, x.end)}
    parts = [part.split("-") for part in own.validation["chr1"].split(",")]
    assert {x for first, last in parts for x in range(int(first) - 1, int(last))} == bases
    read = seen_rows(
        load_bundle(toy_project / "promoter"), labelled_set, np.arange(len(labelled_set))
    )
    for split, is_read in (("train", True), ("validation", True), ("test", False)):
        assert (read.with_labels[labelled_set.rows(split)] == is_read).all()
    assert read.is_known


def test_the_bundled_model_has_not_read_its_held_out_regions():
    pretraining, promoter = load_bundle(bundled_model()).config.regions_read
    assert pretraining.is_pretraining
    assert not promoter.is_pretraining
    held_out = labelled([19_500_000, 20_499_900, 19_499_900, 20_500_024], chrom="chr22")
    read = steps.overlapping([pretraining], held_out.intervals[np.arange(4)])
    assert read.tolist() == [False, False, True, True]
    assert {last - first + 1 for _, first, last in promoter.bounds()} >= {300}


@pytest.mark.parametrize(
    "change",
    [
        {"regions": {"chr1": "1-"}},
        {"regions": {"chr1": ""}},
        {"regions": {"chr1": 5}},
        {"regions": "chr1:1-5"},
        {"validation": {"chr1": "1-"}},
        {"is_hashed": "no"},
    ],
    ids=str,
)
def test_a_damaged_record_is_refused(tmp_path, change):
    from dna_bigbird.bundles.config_file import read_config

    values = json.loads((bundled_model() / "config.json").read_text())
    values["regions_read"] = [{"training": "x", "assembly": "y", "regions": None} | change]
    (tmp_path / "config.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match="regions_read: "):
        read_config(tmp_path / "config.json")


def test_many_regions_are_summarised():
    text = ",".join(f"{start}-{start + 99}" for start in range(1, 10_001, 1000))
    record = SeenRegions("pretraining", "GRCh37", {"chr1": text})
    assert record.summary() == "10 regions of 0.00 Mb together on chr1"
    assert SeenRegions("x", "y", None).summary() == "unknown regions"


def test_sequences_without_a_place_are_counted_and_not_named(tmp_path, capsys):
    """Two promoters that are chromosomes of one window, and three in a chromosome."""
    rng = np.random.default_rng(0)
    lengths = {"chr1": 4000, "promoter0": 100, "promoter1": 100}
    (tmp_path / "g.fa").write_text(
        "".join(f">{name}\n{''.join(rng.choice(list('ACGT'), n))}\n" for name, n in lengths.items())
    )
    places = [("chr1", 1080), ("chr1", 3200), ("chr1", 3700), ("promoter0", 80), ("promoter1", 80)]
    (tmp_path / "sites.bed").write_text(
        "".join(f"{name}\t{at}\t{at + 1}\tx{at}\t0\t+\n" for name, at in places)
    )
    command = f"promoter-set --genome {tmp_path}/g.fa --sites {tmp_path}/sites.bed --assembly toy"
    command += f" --output {tmp_path}/set.h5 --upstream 80 --downstream 20"
    command += " --split.validation chr1:3,001-3,500 --split.test chr1:3,501-4,000"
    main(command.split())
    genome = Genome(tmp_path / "g.fa")
    labelled_set = LabelledSet(tmp_path / "set.h5", genome, verify=False)
    record = steps.seen_in_fine_tuning(labelled_set)
    assert record.regions == {"chr1": "1001-1100"}
    assert record.validation == {"chr1": "3121-3220"}
    assert record.elsewhere == "2 sequences of 100 bp without coordinates"
    rows = [i for i in range(len(labelled_set)) if labelled_set.interval(i).chrom != "chr1"]
    assert {str(genome.fetch(Interval(f"promoter{i}", 0, 100, "+"))) for i in (0, 1)} < {
        labelled_set.sequence(row) for row in rows
    }, "and their negatives"
    expected = {sequence_hash(labelled_set.sequence(row)) for row in rows}
    assert steps.seen_hashes(labelled_set).tolist() == sorted(expected)
