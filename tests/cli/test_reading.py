"""Options in files: all of them, those of one group, and what --print_config prints."""

from pathlib import Path

import pytest
import yaml

from dna_bigbird.cli.commands import every_command
from dna_bigbird.cli.main import main
from dna_bigbird.cli.parser import build_parser, parsers_of
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.core.errors import InputError


def read(command: str, *words: object) -> dict:
    parser, _ = build_parser(command)
    return read_arguments(parser, [str(word) for word in words], is_partial=True)


def printed(parser, capsys, *words: str) -> str:
    """Return what --print_config prints."""
    with pytest.raises(SystemExit, match=r"^0$"):
        read_arguments(parser, [*words, "--print_config"], is_partial=True)
    return capsys.readouterr().out


@pytest.mark.parametrize("name", list(every_command()))
def test_what_is_printed_is_read_as_the_same(name, tmp_path, capsys):
    path = tmp_path / "options.yaml"
    for parser in parsers_of(name):
        path.write_text(printed(parser, capsys))
        options = yaml.safe_load(path.read_text())
        assert set(options) >= {option.dest.partition(".")[0] for option in parser.options}
        expected = read_arguments(parser, [], is_partial=True)
        assert read_arguments(parser, ["--config", str(path)], is_partial=True) == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("skip_default", {"baselines": {"kmer": "k.h5"}, "batch_size": 3}),
        ("skip_default,skip_null", {"baselines": {"kmer": "k.h5"}, "batch_size": 3}),
        ("skip_unset", {"baselines": {"kmer": "k.h5"}, "batch_size": 3, "seed": 0, "threads": 0,
                        "replicates": 1000, "block_bp": 0}),
    ],
)  # fmt: skip
def test_what_print_config_leaves_out(flags, expected, capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        read("evaluate", "--baselines.kmer", "k.h5", f"--print-config={flags}", "--batch_size=3")
    assert yaml.safe_load(capsys.readouterr().out) == expected


def test_an_unknown_flag_of_print_config(capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        read("evaluate", "--print_config=all")
    assert "--print_config: found 'all', expected skip_default" in capsys.readouterr().err


def test_a_group_from_a_file_is_overridden_by_what_comes_after(tmp_path):
    (tmp_path / "r.yaml").write_text("num_layers: 3\netc: {radius: 4}\n")
    model = read("finetune", "--model", tmp_path / "r.yaml", "--model.etc.radius", 5)["model"]
    assert (model.num_layers, model.etc.radius, model.num_heads) == (3, 5, None)
    model = read("finetune", "--model.num_layers", 9, "--model", tmp_path / "r.yaml")["model"]
    assert model.num_layers == 3
    model = read("finetune", "--model.etc={radius: 6}", "--model={num_layers: 1}")["model"]
    assert (model.num_layers, model.etc.radius) == (1, 6)


def test_a_config_file_names_a_recipe_next_to_it(tmp_path, monkeypatch):
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "c.yaml").write_text("model: r.yaml\ntraining:\nlora.rank: 4\n")
    (tmp_path / "recipes" / "r.yaml").write_text("num_layers: 3\n")
    monkeypatch.chdir(tmp_path)
    arguments = read("finetune", "--config", "recipes/c.yaml")
    assert (arguments["model"].num_layers, arguments["lora"].rank) == (3, 4)
    assert arguments["training"] == read("finetune")["training"]


def test_files_add_up_and_the_command_line_overrides_them(tmp_path):
    (tmp_path / "a.yaml").write_text("seed: 1\nlora: {rank: 4, alpha: 2}\n")
    (tmp_path / "b.yaml").write_text("lora: {rank: 5}\ndata: d.h5\n")
    words = ["--seed", 7, "--config", tmp_path / "a.yaml", f"--config={tmp_path / 'b.yaml'}"]
    arguments = read("finetune", *words)
    lora = arguments["lora"]
    assert (arguments["seed"], lora.rank, lora.alpha, arguments["data"]) == (
        7,
        5,
        2.0,
        Path("d.h5"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_steps: 3\nmax_stps: 3\n", "r.yaml:2: unknown option 'training.max_stps'"),
        ("\n\nmax_steps: many\n", "r.yaml:3: training.max_steps: found 'many'"),
    ],
)
def test_a_wrong_option_in_the_file_of_a_group(text, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("r.yaml").write_text(text)
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["finetune", "--training", "r.yaml"])
    assert f"error: {message}" in capsys.readouterr().err


def test_a_file_of_a_group_that_is_not_yaml(tmp_path):
    (tmp_path / "r.yaml").write_text("a: [\n")
    with pytest.raises(InputError, match=r"r\.yaml:2: not YAML"):
        read("finetune", "--training", tmp_path / "r.yaml")


def test_a_mapping_grows_by_single_names(tmp_path):
    (tmp_path / "c.yaml").write_text("baselines: {kmer: k.h5}\nbaselines.gc: g.h5\n")
    words = ["--config", tmp_path / "c.yaml", "--baselines.x", "y.h5"]
    names = {"kmer": Path("k.h5"), "gc": Path("g.h5"), "x": Path("y.h5")}
    assert read("evaluate", *words)["baselines"] == names
    assert read("evaluate", *words, "--baselines", "a=b")["baselines"] == {"a": Path("b")}


@pytest.mark.parametrize("text", ["batch_size:\n", "batch_size: ~\n"])
def test_nothing_is_not_a_number(text, tmp_path, capsys):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(SystemExit, match=r"^2$"):
        read("predict", "--config", tmp_path / "c.yaml")
    assert "c.yaml:1: batch_size: found 'None'" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["inf", "nan", "1e999"])
def test_only_yaml_spells_what_is_not_finite(word, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        read("finetune", "--training.learning_rate", word)
    assert f"--training.learning_rate: found '{word}'" in capsys.readouterr().err


def test_settings_of_a_group_have_second_names():
    """Word counts are k-mers; the key of the config stays `words`."""
    expected = read("finetune", "--words.max_k", "4", "--words.centre_bp=400")
    assert read("finetune", "--kmers.max_k", "4", "--kmers.centre_bp=400") == expected
    assert expected["words"].max_k == 4
