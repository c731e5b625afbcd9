"""`dna_bigbird.prediction` as a user imports it."""

import dataclasses
import inspect
import subprocess
import sys

import numpy as np
import pytest

import dna_bigbird as api
from dna_bigbird.cli.main import main
from dna_bigbird.cli.parser import build_parser
from dna_bigbird.core.errors import InputError
from dna_bigbird.prediction.compute import Compute

FUNCTIONS = ("attribute", "embed", "load_bundle", "mutagenesis", "predict", "score_variants")


def test_nothing_heavy_is_imported_before_it_is_used():
    code = (
        "import sys, dna_bigbird, dna_bigbird.prediction as api; dir(api); "
        "print(sorted({'torch', 'numpy', 'h5py', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names():
    assert set(FUNCTIONS) <= set(api.__all__)
    assert set(FUNCTIONS) <= set(dir(api))
    with pytest.raises(AttributeError, match="has no attribute 'predikt'"):
        _ = api.predikt


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_is_a_documented_function_whatever_was_imported_before(name):
    function = getattr(api, name)
    assert inspect.isfunction(function)
    assert function.__name__ == name
    assert "Raises:" in function.__doc__
    hints = inspect.get_annotations(function)
    parameters = inspect.signature(function).parameters
    assert set(parameters) - {"compute"} <= set(hints)


@pytest.mark.parametrize(
    "command", ["predict", "embed", "score-variants", "mutagenesis", "attribute"]
)
def test_the_command_is_the_function(command):
    parser, function = build_parser(command)
    assert function is getattr(api, command.replace("-", "_"))
    parameters = set(inspect.signature(function).parameters) - {"compute"}
    compute = {field.name for field in dataclasses.fields(Compute)}
    python_only = {"sequences", "progress"}
    assert parser.option_names >= (parameters | compute) - python_only
    assert not parser.option_names & python_only


def test_the_old_name_of_an_option_is_not_shown_but_works(capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["predict", "--fasta", "regions.fa", "--place", "bin"])
    assert "error: --span bin is for BED and bigWig" in capsys.readouterr().err
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["predict", "--help"])
    assert "--place" not in capsys.readouterr().out


def test_results_without_a_model_name_the_bundled_one():
    (note,) = (line for line in api.predict(sequences=SEQUENCES).notes if "bundled" in line)
    assert note.startswith("no model given: using the bundled model")


SEQUENCES = {"a": "ACGT" * 100}
DEFINED_ALIKE = ["embed", "predict"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "predict",
            {"strand": "minus"},
            "^strand='minus': expected 'both', 'forward' or 'interval'",
        ),
        ("predict", {"coordinates": "foo"}, "^coordinates='foo': expected 'record' or 'genome'"),
        (
            "predict",
            {"format": "npz"},
            "^format='npz': expected 'tsv', 'csv', 'bed', 'bigwig' or 'hdf5'",
        ),
        ("predict", {"precision": "bf16"}, r"^precision='bf16': .* did you mean 'bf16-mixed'\?"),
        ("predict", {"device": "gpu"}, r"^device='gpu': .* did you mean 'cuda'\?"),
        ("predict", {"stride": 100.0}, "^stride=100.0: expected a whole number; write 100"),
        ("predict", {"stride": 0}, "^stride 0"),
        ("predict", {"resume": "no"}, "^resume='no': expected True or False"),
        ("embed", {"strand": "minus"}, "^strand='minus': expected 'both' or 'forward'"),
        ("embed", {"pooling": "CLS"}, r"^pooling='CLS': .* did you mean 'cls'\?"),
        ("embed", {"backend": "nativ"}, r"^backend='nativ': .* did you mean 'native'\?"),
    ],
)
def test_what_the_command_line_refuses_python_refuses(name, options, message):
    with pytest.raises(InputError, match=message):
        getattr(api, name)(sequences=SEQUENCES, **options)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("score_variants", {"vcf": "v", "ref_mismatch": "ignore"}, "^ref_mismatch='ignore': "),
        ("score_variants", {"vcf": "v", "format": "bcf"}, "^format='bcf': .* 'vcf'"),
        ("mutagenesis", {"effect": "logodds"}, r"^effect='logodds': .* did you mean 'log_odds'\?"),
        ("mutagenesis", {"strand": "minus"}, "^strand='minus': "),
    ],
)
def test_so_do_those_that_read_a_genome(name, options, message):
    with pytest.raises(InputError, match=message):
        getattr(api, name)(fasta="genome.fa", **options)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_misspelt_keyword_names_the_function(name):
    with pytest.raises(
        TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'batchsize'"
    ):
        getattr(api, name)(batchsize=3)
    if name != "load_bundle":
        with pytest.raises(TypeError, match=r"did you mean 'batch_size'\?"):
            getattr(api, name)(batchsize=3)


@pytest.mark.parametrize("name", DEFINED_ALIKE)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fasta": "ACGTACGT"}, r"^fasta ACGTACGT: no such file. .* sequences=\['ACGT"),
        ({"fasta": "acgtn" * 9000}, r"^fasta (acgtn)+ac\.\.\.: no such file. .* sequences="),
        (
            {"fasta": {"a": "ACGT"}},
            "^fasta is dict; expected the name of a FASTA file.* sequences=",
        ),
        ({"sequences": b"ACGT"}, "^sequences is bytes; expected DNA, such as"),
        ({"sequences": 12}, "^sequences is int; expected DNA, such as"),
        ({"sequences": []}, "^no sequence given; expected at least one"),
        ({"sequences": ""}, "^sequence 'sequence_1' has no base"),
        ({"sequences": ["ACGT", 3]}, r"^sequences: value 2 is int \(3\); expected text"),
        ({"sequences": ["AC", "AXE"]}, "^sequences:2: record 'sequence_2': 'X' at position 2"),
        ({"sequences": __file__}, r"test_api\.py' is a file; to read it, give fasta="),
        ({"sequences": {"a": b"ACGT"}}, "^sequence 'a': .* found str and bytes"),
    ],
)
def test_dna_where_a_file_is_expected_and_the_other_way_round(name, options, message):
    with pytest.raises(InputError, match=message):
        getattr(api, name)(**options)


@pytest.mark.parametrize("name", DEFINED_ALIKE)
def test_a_list_of_sequences_is_the_mapping_with_names(name):
    function = getattr(api, name)
    first, second = "ACGT" * 75, "GGCA" * 75
    expected = function(sequences={"sequence_1": first, "sequence_2": second})
    values = "probabilities" if name == "predict" else "vectors"
    for given in (
        [first, second],
        (first, second),
        np.array([first, second]),
        iter([first, second]),
    ):
        result = function(sequences=given)
        assert result.sequence.tolist() == ["sequence_1", "sequence_2"]
        assert getattr(result, values).tobytes() == getattr(expected, values).tobytes()
    alone = function(sequences=second)
    assert alone.sequence.tolist() == ["sequence_1"]
    np.testing.assert_allclose(getattr(alone, values)[0], getattr(expected, values)[1], rtol=1e-4)


def test_a_list_is_written_too(tmp_path):
    api.predict(sequences=["ACGT" * 75], output=tmp_path / "scores.tsv")
    line = (tmp_path / "scores.tsv").read_text().splitlines()[1]
    *window, score = line.split("\t")
    assert window == ["sequence_1", "0", "300"]
    assert 0 < float(score) < 1


def test_a_file_with_a_name_of_letters_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "CAT").write_text(">a\n" + "ACGT" * 75 + "\n")
    assert api.predict("CAT").start.tolist() == [0]


def test_the_command_line_names_options(capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["predict", "--fasta", "regions.fa", "--stride", "0"])
    assert "error: --stride 0" in capsys.readouterr().err
