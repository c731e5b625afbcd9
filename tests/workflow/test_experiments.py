"""The paper's comparisons as targets: planned from the config, never part of `all`."""

import json
import shlex
from pathlib import Path

import jsonschema
import pytest
import yaml

from dna_bigbird.cli.parser import build_parser
from dna_bigbird.cli.reading import read_arguments

ROOT = Path(__file__).parents[2]
SCHEMA = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text())
CONFIGS = [
    ["config/grch37.yaml"],
    ["config/grch37.yaml", "config/grch37-fast.yaml"],
    ["tests/real/pretraining.yaml"],
    ["tests/real/table1.yaml", "tests/real/table1_no_stem.yaml"],
    ["tests/real/table1.yaml", "tests/real/symmetric.yaml"],
    ["tests/real/fast.yaml"],
]
"""Files that are merged."""
TWO = {
    "variants": {
        "short": {
            "model": {"attention": "full", "max_tokens": 64},
            "pretraining": {
                "batch_size": 12,
                "max_steps": 6,
                "validate_every": 2,
                "warmup_steps": 0,
            },
            "evaluation": {"examples": 12},
        },
        "long": {},
    },
    "table5": ["short", "long"],
    "figure8": ["long"],
}
TINY = {
    "documents": {"passes": 1, "min_sentences": 5, "max_sentences": 10},
    "tokenizer": {"vocab_size": 128},
    "model": {
        "hidden_size": 16,
        "num_layers": 1,
        "num_heads": 2,
        "ffn_size": 16,
        "max_tokens": 128,
        "block_size": 16,
        "num_random": 1,
    },
    "pretraining": {
        "max_steps": 4,
        "batch_size": 6,
        "validate_every": 2,
        "validation_examples": 6,
        "precision": "32-true",
    },
    "evaluation": {"examples": 6},
}


def plan(workflow, *targets: str, **changes) -> str:
    config = workflow.config(name="exp", experiments=TWO, **changes)
    return workflow.snakemake("-n", *targets, "--configfile", config)


def test_variants_change_what_they_name_and_nothing_else(workflow):
    output = plan(workflow, "experiments")
    jobs = workflow.jobs_of(output)
    assert {name: jobs[name] for name in ("pretrain_variant", "evaluate_lm_variant")} == {
        "pretrain_variant": 2,
        "evaluate_lm_variant": 2,
    }
    assert jobs["compare_lm"] == 2
    assert not {"pretrain", "report", "finetune"} & set(jobs)
    trained = {
        c.split("experiments/runs/")[1].split("/")[0]: c
        for c in workflow.commands_of(output.replace(" >> logs", " > logs"))
        if c.startswith("pretrain")
    }
    for changed in ("--model.max_tokens 64", "--model.attention full", "--training.max_steps 6"):
        assert changed in trained["short"]
        assert changed not in trained["long"]
    for kept in ("--model.hidden_size 128", "--training.learning_rate 0.005"):
        assert kept in trained["short"]
        assert kept in trained["long"]


def value_of(option: str, command: str) -> str:
    words = shlex.split(command)
    return words[words.index(option) + 1]


def test_seeds_train_and_score_a_variant_several_times(workflow):
    """Each training in its own folder, with its own checkpoints; the test examples are the same.

    A head that starts from the variant takes the first one.
    """
    variants = {
        "one": {"masking": {"fraction": 0.2}},
        "three": {"seeds": 3},
        "listed": {"seeds": [11, 4]},
    }
    experiments = {
        "variants": variants,
        "heads": {"tuned": {"promoter": {}, "pretrained": "listed"}},
        "table1": ["one", "three", "listed"],
        "table6": ["tuned"],
    }
    config = workflow.config(name="exp", seed=5, experiments=experiments)
    output = workflow.snakemake("-n", "experiments", "--configfile", config)
    assert workflow.jobs_of(output)["pretrain_variant"] == 6
    commands = workflow.commands_of(output.replace(" >> logs", " > logs"))
    names = {"one": "5", "three/seed5": "5", "three/seed6": "6", "three/seed7": "7"}
    names |= {"listed/seed11": "11", "listed/seed4": "4"}
    trained = {value_of("--output", c): c for c in commands if c.startswith("pretrain")}
    runs = "results/exp/experiments/runs"
    assert {path: value_of("--seed", c) for path, c in trained.items()} == {
        f"{runs}/{name}/trained": seed for name, seed in names.items()
    }
    assert {value_of("--checkpoints", c) for c in trained.values()} == {
        f"results/exp/checkpoints/experiments/{name}" for name in names
    }
    fractions = {path: value_of("--masking.fraction", c) for path, c in trained.items()}
    assert fractions.pop(f"{runs}/one/trained") == "0.2"
    assert set(fractions.values()) == {"0.3"}
    scored = [c for c in commands if c.startswith("evaluate-lm")]
    assert {value_of("--seed", c) for c in scored} == {"5"}
    assert {value_of("--example_scores", c) for c in scored} == {
        f"{runs}/{name}/examples.tsv" for name in names
    }
    [tuned] = [c for c in commands if c.startswith("finetune")]
    assert value_of("--pretrained", tuned) == f"{runs}/listed/seed11/trained"
    [compared] = [c for c in commands if c.startswith("compare-lm")]
    assert json.loads(value_of("--runs", compared)) == [f"{runs}/{name}" for name in names]


def test_a_target_makes_only_its_variants(workflow):
    assert workflow.jobs_of(plan(workflow, "figure8"))["pretrain_variant"] == 1
    assert "pretrain_variant" not in workflow.jobs_of(plan(workflow, "all"))


def test_a_table_that_the_config_has_not(workflow):
    config = workflow.config(name="exp", experiments=TWO)
    output = workflow.snakemake("-n", "table1", "--configfile", config, check=False)
    assert "experiments.table1: missing; config/README.md says how to write one" in output
    output = workflow.snakemake("-n", "experiments", check=False)
    assert ": experiments: no table in it; config/README.md says how to write one" in output


def test_an_unknown_variant_is_named(workflow):
    config = workflow.config(name="exp", experiments=TWO | {"table1": ["shrt"]})
    output = workflow.snakemake("-n", "--configfile", config, check=False)
    assert "experiments.table1[0]: 'shrt' is not among the variants (short, long)" in output


def test_repeats_of_the_config_reach_the_scores(workflow):
    (workflow.folder / "g.fa").write_text(">chr1\nACGT\n")
    (workflow.folder / "r.bed").write_text("chr1\t1\t2\tLINE\n")
    inputs = {"genome": ["./g.fa"], "repeats": "./r.bed"}
    output = plan(
        workflow, "table5", inputs=inputs, promoter=None, chromatin=None, predictions=None
    )
    scored = [c for c in workflow.commands_of(output) if c.startswith("evaluate-lm")]
    assert len(scored) == 2
    assert all("--repeats r.bed --pieces false" in command for command in scored)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"table2": ["a"]}, "'table2' was unexpected"),
        ({"variants": {"a b": {}}}, "'a b' does not match any of the regexes"),
        ({"variants": {"a": {"model": {"depth": 3}}}}, "'depth' was unexpected"),
        ({"variants": {"a": {"tokenizer": {}}}}, "'tokenizer' was unexpected"),
        ({"variants": {"a": {"seeds": 0}}}, "0 is less than the minimum of 1"),
        ({"variants": {"a": {"seeds": []}}}, "[] should be non-empty"),
        ({"variants": {"a": {"seeds": [1, 1]}}}, "[1, 1] has non-unique elements"),
        ({"variants": {"a": {"seeds": "3"}}}, "'3' is not of type 'integer', 'array'"),
        ({"table5": []}, "[] should be non-empty"),
    ],
)
def test_a_bad_setting_is_named(change, named):
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    validator = jsonschema.Draft202012Validator(SCHEMA)
    config["experiments"] = TWO
    assert not list(validator.iter_errors(config))
    config["experiments"] = TWO | change
    messages = [error.message for error in validator.iter_errors(config)]
    assert any(named in message for message in messages), messages


@pytest.mark.parametrize("names", CONFIGS)
def test_variants_of_our_configs_read_as_many_tokens_a_step(names):
    """And no setting of theirs contradicts another one."""
    from dna_bigbird.models.config import EncoderConfig
    from dna_bigbird.models.train_config import TrainConfig

    config: dict = {}
    for name in names:
        for key, value in yaml.safe_load((ROOT / name).read_text()).items():
            config[key] = config.get(key, {}) | value if isinstance(value, dict) else value
    jsonschema.Draft202012Validator(SCHEMA).validate(config)
    tokens = set()
    for variant in config["experiments"]["variants"].values():
        model = EncoderConfig(**(config["model"] | variant.get("model", {})))
        training = TrainConfig(**(config["pretraining"] | variant.get("pretraining", {})))
        tokens.add(
            model.max_tokens * training.batch_size * training.accumulate * training.processes
        )
    assert len(tokens) == 1


@pytest.mark.parametrize("names", CONFIGS)
def test_every_command_is_understood(workflow, names):
    for name in names:
        text = (ROOT / name).read_text().replace("../shared/", "./")
        for path in yaml.safe_load(text).get("inputs", {}).get("genome", []):
            (workflow.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (workflow.folder / path).touch()
        (workflow.folder / Path(name).name).write_text(text)
    files = [Path(name).name for name in names]
    output = workflow.snakemake("-n", "experiments", "--configfile", *files)
    commands = workflow.commands_of(output.replace(" >> logs", " > logs"))
    assert {"pretrain", "evaluate-lm", "compare-lm"} <= {c.split()[0] for c in commands}
    stems = {value_of("--model.stem_width", c) for c in commands if "stem_width" in c}
    ours = ("symmetric.yaml", "fast.yaml", "grch37-fast.yaml")
    expected = {"table1_no_stem.yaml": {"0"}} | {name: {"5"} for name in ours}
    assert stems == expected.get(files[-1], set())
    for command in commands:
        first, *words = shlex.split(command.removeprefix("keep_log "))
        parser, _ = build_parser(first)
        read_arguments(parser, words)


@pytest.mark.slow
def test_the_tables_are_made(workflow):
    config = workflow.config(
        name="exp", promoter=None, chromatin=None, predictions=None, experiments=TWO, **TINY
    )
    workflow.snakemake("--cores", "2", "table5", "figure8", "--configfile", config)
    folder = workflow.folder / "results/exp/experiments"
    for table in ("table5", "figure8"):
        assert {p.name for p in (folder / table).iterdir()} >= {"table.tsv", "figure.png"}
    rows = json.loads((folder / "table5/table.json").read_text())["rows"]
    assert [row["predictor"] for row in rows][-2:] == ["short", "long"]
    assert {row["seen"] for row in rows} == {"masked", "causal"}
