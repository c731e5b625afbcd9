"""No command writes over one of its inputs, whichever output is given the name of whichever input."""

import gzip
import os
import typing
from pathlib import Path

import pytest

from dna_bigbird.cli.commands import every_command
from dna_bigbird.cli.main import build_parser, main
from dna_bigbird.cli.parser_internals import actions_of, has_type, type_of
from dna_bigbird.errors import InputError, OutputError
from dna_bigbird.paths import (
    A_FOLDER,
    WRITTEN,
    InputPath,
    OutputFolder,
    OutputPath,
    Role,
    _marks_of,
    check_paths,
    roles_of,
)
from dna_bigbird.suffixes import Form

EVERY = list(every_command())
PATH_TEXTS = {"fasta", "bed", "vcf", "avoid"}
"""Options that are paths but text by type, since '-' is standard input."""


def options_of(command):
    """The options of a command: name, type, whether required, whether positional."""
    parser, function = build_parser(command)
    actions = [a for a in actions_of(parser) if has_type(a)]
    return [(a.dest, type_of(a), a.required, not a.option_strings) for a in actions], function


@pytest.mark.parametrize("command", EVERY)
def test_every_path_of_every_command_has_a_role(command):
    options, function = options_of(command)
    roles = {name.rstrip("_") for name in roles_of(function)}
    paths = {name for name, hint, *_ in options if "Path" in str(hint) or name in PATH_TEXTS}
    assert paths <= roles


@pytest.mark.parametrize("command", EVERY)
def test_help_shows_every_path_as_one(command):
    """Also where it may be left out, or several may be given."""
    parser, function = build_parser(command)
    text = parser.format_help()
    for name in roles_of(function):
        option = name.rstrip("_")
        assert f"--{option} {option.upper()}" not in text


def example(hint):
    """Some text that an option of this type accepts."""
    if typing.get_origin(hint) is typing.Literal:
        return str(typing.get_args(hint)[0])
    if hint in (int, float):
        return "1"
    return "[]" if "list" in str(hint) else "{}" if "dict" in str(hint) else "x"


def as_option(hint, path):
    text = str(hint)
    return f"{{x: {path}}}" if "dict[" in text else f"[{path}]" if text.startswith("list") else path


def arguments(command, options, values):
    """The words of a call with these values, and with some value for what else is required."""
    argv = command.split()
    for name, hint, required, positional in options:
        if name in values:
            argv += [f"--{name}"] * (not positional)
            argv.append(str(as_option(hint, values[name])))
        elif required:
            argv += [f"--{name}"] * (not positional) + [example(hint)]
    return argv


@pytest.mark.parametrize("command", EVERY)
def test_no_command_writes_over_an_input(command, tmp_path, capsys):
    options, function = options_of(command)
    roles = {name.rstrip("_"): role for name, role in roles_of(function).items()}
    outputs = [name for name, role in roles.items() if role in WRITTEN]
    inputs = [name for name, role in roles.items() if role not in WRITTEN]
    read = {name: tmp_path / f"{name}.in" for name in inputs}
    for path in read.values():
        path.write_text(f"precious {path.name}")
    for output in outputs:
        for source in inputs:
            values = {name: tmp_path / f"{name}.out" for name in outputs} | read
            values[output] = read[source]
            argv = arguments(command, options, values)
            with pytest.raises(SystemExit, match="2"):
                main(argv)
            error = capsys.readouterr().err
            assert f"--{output} " in error, (output, source)
            assert "would be overwritten" in error, (output, source)
            assert all(path.read_text() == f"precious {path.name}" for path in read.values())
            left = {path.name for path in tmp_path.iterdir()}
            assert left == {path.name for path in read.values()}, "something was written"


@pytest.mark.parametrize("command", EVERY)
def test_every_output_is_checked_before_work(command, tmp_path, capsys, monkeypatch):
    """A folder in place of a file, the reverse, a file in place of the folder above, no permission."""
    options, function = options_of(command)
    roles = {name.rstrip("_"): role for name, role in roles_of(function).items()}
    folders = {name for name, form in _marks_of(function, Form).items() if form == A_FOLDER}
    outputs = [name for name, role in roles.items() if role in WRITTEN]
    read = {name: tmp_path / f"{name}.in" for name, role in roles.items() if role not in WRITTEN}
    needed = {name for name, _, required, _ in options if required} & set(outputs)
    for path in [*read.values(), tmp_path / "file"]:
        path.touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "locked").mkdir()
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path / "locked")
    before = set(tmp_path.rglob("*"))
    for output in outputs:
        other = "file" if output in folders else "folder"
        for wrong in (tmp_path / other, tmp_path / "file" / "x", tmp_path / "locked" / "x"):
            if roles[output] is Role.FOLDER and wrong.parent.name == "locked":
                wrong = wrong.parent
            values = {name: tmp_path / f"{name}.out" for name in needed} | read
            values[output] = wrong
            with pytest.raises(SystemExit, match="2"):
                main(arguments(command, options, values))
            assert f"{wrong}: " in capsys.readouterr().err, (output, wrong)
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
    from dna_bigbird.pipeline.report import report

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
