"""The file of a bundle with the hashes of the sequences that it has read."""

import json
import os
import pickle
import shutil

import numpy as np
import pytest
import safetensors.numpy

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.ensemble import join_bundles
from dna_bigbird.bundles.save import save_bundle, write_scored_bundle
from dna_bigbird.bundles.seen_sequences import SEQUENCES
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError

HASHES = np.array([0, 5, 2**63, 2**64 - 1], dtype=np.uint64)


def write(folder, source, hashes, *, bias=0.0, **settings):
    """Write a bundle again with hashes and another bias."""
    bundle = load_bundle(source)
    bundle.model.head.dense.bias.data += bias
    count = {"n_sequences_read": len(hashes)} if len(hashes) else {}
    save_bundle(
        folder,
        model=bundle.model,
        config=bundle.config | settings | count,
        tokenizer=bundle.tokenizer,
        metrics={},
        card="",
        sequences_read=hashes,
    )
    return folder


@pytest.fixture
def bundle(bundle_folder, tmp_path):
    return write(tmp_path / "bundle", bundle_folder, HASHES)


def without_sums(folder, **values):
    """Remove the checksums, so that the next check is reached."""
    config = json.loads((folder / "config.json").read_text())
    del config["sha256"]
    (folder / "config.json").write_text(json.dumps(config | values))


def test_they_are_read_as_written_in_equal_bytes(bundle, tmp_path):
    assert load_bundle(bundle).sequences_read.tolist() == HASHES.tolist()
    again = write(tmp_path / "again", bundle, HASHES)
    for name in (SEQUENCES, "config.json"):
        assert (again / name).read_bytes() == (bundle / name).read_bytes()
    assert SEQUENCES in load_bundle(bundle).config.sha256


def test_a_bundle_without_the_file_remembers_none(bundle_folder):
    assert not (bundle_folder / SEQUENCES).exists()
    loaded = load_bundle(bundle_folder)
    assert len(loaded.sequences_read) == 0
    assert SEQUENCES not in loaded.config.sha256
    assert "n_sequences_read" not in loaded.config


def test_a_file_that_the_settings_do_not_name_is_not_opened(bundle_folder, tmp_path):
    copy = shutil.copytree(bundle_folder, tmp_path / "copy")
    (copy / SEQUENCES).write_bytes(b"damage")
    assert len(load_bundle(copy).sequences_read) == 0


@pytest.mark.parametrize("hashes", [None, HASHES[:3]])
def test_hashes_are_not_lost_when_a_bundle_is_saved_again(bundle, tmp_path, hashes):
    loaded = load_bundle(bundle)
    count = 0 if hashes is None else 3
    with pytest.raises(ValueError, match=f"settings is 4, but there are {count} hashes"):
        save_bundle(
            tmp_path / "new",
            model=loaded.model,
            config=loaded.config,
            tokenizer=loaded.tokenizer,
            metrics={},
            card="",
            sequences_read=hashes,
        )
    assert not (tmp_path / "new").exists()


def test_a_scored_bundle_keeps_them(bundle, tmp_path):
    write_scored_bundle(bundle, tmp_path / "scored", {"n": 1}, "# card\n")
    assert load_bundle(tmp_path / "scored").sequences_read.tolist() == HASHES.tolist()


def test_an_ensemble_has_those_of_all_members(bundle_folder, tmp_path):
    parts = ([7, 9], [1, 9, 2**64 - 1], [])
    members = [
        write(tmp_path / str(number), bundle_folder, np.array(x, dtype=np.uint64), bias=number)
        for number, x in enumerate(parts)
    ]
    join_bundles(members, tmp_path / "three")
    joined = load_bundle(tmp_path / "three")
    assert joined.sequences_read.tolist() == sorted({*parts[0], *parts[1]})
    assert (
        "- regions read: unknown; 4 sequences without coordinates are remembered by hash"
        in (tmp_path / "three/README.md").read_text()
    )
    join_bundles([members[2], bundle_folder], tmp_path / "none")
    assert len(load_bundle(tmp_path / "none").sequences_read) == 0


def test_a_lengthened_model_keeps_them(bundle, tmp_path):
    main(["convert", "--from", str(bundle), "--to", str(tmp_path / "longer"), "--max-tokens", "256",
          "--positions", "tile"])  # fmt: skip
    assert load_bundle(tmp_path / "longer").sequences_read.tolist() == HASHES.tolist()


def test_info_names_their_number(bundle, capsys):
    main(["info", str(bundle), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["config"]["n_sequences_read"] == 4


def tensors(**arrays):
    return safetensors.numpy.save(arrays)


class Planted:
    """Makes a folder when it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (self.marker,)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (tensors(hashes=HASHES)[:-1], "damaged"),
        (tensors(hashes=HASHES)[:20], "damaged"),
        (tensors(hashes=HASHES) + b"\0", "damaged"),
        (b"", "damaged"),
        (pickle.dumps(Planted("it-ran")), "damaged"),
        (tensors(other=HASHES), "expected one list of 64-bit hashes, 'hashes'"),
        (tensors(hashes=HASHES, other=HASHES), "expected one list of 64-bit hashes, 'hashes'"),
        (tensors(hashes=HASHES.astype(np.float64)), "expected one list of 64-bit hashes"),
        (tensors(hashes=HASHES.reshape(4, 1)), "expected one list of 64-bit hashes"),
        (tensors(hashes=HASHES[:3]), "has 3 hashes, config.json has n_sequences_read 4"),
        (tensors(hashes=HASHES[[1, 0, 2, 3]]), "its hashes are not rising"),
        (tensors(hashes=HASHES[[0, 1, 1, 3]]), "its hashes are not rising"),
        (None, "no such file"),
    ],
    ids=[
        "cut", "stub", "longer", "empty", "pickle", "name", "two", "type", "shape", "fewer", "order",
        "twice", "missing",
    ],
)  # fmt: skip
@pytest.mark.parametrize("has_sums", [True, False])
def test_damage_is_one_line(bundle, content, words, has_sums, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (bundle / SEQUENCES).unlink()
    if content is not None:
        (bundle / SEQUENCES).write_bytes(content)
    if has_sums:
        words = "its sha256 is"
    else:
        without_sums(bundle)
    with pytest.raises(InputError, match=r"\A.*\Z") as caught:
        load_bundle(bundle)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{bundle}/{SEQUENCES}")
    assert not (tmp_path / "it-ran").exists()


def test_one_changed_byte(bundle):
    content = bytearray((bundle / SEQUENCES).read_bytes())
    content[-12] ^= 1
    (bundle / SEQUENCES).write_bytes(content)
    with pytest.raises(InputError, match=rf"{SEQUENCES}: its sha256 is"):
        load_bundle(bundle)


@pytest.mark.parametrize("number", [-1, 1.5, True, "4"])
def test_a_number_of_another_type_is_refused(bundle, number):
    without_sums(bundle, n_sequences_read=number)
    with pytest.raises(InputError, match=r"config\.json: .*n_sequences_read"):
        load_bundle(bundle)


def test_the_card_names_their_number_next_to_the_regions():
    from dna_bigbird.bundles.card import model_card

    record = {"training": "sequence", "assembly": "none", "regions": {}, "elsewhere": "3 sequences"}
    config = {
        "task": "pretraining",
        "encoder": {"num_layers": 1},
        "regions_read": [record],
        "n_sequences_read": 12345,
    }
    assert (
        "- regions read: in the fine-tuning on sequence labels: 3 sequences; "
        "12,345 sequences without coordinates are remembered by hash\n"
    ) in model_card(config, {})
    del config["n_sequences_read"]
    assert "remembered" not in model_card(config, {})
