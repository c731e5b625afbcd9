"""The schema names a bad key, and knows exactly the settings that the commands have."""

import dataclasses
from pathlib import Path

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[2]

SCHEMA = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text())
CONFIGS = ["config/config.yaml", "config/grch37.yaml", "tests/real/config.yaml"]


def demo() -> dict:
    return yaml.safe_load((ROOT / "config" / "config.yaml").read_text())


def properties(*path: str) -> set[str]:
    place = SCHEMA
    for name in path:
        place = place["properties"][name] if name in place.get("properties", {}) else place[name]
    return set(place["properties"])


def fields(module: str, name: str) -> set[str]:
    imported = pytest.importorskip(module)
    return {field.name for field in dataclasses.fields(getattr(imported, name))}


def parameters(command: str) -> set[str]:
    """Names of a command's options."""
    import inspect

    from dna_bigbird.cli.commands import find_command
    from dna_bigbird.cli.signatures import load_function

    entry = find_command(command.replace("_", "-"))
    return set(inspect.signature(load_function(entry)).parameters) - set(entry.python_only)


@pytest.mark.parametrize("name", CONFIGS)
def test_our_configs_are_valid(name):
    config = yaml.safe_load((ROOT / name).read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(config)


def test_every_object_refuses_unknown_keys():
    def walk(place, where):
        if isinstance(place, dict):
            if place.get("type") == "object":
                assert place.get("additionalProperties") is False, where
            for key, value in place.items():
                walk(value, f"{where}/{key}")

    walk(SCHEMA, "")


@pytest.mark.parametrize(
    ("path", "module", "name", "derived"),
    [
        (("documents",), "dna_bigbird.corpus.documents", "DocumentConfig", set()),
        (("tokenizer",), "dna_bigbird.corpus.tokenizer", "TokenizerConfig", set()),
        (("masking",), "dna_bigbird.corpus.masking", "MaskingConfig", set()),
        (("model",), "dna_bigbird.models.config", "EncoderConfig", {"vocab_size"}),
        (("$defs", "head"), "dna_bigbird.models.config", "HeadConfig", set()),
        (("$defs", "training"), "dna_bigbird.tasks.config", "TrainConfig", set()),
        (("$defs", "kmer"), "dna_bigbird.baselines.kmer", "KmerConfig", set()),
        (("$defs", "cnnprom"), "dna_bigbird.baselines.network_config", "CnnPromConfig", set()),
        (("$defs", "network"), "dna_bigbird.baselines.network_config", "DeePromoterConfig", set()),
        (("$defs", "network"), "dna_bigbird.baselines.network_config", "DeepSeaConfig", set()),
        (("$defs", "labelledSplits"), "dna_bigbird.datasets.splits", "SplitConfig", set()),
    ],
)
def test_the_schema_has_the_settings_of_the_code(path, module, name, derived):
    assert properties(*path) == fields(module, name) - derived


NESTED = {"training", "head", "kmer", "baseline_training", "cnnprom", "deepromoter", "deepsea"}
OF_OTHERS = NESTED | {"splits", "baselines", "ensemble", "dropout", "strand"}
"""Keys of a task's section that are no options of the command that builds its set."""
REFUSED = {"baseline_documents"}
"""Keys of older versions, in the schema with what to write in their place."""


@pytest.mark.parametrize(
    ("path", "commands", "elsewhere"),
    [
        (
            ("$defs", "promoter"),
            ["promoter_set"],
            {"genome", "sites", "output", "assembly", "split", "seed", "pieces", "avoid"},
        ),
        (
            ("$defs", "chromatin"),
            ["chromatin_set", "deepsea_set"],
            {"genome", "peaks", "output", "assembly", "split", "seed", "pieces", "blacklist"}
            | {"bundle", "labels", "coordinates", "test_chromosomes"},
        ),
        (
            ("predictions", "mutagenesis"),
            ["mutagenesis"],
            {"fasta", "output", "picture", "compute"},
        ),
        (
            ("evaluation",),
            ["evaluate_lm"],
            {"model", "train", "test", "output", "report", "seed", "threads"}
            | {"genome", "repeats", "pieces"},
        ),
    ],
)
def test_the_schema_has_the_options_of_the_command(path, commands, elsewhere):
    options = set().union(*(parameters(command) for command in commands))
    of_others = OF_OTHERS if path[0] == "$defs" else REFUSED
    assert properties(*path) - of_others == options - elsewhere


@pytest.mark.parametrize(
    "path", [("inputs",), ("$defs", "promoter"), ("$defs", "chromatin"), ("predictions",)]
)
def test_the_readme_of_configs_names_every_key(path):
    words = (ROOT / "config" / "README.md").read_text()
    missing = [key for key in properties(*path) - {"demo"} if f"`{key}`" not in words]
    assert missing == []


def test_demo_options_are_those_of_the_command():
    pytest.importorskip("dna_bigbird.pipeline.demo_data")
    assert properties("inputs", "demo") <= parameters("demo_data")


@pytest.mark.parametrize("name", CONFIGS)
def test_settings_of_our_configs_do_not_contradict_each_other(name):
    from dna_bigbird.corpus.documents import DocumentConfig
    from dna_bigbird.corpus.masking import MaskingConfig
    from dna_bigbird.corpus.tokenizer import TokenizerConfig
    from dna_bigbird.datasets.splits import SplitConfig
    from dna_bigbird.models.config import EncoderConfig
    from dna_bigbird.tasks.config import TrainConfig

    config = yaml.safe_load((ROOT / name).read_text())
    DocumentConfig(**config["documents"])
    MaskingConfig(**config["masking"])
    TokenizerConfig(**config["tokenizer"])
    EncoderConfig(**config["model"])
    for section in (config, config["promoter"]):
        SplitConfig(**section.get("splits", {}))
    for training in (
        config["pretraining"],
        *(config[t]["training"] for t in ("promoter", "chromatin")),
    ):
        TrainConfig(**training)


def test_the_papers_setting():
    """Table 21 and appendix F, as the specification gives them."""
    config = yaml.safe_load((ROOT / "config" / "grch37.yaml").read_text())
    model = {
        "hidden_size": 768,
        "num_layers": 12,
        "num_heads": 12,
        "ffn_size": 3072,
        "max_tokens": 4096,
        "block_size": 64,
        "num_random": 3,
        "dropout": 0.1,
    }
    assert config["model"] == model
    assert config["tokenizer"]["vocab_size"] == 32000
    steps = {"pretraining": 1_000_000, "promoter": 711, "chromatin": 500_000}
    for section, count in steps.items():
        training = config[section] if section == "pretraining" else config[section]["training"]
        assert training["max_steps"] == count
        assert training["learning_rate"] == 1e-4
        processes = training.get("devices", 1) * training.get("nodes", 1)
        assert training["batch_size"] * training["accumulate"] * processes == 256
    assert config["pretraining"]["warmup_steps"] == 10_000
    assert config["chromatin"]["training"]["positive_weight"] == 8
    assert config["chromatin"]["window"] == 8000
    assert config["promoter"]["upstream"] + config["promoter"]["downstream"] == 8000
    assert config["splits"]["test"] == ["chr8", "chr9"]
    assert config["promoter"]["strand"] == "forward"
    for training in ("training", "baseline_training"):
        assert config["promoter"][training]["both_strands"] is False


PROMOTER = {"training": {"max_steps": 5}}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"colour": "blue"}, "'colour' was unexpected"),
        ({"model": {"hiden_size": 128}}, "'hiden_size' was unexpected"),
        ({"promoter": {"training": {"max_step": 5, "max_steps": 5}}}, "'max_step' was unexpected"),
        ({"seed": "0"}, "'0' is not of type 'integer'"),
        ({"name": "corpus"}, "'corpus' should not be valid"),
        ({"name": "a/b"}, "'a/b' does not match"),
        ({"splits": {"validation": ["chr7"]}}, "'test' is a required property"),
        ({"splits": {"validation": [], "test": ["chr8"]}}, "[] should be non-empty"),
        ({"predictions": {"regions": ["chr8"]}}, "'chr8' does not match"),
        ({"masking": {"fraction": 15}}, "15 is greater than the maximum of 1"),
        (
            {"inputs": {"genome": ["./a.fa"], "promoters": "./p.bed", "chain": "./c"}},
            "'promoters_assembly' is a dependency of 'chain'",
        ),
        ({"inputs": {"demo": {}, "genome": ["./a.fa"]}}, "is not valid under any of"),
        ({"inputs": {"genome": ["./a"], "peaks": "./p", "deepsea": "./d"}}, "should not be valid"),
        ({"promoter": PROMOTER | {"negatives": "random"}}, "'random' does not match"),
        ({"promoter": PROMOTER | {"baselines": ["gc"]}}, "['gc'] does not contain items matching"),
        ({"promoter": PROMOTER | {"splits": {"folds": 2}}}, "2 is less than the minimum of 3"),
        ({"promoter": PROMOTER | {"splits": {"fold": 1}}}, "is not valid under any of the given"),
        (
            {"promoter": PROMOTER | {"splits": {"folds": 5, "test": ["chr8"]}}},
            "is not valid under any of the given schemas",
        ),
        ({"chromatin": {"training": {"max_steps": 1}, "ensemble": 0}}, "0 is less than the min"),
        (
            {"evaluation": {"baseline_documents": 2000}},
            "replaced by baseline_counted_documents and baseline_scored_documents",
        ),
    ],
)
def test_a_bad_setting_is_named(change, named):
    validator = jsonschema.Draft202012Validator(SCHEMA)
    messages = [error.message for error in validator.iter_errors(demo() | change)]
    assert any(named in message for message in messages), messages


def test_snakemake_names_the_misspelt_key(workflow):
    config = workflow.config(model__hiden_size=64)
    output = workflow.snakemake("-n", "--configfile", config, check=False)
    assert "Additional properties are not allowed ('hiden_size' was unexpected)" in output
    assert "On instance['model']" in output


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (
            {"genome": ["grch_37"]},
            "'grch_37' is not a description in data_specs/ (there are: deepsea",
        ),
        ({"genome": ["./g.fa"]}, "section 'promoter' needs inputs: promoters"),
        (
            {"genome": ["./g.fa"], "promoters": "./p.bed"},
            "section 'chromatin' needs inputs: peaks or deepsea",
        ),
        (
            {"genome": ["./g.fa"], "promoters": "./p.bed", "peaks": "./p.tsv"},
            "`predictions: variants` needs inputs: variants",
        ),
    ],
)
def test_inputs_that_cannot_be(workflow, inputs, message):
    config = workflow.config(name="mine", inputs=inputs)
    assert message in workflow.snakemake("-n", "--configfile", config, check=False)
