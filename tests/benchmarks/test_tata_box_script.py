"""The script finds a planted box with a model that knows nothing else."""

import gzip
from types import SimpleNamespace

import numpy as np
import pytest

PROMOTER = "G" * 215 + "TATAAA" + "G" * 79


def test_the_box_and_its_share(script, monkeypatch, tmp_path):
    tata_box = script("tata_box")
    asked = []

    def counts_bases_of_the_box(fasta, region, within, **options):
        """Each base of the box is worth 3, the first one 6; without a window the base before it 7."""
        asked.append((region, within))
        effects = np.zeros((140, 4, 1))
        effects[65:71, :3] = -3
        effects[65] *= 2
        if within is None:
            effects[64, :3] = -7
        return SimpleNamespace(log_odds=effects)

    monkeypatch.setattr(tata_box, "mutagenesis", counts_bases_of_the_box)
    is_inside, share = tata_box.effect_of_box(PROMOTER, "A" * 10, True, tmp_path)
    assert asked == [("p:161-300", "p:11-310")]
    assert is_inside
    assert share == pytest.approx(140 / 6)
    is_inside, share = tata_box.effect_of_box(PROMOTER, "A" * 10, False, tmp_path)
    assert asked[1] == ("p:161-300", None)
    assert not is_inside, "the base before the box is stronger"
    assert share == pytest.approx(140 / 6 * 21 / 28)


def test_only_boxes_at_their_place_are_taken(script, tmp_path):
    tata_box = script("tata_box")
    elsewhere = "G" * 100 + "TATAAA" + "G" * 194
    with gzip.open(tmp_path / "x.gz", "wt") as file:
        file.write("\n".join([elsewhere, PROMOTER.lower(), PROMOTER + "G"]))
    assert tata_box.with_box(tmp_path / "x.gz") == [PROMOTER]
