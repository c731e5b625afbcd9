"""Two commands that write the same output: the second one stops, and nothing is mixed."""

import os
import subprocess
import sys

from dna_bigbird.genome import Genome


def start(*argv: object) -> subprocess.Popen:
    words = [sys.executable, "-m", "dna_bigbird", *map(str, argv)]
    return subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def test_two_genomes_with_one_name(tmp_path):
    """The first waits for its input in a pipe; it is joined and indexed after the second stopped."""
    os.mkfifo(tmp_path / "a.fa")
    (tmp_path / "b.fa").write_text(f">b\n{'G' * 5000}\n")
    output = tmp_path / "x.fa"
    first = start("genome", "--inputs", f"[{tmp_path}/a.fa]", "--output", output)
    with open(tmp_path / "a.fa", "w") as pipe:  # opens once the first command reads
        second = start("genome", "--inputs", f"[{tmp_path}/b.fa]", "--output", output)
        _, error = second.communicate()
        assert second.returncode == 2
        assert "x.fa: another process is writing it; wait until it ends" in error
        assert error.count("\n") == 1
        assert not output.exists()
        pipe.write(f">a\n{'ACGT' * 100}\n")
    first.communicate()
    assert first.returncode == 0
    assert Genome(output).lengths == {"a": 400}
    assert (tmp_path / "x.fa.fai").read_text().startswith("a\t400\t")
    assert sorted(os.listdir(tmp_path)) == ["a.fa", "b.fa", "x.fa", "x.fa.fai"]
