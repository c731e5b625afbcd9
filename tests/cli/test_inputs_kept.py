"""No command writes over one of its inputs; the calls of all commands are in `test_situations`."""

import gzip
import os
from pathlib import Path

import pytest

from dna_bigbird.cli.commands import every_command
from dna_bigbird.cli.help import help_of
from dna_bigbird.cli.main import build_parser, main
from dna_bigbird.core.errors import InputError, OutputError
from dna_bigbird.core.paths import (
    WRITTEN,
    InputPath,
    OutputFolder,
    OutputPath,
    Role,
    check_paths,
    roles_of,
)
from tests.cli.situations import command_of

EVERY = list(every_command())
PATH_TEXTS = {"fasta", "bed", "vcf", "avoid"}
"""Options that are paths but text by type, since '-' is standard input."""


@pytest.mark.parametrize("command", EVERY)
def test_every_path_of_every_command_has_a_role(command):
    described = command_of(command)
    paths = {
        name for name, hint, *_ in described.options if "Path" in str(hint) or name in PATH_TEXTS
    }
    assert paths <= described.roles.keys()


@pytest.mark.parametrize("command", EVERY)
def test_help_shows_every_path_as_one(command):
    """Also where it may be left out, or several may be given."""
    parser, function = build_parser(command)
    text = help_of(parser)
    for name in roles_of(function):
        option = name.rstrip("_")
        assert f"--{option} {option.upper()}" not in text


@pytest.mark.parametrize("command", EVERY)
def test_permission_is_asked_for_before_work(command, tmp_path, capsys, monkeypatch):
    """`os.access` answers for a folder without permission, which root has everywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "locked")
    call = command_of(command)
    for name in call.inputs:
        Path(f"{name}.in").touch()
    Path("locked").mkdir()
    before = set(tmp_path.rglob("*"))
    for output in call.outputs:
        wrong = "locked" if call.roles[output] is Role.FOLDER else "locked/x"
        with pytest.raises(SystemExit, match="2"):
            main(call.argv({output: wrong}))
        assert f"{wrong}: " in capsys.readouterr().err, output
        assert set(tmp_path.rglob("*")) == before, "something was written"


def copy(source: InputPath, output: OutputPath | None = None, table: OutputPath | None = None):
    """A command, for its signature."""


@pytest.mark.parametrize("way", ["name", "dots", "symbolic", "hard", "index", "folder link"])
def test_files_are_compared_not_names(tmp_path, way):
    folder = tmp_path / "data"
    folder.mkdir()
    source = folder / "g.fa"
    source.write_text("ACGT")
    output = tmp_path / "other"
    if way == "name":
        output = source
    elif way == "dots":
        output = tmp_path / "new" / ".." / "data" / "g.fa"
    elif way == "symbolic":
        output.symlink_to(source)
    elif way == "hard":
        os.link(source, output)
    elif way == "index":
        output = folder / "g.fa.fai"
    else:
        output.symlink_to(folder)
        output = output / "g.fa"
    with pytest.raises(InputError, match=r"--output .*: this is the input --source .*overwritten"):
        check_paths(copy, {"source": source, "output": output})
    check_paths(copy, {"source": source, "output": tmp_path / "free"})


def test_nothing_is_written_into_an_input_model(tmp_path):
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).touch()
    for name in ("model.safetensors", "new.tsv"):
        with pytest.raises(InputError, match="is in the input model --source"):
            check_paths(copy, {"source": tmp_path, "output": tmp_path / name})


def test_files_of_an_input_folder_are_kept_and_new_ones_allowed(tmp_path):
    (tmp_path / "a.txt").touch()
    (tmp_path / "link").symlink_to(tmp_path / "a.txt")
    os.link(tmp_path / "a.txt", tmp_path.parent / "hard")
    for output in (tmp_path / "a.txt", tmp_path / "link", tmp_path.parent / "hard"):
        with pytest.raises(InputError, match=r"input folder|is the input"):
            check_paths(copy, {"source": tmp_path, "output": output})
    check_paths(copy, {"source": tmp_path, "output": tmp_path / "new.txt"})


def test_a_folder_that_holds_an_input_is_not_replaced(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "set.h5").touch()
    with pytest.raises(
        InputError, match=r"the input --source .* is in this folder, which is replaced as a whole"
    ):
        check_paths(copy, {"source": tmp_path / "out" / "set.h5", "output": tmp_path / "out"})


def test_a_name_that_the_system_refuses_is_left_to_its_reader(tmp_path):
    """DNA where a file name is expected has a message of its own."""
    check_paths(copy, {"source": "ACGT" * 1000, "output": tmp_path / "out"})
    with pytest.raises(OutputError, match=r"nnn: .*name too long"):
        check_paths(copy, {"source": tmp_path, "output": tmp_path / ("n" * 300)})


def test_a_folder_to_which_files_are_added_needs_no_permission_above_it(tmp_path, monkeypatch):
    def add(folder: OutputFolder):
        """A command, for its signature."""

    (tmp_path / "mine").mkdir()
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    check_paths(add, {"folder": tmp_path / "mine"})
    with pytest.raises(OutputError, match="no permission to write in"):
        check_paths(add, {"folder": tmp_path / "other"})


def test_two_outputs_are_two_files(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for table in (tmp_path / "a", tmp_path / "link"):
        with pytest.raises(InputError, match="are the same path; give each output its own name"):
            check_paths(copy, {"output": tmp_path / "a", "table": table})
    with pytest.raises(InputError, match="is inside --output"):
        check_paths(copy, {"output": tmp_path / "a", "table": tmp_path / "a" / "b"})


def test_inputs_that_a_sheet_lists_are_inputs(tmp_path):
    peaks = tmp_path / "p.bed"
    peaks.touch()
    with pytest.raises(InputError, match=r"this is the input --input .*p\.bed"):
        check_paths(copy, {"output": peaks}, also_read=[peaks])


def test_chromatin_set_keeps_the_files_of_its_sheet(tmp_path, capsys):
    (tmp_path / "g.fa").write_text(">chr1\n" + "ACGT" * 500 + "\n")
    (tmp_path / "peaks").write_text("chr1\t200\t400\n")
    (tmp_path / "sheet.tsv").write_text("label\tgroup\tcell\tpath\nA\tTF\tK562\tpeaks\n")
    regions = ["--split.validation", "[chr1:1-600]", "--split.test", "[chr1:601-1200]"]
    files = [f"--genome={tmp_path}/g.fa", f"--peaks={tmp_path}/sheet.tsv"]
    with pytest.raises(SystemExit, match="2"):
        main(["chromatin-set", *files, "--assembly=x", *regions, f"--output={tmp_path}/peaks"])
    assert "peaks: this is the input" in capsys.readouterr().err
    assert (tmp_path / "peaks").read_text() == "chr1\t200\t400\n"


def test_roles_say_what_is_written():
    assert Role.INPUT not in WRITTEN
    assert roles_of(copy) == {"source": Role.INPUT, "output": Role.OUTPUT, "table": Role.OUTPUT}


def test_a_results_folder_gets_its_report_again(tmp_path):
    from dna_bigbird.report.report import report

    (tmp_path / "report.html").touch()
    (tmp_path / "metrics.json").touch()
    check_paths(report, {"results": tmp_path, "output": tmp_path / "report.html"})
    with pytest.raises(InputError, match="is a file of the input folder --results"):
        check_paths(report, {"results": tmp_path, "output": Path(tmp_path / "metrics.json")})


def test_an_ordinary_gzip_genome_is_refused_by_every_command_before_it_works(tmp_path):
    """`genome` and `predict` without a BED file read from front to back."""
    fasta = tmp_path / "g.fa.gz"
    fasta.write_bytes(gzip.compress(b">chr1\nACGT\n"))
    asked = []
    for words in EVERY:
        _, function = build_parser(words)
        for name, role in roles_of(function).items():
            if role is Role.GENOME:
                value = {"a": fasta} if "bench" in words else fasta
                with pytest.raises(
                    InputError, match=r"g\.fa\.gz: .*must be plain or bgzip.*\| bgzip"
                ):
                    check_paths(function, {name: value})
                asked.append(words)
            else:
                assert name != "genome", words
    assert {"score-variants", "mutagenesis", "view", "marginalise", "tokenize"} <= set(asked)


@pytest.mark.parametrize("command", ["predict", "embed", "attribute"])
def test_an_ordinary_gzip_genome_of_a_bed_file(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("g.fa.gz").write_bytes(gzip.compress(b">chr1\nACGT\n"))
    Path("x.bed").write_text("chr1\t0\t4\n")
    with pytest.raises(SystemExit, match=r"^2$"):
        main(
            [
                command,
                "--fasta",
                "g.fa.gz",
                "--bed",
                "x.bed",
                "--model",
                "absent",
                "--output",
                "o.h5",
            ]
        )
    assert "g.fa.gz: a genome is read at random" in capsys.readouterr().err
