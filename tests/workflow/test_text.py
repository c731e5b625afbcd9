"""The text tasks as the target `text`: what is planned of each config, with commands that are understood."""

import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from dna_bigbird.bundles.text_tasks import tasks
from dna_bigbird.cli.parser import build_parser
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.text.report.text_results import published_tables

ROOT = Path(__file__).parents[2]
PRETRAINED = {"", "pretrained", "large-pretrained"}
SETS = {column.run for table in published_tables() for column in table.columns} - PRETRAINED


def paths_of(config: str) -> set[str]:
    """The files and folders that a config names."""
    text = "\n".join(line.split(" #")[0] for line in config.splitlines())
    return set(re.findall(r"(?:\.|\.\.)/[^\s,\]}]+", text))


def plan(workflow, config: str, *, target: str = "text") -> str:
    """Dry-run a config of the checkout in a copy in which everything it names is there."""
    text = (ROOT / config).read_text().replace("../shared/", "./shared/")
    (workflow.folder / "planned.yaml").write_text(text)
    for name in paths_of(text):
        path = workflow.folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    return workflow.snakemake("-n", target, "--configfile", "planned.yaml")


def commands(workflow, output: str) -> list[str]:
    return workflow.commands_of(output.replace(" >> logs", " > logs"))


def run_of(command: str) -> str:
    """The name of what is scored, its folder."""
    return re.search(r"--output \S+?/evaluation/(\S+)", command)[1]


CONFIGS = ["config/config.yaml", "config/text.yaml", "tests/real/text.yaml"]
LARGE = "config/text-large.yaml"
ETC = {"config/text-etc.yaml": "base", "config/text-etc-large.yaml": "large"}
"""The rows of BigBird-ETC in Table 2, and the large models of Tables 3 and 13."""
CLASSES = {"imdb", "yelp5", "arxiv-topics", "patents", "hyperpartisan"}
SUMMARIES = {"arxiv", "pubmed", "bigpatent", "cnn-dailymail", "xsum"}
SHORT = {f"full-512/{name}" for name in CLASSES | {"hotpotqa", "triviaqa", "wikihop"}}
SHORT |= {f"full-512-summaries/{name}" for name in SUMMARIES}
"""Rows of 512 tokens in config/text.yaml: Tables 2, 4, 15 and 20."""
FRESH = {f"base-transformer/{name}" for name in SUMMARIES}
"""Those of Tables 4 and 20 that begin from random weights."""
QUESTIONS = {"hotpotqa", "natural-questions", "triviaqa", "wikihop"}
LONGFORMER = {f"longformer/{name}" for name in QUESTIONS - {"natural-questions"}}
"""Its row of Table 2."""
REPEATED = {"imdb", "hyperpartisan", "full-512/imdb", "full-512/hyperpartisan"}


@pytest.fixture(scope="module")
def planned(new_workflow):
    """Jobs and commands of every config, by its name."""
    found = {}
    for config in [*CONFIGS, LARGE, *ETC]:
        workflow = new_workflow("text")
        output = plan(workflow, config)
        found[config] = workflow.jobs_of(output), commands(workflow, output), workflow.folder
    return found


@pytest.mark.parametrize("config", CONFIGS)
def test_every_set_of_the_tables_is_trained_and_scored(planned, config):
    jobs, found, _ = planned[config]
    is_paper = config == "config/text.yaml"
    expected = SETS | (SHORT | FRESH | LONGFORMER if is_paper else set())
    repeated = REPEATED if is_paper else set()
    assert jobs["text_train"] == jobs["text_evaluate"] == len(expected) + 4 * len(repeated)
    assert jobs["text_pretrain"] == jobs["text_report"] == 1
    scored = {run_of(command) for command in found if "text evaluate" in command}
    trained = {f"{name}-seed{seed}" for name in repeated for seed in range(5)}
    assert scored == expected - repeated | trained
    assert {run_of(command) for command in found if "text runs" in command} == repeated


@pytest.mark.parametrize("config", [*CONFIGS, LARGE, *ETC])
def test_every_command_is_understood(planned, config, monkeypatch):
    """Option names, types and contradictory settings, without running anything."""
    _, found, folder = planned[config]
    monkeypatch.chdir(folder)
    seen = set()
    for command in found:
        first, second, *words = shlex.split(command)
        assert first == "text"
        name = f"{first} {second}"
        seen.add(second)
        parser, _ = build_parser(name, words)
        read_arguments(parser, words)
    assert seen >= {"pretrain", "train", "evaluate", "tables"}
    trained = {
        re.search(r"--task (\S+)", command)[1] for command in found if "text train" in command
    }
    if config in CONFIGS:
        assert trained == set(tasks())


def the_one(found: list[str], *words: str) -> str:
    (command,) = [c for c in found if all(word in c for word in words)]
    return command


def test_rows_of_512_tokens_change_the_start_and_the_length_and_nothing_else(planned):
    _, found, _ = planned["config/text.yaml"]
    for path, length in (("", "max_tokens"), ("summarization/", "max_source_tokens")):
        recipe = yaml.safe_load((ROOT / f"config/text/{path}full-512.yaml").read_text())
        assert recipe == {"options": {length: 512}}
    for name in SHORT:
        variant, task = name.split("/")
        seed = "-seed3" if name in REPEATED else ""
        own = the_one(found, "text train", f"/trained/{name}{seed} ")
        usual = the_one(found, "text train", f"/trained/{task}{seed} ")
        recipe = "summarization/full-512" if variant == "full-512-summaries" else "full-512"
        assert own.count("--config") == usual.count("--config") + 1
        own = own.replace(f" --config config/text/{recipe}.yaml", "")
        own = own.replace("text/roberta-512", "results/text-base/text/pretrained")
        for folder in ("trained", "checkpoints/text"):
            own = own.replace(f"{folder}/{name}", f"{folder}/{task}")
        assert own.split() == usual.split()


def test_the_base_transformer_begins_from_random_weights(planned):
    _, found, _ = planned["config/text.yaml"]
    for name in SUMMARIES:
        own = the_one(found, "text train", f"/trained/base-transformer/{name} ")
        warm = the_one(found, "text train", f"/trained/full-512-summaries/{name} ")
        own = own.replace("base-transformer", "full-512-summaries")
        assert sorted(own.split()) == sorted([*warm.split(), "--from_scratch", "true"])


def test_five_seeds_are_joined(planned):
    _, found, _ = planned["config/text.yaml"]
    for seed in range(5):
        assert f"--seed {seed} " in the_one(found, "text train", f"/trained/imdb-seed{seed} ")
        scored = the_one(found, "text evaluate", f"/evaluation/imdb-seed{seed} ")
        assert f"--model results/text-base/text/trained/imdb-seed{seed} " in scored
        assert "--seed 0 " in scored
    joined = the_one(found, "text runs", "/evaluation/full-512/imdb")
    assert joined.count("/evaluation/full-512/imdb-seed") == 5
    tables = the_one(found, "text tables")
    assert '"full-512": "results/text-base/text/evaluation/full-512"' in tables


def test_large_models_start_from_their_own_pretraining(planned):
    jobs, found, _ = planned[LARGE]
    assert jobs["text_train"] == 1 + len(SUMMARIES)
    assert "--model.hidden_size 1024" in the_one(found, "text pretrain")
    yelp5 = the_one(found, "text train", "/trained/yelp5 ")
    assert "--pretrained results/text-large/text/pretrained " in yelp5
    for name in SUMMARIES:
        command = the_one(found, "text train", f"/trained/{name} ")
        assert "--pretrained text/bigbird-pegasus " in command
        assert "--config config/text/summarization/large.yaml" in command


@pytest.mark.parametrize(("config", "size"), ETC.items())
def test_the_rows_of_etc_have_the_settings_of_its_recipes(planned, config, size):
    jobs, found, _ = planned[config]
    assert jobs["text_pretrain"] == 1
    assert jobs["text_train"] == jobs["text_evaluate"] == len(QUESTIONS)
    tail = "-large" if size == "large" else ""
    for name in QUESTIONS:
        command = the_one(found, "text train", f"/trained/{name} ")
        assert f"--config config/text/etc/{name}{tail}.yaml" in command
        assert command.count("--config") == 1
    text = yaml.safe_load((ROOT / config).read_text())["text"]
    recipe = yaml.safe_load((ROOT / f"config/text/etc/pretrain-{size}.yaml").read_text())
    assert text["model"].items() >= recipe["model"].items()
    assert text["pretraining"] == recipe["training"]
    assert (text["masking"], text["cpc"]) == (recipe["masking"], recipe["cpc"])


def test_predictions_are_written_for_the_leaderboard_of_table_3(planned):
    _, found, _ = planned["config/text-etc-large.yaml"]
    command = the_one(found, "text predict")
    assert "--data text/triviaqa-rc --split test" in command
    assert "--output results/text-etc-large/text/predictions/triviaqa " in command
    assert "--model results/text-etc-large/text/trained/triviaqa " in command


def test_longformer_of_table_2_changes_the_start_and_nothing_else(planned):
    _, found, _ = planned["config/text.yaml"]
    for name in LONGFORMER:
        task = name.partition("/")[2]
        own, usual = (the_one(found, "text train", f"/trained/{x} ") for x in (name, task))
        assert "--pretrained text/longformer " in own
        own = own.replace("--pretrained text/", "--pretrained results/text-base/text/")
        own = own.replace("text/longformer ", "text/pretrained ").replace(name, task)
        assert own.split() == usual.split()


def test_the_settings_of_the_large_model_are_those_of_its_recipe():
    text = yaml.safe_load((ROOT / LARGE).read_text())["text"]
    recipe = yaml.safe_load((ROOT / "config/text/pretrain-large.yaml").read_text())
    assert text["model"].items() <= recipe["model"].items()
    assert text["masking"] == recipe["masking"]
    assert text["pretraining"] == recipe["training"]


def test_every_table_of_the_paper_is_planned(planned, workflow):
    """Of text here, of DNA in config/grch37.yaml."""
    _, found, _ = planned["config/text.yaml"]
    scored = {run_of(c) for c in found if "text evaluate" in c or "text runs" in c}
    numbers = {
        table.number
        for table in published_tables()
        if {column.run for column in table.columns} <= scored | PRETRAINED
    }
    assert numbers >= {2, 4, 10, 15, 16, 20}
    output = workflow.snakemake("-n", "experiments", "--configfile", "config/grch37.yaml")
    pattern = r"compare-(?:lm|heads) .*?--table (\w+)"
    found = commands(workflow, output)
    tables = {re.search(pattern, c)[1] for c in found if "compare-" in c}
    assert tables >= {"table1", "table5", "figure8", "table6", "table7"}
    assert "--gkm.max_rows 8000" in the_one(found, "--method gkm", "/baselines/chromatin/gkm.h5")


def test_a_variant_of_an_unknown_task_is_refused(workflow):
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config["text"]["variants"] = {"short": {"tasks": ["imbd"], "options": {"max_tokens": 64}}}
    (workflow.folder / "changed.yaml").write_text(yaml.safe_dump(config))
    output = workflow.snakemake("-n", "text", "--configfile", "changed.yaml", check=False)
    assert "text.variants.short.tasks: imbd is not a task of `text`" in " ".join(output.split())


def test_text_is_no_part_of_all(workflow):
    assert "text" not in "".join(workflow.jobs_of(workflow.snakemake("-n", "all")))


def test_a_config_without_a_genome_plans_text_as_all(workflow):
    jobs = workflow.jobs_of(plan(workflow, "tests/real/text.yaml", target="all"))
    assert jobs["text_train"] == len(SETS)
    assert not {"genome", "documents", "pretrain"} & set(jobs)


def test_a_config_with_neither_is_refused(workflow):
    (workflow.folder / "bare.yaml").write_text("name: bare\n")
    output = workflow.snakemake("-n", "--configfile", "bare.yaml", check=False)
    assert "bare.yaml: assembly: missing; add for example `assembly: GRCh38`" in output


def test_what_is_scored_is_what_the_tables_are_of(planned):
    """Development sets for Tables 1, 2 and 16, test sets for the others; dev files of the small samples."""
    _, found, _ = planned["config/config.yaml"]
    for table in published_tables():
        for column in table.columns:
            if column.run in SETS:
                (command,) = (
                    c for c in found if f"/evaluation/{column.run} " in c and "evaluate" in c
                )
                split = "validation" if table.number in (1, 2, 16) else "test"
                assert f"--split {split} " in command


def test_the_paths_of_a_task_are_given_together(workflow):
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config["text"]["tasks"]["imdb"] = {"train": "./imdb"}
    (workflow.folder / "changed.yaml").write_text(yaml.safe_dump(config))
    output = workflow.snakemake("-n", "text", "--configfile", "changed.yaml", check=False)
    assert ".train: needs validation next to it" in output


def test_made_text_must_be_asked_for(workflow):
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    del config["text"]["made"]
    (workflow.folder / "changed.yaml").write_text(yaml.safe_dump(config))
    output = workflow.snakemake("-n", "text", "--configfile", "changed.yaml", check=False)
    assert "or let `text: made` make them" in " ".join(output.split())


def test_a_model_of_ones_own_is_not_pretrained(workflow):
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config["text"]["pretrained"] = "./bundle"
    (workflow.folder / "bundle").mkdir()
    (workflow.folder / "changed.yaml").write_text(yaml.safe_dump(config))
    output = workflow.snakemake("-n", "text", "--configfile", "changed.yaml")
    assert not {"text_pretrain", "text_vocabulary"} & set(workflow.jobs_of(output))
    trained = [c for c in commands(workflow, output) if c.startswith("text train ")]
    assert trained
    assert all("--pretrained bundle " in command for command in trained)
    assert "--pretrained" not in next(c for c in commands(workflow, output) if "text tables" in c)


def test_the_papers_setting():
    """Table 8 and appendix E of the paper, as the specification gives them."""
    text = yaml.safe_load((ROOT / "config/text.yaml").read_text())["text"]
    sizes = {"hidden_size": 768, "num_layers": 12, "num_heads": 12, "ffn_size": 3072}
    pattern = {"max_tokens": 4096, "block_size": 64, "num_random": 3, "random_plan": "uniform"}
    assert text["model"] == sizes | pattern | {"dropout": 0.1}
    training = text["pretraining"]
    assert training["batch_size"] * training["accumulate"] == 256
    assert (training["learning_rate"], training["warmup_steps"]) == (1e-4, 10_000)
    assert text["masking"]["fraction"] == 0.15


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hotpot", "hotpot: no such set; expected some of imdb, yelp5, "),
        ("json-lines", "json-lines: there is no made text of this set; give `train`"),
    ],
)
def test_a_set_that_cannot_be_read_is_refused(workflow, name, words):
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config["text"]["tasks"][name] = {}
    (workflow.folder / "changed.yaml").write_text(yaml.safe_dump(config))
    output = workflow.snakemake("-n", "text", "--configfile", "changed.yaml", check=False)
    assert words in " ".join(output.split())


BLOCKS = {
    # attention, window_blocks, global_blocks, num_random
    "random": ("bigbird", 0, "none", 3),
    "window": ("bigbird", 3, "none", 0),
    "random_window": ("bigbird", 3, "none", 3),
    "bigbird": ("bigbird", 3, "first_last", 3),
    "full": ("full", 3, "first_last", 3),
}


@pytest.mark.parametrize(
    "config",
    [
        "config/text-table1.yaml",
        "config/text-table1-made.yaml",
        pytest.param("tests/real/text_table1.yaml", marks=pytest.mark.slow),
    ],
)
def test_table_1_trains_every_pattern_with_every_seed(new_workflow, config, monkeypatch):
    workflow = new_workflow("table1")
    output = plan(workflow, config, target="text_table1")
    jobs, found = workflow.jobs_of(output), commands(workflow, output)
    counts = {"text_pretrain": 15, "text_train": 30, "text_evaluate": 30, "text_table1_page": 1}
    assert {name: jobs[name] for name in counts} == counts
    monkeypatch.chdir(workflow.folder)
    pretrained, starts, scored = {}, set(), set()
    for command in found:
        first, second, *words = shlex.split(command)
        parser, _ = build_parser(f"{first} {second}", words)
        settings = SimpleNamespace(**read_arguments(parser, words))
        output = str(settings.output)
        training = re.search(r"/table1/(\w+)/seed(\d)/", output)
        if second == "pretrain":
            model = settings.model
            blocks = (model.attention, model.window_blocks, model.global_blocks, model.num_random)
            pretrained[training[1], settings.seed] = blocks
            assert str(settings.seed) == training[2]
            assert model.max_tokens == 512
        if second == "train":
            assert output.startswith(str(settings.pretrained).removesuffix("pretrained"))
            assert str(settings.seed) == training[2]
            assert settings.options.max_tokens == 512
            starts.add((training[1], settings.seed, output.split("/")[-1]))
        if second == "evaluate":
            assert output == str(settings.model).replace("/trained/", "/evaluation/")
            scored.add((training[1], int(training[2]), output.split("/")[-1]))
        if second == "compare-patterns":
            runs = [f"{name}/seed{seed}" for name in BLOCKS for seed in range(3)]
            assert [str(x).split("/table1/")[1] for x in settings.runs] == runs
    assert pretrained == {(name, seed): BLOCKS[name] for name in BLOCKS for seed in range(3)}
    assert starts == scored == {(*key, task) for key in pretrained for task in ("squad", "mnli")}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text__pretrained": "./models"}, "`table1` pretrains each pattern; leave one out"),
        ({"text__tasks": {"rte": {}}}, "`table1` needs a set of Table 1"),
    ],
)
def test_a_table_1_that_cannot_be_is_refused(workflow, changes, message):
    config = workflow.config("config/text-table1-made.yaml", **changes)
    (workflow.folder / "models").mkdir()
    output = workflow.snakemake("-n", "text_table1", "--configfile", config, check=False)
    assert message in output


ROWS = {
    # attention, hidden size, tokens per step; None: of the bundle that it starts from
    "bigbird-itc": [("bigbird", 768, 256 * 4096), ("bigbird", 1024, 2048 * 4096)],
    "bigbird-etc": [("etc", 768, 256 * 4096), ("etc", 1024, 2048 * 4096)],
    "roberta-512": [("roberta-512", None), ("roberta-large-512", None)],
    "longformer": [("warm-start", 64), ("warm-start-large", 64)],
}
"""Of Table 10, base and large."""


def test_table_10_pretrains_every_row_in_both_sizes(new_workflow, monkeypatch):
    workflow = new_workflow("table10")
    output = plan(workflow, "config/text.yaml", target="text_table10")
    found = commands(workflow, output)
    assert workflow.jobs_of(output)["text_pretrain"] == 2 * len(ROWS)
    monkeypatch.chdir(workflow.folder)
    for command in found:
        first, second, *words = shlex.split(command)
        parser, _ = build_parser(f"{first} {second}", words)
        settings = SimpleNamespace(**read_arguments(parser, words))
        if second == "tables":
            assert str(settings.results).endswith("/table10/bigbird-itc")
            folders = {name: str(path) for name, path in settings.variant_results.items()}
            assert folders == {
                name: f"results/text-base/text/table10/{name}"
                for name in ROWS.keys() - {"bigbird-itc"}
            }
            continue
        name, bundle = re.search(r"/table10/([\w-]+)/(\S+)$", str(settings.output)).groups()
        expected = ROWS[name][["pretrained", "large-pretrained"].index(bundle)]
        training, model = settings.training, settings.model
        rows = training.batch_size * training.accumulate
        if name.startswith("bigbird"):
            assert (model.attention, model.hidden_size, rows * model.max_tokens) == expected
            assert settings.initial is None
            continue
        assert settings.initial.name == expected[0]
        assert expected[1] in (None, rows)
        # A weight of RoBERTa is far above the smallest step that float32 has at this rate.
        assert (training.learning_rate < 1e-20) == (name == "roberta-512")


def test_table_10_pretrains_its_rows(workflow):
    config = workflow.config("config/text.yaml", text__pretrained="./models")
    output = workflow.snakemake("-n", "text_table10", "--configfile", config, check=False)
    assert "`table10` pretrains each row; leave one out" in output
