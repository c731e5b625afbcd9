"""Names in heads, text tasks and the DeepSEA bundle are checked with the config, not first by the rules."""

import pytest
import yaml

from dna_bigbird.core.errors import InputError
from dna_bigbird.workflow.config.run_config import read_config

RUN = """
name: exp
assembly: toy
regions: [demo22]
inputs: {demo: {}}
splits: {validation: ["demo22:1-100"], test: ["demo22:101-200"]}
pretraining: {max_steps: 10}
promoter: {ensemble: 2}
"""
TEXT = "{name: words, text: {made: {}, tasks: {squad: {}}}}"


def refused(folder, text: str, changes: str, match: str):
    """Check that the changed config is refused with the file, the line and the setting."""
    values = yaml.safe_load(text) | yaml.safe_load(changes)
    (folder / "c.yaml").write_text(yaml.safe_dump(values))
    with pytest.raises(InputError, match=rf"^c.yaml:\d+: {match}"):
        read_config(["c.yaml"])


@pytest.mark.parametrize(
    ("variant", "match"),
    [
        ("{promoter: {}, set: nobody}", "experiments.heads.x.set: nobody"),
        ("{promoter: {}, set: chromatin}", "experiments.heads.x.set: chromatin"),
        ("{promoter: {upstream: 9}, set: promoter}", "experiments.heads.x.set: .*upstream"),
        ("{promoter: {near_identical: keep}, set: promoter}", "experiments.heads.x.set: .*near"),
        ("{promoter: {}, set: promoter, sites: promoters}", "experiments.heads.x.set: .*sites"),
        ("{promoter: {}, pretrained: long}", "experiments.heads.x.pretrained: 'long'"),
        ("{promoter: {}, sites: promoter_sequences}", "experiments.heads.x.sites: .*_sequences"),
        ("{promoter: {}, tokenizer: bases, from_scratch: true}", "experiments.heads.x.tokenizer"),
        ("{promoter: {}, seeds: 2}", "experiments.heads.x.seeds: .*ensemble"),
    ],
)
def test_a_variant_that_cannot_be(folder, variant, match):
    refused(folder, RUN, f"experiments: {{heads: {{x: {variant}}}, table6: [x]}}", match)


def test_a_variant_of_labels_that_inputs_lack(folder):
    (folder / "g.fa").write_text(">chr1\nACGT\n")
    (folder / "p.bed").write_text("chr1\t1\t2\tA\t0\t+\n")
    inputs = "inputs: {genome: [./g.fa], promoters: ./p.bed}"
    changes = f"{inputs}\nexperiments: {{heads: {{x: {{chromatin: {{}}}}}}, table7: [x]}}"
    refused(folder, RUN, changes, "experiments.heads.x: no source of chromatin labels")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ("{made: {}, tasks: {hotpot: {}}}", "text.tasks.hotpot: no such set"),
        ("{made: {}, tasks: {json-lines: {}}}", "text.tasks.json-lines: there is no made text"),
        ("{tasks: {squad: {}}}", "text.tasks.squad: give"),
        ("{made: {}, tasks: {squad: {}}, variants: {v: {tasks: [imdb]}}}", "text.variants.v.tasks: imdb"),
        ("{pretrained: ./m, made: {}, tasks: {squad: {}}, table1: {patterns: {a: {}}}}", "text.pretrained"),
        ("{made: {}, tasks: {squad: {seeds: [1]}}, table1: {patterns: {a: {}}}}", "text.tasks.squad.seeds"),
        ("{made: {}, tasks: {imdb: {}}, table1: {patterns: {a: {}}}}", "text.tasks: .*Table 1"),
    ],
)  # fmt: skip
def test_text_that_cannot_be_read(folder, changes, match):
    (folder / "m").mkdir()
    refused(folder, TEXT, f"text: {changes}", match)


def test_a_bundle_without_coordinates(folder):
    (folder / "g.fa").write_text(">chr1\nACGT\n")
    (folder / "bundle").mkdir()
    for bundle, match in (("./bundle", "bundle: no allTFs"), ("deepsea_train_bundle", ".*deepsea_coord"), ("./g.fa", "g.fa: not a folder")):  # fmt: skip
        inputs = f"inputs: {{genome: [./g.fa], deepsea: {bundle}}}\npromoter: {{}}\nchromatin: {{}}"
        (folder / "p.bed").write_text("chr1\t1\t2\tA\t0\t+\n")
        inputs = inputs.replace("deepsea:", "promoters: ./p.bed, deepsea:")
        refused(folder, RUN, inputs, f"inputs.deepsea: {match}")


def test_sites_of_pretraining_must_be_there(folder):
    refused(
        folder, RUN, "objective: {sites: ./absent.bed}", "objective.sites: ./absent.bed: no such"
    )
