"""The published bundle's format: a small bundle of real hg19 (or of the toy genome), and its traps."""

import gzip
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io

from dna_bigbird.cli.main import main
from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.labelled.bedtools_check import PyfaidxGenome
from dna_bigbird.labelled.deepsea import mat_files
from dna_bigbird.labelled.deepsea.coordinates import read_labels
from dna_bigbird.labelled.labelled_set import LabelledSet

PEAKS = Path(__file__).parents[2] / "data_specs" / "deepsea_919_peaks.tsv"
NAMES = [line.split("\t")[0] for line in PEAKS.read_text().splitlines()[1:]]
EMPTY = 17
"""A label that no row has."""


def by_hand(bases):
    """One-hot, (4, length), in the published order."""
    found = np.zeros((4, len(bases)), np.uint8)
    for place, base in enumerate(bases):
        if base != "N":
            found["AGCT".index(base), place] = 1
    return found


class Bundle:
    """Bins of a genome, their labels, and how to write them as the published files are written."""

    def __init__(self, folder, genome, train_chrom, test_chrom, starts, test_starts):
        """The first of `starts` train, the next three are for validation, the last in no file."""
        self.folder, self.genome, self.test_chrom = folder, genome, test_chrom
        self.lines = [(train_chrom, s) for s in starts] + [(test_chrom, s) for s in test_starts]
        self.train, self.validation, self.test = len(starts) - 5, 3, len(test_starts)
        self.lines.append((train_chrom, starts[0]))  # as chrX stands behind chr9
        rng = np.random.default_rng(2)
        self.labels = (rng.random((len(self.lines), 919)) < 0.3).astype(np.uint8)
        self.labels[:, EMPTY] = 0
        places = np.arange(len(self.lines))
        self.rows = {
            "train": places[: self.train],
            "valid": places[self.train : self.train + 3],
            "test": places[len(starts) : len(starts) + self.test],
        }
        (folder / "names.txt").write_text("\n".join(NAMES) + "\n")

    def sequences(self, name):
        """(2 n, 4, 1000): all forward windows, then their reverse complements."""
        windows = [
            Interval(c, s - 400, s + 600) for c, s in (self.lines[i] for i in self.rows[name])
        ]
        texts = [self.genome.fetch(w) for w in windows]
        return np.stack([by_hand(t) for t in [*texts, *map(reverse_complement, texts)]])

    def write(self, change=lambda name, x, y: (x, y), shift=0, chunk=(1000, 4, 5)):
        for name in self.rows:
            labels = self.labels[self.rows[name]]
            x, y = change(name, self.sequences(name), np.concatenate([labels, labels]))
            if name == "train":
                path = self.folder / "train.mat"
                with h5py.File(path, "w", userblock_size=512) as file:
                    for key, data in (("trainxdata", x.T), ("traindata", y.T)):
                        chunks = tuple(map(min, data.shape, chunk if data.ndim == 3 else (919, 7)))
                        file.create_dataset(key, data=data, chunks=chunks, compression="gzip")
            else:
                scipy.io.savemat(
                    self.folder / f"{name}.mat",
                    {f"{name}xdata": x, f"{name}data": y},
                    do_compression=True,
                )
        rows = "".join(f"{c}\t{s + shift}\t{s + shift + 200}\n" for c, s in self.lines)
        (self.folder / "allTFs.pos.bed").write_text(rows)
        return self

    def read(self, *extra, output="set.h5", labels="names.txt"):
        main(
            [
                "deepsea-set",
                f"--bundle={self.folder}",
                f"--genome={self.genome.path}",
                f"--label_names={self.folder / labels}",
                f"--output={self.folder / output}",
                "--assembly=hg19",
                f"--test_chromosomes=[{self.test_chrom}]",
                *extra,
            ]
        )
        return LabelledSet(self.folder / output, self.genome)


@pytest.fixture
def small(tmp_path, toy):
    """Bins at both ends of chr1 and chr2, one in the run of N, some beside each other."""
    starts = [0, 200, 1000, 3000, 5200, 8800, 9000, 14400, 15000, 15200, 15400, 19800, 19600]
    return Bundle(tmp_path, toy, "chr1", "chr2", starts, [0, 400, 6000, 6200, 11800])


@pytest.fixture
def real(tmp_path, real_data):
    """Bins of hg19: chr22 trains, chr17 is the test; gaps of N in both."""
    path = tmp_path / "hg19.fa"
    with open(path, "wb") as fasta:
        for name in ("hg19_chr17_1-1000000", "hg19_chr22_1-21000000"):
            fasta.write(gzip.decompress((real_data / "genome" / f"{name}.fa.gz").read_bytes()))
    starts = [16_050_000, 16_697_800, 17_000_000, 17_000_200, 18_123_400, 19_999_800, 20_000_000]
    starts += [20_000_200, 20_509_400, 20_600_000, 20_999_800]
    return Bundle(tmp_path, Genome(path), "chr22", "chr17", starts, [0, 296_600, 400_000, 500_000])


def expect(bundle, made, window):
    """Every published row, forward, with its labels, its coordinates and its genome's bases."""
    kept = [
        i
        for name in bundle.rows
        for i in bundle.rows[name]
        if name != "train" or not near_held_out(bundle, i, window)
    ]
    assert len(made) == len(kept)
    for row, i in enumerate(kept):
        chrom, start = bundle.lines[i]
        here = made.interval(row)
        assert (here.chrom, here.length, here.strand) == (chrom, window, "+")
        assert here.start + (window - 200) // 2 == start == made.bin_starts[row]
        assert made.labels_of([row])[0].tolist() == bundle.labels[i].tolist()
        middle = made.sequence(row)[window // 2 - 500 : window // 2 + 500]
        assert middle == bundle.genome.fetch(Interval(chrom, start - 400, start + 600))
        assert made.split[row] == next(n for n, x in enumerate(bundle.rows.values()) if i in x)


def near_held_out(bundle, i, window):
    chrom, start = bundle.lines[i]
    held_out = [bundle.lines[j] for name in ("valid", "test") for j in bundle.rows[name]]
    return any(c == chrom and abs(s - start) < window for c, s in held_out)


@pytest.mark.parametrize(
    ("which", "window"),
    [("small", 1000), ("small", 8000), ("real", 1000), ("real", 8000), ("real", 16200)],
)
def test_every_row_by_coordinate(which, window, request, capsys):
    bundle = request.getfixturevalue(which).write()
    made = bundle.read(f"--window={window}")
    expect(bundle, made, window)
    assert (made.task, made.bin_bp, made.label_names) == ("chromatin", 200, NAMES)
    assert [made.label_groups.count(x) for x in ("DHS", "TF", "HM")] == [125, 690, 104]
    empty = np.flatnonzero(made.labels_of(made.rows("train")).sum(axis=0) == 0)
    assert EMPTY in empty
    assert made.counts["labels_without_positive_train"] == len(empty)
    warning = f"no positive in train: {len(empty)} labels (column {empty[0]} "
    assert warning in capsys.readouterr().err


def test_rows_that_are_left_out_or_run_past_the_end_are_counted(small):
    made = small.write().read("--window=1000")
    assert {k: v for k, v in made.counts.items() if v and "label" not in k} == {
        "rows_read": 8 + 3 + 5,
        "left_out_training_window_in_held_out_bases": 1,  # 14,400 reaches into 15,000's
        "kept_window_past_the_end": 4,
        "rows_train": 7,
        "rows_validation": 3,
        "rows_test": 5,
    }
    strict = small.read("--window=1000", "--max_n_fraction=0", output="strict.h5")
    assert strict.counts["left_out_window_with_n"] == 6  # 4 past an end, 2 with the run of N
    assert strict.counts["kept_window_past_the_end"] == 0
    assert "N" not in "".join(strict.sequence(i) for i in range(len(strict)))


def test_slabs_and_chunks_do_not_matter(small, monkeypatch):
    whole = small.write(chunk=(1000, 4, 16)).read("--window=2000", output="a.h5")
    monkeypatch.setattr(mat_files, "_SLAB_BYTES", 3 * 4000)
    parts = small.write(chunk=(1000, 4, 1)).read("--window=2000", output="b.h5")
    assert (whole.labels == parts.labels).all()
    assert list(whole.intervals) == list(parts.intervals)
    tight = small.write(chunk=(500, 2, 3)).read("--window=2000", "--check_every=3", output="c.h5")
    assert (whole.labels == tight.labels).all()


def test_equal_inputs_give_equal_bytes(small):
    small.write().read("--window=1000", output="a.h5")
    small.read("--window=1000", output="b.h5")
    found = (small.folder / "a.h5").read_bytes()
    assert found == (small.folder / "b.h5").read_bytes()
    assert str(small.folder).encode() not in found


def test_validation_and_test_may_be_hdf5_too(small):
    old = small.write().read("--window=1000", output="a.h5")
    for name in ("valid", "test"):
        arrays = scipy.io.loadmat(small.folder / f"{name}.mat")
        with h5py.File(small.folder / f"{name}.mat", "w") as file:
            for key in (f"{name}xdata", f"{name}data"):
                file[key] = arrays[key].T
    new = small.read("--window=1000", output="b.h5")
    assert (old.labels == new.labels).all()


def refused(capsys, bundle, *extra, **settings):
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        bundle.read("--window=1000", *extra, **settings)
    assert not (bundle.folder / "set.h5").exists()
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def reordered(name, x, y):
    return x[:, [0, 2, 1, 3]], y  # A C G T instead of A G C T


def halves_interleaved(name, x, y):
    order = np.arange(len(x)).reshape(2, -1).T.reshape(-1)
    return x[order], y[order]


def one_base(name, x, y):
    if name == "test":
        x[2, :, 500] = np.roll(x[2, :, 500], 1)
    return x, y


def other_labels(name, x, y):
    if name == "valid":
        y[len(y) // 2 + 1, 900] ^= 1
    return x, y


def not_one_hot(name, x, y):
    if name == "train":
        x[1, :, 3] = 1
    return x, y


def three(name, x, y):
    y[0, 0] = 3 if name == "train" else y[0, 0]
    return x, y


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (reordered, "train.mat: row 0 (chr1:-400-600): its channels are in the order A C G T, exp"),
        (halves_interleaved, "train.mat: row 0 (chr1:-400-600): its row of the second half is not"),
        (one_base, "test.mat: row 2 (chr2:5600-6600): 1 of its 1,000 bases are not those of toy"),
        (other_labels, "valid.mat: row 1 (chr1:14800-15800): its reverse complement in the second"),
        (not_one_hot, "train.mat: row 1 (chr1:-200-800): its columns are not one-hot"),
        (three, "train.mat: a label of the rows 0-8 is neither 0 nor 1"),
        (lambda n, x, y: (x[:-1], y[:-1]), "an even number of samples"),
        (lambda n, x, y: (x[:, :, :900], y), "expected 4 channels of 1000 bases"),
        (lambda n, x, y: (x, y[:, :900]), "train.mat: 900 labels in it, but 919 names were given"),
    ],
)
def test_a_bundle_that_does_not_fit_is_refused(small, capsys, change, message):
    small.write(change)
    assert message in refused(capsys, small)


@pytest.mark.parametrize("shift", [1, -1, 200])
def test_a_shifted_bed_is_found(small, capsys, shift):
    small.lines = [(c, s + 1000 if c == "chr1" and s == 0 else s) for c, s in small.lines]
    small.lines = [(c, s - 200 if s in (19800, 11800) else s) for c, s in small.lines]
    small.lines = [(c, s + 200 if (c, s) == ("chr2", 0) else s) for c, s in small.lines]
    small.write(shift=shift)
    side = "left" if shift > 0 else "right"
    assert f"the file has the bases {abs(shift)} bp further {side}" in refused(capsys, small)


def test_every_nth_row_is_checked_and_no_other(small, capsys):
    small.write(not_one_hot)  # row 1
    assert "row 1" in refused(capsys, small)
    small.read("--window=1000", "--check_every=2")


def test_rows_are_compared_with_what_pyfaidx_reads(small, capsys, monkeypatch):
    read = PyfaidxGenome._read
    monkeypatch.setattr(
        PyfaidxGenome, "_read", lambda *arguments: read(*arguments).replace(b"A", b"C")
    )
    assert "bases are not those of toy.fa" in refused(capsys, small.write())


def test_other_files_that_do_not_fit(small, capsys):
    small.write()
    bed = (small.folder / "allTFs.pos.bed").read_text().splitlines(keepends=True)

    def with_bed(lines):
        (small.folder / "allTFs.pos.bed").write_text("".join(lines))
        return refused(capsys, small)

    assert "allTFs.pos.bed: 5 rows, but the .mat files have 8 training and 3" in with_bed(bed[:5])
    assert "4 rows on chr2, but test.mat has 5" in with_bed([*bed[:14], *bed[15:]])
    wider = [*bed[:3], "chr1\t3000\t3300\n", *bed[4:]]
    assert "allTFs.pos.bed:4: expected rows of 200 bp" in with_bed(wider)
    early = [bed[0], *bed[-3:-1], *bed[3:]]
    assert "allTFs.pos.bed:2: a row of the test chromosomes chr2 is among the" in with_bed(early)
    beyond = [*bed[:2], "chr1\t20000\t20200\n", *bed[3:]]
    assert "allTFs.pos.bed:3: end 20,200 is beyond the end of chr1 (20,000 bp" in with_bed(beyond)
    assert "'chrQ' is not in toy.fa" in with_bed(["chrQ\t0\t200\n", *bed[1:]])
    with_bed(bed[:1])
    (small.folder / "allTFs.pos.bed").write_text("".join(bed))

    (small.folder / "names.txt").write_text("a\nb\n")
    assert "names.txt: 2 lines, expected 919" in refused(capsys, small)


@pytest.mark.parametrize("name", ["train", "test"])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.999])
def test_a_truncated_file(small, capsys, name, share):
    small.write()
    path = small.folder / f"{name}.mat"
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    assert f"{name}.mat: cannot read it as a MATLAB file" in refused(capsys, small)
    path.unlink()
    assert f"{name}.mat: no such file; expected an unpacked bundle" in refused(capsys, small)


def test_missing_variable(small, capsys):
    small.write()
    scipy.io.savemat(small.folder / "test.mat", {"validxdata": np.zeros((2, 4, 1000))})
    assert "test.mat: no testxdata in it (there is validxdata)" in refused(capsys, small)


def test_labels_are_keyed_by_column(tmp_path):
    (tmp_path / "names.txt").write_text("\n".join(f"{name} " for name in NAMES))
    plain, table = read_labels(tmp_path / "names.txt"), read_labels(PEAKS)
    assert [x.name for x in plain] == [x.name for x in table] == NAMES
    assert len(set(NAMES)) < 919  # replicates: a name is no key
    assert [x.group for x in plain] == [x.group for x in table]
    assert (plain[124].group, plain[125].group) == ("DHS", "TF")
    assert (plain[814].group, plain[815].group) == ("TF", "HM")
    # The table knows what is NA in the names, and drops a blank that some of them have.
    differ = [x.name for x, y in zip(plain, table, strict=True) if x[2:] != y[2:]]
    assert all(name == "NA_NA_NA" or "\xa0" in name for name in differ)


def test_cells_and_targets_against_the_published_table(real_data):
    """Of the 905 names that the table spells alike."""
    names = (real_data / "chromatin" / "deepsea_919_labels.txt").read_text().splitlines()
    table = (real_data / "chromatin" / "deepsea_919_tracks.tsv").read_text().splitlines()[1:]
    alike = 0
    labels = read_labels(real_data / "chromatin" / "deepsea_919_labels.txt")
    for name, label, line in zip(names, labels, table, strict=True):
        cell, target, treatment = line.split("\t")[:3]
        if name.strip() == f"{cell}_{target}_{treatment}":
            alike += 1
            assert (label.cell, label.target) == (cell, target)
    assert alike == 905


def test_settings_that_contradict(small, capsys):
    small.write()
    assert "--window 1001 cannot be centred" in refused(capsys, small, "--window=1001")
    assert "--check_every 0" in refused(capsys, small, "--check_every=0")
