"""The descriptions of the text tasks: light to read, complete, and consistent with each other."""

import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from dna_bigbird.bundles import text_tasks
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.lazy_names import load
from dna_bigbird.metrics.published_table import NONE, Column, PublishedTable, joined
from dna_bigbird.text.tasks.task import task_class

ROOT = Path(__file__).parents[3]
HEAVY = ("torch", "scipy", "pytorch_lightning", "sklearn", "h5py", "pandas", "matplotlib")
TASKS = sorted(text_tasks.tasks())


def test_descriptions_are_read_without_heavy_libraries():
    code = "import sys; from dna_bigbird.bundles import text_tasks; text_tasks.sets(); "
    code += f"print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", TASKS)
def test_a_description_is_complete(name):
    task = text_tasks.describe(name)
    assert task.name == name
    assert (ROOT / task.recipe).exists()
    assert task_class(name).description is task
    for settings in (task.options, task.head_type()):
        assert is_dataclass(settings)
        assert {type(field.default) for field in fields(settings)} <= {int, float, bool, str}
    assert hasattr(task.options, "set") == (len(task.sets) > 1)
    for part in task.synthetic:
        files = load(part.write)(0, 24)
        assert {path.split("/")[0] for path in files} == {part.folder}
        for each in task.sets:
            for path in each.synthetic_files:
                assert path.split("/")[0] != part.folder or any(
                    file == path or file.startswith(f"{path}/") for file in files
                )


def test_names_of_sets_are_unique_and_published_columns_are_sets():
    names = [each.name for task in text_tasks.tasks().values() for each in task.sets]
    assert len(names) == len(set(names))
    columns = [column for table in text_tasks.published_tables() for column in table.columns]
    assert {column.run for column in columns if column.run} == {  # Table 3 has leaderboards' scores
        name for name, (_, each) in text_tasks.sets().items() if each.synthetic_files
    }


def test_an_unknown_task_is_one_line():
    with pytest.raises(InputError, match="no text task 'chess'; expected one of text-class"):
        text_tasks.describe("chess")


def test_parts_of_a_table_are_joined_by_system():
    parts = [
        PublishedTable(2, "Both", f"{run}.", (Column(run, run, ("f1",)),), rows)
        for run, rows in (("a", {"X": ("1",), "Y": ("2",)}), ("b", {"Y": ("3",), "Z": ("4",)}))
    ]
    (table,) = joined(parts)
    assert table.about == "a. b."
    assert table.rows == {"X": ("1", NONE), "Y": ("2", "3"), "Z": (NONE, "4")}
