"""Vectors as AnnData, and the one line without the package."""

import sys

import numpy as np
import pytest

from dna_bigbird import embed
from dna_bigbird.core.errors import MissingExtraError


@pytest.fixture(scope="module")
def regions(tmp_path_factory, random_dna):
    """A genome and BED rows, whose names could be taken for numbers or for no value."""
    folder = tmp_path_factory.mktemp("regions")
    genome, bed = folder / "toy.fa", folder / "rows.bed"
    genome.write_text(f">22\n{random_dna(400, 3)}{'N' * 200}\n")
    bed.write_text("22\t10\t90\tNA\n22\t100\t180\t7\n22\t410\t600\tx\n")
    return {"fasta": genome, "bed": bed}


def read_back(annotated, path):
    anndata = pytest.importorskip("anndata")
    annotated.write_h5ad(path)
    return anndata.read_h5ad(path)


@pytest.mark.parametrize("pooling", ["mean", "tokens"])
@pytest.mark.parametrize("suffix", ["", ".h5", ".npz"])
def test_vectors_with_coordinates_also_from_files(
    regions, bundle_folder, tmp_path, pooling, suffix
):
    pytest.importorskip("anndata")
    output = tmp_path / f"vectors{suffix}" if suffix else None
    expected = embed(**regions, model=bundle_folder, pooling=pooling, layer=1)
    result = embed(**regions, model=bundle_folder, pooling=pooling, layer=1, output=output)
    annotated = read_back(result.to_anndata(), tmp_path / "vectors.h5ad")
    frame = expected.to_dataframe()
    names = [name for name in frame if name not in annotated.var_names]
    assert names[:4] == ["sequence", "start", "end", "name"]
    assert names[4:] == (["token_start", "token_end"] if pooling == "tokens" else [])
    assert annotated.obs.columns.tolist() == names
    for name in names:
        assert annotated.obs[name].tolist() == frame[name].tolist()
    assert annotated.X.dtype == np.float32
    np.testing.assert_array_equal(annotated.X, expected.vectors)
    assert np.isnan(annotated.X).any() == (pooling == "mean"), "a window of N has NaN or no token"
    assert annotated.var_names.tolist() == [f"v{i}" for i in range(annotated.n_vars)]
    assert annotated.obs_names.is_unique
    strand = "forward" if pooling == "tokens" else "both"
    assert dict(annotated.uns) == {
        "model": str(bundle_folder), "pooling": pooling, "layer": 1, "strand": strand
    }  # fmt: skip


def test_without_the_package_one_line(regions, bundle_folder, monkeypatch):
    result = embed(**regions, model=bundle_folder)
    monkeypatch.setitem(sys.modules, "anndata", None)  # importing it fails
    line = r"^anndata is not installed; type: pip install '\S+\[anndata\]'$"
    with pytest.raises(MissingExtraError, match=line):
        result.to_anndata()
