"""The scripts run and print what they say."""

import argparse
import re
import subprocess

import pytest

from dna_bigbird.attention.kernels.native import operator
from dna_bigbird.attention.kernels.native.build import SOURCE
from dna_bigbird.baselines import ngram_table
from dna_bigbird.baselines.config import GkmConfig
from dna_bigbird.corpus import token_store_writer
from tests.attention.native.marks import needs_kernel

SMALL_SHAPE = {
    "batch": 1,
    "heads": 2,
    "head_dim": 16,
    "block_size": 16,
    "num_random": 1,
    "dtype": "float32",
    "device": "cpu",
}


def table(text):
    """Return the lines of the first table as dicts."""
    rows = [line.split("\t") for line in text.split("\n\n")[0].splitlines() if line[0] != "#"]
    return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]


def test_attention_prints_every_case(script, monkeypatch, capsys):
    monkeypatch.setattr(script("memory"), "limit", lambda num_bytes: None)
    small = "--lengths 64,192 --heads 2 --head_dim 4 --block_size 16 --at_least_ms 1 --no_memory"
    names = "--peers dense,hf-strip,hf --backends auto,gather"
    script("attention").main([*small.split(), *names.split()])
    text = capsys.readouterr().out
    rows = table(text)
    assert len(rows) == 2 * 2 * 5
    no_library = "transformers not installed" in text
    for row in rows:
        if row["name"].startswith("hf") and (row["tokens"] == "64" or no_library):
            assert row["median_ms"].startswith("not run: ")
            continue
        assert float(row["median_ms"]) > 0
        if row["name"] != "dense":
            middle, low, high = map(float, re.findall(r"[\d.]+", row["dense / this"]))
            assert low <= middle <= high
    assert "median [lowest, highest] of 7 interleaved rounds" in text
    assert "# Targets" not in text  # this is not the shape that they are for


def test_the_issue_table_covers_every_target(script):
    attention, targets = script("attention"), script("targets")
    options = argparse.Namespace(issue_table=True)
    times = dict.fromkeys(attention.chosen(options), [1.0] * 7)
    rows = targets.attention_targets(times, attention.OURS[1:])
    never = [row for row in rows if row.text.startswith("never slower")]
    unmeasured = [row.text for row in rows if row.measured is None]
    assert unmeasured == ["never slower: dense / auto, forward, 65536 tokens"]
    assert (len(never), len(rows)) == (12, 5 + 12 + 1)
    assert len(times) == len(attention.chosen(options)), "a case stands twice"


def test_long_peers_are_left_out(script):
    attention = script("attention")
    options = argparse.Namespace(device="cpu", dense_limit=None, hf_limit=100, hf_strip_limit=None)
    case = script("timing").Case(65536, "forward", "dense")
    assert attention.too_long(options, case) == "longer than --dense_limit 16384"
    assert attention.too_long(options, case._replace(tokens=101, name="hf")) == (
        "longer than --hf_limit 100"
    )
    assert attention.too_long(options, case._replace(name="gather")) is None


def test_encoder_prints_every_case(script, monkeypatch, capsys):
    pytest.importorskip("transformers")
    encoder = script("encoder")
    monkeypatch.setattr(script("memory"), "limit", lambda num_bytes: None)
    variants = "ours/bfloat16,ours/float32/all,full/float32,hf/float32,hf-strip/bfloat16/predicted"
    encoder.main(f"--size tiny --lengths 192 --block_size 16 --variants {variants}".split())
    rows = table(capsys.readouterr().out)
    assert [row["name"] for row in rows[:5]] == [
        "ours/bfloat16/predicted",
        "ours/float32/all",
        "full/float32/predicted",
        "hf/float32/all",
        "hf-strip/bfloat16/predicted",
    ]
    assert len(rows) == 10
    for row in rows:
        assert float(row["tokens_per_s"]) > 0, row


def test_ours_and_the_library_lose_alike_on_equal_logits(script):
    """Both ways to the loss, over all logits or over predicted positions, are one number."""
    models = script("encoder_models")
    torch = models.torch
    batch = models.Batch.draw(2, 40, 30, "cpu")
    logits = torch.randn(80, 30, generator=torch.Generator().manual_seed(0))
    pairs = torch.zeros(2, 2)
    every = models.loss_of((logits, pairs), batch, "all")
    some = models.loss_of((logits[batch.positions], pairs), batch, "predicted")
    torch.testing.assert_close(every, some)
    assert len(batch.positions) == len(set(batch.positions.tolist())) == 12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ours", "'ours' is not MODEL/DTYPE"),
        ("our/float32", "'our' in 'our/float32' is not one of ours"),
        ("ours/float16", "'float16' in .* is not one of float32, bfloat16"),
    ],
)
def test_a_variant_that_does_not_exist_is_named(script, text, message):
    with pytest.raises(ValueError, match=message):
        script("encoder_models").Variant.parse(text)


def test_options_are_refused_with_a_reason(script, capsys):
    for arguments, message in (
        (["--rounds", "6"], "--rounds 6 is below 7"),
        (["--backends", "auto,gahter"], "'gahter' is not one of auto, "),
    ):
        with pytest.raises(SystemExit, match="2"):
            script("attention").parse(arguments)
        assert message in capsys.readouterr().err


def test_the_native_table_covers_every_target(script):
    native, targets = script("native"), script("targets")
    times = dict.fromkeys(native.CASES, [2.0] * 7) | {native.PEAK: [1.0] * 7}
    rows = targets.native_targets(times, native.PEAK, {4096: 1.5, 65536: 0.5}, 200_000_000)
    assert all(row.measured for row in rows)
    shares = [row.measured.median for row in rows if row.text.startswith("share")]
    assert shares == [0.75, 0.25]  # half as many calls a second, of so much work
    assert rows[-1].measured.median == 0.2
    # 60 rows of 8 blocks, 2 beside a global one of 7, 2 global ones of 64; two products of 64³.
    assert native.operations(4096) == 4 * 64**3 * 12 * (60 * 8 + 2 * 7 + 2 * 64)


@needs_kernel
def test_the_peak_counts_its_operations(script):
    peak = script("native").Peak()
    peak.ROUNDS = 100
    peak()
    assert peak.operations % (2 * 12 * 2_000_000) == 0


@needs_kernel
def test_kernels_are_compared(script, monkeypatch, capsys):
    monkeypatch.setattr(script("memory"), "limit", lambda num_bytes: None)
    monkeypatch.setattr(script("attention"), "ISSUE_SHAPE", SMALL_SHAPE)
    usual = operator.library
    script("kernels").main([str(SOURCE), "--lengths", "48"])
    assert operator.library is usual
    rows = table(capsys.readouterr().out)
    assert [(row["name"], row["mode"]) for row in rows] == [
        (str(SOURCE), "forward"),
        (str(SOURCE), "forward+backward"),
    ]
    assert all(float(row["median_ms"]) > 0 for row in rows)


def test_corpus_prints_every_row(script, monkeypatch, capsys):
    monkeypatch.setattr(script("timing"), "MIN_ROUNDS", 1)
    monkeypatch.setattr(token_store_writer, "DOCUMENTS_PER_PART", 64)  # the script changes it
    small = "--mbp 0.4 --vocab_size 100 --learn_sentences 200 --documents_per_part 2"
    small += " --parts 6 --batches 2 --rounds 1 --no_memory"
    script("corpus").main(small.split())
    rows = capsys.readouterr().out.split("reached\n")[1].splitlines()
    assert [row.split("\t")[0].split(",")[0] for row in rows] == [
        "documents",
        "SentencePiece alone / token store",
        "tokenizing",
        "M tokens/s from one data worker",
    ]
    assert all(float(row.split("\t")[1].split()[0]) > 0 for row in rows)


def test_chromatin_prints_every_row(script, tmp_path, capfd):
    small = "--labels 12 --peaks 300 400 --scale 0.001 --window 1000 --folder"
    script("chromatin").main([*small.split(), str(tmp_path)])
    rows = dict(line.split("\t") for line in capfd.readouterr().out.splitlines())
    assert 12 * 300 <= int(rows["peaks read"]) <= 12 * 400
    assert 0 < int(rows["rows"]) < int(rows["bins with a label"])
    assert float(rows["peak memory, GB (limit 4)"]) > 0  # of the process of all tests here
    assert not list(tmp_path.iterdir())


def test_a_simulated_genome_has_gaps_and_lower_case(script, tmp_path):
    letters = script("corpus").simulate(tmp_path / "g.fa", mbp=0.6).read_text().split("\n")
    assert letters[0] == ">chr1"
    assert {len(line) for line in letters[1:-1]} == {60}
    text = "".join(letters[1:])
    assert len(text) == 600_000
    assert text.count("N") == 12_000
    assert set(text) == set("ACGTacgtN")


def test_memory_of_a_command_is_seen(script):
    assert 1e6 < script("memory_tree").peak("--help") < 1e10
    with pytest.raises(subprocess.CalledProcessError, match="exit status 2"):
        script("memory_tree").peak("nonsense")


def test_ngrams_prints_memory_and_what_a_genome_takes(script, monkeypatch, capsys):
    monkeypatch.setattr(ngram_table, "PART_GRAMS", ngram_table.PART_GRAMS)  # put back afterwards
    script("ngrams").main(["--tokens", "30000"])
    rows = table(capsys.readouterr().out)
    assert [row["what"] for row in rows] == ["masked bigram", "token 3-gram", "base 12-gram"]
    assert all(float(row["peak_bytes"]) >= float(row["tables_bytes"]) > 0 for row in rows)
    assert float(rows[2]["genome_gb"]) < 1


def test_gkm_prints_time_and_memory_of_every_number_of_rows(script):
    """In this process; the script starts one for each line."""
    line = script("gkm").measure(40, 60, GkmConfig(6, 4, read_bp=0))
    row = dict(zip(script("gkm").COLUMNS.split("\t"), line.split("\t"), strict=True))
    assert (row["rows"], row["bp"], row["word_length"], row["informative"]) == (
        "40",
        "60",
        "6",
        "4",
    )
    assert float(row["peak_gb"]) > 0
    sequences, labels = script("gkm").planted_rows(20, 40, 0)
    motif = re.compile("TGAC...TCA|TGA...GTCA")
    assert all(motif.search(x) for x, (label,) in zip(sequences, labels, strict=True) if label)


def test_verifying_prints_every_row(script, monkeypatch, capsys):
    monkeypatch.setattr(script("timing"), "MIN_ROUNDS", 1)
    script("verifying").main(["--gb", "0.004", "--rounds", "1"])
    rows = capsys.readouterr().out.split("reached\n")[1].splitlines()
    names = [row.split("\t")[0] for row in rows]
    assert len(names) == 10
    assert names[3] == "token store of 7.4 GB, verified: seconds, estimated"
    assert all(float(row.split("\t")[1].split()[0]) > 0 for row in rows)
