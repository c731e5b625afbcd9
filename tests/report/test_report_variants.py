"""Variants and mutagenesis in the report: numbers of the files, words that follow from them."""

import json

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.evaluation.rendering import Gallery
from dna_bigbird.prediction.mutagenesis_figure import mutagenesis_figure
from dna_bigbird.report.page import build_report, mutagenesis
from dna_bigbird.report.sections.variant_section import variants


def test_ranked_variants_say_which_source_is_better(run, read_page):
    page = read_page(run.page)
    metrics = json.loads(
        (run.results / "predictions/variants/ranking_chromatin/metrics.json").read_text()
    )
    for table in (metrics, *metrics["baselines"].values()):
        for key in ("auroc_break", "auroc_break_low", "auroc_create_own_label_high"):
            assert key not in table or repr(table[key]) in page.numbers
    assert "counting bases" in page.words
    assert "masked likelihood" not in page.words
    assert (
        "A broken site above a neutral variant: The model's 95 % interval is above 0.5"
        in page.words
    )
    told = "No claim on 55 rows: AUROC 0.712 for the model, 0.823 for k-mer baseline"
    assert told in page.words, "the best source, not k-mers by name"
    assert "25 of 55" in page.words


def test_the_largest_effects_come_first_and_skipped_alleles_are_counted(run, read_page):
    words = read_page(run.page).words
    rows = (run.results / "predictions/variants/chromatin.tsv").read_text().splitlines()[1:-1]
    strongest = max(rows, key=lambda r: max(abs(float(x)) for x in r.split("\t")[6::2]))
    _, pos, name, *_ = strongest.split("\t")
    after = words[words.index("Largest effects among 61 alleles, chromatin model, 1 alleles") :]
    assert f"{int(pos):,} A>C {name}" in after[:160]


def test_a_users_own_variants_are_not_ranked(tmp_path, write_example):
    results = write_example(tmp_path, semi_synthetic=False)
    gallery = Gallery()
    (table,) = variants(results / "predictions", gallery)
    assert table.ranking is None
    assert table.largest.num_alleles > len(table.largest.effects) > 0
    page, _ = build_report(results, tmp_path / "config.yaml")
    section = page[page.index('<section id="variants">') : page.index('<section id="mutagenesis">')]
    assert "Largest effects" in section
    assert "neutral" not in section
    assert gallery.figures == {}


def test_the_matrix_reaches_the_picture(run):
    """Colours of the first label, base by base: those of the file, nothing where the genome has N."""
    lines = (run.results / "predictions/mutagenesis.tsv").read_text().splitlines()[1:]
    expected = np.array([[float(x) for x in line.split("\t")[3:7]] for line in lines]).T
    images = [ax.images[0] for ax in run.gallery.figures["mutagenesis"].axes if ax.images]
    shown = images[0].get_array().filled(np.nan)
    np.testing.assert_array_equal(shown, expected)
    assert images[0].get_extent()[:2] == [860_000.5, 860_030.5]


def test_letters_point_up_where_changes_lower_the_score():
    effects = np.zeros((3, 4, 1))
    effects[1] = [[-1], [0], [-2], [-3]]  # the reference is C
    figure, drawn = mutagenesis_figure("chr1", 0, "ACG", ["only"], effects, effect="diff")
    heights = [path.vertices[:, 1].max() for path in figure.axes[0].collections[0].get_paths()]
    assert heights == pytest.approx([0, 2, 0])
    assert drawn == ["only"]


def test_of_many_labels_those_with_the_largest_effects_are_drawn():
    effects = np.zeros((150, 4, 30))
    effects[0, 1, [7, 3, 20]] = [5.0, -6.0, 4.0]
    effects[0, 1] += 0.1
    names = [f"L{i}" for i in range(30)]
    _, drawn = mutagenesis_figure("chr1", 0, "A" * 150, names, effects, effect="diff")
    assert len(drawn) == 8
    assert {"L3", "L7", "L20"} <= set(drawn)
    assert drawn == sorted(drawn, key=names.index)


def test_a_region_too_long_for_a_picture_names_the_matrix(tmp_path):
    rows = "".join(f"chr1\t{i + 1}\tA\t0\t1\t1\t1\n" for i in range(1001))
    header = "chrom\tpos\tref" + "".join(f"\tX_{b}_diff" for b in "ACGT")
    (tmp_path / "mutagenesis.tsv").write_text(f"{header}\n{rows}")
    gallery = Gallery()
    problem = mutagenesis(tmp_path, gallery).problem
    assert problem == "a picture shows at most 1,000 bases, not 1,001"
    assert gallery.figures == {}


def test_a_matrix_of_another_form_is_named(tmp_path):
    (tmp_path / "mutagenesis.tsv").write_text("chrom\tpos\tref\tX\nchr1\t1\tA\t0\n")
    with pytest.raises(InputError, match=r"mutagenesis.tsv:1: expected four columns per label"):
        mutagenesis(tmp_path, Gallery())
