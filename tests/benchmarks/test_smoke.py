"""Every benchmark runs at a tiny size; what it measures is checked where it is made."""

import functools
import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.lib import memory, timing
from benchmarks.speed import __main__ as runner
from dna_bigbird.attention.kernels.native.build import SOURCE
from dna_bigbird.baselines import ngram_table
from dna_bigbird.corpus import token_store_writer
from tests.attention.native.marks import needs_kernel
from tests.text_vocabulary import tiny_text_tokenizer
from tests.toy_corpus import make_corpus

TINY = {
    "hidden_size": 16, "num_layers": 2, "num_heads": 2, "ffn_size": 32, "block_size": 16, "num_random": 1,
}  # fmt: skip
RUNS = {
    "attention": "--lengths 64,192 --heads 2 --head_dim 4 --block_size 16 --at_least_ms 1 --no_memory --peers dense "
    "--backends auto,gather",
    "beam_search": "--sizes small --sources 48 --targets 5 --batch 2",
    "chromatin": "--labels 12 --peaks 300 400 --scale 0.001 --window 1000 --folder .",
    "corpus": "--mbp 0.4 --vocab_size 100 --learn_sentences 200 --documents_per_part 2 --parts 6 --batches 2 --rounds 1 "
    "--no_memory",
    "encoder": "--size tiny --lengths 192 --block_size 16 --variants ours/bfloat16,full/float32",
    "encoder_settings": "--tokens 64",
    "etc": "--lengths 48,96 --heads 2 --head_dim 4 --radius 8 --max_distance 3 --global_tokens 3 --dense_limit 48 "
    "--peer_limit 48 --no_memory",
    "examples": "--corpus corpus --max_tokens 128",
    "finetuning": "--sizes small --tokens 48 --labels 3",
    "gkm": "--rows 40 --bp 60 --word_length 6 --informative 4",
    "kernels": f"{SOURCE} --lengths 48",
    "longformer": "--lengths 48,100 --heads 4 --head_dim 4 --window 4 --global_tokens 3 --dense_limit 48 "
    "--peer_limit 100 --no_memory",
    "metrics": "--labels 9 --rows 4000 --draws 5",
    "ngrams": "--tokens 30000",
    "optimizers": "--sizes demo --rounds 1 --precision 32-true",
    "performer": "--lengths 48,100 --heads 2 --head_dim 4 --full_limit 48 --peer_limit 48 --no_memory",
    "predicting": "--sizes small --bp 900 --windows 3 --labels 3 --no_memory",
    "step_memory": "--estimate",
    "text": "--sizes small --tokens 48 --labels 3 --batch_tokens 48",
    "text_store": "--tokenizer spiece.model --pages 0 3 --folder .",
    "verifying": "--gb 0.004 --rounds 1",
    "waiting": "--threads 1 --rounds 2 --repeats 1 --neighbours 0 --work score --policies spin,passive",
}
"""Options of each benchmark; those without sizes to choose only show their help."""
NEED_LIBRARY = {"beam_search", "finetuning", "predicting", "text"}


@pytest.fixture
def tiny(script, monkeypatch, tmp_path):
    """A function that makes models and data of a benchmark small."""
    monkeypatch.setenv("PYTHONPATH", str(runner.HERE.parents[1]))  # for child processes
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(memory, "limit", lambda num_bytes: None)
    few_rounds = functools.partial(monkeypatch.setattr, timing, "MIN_ROUNDS", 1)

    def sizes(name: str, **own) -> None:
        module = script(name)
        monkeypatch.setitem(module.SIZES, "small", replace(module.SIZES["small"], **TINY, **own))

    def make(name: str) -> None:
        if name in ("corpus", "optimizers", "verifying"):
            few_rounds()
        if name == "beam_search":
            sizes(name, vocab_size=200, max_tokens=256, init_std=0.3)
        elif name in ("finetuning", "text"):
            sizes(name, vocab_size=40, max_tokens=256)
        elif name == "predicting":
            sizes(name, max_tokens=512)
            module, letters = script(name), np.random.default_rng(0).choice(list("ACGT"), 40_000)
            monkeypatch.setitem(module.VOCABULARY, "small", 40)
            monkeypatch.setattr(module, "load_background", lambda: "".join(letters))
            monkeypatch.setattr(module, "GAP", (20_000, 20_100))
            module.bundle_of.cache_clear()
        elif name == "corpus":
            monkeypatch.setattr(
                token_store_writer, "DOCUMENTS_PER_PART", 64
            )  # the script changes it
        elif name == "ngrams":
            monkeypatch.setattr(
                ngram_table, "PART_GRAMS", ngram_table.PART_GRAMS
            )  # put back afterwards
        elif name == "kernels":
            shape = {"batch": 1, "heads": 2, "head_dim": 16, "block_size": 16, "num_random": 1}
            shape |= {"dtype": "float32", "device": "cpu"}
            monkeypatch.setattr(script("attention"), "ISSUE_SHAPE", shape)
        elif name == "encoder_settings":
            monkeypatch.setattr(script(name), "BATCH_TOKENS", 64)
            monkeypatch.setattr(script(name), "SIZE", TINY | {"vocab_size": 2048, "dropout": 0.0})
        elif name == "optimizers":
            module = script(name)
            model = module.EncoderConfig(vocab_size=50, max_tokens=64, **TINY)
            size = module.SIZES["demo"]._replace(model=model, batch=2)
            monkeypatch.setitem(module.SIZES, "demo", size)
        elif name == "text_store":
            (tmp_path / "spiece.model").write_bytes(tiny_text_tokenizer().model_bytes)
            for constant, value in {
                "PARAGRAPHS": 3,
                "DISTINCT": 2,
                "measure": script(name).child,
            }.items():
                monkeypatch.setattr(script(name), constant, value)
        elif name == "examples":
            for folder in ("corpus", "tokenizer"):
                (tmp_path / folder).mkdir()
            corpus = make_corpus(tmp_path)
            corpus.path.rename(tmp_path / "corpus/train.h5")
            (tmp_path / "tokenizer/dna_bpe.model").write_bytes(corpus.tokenizer.model_bytes)

    return make


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[needs_kernel] * (name == "kernels")) for name in RUNS]
)
def test_a_benchmark_prints_a_table(name, tiny, tmp_path, capfd):
    if name in NEED_LIBRARY:
        pytest.importorskip("transformers")
    tiny(name)
    runner.main([name, *RUNS[name].split(), "--json", str(tmp_path / "result.json")])
    result = json.loads((tmp_path / "result.json").read_text())
    assert len(result["rows"]) > 1
    if name not in ("chromatin", "examples", "step_memory"):
        assert "processors" in result["about"][0]


@pytest.mark.parametrize("name", sorted(set(runner.NAMES) - RUNS.keys()))
def test_other_benchmarks_have_a_help(name, capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        runner.main([name, "--help"])
    assert "usage: " in capsys.readouterr().out


def test_the_runner_lists_all_and_refuses_others(capsys):
    runner.main([])
    shown = capsys.readouterr().out
    assert all(f"\n{name} " in shown for name in runner.NAMES)
    with pytest.raises(
        SystemExit, match=r"^atention: no such benchmark; expected one of attention,"
    ):
        runner.main(["atention"])
