"""What is wrong on the command line is one line in plain words, and exit status 2."""

import re
import typing

import pytest

from dna_bigbird.cli.commands import COMMANDS, GROUPS, every_command
from dna_bigbird.cli.help import help_of
from dna_bigbird.cli.main import main
from dna_bigbird.cli.parser import build_parser, parsers_of
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.core.errors import InputError

OF_THE_PARSER = ("Parser key", "Union", "ubtypes", "Literal", "<class", "typehint", "Namespace")


def refused(argv: str, capsys) -> str:
    """Return the message of a command that must fail with status 2, without its first words."""
    with pytest.raises(SystemExit, match=r"^2$"):
        main(argv.split())
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("dna-bigbird: error: ")
    assert output.err.count("\n") == 1
    assert not [words for words in OF_THE_PARSER if words in output.err]
    return output.err.removeprefix("dna-bigbird: error: ").rstrip("\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("predcit", "unknown command 'predcit'; did you mean 'predict'? See: dna-bigbird --help"),
        ("score_variants", "unknown command 'score_variants'; did you mean 'score-variants'?"),
        ("warm-start", "unknown command 'warm-start'; did you mean 'text warm-start'?"),
        ("txt", "unknown command 'txt'; did you mean 'text'?"),
        ("xyzzy", "unknown command 'xyzzy'. See: dna-bigbird --help"),
        ("text evalute", "unknown command 'text evalute'; did you mean 'text evaluate'? "
                         "See: dna-bigbird text --help"),
        ("help predcit", "unknown command 'predcit'; did you mean 'predict'?"),
        ("--fasta a.fa", "found the option --fasta, expected a command before it"),
    ],
)  # fmt: skip
def test_an_unknown_command(argv, message, capsys):
    assert refused(argv, capsys).startswith(message)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("predict --ouput x", "unknown option --ouput; did you mean --output? "
                              "See: dna-bigbird predict --help"),
        ("predict --fsta x", "unknown option --fsta; did you mean --fasta?"),
        ("predict --fasta=x --batchsize=3", "unknown option --batchsize; did you mean --batch_size?"),
        ("predict --st 3", "unknown option --st; did you mean --strand or --stride?"),
        ("predict -x 3", "unknown option -x. See: dna-bigbird predict --help"),
        ("predict --xyzzy", "unknown option --xyzzy. See: dna-bigbird predict --help"),
        ("finetune --training.lerning_rate 1", "unknown option --training.lerning_rate; did you "
                                               "mean --training.learning_rate?"),
        ("finetune --max-steps 3", "unknown option --max_steps; did you mean --training.max_steps?"),
        ("finetune --lerning_rate 3", "unknown option --lerning_rate; did you mean "
                                      "--training.learning_rate?"),
        ("text train --task imdb --max_stps 3", "--task"),
    ],
)  # fmt: skip
def test_an_unknown_option(argv, message, capsys):
    assert message in refused(argv, capsys)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("predict", "--fasta is required. See: dna-bigbird predict --help"),
        ("evaluate --data d.h5", "--model and --output are required."),
        ("completion", "SHELL is required."),
        ("predict --fasta", "--fasta: expected a value: a path."),
        ("genome --inputs", "--inputs: expected a value: a path."),
        ("plot-attention --output o --random-plan", "--random_plan: expected a value: one of "),
        ("predict --fasta a --stride abc", "--stride: found 'abc', expected a whole number."),
        ("predict --fasta a --batch_size 1.5", "--batch_size: found '1.5', expected a whole number."),
        ("finetune --training.learning_rate fast",
         "--training.learning_rate: found 'fast', expected a number."),
        ("predict --fasta a --resume maybe", "--resume: found 'maybe', expected true or false."),
        ("predict --fasta a --strand bth",
         "--strand: found 'bth', expected one of both, forward, interval; did you mean 'both'?"),
        ("finetune --head.pooling mea",
         "--head.pooling: found 'mea', expected one of cls, mean, centre, parts, attention, bin, bins; did you mean 'mean'?"),
        ("plot-attention --layers 0 x", "--layers: found 'x', expected a whole number."),
        ("plot-attention --random_plan uniform orignal",
         "--random_plan: found 'orignal', expected one of uniform, original, huggingface; did you "
         "mean 'original'?"),
        ("completion fsh", "SHELL: found 'fsh', expected one of bash, zsh, tcsh; did you mean"),
        ("finetune --training fast", "--training fast: expected a YAML file of options, such as "
                                     "--training.max_steps."),
        ("predict regions.fa", "found 'regions.fa', expected the name of an option before it; did "
                               "you mean --fasta regions.fa?"),
        ("predict -q --fasta a -v", "--quiet and --verbose exclude each other"),
        ("predict --fasta a --verb", "write --verbose in full."),
    ],
)  # fmt: skip
def test_a_wrong_or_missing_value(argv, message, capsys):
    assert refused(argv, capsys).startswith(message)


def choices_of(hint) -> list[str]:
    """Return the values of every Literal in a type."""
    inside = [value for part in typing.get_args(hint) for value in choices_of(part)]
    return (
        [*map(str, typing.get_args(hint))] if typing.get_origin(hint) is typing.Literal else inside
    )


@pytest.mark.parametrize("command", list(every_command()))
def test_every_option_of_every_command(command, capsys):
    """A wrong choice, number or switch: the option's full name, the value, what it may be."""
    words = {int: "a whole number", float: "a number", bool: "true or false"}
    checked = set()
    for parser in parsers_of(command)[:2]:
        for option in parser.options:
            hint = option.hint
            choices = list(dict.fromkeys(choices_of(hint)))
            plain = {words[each] for each in (hint, *typing.get_args(hint)) if each in words}
            if option.dest in checked or not (choices or plain):
                continue
            checked.add(option.dest)
            with pytest.raises(SystemExit, match=r"^2$"):
                read_arguments(
                    parser, [f"{option.names[-1]}=~wrong~"] if option.names else ["~wrong~"]
                )
            text = capsys.readouterr().err
            shown = f"one of {', '.join(choices)}" if choices[1:] else "".join(choices or plain)
            assert re.search(
                rf"(--{option.dest}|[A-Z]+): found '~wrong~', expected {shown}[.;]", text
            )
            assert not [each for each in OF_THE_PARSER if each in text]


def test_the_matrix_has_rows():
    """Most commands have a choice or a number."""
    counted = 0
    for command in every_command():
        hints = [option.hint for option in parsers_of(command)[0].options]
        counted += any(choices_of(hint) or hint in (int, float) for hint in hints)
    assert counted > 30


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fasta: a\n\nstrnd: both\n", ":3: unknown option 'strnd'; did you mean 'strand'?"),
        ("fasta: a\nmax_steps: 3\n", ":2: unknown option 'max_steps'"),
        (
            "fasta: a\nstrand: bth\n",
            ":2: strand: found 'bth', expected one of both, forward, inter",
        ),
        ("# x\nfasta: a\nstride: [3]\n", ":3: stride: found '[3]', expected a whole number."),
        ("fasta: a\nbatch_size: 1.5\n", ":2: batch_size: found '1.5', expected a whole number."),
    ],
)
def test_a_wrong_option_in_a_file(text, message, tmp_path, capsys):
    file = tmp_path / "o.yaml"
    file.write_text(text)
    assert refused(f"predict --config {file}", capsys).startswith(f"{file}{message}")


def test_a_wrong_option_in_a_group_of_a_file(tmp_path, capsys):
    file = tmp_path / "o.yaml"
    file.write_text("seed: 1\ntraining:\n  max_stps: 3\n")
    message = f"{file}:3: unknown option 'training.max_stps'; did you mean 'training.max_steps'?"
    message += " See: dna-bigbird finetune --help"
    assert refused(f"finetune --config {file}", capsys) == message
    file.write_text("seed: 1\ntraining:\n  max_steps: many\n")
    message = f"{file}:3: training.max_steps: found 'many', expected a whole number."
    assert refused(f"finetune --config {file}", capsys).startswith(message)


def test_a_wrong_option_after_a_file_is_not_reported_with_the_file(tmp_path, capsys):
    file = tmp_path / "o.yaml"
    file.write_text("strand: both\n")
    message = refused(f"predict --fasta a --config {file} --strand bth", capsys)
    assert message.startswith("--strand: found 'bth'")


@pytest.mark.parametrize("name", ["predict", "text evaluate", "doctor"])
def test_help_of_a_command_in_every_form(name, capsys):
    texts = []
    for argv in (f"{name} --help", f"{name} -h", f"help {name}"):
        with pytest.raises(SystemExit, match=r"^0$"):
            main(argv.split())
        texts.append(capsys.readouterr().out)
    assert texts[0].startswith(f"usage: dna-bigbird {name}")
    assert texts[1:] == texts[:1] * 2


@pytest.mark.parametrize("group", GROUPS)
def test_help_of_a_group_in_every_form(group, capsys):
    texts = []
    for argv in (group, f"{group} --help", f"{group} help", f"help {group}"):
        main(argv.split())
        texts.append(capsys.readouterr().out)
    assert texts[0].startswith(f"usage: dna-bigbird {group} COMMAND")
    assert set(texts) == {texts[0]}


@pytest.mark.parametrize("command", [name for name in every_command()])
def test_o_is_output(command):
    for parser in parsers_of(command):
        short = [option for option in parser.options if "-o" in option.names]
        outputs = [option for option in parser.options if option.dest == "output"]
        assert short == outputs


def test_o_writes_the_output(tmp_path):
    fasta, output = tmp_path / "a.fa", tmp_path / "scores.tsv"
    fasta.write_text(f">a\n{'ACGT' * 75}\n")
    main(["predict", "-q", "--fasta", str(fasta), "-o", str(output)])
    assert output.read_text().startswith("sequence\tstart\tend\t")


WITH_GENOME = ("predict", "embed", "score-variants", "mutagenesis", "attribute")


@pytest.mark.parametrize("command", WITH_GENOME)
def test_genome_is_a_second_name_of_fasta(command, capsys):
    parser = parsers_of(command)[0]
    for name in ("--genome", "--fasta"):
        assert str(read_arguments(parser, [name, "a.fa"], is_partial=True)["fasta"]) == "a.fa"
    assert "--fasta PATH, --genome PATH" in help_of(parser)


def test_genome_is_a_second_name_in_a_file(tmp_path, capsys):
    file = tmp_path / "o.yaml"
    file.write_text(f"genome: {tmp_path / 'missing.fa'}\n")
    assert "missing.fa: no such file" in refused(f"predict --config {file}", capsys)


def test_no_other_command_has_the_second_name_genome():
    assert {name for name in COMMANDS if "genome" in COMMANDS[name].second_names} == set(
        WITH_GENOME
    )


@pytest.mark.parametrize(
    "value",
    [
        "1_0",
        "\u0661",
        "9" * 5000,
        "9" * 19,
        "[" * 100_000,
        "0x1F",
        "1:30",
        "-" * 100_000,
        "{a: &a [*a]}",
    ],
    ids=["underscore", "arabic", "digits", "19", "brackets", "hex", "minutes", "minus", "cycle"],
)
@pytest.mark.parametrize(
    "option", ["predict --batch_size", "marginalise --seed", "pretrain --training.learning_rate"]
)
def test_a_number_is_plain_decimal_digits(option, value, capsys):
    if value.isdecimal() and value.isascii() and "rate" in option:
        pytest.skip("it is a number with decimals")
    with pytest.raises(SystemExit, match=r"^2$"):
        main([*option.split()[:1], f"{option.split()[1]}={value}"])
    message = capsys.readouterr().err
    assert f"error: {option.split()[1]}: found" in message
    assert len(message) < 400


@pytest.mark.parametrize("value", ["1_0", "\u0661", "010_0", "9" * 5000, "2001-99-99", "0x1F"])
def test_a_number_in_a_config_file_is_plain_too(value, capsys, tmp_path):
    (tmp_path / "c.yaml").write_text(f"fasta: x.fa\nbatch_size: {value}\n", encoding="utf-8")
    message = refused(f"predict --config {tmp_path / 'c.yaml'}", capsys)
    assert message.startswith(f"{tmp_path / 'c.yaml'}:2: batch_size: found")


@pytest.mark.parametrize("value", ["007", "10"])
def test_a_plain_number_is_taken(value, capsys):
    assert "no-such.fa" in refused(f"predict --fasta no-such.fa --batch_size {value}", capsys)


def with_a_seed(name: str) -> bool:
    return "seed" in {each.dest for each in parsers_of(name)[0].options}


@pytest.mark.parametrize("name", [*every_command()])
def test_a_seed_is_not_negative(name):
    """In Python; the command line calls the same function."""
    if not with_a_seed(name):
        pytest.skip("nothing is drawn")
    with pytest.raises(InputError, match="seed -1"):
        build_parser(name)[1](seed=-1)


def test_a_negative_seed_is_refused_before_work(capsys, tmp_path):
    argv = f"documents --genome {tmp_path / 'x.fa'} --output {tmp_path / 'o.bed.gz'} --seed -1"
    assert refused(argv, capsys).startswith("--seed -1")


@pytest.mark.parametrize(
    "argv",
    [
        f"predict --fasta no-such.fa --labels {'A' * 100_000}",
        f"predict --fasta no-such.fa --labels {'[' * 100_000}",
        f"predict --fasta {'A' * 100_000}",
        f"predict --{'A' * 100_000}",
        f"{'A' * 100_000}",
        f"finetune --model {'[' * 100_000}",
        f"predict --strand {'A' * 100_000}",
    ],
    ids=["labels", "brackets", "fasta", "option", "command", "group", "choice"],
)
def test_a_long_value_is_not_printed_whole(argv, capsys):
    assert len(refused(argv, capsys)) < 1500


@pytest.mark.parametrize(
    "name", ["num_layers", "ffn_size", "num_heads", "hidden_size", "num_random"]
)
def test_a_size_of_a_model_is_bounded(name, capsys):
    assert name in refused(f"pretrain --model.{name} 1099511627776 --train x --validation x "
                           "--tokenizer x --output o --checkpoints c", capsys)  # fmt: skip
