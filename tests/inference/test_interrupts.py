"""Ctrl-C, SIGTERM, kills, closed pipes and full disks, on the real command in a process of its own."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from dna_bigbird.prediction.partial_results import partial_results_path

# The command, but its windows are scored five at a time; after as many of those as the environment
# says it tells so through a pipe, and waits for a signal or a word. So no clock tells the moment.
DRIVER = """
import itertools, os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from dna_bigbird.prediction.predictor import Predictor
from dna_bigbird.cli.main import main

score = Predictor.score_windows

def five_by_five(self, windows):
    windows = iter(windows)
    stop_after = int(os.environ.get("STOP_AFTER", -1))
    for number in itertools.count():
        if number == stop_after:
            os.write(int(os.environ["TELL"]), b"!")
            os.read(int(os.environ["WAIT"]), 1)
        few = list(itertools.islice(windows, 5))
        if not few:
            return
        yield from score(self, few)

Predictor.score_windows = five_by_five
main()
"""


@pytest.fixture
def fasta(tmp_path, random_dna):
    path = tmp_path / "in.fa"
    path.write_text("".join(f">s{i}\n{random_dna(300, i)}\n" for i in range(20)))
    return path


class Started:
    """A running `dna-bigbird`; with `stop_after` it stands still after so many chunks."""

    def __init__(self, *arguments, stop_after=None, stdout=subprocess.PIPE):
        told, tell = os.pipe()
        wait, self._go = os.pipe()
        stop = {"STOP_AFTER": str(stop_after), "TELL": str(tell), "WAIT": str(wait)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, *map(str, arguments)],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | (stop if stop_after is not None else {}),
            pass_fds=[tell, wait],
        )
        os.close(tell)
        os.close(wait)
        with open(told, "rb") as stream:
            if stop_after is not None and stream.read(1) != b"!":
                pytest.fail(f"it ended before it was stopped: {self.process.communicate()[1]}")

    def signal(self, number):
        self.process.send_signal(number)
        return self.finish()

    def go_on(self):
        os.write(self._go, b"!")
        return self.finish()

    def finish(self):
        """Return exit status, standard output and standard error."""
        out, err = self.process.communicate()
        os.close(self._go)
        return self.process.returncode, out, err


def arguments(fasta, bundle_folder, *more):
    fixed = (
        "--model",
        bundle_folder,
        "--stride",
        50,
        "--precision",
        "32-true",
        "--backend",
        "cpu_chunks",
    )
    return ("predict", "--fasta", fasta, *fixed, *more)


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_an_interrupted_file_is_continued(fasta, bundle_folder, tmp_path, number, status):
    output, whole = tmp_path / "out.tsv", tmp_path / "whole.tsv"
    process = Started(*arguments(fasta, bundle_folder, "--output", output), stop_after=3)
    assert process.signal(number) == (
        status,
        "",
        f"dna-bigbird: {output}: interrupted after 15 windows; continue with --resume\n",
    )
    assert {p.name for p in tmp_path.iterdir()} == {"in.fa", partial_results_path(output).name}
    code, out, err = Started(
        *arguments(fasta, bundle_folder, "--output", output, "--resume")
    ).finish()
    assert (code, out, err) == (0, "", "")
    assert Started(*arguments(fasta, bundle_folder, "--output", whole)).finish()[0] == 0
    assert output.read_bytes() == whole.read_bytes()
    assert {p.name for p in tmp_path.iterdir()} == {"in.fa", "out.tsv", "whole.tsv"}


def test_an_interrupt_before_the_first_window_leaves_nothing(fasta, bundle_folder, tmp_path):
    output = tmp_path / "out.tsv"
    process = Started(*arguments(fasta, bundle_folder, "--output", output), stop_after=0)
    code, _, err = process.signal(signal.SIGINT)
    assert code == 130
    assert "interrupted before the first windows were finished; nothing was left behind" in err
    assert {p.name for p in tmp_path.iterdir()} == {"in.fa"}


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_standard_output_says_that_it_is_incomplete(
    fasta, bundle_folder, number, status
):
    process = Started(*arguments(fasta, bundle_folder), stop_after=2)
    code, out, err = process.signal(number)
    assert code == status
    assert out.count("\n") == 1 + 10, "what was finished is there"
    assert "interrupted: standard output ends after 10 windows, it is incomplete" in err
    assert err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("output", ["out.tsv", "out.h5", "tracks"])
def test_a_run_killed_again_and_again_ends_as_an_undisturbed_one(
    fasta, bundle_folder, tmp_path, output
):
    def call(path):
        name = "bigwig" if path.name == "tracks" else ""
        more = ("--format", name) if name else ()
        return arguments(fasta, bundle_folder, "--output", path, "--resume", *more)

    for chunks in (1, 4):
        process = Started(*call(tmp_path / output), stop_after=chunks)
        assert process.signal(signal.SIGKILL)[0] == -signal.SIGKILL
        assert not (tmp_path / output).exists()
    assert Started(*call(tmp_path / output)).finish()[0] == 0
    (tmp_path / "whole").mkdir()
    assert Started(*call(tmp_path / "whole" / output)).finish()[0] == 0
    assert contents(tmp_path / output) == contents(tmp_path / "whole" / output)
    assert {p.name for p in tmp_path.iterdir()} == {"in.fa", "whole", output}


def contents(path):
    if path.is_dir():
        return {file.name: file.read_bytes() for file in sorted(path.iterdir())}
    return path.read_bytes()


def test_a_reader_that_leaves_ends_it_quietly(fasta, bundle_folder):
    read_end, write_end = os.pipe()
    process = Started(*arguments(fasta, bundle_folder), stop_after=1, stdout=write_end)
    os.close(write_end)
    assert os.read(read_end, 20) == b"sequence\tstart\tend\tC"
    os.close(read_end)
    assert process.go_on() == (141, None, "")


def test_standard_output_on_a_full_disk_is_one_line(fasta, bundle_folder):
    with open("/dev/full", "w") as full:
        code, _, err = Started(*arguments(fasta, bundle_folder), stdout=full).finish()
    assert (code, err) == (
        2,
        "dna-bigbird: error: standard output: cannot write to it: No space left on device\n",
    )


def test_bad_input_in_the_middle_of_standard_input_is_status_2(bundle_folder, random_dna, tmp_path):
    text = f">good\n{random_dna(20_000, 1)}\n>p53\nMEEPQSDPSVEPPLSQETFSDLWKLLPENN\n"
    done = subprocess.run(
        [sys.executable, "-m", "dna_bigbird", *map(str, arguments("-", bundle_folder))],
        input=text, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "standard input:4: record 'p53'" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("output", ["out.tsv", "out.h5", "out.bed", "out.bw", "tracks"])
def test_a_disk_that_fills_while_the_file_is_written_keeps_the_rows(
    fasta, bundle_folder, small_disk, output
):
    more = {"out.bw": ("--labels", "CTCF"), "tracks": ("--format", "bigwig")}.get(output, ())
    call = arguments(fasta, bundle_folder, "--output", small_disk / output, *more)
    process = Started(*call, stop_after=12)
    ballast = small_disk / "ballast"
    with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as stream:
        while stream.write(bytes(4096)):
            pass
    code, _, err = process.go_on()
    assert code == 2
    assert f"{output}: cannot write it: " in err
    assert "60 windows are kept. Make room" in err
    said = [line for line in err.splitlines() if not line.startswith("[bw")]  # libBigWig's own
    assert len(said) == 1, err
    assert {p.name for p in small_disk.iterdir()} == {f".{output}.rows.partial", "ballast"}
    ballast.unlink()
    assert Started(*call, "--resume").finish() == (0, "", "")
    assert [p.name for p in small_disk.iterdir()] == [output]
