"""Memory, devices, labels, and what the user is told."""

import itertools
import re

import numpy as np
import pytest
import torch

from dna_bigbird import load_bundle
from dna_bigbird.core import limits
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.prediction import predictor
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.engine import batches_of, choose_device, set_backend, token_budget
from dna_bigbird.prediction.predictor import Predictor
from dna_bigbird.prediction.windows.tiling import Window

EXACT = Compute(precision="32-true")


@pytest.fixture
def bundle(bundle_folder):
    return load_bundle(bundle_folder)


@pytest.fixture
def sequences(random_dna):
    return [random_dna(length, seed=length) for length in range(20, 180, 10)]


@pytest.mark.parametrize("same_blocks", [0, 16])
@pytest.mark.parametrize("batch_size", [0, 5])
def test_batches_hold_each_sequence_once_and_keep_their_bounds(batch_size, same_blocks):
    lengths = np.random.default_rng(0).integers(3, 90, 200).tolist()
    batches = batches_of(lengths, tokens=256, batch_size=batch_size, same_blocks=same_blocks)
    assert sorted(itertools.chain.from_iterable(batches)) == list(range(200))
    for batch in batches:
        of_batch = [lengths[i] for i in batch]
        assert len(batch) <= 5 if batch_size else len(batch) == 1 or sum(of_batch) <= 256
        if same_blocks:
            assert len({-(-n // 16) for n in of_batch}) == 1
    assert len(batches) < 70
    assert batches_of([], tokens=256) == []


def test_wide_models_take_fewer_tokens_at_once():
    cpu = torch.device("cpu")
    small, base = (token_budget(EncoderConfig(hidden_size=n, num_heads=4), cpu) for n in (128, 768))
    assert (small, base) == (8192, 1365)


def test_windows_are_read_as_they_are_needed(bundle, random_dna):
    """The input may be endless."""
    read = []
    bases = random_dna(100, seed=1)
    endless = (read.append(i) or Window("w", i, i + 100, bases) for i in itertools.count())
    predictor = Predictor(bundle, compute=EXACT)
    predictor._chunk_bp = 2_000  # ten windows, both strands
    chunks = predictor.score_windows(endless)
    for number in range(1, 4):
        windows, values = next(chunks)
        assert len(windows) == len(values) == 10
        assert len(read) == 10 * number


def test_too_little_memory_halves_the_batches(bundle, sequences, monkeypatch):
    expected = Predictor(bundle, compute=EXACT).probabilities(sequences)
    forward, sizes = bundle.model.forward, []

    def small(token_ids, is_padding):
        if len(token_ids) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        sizes.append(len(token_ids))
        return forward(token_ids, is_padding)

    monkeypatch.setattr(bundle.model, "forward", small)
    found = Predictor(bundle, compute=EXACT).probabilities(sequences)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)
    assert sum(sizes) == 2 * len(sequences)


def test_a_window_that_never_fits_into_memory(bundle, sequences, monkeypatch):
    def never(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(bundle.model, "forward", never)
    with pytest.raises(InputError, match=r"a sequence of \d+ tokens does not fit into the memory"):
        Predictor(bundle, compute=EXACT).probabilities(sequences)


def test_labels_are_columns_of_all_labels(bundle, sequences):
    every = Predictor(bundle, compute=EXACT)
    one = Predictor(bundle, compute=EXACT, labels=[1])
    assert (every.label_names, one.label_names) == (["CTCF", "DNase"], ["DNase"])
    assert np.array_equal(one.probabilities(sequences), every.probabilities(sequences)[:, 1:])
    assert one.probabilities([]).shape == (0, 1)


def test_several_bundles_give_the_mean(bundle, bundle_folder, sequences):
    other = load_bundle(bundle_folder)
    for parameter in other.model.parameters():
        parameter.data *= 0.9
    alone = [Predictor(b, compute=EXACT).probabilities(sequences) for b in (bundle, other)]
    assert np.abs(alone[0] - alone[1]).max() > 0.01
    both = Predictor([bundle, other], compute=EXACT)
    np.testing.assert_allclose(both.probabilities(sequences), np.mean(alone, axis=0), atol=1e-7)
    (logits,) = both.logits([sequences])
    forward = Predictor([bundle, other], compute=EXACT, strand="forward").probabilities(sequences)
    np.testing.assert_allclose(1 / (1 + np.exp(-logits)), forward, atol=1e-7)


@pytest.mark.parametrize("backend", ["cpu_chunks", "native"])
def test_a_backend_of_the_cpu_is_refused_on_a_gpu(bundle, backend):
    with pytest.raises(InputError, match=f"--backend {backend} computes on a CPU, not on cuda"):
        set_backend(bundle, backend, torch.device("cuda"))


def test_a_backend_of_the_gpu_is_refused_on_a_cpu(bundle):
    with pytest.raises(InputError, match="--backend triton computes on a GPU, not on a CPU"):
        set_backend(bundle, "triton", torch.device("cpu"))


def test_a_gpu_that_is_not_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    with pytest.raises(InputError, match="--device cuda: torch finds no GPU here"):
        choose_device("cuda")


def test_negative_settings_are_refused():
    with pytest.raises(InputError, match="--workers -1"):
        Compute(workers=-1)


@pytest.mark.parametrize("backend", ["dense", "gather", "cpu_chunks"])
def test_backends_agree(bundle, sequences, backend):
    named = Predictor(bundle, compute=Compute(precision="32-true", backend=backend))
    expected = Predictor(bundle, compute=EXACT).probabilities(sequences)
    np.testing.assert_allclose(named.probabilities(sequences), expected, rtol=0, atol=2e-6)
    assert named.notes() == []


def test_notes_tell_the_precision_and_why_attention_is_slow(bundle):
    """The native kernel has no blocks of 8 tokens."""
    precision, slow = Predictor(bundle).notes()
    assert re.fullmatch("computed in (32-true|bf16-mixed)", precision)
    assert "attention takes several times longer than it could: the native kernel takes" in slow


def test_in_bfloat16_logits_are_not_rounded(bundle, sequences):
    """Else small differences, as between two alleles, would be lost."""
    (logits,) = Predictor(bundle, compute=Compute(precision="bf16-mixed")).logits([sequences])
    rounded = torch.from_numpy(logits).bfloat16().double().numpy()
    assert (logits != rounded).mean() > 0.9


def test_a_hundred_workers_become_what_the_machine_takes(bundle, monkeypatch, capsys):
    """On one processor four; where memory holds only two copies of the model, two."""
    monkeypatch.setattr(limits, "usable_processors", lambda: 1)
    monkeypatch.setattr(limits, "free_bytes", lambda: 10**12)
    started = []
    monkeypatch.setattr(predictor, "Workers", lambda load, count: started.append((load, count)))
    for free, expected in ((10**12, 4), (2 * 305_000_000, 2)):
        monkeypatch.setattr(limits, "free_bytes", lambda free=free: free)
        made = Predictor(bundle, compute=Compute(precision="32-true", workers=100, threads=40_000))
        with pytest.raises(AttributeError, match="NoneType"):  # these workers compute nothing
            made.probabilities(["ACGT" * 20])
        load, count = started.pop()
        assert (count, load.threads) == (expected, 1)
        notes = capsys.readouterr().err.splitlines()
        assert [line.partition("note: ")[2].split(":")[0] for line in notes] == [
            "40000 threads",
            "100 workers",
        ]
