"""The schema names a bad key, and knows exactly the settings that the commands have."""

import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from tools.schema import schema_text

ROOT = Path(__file__).parents[2]

SCHEMAS = ROOT / "workflow" / "schemas"
SCHEMA = yaml.safe_load((SCHEMAS / "config.schema.yaml").read_text())
CONFIGS = ["config/config.yaml", "config/grch37.yaml", "tests/real/config.yaml"]


def demo() -> dict:
    return yaml.safe_load((ROOT / "config" / "config.yaml").read_text())


def properties(*path: str) -> set[str]:
    place = SCHEMA
    for name in path:
        place = place["properties"][name] if name in place.get("properties", {}) else place[name]
    return set(place["properties"])


def parameters(command: str) -> set[str]:
    """Names of a command's options."""
    import inspect

    from dna_bigbird.cli.commands import find_command
    from dna_bigbird.cli.parser import load_function

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


def test_the_schema_is_made_from_the_settings_classes():
    assert (SCHEMAS / "config.schema.yaml").read_text() == schema_text(), "run `make schema`"


@pytest.mark.parametrize(
    "path", [("inputs",), ("$defs", "promoter"), ("$defs", "chromatin"), ("predictions",)]
)
def test_the_readme_of_configs_names_every_key(path):
    words = (ROOT / "config" / "README.md").read_text()
    missing = [key for key in properties(*path) - {"demo"} if f"`{key}`" not in words]
    assert missing == []


def test_demo_options_are_those_of_the_command():
    pytest.importorskip("dna_bigbird.demo.demo_data")
    assert properties("inputs", "demo") <= parameters("demo_data")


@pytest.mark.parametrize("name", CONFIGS)
def test_settings_of_our_configs_do_not_contradict_each_other(name):
    from dna_bigbird.corpus.documents import DocumentConfig
    from dna_bigbird.corpus.masking import MaskingConfig
    from dna_bigbird.corpus.tokenizer import TokenizerConfig
    from dna_bigbird.labelled.splits import SplitConfig
    from dna_bigbird.models.config import EncoderConfig
    from dna_bigbird.models.train_config import TrainConfig

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


def ended(workflow, *arguments: str) -> str:
    """Run Snakemake, which must end with status 2, and return the line that it adds to its own."""
    done = workflow.run(*arguments)
    assert done.returncode == 2, done.stdout
    theirs = ("Using workflow specific profile", "Config file config/config.yaml is extended")
    lines = [x for x in done.stdout.splitlines() if x and not x.startswith(theirs)]
    (line,) = lines
    return line


def test_no_two_files_of_rules_define_the_same_name():
    """All of them share one set of names: the second definition would change what the first file reads."""
    owners: dict[str, str] = {}
    for path in sorted((ROOT / "workflow").rglob("*.smk")):
        own = re.findall(r"^(?:def )?(\w+)(?=\(| = |: [^\n]* = )", path.read_text(), re.MULTILINE)
        for name in set(own):
            assert owners.setdefault(name, path.name) == path.name, name
    assert {"RES", "TEXT", "BROWSER_FOLDER", "command"} <= owners.keys()


def test_snakemake_ends_with_one_line(workflow):
    config = workflow.config(model__hiden_size=64)
    line = ended(workflow, "-n", "--configfile", config)
    assert re.fullmatch(
        r"dna-bigbird: error: changed\.yaml:\d+: model\.hiden_size: no such option; "
        r"did you mean 'hidden_size'\?",
        line,
    )
    line = ended(workflow, "-n", "--config", "seed=-1")
    assert line == (
        "dna-bigbird: error: --config: seed: found -1; expected a whole number, at least 0"
    )


def test_a_mistake_that_the_rules_see_ends_with_one_line(workflow):
    (workflow.folder / "bundle").mkdir()
    (workflow.folder / "g.fa").write_text(">chr1\nACGT\n")
    inputs = {"genome": ["g.fa"], "deepsea": "bundle"}
    config = workflow.config(name="mine", inputs=inputs, promoter=None, predictions=None)
    line = ended(workflow, "-n", "--configfile", config)
    assert re.match(r"dna-bigbird: error: changed\.yaml:\d+: inputs\.deepsea: ", line)


def test_paths_need_no_dot_and_there_is_no_warning(workflow):
    (workflow.folder / "g.fa").write_text(">chr1\nACGT\n")
    (workflow.folder / "p.bed").write_text("chr1\t1\t2\tA\t0\t+\n")
    inputs = {"genome": ["./g.fa", "g.fa"], "promoters": "./p.bed"}
    config = workflow.config(name="mine", inputs=inputs, chromatin=None, predictions=None)
    output = workflow.snakemake("-n", "-p", "--configfile", config)
    assert """--inputs '["g.fa", "g.fa"]'""" in output
    assert "--sites p.bed" in output
    assert "Relative file path" not in output
