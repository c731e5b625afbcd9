"""The examples in the help texts: every command has some, all are accepted, and they fit together."""

import functools
from pathlib import Path

import pytest

from dna_bigbird.cli import main as main_module
from dna_bigbird.cli.commands import every_command, find_command
from dna_bigbird.cli.main import main
from dna_bigbird.cli.parser import build_parser, parsers_of
from dna_bigbird.core.paths import WRITTEN, paths_of
from tests.cli.examples import Example, all_examples, lines_of

LONGEST_LINE = 120
USERS_OWN = {
    "hg38_to_hg19_chain", "hg19.fa.gz", "hg38ToHg19.over.chain.gz", "peaks.tsv", "genes.gtf", "regions.fa",
    "bases", "seed0.report/scores.h5", "seed1.report/scores.h5",
    "regions.bed", "variants.vcf.gz", "promoters_hg38.bed", "tata_promoters.txt.gz",
    "deepsea_train", "data_specs/deepsea_919_peaks.tsv", "bigbird-roberta-base", "roberta-base", "bart-base",
    "train.csv", "dev.csv", "test.csv", "enhancer.fa", "promoter.fa", "files", "ctcf.bw", "h3k4me3.bedGraph.gz",
    "rep2/ctcf.bw", "rep2/h3k4me3.bw", "corpus.txt", "text8", "held_out.txt", "aclImdb_v1.tar.gz", "DATA", "motifs.meme",
}  # fmt: skip
"""Files and folders in the examples that a user has; other commands write the others."""
WORKFLOW = {"results/experiments", "results/promoter", "results/heads", "results/text", "config"}
"""Folders of the workflow."""
EXAMPLES = all_examples()


@pytest.mark.parametrize("name", list(every_command()))
def test_every_help_text_has_examples(name):
    for parser in parsers_of(name):
        lines = [line for line in lines_of(parser.epilog) if "dna-bigbird" in line]
        assert 1 <= len(lines) <= 4
        assert max(map(len, parser.epilog.splitlines())) <= LONGEST_LINE


@pytest.fixture
def arguments(monkeypatch, tmp_path):
    """Function (example) -> the function of its command and the arguments that it would get."""
    calls = []

    def recorded(name, argv):
        parser, function = build_parser(name, argv)

        @functools.wraps(function)
        def record(**arguments):
            calls.append((function, arguments))

        return parser, record

    def read(example: Example):
        calls.clear()
        main(example.words)
        (call,) = calls
        return call

    monkeypatch.setattr(main_module, "build_parser", recorded)
    monkeypatch.chdir(tmp_path)
    return read


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_an_example_is_accepted(example, arguments):
    assert example.called == example.command
    arguments(example)
    aliases = {f"--{old}" for old in find_command(example.command).aliases}
    assert aliases.isdisjoint(example.words)


def test_a_wrong_example_would_be_refused(arguments):
    with pytest.raises(SystemExit, match="2"):
        arguments(Example("info", "dna-bigbird info --labelz x"))


def test_every_file_of_the_examples_comes_from_somewhere(arguments):
    """Names agree between commands: what one reads is the user's own or another one writes it."""
    read, written = {}, set()
    for example in EXAMPLES:
        function, values = arguments(example)
        for path in paths_of(function, values):
            if path.role in WRITTEN and path.name != "folder":
                written.add(str(path.path))
            elif path.role not in WRITTEN:
                read[str(path.path)] = example.line
    missing = {
        path: line
        for path, line in read.items()
        if path not in USERS_OWN and path != "results" and not is_in(path, written | WORKFLOW)
    }
    assert missing == {}
    assert USERS_OWN - set(read) == set(), "no example reads them"


def is_in(path: str, written: set[str]) -> bool:
    """Return True if a path is one of those written, or in a folder that is."""
    return any(str(parent) in written for parent in [Path(path), *Path(path).parents])
