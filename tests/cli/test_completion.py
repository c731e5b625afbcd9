"""`dna-bigbird completion`: asked in the way a shell asks when Tab is pressed."""

import contextlib
import shutil
import subprocess

import pytest

from dna_bigbird.cli.commands import COMMANDS, GROUPS
from dna_bigbird.cli.completion import plain_parser
from dna_bigbird.cli.main import main
from dna_bigbird.cli.option_types import GENERAL
from dna_bigbird.cli.parser import parsers_of

ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
function=$(complete -p dna-bigbird | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
"$function" 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "script.bash"
    with open(path, "w") as stream, contextlib.redirect_stdout(stream):
        main(["completion", "bash"])
    return path


@pytest.fixture
def press_tab(script, tmp_path):
    """Function (words) -> what bash offers for the last one, in a folder with a file and a folder."""
    (tmp_path / "regions.fa").touch()
    (tmp_path / "bundle").mkdir()

    def press(*words):
        asked = ["bash", "--norc", "-c", ASK, "bash", script, "dna-bigbird", *words]
        done = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=tmp_path)
        return done.stdout.split()

    return press


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pred"], ["predict"]),
        (["predict", "--str"], ["--stride", "--strand"]),
        (["predict", "--strand", "f"], ["forward"]),
        (["predict", "--strand", "both", "--float"], ["--float32_matmul"]),
        (["predict", "--fasta", "reg"], ["regions.fa"]),
        (["predict", "--model", "bun"], ["bundle"]),
        (["predict", "--mod"], ["--model"]),
        (["predict", "--model", "bundle", "bun"], ["bundle"]),
        (["predict", "--model", "bundle", "bundle", "--gen"], ["--genome"]),
        (["predict", "--gen"], ["--genome"]),
        (["predict", "--genome", "reg"], ["regions.fa"]),
        (["predict", "-o", "reg"], ["regions.fa"]),
        (["predict", "--verb"], ["--verbose"]),
        (["predict", "--quiet", "--mod"], ["--model"]),
        (["hel"], ["help"]),
        (["doctor", "--build_native", "--he"], ["--help", "--help_all"]),
        (["completion", "zs"], ["zsh"]),
        (["info", "bun"], ["bundle"]),
    ],
)
def test_bash_completes(press_tab, words, expected):
    assert press_tab(*words) == expected


def test_bash_offers_every_command(press_tab):
    assert set(press_tab("")) >= {*COMMANDS, *GROUPS}
    assert set(press_tab("text", "")) >= set(GROUPS["text"])


def test_every_option_of_every_command_is_there():
    commands = dict(choices(plain_parser()))
    groups = {group: choices(commands.pop(group)) for group in GROUPS}
    assert commands.pop("help")
    assert list(commands) == list(COMMANDS)
    for group, members in groups.items():
        assert list(members) == list(GROUPS[group])
        commands |= {f"{group} {name}": plain for name, plain in members.items()}
    for name, plain in commands.items():
        options = [each for parser in parsers_of(name) for each in (*parser.options, *GENERAL)]
        expected = {option.names or (option.dest,) for option in options}
        shown = {tuple(action.option_strings) or (action.dest,) for action in plain._actions}
        assert shown == expected, name


def choices(parser):
    return parser._subparsers._group_actions[0].choices


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_get_a_script(capsys, shell):
    main(["completion", shell])
    text = capsys.readouterr().out
    assert "predict" in text
    assert "bf16-mixed" in text or shell == "tcsh"


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
def test_zsh_accepts_its_script(capsys, tmp_path):
    main(["completion", "zsh"])
    path = tmp_path / "_dna-bigbird"
    path.write_text(capsys.readouterr().out)
    subprocess.run(["zsh", "-n", path], check=True)
