"""The profiles are found, and ask SLURM for what the config trains on."""

import re

import pytest
import yaml

from tests.workflow.conftest import ROOT

SLURM = "workflow/profiles/slurm/config.v8+.yaml"
FORM = r"^# Form \d: (.*)\. Config: (.*)\n((?:#   .*\n)+)"
FORMS = [("one GPU", "{}", ""), *re.findall(FORM, (ROOT / SLURM).read_text(), re.MULTILINE)]
LAUNCHERS = {
    "one GPU": "",
    "one node, 4 GPUs": "srun --nodes=1 --ntasks-per-node=4 --cpus-per-task=1 --kill-on-bad-exit=1",
    "2 nodes, 4 GPUs each": (
        "srun --nodes=2 --ntasks-per-node=4 --cpus-per-task=1 --kill-on-bad-exit=1"
    ),
}
PAPER_BATCH = 256
TEST_NODE_MB = 4096


def fill_in(workflow, form: str = "") -> None:
    """Do with a copy's SLURM profile what its comments say; one thread, whatever is here."""
    path = workflow.folder / SLURM
    profile = yaml.safe_load(path.read_text().replace("CHANGE", "mine"))
    profile["set-resources"] |= (
        yaml.safe_load(form.replace("#  ", "").replace("CHANGE", "gpu")) or {}
    )
    profile["set-threads"]["pretrain"] = 1
    path.write_text(yaml.safe_dump(profile))


def training_config(workflow, **changes) -> str:
    config = yaml.safe_load((ROOT / "config/grch37.yaml").read_text())["pretraining"]
    return workflow.config(base="config/grch37.yaml", pretraining=config | changes)


def pretraining(output: str) -> tuple[str, dict[str, str]]:
    """Return what stands before the Python of the pretraining command, and its options."""
    (line,) = [line for line in output.splitlines() if " -m dna_bigbird pretrain " in line]
    before, _, command = line.partition(" -m dna_bigbird pretrain ")
    launcher = before.partition("; ")[2].rpartition(" ")[0]
    return launcher, dict(re.findall(r"--(\S+) (\S+)", command))


def test_every_form_of_the_slurm_profile_is_seen():
    assert [name for name, _, _ in FORMS] == list(LAUNCHERS)


@pytest.mark.parametrize(("name", "config", "form"), FORMS, ids=[form[0] for form in FORMS])
def test_forms_of_the_slurm_profile(workflow, name, config, form):
    fill_in(workflow, form)
    changes = yaml.safe_load(config if config == "{}" else f"{{{config}}}")
    changed = training_config(workflow, **changes)
    output = workflow.snakemake(
        "-n", "--workflow-profile", "profiles/slurm", "--configfile", changed
    )
    launcher, options = pretraining(output)
    assert launcher == LAUNCHERS[name]
    numbers = ("batch_size", "accumulate", "devices", "nodes")
    batch = 1
    for number in numbers:
        batch *= int(options.get(f"training.{number}", 1))
    assert batch == PAPER_BATCH
    assert output.count("srun --") == (1 if launcher else 0), "only pretraining was asked to"


def test_the_same_rules_need_no_launcher_here(workflow):
    output = workflow.snakemake("-n", "--configfile", training_config(workflow, devices=2))
    launcher, options = pretraining(output)
    assert launcher == ""
    assert options["training.devices"] == "2", "Lightning starts the second process"


@pytest.mark.parametrize(
    ("resources", "changes", "message"),
    [
        (
            {"mpi": "srun", "nodes": 2, "tasks_per_node": 2},
            {},
            "the config trains on 1 node(s) x 1 device(s), the profile asks for 2 x 2",
        ),
        (
            {"mpi": "srun", "nodes": 2, "tasks_per_node": 2},
            {"nodes": 2, "devices": 4},
            "the config trains on 2 node(s) x 4 device(s), the profile asks for 2 x 2",
        ),
        ({}, {"nodes": 2}, "the config trains on 2 nodes, and there is no launcher"),
    ],
    ids=["more processes", "fewer processes", "no launcher"],
)
def test_profile_and_config_must_agree(workflow, resources, changes, message):
    fill_in(workflow, yaml.safe_dump({"pretrain": resources}) if resources else "")
    config = training_config(workflow, **changes)
    output = workflow.snakemake(
        "-n", "--workflow-profile", "profiles/slurm", "--configfile", config, check=False
    )
    assert message in output


def test_a_profile_that_nobody_filled_in_is_refused(workflow):
    output = workflow.snakemake("-n", "--workflow-profile", "profiles/slurm", check=False)
    assert "the profile says `slurm_account: CHANGE`: write your cluster's there" in output


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((), "profiles/default"),
        (("-s", "workflow/Snakefile"), "profiles/default"),
        (("--workflow-profile", "slurm-test"), "profiles/slurm-test"),
        (("--workflow-profile", "profiles/slurm-test"), "profiles/slurm-test"),
        (("--workflow-profile", "workflow/profiles/slurm-test"), "workflow/profiles/slurm-test"),
    ],
    ids=" ".join,
)
def test_profiles_are_found(workflow, arguments, found):
    output = workflow.snakemake("-n", "--quiet", "rules", *arguments)
    assert f"Using workflow specific profile {found} for setting" in output


def test_nothing_asks_the_test_cluster_for_more_than_a_node(workflow):
    """A rule without an entry in its profile would wait for ever."""
    output = workflow.snakemake("-n", "--workflow-profile", "slurm-test")
    asked = re.findall(r"resources: .*\bmem_mb=(\d+).*slurm_partition=(\w+)", output)
    assert asked
    assert {partition for _, partition in asked} == {"cpu"}
    assert max(int(mem_mb) for mem_mb, _ in asked) <= TEST_NODE_MB
