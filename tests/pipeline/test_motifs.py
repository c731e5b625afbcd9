"""`motifs`: files of `attribute` to patterns, names, positions and pictures."""

import json
from importlib.util import find_spec

import h5py
import numpy as np
import pytest
from scipy.stats import false_discovery_control

from dna_bigbird.core.errors import InputError, MissingExtraError
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.genome.motif_files import MotifMatrix, meme_text, read_motifs
from dna_bigbird.prediction.motif_patterns import Hit, Pattern, _trimmed, q_values, read_database
from dna_bigbird.prediction.motifs import bed_lines, motifs, page
from dna_bigbird.prediction.writers.attributions import read_attributions

LETTERS = "ACGT"
SITE = "TGACTCAGCA"
WINDOW_BP = 120


def write_attributions(
    path, texts, scores, *, starts=None, label="CTCF", assembly="toy", form=None
):
    """Write a file in the layout of `attribute`: (n, W) scores of the bases of texts."""
    bases = np.array(
        [[[letter == base for letter in LETTERS] for base in text] for text in texts], np.int8
    )
    starts = np.arange(len(texts)) * 1000 if starts is None else np.array(starts)
    with h5py.File(path, "w") as file:
        file.attrs.update(
            {
                "format": form or "dna-bigbird attributions", "format_version": 1, "label": label,
                "assembly": assembly, "has_hypothetical": False, "settings": json.dumps({}),
            }
        )  # fmt: skip
        file["input_seqs"] = bases
        file["hyp_scores"] = bases * np.asarray(scores, np.float32)[..., None]
        file["scores"] = np.asarray(scores, np.float32)
        file["rows/sequence"] = np.array([b"chr1"] * len(texts))
        file["rows/start"] = starts
        file["rows/end"] = starts + len(texts[0])
    return path


def planted(count, seed=0):
    """Texts with SITE on either strand and small random effects elsewhere; starts and strands of the sites."""
    rng = np.random.default_rng(seed)
    texts, scores, sites = [], [], []
    for _ in range(count):
        text = "".join(rng.choice(list(LETTERS), WINDOW_BP))
        start, is_reverse = int(rng.integers(40, 70)), bool(rng.integers(2))
        site = reverse_complement(SITE) if is_reverse else SITE
        texts.append(text[:start] + site + text[start + len(site) :])
        effects = rng.normal(0, 0.02, WINDOW_BP)
        effects[start : start + len(site)] = rng.normal(1, 0.1, len(site))
        scores.append(effects)
        sites.append((start, is_reverse))
    return texts, np.array(scores), sites


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on windows with one planted site, and the sites."""
    pytest.importorskip("modiscolite")
    pytest.importorskip("memelite")
    folder = tmp_path_factory.mktemp("motifs")
    texts, scores, sites = planted(80)
    effects = write_attributions(folder / "effects.h5", texts, scores)
    rng = np.random.default_rng(1)
    others = ["".join(rng.choice(list(LETTERS), 10)) for _ in range(60)]
    one_hot = {name: np.eye(4)[[LETTERS.index(b) for b in name]].T for name in [*others, SITE]}
    matrices = [
        MotifMatrix(f"M{i}", name, counts) for i, (name, counts) in enumerate(one_hot.items())
    ]
    database = folder / "database.meme"
    database.write_text(meme_text(matrices, {m.identifier: 100 for m in matrices}))
    result = motifs([effects], folder / "out", database=database, window=0)
    return result, texts, sites


def test_a_planted_site_is_the_first_pattern_with_its_name(run):
    result, _, sites = run
    first = result.rows[0]
    assert first["consensus"] in (SITE, reverse_complement(SITE))
    assert first["sign"] == "+"
    assert first["matrix"] == f"{SITE} M60"
    assert float(first["q"]) < 1e-3
    assert int(first["seqlets"]) >= 0.8 * len(sites)
    assert float(first["mean_contribution"]) == pytest.approx(10, abs=0.5)


def test_hits_are_where_the_site_is_on_its_strand(run):
    result, _, sites = run
    expected = {
        (i * 1000 + start, i * 1000 + start + len(SITE)): is_reverse
        for i, (start, is_reverse) in enumerate(sites)
    }
    reads_forward = result.rows[0]["consensus"] == SITE
    rows = [line.split("\t") for line in (result.output / "hits.bed").read_text().splitlines()]
    first = [row for row in rows if row[3] == "CTCF:pattern_1"]
    assert len(first) >= 0.8 * len(sites)
    for chrom, start, end, _, score, strand in first:
        assert chrom == "chr1"
        assert (strand == "-") == (expected[int(start), int(end)] == reads_forward)
        assert float(score) == pytest.approx(10, abs=1.5)


def test_the_other_files_agree_with_the_table(run):
    result, _, _ = run
    (matrix, *_) = read_motifs(result.output / "motifs.meme")
    assert (matrix.consensus, matrix.identifier) == (result.rows[0]["consensus"], "CTCF:pattern_1")
    text = (result.output / "index.html").read_text()
    for row in result.rows:
        assert (result.output / row["logo"]).read_bytes().startswith(b"\x89PNG")
        assert f'src="{row["logo"]}"' in text
    again = motifs([result.output.parent / "effects.h5"], result.output, window=0,
                   database=result.output.parent / "database.meme")  # fmt: skip
    assert again.rows == result.rows


def test_weak_patterns_are_left_out(run, tmp_path, capsys):
    result, _, _ = run
    files = [result.output.parent / name for name in ("effects.h5", "database.meme")]
    weak = motifs(files[:1], tmp_path / "out", database=files[1], window=0, min_contribution=11)
    assert weak.rows == []
    line = f"contributions below min_contribution 11: {len(result.rows)}\n"
    assert line in capsys.readouterr().err


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_windows_without_a_motif_give_an_empty_table(tmp_path, capsys, scale):
    pytest.importorskip("modiscolite")
    pytest.importorskip("memelite")
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list(LETTERS), WINDOW_BP)) for _ in range(5)]
    scores = scale * rng.normal(size=(5, WINDOW_BP))
    effects = write_attributions(tmp_path / "effects.h5", texts, scores)
    database = tmp_path / "one.meme"
    database.write_text(meme_text([MotifMatrix("M1", "", np.eye(4))], {"M1": 1}))
    result = motifs([effects], tmp_path / "out", database=database)
    assert result.rows == []
    assert (tmp_path / "out/motifs.tsv").read_text().startswith("label\tpattern\t")
    assert (tmp_path / "out/hits.bed").read_text() == ""
    assert "CTCF: no pattern in 5 windows" in capsys.readouterr().err


def test_q_values_are_those_of_scipy():
    p = np.random.default_rng(0).uniform(size=(7, 30)) ** 3
    assert np.allclose(q_values(p).ravel(), false_discovery_control(p.ravel()))
    assert q_values(p).shape == p.shape


def test_meme_text_is_read_back(tmp_path):
    counts = np.random.default_rng(0).dirichlet([1, 1, 1, 1], size=9).T
    path = tmp_path / "m.meme"
    path.write_text(
        meme_text([MotifMatrix("CTCF:pattern_1", "CTCF MA0139.2", counts)], {"CTCF:pattern_1": 12})
    )
    (matrix,) = read_motifs(path)
    assert (matrix.identifier, matrix.name) == ("CTCF:pattern_1", "CTCF MA0139.2")
    assert np.allclose(matrix.shares, counts, atol=1e-6)
    assert "w= 9 nsites= 12" in path.read_text()


def test_a_cut_window_has_the_coordinates_of_its_bases(tmp_path):
    texts, scores, _ = planted(3)
    path = write_attributions(tmp_path / "a.h5", texts, scores, starts=[0, 500, 70])
    windows = read_attributions(path, 51)
    assert windows.starts.tolist() == [34, 534, 104]
    assert windows.ends.tolist() == [85, 585, 155]
    rows = windows.bases.argmax(axis=2)
    assert ["".join(LETTERS[i] for i in row) for row in rows] == [text[34:85] for text in texts]
    assert np.allclose(windows.scores, scores[:, 34:85])


class Seqlet:
    def __init__(self, example_idx, start, end, is_revcomp):
        self.example_idx, self.start, self.end, self.is_revcomp = (
            example_idx,
            start,
            end,
            is_revcomp,
        )


class Aligned:
    """A pattern of tfmodisco-lite: TGAC at positions 3 to 6 of 12, seqlets on both strands."""

    sequence = np.full((12, 4), 0.25)
    contrib_scores = np.zeros((12, 4))
    seqlets = (Seqlet(0, 20, 32, False), Seqlet(1, 40, 52, True))


def test_positions_on_the_reverse_strand_are_cut_from_the_other_end(tmp_path):
    Aligned.contrib_scores[3:7] = np.eye(4)[[3, 2, 0, 1]]
    texts = ["A" * 23 + "TGAC" + "A" * 93, "A" * 45 + "GTCA" + "A" * 71]
    scores = np.zeros((2, WINDOW_BP))
    scores[0, 23:27] = scores[1, 45:49] = 0.5
    windows = read_attributions(write_attributions(tmp_path / "a.h5", texts, scores))
    pattern = _trimmed(Aligned, windows, "pattern_1", "+")
    assert pattern.hits == [Hit(0, 23, 27, False), Hit(1, 45, 49, True)]
    assert bed_lines([pattern], {"CTCF": windows}) == [
        "chr1\t23\t27\tCTCF:pattern_1\t2\t+\n",
        "chr1\t1045\t1049\tCTCF:pattern_1\t2\t-\n",
    ]


def test_a_hit_of_two_windows_is_there_once(tmp_path):
    texts = ["C" * 10 + "A" * 110, "A" * 120]
    scores = np.full((2, WINDOW_BP), 0.5)
    scores[1] = -0.75
    windows = read_attributions(
        write_attributions(tmp_path / "a.h5", texts, scores, starts=[0, 10])
    )
    hits = [Hit(0, 30, 34, False), Hit(1, 20, 24, False)]
    pattern = Pattern("CTCF", "pattern_1", "+", np.full((4, 4), 0.25), np.zeros((4, 4)), hits)
    assert bed_lines([pattern], {"CTCF": windows}) == ["chr1\t30\t34\tCTCF:pattern_1\t-3\t+\n"]


def test_the_page_is_escaped():
    row = dict.fromkeys(("label", "pattern", "sign", "seqlets", "consensus", "matrix", "q", "other_matches",
                         "mean_contribution", "logo"), "<b>")  # fmt: skip
    assert "<b>" not in page([row], "<b>")


def test_other_files_are_one_line(tmp_path):
    texts, scores, _ = planted(2)
    good = write_attributions(tmp_path / "a.h5", texts, scores)
    predictions = write_attributions(
        tmp_path / "p.h5", texts, scores, form="dna-bigbird predictions"
    )
    same = write_attributions(tmp_path / "b.h5", texts, scores)
    hg38 = write_attributions(tmp_path / "c.h5", texts, scores, label="SP1", assembly="hg38")
    (tmp_path / "text.h5").write_text("no")
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/thesis.md").write_text("")
    out = tmp_path / "out"
    for files, line in (
        (
            [predictions],
            r"p\.h5: .* its format is 'dna-bigbird predictions'.*attribute --output FILE\.h5",
        ),
        ([tmp_path / "text.h5"], r"text\.h5: not an HDF5 file"),
        ([tmp_path / "no.h5"], r"no\.h5: no such file"),
        ([tmp_path / "empty"], r"empty: this folder has no \.h5 file"),
        ([], r"attributions names no file"),
        ([good, same], r"b\.h5: label CTCF, as .*a\.h5"),
        ([good, hg38], r"c\.h5: assembly hg38, but .*a\.h5 has toy"),
    ):
        with pytest.raises(InputError, match=line):
            motifs(files, out)
    with pytest.raises(InputError, match=r"other: the folder holds thesis\.md"):
        motifs([good], tmp_path / "other")
    with pytest.raises(InputError, match=r"seqlet_bp=?\s?3"):
        motifs([good], out, seqlet_bp=3)
    assert not out.exists()


def test_few_matrices_are_noted(tmp_path, capsys):
    path = tmp_path / "one.meme"
    path.write_text(meme_text([MotifMatrix("M1", "", np.eye(4))], {"M1": 1}))
    assert read_database(path).name == "one.meme"
    assert "1 matrices; Tomtom's p values are reliable from about 50 on" in capsys.readouterr().err


@pytest.mark.skipif(find_spec("modiscolite") is not None, reason="the extra is installed")
def test_a_missing_extra_is_one_line(tmp_path):
    texts, scores, _ = planted(2)
    effects = write_attributions(tmp_path / "a.h5", texts, scores)
    database = tmp_path / "one.meme"
    database.write_text(meme_text([MotifMatrix("M1", "", np.eye(4))], {"M1": 1}))
    with pytest.raises(MissingExtraError, match=r"modiscolite.*pip install '\S+\[motifs\]'"):
        motifs([effects], tmp_path / "out", database=database)
    assert not (tmp_path / "out").exists()
