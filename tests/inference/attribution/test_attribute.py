"""`attribute`: strands, parts, ensembles, files; against the model called directly and against each other."""

import json
import shutil

import h5py
import numpy as np
import pyBigWig
import pytest

from dna_bigbird import attribute, predict
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.errors import InputError, Interrupted
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.prediction.attribution import run
from dna_bigbird.prediction.attribution.attributor import Attributor
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor
from tests.tiny_bundle import OWN_ENCODER, draw_dna, write_tiny_bundle

FLOAT32 = Compute(precision="32-true", device="cpu")
METHODS = ("constant", "gradient", "integrated")


@pytest.fixture(scope="module")
def bases_folder(tmp_path_factory):
    """An untrained model of single bases with two labels and windows of 100 bp."""
    folder = tmp_path_factory.mktemp("bases") / "model"
    return write_tiny_bundle(folder, algorithm="bases", encoder=OWN_ENCODER, window_bp=100, scale=8)


def difference(folder, text, reference):
    """Log odds of a text minus those with the mean vector of A, C, G and T at every base."""
    import torch

    bundle = load_bundle(folder)
    model = bundle.model
    ids = torch.tensor([[2, *bundle.tokenizer.encode(text), 3]])
    padding = torch.zeros_like(ids, dtype=torch.bool)
    with torch.inference_mode():
        whole = model(ids, padding)
        # All letters alike: the mean of their vectors.
        letters = torch.from_numpy(bundle.tokenizer.encode(reference).astype(np.int64))
        model.encoder.word.weight[letters] = model.encoder.word.weight[letters].mean(0)
        return (whole - model(ids, padding))[0].numpy()


def test_integrated_effects_add_up_on_each_strand(bases_folder):
    text = draw_dna(100, 1)
    result = attribute(sequences=[text], model=bases_folder, method="integrated", device="cpu")
    expected = np.mean(
        [difference(bases_folder, x, "ACGT") for x in (text, reverse_complement(text))], axis=0
    )
    assert np.abs(expected).min() > 0.1
    assert np.allclose(result.difference[0], expected, atol=1e-5)
    assert np.allclose(result.effects[0].sum(0), expected, rtol=0.011)
    assert not result.notes


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tokens", ["bases", "pieces"])
def test_the_other_strand_has_the_same_effects(method, tokens, bases_folder, bundle_folder):
    folder = bases_folder if tokens == "bases" else bundle_folder
    text = draw_dna(90, 2)
    there, back = (
        attribute(sequences=[x], model=folder, method=method, device="cpu")
        for x in (text, reverse_complement(text))
    )
    assert np.allclose(there.effects[0, :90], back.effects[0, :90][::-1], atol=1e-5)
    assert np.abs(there.effects[0, :90]).max() > 1e-3
    assert (there.of_bases is None) == (tokens == "pieces")
    if tokens == "bases":
        # Bases are A C G T: the complement is the other way round.
        assert np.allclose(there.of_bases[0, :90], back.of_bases[0, :90][::-1, ::-1], atol=1e-5)
        own = np.take_along_axis(there.of_bases[0, :90], there.bases[0, :90, None, None], 1)[:, 0]
        assert np.allclose(own, there.effects[0, :90], atol=1e-6)
        assert np.allclose(there.of_bases[0, :90].sum(1), 0, atol=1e-5)  # from their mean


def test_a_token_has_equal_parts_on_its_bases(bundle_folder):
    bundle = load_bundle(bundle_folder)
    text = draw_dna(120, 3)
    effects = (
        Attributor([bundle], [0], FLOAT32, "gradient", "forward").of_windows([text])[0].effects
    )
    _, spans = bundle.tokenizer.encode_with_spans(text)
    assert max(spans[:, 1] - spans[:, 0]) > 2
    for start, end in spans:
        assert len(set(effects[start:end, 0])) == 1
    assert len(set(effects[:, 0])) > len(spans) / 2


def test_windows_longer_than_the_context_are_read_in_parts(bundle_folder):
    """Effects are on the mean log odds of the parts."""
    bundle = load_bundle(bundle_folder)
    text = draw_dna(600, 4)
    attributor = Attributor([bundle], [0, 1], FLOAT32, "gradient", "forward")
    whole = attributor.of_windows([text])[0]
    assert "1 windows had more tokens than the context" in "".join(attributor.notes())
    pieces = [text[:300], text[300:]]
    parts = Attributor([bundle], [0, 1], FLOAT32, "gradient", "forward").of_windows(pieces)
    assert np.allclose(whole.effects[:300], parts[0].effects / 2)
    assert np.allclose(whole.effects[300:], parts[1].effects / 2)


def test_several_models_have_the_mean_of_their_effects(bundle_folder, tmp_path):
    second = write_tiny_bundle(
        tmp_path / "second",
        vocab_size=64,
        encoder={"hidden_size": 16, "num_layers": 1, "num_heads": 2, "ffn_size": 16, "max_tokens": 128,
                 "block_size": 8, "num_random": 1},
        window_bp=200,
    )  # fmt: skip
    sequences = [draw_dna(200, 5)]
    alone = [attribute(sequences=sequences, model=m, device="cpu") for m in (bundle_folder, second)]
    both = attribute(sequences=sequences, model=[bundle_folder, second], device="cpu")
    assert np.allclose(both.effects, (alone[0].effects + alone[1].effects) / 2, atol=1e-6)


def test_short_windows_and_unknown_bases(bases_folder):
    result = attribute(
        sequences={"n": "N" * 100, "short": "ACGTNACGTA"}, model=bases_folder, device="cpu"
    )
    assert np.isnan(result.effects[0]).all()
    assert np.isnan(result.effects[1, 10:]).all()
    assert np.isfinite(result.effects[1, :10]).all()
    frame = result.to_dataframe()
    assert frame["base"].tolist()[100:] == list("ACGTNACGTA")
    assert frame["pos"].tolist()[100:] == list(range(1, 11))


@pytest.fixture
def genome(tmp_path, monkeypatch):
    """Two chromosomes, and overlapping intervals that are out of order, on both strands."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.fa").write_text(f">a\n{draw_dna(700, 6)}\n>b\n{draw_dna(500, 7)}\n")
    (tmp_path / "r.bed").write_text(
        "b\t50\t150\tlate\t0\t+\na\t100\t330\tlong\t0\t-\na\t20\t120\tearly\t0\t+\n"
    )
    return tmp_path


def run_attribute(folder, output=None, **options):
    return attribute("g.fa", "r.bed", model=folder, output=output, device="cpu", **options)


def test_a_track_has_the_mean_of_the_windows(genome, bases_folder):
    found = run_attribute(bases_folder, labels="DNase")
    run_attribute(bases_folder, "e.bw", labels="DNase")
    total, count = np.zeros((2, 700)), np.zeros((2, 700))
    for name, start, end, effects in zip(
        found.sequence, found.start, found.end, found.effects, strict=True
    ):
        total["ab".index(name), start:end] += effects[: end - start, 0]
        count["ab".index(name), start:end] += 1
    assert count.max() == 2
    with pyBigWig.open("e.bw") as track:
        for number, (name, length) in enumerate({"a": 700, "b": 500}.items()):
            values = np.array(track.values(name, 0, length))
            is_covered = count[number, :length] > 0
            assert np.array_equal(~np.isnan(values), is_covered)
            expected = total[number, :length][is_covered] / count[number, :length][is_covered]
            assert np.allclose(values[is_covered], expected, atol=1e-6)


def test_each_interval_on_its_strand(genome, bases_folder):
    """Effects are in genome coordinates, whatever strand is read."""
    found = run_attribute(bases_folder, strand="interval")
    alone = run_attribute(bases_folder, strand="forward")
    assert np.allclose(found.effects[0], alone.effects[0], atol=1e-6)
    row, same = ((x.start == 100).nonzero()[0][0] for x in (found, alone))
    assert not np.allclose(found.effects[row], alone.effects[same], atol=1e-4)
    assert np.array_equal(found.bases[row], alone.bases[same])
    text = (genome / "g.fa").read_text().splitlines()[1][100:200]
    other = attribute(
        sequences=[reverse_complement(text)], model=bases_folder, strand="forward", device="cpu"
    )
    assert np.allclose(found.effects[row], other.effects[0][::-1], atol=1e-5)


@pytest.mark.parametrize("tokens", ["bases", "pieces"])
def test_hdf5_is_what_motif_discovery_reads(tokens, genome, bases_folder, bundle_folder):
    folder = bases_folder if tokens == "bases" else bundle_folder
    found = run_attribute(folder)
    run_attribute(folder, "out", format="hdf5", assembly="toy")
    listing = (genome / "out/labels.tsv").read_text().splitlines()
    assert listing == ["label\tfile", "CTCF\tCTCF.h5", "DNase\tDNase.h5"]
    with h5py.File("out/DNase.h5") as file:
        one_hot, hypothetical = file["input_seqs"][:], file["hyp_scores"][:]
        assert file.attrs["label"] == "DNase"
        assert file.attrs["assembly"] == "toy"
        assert bool(file.attrs["has_hypothetical"]) == (tokens == "bases")
        assert json.loads(file.attrs["inputs"]).keys() >= {"fasta", "bed", "model"}
        assert one_hot.shape == hypothetical.shape == (*found.effects.shape[:2], 4)
        for row, (codes, effects) in enumerate(
            zip(found.bases, found.effects[..., 1], strict=True)
        ):
            known = codes < 4
            assert np.array_equal(one_hot[row][known].argmax(1), codes[known])
            assert not one_hot[row][~known].any()
            projected = (one_hot[row] * hypothetical[row]).sum(1)
            assert np.allclose(projected[known], effects[known], atol=1e-6)
        assert file["rows/name"][:].astype(str).tolist() == found.name.tolist()
        assert file["rows/start"][:].tolist() == found.start.tolist()


def test_tables_are_the_data_frame(genome, bases_folder, capsys):
    found = run_attribute(bases_folder).to_dataframe()
    run_attribute(bases_folder, "e.tsv")
    run_attribute(bases_folder, "-")
    text = (genome / "e.tsv").read_text()
    assert capsys.readouterr().out == text
    rows = [line.split("\t") for line in text.splitlines()]
    assert rows[0] == list(found.columns) == ["sequence", "pos", "base", "CTCF", "DNase"]
    assert [row[1] for row in rows[1:]] == [str(x) for x in found["pos"]]
    assert np.allclose([float(row[4]) for row in rows[1:]], found["DNase"], rtol=1e-4)


def test_an_interrupt_of_standard_output_says_how_much_is_there(
    genome, bases_folder, monkeypatch, capsys
):
    def interrupted(self, sequences):
        raise KeyboardInterrupt

    monkeypatch.setattr(Attributor, "of_windows", interrupted)
    with pytest.raises(Interrupted, match="standard output ends after 0 windows"):
        run_attribute(bases_folder, "-")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("output", ["e.bw", "e.h5", "e.tsv"])
def test_a_killed_run_is_continued(output, genome, bases_folder, monkeypatch):
    options = {"labels": "CTCF", "stride": 10}
    monkeypatch.setattr(run, "CHUNK_VALUES", 300)  # of both: other batches may round differently
    run_attribute(bases_folder, f"whole_{output}", **options)
    of_windows, calls = Attributor.of_windows, []

    def killed(self, sequences):
        calls.append(len(sequences))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return of_windows(self, sequences)

    with monkeypatch.context() as patch:
        patch.setattr(Attributor, "of_windows", killed)
        with pytest.raises(Interrupted, match="continue with --resume"):
            run_attribute(bases_folder, output, **options)
    assert not (genome / output).exists()
    with pytest.raises(InputError, match="its method was constant, now it is gradient"):
        run_attribute(bases_folder, output, resume=True, method="gradient", **options)
    run_attribute(bases_folder, output, resume=True, **options)
    assert (genome / output).read_bytes() == (genome / f"whole_{output}").read_bytes()


def test_probabilities_are_those_of_predict(bases_folder):
    """The log odds that effects are about."""
    bundle = load_bundle(bases_folder)
    text = draw_dna(100, 8)
    before = predict(
        sequences=[text], model=bundle, precision="32-true", device="cpu"
    ).probabilities
    attribute(sequences=[text], model=bundle, device="cpu")
    after = predict(sequences=[text], model=bundle, precision="32-true", device="cpu").probabilities
    assert np.array_equal(before, after)
    found = attribute(
        sequences=[text], model=bundle, method="integrated", strand="forward", device="cpu"
    )
    (logits,) = Predictor([bundle], compute=FLOAT32).logits([[text]])
    assert np.allclose(found.difference[0], difference(bases_folder, text, "ACGT"), atol=1e-5)
    assert logits.shape == (1, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "e.bed"}, "effects are not written as BED"),
        ({"output": "e.bw"}, "a bigWig file holds one label, and these are 2"),
        ({"output": "e.h5"}, "an HDF5 file holds one label, and these are 2"),
        ({"output": None, "format": "hdf5"}, "format hdf5 needs"),
        ({"output": None, "resume": True}, "resume needs"),
        ({"workers": 2}, "attribute computes in one process"),
        ({"labels": "REST"}, "the model has no such label"),
        ({"method": "fast"}, "fast"),
    ],
)
def test_wrong_options_are_one_line(options, message, genome, bundle_folder):
    with pytest.raises(InputError, match=message) as error:
        run_attribute(bundle_folder, **options)
    assert "\n" not in str(error.value)
    assert sorted(x.name for x in genome.iterdir() if x.name.startswith("e.")) == []


def test_many_labels_and_other_models(genome, bundle_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "MOST_LABELS", 1)
    with pytest.raises(InputError, match="2 labels: each one takes a pass"):
        run_attribute(bundle_folder)
    etc = write_tiny_bundle(
        tmp_path / "etc",
        algorithm="bases",
        encoder={"hidden_size": 16, "num_layers": 1, "num_heads": 2, "ffn_size": 16, "max_tokens": 128,
                 "block_size": 8, "num_random": 0, "attention": "etc"},
        window_bp=100,
    )  # fmt: skip
    with pytest.raises(InputError, match="method constant is not for attention etc"):
        run_attribute(etc, labels="CTCF")
    found = run_attribute(etc, labels="CTCF", method="integrated")
    assert np.allclose(found.effects.sum(1), found.difference, rtol=0.02, atol=2e-3)
    encoder = OWN_ENCODER | {"word_memory": 20}
    looks_up = write_tiny_bundle(
        tmp_path / "words", algorithm="bases", encoder=encoder, window_bp=100
    )
    with pytest.raises(InputError, match="word_memory"):
        run_attribute(looks_up, labels="CTCF")
    shutil.rmtree(etc)
