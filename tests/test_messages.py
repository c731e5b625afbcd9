"""Messages name options that the command has, and hold no control characters."""

import ast
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dna_bigbird.cli.commands import every_command
from dna_bigbird.cli.main import main
from dna_bigbird.cli.parser import parsers_of
from dna_bigbird.cli.streams import PrintableStream
from dna_bigbird.core.choices import ChoiceError
from dna_bigbird.core.errors import InputError, OutputError, command_line, note
from dna_bigbird.core.messages import (
    LONGEST_MESSAGE,
    for_reader,
    printable,
    short_enough,
    with_options,
)

PACKAGE = Path(__file__).parents[1] / "dna_bigbird"
ESCAPE = "\x1b[2J\x1b]0;title\x07"
OF_OTHER_PROGRAMS = {"as-needed", "discount_fallback", "fai-idx", "gzi-idx", "version", "help"}
OF_OTHER_PROGRAMS |= {"cpus-per-task", "kill-on-bad-exit", "ntasks-per-node"}  # srun


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--window 0: expected at least 1", "--window 0: expected at least 1"),
        ("--warmup_steps 9 is not below --max_steps 5", None),
        ("say so: --pieces true", "say so: pieces true"),
        ("--tiles.window 0 and --tiles.size 1", "--window 0 and size 1"),
        ("pretrain with --model.max_tokens 512 or more", "pretrain with max_tokens 512 or more"),
        ("See: dna-bigbird genome --pieces --help", "See: dna-bigbird genome --pieces --help"),
        ("gone: snakemake --unlock", "gone: snakemake --unlock"),
        ("dna-bigbird fetch --local X; --pieces", "dna-bigbird fetch --local X; pieces"),
        ("a--b.fa and /data/--x: no such file", "a--b.fa and /data/--x: no such file"),
        ("--dropout of 2", "dropout of 2"),  # in two groups
    ],
)
def test_settings_are_named_as_the_command_has_them(text, expected):
    options = {"window", "training.warmup_steps", "training.max_steps"}
    options |= {"model.dropout", "head.dropout"}
    expected = expected or "--training.warmup_steps 9 is not below --training.max_steps 5"
    assert with_options(text, options) == expected
    assert with_options(expected, options) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Give --options.evidence", "Give --change evidence=..."),
        ("--options.stride 0 must be at least 1", "--change stride=0 must be at least 1"),
        ("--options.unit 'x y' is not one", "--change unit='x y' is not one"),
        ("--options.unit='x': expected 'a'", "--change unit='x': expected 'a'"),
        ("or --options.domain wikipedia or web", "or --change domain=wikipedia or web"),
    ],
)
def test_options_of_a_text_task_are_changes_where_the_command_has_those(text, expected):
    assert with_options(text, {"change"}) == expected
    assert with_options(text, {re.search(r"--([\w.]+)", text)[1], "change"}) == text


def test_an_error_is_renamed_on_its_way_out_of_a_command():
    with pytest.raises(InputError, match=r"^window 3 and --stride$"), command_line({"stride"}):
        raise InputError("--window 3 and --stride")
    with pytest.raises(OutputError) as caught, command_line({"stride"}):
        raise OutputError("a: --window", "full")
    assert (str(caught.value), caught.value.reason) == ("a: window", "full")


def test_notes_too(capsys):
    note("hold out more: --split.validation")
    with command_line({"split.validation"}):
        note("hold out more: --split.validation")
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(" ")[2] for line in lines] == ["split.validation", "--split.validation"]


def strings_of(path: Path) -> list[str]:
    """Every text in a module that is no docstring, with {} for what is filled in."""
    tree = ast.parse(path.read_text())
    documents = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            documents.add(id(node.value))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [v.value if isinstance(v, ast.Constant) else "{}" for v in node.values]
            found.append("".join(parts))
            documents |= {id(value) for value in node.values}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [] if id(node) in documents else [node.value]
    return found


def test_every_option_in_a_text_of_the_package_is_one_of_some_command():
    parsers = [parser for name in every_command() for parser in parsers_of(name)]
    options = set().union(*(parser.option_names for parser in parsers))
    options |= {option.rpartition(".")[2] for option in options} | OF_OTHER_PROGRAMS
    unknown = set()
    for path in PACKAGE.rglob("*.py"):
        for text in strings_of(path):
            if re.search(r"(snakemake|sbatch|srun) ", text):
                continue
            for name in re.findall(r"(?<![\w./=`-])--([A-Za-z][\w-]*(?:\.\w+)*)(?![.\w{-])", text):
                if name not in options and name.replace("-", "_") not in options:
                    unknown.add((path.name, name))
    assert unknown == set()


def test_predict_does_not_name_an_option_of_other_commands(tmp_path, capsys):
    (tmp_path / "g.fa").write_text(">chr1\n" + "ACGT" * 100 + "\n")
    (tmp_path / "b.bed").write_text("chr1\t0\t500\n")
    with pytest.raises(SystemExit):
        main(["predict", "--fasta", f"{tmp_path}/g.fa", "--bed", f"{tmp_path}/b.bed"])
    message = capsys.readouterr().err
    assert "b.bed:1: end 500 is beyond the end of chr1" in message
    assert "pieces" not in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--strand minus", "--strand: found 'minus', expected one of both, forward, interval. See"),
        (
            "--format h5",
            "--format: found 'h5', expected one of tsv, csv, bed, bigwig, hdf5; did you mean 'hdf5'? ",
        ),
        ("--precision bf16", "did you mean 'bf16-mixed'? See: dna-bigbird predict --help"),
        ("--batchsize 3", "unknown option --batchsize; did you mean --batch_size? See"),
    ],
)
def test_a_wrong_choice_or_option_on_the_command_line(options, message, capsys):
    with pytest.raises(SystemExit):
        main(["predict", "--fasta", "g.fa", *options.split()])
    assert message in capsys.readouterr().err


def test_training_names_its_options_with_their_group(capsys):
    options = "--output o --checkpoints c --train t.h5 --validation v.h5 --tokenizer t.model"
    steps = "--training.max_steps 10 --training.warmup_steps 20"
    with pytest.raises(SystemExit):
        main(["pretrain", *options.split(), *steps.split()])
    message = capsys.readouterr().err
    assert "--training.warmup_steps 20 is not below --training.max_steps 10" in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain, ü, 染色体", "plain, ü, 染色体"),
        ("a\tb\n", "a\tb\n"),
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("\x9b31m\x85", r"\x9b31m\x85"),  # C1 controls
        ("\u202eevil\u2028", r"\u202eevil\u2028"),  # right-to-left override, line separator
        ("\udc80", r"\udc80"),
    ],
)
def test_control_characters_become_escapes(text, expected):
    assert printable(text) == expected
    assert str(InputError(text)) == expected
    assert for_reader(text) == expected


def test_errors_stay_what_they_are():
    error = pickle.loads(pickle.dumps(InputError(f"{ESCAPE}: no")))
    assert str(error) == r"\x1b[2J\x1b]0;title\x07: no"


def test_names_do_not_act_on_the_terminal_in_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["predict", "--fasta", f"{tmp_path}/{ESCAPE}.fa"])
    message = capsys.readouterr().err
    assert r"\x1b[2J\x1b]0;title\x07.fa: no such file" in message
    assert message.rstrip("\n").isprintable()


def test_a_stream_to_a_terminal():
    written = []
    stream = PrintableStream(type("Terminal", (), {"write": written.append, "columns": 80})())
    stream.writelines([f"{ESCAPE}\t1\n", "\r50 %"])
    assert "".join(written) == "\\x1b[2J\\x1b]0;title\\x07\t1\n\\r50 %"
    assert stream.columns == 80


def test_a_table_on_a_terminal_has_no_control_characters_and_a_file_keeps_them(tmp_path):
    """The ID of a variant may be any text without blanks."""
    fasta, vcf, table = (tmp_path / name for name in ("g.fa", "v.vcf", "t.tsv"))
    fasta.write_text(">chr1\n" + "ACGT" * 200 + "\n")
    columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
    vcf.write_text(f"##fileformat=VCFv4.2\n{columns}\nchr1\t401\t{ESCAPE}\tA\tC\t.\t.\t.\n")
    command = ["score-variants", "--vcf", str(vcf), "--fasta", str(fasta)]
    ours, theirs = os.openpty()
    subprocess.run(
        [sys.executable, "-m", "dna_bigbird", *command], stdout=theirs, stderr=theirs, check=True
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert "\t401\t\\x1b[2J\\x1b]0;title\\x07\tA\tC\t" in shown
    assert "\x1b" not in shown
    main([*command, "--output", str(table)])
    assert f"\t401\t{ESCAPE}\tA\tC\t" in table.read_text()


def test_a_long_value_is_cut_in_the_middle():
    text = f"labels.tsv:3: found {'A' * 50_000}{'C' * 50_000}, expected a label"
    short = short_enough(text)
    assert re.fullmatch(r"labels\.tsv:3: found A{150}\.{3}C{149}, expected a label", short)


def test_many_short_words_are_cut_too():
    assert len(short_enough("A " * 100_000)) == LONGEST_MESSAGE + 3


def test_a_path_stays_whole():
    text = f"{'/folder' * 40}/x.fa: no such file"
    assert short_enough(text) == text


@pytest.mark.parametrize("error", [InputError, ChoiceError, OutputError])
def test_every_error_and_note_is_short(error, capsys):
    assert len(str(error("A" * 100_000))) < 400
    note("A" * 100_000)
    assert len(capsys.readouterr().err) < 400
