"""Descriptions of inputs are found by name, in the working folder first."""

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.resources import resource_folder
from dna_bigbird.genome.fetch import fetch
from dna_bigbird.genome.sources.specs import find_spec, read_spec

NAME = "hg38_to_hg19_chain"


def test_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_spec(NAME) == resource_folder("data_specs") / f"{NAME}.yaml"


def test_the_working_folder_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data_specs").mkdir()
    (tmp_path / f"data_specs/{NAME}.yaml").touch()
    assert find_spec(NAME).resolve() == tmp_path / f"data_specs/{NAME}.yaml"


def test_an_unknown_name_lists_the_known_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        InputError,
        match=r"^'grch37_genom' is not a description in data_specs/ \(there are: deepsea_919_peaks, .*"
        r"hg38_to_hg19_chain\); did you mean 'grch37_genome'\?$",
    ):
        fetch("grch37_genom", tmp_path / "out")


def test_a_path_that_does_not_exist_is_not_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        InputError, match=r"data_specs/x.yaml: no such file; a description that comes"
    ):
        fetch("data_specs/x.yaml", tmp_path / "out")


def test_fetch_takes_a_name(tmp_path, monkeypatch):
    """The file is checked as the description of that name says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "copy.gz").write_bytes(b"not a chain file")
    remote = read_spec(find_spec(NAME)).files[0]
    assert remote.size_bytes
    with pytest.raises(
        InputError, match=f"but size_bytes of its description is {remote.size_bytes}"
    ):
        fetch(NAME, tmp_path / "out", local=tmp_path / "copy.gz")
    assert not (tmp_path / "out").exists()
