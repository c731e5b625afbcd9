"""Which arithmetic 'auto' takes, and the switch for float32 products."""

import pytest
import torch

from dna_bigbird.attention.kernels.native.isa import processor_flags
from dna_bigbird.models import precision
from dna_bigbird.models.precision import float32_matmul, resolve_muon_precision, resolve_precision

ROUNDING = torch.finfo(torch.float32).eps


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        ("model name\t: EPYC\nflags\t\t: fpu avx512f avx512_bf16 ept\n", "bf16-mixed"),
        ("flags\t\t: fpu avx512f amx_bf16 amx_tile\n", "bf16-mixed"),
        ("Features\t: fp asimd sve i8mm bf16\n", "bf16-mixed"),
        ("flags\t\t: fpu avx2 fma avx512f\nvmx flags\t: avx512_bf16\n", "32-true"),
        ("model name\t: avx512_bf16\n", "32-true"),
        (None, "32-true"),
    ],
    ids=["avx512", "amx", "arm", "older", "no flags", "not Linux"],
)
def test_auto_takes_bfloat16_where_the_processor_has_its_products(
    tmp_path, monkeypatch, cpuinfo, expected
):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(precision, "processor_flags", lambda: processor_flags(tmp_path / "cpuinfo"))
    if cpuinfo is not None:
        (tmp_path / "cpuinfo").write_text(cpuinfo)
    assert resolve_precision("auto", "cpu") == expected
    assert resolve_precision("32-true", "cpu") == "32-true"
    assert resolve_precision("bf16-mixed", "cpu") == "bf16-mixed"


def test_without_onednn_bfloat16_would_be_slow(monkeypatch):
    monkeypatch.setattr(precision, "processor_flags", lambda: {"avx512_bf16"})
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert resolve_precision("auto", "cpu") == "32-true"


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, "bf16-mixed"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX2"}, "32-true"),
        ({"ONEDNN_MAX_CPU_ISA": "avx512_core_vnni"}, "32-true"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}, "bf16-mixed"),
        ({"ONEDNN_MAX_CPU_ISA": "DEFAULT"}, "bf16-mixed"),
        ({"DNNL_MAX_CPU_ISA": "SSE41"}, "32-true"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_AMX", "DNNL_MAX_CPU_ISA": "AVX2"}, "bf16-mixed"),
    ],
)
def test_a_limit_on_onednn_counts(monkeypatch, limits, expected):
    """/proc/cpuinfo lists what oneDNN may not use."""
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(precision, "processor_flags", lambda: {"avx512_bf16"})
    for name in precision.ISA_LIMITS:
        monkeypatch.delenv(name, raising=False)
    for name, value in limits.items():
        monkeypatch.setenv(name, value)
    assert resolve_precision("auto", "cpu") == expected
    products = "float32" if expected == "32-true" else "bfloat16"
    assert resolve_muon_precision("auto", "bf16-mixed", "cpu") == products
    assert resolve_muon_precision("auto", "32-true", "cpu") == "float32"
    assert resolve_muon_precision("bfloat16", "32-true", "cpu") == "bfloat16"


@pytest.mark.parametrize("supported", [True, False])
def test_auto_asks_the_gpu_for_hardware_not_emulation(monkeypatch, supported):
    def answer(including_emulation=True):
        return including_emulation or supported

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", answer)
    assert resolve_precision("auto", "cuda") == ("bf16-mixed" if supported else "32-true")
    assert resolve_precision("auto", "mps") == "32-true"


def setting() -> str:
    return torch.backends.mkldnn.matmul.fp32_precision


def test_the_switch_is_set_inside_and_put_back():
    before = setting()
    with float32_matmul("onednn"):
        assert setting() == "bf16"
    assert setting() == before
    with pytest.raises(KeyError, match="inside"), float32_matmul("onednn"):
        raise KeyError("inside")
    assert setting() == before
    with float32_matmul("default"):
        assert setting() == before


def test_products_with_the_switch_are_off_by_no_more_than_bfloat16_allows():
    """Without AMX they are plain float32; with it factors are rounded to 8 bits, sums are not."""
    draw = torch.Generator().manual_seed(0)
    a, b = (torch.randn(192, 768, generator=draw) for _ in range(2))
    exact = a.double() @ b.double().T
    largest = a.double().abs() @ b.double().abs().T
    with float32_matmul("onednn"):
        found = torch.nn.functional.linear(a, b)
    allowed = 2**-8 if torch.cpu._is_amx_tile_supported() else 8 * ROUNDING
    assert ((found.double() - exact).abs() / largest).max() <= allowed
