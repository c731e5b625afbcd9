"""The whole page: self-contained, valid, true to its files, honest about what is missing."""

import json
import re

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.metrics.scores import shown
from dna_bigbird.report.page import build_report

STRONGEST = "token_bigram_informed_masked"


def report_of(folder, results=None):
    return build_report(
        results or folder / "results",
        folder / "config.yaml",
        folder / "promoters.bed",
        folder / "peaks.tsv",
    )


def test_the_page_parses_and_loads_nothing(run, read_page):
    page = read_page(run.page)
    page.check_stands_alone()
    style = re.search(r"<style>(.*?)</style>", run.page, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    assert "//" not in style
    assert len(run.page.encode()) < 3_000_000


def test_every_picture_is_on_the_page_and_most_have_values(run, read_page):
    page = read_page(run.page)
    assert sum("data-marks" in attributes for _, attributes in page.tags) == 19
    assert sum(tag == "img" for tag, _ in page.tags) == len(run.gallery.figures) == 19


def numbers_of(value):
    if isinstance(value, dict):
        return [x for v in value.values() for x in numbers_of(v)]
    return [value] if isinstance(value, float) else []


def test_numbers_are_those_of_the_files(run, read_page):
    page = read_page(run.page)
    for name in ("pretrained", "promoter", "chromatin"):
        metrics = json.loads((run.results / "models" / name / "metrics.json").read_text())
        for value in numbers_of(metrics):
            assert repr(value) in page.numbers, (name, value)
            assert shown(value) in run.page or f"{value:.1%}" in run.page
    rows = (run.results / "evaluation" / "chromatin" / "per_label.tsv").read_text().splitlines()[1:]
    for row in rows:
        for cell in row.split("\t")[3:]:
            assert cell == "nan" or repr(float(cell)) in page.numbers


def test_two_reports_of_the_same_files_are_equal(run):
    again, gallery = report_of(run.folder)
    assert again == run.page
    assert list(gallery.figures) == list(run.gallery.figures)


def test_names_and_settings_are_escaped(run, read_page):
    assert "p300<&>" not in run.page
    assert "<b>not markup</b>" not in run.page
    words = read_page(run.page).words
    assert "p300<&>" in words
    assert "note: '<b>not markup</b> & so on'" in words


def test_a_semi_synthetic_run_says_so_and_a_real_one_does_not(run, tmp_path, write_example):
    assert "Semi-synthetic demo." in run.page
    assert run.gallery.tag.startswith("semi-synthetic")
    write_example(tmp_path, semi_synthetic=False)
    page, gallery = report_of(tmp_path)
    assert "semi-synthetic" not in page.lower()
    assert gallery.tag == ""
    assert "Small run: read the scores accordingly." in page


def test_the_scale_of_the_run_is_said(run, read_page):
    words = read_page(run.page).words
    assert "1.2 million parameters" in words
    assert "pretrained for 400 steps of 32 sequences" in words
    assert "The paper: 110 million parameters, 1,000,000 steps" in words


def test_the_winner_flips_with_the_numbers(run, read_page, tmp_path, write_example):
    words = read_page(run.page).words
    assert "Promoters. The model is better: AUROC" in words
    assert "Chromatin labels. The model is better: macro AUROC" in words
    write_example(tmp_path, strength=0.5, kmer=1.6)
    words = read_page(report_of(tmp_path)[0]).words
    assert "Promoters. The baseline k-mer regression is better: AUROC" in words
    assert "Chromatin labels. The baseline k-mer regression is better: macro AUROC" in words
    assert "do not show that the network is worth its cost" in words
    assert "Promoters. The model is better" not in words


def test_pretraining_names_every_kind_of_baseline(run, read_page):
    words = read_page(run.page).words
    assert (
        "The model is better: bits per base 1.921 for the model, 1.951 for the token unigram"
        in words
    )
    assert (
        "The best masked baseline, the informed token bigram (masked) on the same positions is better: "
        "bits per base 1.921 for the model, 1.893 for the best masked baseline" in words
    )
    assert "The best causal baseline, the base n-gram (causal), needs 1.918" in words


def test_parts_of_the_genome_that_have_bases_are_listed(tmp_path, write_example, read_page):
    results = write_example(tmp_path)
    path = results / "models/pretrained/metrics.json"
    metrics = json.loads(path.read_text())
    nothing = {"bits_per_base_masked": None, "n_bp": 0}
    for table, bits in ((metrics, 1.811), (metrics["baselines"][STRONGEST], 1.877)):
        part = {"bits_per_base_masked": bits, "n_bp": 74_000}
        table["by_chromosome"] = {"chr8": part}
        table["by_repeat_class"] = {"unmasked": part, "soft_masked": part, "unknown": nothing}
    path.write_text(json.dumps(metrics))
    text = " ".join(read_page(report_of(tmp_path)[0]).text)
    start = text.index("Bits per base by part")
    shown_text = " ".join(text[start : start + 800].split()).partition("masked bp")[2]
    assert "soft masked 1.811 1.877 – 74,000" in shown_text
    assert "chr8" not in shown_text
    assert "unknown" not in shown_text


def test_classes_of_sequence_are_in_one_table(tmp_path, write_example, read_page):
    results = write_example(tmp_path)
    path = results / "models/pretrained/metrics.json"
    metrics = json.loads(path.read_text())
    name = "model_minus_baseline_masked"
    gain = {name: -0.066, f"{name}_low": -0.08, f"{name}_high": -0.05}
    for table, bits in ((metrics, 1.811), (metrics["baselines"][STRONGEST], 1.877)):
        part = {"bits_per_base_masked": bits, "n_bp": 74_000} | (gain if bits > 1.85 else {})
        table["by_class"] = {"unseen": part, "seen": part | {"n_bp": 0}}
    path.write_text(json.dumps(metrics))
    text = " ".join(" ".join(read_page(report_of(tmp_path)[0]).text).split())
    assert "class of sequence unseen 1.811 1.877 -0.066 [ -0.080 , -0.050 ] 74,000" in text
    assert "On sequence not seen in training (74,000 masked bp): The model is better" in text
    assert "scored: the 74,000 masked bp not seen in training" in text


def test_a_label_without_positives_is_not_defined(run, read_page):
    assert (
        "REST 0 not defined (no positives) not defined (no positives)" in read_page(run.page).words
    )
    assert "nan" not in re.sub(r'src="[^"]*"', "", run.page).lower().split()


def test_undefined_headline_scores(tmp_path, write_example, read_page):
    results = write_example(tmp_path)
    path = results / "models" / "chromatin" / "metrics.json"
    metrics = json.loads(path.read_text())
    metrics |= {"macro_auroc": None, "macro_auroc_low": None, "macro_auroc_high": float("nan")}
    path.write_text(json.dumps(metrics))
    words = read_page(report_of(tmp_path)[0]).words
    assert "The model's macro AUROC is not defined on this test set" in words


def test_a_model_without_next_sentence_prediction(tmp_path, write_example, read_page):
    results = write_example(tmp_path)
    path = results / "models" / "pretrained" / "metrics.json"
    words = read_page(report_of(tmp_path)[0]).words
    assert "next sentence ( NSP ) right in 54.1% [ 48.1% , 60.2% ] of 256 pairs" in words
    assert "whether one stretch of DNA follows another" in words
    metrics = json.loads(path.read_text())
    rest = {name: value for name, value in metrics.items() if not name.startswith("nsp_")}
    path.write_text(json.dumps(rest))
    words = read_page(report_of(tmp_path)[0]).words
    assert "next sentence ( NSP ) not trained" in words
    assert "whether one stretch of DNA follows another" not in words


def test_the_strip_shows_a_rich_region_and_names_its_split(run, read_page):
    words = read_page(run.page).words
    assert "The region is in the test split: no model is trained on it." in words
    title = run.gallery.figures["genome_strip"].axes[0].get_title(loc="left")
    chrom, start, end = re.match(r"(\w+):([\d,]+)-([\d,]+):", title).groups()
    assert chrom == "demo22"
    assert int(end.replace(",", "")) - int(start.replace(",", "")) + 1 == 40_000
    assert 845_000 < int(start.replace(",", "")) < 862_000


OPTIONAL = {
    "trained/pretrained/history.tsv": "loss and bits per base over training",
    "tokenizer/metrics.json": "measurements of the tokenizer",
    "corpus": "documents.",
    "benchmarks": "time and memory",
    "predictions": "predicted tracks",
    "predictions/variants": "variants",
    "predictions/mutagenesis.tsv": "mutagenesis",
    "models/promoter": "the promoter model",
    "models/chromatin": "the chromatin model",
}


def remove(path):
    if path.is_dir():
        for child in path.iterdir():
            remove(child)
        path.rmdir()
    else:
        path.unlink()


def test_missing_optional_files_are_named_and_do_not_stop_the_report(
    tmp_path, write_example, read_page
):
    results = write_example(tmp_path)
    for name in (*OPTIONAL, "evaluation/pretrained", "trained", "promoter"):
        if (results / name).exists():
            remove(results / name)
    page, _ = build_report(results, tmp_path / "config.yaml")
    words = read_page(page).words
    for note in OPTIONAL.values():
        assert f"Not run: {note}" in words
    assert words.count("Not run") >= len(OPTIONAL)


def test_without_truth_the_strip_says_which_option_gives_it(run, read_page):
    page, _ = build_report(run.results, run.folder / "config.yaml")
    words = read_page(page).words
    assert "It comes from the option --truth_promoters" in words
    assert "It comes from the option --truth_peaks" in words
    assert "No truth is given" in words


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("models/pretrained/metrics.json", r"metrics\.json: no such file; the rule evaluate_lm"),
        ("models/pretrained/config.json", r"config\.json: no such file; the rule evaluate_lm"),
        ("models/promoter/metrics.json", r"no such file; the rule evaluate \(task promoter\)"),
        ("evaluation/chromatin/curves.tsv", r"curves\.tsv: no such file; .* \(task chromatin\)"),
        ("evaluation/chromatin/per_label.tsv", r"per_label\.tsv: no such file"),
    ],
)
def test_missing_required_files_name_the_rule(tmp_path, write_example, name, message):
    results = write_example(tmp_path)
    (results / name).unlink()
    with pytest.raises(InputError, match=message):
        report_of(tmp_path)


def test_a_damaged_config_of_a_model_is_named(tmp_path, write_example):
    path = write_example(tmp_path) / "models/promoter/config.json"
    path.write_text(path.read_text().replace('"max_steps": 400', '"max_steps": "many"'))
    with pytest.raises(InputError, match=r"promoter/config\.json: .*training: max_steps"):
        report_of(tmp_path)


def test_missing_folder_and_configuration(tmp_path, run):
    with pytest.raises(InputError, match=r"nothing: no such results folder.*snakemake"):
        build_report(tmp_path / "nothing", run.folder / "config.yaml")
    with pytest.raises(InputError, match=r"x\.yaml: no such file; it is the workflow's config"):
        build_report(run.results, tmp_path / "x.yaml")
    (tmp_path / "bad.yaml").write_text("a: [1\n")
    with pytest.raises(InputError, match=r"bad\.yaml:\d+: not YAML"):
        build_report(run.results, tmp_path / "bad.yaml")


def test_negatives_leakage_baselines_calibration_and_members_are_named(run, read_page):
    words = " ".join(" ".join(read_page(run.page).text).split())
    for part in (
        "Negatives: random_base.",
        "Here the k-mer baseline reaches F1",
        "AUROC , random_base negatives; higher is better",
        "0.520 for the baseline GC content",
        "that training, validation and test share. It lists nothing",
        "expected error 0.020; 0.120 before the correction that finetune fitted on",
        "means of 2 models, trained with different seeds",
    ):
        assert part in words, part
    assert {"promoter_calibration", "chromatin_calibration"} <= set(run.gallery.figures)


def test_a_run_from_a_given_encoder_has_no_pretraining(tmp_path, write_example, read_page):
    results = write_example(tmp_path)
    for name in ("corpus", "tokenizer", "models/pretrained", "evaluation/pretrained"):
        remove(results / name)
    config = tmp_path / "config.yaml"
    config.write_text("pretrained: bundled\n" + config.read_text())
    page = read_page(report_of(tmp_path)[0])
    assert "Encoder and tokenizer are those of the bundled encoder of dna-bigbird" in page.words
    assert "Promoters. The model is better: AUROC" in page.words
    for absent in (
        "Corpus and tokenizer",
        "bits per base, masked",
        "was pretrained for",
        "Not run",
    ):
        assert absent not in page.words
    addresses = {x["href"][1:] for tag, x in page.tags if tag == "a"}
    assert addresses <= {x["id"] for _, x in page.tags if "id" in x}

    for name in ("promoter", "chromatin"):
        remove(results / "models" / name)
    with pytest.raises(InputError, match=r"models: no model; the rule evaluate makes it"):
        report_of(tmp_path)


def test_the_verdict_is_against_the_best_baseline(tmp_path, write_example, read_page):
    """A baseline above model and k-mers, clearly so on the same draws: summary and section name it."""
    write_example(tmp_path)
    path = tmp_path / "results" / "models" / "promoter" / "metrics.json"
    metrics = json.loads(path.read_text())
    best = {key: 0.99 for key in ("auroc", "auroc_low", "auroc_high")}
    metrics["baselines"]["positional"] = metrics["baselines"]["kmer"] | best
    gain = metrics["auroc"] - 0.99
    metrics |= {
        "auroc_gain_over_positional": gain,
        "auroc_gain_over_positional_low": gain - 0.01,
        "auroc_gain_over_positional_high": gain + 0.01,
    }
    path.write_text(json.dumps(metrics))
    words = read_page(report_of(tmp_path)[0]).words
    name = "the baseline regression on bases by position"
    assert words.count(f"The{name[3:]} is better: AUROC") == 2
    assert "The model is better: AUROC" in words, "of k-mers, named apart"
