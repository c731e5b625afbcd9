"""Track sets: every cell as pyBigWig and NumPy give it, on made and on real tracks; what is refused."""

import gzip
import json

import h5py
import numpy as np
import pyBigWig
import pytest

from dna_bigbird.baselines.baseline import baseline
from dna_bigbird.bundles.info import describe_labelled
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.labelled.tracks import track_set_run
from dna_bigbird.labelled.tracks.track_set import track_set

SPLIT = {"validation": ["chr1:4001-7000"], "test": ["chr2:8001-12000"]}
SETTINGS = {"window": 640, "crop": 96, "bin": 32}


def rows_of(seed, chroms):
    """Rows with gaps between some of them, decimals and a row across many bins."""
    rng = np.random.default_rng(seed)
    rows = []
    for chrom, length in chroms.items():
        at = int(rng.integers(0, 300))
        while (end := at + int(rng.integers(1, 90))) <= length:
            rows.append((chrom, at, end, round(float(rng.gamma(1, 3)), 3)))
            at = end + int(rng.integers(0, 3)) * int(rng.integers(0, 200))
    return rows


def write_bigwig(path, rows, lengths):
    with pyBigWig.open(str(path), "w") as file:
        file.addHeader(list(lengths.items()))
        for chrom, start, end, value in rows:
            file.addEntries([chrom], [start], ends=[end], values=[value])


def write_bedgraph(path, rows):
    text = "track type=bedGraph\n" + "".join(f"{c}\t{s}\t{e}\t{v}\n" for c, s, e, v in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.fixture
def files(tmp_path, toy):
    """`a` bigWig on both chromosomes, `b` bedGraph.gz on chr1 only (as `1`), and both as bigWig for the oracle."""
    a, b = rows_of(1, {"chr1": 20_000, "chr2": 12_000}), rows_of(2, {"chr1": 20_000})
    for name, rows in (("a", a), ("b", b)):
        write_bigwig(tmp_path / f"{name}.bw", rows, toy.lengths)
    write_bedgraph(tmp_path / "b.bedGraph.gz", [("1", *rest) for _, *rest in b])
    return tmp_path


def expected(path, chrom, start, bin_bp, reduce="mean", unlisted="zero"):
    """One bin, base by base."""
    with pyBigWig.open(str(path)) as file:
        values = np.array(file.values(chrom, start, start + bin_bp))
    if unlisted == "missing":
        values = values[~np.isnan(values)]
        if not len(values):
            return np.nan
    values = np.nan_to_num(values)
    return np.float32({"mean": np.mean, "sum": np.sum, "max": np.max}[reduce](values))


def build(files, toy, **changes):
    tracks = changes.pop("tracks", [files / "a.bw", f"B={files / 'b.bedGraph.gz'}"])
    track_set(toy.path, tracks, files / "set.h5", "toy", SPLIT, **SETTINGS | changes)
    return LabelledSet(files / "set.h5", toy)


def check(made, oracle, genome, **how):
    """Compare every cell; `oracle` has the bigWig file of each track, or None for a chromosome without rows."""
    assert len(made) > 20
    for row in range(len(made)):
        window, values = made.interval(row), made.labels_of(np.array([row]))[0]
        for number in range(made.num_bins):
            start = window.start + made.crop_bp + number * made.bin_bp
            has_n = "N" in genome.fetch(window)[start - window.start :][: made.bin_bp]
            for track, path_of in enumerate(oracle):
                path = None if has_n else path_of(window.chrom, start)
                cell = expected(path, window.chrom, start, made.bin_bp, **how) if path else np.nan
                np.testing.assert_equal(values[number, track], cell)


@pytest.mark.parametrize("unlisted", ["zero", "missing"])
@pytest.mark.parametrize("reduce", ["mean", "sum", "max"])
def test_every_cell_is_that_of_pybigwig(files, toy, reduce, unlisted, monkeypatch):
    monkeypatch.setattr(track_set_run, "MOST_BP", 2_000)  # many stretches
    made = build(files, toy, reduce=reduce, unlisted=unlisted)
    oracle = [
        lambda chrom, start: files / "a.bw",
        lambda chrom, start: files / "b.bw" if chrom == "chr1" else None,
    ]
    check(made, oracle, toy, reduce=reduce, unlisted=unlisted)
    assert made.label_names == ["a", "B"]


def test_the_middles_tile_the_genome_and_splits_share_no_base(files, toy):
    made = build(files, toy)
    covered = {
        (x.chrom, at)
        for x in made.intervals
        for at in range(x.start + made.crop_bp, x.end - made.crop_bp)
    }
    middle = made.num_bins * made.bin_bp
    assert len(covered) == len(made) * middle
    starts = made.intervals.start + made.crop_bp
    assert (starts % middle == 0).all()
    assert {x.chrom for x in made.intervals} == {"chr1", "chr2"}
    for row in range(len(made)):
        x = made.interval(row)
        held_out = {1: ("chr1", 4000, 7000), 2: ("chr2", 8000, 12000)}
        for split, (chrom, start, end) in held_out.items():
            shares = x.chrom == chrom and x.start < end and x.end > start
            assert shares == (made.split[row] == split)


def test_excluded_and_unmeasured_bins_are_missing(files, toy):
    (files / "exclude.bed").write_text("chr1\t1000\t1001\n")
    (files / "measured.bed").write_text("chr2\t2000\t6000\n")
    header = "label\tgroup\tcell\tpath\tmeasured\n"
    (files / "sheet.tsv").write_text(f"{header}A\tTF\tX\ta.bw\tmeasured.bed\nB\tTF\tX\tb.bw\t\n")
    made = build(files, toy, tracks=files / "sheet.tsv", blacklist=files / "exclude.bed")

    def measured_a(chrom, start):
        return files / "a.bw" if chrom == "chr2" and 2000 <= start <= 6000 - 32 else None

    def measured_b(chrom, start):
        is_excluded = start <= 1000 < start + 32
        return files / "b.bw" if chrom == "chr1" and not is_excluded else None

    check(made, [measured_a, measured_b], toy)
    assert made.label_groups == ["TF", "TF"]


def test_values_are_clipped_at_a_percentile_of_the_training_bins_and_then_transformed(files, toy):
    plain = build(files, toy)
    values, train = plain.labels.astype(np.float64), plain.rows("train")
    made = build(files, toy, clip=90.0, transform="log1p")
    clip = np.nanpercentile(values[train].reshape(-1, 2), 90, axis=0)
    np.testing.assert_allclose(made.labels, np.log1p(np.minimum(values, clip)), rtol=1e-6)
    with h5py.File(files / "set.h5") as file:
        np.testing.assert_allclose(file["labels/clip"][:], clip, rtol=1e-6)
        assert file.attrs["format_version"] == 5
        assert "--transform log1p --clip 90.0" in file.attrs["command"]
        assert json.loads(file.attrs["inputs"]).keys() == {"genome", "track line 1", "track line 2"}
    known = made.labels[train].reshape(-1, 2).astype(np.float64)
    np.testing.assert_allclose(made.track_training.mean, np.nanmean(known, axis=0))
    np.testing.assert_allclose(made.track_training.std, np.nanstd(known, axis=0))
    np.testing.assert_allclose(made.track_training.least, np.nanmin(known, axis=0))


@pytest.mark.parametrize("transform", ["none", "log1p"])
def test_a_replicate_is_read_as_the_set_was(files, toy, transform):
    """Of `a` another file on chr1 alone, of `B` its own signal in another format."""
    made = build(files, toy, clip=90.0, transform=transform, unlisted="missing", reduce="max")
    write_bigwig(files / "c.bw", rows_of(3, {"chr1": 20_000}), toy.lengths)
    pair = [f"B={files / 'b.bw'}", f"a={files / 'c.bw'}"]
    baseline(toy.path, made.path, files / "rep.h5", method="replicate", tracks=pair)
    scores = read_scores(files / "rep.h5")
    held_out = np.flatnonzero(made.split)
    assert scores.rows.tolist() == held_out.tolist()
    assert {made.interval(int(row)).chrom for row in held_out} == {"chr1", "chr2"}
    truth = made.labels_of(held_out)
    for number, row in enumerate(held_out.tolist()):
        window = made.interval(row)
        for place in range(made.num_bins):
            start = window.start + made.crop_bp + place * 32
            if np.isnan(truth[number, place]).all() and "N" in toy.fetch(window):
                continue
            cell = np.nan
            if window.chrom == "chr1":
                cell = expected(files / "c.bw", "chr1", start, 32, "max", "missing")
            cell = np.minimum(cell, made.track_clips[0])
            cell = np.log1p(cell) if transform == "log1p" else cell
            cell = made.track_training.mean[0] if np.isnan(cell) else cell
            np.testing.assert_allclose(scores.values[number, place, 0], cell, rtol=1e-6)
    same = np.where(np.isnan(truth), made.track_training.mean, truth)
    np.testing.assert_array_equal(scores.values[..., 1], same[..., 1].astype(np.float32))


@pytest.mark.parametrize(
    ("method", "tracks", "message"),
    [
        ("replicate", ["a.bw"], r"^tracks: replicates of \['a'\], and .* has the tracks \['a', 'B'\]"),
        ("replicate", None, "^tracks: files for method replicate, which needs them"),
        ("gc", ["a.bw"], "^tracks: files for method replicate, which needs them"),
    ],
)  # fmt: skip
def test_replicates_that_do_not_fit(files, toy, method, tracks, message):
    build(files, toy)
    paths = tracks and [files / x for x in tracks]
    with pytest.raises(InputError, match=message):
        baseline(toy.path, files / "set.h5", files / "x.h5", method=method, tracks=paths)
    assert not (files / "x.h5").exists()


def test_a_data_frame_has_a_row_per_bin(files, toy):
    made = build(files, toy)
    frame = made.to_dataframe()
    assert len(frame) == len(made) * made.num_bins
    for row in frame.iloc[[0, 5, -1]].itertuples():
        value = expected(files / "a.bw", row.chrom, row.bin_start, row.bin_end - row.bin_start)
        np.testing.assert_equal(np.float32(row.a), value)
    facts = describe_labelled(made.path)
    assert facts["first_labels"][0]["mean"] == pytest.approx(made.track_training.mean[0])


def test_a_set_without_held_out_windows_is_noted(files, toy, capsys):
    track_set(
        toy.path, files / "a.bw", files / "s.h5", "toy", {"test": ["chr2:8001-12000"]}, **SETTINGS
    )
    assert "note: no row for validation, which finetune and" in capsys.readouterr().err
    build(files, toy)
    assert "no row for" not in capsys.readouterr().err


def test_equal_inputs_give_equal_bytes(files, toy):
    build(files, toy)
    first = (files / "set.h5").read_bytes()
    build(files, toy)
    assert (files / "set.h5").read_bytes() == first


@pytest.mark.parametrize(
    ("bin_bp", "window", "crop"), [(32, 2048, 512), (128, 2048, 512), (1, 600, 50)]
)
def test_every_cell_of_real_tracks(tmp_path, real_data, bin_bp, window, crop):
    genome_path = real_data / "genome" / "hg19_chr22_1-21000000.fa.gz"
    region = "chr22_16000001-21000000.bedGraph.gz"
    files = [real_data / "tracks" / f"{x}_hela_hg19_{region}" for x in ("ctcf", "h3k4me3", "myc")]
    dnase = real_data / "tracks" / "dnase1_hg19_chr22_16050285-17148204.bw"
    main(
        ["track-set", f"--genome={genome_path}", "--tracks", *map(str, files), str(dnase),
         f"--output={tmp_path / 'set.h5'}", "--assembly=hg19", f"--bin={bin_bp}", f"--window={window}",
         f"--crop={crop}", "--pieces=true", '--split.test=["chr22:17,000,001-21,000,000"]',
         "--max_n_fraction=0"]
    )  # fmt: skip
    made, bases = LabelledSet(tmp_path / "set.h5"), Genome(genome_path)
    per_base = np.zeros((4, 21_000_000), np.float32)
    for values, path in zip(per_base, files, strict=False):
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            _, start, end, value = line.split()
            values[int(start) : int(end)] = float(value)
    with pyBigWig.open(str(dnase)) as file:
        per_base[3] = np.nan_to_num(file.values("chr22", 0, 21_000_000, numpy=True))
    starts = made.intervals.start + crop
    rows = np.arange(len(made)) if bin_bp > 1 else np.arange(0, len(made), 50)
    assert len(rows) > 180
    cells = starts[rows, None] + np.arange(window - 2 * crop)
    means = per_base[:, cells].reshape(4, len(rows), -1, bin_bp).mean(axis=-1, dtype=np.float64)
    np.testing.assert_array_equal(
        made.labels_of(rows), np.moveaxis(means.astype(np.float32), 0, -1)
    )
    assert not any("N" in bases.fetch(made.interval(int(row))) for row in rows[::20])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr1 0 10 1\nchr1 5 20 2\n", r"x\.bdg:2: starts at 5, before the end 10"),
        ("chr1 0 10 1\nchr2 5 20 2\nchr1 20 30 1\n", r"x\.bdg:3: chr1 again after chr2; sort the file"),
        ("chr1 0 10 1\nchr1 10 20 high\n", r"x\.bdg:2: 'chr1 10 20 high'; expected chromosome, start"),
        ("chr1 0 10 1\nchr1 10 20 nan\n", r"x\.bdg:2: 'chr1 10 20 nan'"),
        ("chr1 0 10 1\nchr1 10 10 1\n", r"x\.bdg:2: the interval 10-10 has no base"),
        ("chr1 0 20001 1\n", r"x\.bdg: chr1 reaches 20,001 bp, and chr1 in toy\.fa has 20,000"),
        ("chr9 0 10 1\n", r"x\.bdg: none of its chromosomes \(chr9\) is in toy\.fa"),
        ("label\tgroup\tcell\tpath\nA\tTF\tX\tgone.bw\n", r"x\.bdg:2: there is no file"),
    ],
)  # fmt: skip
def test_wrong_files(toy, tmp_path, text, message):
    (tmp_path / "x.bdg").write_text(text)
    with pytest.raises(InputError, match=message):
        build(tmp_path, toy, tracks=[tmp_path / "x.bdg"])
    assert not (tmp_path / "set.h5").exists()


def test_a_bigwig_of_another_assembly_or_cut_short(toy, tmp_path, files):
    write_bigwig(tmp_path / "other.bw", [("chr1", 0, 10, 1.0)], {"chr1": 30_000})
    with pytest.raises(InputError, match=r"other\.bw: chr1 has 30,000 bp, and chr1 in toy\.fa has"):
        build(files, toy, tracks=[tmp_path / "other.bw"])
    build(files, toy, tracks=[tmp_path / "other.bw"], pieces=True)
    (tmp_path / "cut.bw").write_bytes((files / "a.bw").read_bytes()[:300])
    with pytest.raises(InputError, match=r"cut\.bw: a bigWig file that cannot be read"):
        build(files, toy, tracks=[tmp_path / "cut.bw"])
    with pytest.raises(InputError, match="window 600 without crop 96 at either end has 408"):
        build(files, toy, window=600)
