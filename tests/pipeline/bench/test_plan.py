"""Plans of a dry run: how much is read, with a machine that takes one second per token."""

from pathlib import Path

import numpy as np
import pytest

from dna_bigbird.bench import suite_run as plan
from dna_bigbird.bench.suites.suite import LabelledRows, PairRow, PairRows, VariantRow, VariantRows
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.bundled import bundled_encoder, bundled_model
from dna_bigbird.labelled.sequences.files import SequenceRow
from dna_bigbird.labelled.sequences.sets import UNASSIGNED
from dna_bigbird.labelled.splits import TEST, TRAIN, VALIDATION
from dna_bigbird.models.label_types import BINARY
from dna_bigbird.training.label_config import LabelTrainConfig
from tests.pipeline.bench.task_runs import toy_run

ROLES = [TRAIN] * 6 + [VALIDATION] * 2 + [TEST] * 4


@pytest.fixture
def planned(monkeypatch, tmp_path):
    """Function (rows, …) -> the plan of a task of the bundled encoder."""
    monkeypatch.setattr(plan, "seconds_per_sequence", lambda work: float(work.tokens))

    def of_rows(rows, *, model=bundled_encoder, **options):
        return plan.planned_task(toy_run(model(), tmp_path, **options), load_bundle(model()), rows)

    return of_rows


def labelled(length, roles=ROLES):
    rows = [SequenceRow("A" * length, ("0",), "x", f"r{i}") for i in range(len(roles))]
    return LabelledRows(rows, np.array(roles, dtype=np.int8), BINARY)


def test_long_sequences_take_as_long_as_the_encoder_that_grows_to_them(planned):
    """The bundled encoder was pretrained on 1,024 tokens at most."""
    short, long = (planned(labelled(length)) for length in (1700, 42_000))
    assert (short.longest_bp, long.longest_bp) == (1700, 42_000)
    assert 20 < long.minutes / short.minutes < 30


def test_a_suite_with_validation_rows_trains_on_its_training_rows(planned, monkeypatch):
    """Of a suite without, a tenth of the eight other rows is left out."""
    seen = []

    def recorded(self, rows, recipe):
        seen.append(rows)
        return chosen(self, rows, recipe)

    chosen = LabelTrainConfig.for_rows
    monkeypatch.setattr(LabelTrainConfig, "for_rows", recorded)
    planned(labelled(100))
    planned(labelled(100, [UNASSIGNED] * 8 + [TEST] * 4))
    assert seen == [6, 7]


def padded(tokens, model):
    block = load_bundle(model).config.encoder.block_size
    return -(-tokens // block) * block


def test_a_probe_reads_its_training_rows_once(planned):
    """One step of at most four windows, and three rows scored as long as one is trained."""
    short = LabelTrainConfig(batch_size=4)
    line = planned(labelled(62), method="probe", training=short, seeds=(0,))
    assert line.steps == 1
    seconds = padded(64, bundled_encoder()) * (4 + (6 + 2 * 4) / 3) + plan.OVERHEAD_S
    assert line.minutes == pytest.approx(2 * seconds / 60)


@pytest.mark.parametrize(
    ("model", "passes"), [(bundled_model, 2), (bundled_encoder, 12)], ids=["labels", "pretrained"]
)
@pytest.mark.parametrize("control", ["", "G" * 62], ids=["two forms", "three"])
def test_pairs_are_read_on_two_strands_or_with_every_sixth_base_hidden(
    planned, model, passes, control
):
    pairs = PairRows([PairRow(f"p{i}", "A" * 62, "C" * 62, control) for i in range(10)])
    line = planned(pairs, model=model)
    assert (line.rows, line.test, line.longest_bp, line.steps) == (10, 10, 62, 0)
    reads = 10 * (3 if control else 2) * passes
    seconds = reads * padded(64, model()) / 3 + plan.OVERHEAD_S
    assert line.minutes == pytest.approx(seconds / 60)


@pytest.mark.parametrize(("zero_shot", "random_weights"), [("likelihood", 1), ("embedding", 2)])
def test_variants_are_read_as_ref_alt_and_hidden_on_two_strands(planned, zero_shot, random_weights):
    """With random weights only what the model's own score needs."""
    rows = [VariantRow("chr1", 100 + i, "A", "C", False, "x") for i in range(5)]
    data = VariantRows(rows, Path("x.fa"), "GRCh38", zero_shot=zero_shot, window_bp=254)
    line = planned(data)
    assert (line.rows, line.test, line.longest_bp, line.steps) == (5, 5, 254, 0)
    seconds = 5 * (3 + random_weights) * 2 * padded(256, bundled_encoder()) / 3 + plan.OVERHEAD_S
    assert line.minutes == pytest.approx(seconds / 60)
