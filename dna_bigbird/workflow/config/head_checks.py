"""What a schema cannot check in a run: text tasks, published suites, and the models of `experiments: heads`."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.messages import with_options
from dna_bigbird.core.yaml_files import KeyPath
from dna_bigbird.workflow.config.config_files import plain_path
from dna_bigbird.workflow.config.run_checks import OWN_SITES, TASKS, Mistake


def check_text(run: Mapping) -> Iterator[Mistake]:
    """Yield tasks without a set or its text, a corpus that is missing, and a `table1` or `table10` that cannot be."""
    text = run.get("text")
    if text is None:
        return
    yield from _tasks(text)
    for variant, changes in text.get("variants", {}).items():
        for name in changes.get("tasks", []):
            if name not in text["tasks"]:
                yield ("text", "variants", variant, "tasks"), f"{name} is not a task of `text`"
    for part in ("train", "validation"):
        if not {"made", "pretrained"} & text.keys() and part not in text.get("corpus", {}):
            yield ("text", "corpus", part), "missing; it is needed where no text is made"
    if "table1" in text:
        yield from _table1(text)
    if {"table10", "pretrained"} <= text.keys():
        yield ("text", "pretrained"), "`table10` pretrains each row; leave one out"


def table1_sets(text: Mapping) -> list[str]:
    """Return the sets of Table 1 of the paper that a section `text` has."""
    from dna_bigbird.bundles.text_tasks import published_tables

    columns = [x for table in published_tables() if table.number == 1 for x in table.columns]
    return [column.run for column in columns if column.run in text["tasks"]]


def _tasks(text: Mapping) -> Iterator[Mistake]:
    from dna_bigbird.bundles.text_tasks import sets

    known, parts = sets(), "`train`, `validation` and `scored`"
    for name, task in text["tasks"].items():
        path = ("text", "tasks", name)
        if name not in known:
            yield path, f"no such set; expected some of {', '.join(known)}"
        elif "train" not in task and not known[name][1].synthetic_files:
            yield path, f"there is no made text of this set; give {parts}"
        elif "train" not in task and "made" not in text:
            yield path, f"give {parts}, or let `text: made` make them"


def _table1(text: Mapping) -> Iterator[Mistake]:
    names = table1_sets(text)
    if not names:
        yield ("text", "tasks"), "`table1` needs a set of Table 1 (docs/how-to/text.md)"
    for name in names:
        if "seeds" in text["tasks"][name]:
            yield ("text", "tasks", name, "seeds"), "`table1` has its own `seeds`"
    if "pretrained" in text:
        yield ("text", "pretrained"), "`table1` pretrains each pattern; leave one out"


def check_suites(run: Mapping) -> Iterator[Mistake]:
    """Yield suites, tasks of them and folders of their files that are not there."""
    from dna_bigbird.bench.suites.suite import find_suite

    for name, section in run.get("bench", {}).items():
        path: KeyPath = ("bench", name)
        try:
            if find_suite(name).needs_data and "data" not in section:
                yield (*path, "data"), "missing; expected the folder of its files"
            else:
                chosen_tasks(name, section)
        except InputError as error:
            yield path, with_options(str(error), ())


def chosen_tasks(suite: str, section: Mapping) -> list[str]:
    from dna_bigbird.bench.suite_run import chosen
    from dna_bigbird.bench.suites.suite import find_suite

    tasks = find_suite(suite).tasks(Path(plain_path(section.get("data", "."))))
    return [task.name for task in chosen(tasks, section.get("tasks", []))]


def set_keys(task: str) -> Collection[str]:
    """Return the settings of the command that builds the labelled set of a task."""
    from dna_bigbird.labelled.chromatin.config import ChromatinConfig
    from dna_bigbird.labelled.promoter.config import PromoterConfig

    config = {"promoter": PromoterConfig, "chromatin": ChromatinConfig}[task]
    return [*(field.name for field in fields(config)), "near_identical"]


def check_heads(run: Mapping) -> Iterator[Mistake]:
    """Yield variants that name what is not there, or two entries that exclude each other."""
    heads = run.get("experiments", {}).get("heads", {}) if "assembly" in run else {}
    for name, variant in heads.items():
        path = ("experiments", "heads", name)
        (task,) = (task for task in TASKS if task in variant)
        if "set" in variant:
            yield from _owner(run, task, variant, (*path, "set"))
        yield from _start(run, variant, path)
        yield from _sites(run, task, variant, path)
        yield from _seeds(run, task, variant, path)


def _owner(run: Mapping, task: str, variant: Mapping, path: KeyPath) -> Iterator[Mistake]:
    owner = variant["set"]
    other = run["experiments"]["heads"].get(owner, {})
    if not (owner == task and task in run) and ("set" in other or task not in other):
        text = "neither the run's section nor a variant of the same task with a set of its own"
        yield path, f"{owner} is {text}"
    changed = [key for key in variant[task] if key in (*set_keys(task), "splits")]
    for key in (*changed, *({"sites"} & variant.keys())):
        yield path, f"`set: {owner}` takes the set of another one, and `{key}` would change it"


def _start(run: Mapping, variant: Mapping, path: KeyPath) -> Iterator[Mistake]:
    known, start = run["experiments"].get("variants", {}), variant.get("pretrained", "")
    if start and start not in known:
        names = ", ".join(known) or "none"
        text = f"{start!r} is not among the variants of pretraining ({names})"
        yield (*path, "pretrained"), text
    for key in ("pretrained", "from_scratch"):
        if "tokenizer" in variant and key in variant:
            text = f"does not go with `{key}`; keep one of the two"
            yield (*path, "tokenizer"), f"a fresh encoder on this vocabulary {text}"


def _sites(run: Mapping, task: str, variant: Mapping, path: KeyPath) -> Iterator[Mistake]:
    inputs = run["inputs"]
    sites = variant.get("sites", [])
    for name in [sites] if isinstance(sites, str) else sites:
        is_made = name == "promoters" and "demo" in inputs
        if name in OWN_SITES and name not in inputs and not is_made:
            yield (*path, "sites"), f"inputs has no {name}"
    needed = {"promoter": ("demo", "promoters"), "chromatin": ("demo", "peaks", "deepsea")}[task]
    if not (task == "promoter" and sites) and not inputs.keys() & set(needed):
        yield path, f"no source of {task} labels in inputs"


def _seeds(run: Mapping, task: str, variant: Mapping, path: KeyPath) -> Iterator[Mistake]:
    other = run["experiments"]["heads"].get(variant.get("set"), {})
    sections = (run.get(task, {}), other.get(task, {}), variant[task])
    counts = [section["ensemble"] for section in sections if "ensemble" in section]
    if "seeds" in variant and counts and counts[-1] > 1:
        text = "members of an ensemble have seeds of their own; keep `seeds` or `ensemble`"
        yield (*path, "seeds"), text
