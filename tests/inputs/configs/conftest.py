"""A working folder with the inputs of a small config."""

import pytest

CONFIG = """\
name: mine
assembly: hg19
inputs:
  genome: [g.fa]
  peaks: peaks.tsv
splits:
  validation: [chr7]
  test: ["chr8:1-200"]
pretraining:
  max_steps: 1e4
  learning_rate: 1e-3
chromatin: {}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder, which is the working folder too; `c.yaml` in it is a correct config."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.fa").write_text(">chr7\nACGT\n")
    (tmp_path / "a.bed").write_text("chr7\t1\t2\n")
    (tmp_path / "peaks.tsv").write_text("label\tgroup\tcell\tpath\nA\tTF\tK562\ta.bed\n")
    (tmp_path / "c.yaml").write_text(CONFIG)
    return tmp_path
