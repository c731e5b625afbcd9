"""Pages with code: their blocks run in order, and give the outputs and pictures that the pages show."""

import importlib.util
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.bundles.weights import build_model
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.demo import grammar

DOCS = Path(__file__).parents[1] / "docs"
LABELS = [label.name for label in grammar.LABELS]


def load_runner():
    spec = importlib.util.spec_from_file_location("run_page", DOCS / "run_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save_small_model(folder):
    """A bundle with the demo's labels whose weights are drawn; long tokens, so that it is quick."""
    letters = np.random.default_rng(0).choice(list("ACGT"), 20_000)
    trained = train_tokenizer(["".join(letters)], TokenizerConfig(vocab_size=1000))
    config = {
        "task": "chromatin",
        "encoder": {
            "vocab_size": 1000, "hidden_size": 16, "num_layers": 1, "num_heads": 1, "ffn_size": 16,
            "max_tokens": 512, "block_size": 16, "num_random": 1, "init_std": 0.5,
        },
        "head": {"pooling": "mean"},
        "label_names": LABELS,
        "label_groups": ["none"] * len(LABELS),
        "window_bp": 1000,
        "assembly": "none",
        "semi_synthetic": True,
    }  # fmt: skip
    save_bundle(
        folder,
        model=build_model(config),
        config=config,
        tokenizer=DnaTokenizer.from_bytes(trained),
        metrics={},
        card="",
    )


def test_from_fasta_to_picture(tmp_path, monkeypatch):
    page = DOCS / "tutorials/from-fasta-to-picture.md"
    monkeypatch.chdir(tmp_path)
    save_small_model(Path("results/models/chromatin"))
    left, _ = load_runner().run(page)
    plt.close("all")
    shown = re.findall(r"\]\(\.\./images/(.*?\.png)\)", page.read_text())
    assert len(shown) == 4
    for name in shown:
        assert Path(name).read_bytes().startswith(b"\x89PNG"), name
        assert (DOCS / "images" / name).is_file()
    assert left["predicted"].probabilities.shape == (237, len(LABELS))
    assert left["vectors"].shape == (237, 16)
    assert np.isfinite(left["change"]).all()
    assert left["around"].reference[30] == left["rows"][left["worst"]][3]


def test_python(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    left, _ = load_runner().run(DOCS / "reference/python.md")
    plt.close("all")
    assert left["frame"].columns.tolist() == ["sequence", "start", "end", "promoter"]
    assert left["frame"]["sequence"].tolist() == ["sequence_1", "sequence_2"]
    assert left["promoters"].to_dataframe()["promoter"].isin([0, 1]).all()
    held_out = left["promoters"].to_dataframe()["split"] != "train"
    assert left["scores"].to_dataframe()["row"].tolist() == held_out[held_out].index.tolist()


def test_a_shell_block_calls_nothing_else(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\nrm -r demo\n```\n")
    with pytest.raises(AssertionError, match="rm -r demo"):
        load_runner().run(page)


SLOW = ("benchmark-a-model", "bring-a-species", "pretrain-on-a-cluster")
TUTORIALS = sorted(x for x in DOCS.rglob("*.md") if "\n```output\n" in x.read_text())


@pytest.mark.parametrize(
    "page",
    [pytest.param(x, marks=[pytest.mark.slow] * (x.stem in SLOW), id=x.stem) for x in TUTORIALS],
)
def test_tutorials_show_what_their_blocks_give(page, tmp_path, monkeypatch):
    for package in ("pandas", "snakemake"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    runner = load_runner()
    _, outputs = runner.run(page)
    plt.close("all")
    assert len(outputs) >= 4
    assert runner.stale(page, outputs) == []


PAGE = """```yaml
# settings/a.yaml
x: 1
```
```sh
cat settings/a.yaml
printf 'AUROC 0.91, n = 3, 12 s\\n' > b.txt
```
```output
{yaml}
x: 1
```
```python
import sys
print("one\\ntwo\\nthree", file=sys.stderr)
```
```output
{lines}
```
"""


@pytest.mark.parametrize(
    ("yaml", "lines", "wrong"),
    [
        ("# settings/a.yaml", "one\ntwo\nthree", 0),
        ("# settings/a.yaml", "...\nthree", 0),
        ("# settings/a.yaml", "one\n...", 0),
        ("# settings/a.yaml", "one\ntwo", 1),
        ("# settings/b.yaml", "two\n...", 2),
    ],
)
def test_outputs_of_a_page_are_compared(tmp_path, monkeypatch, yaml, lines, wrong):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(yaml=yaml, lines=lines))
    runner = load_runner()
    _, outputs = runner.run(page)
    assert len(runner.stale(page, outputs)) == wrong
    runner.update(page, outputs)
    assert runner.stale(page, outputs) == []
    assert Path("b.txt").read_text() == "AUROC 0.91, n = 3, 12 s\n"


@pytest.mark.parametrize(
    ("shown", "now", "expected"),
    [
        ("AUROC 0.91 [0.88, 0.95]", "AUROC 0.92 [0.87, 0.95]", True),
        ("AUROC 0.91", "AUROC 0.81", False),
        ("AUROC 0.91", "AUPRC 0.91", False),
        ("1,024 rows in 3 s", "1,024 rows in 21.5 s", True),
        ("1,024 rows", "1,025 rows", False),
        ("change -2.1", "change 2.1", False),
        ("two", "two three", False),
    ],
)
def test_close_outputs(shown, now, expected):
    assert load_runner().is_close(shown, now) is expected


def test_another_picture_is_seen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "docs/room/page.md"
    page.parent.mkdir(parents=True)
    page.write_text("![A](../images/a.png) ![B](../images/b.png)\n")
    (tmp_path / "docs/images").mkdir()
    plt.imsave("a.png", np.zeros((20, 20)), cmap="grey", vmin=0, vmax=1)
    plt.imsave("b.png", np.ones((20, 20)), cmap="grey", vmin=0, vmax=1)
    runner = load_runner()
    assert runner.stale(page, []) == [f"images/{x}.png is another picture now" for x in "ab"]
    runner.update(page, [])
    assert runner.stale(page, []) == []
    plt.imsave("b.png", np.zeros((20, 20)), cmap="grey", vmin=0, vmax=1)
    assert runner.stale(page, []) == ["images/b.png is another picture now"]
