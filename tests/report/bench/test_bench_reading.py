"""Reading task.json: order, folders, and one line for what is not the result of a task."""

import json

import pytest

from dna_bigbird.bench.bench_page import read_result, read_results
from dna_bigbird.core.errors import InputError
from tests.report.bench.example_tasks import example_task, write_task


def test_a_result_is_the_same_after_json(tmp_path):
    result = example_task(
        groups={"chr1": {"published": example_task().model.scores["published"]["mcc"]}}
    )
    read = read_result(write_task(tmp_path, result))
    assert json.dumps(read.to_json()) == json.dumps(result.to_json())
    assert read.model.scores["leak_free"]["accuracy"].value == (
        result.model.scores["leak_free"]["accuracy"].value
    )


def test_folders_and_files_in_their_order(tmp_path):
    for name in ("b", "a/deep"):
        write_task(tmp_path / "first", example_task(name))
    alone = write_task(tmp_path / "second", example_task("z"))
    unfinished = write_task(tmp_path / "first/.b.1234", example_task("b"))
    assert unfinished.is_file()
    results = read_results([alone, tmp_path / "first"])
    assert [x.task for x in results] == ["z", "a/deep", "b"]


def test_one_task_of_two_suites_is_two_results(tmp_path):
    for suite in ("gue", "nt"):
        write_task(tmp_path / suite, example_task("H3", suite))
    assert [x.suite for x in read_results([tmp_path])] == ["gue", "nt"]


def test_a_task_that_is_there_twice_is_one_line(tmp_path):
    for name in ("x", "y"):
        write_task(tmp_path / name, example_task("H3"))
    with pytest.raises(
        InputError, match=r"y/H3/task\.json: H3 of genomic-benchmarks is also .*x/H3/task\.json"
    ):
        read_results([tmp_path])


def change(path: list, value: object):
    """Return a function that sets, or with `...` removes, the value at a path of keys."""

    def apply(values: dict) -> dict:
        inner = values
        for key in path[:-1]:
            inner = inner[key]
        if value is ...:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
        return values

    return apply


KMER = ["sources", 3, "scores", "leak_free", "accuracy"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change(["sources"], ...), "no 'sources'"),
        (change(["published"], ...), "no 'published'"),
        (change(["metric"], 3), "metric is 3"),
        (change(["n"], {}), "n has no 'published'"),
        (change(["n", "leak_free"], "12"), "the count leak_free is '12'"),
        (change(["leaks", "shares_bases"], None), "the count shares_bases is None"),
        (change(["sources", 0, "name"], "ours"), "0 sources with the name 'model'"),
        (change(["sources", 1, "name"], "model"), "2 sources with the name 'model'"),
        (change(["sources", 2, "scores", "dropped"], {}), "scores of cnn are for 'dropped'"),
        (change([*KMER, "value"], "0.9"), "kmer accuracy value is '0.9'"),
        (change([*KMER, "by_seed"], [0.5, "x"]), "kmer accuracy seed 1 is 'x'"),
        (change([*KMER, "spread"], 0.1), "unknown key 'spread'"),
        (change([*KMER], 0.9), "a part of it has another form"),
        (change(["sources", 0, "strands", "flip_rate"], "4 %"), "model flip_rate is '4 %'"),
        (
            change(["published", 0, "value"], "84.6"),
            "published score of CNN of the authors is '84.6'",
        ),
        (change(["published", 1, "metric"], 3), "metric of the published score of HyenaDNA is 3"),
        (change(["protocol"], "tokens"), "protocol is 'tokens'"),
        (change(["settings"], ["full"]), r"settings is \['full'\]"),
        (change(["speed"], 3.0), "unknown key 'speed'"),
        (change([*KMER, "by_seed"], 0.5), "a part of it has another form"),
        (change(["sources", 0, "description"], ...), "no 'description'"),
        (change(["assembly"], ...), "no 'assembly'"),
        (lambda values: {"auroc": 0.9, "n": 3}, "no 'sources'"),
    ],
)
def test_another_format_is_one_line(tmp_path, damage, message):
    values = json.loads(json.dumps(example_task().to_json()))
    path = tmp_path / "task.json"
    path.write_text(json.dumps(damage(values)))
    with pytest.raises(InputError, match=message) as raised:
        read_results([path])
    text = str(raised.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    assert text.endswith("Run the task again")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"task\.json"),
        ('{"suite": "gue", "ta', r"task\.json:?.*JSON"),
        ("[1, 2]", "expected a JSON object, found list"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path, text, message):
    (tmp_path / "task.json").write_text(text)
    with pytest.raises(InputError, match=message) as raised:
        read_results([tmp_path])
    assert "\n" not in str(raised.value)


def test_a_folder_without_results_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"no task\.json below it; expected the output of"):
        read_results([tmp_path])
    with pytest.raises(InputError, match=r"nowhere\.json"):
        read_results([tmp_path / "nowhere.json"])
