"""`dna-bigbird doctor`: what it sees, what it advises, and building the native kernel."""

import dataclasses
import functools
import os
import re
from types import SimpleNamespace

import pytest
import torch

from dna_bigbird.attention.attend import BACKENDS
from dna_bigbird.attention.autotune import Device, Row, ShapeClass, choose
from dna_bigbird.attention.kernels.native import build
from dna_bigbird.attention.kernels.native import build as native_build
from dna_bigbird.attention.kernels.native.isa import ISAS, VARIABLE
from dna_bigbird.cli.main import main
from dna_bigbird.training import machine
from dna_bigbird.training.machine import Machine
from dna_bigbird.workflow.doctor import advice, backends, measure_backends, missing, verdict

GOOD = Machine(
    processor="A 9000",
    architecture="x86_64",
    usable=8,
    physical=4,
    threads=4,
    isas=ISAS,
    has_bf16=True,
    predicts_in_bf16=True,
    has_onednn=True,
    has_mkl=True,
    gpus=(),
    has_nvidia_driver=False,
    torch="2.13.0+cpu",
)
GPU = "NVIDIA H100, 80 GiB, sm_90"


@pytest.fixture(autouse=True)
def plain_environment(tmp_path, monkeypatch):
    monkeypatch.setenv(native_build.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(VARIABLE, raising=False)


def rows(text):
    """Read the tables back: section -> name -> value; advice is a list. The verdict stands before."""
    found, title = {}, ""
    for line in text.splitlines()[1:]:
        if line and not line.startswith(" "):
            title = line
            found[title] = [] if title == "advice" else {}
        elif line.startswith("  - "):
            found[title].append(line[4:])
        elif line:
            name, _, value = line.strip().partition("  ")
            found[title][name] = value.strip()
    return found


def test_without_a_compiler_it_says_so_and_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    main(["doctor"])
    text = capsys.readouterr().out
    assert re.match(r"works: predictions .*; slower than need be: without the native kernel", text)
    found = rows(text)
    assert list(found) == ["versions", "machine", "attention", "advice"]
    assert found["versions"]["torch"] == torch.__version__
    assert found["versions"]["bedtools"] == "–"
    assert found["machine"]["threads"].startswith(f"{torch.get_num_threads()} (OMP_NUM_THREADS ")
    assert found["machine"]["cache"] == str(tmp_path / "cache")
    assert set(found["attention"]) == {*BACKENDS, "native", "etc"}
    assert found["attention"]["native"].startswith(
        "not built: the native kernel needs a C++ compiler: no C++ compiler found; get one with"
    )
    assert found["advice"][0].endswith("CPU: dna-bigbird doctor --build-native")
    assert any(line.startswith("bedtools is missing") for line in found["advice"])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"usable": 4}, None),
        ({"gpus": (GPU,), "has_nvidia_driver": True, "has_bf16": False}, None),
        ({"architecture": "aarch64", "isas": ("portable",), "has_mkl": False}, None),
        ({"threads": 16}, "16 threads on 8 processors wait for each other: OMP_NUM_THREADS=4"),
        ({"threads": 8}, "8 threads on 4 physical processors.*: OMP_NUM_THREADS=4"),
        ({"threads": 1}, "1 of 4 processors are used: OMP_NUM_THREADS=4"),
        ({"usable": 2}, "4 threads on 2 processors wait for each other: OMP_NUM_THREADS=2"),
        ({"isas": ("avx2", "portable")}, r"no AVX-512"),
        ({"isas": ("portable",)}, r"no AVX2"),
        ({"has_bf16": False}, r"no bf16 dot products"),
        ({"has_onednn": False}, r"PyTorch 2\.13\.0\+cpu lacks oneDNN"),
        ({"has_mkl": False}, r"PyTorch 2\.13\.0\+cpu lacks MKL"),
        ({"has_nvidia_driver": True}, r"NVIDIA driver, but PyTorch 2\.13\.0\+cpu can use no GPU"),
    ],
)
def test_advice_on_one_fault(changes, expected):
    lines = advice(dataclasses.replace(GOOD, **changes), is_built=True)
    assert len(lines) == (expected is not None)
    assert expected is None or re.search(expected, lines[0])


def test_advice_on_the_native_kernel(monkeypatch):
    assert advice(GOOD, is_built=True) == []
    assert "dna-bigbird doctor --build-native" in advice(GOOD, is_built=False)[0]
    monkeypatch.setenv(VARIABLE, "avx2")
    assert advice(GOOD, is_built=True) == [
        f"{VARIABLE} keeps the native kernel from avx512_bf16; unset it"
    ]


@pytest.mark.parametrize(
    ("changes", "slow", "expected"),
    [
        ({}, [], "ready: predictions are computed on 4 CPU threads in bf16"),
        (
            {"predicts_in_bf16": False},
            ["this", "that"],
            "works: predictions are computed on 4 CPU threads in float32; slower than need be: this",
        ),
        ({"gpus": (GPU,)}, [], f"ready: predictions are computed on {GPU} in bf16"),
    ],
)
def test_verdict(changes, slow, expected):
    assert verdict(dataclasses.replace(GOOD, **changes), slow) == expected


def test_free_space_of_a_folder_that_is_not_there_yet(tmp_path):
    assert machine.free_space(tmp_path / "a" / "b") == machine.free_space(tmp_path)
    assert re.fullmatch(r"\d+\.\d GiB free", machine.free_space(tmp_path))


def test_a_program_that_is_there_is_not_missing():
    assert missing({"bedtools": "2.30.0"}) == []


def test_flex_says_what_it_lacks(monkeypatch):
    from torch._inductor import cpp_builder

    def fails():
        raise RuntimeError("pages of text")

    monkeypatch.setattr(cpp_builder, "get_cpp_compiler", fails)
    assert backends(GOOD)["flex"] == "does not work: no C++ compiler"
    plain = dataclasses.replace(GOOD, isas=("portable",))
    assert backends(plain)["flex"] == "does not work: this processor has no AVX2"

    monkeypatch.setattr(cpp_builder, "get_cpp_compiler", lambda: "g++")
    monkeypatch.setattr(machine.sysconfig, "get_path", lambda name: "/none")
    assert "does not work: Python's headers are missing (/none/Python.h)" in backends(GOOD)["flex"]

    on_gpu = dataclasses.replace(GOOD, gpus=(GPU,))
    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda name: None)
    assert backends(on_gpu)["flex"] == "does not work: Triton is missing"
    assert backends(on_gpu)["triton"] == "does not work: Triton is missing"
    assert backends(GOOD)["triton"] == "does not work: it runs on a GPU"
    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda name: "there")
    assert backends(on_gpu)["flex"].startswith("works, forward and backward on the GPU")
    assert backends(on_gpu)["triton"].startswith("works on the GPU")
    assert "2.12" in backends(dataclasses.replace(on_gpu, torch="2.11.0+cu130"))["flex"]


def processor(socket, core):
    return f"processor\t: 0\nmodel name\t: A 9000\nphysical id\t: {socket}\ncore id\t\t: {core}\n\n"


def test_hyper_threads_count_once(tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text("".join(processor(s, c) for s in (0, 1) for c in (0, 1, 2) for _ in range(2)))
    assert machine.physical_processors(path) == 6
    assert machine.processor_name(path) == "A 9000"
    assert machine.physical_processors(tmp_path / "none") == os.cpu_count()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("max 100000\n", 8), ("250000 100000\n", 3), ("50000 100000\n", 1), ("1600000 100000\n", 8)],
)
def test_processors_of_a_container(tmp_path, monkeypatch, text, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    (tmp_path / "cpu.max").write_text(text)
    assert machine.usable_processors(tmp_path) == expected


def test_memory(tmp_path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:       33554432 kB\nMemFree: 1 kB\nMemAvailable:   16777216 kB\n")
    assert machine.memory(meminfo, tmp_path) == "16.0 of 32.0 GiB free"
    (tmp_path / "memory.max").write_text(f"{12 * 2**30}\n")
    assert machine.memory(meminfo, tmp_path) == "16.0 of 32.0 GiB free; limit 12.0 GiB"
    assert machine.memory(tmp_path / "none", tmp_path) == "unknown"


def test_a_gpu_in_words():
    properties = SimpleNamespace(name="NVIDIA H100", total_memory=80 * 2**30, major=9, minor=0)
    assert machine._gpu(properties) == GPU


def small(folder):
    path = folder / "small.cpp"
    path.write_text('extern "C" int answer() { return 42; }\n')
    return path


def test_build_native_says_where_it_is(tmp_path, monkeypatch, capfd):
    try:
        build.find_compiler()
        build.path_with_ninja()
    except build.NativeUnavailableError as error:
        pytest.skip(str(error))
    for name in ("build", "built"):
        whole = getattr(native_build, name)
        monkeypatch.setattr(native_build, name, functools.partial(whole, source=small(tmp_path)))
    main(["doctor", "--build-native"])
    out, err = capfd.readouterr()
    path = out.removesuffix("\n")
    assert err.startswith("building the native kernel (")
    assert err.count("\n") == 1
    assert path.startswith(str(tmp_path / "cache"))
    assert os.path.isfile(path)

    main(["doctor", "--build-native"])
    assert capfd.readouterr() == (f"{path}\n", "")
    main(["doctor"])
    state = rows(capfd.readouterr().out)["attention"]["native"]
    assert state.startswith("built for ")
    assert state.endswith(f": {path}")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"CXX": "/none/c++"}, "CXX is '/none/c++', which is not a program"),
        (
            {VARIABLE: "mmx"},
            f"{VARIABLE} is 'mmx', but there is none of that name; expected one of",
        ),
    ],
)
def test_build_native_that_cannot_is_one_line_and_status_2(monkeypatch, capsys, variables, message):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match="2"):
        main(["doctor", "--build-native"])
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_measuring_needs_a_gpu(capsys):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["doctor", "--measure"])
    assert "--measure times attention backends on a GPU, and PyTorch finds none here" in (
        capsys.readouterr().err
    )


def test_what_was_measured_is_printed_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("DNA_BIGBIRD_CACHE", str(tmp_path))
    device = Device("Some GPU", "580.1", "2.13.0")

    def measured(shape):
        rows = [Row("flex", 1e-3 if shape.training else 3e-3), Row("gather", 2e-3)]
        return [*rows, Row("dense", None, "out of memory")]

    lines = measure_backends(device, measured).splitlines()
    assert lines[0] == "attention backends on Some GPU, driver 580.1, torch 2.13.0"
    forward = "bfloat16, heads of 64, blocks of 128, up to 4,096 tokens, forward"
    start = lines.index(f"{forward}: gather")
    table = ["  flex     3.000 ms", "  gather   2.000 ms", "  dense    out of memory"]
    assert lines[start + 1 : start + 4] == table
    assert f"{forward} and backward: flex" in lines
    shape = ShapeClass("bfloat16", 64, 128, 4096, training=True)
    assert choose(shape, device, None).backend == "flex"
