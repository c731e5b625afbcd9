"""task.json is read back as it was written."""

import dataclasses
import json

import pytest

from dna_bigbird.metrics.task_results import (
    LEAK_FREE,
    MODEL,
    PUBLISHED,
    Published,
    Score,
    SourceResult,
    TaskResult,
)


def result():
    scores = {
        PUBLISHED: {"accuracy": Score(0.8, 0.7, 0.9, 0.05, (0.75, 0.85))},
        LEAK_FREE: {"accuracy": Score(None)},
    }
    model = SourceResult(MODEL, "a model", scores, strands={"flip_rate": 0.1, "correlation": None})
    other = SourceResult("gc", "GC", scores, minus={PUBLISHED: Score(0.1, -0.1, 0.3)})
    return TaskResult(
        suite="gue",
        task="x",
        about="What?",
        metric="accuracy",
        protocol="labels",
        label_names=["a", "b"],
        assembly="GRCh38",
        counts={"rows_read": 4},
        n={PUBLISHED: 2, LEAK_FREE: 0},
        leaks={"shares_bases": 2},
        sources=[other, model],
        published=[Published("DNABERT", 0.9, "a paper", "mcc")],
        seeds=[0, 1],
        settings={"method": "full", "block_bp": {PUBLISHED: 0}},
        notes=["Few rows."],
        groups={"chr1": {PUBLISHED: Score(0.5, 0.4, 0.6)}},
    )


def test_json_has_every_field_and_is_read_back():
    written = result()
    read = TaskResult.from_json(json.loads(json.dumps(written.to_json())))
    for field in dataclasses.fields(TaskResult):
        if field.name not in ("sources", "groups"):
            assert getattr(read, field.name) == getattr(written, field.name), field.name
    assert read.groups["chr1"][PUBLISHED].high == 0.6
    assert read.model.strands == {"flip_rate": 0.1, "correlation": None}
    assert read.sources[0].minus[PUBLISHED].low == -0.1
    score = read.model.scores[PUBLISHED]["accuracy"]
    assert (score.value, list(score.by_seed)) == (0.8, [0.75, 0.85])
    assert read.to_json() == json.loads(json.dumps(written.to_json()))


def test_a_file_without_groups_is_read_and_one_with_other_keys_is_not():
    values = json.loads(json.dumps(result().to_json()))
    del values["groups"]
    assert TaskResult.from_json(values).groups == {}
    with pytest.raises(TypeError, match="colour"):
        TaskResult.from_json(values | {"colour": "red"})
    del values["sources"]
    with pytest.raises(KeyError, match="sources"):
        TaskResult.from_json(values)
