"""The workflow plans the same jobs however it is called, with commands that the program understands."""

import os
import re
import shlex
from pathlib import Path

import pytest

from dna_bigbird.bundles.bundled import ENCODER
from dna_bigbird.cli.parser import build_parser
from dna_bigbird.cli.reading import read_arguments

ROOT = Path(__file__).parents[2]

DEMO_JOBS = {
    "demo_data": 1,
    "genome": 1,
    "documents": 3,
    "train_tokenizer": 1,
    "tokenize": 3,
    "token_statistics": 3,
    "pretrain": 1,
    "evaluate_lm": 1,
    "promoter_set": 1,
    "chromatin_set": 1,
    "leakage": 1,
    "baseline": 8,
    "finetune": 2,
    "evaluate": 2,
    "prediction_regions": 1,
    "predict": 2,
    "score_variants": 1,
    "zero_shot": 2,
    "rank_variants": 1,
    "mutagenesis": 1,
    "browser_regions": 1,
    "browser_predictions": 1,
    "browser_attributions": 1,
    "browser": 1,
    "write_config": 1,
    "report": 1,
}


@pytest.mark.parametrize(
    "arguments", [("-n",), ("-n", "all"), ("-s", "workflow/Snakefile", "-n")], ids=" ".join
)
def test_every_way_to_call_it_plans_the_demo(workflow, arguments):
    jobs = workflow.jobs_of(workflow.snakemake(*arguments))
    ends = {jobs.pop(name, 0) for name in ("all", "default")}
    assert ends == {0, 1}
    assert jobs.pop("total") == sum(jobs.values()) + 1
    assert jobs == DEMO_JOBS


@pytest.mark.parametrize(
    ("config", "target"),
    [
        ("config/config.yaml", "all"),
        ("config/grch37.yaml", "all"),
        ("tests/real/config.yaml", "all"),
        ("tests/real/heads_pieces.yaml", "experiments"),
        ("tests/real/heads.yaml", "experiments"),
    ],
)
def test_every_command_is_understood(workflow, config, target):
    """Option names, types and contradictory settings, without running anything."""
    if config.startswith("tests"):  # its inputs are not in every checkout
        text = (
            (ROOT / config).read_text().replace("../shared/", "./").replace("./tests/real/", "./")
        )
        (workflow.folder / "real.yaml").write_text(text)
        for name in re.findall(r"(?<=[ \[])\./[^,\s\]]+", text):
            (workflow.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (workflow.folder / name).touch()
        sheet = "label\tgroup\tcell\tpath\nA\tTF\t\treal.yaml\n"
        (workflow.folder / "peaks.tsv").write_text(sheet)
        config = "real.yaml"
    output = workflow.snakemake("-n", target, "--configfile", config)
    for command in workflow.commands_of(output.replace(" >> logs", " > logs")):
        name, *words = shlex.split(command)
        parser, _ = build_parser(name)
        read_arguments(parser, words)


def test_a_config_replaces_the_demos(workflow):
    """Snakemake merges: what only the demo says must not reach another run."""
    demo_only = {"gradient_clip", "max_piece_bp"}
    for key in demo_only:
        assert key in (ROOT / "config" / "config.yaml").read_text()
        assert key not in (ROOT / "config" / "grch37.yaml").read_text()
    output = workflow.snakemake("-n", "--configfile", "config/grch37.yaml")
    assert [key for key in demo_only if key in output] == []
    assert "demo" not in workflow.jobs_of(output)
    assert " results/grch37/report.html" in output
    written = {word for word in shlex.split(output, posix=False) if word.startswith("results/")}
    assert all(word.startswith("results/grch37") for word in written)


def test_without_sections_there_are_no_tasks(workflow):
    config = workflow.config(name="bare", promoter=None, chromatin=None, predictions=None)
    jobs = workflow.jobs_of(workflow.snakemake("-n", "--configfile", config))
    absent = ("promoter_set", "chromatin_set", "baseline", "finetune", "evaluate", "predict")
    assert not set(absent) & set(jobs)
    assert jobs["evaluate_lm"] == jobs["report"] == 1


def test_single_values_change_the_demo(workflow):
    output = workflow.snakemake("-n", "--config", "seed=7")
    assert "--seed 7 " in output
    assert " results/report.html" in output


def test_results_folder_can_be_named(workflow):
    config = workflow.config(name="other", results="elsewhere/run")
    output = workflow.snakemake("-n", "--configfile", config)
    assert "elsewhere/run/report.html" in output
    assert " results/" not in output


def test_held_out_regions_are_excluded_from_training_documents_only(workflow):
    commands = workflow.commands_of(workflow.snakemake("-n"))
    documents = {c.split("corpus/")[1].split(".")[0]: c for c in commands if c[:9] == "documents"}
    validation, test = '"demo22:730,001-850,000"', '"demo22:850,001-1,000,000"'
    assert f"--exclude '[{validation}, {test}]'" in documents["train"]
    assert f"--regions '[{validation}]'" in documents["validation"]
    assert f"--regions '[{test}]'" in documents["test"]
    assert "--exclude" not in documents["validation"] + documents["test"]


def test_prediction_regions_are_counted_from_0_in_bed(workflow):
    config = workflow.config(predictions={"regions": ["demo22:880,001-920,000"]})
    output = workflow.snakemake("-n", "--configfile", config)
    assert "'demo22\t880000\t920000'" in output
    assert "--stride" not in output
    # Along a genome the strand is unknown, also to a model that was trained on one.
    commands = re.findall(r"\bpredict --fasta .*", output)
    assert commands
    assert all("--strand both" in command for command in commands)


@pytest.mark.parametrize(
    ("peaks", "tracks"),
    [
        ({"A b": "./a.bed", "C": "b.bed", "D": "d.bed"}, ["a.bed", "d.bed"]),
        (["./a.bed", "b.txt", "A2.bed.gz"], ["A2.bed.gz"]),
        ("./sheet.tsv", ["all.narrowPeak", "a.bed"]),
    ],
)
def test_the_page_of_the_browser_has_the_tracks_that_there_are(workflow, peaks, tracks):
    """Peaks of the labels in a format that is shown, variants, and no start sites without promoters."""
    for name in ("a.bed", "b.bed", "d.bed", "b.txt", "A2.bed.gz", "all.narrowPeak", "v.vcf"):
        (workflow.folder / name).write_text("chr1\t1\t2\tname\n")
    (workflow.folder / "g.fa").write_text(">chr1\nACGT\n")
    rows = [
        "label\tgroup\tcell\tpath",
        "*\tTF\t\tall.narrowPeak",
        "A\tTF\t\ta.bed",
        "C\tTF\t\tb.bed",
    ]
    (workflow.folder / "sheet.tsv").write_text("\n".join(rows) + "\n")
    regions = ["chr1:2,001-2,100", "chr1:1,001-3,000", "chr1:5,001-6,000", "chr1:2,501-3,500"]
    page = {"model": "chromatin", "regions": regions, "labels": ["A*", "D"]}
    predictions = {"regions": ["chr1:1-1,000"], "browser": page}
    inputs = {"genome": ["./g.fa"], "peaks": peaks, "variants": "./v.vcf"}
    config = workflow.config(
        name="mine", assembly="toy", inputs=inputs, promoter=None, predictions=predictions
    )
    output = workflow.snakemake("-n", "-p", "results/mine/browser.html", "--configfile", config)
    (line,) = [line for line in output.splitlines() if "dna_bigbird view" in line]
    words = shlex.split(line.partition(" > logs")[0])
    files = words[words.index("--tracks") + 1 : words.index("--names")]
    folder = "results/mine/predictions/browser"
    assert files == [f"{folder}/attributed", f"{folder}/predicted", *tracks, "v.vcf"]
    assert len(words[words.index("--names") + 1 :]) == len(files)


def test_regions_of_the_browser_have_a_window_on_either_side(workflow):
    """Joined where they overlap then, and cut at the ends of the chromosome."""
    folder = workflow.folder / "results/mine"
    (folder / "genome").mkdir(parents=True)
    (folder / "genome/genome.fa").write_text(f">chr1\n{'A' * 9000}\n")
    (folder / "genome/genome.fa.fai").write_text("chr1\t9000\t6\t9000\t9001\n")
    (folder / "models/chromatin").mkdir(parents=True)
    (folder / "models/chromatin/config.json").write_text('{"window_bp": 600}')
    (workflow.folder / "g.fa").write_text(">chr1\nACGT\n")
    (workflow.folder / "a.bed").write_text("chr1\t1\t2\n")
    regions = ["chr1:501-600", "1:8,001-9,000", "chr1:2,001-2,100", "chr1:3,001-3,010"]
    page = {"model": "chromatin", "regions": regions, "labels": ["a"]}
    inputs = {"genome": ["./g.fa"], "peaks": ["./a.bed"]}
    predictions = {"regions": ["chr1:1-1,000"], "browser": page}
    config = workflow.config(
        name="mine", assembly="toy", inputs=inputs, promoter=None, predictions=predictions
    )
    bed = "results/mine/predictions/browser/regions.bed"
    options = ("--allowed-rules", "browser_regions", "--cores", "1", "--configfile", config)
    workflow.snakemake(bed, *options)
    rows = (workflow.folder / bed).read_text().splitlines()
    assert rows == ["chr1\t0\t1200", "chr1\t1400\t3610", "chr1\t7400\t9000"]


def test_without_chain_the_sites_are_used_as_they_are(workflow):
    (workflow.folder / "g.fa").write_text(">chr1\nACGT\n")
    (workflow.folder / "p.bed").write_text("chr1\t1\t2\tA\t0\t+\n")
    inputs = {"genome": ["./g.fa"], "promoters": "./p.bed"}
    config = workflow.config(name="mine", inputs=inputs, chromatin=None, predictions=None)
    output = workflow.snakemake("-n", "--configfile", config)
    assert "lift_over" not in workflow.jobs_of(output)
    assert "--sites p.bed" in output


def test_peak_files_of_a_local_sheet_are_inputs(workflow):
    """A changed peak file must make the labels anew."""
    (workflow.folder / "g.fa").write_text(">chr1\nACGT\n")
    (workflow.folder / "peaks").mkdir()
    (workflow.folder / "peaks" / "a.bed").write_text("chr1\t1\t2\n")
    sheet = workflow.folder / "peaks" / "sheet.tsv"
    sheet.write_text("label\tgroup\tcell\tpath\nA\tTF\tK562\ta.bed\n")
    inputs = {"genome": ["./g.fa"], "peaks": "./peaks/sheet.tsv"}
    config = workflow.config(name="mine", inputs=inputs, promoter=None, predictions=None)
    output = workflow.snakemake("-n", "--configfile", config)
    assert "peaks/sheet.tsv, peaks/a.bed" in output


@pytest.mark.parametrize(
    ("peaks", "words"),
    [
        ({"a b": "./a.bed", "CTCF": "b.bed"}, "--peaks 'a b=a.bed' CTCF=b.bed"),
        (["./a.bed", "b.bed"], "--peaks a.bed b.bed"),
    ],
)
def test_peak_files_are_named_in_the_config(workflow, peaks, words):
    """Without a sheet; each file is an input of the set."""
    (workflow.folder / "g.fa").write_text(">chr1\nACGT\n")
    for name in ("a.bed", "b.bed"):
        (workflow.folder / name).write_text("chr1\t1\t2\n")
    changes = {"inputs": {"genome": ["./g.fa"], "peaks": peaks}, "predictions": None}
    output = workflow.snakemake(
        "-n", "-p", "--configfile", workflow.config(assembly="toy", promoter=None, **changes)
    )
    assert words in output
    assert "a.bed, b.bed" in output
    assert "--truth_peaks" not in output


@pytest.mark.slow
def test_peaks_of_other_content_and_an_older_time_are_noticed(workflow):
    """As `cp -p`, `rsync -t` and `tar` leave them; equal content with a newer time makes nothing."""
    folder = workflow.folder
    (folder / "g.fa").write_text(f">chr1\n{'ACGTTGCA' * 5000}\n")
    (folder / "a.bed").write_text("chr1\t1000\t1400\nchr1\t22000\t22400\nchr1\t32000\t32400\n")
    (folder / "sheet.tsv").write_text("label\tgroup\tcell\tpath\nA\tTF\tK562\ta.bed\n")
    splits = {"validation": ["chr1:20001-30000"], "test": ["chr1:30001-40000"]}
    inputs = {"genome": ["./g.fa"], "peaks": "./sheet.tsv"}
    changes = {"promoter": None, "predictions": None, "splits": splits, "inputs": inputs}
    config = workflow.config(name="mine", assembly="toy", **changes)
    arguments = ("--cores", "1", "--configfile", config, "--", "results/mine/chromatin/set.h5")
    workflow.snakemake(*arguments)
    assert "Nothing to be done" in workflow.snakemake(*arguments)
    os.utime(folder / "a.bed")
    assert "Nothing to be done" in workflow.snakemake(*arguments)
    (folder / "a.bed").write_text((folder / "a.bed").read_text().replace("1000", "1200"))
    os.utime(folder / "a.bed", (1e9, 1e9))
    assert workflow.jobs_of(workflow.snakemake("-n", *arguments))["chromatin_set"] == 1


def test_labels_of_peaks_are_what_is_written(workflow):
    """YAML reads them as false, nothing, a number and a date; Snakemake's wildcards are in braces."""
    (workflow.folder / "g.fa").write_text(">chr1\nACGT\n")
    (workflow.folder / "a.bed").write_text("chr1\t1\t2\n")
    changes = {"inputs": {"genome": ["./g.fa"], "peaks": "PEAKS"}, "promoter": None}
    changes |= {"predictions__browser__labels": ["{x}", "NO"], "predictions__variants": None}
    path = workflow.folder / workflow.config(assembly="toy", **changes)
    keys = ("NO", "null", "007", "2001-01-01", "'{x}'")
    path.write_text(
        path.read_text().replace("PEAKS", "{" + ", ".join(f"{x}: ./a.bed" for x in keys) + "}")
    )
    output = workflow.snakemake("-n", "-p", "--configfile", path.name)
    assert "--peaks NO=a.bed null=a.bed 007=a.bed 2001-01-01=a.bed '{x}=a.bed'" in output
    assert "--names attribution predicted 'NO observed' '{x} observed'" in output


def test_a_run_from_a_bundle_has_no_pretraining(workflow):
    sections = (
        "documents",
        "tokenizer",
        "model",
        "masking",
        "objective",
        "pretraining",
        "evaluation",
    )
    without = dict.fromkeys((*sections, "text"))
    config = workflow.config(name="mine", pretrained="bundled", **without)
    output = workflow.snakemake("-n", "-p", "--configfile", config)
    jobs = workflow.jobs_of(output)
    made = (
        "documents",
        "train_tokenizer",
        "tokenize",
        "token_statistics",
        "pretrain",
        "evaluate_lm",
    )
    assert jobs == {name: count for name, count in DEMO_JOBS.items() if name not in made} | {
        "default": 1,
        "total": sum(DEMO_JOBS.values()) + 1 - sum(DEMO_JOBS[x] for x in made),
    }
    trainings = [
        line for line in workflow.commands_of(output.replace(" >> ", " > ")) if "finetune" in line
    ]
    assert [line.split("--pretrained ")[1].split()[0] for line in trainings] == [str(ENCODER)] * 2


def test_sections_with_defaults_may_be_left_out(workflow):
    sections = ("documents", "tokenizer", "model", "masking", "objective", "evaluation")
    absent = dict.fromkeys(sections)
    config = workflow.config(name="mine", **absent, pretraining={"max_steps": 100})
    output = workflow.snakemake("-n", "-p", "--configfile", config)
    (pretrain,) = [x for x in workflow.commands_of(output) if x.startswith("pretrain ")]
    assert re.search(r"--threads \d+ +--training.max_steps 100$", pretrain)


def test_a_failed_command_before_a_pipe_fails_the_rule(workflow):
    """`shell.prefix` replaces the strict mode that Snakemake's rules have."""
    with (workflow.folder / "workflow/Snakefile").open("a") as file:
        file.write("\n\nrule failing:\n    shell:\n        'false | cat'\n")
    workflow.snakemake("--cores", "1", "failing", check=False)
