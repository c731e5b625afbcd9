"""What a schema cannot check in the section `text`: sets, and text that is neither given nor made."""

from collections.abc import Iterator, Mapping

from dna_bigbird.workflow.config.run_checks import Mistake


def check_text(run: Mapping) -> Iterator[Mistake]:
    """Yield tasks without a set or its text, a corpus that is missing, and a `table1` that cannot be."""
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
        yield ("text", "tasks"), "`table1` needs a set of Table 1 (docs/text.md)"
    for name in names:
        if "seeds" in text["tasks"][name]:
            yield ("text", "tasks", name, "seeds"), "`table1` has its own `seeds`"
    if "pretrained" in text:
        yield ("text", "pretrained"), "`table1` pretrains each pattern; leave one out"
