"""A process that is ended in the middle of a suite continues with the same command, to the same bytes."""

import os
import signal
import subprocess
import sys

import pytest

from tests.pipeline.bench.label_runs import TASKS, write_suite
from tests.pretrained_bundle import write_pretrained_bundle

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """The command without --output."""
    folder = tmp_path_factory.mktemp("suite")
    data, fasta = write_suite(folder)
    model = write_pretrained_bundle(folder / "model")
    return [
        *(sys.executable, "-m", "dna_bigbird", "bench", "genomic-benchmarks", "--data", str(data)),
        *(
            "--genome",
            f"GRCh38={fasta}",
            "--model",
            str(model),
            "--seeds",
            "2",
            "--tasks",
            TASKS[0],
        ),
        *("--training.max_steps", "40", "--training.validate_every", "20", "--threads", "1"),
        *("--training.batch_size", "4", "--training.precision", "32-true", "--replicates", "20"),
        *("--training.measure_speed", "false"),
    ]


def run(words, output):
    done = subprocess.run([*words, "--output", str(output)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (output / TASKS[0] / "task.json").read_bytes(), done.stderr


@pytest.fixture(scope="module")
def whole(words, tmp_path_factory):
    return run(words, tmp_path_factory.mktemp("whole") / "bench")[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("after", ["gc seed 0", "cnn seed 1", "model seed 0"])
def test_ended_by_a_signal_it_continues(words, whole, tmp_path, number, after):
    """The signal comes when a part is done, so that it meets the beginning of the next one."""
    output = tmp_path / "bench"
    process = subprocess.Popen(
        [*words, "--output", str(output)], stderr=subprocess.PIPE, text=True, bufsize=1
    )
    with process:
        for line in process.stderr:
            if f"{after} done" in line:
                os.kill(process.pid, number)
        assert process.wait() in (-number, 128 + number)
    assert not (output / TASKS[0] / "task.json").exists()
    text, notes = run(words, output)
    assert text == whole
    assert f"{after} read again" in notes
