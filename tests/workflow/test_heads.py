"""Variants of promoter and chromatin models, baselines, ensembles and splits, as dry runs plan them."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml

from dna_bigbird.cli.parser import build_parser
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.labelled.scores import read_scores

ROOT = Path(__file__).parents[2]
STEPS = {"max_steps": 10, "warmup_steps": 1, "validate_every": 5}
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
        "own_sites": {
            "promoter": {"training": STEPS, "dropout": 0.2},
            "sites": "./mine.bed",
            "seed": 7,
        },
        "two": {"chromatin": {"ensemble": 2, "training": STEPS}, "set": "chromatin"},
    },
    "table6": ["promoter", "permuted", "fresh", "own_sites"],
    "table7": ["chromatin", "two"],
}


def plan(workflow, *targets: str, heads=HEADS, check=True, **changes) -> str:
    (workflow.folder / "mine.bed").write_text("demo22\t9\t10\tA\t0\t+\n")
    config = workflow.config(name="exp", experiments=heads, **changes)
    return workflow.snakemake("-n", *targets, "--configfile", config, check=check)


def commands(workflow, output: str) -> list[str]:
    return workflow.commands_of(output.replace(" >> logs", " > logs"))


@pytest.fixture(scope="module")
def planned(new_workflow):
    """The jobs and commands of all comparisons."""
    workflow = new_workflow("heads")
    output = plan(workflow, "experiments")
    return workflow.jobs_of(output), commands(workflow, output)


def the_one(found: list[str], *words: str) -> str:
    (command,) = (command for command in found if all(word in command for word in words))
    return command


def test_every_command_is_understood(planned):
    expected = {"leakage", "baseline", "finetune", "ensemble", "evaluate", "compare-heads"}
    assert expected <= {command.split()[0] for command in planned[1]}
    for command in planned[1]:
        name, *words = shlex.split(command)
        parser, _ = build_parser(name)
        read_arguments(parser, words)


def test_a_variant_changes_what_it_names_and_nothing_else(planned):
    own = the_one(planned[1], "--output results/exp/promoter/set.h5")
    permuted = the_one(planned[1], "--output results/exp/heads/permuted/set.h5")
    assert "--split.folds 5 --split.fold 1" in permuted
    assert "--negatives permuted" in permuted
    assert "--split.test '[\"demo22:850,001-1,000,000\"]'" in own
    assert "--negatives random_base" in own
    for command in (own, permuted):
        assert "--upstream 600 --downstream 400" in command


def test_dropout_goes_to_the_training_that_asks_for_it(planned):
    trainings = [x for x in planned[1] if x.startswith("finetune ")]
    assert [x for x in trainings if "--dropout 0.2 " in x] == [
        the_one(trainings, "--output results/exp/trained/heads/own_sites ")
    ]
    assert sum("--dropout" in x for x in trainings) == 1


def test_strands_go_to_the_scoring_of_a_model_and_of_its_networks(workflow):
    heads = {"one": {"promoter": {"strand": "forward", "baselines": ["kmer", "cnnprom"]}}}
    heads["one"]["promoter"]["baseline_training"] = STEPS
    output = plan(workflow, "experiments", heads={"heads": heads, "table6": ["promoter", "one"]})
    found = commands(workflow, output)
    for words in (("evaluate", "/heads/one "), ("--method cnnprom", "/heads/one/cnnprom.h5")):
        assert "--strand forward" in the_one(found, *words)
    assert sum("--strand" in command for command in found) == 2


@pytest.mark.slow
def test_gkm_svm_of_chromatin_labels_runs(workflow):
    """The row of Table 7, on the labels of the demo: a score for every label and row."""
    gkm = {"word_length": 6, "informative": 4, "max_rows": 60}
    config = workflow.config(chromatin__baselines=["kmer", "gkm"], chromatin__gkm=gkm)
    path = "results/baselines/chromatin/gkm.h5"
    workflow.snakemake("--cores", "2", "--configfile", config, "--", path)
    scores = read_scores(workflow.folder / path)
    assert scores.values.shape == (len(scores.rows), len(scores.label_names))
    assert len(scores.label_names) > 1
    assert np.isfinite(scores.values).all()
    assert len(np.unique(scores.values)) > 10


def test_gkm_svm_has_its_own_settings(workflow):
    promoter = {"baselines": ["kmer", "gkm"], "kmer": {"max_k": 4}}
    heads = {"one": {"promoter": promoter | {"gkm": {"word_length": 11, "informative": 7}}}}
    found = commands(workflow, plan(workflow, "table6", heads={"heads": heads, "table6": ["one"]}))
    fitted = the_one(found, "baseline --method gkm", "/heads/one/gkm.h5")
    assert "--gkm.word_length 11 --gkm.informative 7" in fitted
    assert "--kmer" not in fitted
    assert '"results/exp/baselines/heads/one/gkm.h5"' in the_one(found, "evaluate", "/heads/one ")


def test_a_shared_set_is_built_once_with_its_baselines(planned):
    jobs, found = planned
    counts = {"promoter_set": 3, "chromatin_set": 1, "leakage": 3, "baseline": 15, "finetune": 7}
    assert {name: jobs[name] for name in counts} == counts
    assert jobs["baseline_network"] == 1
    fresh = the_one(found, "finetune", "--output results/exp/trained/heads/fresh ")
    assert "--data results/exp/heads/permuted/set.h5" in fresh
    assert "--from_scratch true" in fresh
    scored = the_one(found, "evaluate", "--report results/exp/evaluation/heads/fresh ")
    for kind in ("kmer", "gc", "cnnprom"):
        assert f'"results/exp/baselines/heads/permuted/{kind}.h5"' in scored


def test_the_baselines_that_apply_are_fitted_if_none_are_named(planned):
    def fitted(head):
        paths = re.findall(rf'"results/exp/baselines/{head}/([a-z]+)\.h5"', "\n".join(planned[1]))
        return set(paths)

    assert fitted("chromatin") == {"kmer", "gc", "composition"}
    assert fitted("promoter") == {"kmer", "gc", "composition", "positional", "motif"}
    assert fitted("heads/permuted") == {"kmer", "gc", "cnnprom"}


def test_members_of_an_ensemble_have_their_own_seeds(planned):
    for i in range(2):
        assert f"--seed {i} " in the_one(planned[1], f"--output results/exp/trained/heads/two-{i} ")
    joined = the_one(planned[1], "ensemble --models")
    assert '["results/exp/trained/heads/two-0", "results/exp/trained/heads/two-1"]' in joined


def test_background_and_its_seed_reach_the_command(workflow):
    heads = {"few": {"chromatin": {"background": 2, "training": STEPS}, "seed": 3}}
    output = plan(workflow, "experiments", heads={"heads": heads, "table7": ["chromatin", "few"]})
    found = commands(workflow, output)
    own = the_one(found, "chromatin-set", "--output results/exp/chromatin/set.h5")
    few = the_one(found, "chromatin-set", "--output results/exp/heads/few/set.h5")
    assert "--background" not in own
    assert "--background 2" in few
    assert "--seed 3 " in few


def test_sites_and_seed_of_a_variant(planned):
    made = the_one(planned[1], "--output results/exp/heads/own_sites/set.h5")
    assert "--sites mine.bed" in made
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
    (workflow.folder / "allTFs.pos.bed.tar.gz").touch()  # next to the folder
    inputs = {"genome": ["./g.fa"], "deepsea": "./bundle"}
    changes = {"promoter": None, "predictions": None, "chromatin__check_every": 10}
    changes |= {"heads": {"heads": {"x": {"chromatin": {}}}}, "inputs": inputs}
    output = plan(workflow, "all", **changes)
    made = the_one(commands(workflow, output), "deepsea-set --bundle")
    assert "--bundle bundle" in made
    assert f"--row_coordinates {workflow.folder}/allTFs.pos.bed.tar.gz" in made
    assert "--check_every 10" in made
    assert "data_specs/deepsea_919_peaks.tsv" in made
    inputs |= {"deepsea": "deepsea_train_bundle"}
    inputs |= {"deepsea_coordinates": "deepsea_train_coordinates"}
    output = plan(workflow, "all", **changes)
    assert workflow.jobs_of(output)["unpack_deepsea"] == 1
    assert "--row_coordinates results/exp/inputs/allTFs.pos.bed.tar.gz" in output


@pytest.mark.parametrize(
    ("bundle", "message"),
    [
        ("./bundle", "inputs.deepsea: bundle: no allTFs.pos.bed in this folder or next to it"),
        ("./absent", "inputs.deepsea: ./absent: no such file"),
        ("deepsea_train_bundle", "add `deepsea_coordinates: deepsea_train_coordinates`"),
    ],
)
def test_missing_coordinates_are_reported_before_any_job(workflow, bundle, message):
    (workflow.folder / "g.fa").write_text(">chr1\nACGT\n")
    (workflow.folder / "bundle").mkdir()
    inputs = {"genome": ["./g.fa"], "deepsea": bundle}
    heads = {"heads": {"x": {"chromatin": {}}}}
    changes = {"promoter": None, "predictions": None, "inputs": inputs}
    output = plan(workflow, "all", heads=heads, check=False, **changes)
    assert message in output
    assert "Job stats" not in output


def test_inputs_are_read_before_the_long_trainings(workflow):
    """With one core, downloads and labelled sets come first: one that does not fit is seen early."""
    output = workflow.snakemake("-n", "--configfile", "config/grch37.yaml")
    rules = dict(
        re.findall(r"^(?:localrule|rule) (\w+):\n(.*?)\n\n", output, re.DOTALL | re.MULTILINE)
    )
    for rule in ("fetch", "unpack_deepsea", "deepsea_set", "lift_over", "promoter_set"):
        assert "priority: 10" in rules[rule]
    assert "priority" not in rules["pretrain"]


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ({"promoter": {}, "set": "nobody"}, ".set: nobody is neither the run's section nor a"),
        ({"promoter": {}, "set": "two"}, ".set: two is neither"),
        ({"promoter": {}, "set": "fresh"}, ".set: fresh is neither"),
        (
            {"promoter": {"upstream": 9}, "set": "permuted"},
            ".set: `set: permuted` takes the set of another one, and `upstream` would change it",
        ),
        (
            {"promoter": {}, "pretrained": "long"},
            ".pretrained: 'long' is not among the variants of pretraining",
        ),
        (
            {"promoter": {}, "sites": ["promoters", "promoter_sequences"]},
            ".sites: inputs has no promoter_sequences",
        ),
    ],
)
def test_a_variant_that_cannot_be(workflow, variant, message):
    heads = {"heads": HEADS["heads"] | {"bad": variant}}
    output = plan(workflow, heads=heads, check=False)
    assert f"experiments.heads.bad{message}" in output


def test_a_table_of_unknown_variants(workflow):
    output = plan(workflow, heads=HEADS | {"table6": ["other"]}, check=False)
    assert (
        "experiments.table6[0]: 'other' is not among the variants (promoter, chromatin," in output
    )


def test_encoders_of_variants_without_pretraining(workflow):
    heads = {
        "bases": {"promoter": {"training": STEPS}, "tokenizer": "bases", "model": {"ffn_size": 64}},
        "probe": {"promoter": {"freeze": "encoder", "search": 3, "baseline_search": 4}},
        "low": {
            "promoter": {"lora": {"rank": 4, "targets": ["query", "ffn"]}, "words": {"max_k": 5}}
        },
        "bare": {"promoter": {}, "from_scratch": True, "model": {"num_layers": 0}},
    }
    output = plan(workflow, "experiments", heads={"heads": heads, "table6": [*heads]})
    found = commands(workflow, output)
    bases = the_one(found, "finetune", "--output results/exp/trained/heads/bases ")
    assert "--tokenizer bases --model.ffn_size 64" in bases
    assert "--pretrained" not in bases
    bare = the_one(found, "finetune", "--output results/exp/trained/heads/bare ")
    assert "--pretrained results/exp/trained/pretrained --from_scratch true" in bare
    assert "--model.num_layers 0" in bare
    probe = the_one(found, "finetune", "--output results/exp/trained/heads/probe ")
    assert "--freeze encoder" in probe
    assert "--search 3" in probe
    assert "--search 4" in the_one(found, "baseline --method kmer", "/heads/probe/kmer.h5")
    low = the_one(found, "finetune", "--output results/exp/trained/heads/low ")
    assert '--lora.rank 4 --lora.targets \'["query", "ffn"]\'' in low
    assert "--words.max_k 5" in low
    for command in (probe, low):
        name, *words = shlex.split(command)
        parser, _ = build_parser(name)
        read_arguments(parser, words)
    alone = plan(workflow, "table6", heads={"heads": heads, "table6": ["bases"]})
    assert "pretrain" not in workflow.jobs_of(alone)
    heads["bases"]["from_scratch"] = True
    refused = plan(workflow, "table6", heads={"heads": heads, "table6": ["bases"]}, check=False)
    assert "does not go with `from_scratch`; keep one of the two" in refused


def test_a_variant_with_seeds_is_trained_per_seed_on_one_set(workflow):
    promoter = {"training": STEPS, "baseline_training": STEPS, "baselines": ["kmer", "cnnprom"]}
    heads = {
        "many": {"promoter": promoter, "seeds": [3, 4], "seed": 9},
        "fresh": {"promoter": {}, "set": "many", "from_scratch": True, "seeds": [3, 5]},
    }
    output = plan(workflow, "table6", heads={"heads": heads, "table6": ["many", "fresh"]})
    counts = {"promoter_set": 1, "finetune": 4, "evaluate": 4, "baseline": 1, "compare_seeds": 2}
    jobs = workflow.jobs_of(output)
    assert {name: jobs[name] for name in counts} == counts
    assert jobs["baseline_network"] == 3, "seeds 3, 4 and 5"
    found = commands(workflow, output)
    assert "--seed 9 " in the_one(found, "promoter-set")
    for head, seed in (("many", 3), ("many", 4), ("fresh", 3), ("fresh", 5)):
        where = f"heads/{head}/seed{seed}"
        trained = the_one(found, "finetune", f"--output results/exp/trained/{where} ")
        assert f"--seed {seed} " in trained
        assert "--data results/exp/heads/many/set.h5" in trained
        scored = the_one(found, "evaluate", f"--report results/exp/evaluation/{where} ")
        assert f"--seed {9 if head == 'many' else 0} " in scored
        assert f'"results/exp/baselines/heads/many/cnnprom/seed{seed}.h5"' in scored
        assert '"results/exp/baselines/heads/many/kmer.h5"' in scored
    for seed in (3, 4, 5):
        network = the_one(found, "--method cnnprom", f"/heads/many/cnnprom/seed{seed}.h5 ")
        assert f"--seed {seed} " in network
    joined = the_one(
        found, "compare-seeds", "--output results/exp/evaluation/heads/fresh/seeds.json"
    )
    scores = [f"results/exp/evaluation/heads/fresh/seed{seed}/scores.h5" for seed in (3, 5)]
    words = shlex.split(joined)
    assert yaml.safe_load(words[words.index("--scores") + 1]) == scores
    assert yaml.safe_load(words[words.index("--baselines") + 1]) == [
        "kmer=results/exp/baselines/heads/many/kmer.h5",
        "cnnprom=results/exp/baselines/heads/many/cnnprom/seed3.h5",
        "cnnprom=results/exp/baselines/heads/many/cnnprom/seed5.h5",
    ]
    compared = the_one(found, "compare-heads")
    assert '--runs \'["heads/many", "heads/fresh"]\'' in compared
    heads["many"]["promoter"] = promoter | {"ensemble": 2}
    refused = plan(workflow, "table6", heads={"heads": heads, "table6": ["many"]}, check=False)
    assert "keep `seeds` or `ensemble`" in refused
