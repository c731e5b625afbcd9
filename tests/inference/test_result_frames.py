"""Data frames of results have the rows and columns of the files that the commands write."""

import pytest

from dna_bigbird import embed, mutagenesis, predict, score_variants
from dna_bigbird.core.errors import InputError

pd = pytest.importorskip("pandas")


@pytest.fixture
def regions(tmp_path, random_dna):
    """Records, one without bases, with names that a reader of tables could take for no value."""
    records = {"NA": random_dna(250, 1), "22": "N" * 120, "chr1|a": random_dna(90, 2)}
    path = tmp_path / "regions.fa"
    path.write_text("".join(f">{name}\n{bases}\n" for name, bases in records.items()))
    return path


@pytest.fixture
def variants(tmp_path, random_dna):
    """A genome and variants: several alleles, one that is not scored, one that does not fit."""
    bases = random_dna(400, 3)
    genome, vcf = tmp_path / "toy.fa", tmp_path / "variants.vcf"
    genome.write_text(f">22\n{bases}\n")
    other = "A" if bases[299] != "A" else "C"
    rows = [(100, bases[99], "A,C,G,T"), (200, bases[199], "<DEL>"), (300, other, "G")]
    rows = [(pos, ref, ",".join(a for a in alt.split(",") if a != ref)) for pos, ref, alt in rows]
    lines = [f"22\t{pos}\trs{pos}\t{ref}\t{alt}\t.\t.\t.\n" for pos, ref, alt in rows]
    vcf.write_text("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
    with open(vcf, "a") as stream:
        stream.writelines(lines)
    return {"vcf": vcf, "fasta": genome, "ref_mismatch": "skip"}


def as_written(frame) -> str:
    """The frame as the commands write their tables: five digits, zero without a sign."""
    numbers = frame.select_dtypes("floating") + 0.0
    frame = frame.assign(**{name: numbers[name] for name in numbers})
    return frame.to_csv(sep="\t", index=False, float_format="%.5g", na_rep="nan")


def test_predictions_are_the_table(regions, bundle_folder, tmp_path):
    frame = predict(regions, model=bundle_folder).to_dataframe()
    table = tmp_path / "scores.tsv"
    written = predict(regions, model=bundle_folder, output=table)
    assert as_written(frame) == table.read_text()
    assert frame.columns.tolist() == ["sequence", "start", "end", "CTCF", "DNase"]
    assert set(frame["sequence"]) == {"NA", "22", "chr1|a"}
    assert frame["CTCF"].isna().tolist() == (frame["sequence"] == "22").tolist()
    pd.testing.assert_frame_equal(
        written.to_dataframe(), frame, rtol=1e-4, check_dtype=False, check_exact=False
    )


@pytest.fixture
def named(variants, tmp_path):
    """A genome and BED rows, whose names have a comma, a quote and the letters NA."""
    bed = tmp_path / "rows.bed"
    bed.write_text('22\t10\t90\ta,b\n22\t100\t180\tNA\n22\t100\t180\t"x\n')
    return {"fasta": variants["fasta"], "bed": bed}


@pytest.mark.parametrize("suffix", ["tsv", "csv", "h5"])
def test_names_of_bed_rows_are_the_last_column(named, bundle_folder, tmp_path, suffix):
    frame = predict(**named, model=bundle_folder).to_dataframe()
    assert frame.columns.tolist() == ["sequence", "start", "end", "CTCF", "DNase", "name"]
    assert frame["name"].tolist() == ["a,b", "NA", '"x']
    written = predict(**named, model=bundle_folder, output=tmp_path / f"scores.{suffix}")
    pd.testing.assert_frame_equal(written.to_dataframe(), frame, rtol=1e-4, check_dtype=False)


@pytest.mark.parametrize("suffix", ["npz", "h5"])
def test_vectors_of_bed_rows_have_their_names(named, bundle_folder, tmp_path, suffix):
    frame = embed(**named, model=bundle_folder, pooling="tokens").to_dataframe()
    assert frame.columns.tolist()[2:5] == ["end", "name", "token_start"]
    assert frame["name"].unique().tolist() == ["a,b", "NA", '"x']
    written = embed(
        **named, model=bundle_folder, pooling="tokens", output=tmp_path / f"vectors.{suffix}"
    )
    pd.testing.assert_frame_equal(written.to_dataframe(), frame)


def test_an_hdf5_file_is_read_back(regions, bundle_folder, tmp_path):
    frame = predict(regions, model=bundle_folder).to_dataframe()
    written = predict(regions, model=bundle_folder, output=tmp_path / "scores.h5")
    pd.testing.assert_frame_equal(written.to_dataframe(), frame, check_dtype=False)


def test_tracks_are_not_read(regions, bundle_folder, tmp_path):
    written = predict(regions, model=bundle_folder, output=tmp_path / "scores.bed")
    with pytest.raises(InputError, match=r"scores\.bed: to_dataframe\(\) reads tables and HDF5"):
        written.to_dataframe()


def test_labels_of_one_name_keep_their_columns(regions, bundle_folder):
    result = predict(regions, model=bundle_folder)
    result.label_names[:] = ["same", "same"]
    frame = result.to_dataframe()
    assert frame.columns.tolist()[3:] == ["same", "same"]
    assert frame["same"].to_numpy().tobytes() == result.probabilities.tobytes()


@pytest.mark.parametrize("pooling", ["mean", "tokens"])
@pytest.mark.parametrize("suffix", ["npz", "h5"])
def test_vectors(regions, bundle_folder, tmp_path, pooling, suffix):
    options = {"model": bundle_folder, "pooling": pooling}
    result = embed(regions, **options)
    frame = result.to_dataframe()
    columns = ["sequence", "start", "end"]
    columns += ["token_start", "token_end"] if pooling == "tokens" else []
    assert frame.columns.tolist() == [*columns, *(f"v{i}" for i in range(32))]
    assert frame.filter(regex=r"^v\d").to_numpy().tobytes() == result.vectors.tobytes()
    if pooling == "tokens":
        assert (
            (frame["token_start"] >= frame["start"]) & (frame["token_end"] <= frame["end"])
        ).all()
        counts = frame.groupby(["sequence", "start"], sort=False).size()
        assert counts.tolist() == [n for n in (result.offset[1:] - result.offset[:-1]) if n]
    written = embed(regions, **options, output=tmp_path / f"vectors.{suffix}")
    pd.testing.assert_frame_equal(written.to_dataframe(), frame)


@pytest.mark.parametrize("probabilities", [False, True])
def test_variants_are_the_table(variants, bundle_folder, tmp_path, probabilities):
    result = score_variants(**variants, model=bundle_folder)
    frame = result.to_dataframe(probabilities=probabilities)
    table = tmp_path / "scored.tsv"
    score_variants(**variants, model=bundle_folder, output=table, probabilities=probabilities)
    assert as_written(frame) == table.read_text()
    assert frame["pos"].tolist() == [100, 100, 100, 200], "the last one does not fit the genome"
    assert frame["chrom"].tolist() == ["22"] * 4


def test_one_effect_has_a_column_per_label(variants, bundle_folder):
    result = score_variants(**variants, model=bundle_folder)
    frame = result.to_dataframe("diff")
    assert frame.columns.tolist() == ["chrom", "pos", "id", "ref", "alt", "CTCF", "DNase"]
    assert frame[["CTCF", "DNase"]].to_numpy().tobytes() == result.diff.tobytes()
    with pytest.raises(InputError, match=r"effect='odds': expected 'log_odds' or 'diff'"):
        result.to_dataframe("odds")


@pytest.mark.parametrize("effect", ["diff", "log_odds"])
def test_substitutions_are_the_matrix(tmp_path, random_dna, bundle_folder, effect):
    genome = tmp_path / "toy.fa"
    genome.write_text(f">chr7\n{random_dna(60, 5)}N{random_dna(60, 6)}\n")
    table = tmp_path / "matrix.tsv"
    options = {"region": "chr7:55-65", "model": bundle_folder, "effect": effect}
    frame = mutagenesis(genome, **options, output=table).to_dataframe()
    assert list(frame) == ["chrom", "pos", "ref", "alt", "label", "diff", "log_odds"]
    assert len(frame) == (10 * 3 + 4) * 2
    matrix = pd.read_csv(table, sep="\t").set_index("pos")
    assert matrix.index.tolist() == sorted(set(frame["pos"]))
    for row in frame.itertuples():
        written = matrix.loc[row.pos, f"{row.label}_{row.alt}_{effect}"]
        assert getattr(row, effect) == pytest.approx(written, rel=1e-4, nan_ok=True)
        assert row.ref == matrix.loc[row.pos, "ref"] != row.alt
    assert frame.loc[frame["ref"] == "N", effect].isna().all()
