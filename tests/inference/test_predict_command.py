"""`dna-bigbird predict` as typed: options arrive where they belong."""

import json
import re
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from dna_bigbird.cli.main import main


@pytest.fixture
def genome(tmp_path, random_dna):
    path = tmp_path / "genome.fa"
    path.write_text(f">chr1\n{random_dna(1000, 1)}\n>chr2\n{random_dna(300, 2)}\n")
    return path


def run(capsys, *arguments):
    main(["predict", "--precision", "32-true", "--backend", "cpu_chunks", *map(str, arguments)])
    return capsys.readouterr()


def table(text):
    return [line.split("\t") for line in text.splitlines()]


@pytest.mark.parametrize("wanted", ["CT*", "[CTCF]", "*F,*TCF"])
def test_labels_by_pattern(capsys, bundle_folder, genome, wanted):
    whole = table(run(capsys, "--fasta", genome, "--model", bundle_folder).out)
    some = table(run(capsys, "--fasta", genome, "--model", bundle_folder, "--labels", wanted).out)
    assert some == [row[:4] for row in whole]


def test_a_wrong_label_is_one_line_with_near_names(capsys, bundle_folder, genome):
    with pytest.raises(SystemExit, match="2"):
        run(capsys, "--fasta", genome, "--model", bundle_folder, "--labels", "DNAse")
    assert capsys.readouterr().err == (
        "dna-bigbird: error: --labels DNAse: the model has no such label; near are DNase\n"
    )


def test_several_models(capsys, bundle_folder, genome):
    one = run(capsys, "--fasta", genome, "--model", bundle_folder).out
    two = run(capsys, "--fasta", genome, "--model", f"[{bundle_folder}, {bundle_folder}]").out
    for row, other in zip(table(one)[1:], table(two)[1:], strict=True):
        assert [float(x) for x in row[3:]] == pytest.approx([float(x) for x in other[3:]], abs=1e-5)


def test_intervals_on_their_own_strand(capsys, bundle_folder, genome, tmp_path):
    bed = tmp_path / "r.bed"
    bed.write_text("chr1\t100\t300\ta\t0\t+\nchr1\t100\t300\tb\t0\t-\n")
    common = ("--fasta", genome, "--bed", bed, "--model", bundle_folder)
    plus, minus = table(run(capsys, *common, "--strand", "interval").out)[1:]
    both, same = table(run(capsys, *common).out)[1:]
    assert plus[:3] == minus[:3] == both[:3] == ["chr1", "100", "300"]
    assert plus[3:-1] != minus[3:-1]
    assert both[:-1] == same[:-1]
    assert [row[-1] for row in (plus, minus, both, same)] == ["a", "b", "a", "b"]
    for one, other, mean in zip(plus[3:-1], minus[3:-1], both[3:-1], strict=True):
        assert (float(one) + float(other)) / 2 == pytest.approx(float(mean), rel=1e-4)


def test_a_format_that_the_name_contradicts_is_one_line(capsys, bundle_folder, genome, tmp_path):
    options = ("--model", bundle_folder, "--output", tmp_path / "x.bed", "--format", "hdf5")
    with pytest.raises(SystemExit, match="2"):
        run(capsys, "--fasta", genome, *options)
    error = capsys.readouterr().err
    assert "x.bed has the suffix of bed, but --format is hdf5; change one of them" in error
    assert error.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["genome.fa"]


def test_places_in_names_of_records_become_coordinates_in_tracks(
    capsys, bundle_folder, tmp_path, random_dna
):
    fasta = tmp_path / "pieces.fa"
    fasta.write_text(
        f">chr7:1000-1300\n{random_dna(300, 1)}\n>chr7:1200-1400\n{random_dna(200, 2)}\n"
    )
    common = ("--fasta", fasta, "--model", bundle_folder, "--labels", "CTCF")
    rows = table(run(capsys, *common).out)[1:]
    assert [row[:3] for row in rows] == [
        ["chr7:1000-1300", "0", "200"], ["chr7:1000-1300", "100", "300"],
        ["chr7:1200-1400", "0", "200"],
    ]  # fmt: skip
    run(capsys, *common, "--output", tmp_path / "x.bed")
    stretches = table((tmp_path / "x.bed").read_text())[1:]
    first, second, third = (float(row[3]) for row in rows)
    expected = [
        (1000, 1100, first), (1100, 1200, (first + second) / 2),
        (1200, 1300, (second + third) / 2), (1300, 1400, third),
    ]  # fmt: skip
    # Windows 1000-1200 and 1100-1300 of the first record, 1200-1400 of the second.
    assert [row[:3] for row in stretches] == [["chr7", str(a), str(b)] for a, b, _ in expected]
    for row, (_, _, value) in zip(stretches, expected, strict=True):
        assert float(row[6]) == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize(
    ("command", "workers"), [("predict", 0), ("predict", 1), ("embed", 0), ("mutagenesis", 0)]
)
def test_a_model_that_gives_no_number_is_one_line(
    bundle_folder, genome, tmp_path, capsys, command, workers
):
    """Its weights are finite, but their products are not; without checksums, as older bundles are."""
    of_bases = command == "mutagenesis"
    folder, output = tmp_path / "bundle", tmp_path / ("x.tsv" if of_bases else "x.h5")
    shutil.copytree(bundle_folder, folder)
    weights = load_file(folder / "model.safetensors")
    save_file(
        {name: np.full_like(x, 1e38) for name, x in weights.items()}, folder / "model.safetensors"
    )
    config = json.loads((folder / "config.json").read_text())
    del config["sha256"]
    (folder / "config.json").write_text(json.dumps(config))
    options = ["--fasta", genome, "--model", folder, "--output", output, "--precision", "32-true"]
    options += ["--workers", workers, *(["--region", "chr1:1-3"] if of_bases else [])]
    with pytest.raises(SystemExit, match=r"^2$"):
        main([command, *map(str, options)])
    error = capsys.readouterr().err
    assert re.fullmatch(
        r"dna-bigbird: error: .*bundle: the model gives nan for known bases; .*32-true\n", error
    )
    assert not output.exists()
