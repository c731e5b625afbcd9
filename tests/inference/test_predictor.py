"""Scores do not depend on batch, neighbours, file format or strand of the input."""

import gzip
import io
import itertools

import numpy as np
import pytest
import torch

from dna_bigbird import load_bundle
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import reverse_complement
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor

TOLERANCE = 2e-6  # float32 rounding; losing one block moves scores by more than 1e-3 (see below)


@pytest.fixture
def bundle(bundle_folder):
    return load_bundle(bundle_folder)


@pytest.fixture
def sequences(random_dna):
    return [random_dna(length, seed=length) for length in (5, 37, 120, 200, 200, 333, 64, 200)]


def exact(bundle, strand="both", **options):
    return Predictor(bundle, strand=strand, compute=Compute(precision="32-true", **options))


def direct(bundle, bases):
    """One sequence, one forward pass, no batching code."""
    ids = [bundle.tokenizer.cls_id, *bundle.tokenizer.encode(bases), bundle.tokenizer.sep_id]
    tokens = torch.tensor([ids])
    with torch.inference_mode():
        logits = bundle.model(tokens, torch.zeros_like(tokens, dtype=torch.bool))
    return logits.sigmoid().numpy()[0]


def test_forward_scores_equal_one_pass_per_sequence(bundle, sequences):
    short = [s for s in sequences if len(s) <= 200]
    scores = exact(bundle, strand="forward").probabilities(short)
    expected = np.stack([direct(bundle, s) for s in short])
    assert np.abs(scores - expected).max() < TOLERANCE
    assert expected.std(axis=0).min() > 1e-3, "the fixture must tell sequences apart"


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_batch_size_and_neighbours_do_not_matter(bundle, sequences, batch_size):
    together = exact(bundle, batch_size=batch_size).probabilities(sequences)
    alone = np.concatenate([exact(bundle).probabilities([s]) for s in sequences])
    assert np.abs(together - alone).max() < TOLERANCE


def test_neighbours_do_not_matter_in_bfloat16(bundle, sequences):
    """A row of a product is summed alike whatever the other rows; a logit is rounded by 0.4 %."""
    bf16 = Predictor(bundle, compute=Compute(precision="bf16-mixed"))
    together = bf16.probabilities(sequences)
    alone = np.concatenate([bf16.probabilities([s]) for s in sequences])
    assert np.abs(together - alone).max() < 0.002


def test_both_strands_is_the_mean_and_does_not_see_the_strand(bundle, sequences):
    plus = np.stack([direct(bundle, s) for s in sequences[:4]])
    minus = np.stack([direct(bundle, reverse_complement(s)) for s in sequences[:4]])
    predictor = exact(bundle)
    scores = predictor.probabilities(sequences[:4])
    assert np.abs(scores - (plus + minus) / 2).max() < TOLERANCE
    flipped = predictor.probabilities([reverse_complement(s) for s in sequences[:4]])
    assert np.abs(scores - flipped).max() < TOLERANCE


def test_a_window_of_n_has_no_score(bundle):
    scores = exact(bundle).probabilities(["N" * 50, "ACGT" * 20, "NNNA"])
    assert np.isnan(scores[0]).all()
    assert np.isfinite(scores[1:]).all()


def test_a_window_beyond_the_context_is_the_mean_of_its_parts(bundle, random_dna):
    bases = random_dna(1000, seed=7)
    predictor = exact(bundle, strand="forward")
    score = predictor.probabilities([bases])[0]
    assert predictor.notes()[-1:] == [
        "1 windows had more tokens than the model's context of 126 and were scored in equal parts, "
        "then averaged"
    ]
    fits = bundle.config["encoder"]["max_tokens"] - 2
    for count in range(2, 30):
        edges = np.linspace(0, 1000, count + 1).astype(int)
        parts = [bases[a:b] for a, b in itertools.pairwise(edges)]
        if all(len(bundle.tokenizer.encode(p)) <= fits for p in parts):
            break
    assert np.abs(score - np.mean([direct(bundle, p) for p in parts], axis=0)).max() < TOLERANCE


@pytest.mark.parametrize(("found", "expected"), [(True, "bf16-mixed"), (False, "32-true")])
def test_precision_is_that_of_the_processor(bundle, sequences, monkeypatch, found, expected):
    """Off by the rounding of bfloat16, which is far less than what sets sequences apart."""
    monkeypatch.setattr("dna_bigbird.models.precision.has_bf16_products", lambda device: found)
    predictor = Predictor(bundle)
    assert predictor.compute.precision == expected
    off = np.abs(predictor.probabilities(sequences) - exact(bundle).probabilities(sequences)).max()
    assert (1e-5 < off < 0.02) if found else off == 0


def test_float32_products_by_onednn(bundle, sequences):
    before = torch.backends.mkldnn.matmul.fp32_precision
    seen = []
    bundle.model.register_forward_pre_hook(
        lambda *_: seen.append(torch.backends.mkldnn.matmul.fp32_precision)
    )
    scores = exact(bundle, float32_matmul="onednn").probabilities(sequences)
    assert set(seen) == {"bf16"}
    assert torch.backends.mkldnn.matmul.fp32_precision == before
    tolerance = 0.02 if torch.cpu._is_amx_tile_supported() else TOLERANCE
    assert np.abs(scores - exact(bundle).probabilities(sequences)).max() < tolerance


def test_a_pretrained_bundle_has_no_labels_to_predict(bundle):
    bundle.config = bundle.config.with_values(task="pretraining")
    with pytest.raises(InputError, match="without a label head"):
        exact(bundle)


def run(capsys, *arguments):
    main(["predict", "--precision", "32-true", *map(str, arguments)])
    return capsys.readouterr().out


@pytest.fixture
def fasta(tmp_path, random_dna):
    path = tmp_path / "regions.fa"
    path.write_text(f">long\n{random_dna(450, 1)}\n>short\n{random_dna(50, 2)}\n")
    return path


def test_rows_carry_zero_based_half_open_coordinates(capsys, bundle_folder, fasta):
    header, *rows = run(capsys, "--fasta", fasta, "--model", bundle_folder).splitlines()
    assert header == "sequence\tstart\tend\tCTCF\tDNase"
    assert [row.split("\t")[:3] for row in rows] == [
        ["long", "0", "200"], ["long", "200", "400"], ["long", "250", "450"], ["short", "0", "50"],
    ]  # fmt: skip
    assert all(0 < float(value) < 1 for row in rows for value in row.split("\t")[3:])


def test_every_form_of_the_same_sequences_scores_the_same(
    capsys, bundle_folder, fasta, tmp_path, monkeypatch
):
    text = fasta.read_text()
    expected = run(capsys, "--fasta", fasta, "--model", bundle_folder)
    lines = text.splitlines()
    forms = {
        "gzip": gzip.compress(text.encode()),
        "bgzip": gzip.compress(text[:100].encode()) + gzip.compress(text[100:].encode()),
        "lower": text.replace("A", "a").replace("C", "c").encode(),
        "crlf": "\r\n\r\n".join(lines).encode(),
    }
    for name, data in forms.items():
        path = tmp_path / name
        path.write_bytes(data)
        assert run(capsys, "--fasta", path, "--model", bundle_folder) == expected, name
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert run(capsys, "--fasta", "-", "--model", bundle_folder) == expected


def test_bed_rows_carry_genome_coordinates(capsys, bundle_folder, fasta, tmp_path):
    bed = tmp_path / "r.bed"
    bed.write_text("long\t100\t300\tx\n")
    piece = tmp_path / "piece.fa"
    piece.write_text(">p\n" + fasta.read_text().splitlines()[1][100:300] + "\n")
    with_bed = run(capsys, "--fasta", fasta, "--bed", bed, "--model", bundle_folder)
    alone = run(capsys, "--fasta", piece, "--model", bundle_folder)
    assert with_bed.splitlines()[1].split("\t")[:3] == ["long", "100", "300"]
    probabilities = alone.splitlines()[1].split("\t")[3:]
    assert with_bed.splitlines()[1].split("\t")[3:] == [*probabilities, "x"]


def test_protein_leaves_no_output_and_exits_2(capsys, bundle_folder, tmp_path, random_dna):
    protein = tmp_path / "protein.fa"
    protein.write_text(
        f">ok\n{random_dna(300, 3)}\n>p53\nMEEPQSDPSVEPPLSQETFSDLWKLLPENNVLSPLPSQAMDD\n"
    )
    output = tmp_path / "out.tsv"
    with pytest.raises(SystemExit, match="2"):
        run(capsys, "--fasta", protein, "--model", bundle_folder, "--output", output)
    error = capsys.readouterr().err
    assert "protein.fa:4: record 'p53': 'E' at position 2" in error
    assert error.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["protein.fa"]
