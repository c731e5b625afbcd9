"""Variants of promoter and chromatin models, baselines, ensembles and splits, as dry runs plan them."""

import shlex
from pathlib import Path

import pytest

from dna_bigbird.cli.main import _underscored, build_parser

ROOT = Path(__file__).parents[2]
STEPS = {"max_steps": 9}
HEADS = {
    "heads": {
        "permuted": {
            "promoter": {
                "negatives": "permuted",
                "splits": {"folds": 5, "fold": 1},
                "baselines": ["kmer", "gc", "cnnprom"],
                "cnnprom": {"width": 0.5},
                "baseline_training": STEPS,
            }
        },
        "fresh": {"promoter": {}, "set": "permuted", "from_scratch": True},
        "own_sites": {"promoter": {"training": STEPS}, "sites": "./mine.bed", "seed": 7},
        "two": {"chromatin": {"ensemble": 2, "training": STEPS}, "set": "chromatin"},
    },
    "table6": ["promoter", "permuted", "fresh"],
    "table7": ["chromatin", "two"],
}


def plan(workflow, *targets: str, heads=HEADS, check=True, **changes) -> str:
    (workflow.folder / "mine.bed").write_text("demo22\t9\t10\tA\t0\t+\n")
    config = workflow.config(name="exp", experiments=heads, **changes)
    return workflow.snakemake("-n", *targets, "--configfile", config, check=check)


def commands(workflow, output: str) -> list[str]:
    found = workflow.commands_of(output.replace(" >> logs", " > logs"))
    return [command.removeprefix("keep_log ") for command in found]


def test_every_command_is_understood(workflow):
    found = commands(workflow, plan(workflow, "experiments"))
    expected = {"leakage", "baseline", "finetune", "ensemble", "evaluate", "compare-heads"}
    assert expected <= {command.split()[0] for command in found}
    for command in found:
        name, *words = shlex.split(command)
        parser, _ = build_parser(name)
        parser.instantiate(parser.parse_args([_underscored(word) for word in words]))


def test_a_variant_changes_what_it_names_and_nothing_else(workflow):
    made = {
        command.split("results/exp/")[2].split("/set.h5")[0]: command
        for command in commands(workflow, plan(workflow, "table6"))
        if command.startswith("promoter-set")
    }
    assert set(made) == {"promoter", "heads/permuted"}
    assert "--split.folds 5 --split.fold 1" in made["heads/permuted"]
    assert "--negatives permuted" in made["heads/permuted"]
    assert "--split.test '[\"demo22:850,001-1,000,000\"]'" in made["promoter"]
    assert "--negatives random_base" in made["promoter"]
    for command in made.values():
        assert "--upstream 600 --downstream 400" in command


def test_a_shared_set_is_built_once_with_its_baselines(workflow):
    output = plan(workflow, "table6")
    jobs = workflow.jobs_of(output)
    counts = {"promoter_set": 2, "leakage": 2, "baseline": 3, "baseline_network": 1, "finetune": 3}
    assert {name: jobs[name] for name in counts} == counts
    (fresh,) = (c for c in commands(workflow, output) if "trained/heads/fresh --ch" in c)
    assert "--data results/exp/heads/permuted/set.h5" in fresh
    assert "--from_scratch true" in fresh
    (scored,) = (
        c for c in commands(workflow, output) if "--report results/exp/evaluation/heads/f" in c
    )
    for kind in ("kmer", "gc", "cnnprom"):
        assert f'"results/exp/baselines/heads/permuted/{kind}.h5"' in scored


def test_members_of_an_ensemble_have_their_own_seeds(workflow):
    output = plan(workflow, "table7")
    trained = [
        c for c in commands(workflow, output) if "trained/heads/two-" in c and "finetune" in c
    ]
    assert sorted(c.split("--seed ")[1].split()[0] for c in trained) == ["0", "1"]
    (joined,) = (c for c in commands(workflow, output) if c.startswith("ensemble"))
    assert '["results/exp/trained/heads/two-0", "results/exp/trained/heads/two-1"]' in joined


def test_sites_and_seed_of_a_variant(workflow):
    heads = HEADS | {"table6": ["own_sites"]}
    (made,) = (
        c for c in commands(workflow, plan(workflow, "table6", heads=heads)) if "promoter-set" in c
    )
    assert "--sites ./mine.bed" in made
    assert "--seed 7" in made


def test_heads_are_no_part_of_all(workflow):
    assert " heads/" not in plan(workflow, "all")


def test_promoters_are_scored_only_after_an_empty_leakage_report(workflow):
    lines = plan(workflow, "all").splitlines()
    inputs = [line for i, line in enumerate(lines) if lines[i - 1] == "rule evaluate:"]
    found = {
        "promoter/set.h5" in line: "results/exp/promoter/leakage.tsv" in line for line in inputs
    }
    assert found == {True: True, False: False}
    kept = plan(workflow, "all", promoter__near_identical="keep")
    assert "leakage" not in workflow.jobs_of(kept)


def test_an_ensemble_in_the_run_itself(workflow):
    jobs = workflow.jobs_of(plan(workflow, "all", chromatin__ensemble=3))
    assert (jobs["finetune"], jobs["ensemble"]) == (4, 1)


def test_the_published_bundle_in_the_place_of_peaks(workflow):
    (workflow.folder / "g.fa").write_text(">chr1\nACGT\n")
    (workflow.folder / "bundle").mkdir()
    inputs = {"genome": ["./g.fa"], "deepsea": "./bundle"}
    changes = {"promoter": None, "predictions": None, "chromatin__check_every": 10}
    output = plan(
        workflow, "all", heads={"heads": {"x": {"chromatin": {}}}}, inputs=inputs, **changes
    )
    (made,) = (c for c in commands(workflow, output) if c.startswith("deepsea-set"))
    assert "--bundle ./bundle" in made
    assert "--check_every 10" in made
    assert "data_specs/deepsea_919_peaks.tsv" in made
    inputs["deepsea"] = "deepsea_train_bundle"
    output = plan(workflow, "all", inputs=inputs, **changes)
    assert workflow.jobs_of(output)["unpack_deepsea"] == 1


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ({"promoter": {}, "set": "nobody"}, "`set: nobody` is neither the run's section nor a"),
        ({"promoter": {}, "set": "two"}, "`set: two` is neither"),
        ({"promoter": {}, "set": "fresh"}, "`set: fresh` is neither"),
        ({"promoter": {"upstream": 9}, "set": "permuted"}, "and `upstream` would change it"),
        ({"promoter": {}, "pretrained": "long"}, "'long' is not among the variants of pretraining"),
    ],
)
def test_a_variant_that_cannot_be(workflow, variant, message):
    heads = {"heads": HEADS["heads"] | {"bad": variant}}
    output = plan(workflow, heads=heads, check=False)
    assert f"config, experiments, heads, bad: {message}" in " ".join(output.split())


def test_a_table_of_unknown_variants(workflow):
    output = plan(workflow, heads=HEADS | {"table6": ["other"]}, check=False)
    assert "experiments, table6: 'other' is not among the variants (promoter, chromatin," in output
