"""`dna-bigbird plot-attention`: text, pictures, bundles, and what it refuses."""

import json
import subprocess
import sys

import matplotlib.image
import numpy as np
import pytest

from dna_bigbird.attention.patterns import bigbird_itc
from dna_bigbird.cli.main import main

LEGEND = "g global, w window, r random, . not read, a digit: counted so often"
ENCODER = {
    "vocab_size": 50, "hidden_size": 16, "num_layers": 3, "num_heads": 2, "ffn_size": 24,
    "max_tokens": 100, "block_size": 8, "num_random": 1, "pattern_seed": 4, "window_blocks": 5,
    "global_blocks": "first_two",
}  # fmt: skip


def plot(line, capsys):
    capsys.readouterr()
    main(["plot-attention", *line.split()])
    return capsys.readouterr().out


def refused(line, capsys):
    """Run a command that must fail as a user error; return its one line."""
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        main(["plot-attention", *line.split()])
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


@pytest.fixture
def bundle(tmp_path):
    """Only the settings are read: a pattern needs no weights."""
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"task": "pretraining", "encoder": ENCODER}))
    return folder


def as_times(text):
    """Read a drawing back: how often each block is counted."""
    rows = [[int(x) if x.isdigit() else int(x != ".") for x in row] for row in text.splitlines()]
    return np.array(rows)


def test_text_by_hand(capsys):
    text = plot("--num-blocks 6 --num-random 0", capsys)
    assert text.splitlines() == [
        LEGEND,
        "",
        "uniform, layer 0, head 0",
        "gggggg",
        "gww..g",
        "gwww.g",
        "g.wwwg",
        "g..wwg",
        "gggggg",
    ]


def test_window_and_globals_by_hand(capsys):
    text = plot("--num_blocks 6 --num_random 0 --window_blocks 5 --global_blocks first_two", capsys)
    assert text.splitlines()[3:] == ["gggggg", "gggggg", "ggwww.", "ggwwww", "ggwwww", "gg.www"]
    text = plot("--num_blocks 4 --num_random 0 --window_blocks 1 --global_blocks none", capsys)
    assert text.splitlines()[3:] == ["w...", ".w..", "..w.", "...w"]


def test_etc_by_hand(capsys):
    """A global token per paragraph and sentence; hard g2l; the band ends between paragraphs."""
    options = "--etc.radius 1 --etc.long_tokens 6 --etc.sentences 1 --etc.hard_g2l true"
    assert plot(f"--pattern etc {options}", capsys).splitlines()[1:] == [
        "",
        "etc, 2 paragraphs, 1 sentences each",
        "ggppbbb...",
        "ggppbbb...",
        "ppgg...bbb",
        "ppgg...bbb",
        "bbooww....",
        "bboowww...",
        "bboo.ww...",
        "oobb...ww.",
        "oobb...www",
        "oobb....ww",
    ]


def test_etc_picture_has_every_colour(tmp_path, capsys):
    plot(f"--pattern etc --output {tmp_path / 'a.png'}", capsys)
    pixels = (matplotlib.image.imread(tmp_path / "a.png")[..., :3] * 255).round().astype(int)
    for colour in ((0, 114, 178), (86, 180, 233), (213, 94, 0), (34, 39, 43), (156, 90, 138)):
        assert (pixels == colour).all(axis=2).mean() > 0.005


def test_longformer_by_hand(capsys):
    """A window of one token on either side, every second token, and one global token."""
    options = "--longformer.window_tokens 1 --longformer.dilation 2 --longformer.sequence_tokens 6"
    assert plot(f"--pattern longformer {options} --longformer.global_at 3", capsys).splitlines()[
        1:
    ] == [
        "",
        "longformer, window of 1 on either side, dilation 2",
        "w.wg..",
        ".w.g..",
        "w.wgw.",
        "gggggg",
        "..wgw.",
        "...g.w",
    ]
    rows = plot(f"--pattern longformer {options} --longformer.is_causal true", capsys).splitlines()[
        3:
    ]
    assert rows == ["g.....", "gw....", "g.w...", "gw.w..", "g.w.w.", "g..w.w"]


def test_longformer_picture_has_every_colour(tmp_path, capsys):
    plot(f"--pattern longformer --output {tmp_path / 'a.png'}", capsys)
    pixels = (matplotlib.image.imread(tmp_path / "a.png")[..., :3] * 255).round().astype(int)
    for colour in ((0, 114, 178), (86, 180, 233)):
        assert (pixels == colour).all(axis=2).mean() > 0.005


def test_a_short_sequence_is_covered_and_full_attention_is_global(capsys):
    rows = plot("--num_blocks 5 --num_random 1", capsys).splitlines()[3:]
    assert rows == ["ggggg", "gwwrg", "gwwwg", "grwwg", "ggggg"]
    rows = plot("--num_blocks 7 --random_plan original", capsys).splitlines()[3:]
    assert rows == ["ggggggg"] * 7


def test_a_published_plan_with_the_first_two_blocks_global(capsys):
    """Layer 2: rows 3 and 4 drew block 1, which is global; row 7, the last, draws block 5."""
    options = "--num_blocks 8 --num_random 1 --num_heads 1 --layers 2 --random_plan original"
    rows = plot(f"{options} --global_blocks first_two", capsys).splitlines()[3:]
    assert rows[2:] == ["ggww.r..", "ggwww...", "gg.www..", "gg.rwww.", "ggr..www", "gg...rww"]


def test_several_plans_layers_and_heads_are_those_of_the_model(capsys):
    text = plot(
        "--tokens 1000 --random_plan [uniform,original] --layers [1,2] --heads [0,3] --num_heads 4 "
        "--pattern_seed 7",
        capsys,
    )
    drawings = iter(text.split("\n\n")[1:])
    for plan in ("uniform", "original"):
        for layer in (1, 2):
            seed = 7 * 1000 + layer if plan == "uniform" else layer
            times = bigbird_itc(16, 64, 3, 4, plan, seed).times()
            for head in (0, 3):
                title, drawing = next(drawings).split("\n", 1)
                assert title == f"{plan}, layer {layer}, head {head}"
                assert np.array_equal(as_times(drawing), times[head])
    assert next(drawings, None) is None


@pytest.mark.parametrize("training", ["true", "false"])
def test_huggingface_in_training_and_evaluation(training, capsys):
    text = plot(f"--tokens 1536 --random_plan huggingface --in_training {training}", capsys)
    _, title, *rows = (line for line in text.splitlines() if line)
    expected = bigbird_itc(24, 64, 3, 12, "huggingface", 0, training=training == "true").times()
    assert np.array_equal(as_times("\n".join(rows)), expected[0])
    assert ("in training" in title) == (training == "true")


def test_a_bundle_has_its_own_settings(bundle, capsys):
    text = plot(f"--model {bundle} --layers 2 --heads 1", capsys)
    options = {"window_blocks": 5, "global_blocks": "first_two"}
    expected = bigbird_itc(13, 8, 1, 2, "uniform", 4002, **options).times()
    assert np.array_equal(as_times("\n".join(text.splitlines()[3:])), expected[1])
    assert len(plot(f"--model {bundle} --tokens 30", capsys).splitlines()) == 3 + 4


def test_a_bundle_with_full_attention(bundle, capsys):
    config = {"task": "pretraining", "encoder": ENCODER | {"attention": "full"}}
    (bundle / "config.json").write_text(json.dumps(config))
    lines = plot(f"--model {bundle}", capsys).splitlines()
    assert lines[2] == "full attention, layer 0, head 0"
    assert lines[3:] == ["g" * 13] * 13


@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")]
)
def test_pictures(name, start, tmp_path, capsys):
    line = f"--num_blocks 20 --heads [0,1] --output {tmp_path / 'new' / name}"
    assert plot(line, capsys) == ""
    first = (tmp_path / "new" / name).read_bytes()
    assert first.startswith(start)
    plot(line, capsys)
    assert (tmp_path / "new" / name).read_bytes() == first  # equal settings, equal bytes
    assert [p.name for p in (tmp_path / "new").iterdir()] == [name]


def test_a_picture_shows_every_reason_in_its_colour(tmp_path, capsys):
    """Blue, sky blue, vermilion and dark, and the last only where a block is counted again."""

    def shares(options):
        plot(f"--output {tmp_path / 'a.png'} --num_blocks 16 {options}", capsys)
        pixels = (matplotlib.image.imread(tmp_path / "a.png")[..., :3] * 255).round().astype(int)
        colours = {"g": (0, 114, 178), "w": (86, 180, 233), "r": (213, 94, 0), "2": (34, 39, 43)}
        return {k: (pixels == c).all(axis=2).mean() for k, c in colours.items()}

    uniform, original = shares("--random_plan uniform"), shares("--random_plan original")
    squares = {"g": 60, "w": 40, "r": 42}  # 16 x 16 blocks, counted by hand
    for letter, count in squares.items():
        assert uniform[letter] / uniform["g"] == pytest.approx(count / 60, rel=0.05)
    # Letters are dark, too; the rest are two squares (specification §1.2) and the legend's.
    assert original["2"] - uniform["2"] > 0.9 * 2 / 60 * uniform["g"]


def test_pictures_need_no_display_and_text_no_matplotlib():
    code = (
        "import sys; from dna_bigbird.cli.main import main; "
        "main(['plot-attention', '--num_blocks', '6']); print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--output pattern.jpg", "--output pattern.jpg: the name of a picture ends in .png, .svg"),
        ("--tokens 100 --num_blocks 3", "--tokens and --num_blocks say the same"),
        ("--tokens 0", "--tokens 0: expected at least 1"),
        ("--num_blocks 0", "--num_blocks 0: expected at least 1"),
        ("--heads 12", "--heads 12: the model has heads 0 to 11"),
        ("--layers -1", "--layers -1"),
        ("--window_blocks 4", "--window_blocks 4 must be 0 or odd"),
        ("--num_heads 0", "--num_heads 0"),
        ("--num_heads 1099511627776", "--num_heads 1099511627776: expected at most"),
        (
            "--random_plan original --window_blocks 5",
            "--random_plan original has --window_blocks 3",
        ),
        ("--tokens 200000", "200000 tokens are 3125 blocks; a drawing shows at most 2048"),
        ("--max_tokens 512 --tokens 600", "--tokens 600: the model reads at most 512"),
        ("--max_tokens 512 --num_blocks 9", "--num_blocks 9: the model reads at most 8"),
        ("--heads [0,1,2,3,4,5,6,7,8] --layers [0,1]", "18 drawings (plans, layers and heads)"),
        ("--heads []", "0 drawings"),
        ("--model none", "none: no such model bundle"),
        ("--pattern etc --block_size 32", "--pattern etc has no --block_size: leave it out"),
        ("--pattern etc --layers 3", "--pattern etc has no --layers: leave it out"),
        ("--pattern etc --heads 2 4", "--pattern etc has no --heads: leave it out"),
        ("--pattern etc --in_training true", "--pattern etc has no --in_training: leave it out"),
        ("--num_blocks 8 --etc.radius 4", "--etc belongs to --pattern etc: add it"),
        ("--pattern longformer --tokens 40", "--pattern longformer has no --tokens: leave it out"),
        ("--longformer.dilation 2", "--longformer belongs to --pattern longformer: add it"),
        ("--pattern etc --longformer.dilation 2", "--longformer belongs to --pattern longformer"),
        (
            "--pattern longformer --longformer.dilation 0",
            "--longformer: dilations must be numbers of",
        ),
        (
            "--pattern longformer --longformer.global_at 3 32",
            "global_at 3 32: expected positions from 0",
        ),
        (
            "--pattern longformer --longformer.sequence_tokens 0",
            "--longformer.sequence_tokens 0",
        ),
        ("--pattern etc --tokens 40", "--pattern etc has no --tokens: leave it out"),
        (
            "--pattern etc --etc.long_tokens 3",
            "--etc.long_tokens 3: expected at least 4",
        ),
        ("--pattern etc --etc.radius 0", "--etc: radius 0 and max_distance 1 must be at least 1"),
        ("--pattern etc --etc.sentences 0", "--etc.sentences 0"),
        ("--random_plan original --num_random 14", "13 blocks to choose from in block row 1"),
    ],
)
def test_what_is_refused(line, message, capsys):
    assert message in refused(line, capsys)


def test_what_is_refused_with_a_bundle(bundle, capsys):
    assert "--model has its own --num_random" in refused(f"--model {bundle} --num_random 2", capsys)
    assert "has layers 0 to 2" in refused(f"--model {bundle} --layers 3", capsys)
    assert "--tokens 101: the model reads at most 100" in refused(
        f"--model {bundle} --tokens 101", capsys
    )
    (bundle / "config.json").write_text('{"task": "pretraining"}')
    assert (
        "config.json: it describes no model: encoder: expected an object, found NoneType"
        in refused(f"--model {bundle}", capsys)
    )


def test_a_refused_picture_leaves_the_old_one(tmp_path, capsys):
    (tmp_path / "a.png").write_bytes(b"old")
    refused(f"--output {tmp_path / 'a.png'} --heads 99", capsys)
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]
    assert (tmp_path / "a.png").read_bytes() == b"old"
