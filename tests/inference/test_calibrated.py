"""A bundle with a correction of its probabilities: applied wherever they are read, after the mean over strands."""

import json
import shutil

import numpy as np
import pytest
from scipy.special import expit, logit, softmax

from dna_bigbird import load_bundle, mutagenesis, predict, score_variants
from dna_bigbird.bundles.ensemble import join_bundles
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import reverse_complement
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor
from tests.bundles.test_ensemble import another

SLOPES, BIASES = np.array([0.5, 1.5]), np.array([-1.0, 0.7])
SCALING = {"slopes": SLOPES.tolist(), "biases": BIASES.tolist(), "n": 500}
EXACT = {"precision": "32-true"}
CLASSES = {"format_version": 2, "label_type": "multi-class"}


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """Function (bundle, values of config.json) -> a copy with these values."""

    def copy(source, **values):
        folder = shutil.copytree(source, tmp_path_factory.mktemp("calibrated") / "copy")
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | values))
        return folder

    return copy


@pytest.fixture(scope="module")
def calibrated(bundle_folder, changed):
    """The small bundle with another slope and bias for each label."""
    return changed(bundle_folder, calibration=SCALING)


@pytest.fixture(scope="module")
def texts(random_dna):
    return [random_dna(200, seed) for seed in range(30)]


def read(folder, texts, **settings):
    bundles = [load_bundle(x) for x in (folder if isinstance(folder, list) else [folder])]
    return Predictor(bundles, compute=Compute(**EXACT), **settings).probabilities(texts)


@pytest.mark.parametrize("strand", ["both", "forward"])
def test_probabilities_are_corrected_by_label(bundle_folder, calibrated, texts, strand):
    raw = read(bundle_folder, texts, strand=strand)
    found = read(calibrated, texts, strand=strand)
    assert found == pytest.approx(expit(SLOPES * logit(raw) + BIASES), abs=1e-9)
    assert np.abs(found - raw).max() > 0.1
    assert np.array_equal(found.argsort(axis=0), raw.argsort(axis=0)), "the order of rows stays"
    assert np.array_equal(read(calibrated, texts, strand=strand, raw=True), raw)
    assert np.array_equal(read(calibrated, texts, strand=strand, labels=[1])[:, 0], found[:, 1])
    alone = [read(calibrated, [text], strand=strand)[0] for text in texts[:5]]
    assert np.allclose(alone, found[:5], atol=1e-6)


def test_of_a_directional_model_the_higher_strand_is_corrected(calibrated, changed, texts):
    directional = changed(calibrated, directional=True)
    given, turned = (
        read(directional, some, strand="forward")
        for some in (texts, [reverse_complement(text) for text in texts])
    )
    assert read(directional, texts) == pytest.approx(np.maximum(given, turned), abs=1e-6)


def test_predict_has_the_scores_before(bundle_folder, calibrated, texts, tmp_path, capsys):
    (tmp_path / "x.fa").write_text("".join(f">{i}\n{x}\n" for i, x in enumerate(texts)))

    def table(model, *options):
        line = ["predict", "--fasta", f"{tmp_path}/x.fa", "--model", f"{model}", *options]
        main([*line, "--precision", "32-true"])
        return capsys.readouterr().out

    assert table(calibrated, "--raw", "true") == table(bundle_folder) != table(calibrated)
    named = {"sequences": texts, **EXACT}
    plain = predict(model=bundle_folder, **named).probabilities
    assert np.array_equal(predict(model=calibrated, raw=True, **named).probabilities, plain)
    corrected = predict(model=calibrated, **named).probabilities
    assert corrected == pytest.approx(expit(SLOPES * logit(plain) + BIASES), abs=1e-6)


def test_effects_of_variants_are_those_of_predict(bundle_folder, calibrated, random_dna, tmp_path):
    """The probabilities are those of both windows; log odds are the model's own."""
    bases = random_dna(600, 5)
    (tmp_path / "g.fa").write_text(f">chr1\n{bases}\n")
    pos = [250, 300, 341]
    alts = ["ACGT"[("ACGT".index(bases[x - 1]) + 1) % 4] for x in pos]
    rows = [
        f"chr1\t{x}\t.\t{bases[x - 1]}\t{alt}\t.\t.\t.\n" for x, alt in zip(pos, alts, strict=True)
    ]
    header = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    (tmp_path / "v.vcf").write_text(header + "".join(rows))

    def scores(model):
        files = {"vcf": tmp_path / "v.vcf", "fasta": tmp_path / "g.fa"}
        return score_variants(**files, model=model, window=201, **EXACT)

    plain, found = scores(bundle_folder), scores(calibrated)
    windows = [
        bases[x - 101 : x - 1] + allele + bases[x : x + 100]
        for x, alt in zip(pos, alts, strict=True)
        for allele in (bases[x - 1], alt)
    ]
    p = predict(sequences=windows, model=calibrated, window=201, **EXACT).probabilities
    assert found.ref_probability == pytest.approx(p[0::2], abs=1e-6)
    assert found.alt_probability == pytest.approx(p[1::2], abs=1e-6)
    assert found.diff == pytest.approx(p[1::2] - p[0::2], abs=1e-6)
    assert np.array_equal(found.log_odds, plain.log_odds)


def test_several_models_have_the_mean_of_their_corrections(
    bundle_folder, changed, texts, tmp_path, capsys
):
    other = {"slopes": [1.5, 0.5], "biases": [0.0, -0.3], "n": 400}
    plain = [another(bundle_folder, tmp_path / f"m{seed}", seed) for seed in (1, 2)]
    members = [changed(x, calibration=y) for x, y in zip(plain, (SCALING, other), strict=True)]
    raw, found = read(plain, texts), read(members, texts)
    expected = expit([1.0, 1.0] * logit(raw) + [-0.5, 0.2])
    assert found == pytest.approx(expected, abs=1e-9)
    join_bundles(members, tmp_path / "joined")
    assert read(tmp_path / "joined", texts) == pytest.approx(expected, abs=1e-6)
    assert load_bundle(tmp_path / "joined").config.calibration.n == 400
    mixed = [members[0], plain[1]]
    assert np.array_equal(read(mixed, texts), raw)
    lost = f"correction of probabilities on validation rows: {plain[1]} has none"
    assert any(lost in x for x in Predictor([load_bundle(x) for x in mixed]).notes())
    capsys.readouterr()
    join_bundles(mixed, tmp_path / "without")
    assert lost in capsys.readouterr().err
    assert load_bundle(tmp_path / "without").config.calibration is None


def test_classes_are_corrected_together(bundle_folder, changed, texts):
    plain = changed(bundle_folder, **CLASSES)
    scaled = changed(plain, calibration={"temperature": 2.5, "n": 100})
    raw, found = read(plain, texts), read(scaled, texts)
    assert found == pytest.approx(softmax(np.log(raw) / 2.5, axis=1), abs=1e-9)
    assert found.sum(axis=1) == pytest.approx(1)
    assert np.array_equal(found.argmax(axis=1), raw.argmax(axis=1))
    assert np.array_equal(read(scaled, texts, labels=[1])[:, 0], found[:, 1])
    assert np.array_equal(read(scaled, texts, raw=True), raw)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"calibration": {"slopes": [1.0], "biases": [0.0]}}, "has 1 slopes, expected 2 slopes"),
        ({"calibration": {"temperature": 2.0}}, "a temperature, expected 2 slopes for multi-label"),
        ({"calibration": {"slopes": [1.0, -1.0], "biases": [0.0, 0.0]}}, "must be above 0"),
        ({"calibration": SCALING | {"slopes": "x"}}, "slopes is 'x', expected a list"),
        ({"calibration": SCALING, **CLASSES}, "has 2 slopes, expected a temperature"),
    ],
    ids=["too few", "temperature of labels", "falling", "text", "slopes of classes"],
)
def test_a_correction_that_does_not_fit_is_refused(bundle_folder, changed, values, message):
    with pytest.raises(InputError, match=f"config.json: .*{message}"):
        load_bundle(changed(bundle_folder, **values))


def test_effects_on_classes_have_the_temperature_of_all(
    bundle_folder, changed, random_dna, tmp_path
):
    """Also where one class is chosen."""
    bases = random_dna(201, 8)
    (tmp_path / "x.fa").write_text(f">x\n{bases}\n")
    scaled = changed(bundle_folder, **CLASSES, calibration={"temperature": 2.5, "n": 100})
    settings = {"region": "x:101-101", "within": "x:1-201", **EXACT}
    both = mutagenesis(tmp_path / "x.fa", model=scaled, **settings)
    second = mutagenesis(tmp_path / "x.fa", model=scaled, labels=["DNase"], **settings)
    assert np.array_equal(second.diff, both.diff[..., 1:])
    assert np.array_equal(second.log_odds, both.log_odds[..., 1:])
    windows = [bases[:100] + base + bases[101:] for base in "ACGT"]
    p = predict(sequences=windows, model=scaled, window=201, **EXACT).probabilities
    assert both.diff[0] == pytest.approx(p - p["ACGT".index(bases[100])], abs=1e-6)
