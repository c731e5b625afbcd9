"""The profiles are found, and ask SLURM for what the config trains on."""

import math
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
EIGHT = "workflow/profiles/slurm-8gpu/config.v8+.yaml"
EIGHT_CONFIGS = ("config/grch37.yaml", "config/grch37-8gpu.yaml")
A100, H100 = 312e12, 989e12
"""Operations a second in bfloat16, as docs/explanation/training-recipe.md has them."""
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


def trainings(output: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Return launcher and options of every pretraining and fine-tuning, by its output."""
    found = {}
    for line in output.splitlines():
        if match := re.search(r"log; (.*)-m dna_bigbird (?:pretrain|finetune) (.*)", line):
            options = dict(re.findall(r"--(\S+) (\S+)", match[2]))
            found[options["output"]] = match[1].strip().rpartition(" ")[0], options
    return found


def planned_with(workflow, profile: str, *configs: str, targets=("all",)) -> str:
    path = workflow.folder / profile
    filled = path.read_text().replace("CHANGE", "mine")
    path.write_text(re.sub(r"(pretrain|pretrain_variant|finetune): 8", r"\1: 1", filled))
    return workflow.snakemake(
        "-n", *targets, "--workflow-profile", str(path.parent), "--configfile", *configs
    )


def test_one_node_of_8_gpus_computes_the_steps_of_the_papers_run(workflow):
    """Every training has the examples per step of one GPU, and no other setting changes."""
    targets = ("all", "figure8", "table1", "table6")
    alone = trainings(planned_with(workflow, SLURM, EIGHT_CONFIGS[0], targets=targets))
    eight = trainings(planned_with(workflow, EIGHT, *EIGHT_CONFIGS, targets=targets))
    assert set(alone) == set(eight) >= {"results/grch37/trained/pretrained"}
    split = ("training.batch_size", "training.accumulate", "training.devices")
    for output, (launcher, options) in eight.items():
        assert launcher.startswith("srun --nodes=1 --ntasks-per-node=8 "), output
        one = alone[output][1]
        batches = [math.prod(int(x.get(key, 1)) for key in split) for x in (one, options)]
        assert batches[0] == batches[1], output
        micro_batch = int(options["training.batch_size"])
        assert micro_batch * int(options.get("model.max_tokens", 4096)) == 16 * 4096, output
        rest = [{k: v for k, v in found.items() if k not in split} for found in (one, options)]
        assert rest[0] == rest[1]
    pretrained = eight["results/grch37/trained/pretrained"][1]
    assert math.prod(int(pretrained[key]) for key in split) == PAPER_BATCH
    assert "gres=gpu:8" in planned_with(workflow, EIGHT, *EIGHT_CONFIGS)


def test_the_profile_for_8_gpus_needs_its_config(workflow):
    fill = (workflow.folder / EIGHT).read_text().replace("CHANGE", "mine")
    (workflow.folder / EIGHT).write_text(fill)
    output = workflow.snakemake(
        *("-n", "--workflow-profile", "slurm-8gpu", "--configfile", EIGHT_CONFIGS[0]), check=False
    )
    message = "the config trains on 1 node(s) x 1 device(s), the profile asks for 1 x 8"
    assert message in output


def test_the_profile_for_8_gpus_is_the_other_one_but_for_the_trainings():
    one, eight = (yaml.safe_load((ROOT / path).read_text()) for path in (SLURM, EIGHT))
    mine = eight.pop("set-resources")
    theirs = one.pop("set-resources")
    assert eight == one
    trained = {"pretrain", "pretrain_variant", "finetune"}
    assert set(theirs) - set(mine) == {"text_pretrain", "text_train", "text_evaluate"}
    assert {rule for rule in mine if mine[rule] != theirs[rule]} == trained
    assert all(mine[rule]["gres"] == "gpu:8" for rule in trained)


def test_pretraining_on_8_gpus_ends_within_the_limits():
    """By the estimate of docs/explanation/training-recipe.md at 20 %: one limit on H100s, three on A100s."""
    from dna_bigbird.models.config import EncoderConfig
    from dna_bigbird.models.flops import training_flops
    from dna_bigbird.models.pretraining_model import PretrainingModel

    profile = yaml.safe_load((ROOT / EIGHT).read_text())
    limit_s = 60 * profile["set-resources"]["pretrain"]["runtime"]
    config = yaml.safe_load((ROOT / EIGHT_CONFIGS[0]).read_text())
    model = PretrainingModel(EncoderConfig(**config["model"]))
    steps = config["pretraining"]["max_steps"]
    operations = steps * PAPER_BATCH * training_flops(model, [4096], 614)
    assert operations == pytest.approx(6.3e20, rel=0.01)
    text = (ROOT / "docs/how-to/slurm-and-gpu.md").read_text()
    cells = (
        ", ".join(f"{operations / (8 * peak * share) / 86_400:.1f}" for share in (0.2, 0.3, 0.4))
        for peak in (H100, A100)
    )
    assert f"| pretraining | {' days | '.join(cells)} days |" in text
    assert operations / (8 * H100 * 0.2) < limit_s
    assert operations / (8 * A100 * 0.2) < (1 + profile["retries"]) * limit_s
    assert operations / (H100 * 0.2) > (1 + profile["retries"]) * limit_s, "one GPU does not"


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
