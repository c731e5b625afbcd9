"""What is said where the native kernel is missing or does not fit; needs no compiler."""

import logging

import pytest
import torch

from dna_bigbird.attention import attend
from dna_bigbird.attention.kernels.native import library
from dna_bigbird.attention.kernels.native.build import NativeUnavailableError
from dna_bigbird.attention.patterns import bigbird_itc
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder


@pytest.fixture(autouse=True)
def fresh_choice():
    """The choice is made once a process: before and after a test it is open."""
    library._is_there.cache_clear()
    library.library.cache_clear()
    yield
    library._is_there.cache_clear()
    library.library.cache_clear()


def test_auto_says_once_that_it_is_missing(monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("DNA_BIGBIRD_CACHE", str(tmp_path))
    q, k, v = torch.randn(3, 1, 2, 70, 16).unbind()
    with caplog.at_level(logging.WARNING, "dna_bigbird"):
        out = attend(q, k, v, bigbird_itc(5, 16, 1, 2))
        attend(q, k, v, bigbird_itc(5, 16, 1, 2))
    assert [record.message for record in caplog.records] == [
        "the native CPU kernel is not built: attention takes several times longer without it; to "
        "build it: dna-bigbird doctor --build-native"
    ]
    dense = attend(q, k, v, bigbird_itc(5, 16, 1, 2), backend="dense")
    torch.testing.assert_close(out, dense, rtol=0, atol=1e-5)


def test_named_without_a_compiler_it_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("DNA_BIGBIRD_CACHE", str(tmp_path))
    monkeypatch.setenv("CXX", "/nonexistent/c++")
    q, k, v = torch.randn(3, 1, 2, 70, 16).unbind()
    with pytest.raises(NativeUnavailableError, match=r"/nonexistent/c\+\+"):
        attend(q, k, v, bigbird_itc(5, 16, 1, 2), backend="native")


def test_a_model_names_it_without_a_compiler(monkeypatch, tmp_path):
    """One line and status 2 on the command line, before anything is computed."""
    monkeypatch.setenv("DNA_BIGBIRD_CACHE", str(tmp_path))
    monkeypatch.setenv("CXX", "/nonexistent/c++")
    sizes = {"hidden_size": 32, "num_layers": 1, "num_heads": 2, "ffn_size": 16}
    encoder = Encoder(EncoderConfig(vocab_size=9, max_tokens=64, block_size=16, **sizes))
    with pytest.raises(InputError, match=r"/nonexistent/c\+\+"):
        encoder.set_backend("native")


def test_a_library_that_cannot_be_loaded_is_an_error(tmp_path):
    broken = tmp_path / "kernel.so"
    broken.write_bytes(b"no library")
    with pytest.raises(NativeUnavailableError, match=r"kernel\.so cannot be loaded"):
        library.Library(broken)


@pytest.mark.parametrize(
    ("size", "dim", "dtype", "dropout_p", "message"),
    [
        (
            16,
            16,
            torch.float64,
            0.0,
            "computes float32 and bfloat16; the tensors are torch.float64",
        ),
        (16, 16, torch.float32, 0.1, "has no dropout, dropout_p is 0.1; 'gather' has it"),
        (16, 24, torch.float32, 0.0, "head dimensions that are multiples of 16 up to 256, got 24"),
        (
            16,
            272,
            torch.float32,
            0.0,
            "head dimensions that are multiples of 16 up to 256, got 272",
        ),
        (8, 16, torch.float32, 0.0, "block sizes that are multiples of 16, got 8"),
    ],
)
def test_what_it_cannot_do_is_an_error(size, dim, dtype, dropout_p, message):
    q = torch.zeros(1, 2, 5 * size, dim, dtype=dtype)
    with pytest.raises(ValueError, match=message):
        attend(q, q, q, bigbird_itc(5, size, 1, 2), None, dropout_p, "native")
