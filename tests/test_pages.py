"""Pages with code: their blocks run in order, and make the pictures that they show."""

import importlib.util
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dna_bigbird.bundles.network import build_model
from dna_bigbird.bundles.save import save_bundle
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
    page = DOCS / "from-fasta-to-picture.md"
    monkeypatch.chdir(tmp_path)
    save_small_model(Path("results/models/chromatin"))
    left = load_runner().run(page)
    plt.close("all")
    shown = re.findall(r"\]\(images/(.*?\.png)\)", page.read_text())
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
    left = load_runner().run(DOCS / "python.md")
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
