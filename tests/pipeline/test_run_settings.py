"""Rules between settings, and regions outside the genome, are refused with the line of the config."""

import copy
from pathlib import Path

import pytest
import yaml

from dna_bigbird.core.errors import InputError
from dna_bigbird.workflow.config.config_files import read_config_files
from dna_bigbird.workflow.config.run_config import check_config
from dna_bigbird.workflow.plan import plan

ROOT = Path(__file__).parents[2]
DEMO = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
TUNED = {"max_steps": 120, "validate_every": 50}
VARIANTS = "experiments__variants__other"
HEADS = "experiments__heads__other"


def write(path: Path, changes: dict) -> Path:
    """Write the demo's config with changes; a key with dots is nested."""
    run = copy.deepcopy(DEMO)
    for key, value in changes.items():
        *above, last = key.split("__")
        section = run
        for name in above:
            section = section.setdefault(name, {})
        section[last] = value
    path.write_text(yaml.safe_dump(run, sort_keys=False))
    return path


def check(path: Path) -> None:
    files = read_config_files([path])
    run = files.values()
    check_config(run, files)


CONTRADICTIONS = [
    ("promoter.training.max_steps", {"promoter__training": TUNED}),
    ("chromatin.baseline_training.max_steps", {"chromatin__baseline_training": TUNED}),
    ("pretraining.warmup_steps", {"pretraining__warmup_steps": 5000}),
    ("model.hidden_size", {"model__hidden_size": 127}),
    ("splits", {"splits": {"validation": ["demo22:1-9"], "test": ["demo22:9-20"]}}),
    (
        "promoter.splits",
        {"promoter__splits": {"validation": ["demo22"], "test": ["demo22:9-20"]}},
    ),
    ("documents.min_sentences", {"documents__min_sentences": 900}),
    ("masking.mask_share", {"masking": {"mask_share": 0.8, "random_share": 0.3}}),
    ("objective.cpc", {"objective__cpc": {"weight": 0.5}}),
    ("evaluation.kenlm", {"evaluation__kenlm": True, "evaluation__unmasked_baselines": False}),
    ("promoter.unread", {"promoter__unread": ["demo22:1-9"]}),
    ("promoter.lora.rank", {"promoter__freeze": "encoder", "promoter__lora": {"rank": 2}}),
    ("promoter.dropout", {"promoter__dropout": 1.0}),
    ("promoter.search", {"promoter__search": 3, "promoter__training__devices": 2}),
    ("chromatin.window", {"chromatin__window": 999}),
    ("chromatin.head.pooling", {"chromatin__head": {"pooling": "bin"}}),
    ("promoter.gkm.informative", {"promoter__gkm": {"word_length": 6, "informative": 8}}),
    (f"{VARIANTS}.model.num_heads", {f"{VARIANTS}__model": {"num_heads": 3}}),
    (f"{VARIANTS}.pretraining.max_steps", {f"{VARIANTS}__pretraining": {"max_steps": 901}}),
    (f"{HEADS}.promoter.training.max_steps", {f"{HEADS}__promoter__training": {"max_steps": 901}}),
    (
        f"{HEADS}.model.num_heads",
        {f"{HEADS}__promoter": {}, f"{HEADS}__model": {"num_heads": 3}},
    ),
    ("bench.one.training.max_steps", {"bench__one__training": TUNED}),
    ("bench.glue", {"bench__glue": {}}),
    ("bench.long-range", {"bench__long-range": {"tasks": ["none"]}}),
    ("text.pretraining.max_steps", {"text__pretraining": TUNED}),
    ("text.training.max_steps", {"text__training": TUNED}),
    ("text.tasks.rte.training.max_steps", {"text__tasks__rte": {"training": TUNED}}),
    ("text.tasks.squad.options.stride", {"text__tasks__squad": {"options": {"stride": 1000}}}),
    ("text.model.hidden_size", {"text__model__hidden_size": 63}),
    ("text.tasks.rte.recipe", {"text__tasks__rte": {"recipe": ["./missing.yaml"]}}),
    (
        "text.table1.patterns.a.window_blocks",
        {"text__table1": {"patterns": {"a": {"window_blocks": 2}}}},
    ),
]


def test_a_suite_without_its_files_is_refused(tmp_path):
    path = write(tmp_path / "c.yaml", {"bench__gue": {}})
    with pytest.raises(InputError, match=r"c\.yaml:\d+: bench\.gue\.data: missing"):
        check(path)


@pytest.mark.parametrize(("setting", "changes"), CONTRADICTIONS)
def test_a_contradiction_is_refused_with_its_line(tmp_path, setting, changes):
    path = write(tmp_path / "c.yaml", changes)
    setting = setting.replace("__", ".")
    with pytest.raises(InputError, match=rf"^\S*c\.yaml:\d+: {setting}: ") as caught:
        check(path)
    text = str(caught.value)
    assert "\n" not in text
    assert "--" not in text
    line = path.read_text().splitlines()[int(text.split(":")[1]) - 1]
    assert setting.rpartition(".")[2] in line


SINGLE_VALUES = [
    ("promoter__kmer__max_k", 9),
    ("promoter__kmer__max_rows", 1),
    ("model__dropout", 1.0),
    ("model__attention_dropout", 1.0),
    ("promoter__head__dropout", 1.0),
    ("promoter__dropout", 1.0),
    ("model__window_blocks", 2),
    ("model__stem_width", 4),
    ("masking__fraction", 0),
    ("objective__cpc__weight", 1),
    ("objective__cpc__sentence_share", 0),
    ("objective__cpc__sentence_share", 1),
]


@pytest.mark.parametrize(("setting", "value"), SINGLE_VALUES)
def test_a_value_that_the_command_refuses_is_refused(tmp_path, setting, value):
    path = write(tmp_path / "c.yaml", {setting: value})
    with pytest.raises(InputError, match=rf": {setting.replace('__', '.')}: "):
        check(path)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("pretraining__attention_backend", "triton"),
        ("model__num_layers", 0),
        ("model__max_tokens", 4),
    ],
)
def test_a_value_that_the_command_takes_is_taken(tmp_path, setting, value):
    check(write(tmp_path / "c.yaml", {setting: value}))


OURS = ["config/config.yaml", "config/grch37.yaml", "config/own-peaks.yaml", "config/text.yaml"]
OURS += ["config/text-large.yaml", "config/text-table1.yaml", "config/text-table1-made.yaml"]
OURS += ["config/text-etc.yaml", "config/text-etc-large.yaml", "config/text-longformer.yaml"]
OURS += ["config/characters.yaml"]
OURS += ["config/bundled-encoder.yaml", "config/bundled-promoter.yaml"]
OURS += ["tests/real/config.yaml", "tests/real/heads.yaml"]


@pytest.mark.parametrize("name", OURS)
def test_our_configs_have_no_contradiction(monkeypatch, name):
    monkeypatch.chdir(ROOT)
    check(Path(name))


OUTSIDE = [
    ("splits.validation[0]", {"splits": {"validation": ["chr7"], "test": ["demo22"]}}),
    ("regions[0]", {"regions": ["demo22:1-1,000"]}),
    ("predictions.regions[0]", {"predictions__regions": ["demo22:90-101"]}),
    ("predictions.mutagenesis.region", {"predictions__mutagenesis__region": "demo21:1-9"}),
]
LARGER = {
    "splits": {"validation": ["demo22:1-10"], "test": ["demo22:11-20"]},
    "regions": [],
    "predictions": {"regions": ["22:1-100"]},
}


def of_own_genome(tmp_path, changes: dict, length: int = 100) -> Path:
    """Write a config about an indexed genome of one chromosome, demo22."""
    genome = tmp_path / "g.fa"
    genome.write_text(f">demo22\n{'A' * length}\n")
    Path(f"{genome}.fai").write_text(f"demo22\t{length}\t8\t{length}\t{length + 1}\n")
    (tmp_path / "a.bed").write_text("demo22\t1\t2\n")
    inputs = {"genome": ["./g.fa"], "promoters": "./a.bed", "peaks": {"A": "./a.bed"}}
    return write(tmp_path / "c.yaml", {"inputs": inputs, **LARGER, "predictions": {}, **changes})


@pytest.mark.parametrize(("setting", "changes"), OUTSIDE)
def test_a_region_outside_an_indexed_genome_is_refused(tmp_path, monkeypatch, setting, changes):
    monkeypatch.chdir(tmp_path)
    changes = {"predictions": {"regions": ["demo22:1-9"]}} | changes
    changes |= {"predictions__mutagenesis__model": "promoter"} if "mutagenesis" in setting else {}
    path = of_own_genome(tmp_path, changes)
    name = setting.replace("[", r"\[").replace("]", r"\]")
    for refused in (check, plan):
        with pytest.raises(InputError, match=rf"c\.yaml:\d+: {name}: region "):
            refused(path)


def test_the_genome_of_an_earlier_run_is_the_reference(tmp_path, monkeypatch):
    """Unless it was made of other files."""
    monkeypatch.chdir(tmp_path)
    path = of_own_genome(tmp_path, {"predictions": {"regions": ["demo22:1-101"]}})
    (tmp_path / "g.fa.fai").unlink()
    check(path)
    made = tmp_path / "results" / "genome"
    made.mkdir(parents=True)
    for name, text in (("genome.fa", "g.fa"), ("genome.fa.fai", "")):
        content = (tmp_path / text).read_text() if text else "demo22\t100\t8\t100\t101\n"
        (made / name).write_text(content)
    (tmp_path / "results" / "config.yaml").write_text("inputs: {genome: [other.fa]}\n")
    check(path)
    (tmp_path / "results" / "config.yaml").write_text(path.read_text())
    with pytest.raises(InputError, match=r"predictions\.regions\[0\]: .*genome\.fa"):
        check(path)
