"""Arguments that take several values, in the forms that Python callers have."""

import collections
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytest

from dna_bigbird.core.choices import check_argument, checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import InputPath, InputText
from dna_bigbird.prediction.windows.inputs import named_sequences

pandas = pytest.importorskip("pandas")
A, B = "ACGT" * 3, "GGCC" * 3
NUMBERED = {"sequence_1": A, "sequence_2": B}
FRAME = pandas.DataFrame({"name": ["a", "b"], "sequence": [A, B]})
COLUMN = FRAME["sequence"]


@pytest.mark.parametrize(
    "given",
    [
        [A, B], (A, B), collections.deque([A, B]), COLUMN, COLUMN.astype("category"), pandas.Index([A, B]),
        COLUMN.astype("string"), np.array([A, B]), np.array([A, B], object), iter([A, B]),
        map(str.upper, [A, B]), {A: 1, B: 2}.keys(), {"x": A, "y": B}.values(),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_two_sequences_without_names(given):
    assert named_sequences(given) == NUMBERED


def test_names_of_a_mapping_and_of_rows():
    named = {"a": A, "b": B}
    assert named_sequences(named) == named_sequences(FRAME.set_index("name")["sequence"]) == named
    assert named_sequences(A) == {"sequence_1": A}


def test_numbers_of_rows_are_no_names():
    """Filters and pandas.concat leave gaps and repeat them."""
    assert named_sequences(COLUMN[COLUMN == B]) == {"sequence_1": B}
    assert list(named_sequences(pandas.concat([COLUMN, COLUMN]))) == [
        f"sequence_{number}" for number in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (FRAME, r"sequences is DataFrame.* frame\['sequence'\]"),
        (FRAME[["sequence"]], "sequences is DataFrame"),
        ({A, B}, r"sequences is set, which has no order; write sorted\("),
        (frozenset([A]), "sequences is frozenset"),
        ([[A], [B]], "sequences: value 1 is list"),
        ([("a", A)], r"sequences: value 1 is tuple .* dict\("),
        ({"a": A}.items(), r"sequences: value 1 is tuple .* dict\("),
        (np.array([[A, B]]), "sequences is ndarray of 2 dimensions"),
        (np.array(A), "sequences is ndarray of 0 dimensions"),
        (np.array([A.encode()]), r"sequences: value 1 is bytes_ .*decode\(\)"),
        ([A, A.encode()], r"sequences: value 2 is bytes .*decode\(\)"),
        ([A, None], "sequences: value 2 is None"),
        (pandas.Series([A, None]), r"sequences: value 2 is nan.* dropna\(\)"),
        (pandas.Series([A, None], dtype="string"), r"sequences: value 2 is <NA>.* dropna\(\)"),
        ([1], r"sequences: value 1 is int \(1\)"),
        (FRAME.groupby("name"), "sequences is DataFrameGroupBy"),
        (FRAME.assign(name="a").set_index("name")["sequence"], "sequences: two rows .*'a'.*reset_index"),
        (Path(__file__), "is a file; to read it, give fasta="),
    ],
)  # fmt: skip
def test_what_is_no_list_of_sequences_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        named_sequences(given)


def test_an_open_file_is_refused(tmp_path):
    path = tmp_path / "x.fa"
    path.write_text(f">a\n{A}\n")
    with open(path) as stream, pytest.raises(InputError, match="sequences is TextIOWrapper"):
        named_sequences(stream)


@checked()
def command(
    labels: list[str] | str | None = None,
    models: list[InputPath] | InputPath | None = None,
    regions: Annotated[list[str | int], "annotated"] = [],  # noqa: B006
    sites: InputText | list[InputText] = (),
    lengths: list[int] = [],  # noqa: B006
    parts: list[Literal["dna", "text"]] = [],  # noqa: B006
    scores: dict[str, InputPath] | InputPath | None = None,
    output: InputPath | None = None,
) -> dict:
    return {name: value for name, value in locals().items() if value not in (None, [], ())}


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ({"labels": pandas.Series(["b", "a"])}, {"labels": ["b", "a"]}),
        ({"labels": np.array(["b", "a"])}, {"labels": ["b", "a"]}),
        ({"labels": "b,a"}, {"labels": "b,a"}),
        ({"models": iter(["b", Path("a")])}, {"models": [Path("b"), Path("a")]}),
        ({"models": "b"}, {"models": Path("b")}),
        ({"regions": "chr1"}, {"regions": ["chr1"]}),
        ({"regions": ("chr1", 2)}, {"regions": ["chr1", 2]}),
        ({"sites": Path("a.bed")}, {"sites": "a.bed"}),
        ({"lengths": np.array([1, 2])}, {"lengths": [1, 2]}),
        ({"lengths": 5}, {"lengths": [5]}),
        ({"parts": ("dna",)}, {"parts": ["dna"]}),
        ({"scores": {"a": "b"}}, {"scores": {"a": Path("b")}}),
    ],
)
def test_other_arguments_take_the_same_forms(given, got):
    assert command(**given) == got


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labels": {"a"}}, "labels is set"),
        ({"labels": {"a": 1}}, r"labels is dict.* list\(mapping.values\(\)\)"),
        ({"labels": FRAME}, r"labels is DataFrame.* frame\['label'\]"),
        ({"labels": [None]}, "labels: value 1 is None"),
        ({"labels": b"a"}, "labels: value 1 is bytes"),
        ({"models": {"a", "b"}}, "models is set"),
        ({"models": [["a"]]}, "models: value 1 is list .* expected a path"),
        ({"models": 5}, "models: value 1 is int"),
        ({"regions": [1.5]}, "regions: value 1 is float"),
        ({"lengths": ["a"]}, "lengths='a': expected a whole number"),
        ({"parts": ["dns"]}, "parts='dns': .* did you mean 'dna'"),
        ({"scores": ["a"]}, r"scores=\['a'\]: expected a mapping"),
        ({"output": ["a"]}, "output is list; expected one path"),
    ],
)
def test_other_arguments_refuse_the_same(given, message):
    with pytest.raises(InputError, match=message):
        command(**given)


def test_what_needs_no_change_is_equal():
    assert check_argument("labels", ["a"], list[str]) == ["a"]
