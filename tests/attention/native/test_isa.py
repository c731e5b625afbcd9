"""The choice of an instruction set."""

import os
import subprocess

import pytest
import torch

from dna_bigbird.attention.kernels.native import isa
from dna_bigbird.attention.kernels.native.build import NativeUnavailableError, find_compiler
from dna_bigbird.attention.kernels.native.isa import FLAGS, ISAS, VARIABLE, best_isa, supported_isas
from dna_bigbird.core.errors import InputError

AVX2 = "fpu vme sse2 avx f16c fma avx2"
AVX512 = f"{AVX2} avx512f avx512dq avx512bw avx512vl"


def cpuinfo(folder, flags):
    path = folder / "cpuinfo"
    path.write_text(
        f"processor\t: 0\nmodel name\t: A\nflags\t\t: {flags}\nvmx flags\t: x\n\nprocessor\t: 1\n"
    )
    return path


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("fpu sse2", ("portable",)),
        ("fpu sse2 avx2", ("portable",)),  # no FMA
        (AVX2, ("avx2", "portable")),
        (f"{AVX2} avx512f avx512bw", ("avx2", "portable")),  # the first AVX-512 processors
        (AVX512, ("avx512", "avx2", "portable")),
        (f"{AVX512} avx512_bf16", ISAS),
    ],
)
def test_flags_of_linux(tmp_path, flags, expected):
    assert supported_isas(cpuinfo(tmp_path, flags), "x86_64") == expected


def test_another_architecture_is_portable(tmp_path):
    path = cpuinfo(tmp_path, f"{AVX512} avx512_bf16")
    assert supported_isas(path, "aarch64") == ("portable",)


@pytest.mark.parametrize(
    ("level", "bf16", "expected"),
    [
        ("DEFAULT", False, ("portable",)),
        ("AVX2", False, ("avx2", "portable")),
        ("AVX512", False, ("avx512", "avx2", "portable")),
        ("AVX512", True, ISAS),
    ],
)
def test_pytorch_is_asked_without_linux(tmp_path, monkeypatch, level, bf16, expected):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: level)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: bf16)
    assert supported_isas(tmp_path / "none", "x86_64") == expected


def test_a_pytorch_without_the_question_has_no_bf16(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.delattr(torch.cpu, "_is_avx512_bf16_supported")
    assert supported_isas(tmp_path / "none", "x86_64")[0] == "avx512"


def test_this_processor_as_pytorch_sees_it():
    """Two ways to the same answer, on the machine at hand."""
    if "ATEN_CPU_CAPABILITY" in os.environ:
        pytest.skip("ATEN_CPU_CAPABILITY tells PyTorch what to see")
    level = torch.backends.cpu.get_cpu_capability()
    assert ("avx512" in supported_isas()) == (level == "AVX512")
    assert ("avx2" in supported_isas()) == (level in ("AVX2", "AVX512"))


@pytest.mark.parametrize("wanted", ["", "avx2", "portable"])
def test_the_variable_lowers_the_choice(monkeypatch, wanted):
    monkeypatch.setattr(isa, "supported_isas", lambda: ("avx512", "avx2", "portable"))
    monkeypatch.setenv(VARIABLE, wanted)
    assert best_isa() == (wanted or "avx512")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("avx1024", "is 'avx1024', but there is none of that name; expected one of avx2, portable"),
        ("avx512", "is 'avx512', but this processor lacks it; expected one of avx2, portable"),
    ],
)
def test_a_wrong_variable_is_one_line(monkeypatch, wanted, message):
    monkeypatch.setattr(isa, "supported_isas", lambda: ("avx2", "portable"))
    monkeypatch.setenv(VARIABLE, wanted)
    with pytest.raises(InputError, match=message):
        best_isa()


def test_options_are_of_the_processor_not_of_the_machine():
    assert tuple(FLAGS) == ISAS
    assert not any("march" in option for options in FLAGS.values() for option in options)


@pytest.mark.parametrize(
    ("name", "macros"),
    [
        ("avx512_bf16", {"__AVX512F__", "__AVX512BF16__", "__AVX2__"}),
        ("avx512", {"__AVX512F__", "__AVX2__"}),
        ("avx2", {"__AVX2__"}),
        ("portable", set()),
    ],
)
def test_the_compiler_defines_what_the_kernel_asks(tmp_path, name, macros):
    try:
        compiler = find_compiler()
    except NativeUnavailableError as error:
        pytest.skip(str(error))
    if isa.platform.machine() not in isa.X86:
        pytest.skip("these options are for x86")
    source = tmp_path / "empty.cpp"
    source.touch()
    done = subprocess.run(
        [compiler, *FLAGS[name], "-dM", "-E", str(source)],
        capture_output=True,
        text=True,
        check=True,
    )
    defined = {line.split()[1] for line in done.stdout.splitlines()}
    assert defined & {"__AVX512F__", "__AVX512BF16__", "__AVX2__"} == macros
