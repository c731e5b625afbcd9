"""Options of several values: as words, with commas, repeated, as JSON, and in a YAML file."""

from pathlib import Path

import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.cli.parser import build_parser
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.cli.several_values import options_used, split_items


def read(command: str, *words: str, option: str) -> object:
    """Return the value of one option after all the words of a command are read."""
    parser, _ = build_parser(command, words)
    return read_arguments(parser, list(words), is_partial=True)[option]


FORMS = {
    "words": ["--inputs", "a.fa", "b.fa"],
    "commas": ["--inputs", "a.fa,b.fa"],
    "commas and blanks": ["--inputs", "a.fa,", "b.fa"],
    "repeated": ["--inputs", "a.fa", "--inputs=b.fa"],
    "JSON": ["--inputs", '["a.fa", "b.fa"]'],
    "YAML": ["--inputs", "[a.fa, b.fa]"],
    "JSON and a word": ["--inputs", "[a.fa]", "b.fa"],
    "another option between": ["--inputs", "a.fa", "--assembly", "x", "--inputs", "b.fa"],
    "the beginning of the name": ["--inp", "a.fa", "b.fa"],
}


@pytest.mark.parametrize("words", FORMS.values(), ids=FORMS)
def test_every_form_of_several_values(words):
    words = ["--output", "o", *words]
    assert read("genome", *words, option="inputs") == [Path("a.fa"), Path("b.fa")]


@pytest.mark.parametrize(
    ("command", "words", "option", "expected"),
    [
        ("genome", ["--inputs", "a.fa"], "inputs", [Path("a.fa")]),
        ("ensemble", ["--models", "a", "b"], "models", [Path("a"), Path("b")]),
        ("predict", ["--model", "a"], "model", Path("a")),
        ("predict", ["--model", "A", "B"], "model", [Path("A"), Path("B")]),
        ("predict", ["--model", "A", "--model", "B"], "model", [Path("A"), Path("B")]),
        ("predict", ["--labels", "K562*,*CTCF*"], "labels", "K562*,*CTCF*"),
        ("predict", ["--labels", "K562*", "*CTCF*"], "labels", ["K562*", "*CTCF*"]),
        ("predict", ["--labels", "[GK]*"], "labels", "[GK]*"),
        ("predict", ["--labels", "[GK]*", "x"], "labels", ["[GK]*", "x"]),
        ("documents", ["--regions", "chr1"], "regions", ["chr1"]),
        ("documents", ["--regions", "[]"], "regions", []),
        ("documents", ["--regions", "[22, X]"], "regions", [22, "X"]),
        ("rank-variants", ["--regions", "1,100"], "regions", ["1", "100"]),
        ("promoter-set", ["--avoid", "a.bed"], "avoid", "a.bed"),
        ("promoter-set", ["--avoid", "a.bed,b.bed"], "avoid", ["a.bed", "b.bed"]),
        ("plot-attention", ["--layers", "3"], "layers", 3),
        ("plot-attention", ["--layers", "0", "1"], "layers", [0, 1]),
        ("plot-attention", ["--random-plan", "uniform", "original"], "random_plan",
         ["uniform", "original"]),
        ("evaluate", ["--baselines", "kmer=kmer.h5", "gc=gc.h5"], "baselines",
         {"kmer": Path("kmer.h5"), "gc": Path("gc.h5")}),
        ("evaluate", ["--baselines", "kmer=k.h5,gc=g.h5"], "baselines",
         {"kmer": Path("k.h5"), "gc": Path("g.h5")}),
        ("evaluate", ["--baselines", "kmer=k.h5", "--baselines", '{"gc": "g.h5"}'], "baselines",
         {"kmer": Path("k.h5"), "gc": Path("g.h5")}),
        ("evaluate", ['--baselines={"gc": "g.h5"}'], "baselines", {"gc": Path("g.h5")}),
        ("evaluate", ["--baselines", "a=x=y.h5"], "baselines", {"a": Path("x=y.h5")}),
    ],
)  # fmt: skip
def test_what_an_option_gets(command, words, option, expected):
    assert read(command, *words, option=option) == expected


@pytest.mark.parametrize("command", ["promoter-set", "chromatin-set"])
def test_regions_may_have_thousands_commas(command):
    words = ["--split.test", "chr1", "chr2:1-500,000", "chr22:19,500,001-20,000,000,chr3"]
    split = read(command, *words, "--split.validation", "chr4,5", option="split")
    assert split.test == ["chr1", "chr2:1-500,000", "chr22:19,500,001-20,000,000", "chr3"]
    assert split.validation == ["chr4", "5"]


@pytest.mark.parametrize(
    ("word", "items"),
    [
        ("chr1:1-1000,200", ["chr1:1-1000", "200"]),  # 1000,200 is no number
        ("chr1:1-500,000,1,000", ["chr1:1-500,000", "1", "000"]),
        ("HLA-A*01:01:01:01,chr1", ["HLA-A*01:01:01:01", "chr1"]),
        ("a,,b,", ["a", "b"]),
        ("a b,c", ["a b", "c"]),
    ],
)
def test_where_a_word_is_split(word, items):
    assert split_items(word) == items


def test_a_file_whose_name_contains_a_comma(tmp_path):
    path = tmp_path / "a,b.fa"
    assert read("genome", "--inputs", str(path), option="inputs") == [tmp_path / "a", Path("b.fa")]
    path.touch()
    assert read("genome", "--inputs", str(path), "c.fa", option="inputs") == [path, Path("c.fa")]


@pytest.mark.parametrize("name", ["caf\xe9", "\U0001f600", "tab\t", 'quo"te', "-x"])
def test_unusual_characters_stay(name):
    assert read("genome", f"--inputs={name}", "b", option="inputs") == [Path(name), Path("b")]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("predict --fasta a.fa b.fa", "--fasta takes one value, found 2: a.fa b.fa"),
        ("predict --window=100 200 --fasta a", "--window takes one value, found 2: 100 200"),
        ("evaluate --baselines kmer.h5", "--baselines: found 'kmer.h5', expected NAME=VALUE"),
        ("evaluate --baselines a=x a=y", "--baselines: a is given twice"),
        ("evaluate --baselines a=", "--baselines: found 'a=', expected NAME=VALUE"),
    ],
)
def test_one_value_too_many(argv, message, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        main(argv.split())
    error = capsys.readouterr().err
    assert error.startswith(f"dna-bigbird: error: {message}")
    assert error.count("\n") == 1


def test_words_belong_to_the_option_before_them_or_to_none():
    parser, _ = build_parser("info")
    words = ["--format", "json", "bundle", "--verify", "true"]
    uses = options_used(words, parser.every_option)
    found = {each.option.dest: each.words for each in uses}
    assert found == {"path": ["bundle"], "format": ["json"], "verify": ["true"]}


def test_a_switch_before_an_argument_without_a_name():
    words = ["--verify", "bundle"]
    assert read("info", *words, option="path") == Path("bundle")
    assert read("info", *words, option="verify") is True


def test_list_options_of_every_command_are_recognised():
    parser, _ = build_parser("compare-heads")
    several = {option.dest for option in parser.options if option.item_type}
    assert several == {"runs", "data", "labels"}
