"""What the rules name: models, seeds, files and options of a run, from a checked config."""

import json
import re
import shlex
from pathlib import Path

import pytest

from dna_bigbird.workflow.browser import browser_tracks
from dna_bigbird.workflow.launch import Launcher
from dna_bigbird.workflow.options import one_of
from tests.workflow.run_of_config import run_of

ROOT = Path(__file__).parents[2]
HEADS = """
promoter: {upstream: 600, ensemble: 2, baselines: [kmer, cnnprom]}
chromatin: {window: 1000, training: {max_steps: 3, devices: 2}}
experiments:
  heads:
    many: {promoter: {ensemble: 1, dropout: 0.2, splits: {folds: 5, fold: 1}}, seeds: [3, 4], seed: 9}
    fresh: {promoter: {ensemble: 1}, set: many, seeds: 2, from_scratch: true}
    bases: {promoter: {near_identical: keep, training: {max_steps: 7}}, tokenizer: bases, model: {ffn_size: 64}}
    shared: {chromatin: {head: {dropout: 0.5}}, set: chromatin, seed: 1}
    tuned: {promoter: {ensemble: 1}, pretrained: listed}
  variants:
    one: {masking: {fraction: 0.2}}
    listed: {seeds: [11, 4], objective: {repeat_weight: 0.5}}
  table6: [many, promoter]
  table1: [one, listed]
"""


@pytest.fixture(scope="module")
def run():
    return run_of(HEADS)


def words(text: str) -> dict[str, str]:
    """Options by name."""
    parts = shlex.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_rules_have_no_functions_of_their_own():
    """Python that is longer than an expression is in the package, where mypy and tests see it."""
    files = [ROOT / "Snakefile", ROOT / "workflow/Snakefile", *ROOT.glob("workflow/rules/*.smk")]
    found = [
        f"{path.name}: {line}"
        for path in files
        for line in re.findall(r"^ *(?:async )?def .*", path.read_text(), flags=re.MULTILINE)
    ]
    assert found == []


def test_models_and_their_trainings_have_names_and_seeds(run):
    assert set(run.heads) == {
        "promoter", "chromatin", "heads/many", "heads/many/seed3", "heads/many/seed4",
        "heads/fresh", "heads/fresh/seed5", "heads/fresh/seed6", "heads/bases", "heads/shared",
        "heads/tuned",
    }  # fmt: skip
    assert {name: member.seed for name, member in run.members.items()} == {
        "promoter-0": 5, "promoter-1": 6, "chromatin": 5,
        "heads/many": 9, "heads/many/seed3": 3, "heads/many/seed4": 4,
        "heads/fresh": 5, "heads/fresh/seed5": 5, "heads/fresh/seed6": 6,
        "heads/bases-0": 5, "heads/bases-1": 6, "heads/shared": 1, "heads/tuned": 5,
    }  # fmt: skip
    assert run.ensembles == ["promoter", "heads/bases"]
    assert run.repeated_heads == ["heads/many", "heads/fresh"]
    scored = {
        name: run.heads[f"heads/{name}"].scored_seed for name in ("many/seed3", "fresh/seed6")
    }
    assert scored == {"many/seed3": 9, "fresh/seed6": 5}


def test_a_set_is_shared_with_what_names_it(run):
    data = {name: head.data for name, head in run.heads.items()}
    assert data["heads/fresh/seed6"] == data["heads/many/seed3"] == "results/exp/heads/many/set.h5"
    assert data["heads/shared"] == data["chromatin"] == "results/exp/chromatin/set.h5"
    assert run.set_heads("promoter") == ["promoter", "heads/many", "heads/bases", "heads/tuned"]
    assert run.set_heads("chromatin") == ["chromatin"]


def test_options_of_a_set_are_those_of_its_command_alone(run):
    assert words(run.heads["promoter"].set_options) == {"--upstream": "600"}
    bases = words(run.heads["heads/bases"].set_options)
    assert bases == {"--upstream": "600", "--near_identical": "keep"}
    assert words(run.heads["chromatin"].set_options) == {"--window": "1000"}
    assert words(run.heads["heads/many"].split_options) == {
        "--split.folds": "5",
        "--split.fold": "1",
    }
    assert run.heads["heads/fresh"].split_options == run.heads["heads/many"].split_options
    assert words(run.heads["promoter"].split_options)["--split.test"] == '["demo22:101-200"]'


def test_a_variant_changes_nested_sections_key_by_key(run):
    member = run.members["heads/shared"]
    assert member.training == {"max_steps": 3, "devices": 2}
    assert words(member.head.group_options("head")) == {"--head.dropout": "0.5"}
    assert words(run.members["heads/bases-1"].head.group_options("training")) == {
        "--training.max_steps": "7"
    }
    assert run.members["promoter-0"].training == {}


def test_networks_have_the_seed_of_a_training_and_words_that_of_the_set(run):
    folder = "results/exp/baselines/heads/many"
    assert run.heads["heads/fresh/seed6"].baselines == {
        "kmer": f"{folder}/kmer.h5",
        "cnnprom": f"{folder}/cnnprom/seed6.h5",
    }
    assert run.heads["heads/many"].baselines["cnnprom"] == f"{folder}/cnnprom.h5"
    assert run.seed_baselines("heads/many") == [
        f"kmer={folder}/kmer.h5",
        f"cnnprom={folder}/cnnprom/seed3.h5",
        f"cnnprom={folder}/cnnprom/seed4.h5",
    ]
    assert run.network_seed("heads/many", "") == 9
    assert run.network_seed("heads/many", "/seed4") == 4


def test_leakage_is_reported_where_near_identical_sequences_are_dropped(run):
    found = {name: run.heads[name].leakage for name in ("promoter", "chromatin", "heads/bases")}
    assert found == {
        "promoter": "results/exp/promoter/leakage.tsv",
        "chromatin": [],
        "heads/bases": [],
    }
    assert run.heads["heads/fresh/seed5"].leakage == "results/exp/heads/many/leakage.tsv"


def test_what_a_training_starts_from(run):
    start = {name: run.heads[f"heads/{name}"] for name in ("many", "bases", "tuned", "fresh")}
    assert start["many"].pretrained == "results/exp/trained/pretrained"
    assert start["tuned"].pretrained == "results/exp/experiments/runs/listed/seed11/trained"
    assert start["bases"].pretrained == []
    assert words(start["bases"].start_options([])) == {
        "--tokenizer": "bases",
        "--model.ffn_size": "64",
    }
    assert words(start["fresh"].start_options("b")) == {
        "--pretrained": "b",
        "--from_scratch": "true",
    }


def test_variants_of_pretraining_are_trained_per_seed(run):
    trained = run.variant_trainings
    assert {name: x.seed for name, x in trained.items()} == {
        "one": 5,
        "listed/seed11": 11,
        "listed/seed4": 4,
    }
    assert words(trained["one"].options("masking", "masking")) == {"--masking.fraction": "0.2"}
    assert run.pretraining.options("masking", "masking") == ""
    assert trained["listed/seed4"].genome_files == [run.genome, f"{run.genome}.fai"]
    assert trained["one"].genome_files == []
    assert run.compared_variants("table1") == ["one", "listed/seed11", "listed/seed4"]


def test_teachers_are_bundles_or_the_trainings_of_a_variant():
    """The variants themselves learn from the tokens, unless they name teachers."""
    run = run_of("""
objective: {nsp_weight: 0, teachers: [many, one, ./other/bundle]}
experiments:
  variants:
    many: {seeds: 2}
    one: {masking: {fraction: 0.2}}
    again: {objective: {teachers: [one]}}
""")
    folder = "results/exp/experiments/runs"
    expected = [f"{folder}/{x}/trained" for x in ("many/seed5", "many/seed6", "one")]
    assert run.pretraining.teachers == [*expected, "other/bundle"]
    found = words(run.pretraining.objective_options)
    assert json.loads(found.pop("--teachers")) == run.pretraining.teachers
    assert found == {"--nsp_weight": "0"}
    assert {name: x.teachers for name, x in run.variant_trainings.items()} == {
        "many/seed5": [],
        "many/seed6": [],
        "one": [],
        "again": [f"{folder}/one/trained"],
    }
    assert words(run.variant_trainings["one"].objective_options) == {"--nsp_weight": "0"}


def test_a_table_compares_trainings_and_means(run):
    assert run.compared_files("table6") == [
        *(f"results/exp/models/{x}" for x in ("heads/many/seed3", "heads/many/seed4", "promoter")),
        *(
            f"results/exp/evaluation/{x}"
            for x in ("heads/many/seed3", "heads/many/seed4", "promoter")
        ),
        "results/exp/evaluation/heads/many/seeds.json",
    ]
    assert words(run.comparison_options("table6"))["--runs"] == '["heads/many", "promoter"]'


def test_a_table_that_is_missing_ends_snakemake_with_its_name(run, capsys):
    with pytest.raises(SystemExit) as ended:
        run.table("table7")
    assert ended.value.code == 2
    assert "experiments.table7: missing" in capsys.readouterr().err


def test_names_in_a_wildcard_are_taken_as_they_are(run):
    pattern = re.compile(one_of(run.heads))
    assert pattern.fullmatch("heads/many/seed4")
    assert not pattern.fullmatch("heads/many/seed5")
    assert not re.fullmatch(one_of([]), "")


def test_sources_that_are_no_path_are_fetched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("p.bed").write_text("chr1\t1\t2\n")
    run = run_of("inputs: {genome: [grch37_genome], promoters: ./p.bed}\npromoter: {}")
    (name,) = run.fetched
    assert run.inputs.genome == [f"results/exp/inputs/{name}"]
    assert run.fetched[name].endswith("grch37_genome.yaml")
    assert run.inputs.sites == "p.bed"
    digest = run.inputs.content("p.bed", [], "results/exp/other")
    Path("p.bed").write_text("chr1\t1\t3\n")
    assert run_of("{}").inputs.content([]) != digest


def test_labels_of_peak_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.bed", "b.bed"):
        Path(name).write_text("chr1\t1\t2\n")
    named = run_of(
        "inputs: {genome: [./a.bed], peaks: {A b: ./a.bed, C: b.bed}}\nchromatin: {}\n"
        "predictions: {regions: ['chr1:1-9'], browser: {model: chromatin, regions: ['chr1:1-9'], labels: [C]}}"
    )
    assert named.inputs.peak_words == "'A b=a.bed' C=b.bed"
    assert browser_tracks(named) == [("C observed", "b.bed")]
    assert named.predictions.rows == ["chr1\t0\t9"]
    Path("sheet.tsv").write_text("label\tgroup\tcell\tpath\nA\tTF\t\ta.bed\nB\tTF\t\ta.bed\n")
    sheet = run_of("inputs: {genome: [./a.bed], peaks: ./sheet.tsv}\nchromatin: {}")
    assert (sheet.inputs.peak_words, sheet.inputs.peak_files) == ("sheet.tsv", ["a.bed"])
    Path("sheet.tsv").write_text("label\tgroup\tcell\tpath\tmeasured\nA\tTF\t\ta.bed\tb.bed\n")
    measured = run_of("inputs: {genome: [./a.bed], peaks: ./sheet.tsv}\nchromatin: {}")
    assert measured.inputs.peak_files == ["a.bed", "b.bed"]


TEXT = """
name: words
text:
  made: {}
  training: {max_steps: 9, batch_size: 2}
  tasks: {imdb: {seeds: [1, 2], head: {pooling: mean}}, squad: {training: {max_steps: 4}}}
  variants:
    short: {tasks: [imdb], training: {batch_size: 3}, recipe: [config/text/full-512.yaml], pretrained: ./other}
  model: {num_layers: 2, num_random: 3}
"""


def test_text_tasks_with_variants_and_seeds():
    text = run_of(TEXT, base="{}").text
    names = ["imdb-seed1", "imdb-seed2", "squad", "short/imdb-seed1", "short/imdb-seed2"]
    assert list(text.trainings) == names
    assert [text.trainings[name].seed for name in names] == [1, 2, 0, 1, 2]
    assert text.repeated == ["imdb", "short/imdb"]
    assert text.trainings["squad"].training == {"max_steps": 4, "batch_size": 2}
    assert text.trainings["short/imdb-seed1"].training == {"max_steps": 9, "batch_size": 3}
    assert text.start("", "short/imdb-seed1") == "other"
    assert text.start("", "squad") == "results/words/text/pretrained"
    assert words(text.trainings["short/imdb-seed1"].options) == {
        "--config": "config/text/full-512.yaml",
        "--head.pooling": "mean",
        "--training.max_steps": "9",
        "--training.batch_size": "3",
    }
    assert text.trainings["imdb-seed1"].source("train") == "results/words/text/made"
    assert words(text.report_options)["--synthetic"] == '["imdb", "squad", "pretrained"]'


def test_patterns_of_table_1_are_trained_with_their_seeds():
    more = TEXT.replace("imdb: {seeds: [1, 2], head: {pooling: mean}}, ", "").replace(
        "[imdb]", "[squad]"
    )
    text = run_of(
        f"{more}  table1: {{seeds: [7], patterns: {{window: {{num_random: 0}}}}}}\n", base="{}"
    ).text
    folder = "table1/window/seed7/"
    assert list(text.pretrainings) == ["", folder]
    assert text.pretrainings[folder].seed == text.seed_of(folder, "squad") == 7
    assert text.seed_of("", "squad") == 0
    assert text.pretrainings[folder].section["model"] == {"num_layers": 2, "num_random": 0}
    assert text.start(folder, "squad") == "results/words/text/table1/window/seed7/pretrained"
    assert text.table1_tasks == ["squad"]


def test_a_suite_takes_genome_pieces_and_model_of_the_run():
    suite = run_of("bench: {long-range: {seeds: 2}}").suites["long-range"]
    options = words(suite.options("m"))
    assert options == {
        "--pieces": "false", "--seeds": "2", "--model": "m",
        "--genome": '{"toy": "results/exp/genome/genome.fa"}',
    }  # fmt: skip
    assert suite.model == "results/exp/trained/pretrained"
    alone = run_of("{name: x, bench: {long-range: {}}}", base="{}").suites["long-range"]
    assert (alone.model, words(alone.options(""))) == ([], {})


def test_a_training_is_started_once_per_gpu():
    launcher = Launcher("python -m dna_bigbird")
    assert launcher.training({}, {}, 8) == "python -m dna_bigbird"
    granted = {"mpi": "srun", "nodes": 2, "tasks_per_node": 4}
    assert launcher.training({"nodes": 2, "devices": 4}, granted, 8) == (
        "srun --nodes=2 --ntasks-per-node=4 --cpus-per-task=8 --kill-on-bad-exit=1 python -m dna_bigbird"
    )


@pytest.mark.parametrize(
    ("settings", "resources", "named"),
    [
        ({}, {"slurm_account": "CHANGE"}, "slurm_account"),
        ({}, {"slurm_partition": "CHANGE"}, "slurm_partition"),
        ({"nodes": 2}, {}, "mpi: srun"),
        ({"devices": 2}, {"mpi": "srun", "nodes": 1, "tasks_per_node": 4}, r"1 node\(s\) x 2"),
    ],
)
def test_a_profile_that_does_not_fit_ends_snakemake(settings, resources, named, capsys):
    with pytest.raises(SystemExit) as ended:
        Launcher("x").training(settings, resources, 1)
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(named, line)
