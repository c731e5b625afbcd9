"""The suffix of an output is that of the format that is written, in every command."""

import inspect
from pathlib import Path

import pytest

from dna_bigbird.cli.commands import every_command
from dna_bigbird.cli.main import main
from dna_bigbird.cli.parser import build_parser
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.file_formats import FORMATS, Form, check_known
from dna_bigbird.core.paths import WRITTEN, check_paths, roles_of

OWN_CHECK = {
    "attribute output", "embed output", "marginalise curves", "mutagenesis output", "mutagenesis picture", "plot-attention output",
    "predict output", "score-variants output", "score-variants tsv",
    "theory turing output", "theory furthest output", "theory graph output",
    "theory mapping output",
}  # fmt: skip
"""The suffix chooses the format, so the command checks it."""
ANY_FORMAT = {"fetch output"}
"""The format is that of the downloaded file."""


def outputs():
    """Yield every command with each of its outputs, and the function."""
    for command in every_command():
        _, function = build_parser(command)
        for name, role in roles_of(function).items():
            if role in WRITTEN and name in inspect.signature(function).parameters:
                yield f"{command} {name}", function, name


def test_every_output_says_what_is_written():
    outputs_by_name = {label: (function, name) for label, function, name in outputs()}
    assert len(outputs_by_name) > 40
    for label in outputs_by_name.keys() - OWN_CHECK - ANY_FORMAT:
        function, name = outputs_by_name[label]
        message = rf"^--{name} x\.xlsx: \.xlsx is the suffix of Excel, but this is written as"
        with pytest.raises(InputError, match=message):
            check_paths(function, {name: Path("x.xlsx")})
    assert outputs_by_name.keys() >= OWN_CHECK | ANY_FORMAT


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "promoter-set --genome g.fa --sites s.bed --assembly a --output x.csv",
            "--output x.csv: .csv is the suffix of CSV, but this is written as HDF5; end the name in "
            ".h5 or .hdf5",
        ),
        (
            "genome --inputs g.fa --output x.fa.gz",
            "--output x.fa.gz: .gz is the suffix of gzip, but this is written as FASTA; end the name "
            "in .fa, .fasta or .fna",
        ),
        (
            "ensemble --models a --output model.PT",
            "--output model.PT: .pt is the suffix of PyTorch, but this is written as a folder with a model; "
            "leave out .pt",
        ),
        (
            "predict --fasta g.fa --output x.xlsx",
            "--output x.xlsx: .xlsx is not the suffix of a format that is written here; end the name "
            "in .tsv, .txt, .csv, .bed, .bw, .bigwig, .h5 or .hdf5",
        ),
        (
            "predict --fasta g.fa --format bigwig --output x.csv",
            "--output x.csv has the suffix of csv, but --format is bigwig; change one of them",
        ),
        (
            "embed --fasta g.fa --format hdf5 --output x.csv",
            "--output x.csv: .csv is not the suffix of a format that is written here; end the name in "
            ".h5, .hdf5 or .npz",
        ),
        (
            "mutagenesis --fasta g.fa --output x.xlsx",
            "--output x.xlsx: the name of a matrix ends in .tsv, .csv or .npz",
        ),
    ],
)
def test_another_suffix_is_one_line_and_nothing_is_written(
    tmp_path, monkeypatch, capsys, command, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.fa").write_text(">a\nACGTACGTACGT\n")
    (tmp_path / "s.bed").write_text("a\t3\t4\t.\t0\t+\n")
    (tmp_path / "a").mkdir()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SystemExit, match=r"^2$"):
        main(command.split())
    assert capsys.readouterr().err == f"dna-bigbird: error: {message}\n"
    assert sorted(tmp_path.iterdir()) == before


def test_names_that_are_accepted():
    hdf5, folder = Form("HDF5", (".h5", ".hdf5")), Form("a folder")
    for name in ("x.h5", "x.HDF5", "x", "x.v2", "x.txt", "a.csv/x.h5", "x.csv.h5"):
        hdf5.check("--output", name)
    for name in ("model", "model.v2", "a.h5/model"):
        folder.check("--output", name)
    for name in ("a", "a.tsv", "A.TSV", "a.csv/b"):
        check_known("--output", Path(name), (".tsv",))
    check_known("--output", Path("a.v2"), (".tsv",), "tsv")
    with pytest.raises(InputError, match=r"a\.v2: \.v2 is not the suffix"):
        check_known("--output", Path("a.v2"), (".tsv",))


def test_suffixes_of_a_form_are_those_of_its_format():
    from dna_bigbird.core import paths

    forms = [
        part
        for name in dir(paths)
        for part in getattr(getattr(paths, name), "__metadata__", ())
        if isinstance(part, Form)
    ]
    assert len(forms) >= 9
    names = {suffix: form.what for form in forms for suffix in form.suffixes if suffix in FORMATS}
    assert {suffix: FORMATS[suffix] for suffix in names} == names
