"""Data frames need pandas, which is optional; tables are read as they were written."""

import subprocess
import sys

import pytest

from dna_bigbird.core.dataframes import dataframe, dataframe_of_rows, read_table


def test_without_pandas_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ImportError, match=r"^pandas is not installed; type: pip install '\S+\[dataframe\]'"
    ):
        dataframe({"n": [1]})


def test_results_load_no_pandas():
    code = (
        "import sys, dna_bigbird.prediction.results, dna_bigbird.evaluation.evaluate, "
        "dna_bigbird.core.results, dna_bigbird.labelled.labelled_set; print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_text_stays_text(tmp_path):
    pytest.importorskip("pandas")
    path = tmp_path / "table.tsv"
    path.write_text('chrom\tname\tvalue\n22\tNA\t1\n1\t"x\tnan\n')
    frame = read_table(path)
    assert frame["chrom"].tolist() == ["22", "1"]
    assert frame["name"].tolist() == ["NA", '"x']
    assert frame["value"].isna().tolist() == [False, True]


def test_rows():
    pytest.importorskip("pandas")
    frame = dataframe_of_rows([{"a": 1, "b": None}, {"b": 2.5, "a": 3}])
    assert frame.columns.tolist() == ["a", "b"]
    assert frame["a"].tolist() == [1, 3]
    assert dataframe_of_rows([]).empty
