"""Sets of a user's sequences: types of labels, duplicates, groups, splits, and the file itself."""

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.labelled.labelled_set import LabelledSet, open_labelled_set, write_labelled_set
from dna_bigbird.labelled.sequences.files import SequenceRow
from dna_bigbird.labelled.sequences.labels import encode_labels, plain_labels
from dna_bigbird.labelled.sequences.sets import (
    UNASSIGNED,
    SequenceSplit,
    build_sequences,
    missing_notes,
)
from dna_bigbird.labelled.shared_rows import find_leaks, rows_of_set, without_leaks
from dna_bigbird.labelled.splits import SplitConfig

MISSING = (
    *(
        "",
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
    ),
    *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    *(
        ".",
        "NAN",
        "Na",
        "n/A",
        "Null",
        "NONE",
        "#DIV/0!",
        "#VALUE!",
        "#REF!",
        "#NUM!",
        "#NULL!",
        "#NAME?",
    ),
)
"""What pandas reads as no value, BED and VCF, other cases, and Excel's errors."""


def rows(labels, sequences=None, **more):
    rng = np.random.default_rng(0)
    texts = sequences or ["".join(rng.choice(list("ACGT"), 80 + i)) for i in range(len(labels))]
    return [
        SequenceRow(
            text,
            (label,) if isinstance(label, str) else tuple(label),
            f"t.csv:{number}",
            f"input:{number}",
            **{key: values[number - 2] for key, values in more.items()},
        )
        for number, (text, label) in enumerate(zip(texts, labels, strict=True), start=2)
    ]


def build(
    given,
    *,
    columns=("label",),
    roles=None,
    regions=None,
    conflicts="error",
    duplicates="drop",
    **split,
):
    labels = encode_labels(given, columns)
    roles = np.full(len(given), UNASSIGNED, dtype=np.int8) if roles is None else np.array(roles)
    choice = SequenceSplit(regions or SplitConfig(), **split)
    return build_sequences(
        given, labels, roles, choice, max_n_fraction=0.1, conflicts=conflicts, duplicates=duplicates
    )


@pytest.mark.parametrize(
    ("labels", "columns", "expected", "names"),
    [
        (["0", "1", "1"], ["label"], "binary", ["label"]),
        ([("0", "1"), ("1", "1")], ["a", "b"], "multi-label", ["a", "b"]),
        (["b", "a", "b", "a"], ["label"], "multi-class", ["a", "b"]),
        (["10", "2", "10", "2", "2"], ["label"], "multi-class", ["2", "10"]),
        (["1.5", "2", "-3e2"], ["x"], "regression", ["x"]),
        ([("1.5", "1"), ("2", "0")], ["x", "y"], "regression", ["x", "y"]),
    ],
)
def test_the_type_of_labels_is_inferred(labels, columns, expected, names):
    encoded = encode_labels(rows(labels), columns)
    assert (encoded.label_type, encoded.names) == (expected, names)
    if expected == "multi-class":
        given = [encoded.names[i] for i in encoded.bits.argmax(axis=1)]
        assert given == labels
        assert (encoded.bits.sum(axis=1) == 1).all()
    if expected == "regression":
        assert encoded.targets[0, 0] == 1.5


def test_the_positive_class_may_be_spelled_otherwise():
    numbers, truths = (
        encode_labels(rows(["1", "0", "1"]), ["x"], positive=x) for x in ("1.0", "True")
    )
    assert (numbers.names, truths.names) == (["1"], ["True"])
    assert numbers.bits[:, 0].tolist() == truths.bits[:, 0].tolist() == [1, 0, 1]


def test_one_of_two_classes_can_be_the_positive_one():
    encoded = encode_labels(rows(["b", "a", "b"]), ["label"], positive="b")
    assert (encoded.label_type, encoded.names) == ("binary", ["b"])
    assert encoded.bits[:, 0].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (["1.5", "nan"], {}, r"t\.csv:3: the target is 'nan'; expected a finite number"),
        (["a", "a", "b"], {}, r"t\.csv:4: the only row of the class 'b'"),
        (["a", "a"], {}, r"t\.csv:2: every row has the class 'a'"),
        (["1", "inf"], {}, r"t\.csv:3: the target is 'inf'"),
        (["0.5", "\u22120.5"], {}, r"t\.csv:3: the label is '\u22120\.5', .* --type multi-class"),
        (["-1", "1"], {"label_type": "binary"}, r"t\.csv:2: the label is '-1'; .* --positive NAME"),
        (["0", "2"], {"label_type": "binary"}, r"t\.csv:3: the label is '2'; expected 0 or 1"),
        ([("0", "1"), ("0", "x")], {}, r"t\.csv:3: 'x' in a label column; several label columns"),
        ([str(i) for i in range(60)], {}, r"60 different whole numbers; .* --type regression"),
        (
            ["a", "b", "c"],
            {"positive": "a"},
            "--positive a: .* a, b, c",
        ),
        (["a", "b"], {"positive": "x"}, "--positive x: .* a, b"),
    ],
)
def test_wrong_labels(labels, options, message):
    columns = ["label"] if isinstance(labels[0], str) else ["a", "b"]
    with pytest.raises(InputError, match=message):
        encode_labels(rows(labels), columns, **options)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "1.0", "01", "+1", "1e0", "0.10E1"], ["1"] * 6),
        (["0", "-0.0", "00"], ["0"] * 3),
        (["0.50", ".5", "5e-1", "2"], ["0.5", "0.5", "0.5", "2"]),
        (["True", "FALSE", "1", "0"], ["1", "0", "1", "0"]),
        (["True", "FALSE", "2"], ["True", "FALSE", "2"]),
        (["1E5", "100000", "1.0", "x"], ["1E5", "100000", "1", "x"]),
        (["none", "e", "Yes", "yes"], ["none", "e", "Yes", "yes"]),
        (["12345678901234567890123456789", "12345678901234567890123456788"], None),
        (["1_0", "10", "\u0661"], None),
    ],
)
def test_equal_numbers_are_one_label(labels, expected):
    plain, kept = plain_labels(rows(labels), "error")
    assert [row.labels[0] for row in plain] == (expected or labels)
    assert kept.tolist() == list(range(len(labels)))


@pytest.mark.parametrize("spelling", MISSING)
def test_rows_without_a_label_are_refused_or_counted(spelling, capsys):
    given = rows([("1", "0"), ("1", spelling), ("0", "1")])
    with pytest.raises(InputError, match=r"t\.csv:3: no label; 1 of 3 rows .* --missing drop"):
        plain_labels(given, "error")
    plain, kept = plain_labels(given, "drop")
    assert ([row.labels for row in plain], kept.tolist()) == ([("1", "0"), ("0", "1")], [0, 2])
    assert f"1 {spelling!r}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "plain"), [("0,5", "0.5"), ("-1,25e-3", "-1.25e-3"), ("1.234,5", "1234.5")]
)
def test_a_decimal_comma_is_named(text, plain):
    message = rf"t\.csv:3: the label is '{text}', with a decimal comma; .* {plain},"
    with pytest.raises(InputError, match=message):
        plain_labels(rows(["1", text, "1"]), "error")
    assert plain_labels(rows(["1", text, "x"]), "error")[0][1].labels == (text,)


def test_equal_sequences_are_joined_and_kept_in_the_split_furthest_held_out():
    texts = [row.sequence for row in rows(["0", "1"] * 10)]
    given = rows(["0", "1"] * 10 + ["0"], [*texts, texts[0]])
    data = build(given, roles=[0] * 10 + [1] * 5 + [2] * 6)
    assert data.counts["left_out_duplicates"] == 1
    assert data.names[-1] == "input:22"
    assert data.split.tolist() == [0] * 9 + [1] * 5 + [2] * 6


def test_equal_sequences_are_kept_in_the_splits_of_their_files_if_asked():
    """Twice in training, once in test, and once more with another label."""
    texts = [row.sequence for row in rows(["0", "1"] * 10)]
    texts[1:3] = [texts[0]] * 2
    texts[19] = texts[0]
    given = rows(["0", "1"] * 10, texts)
    roles = [0] * 10 + [1] * 5 + [2] * 5
    data = build(given, roles=roles, duplicates="keep")
    assert data.names == [row.name for row in given]
    assert data.split.tolist() == roles
    assert [data.sequences[i].tobytes().decode() for i in data.stored] == texts
    assert not {"left_out_duplicates", "left_out_conflicting_labels"} & set(data.counts)


@pytest.mark.parametrize("split", [{}, {"regions": SplitConfig(folds=5)}])
def test_equal_sequences_that_are_kept_are_in_one_split(split):
    texts = [row.sequence for row in rows(["0", "1"] * 30)]
    data = build(rows(["0", "1"] * 60, texts + texts), duplicates="keep", **split)
    assert len(data) == 120
    assert data.split[:60].tolist() == data.split[60:].tolist()
    assert set(data.split.tolist()) == {0, 1, 2}


def test_equal_sequences_with_other_labels_are_an_error_or_dropped():
    texts = [row.sequence for row in rows(["0", "1"] * 10)]
    given = rows(["0", "1"] * 10 + ["1"], [*texts, texts[0]])
    with pytest.raises(
        InputError, match=r"t\.csv:22: the sequence of t\.csv:2 with another label \(1, b"
    ):
        build(given)
    data = build(given, conflicts="drop")
    assert data.counts["left_out_conflicting_labels"] == 2
    assert texts[0] not in [data.sequences[i].tobytes().decode() for i in range(len(data))]


@pytest.mark.parametrize("split", [{}, {"regions": SplitConfig(folds=5)}])
def test_reverse_complements_and_groups_stay_together(split):
    texts = [row.sequence for row in rows(["0", "1"] * 50)]
    both = texts + [reverse_complement(text) for text in texts]
    genes = [f"g{i % 40}" if i < 80 else "" for i in range(200)]
    given = rows(["0", "1"] * 100, both, group=genes)
    data = build(given, **split)
    of_name = dict(zip(data.names, data.split.tolist(), strict=True))
    for number in range(100):
        assert of_name[f"input:{number + 2}"] == of_name[f"input:{number + 102}"]
    for gene in range(40):
        assert of_name[f"input:{gene + 2}"] == of_name[f"input:{gene + 42}"]
    assert set(data.split) == {0, 1, 2}


def test_every_split_gets_its_share_of_each_class():
    data = build(rows(["a"] * 60 + ["b"] * 30 + ["c"] * 10), test_fraction=0.2)
    counts = np.array([data.labels[data.split == i].sum(axis=0) for i in range(3)])
    assert counts.sum(axis=1).tolist() == [70, 10, 20]
    assert abs(counts / counts.sum(axis=1)[:, None] - [0.6, 0.3, 0.1]).max() < 0.11


def test_a_file_for_the_test_leaves_a_share_for_validation():
    data = build(rows(["0", "1"] * 50), roles=[UNASSIGNED] * 80 + [2] * 20)
    assert np.bincount(data.split).tolist() == [72, 8, 20]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test_fraction": 0.95}, "add up to 1.05; nothing is left for training"),
        (
            {"roles": [2] * 20, "test_fraction": 0.1},
            "--test_fraction 0.1: the rows for it are in --test",
        ),
        ({"roles": [2] * 20, "regions": SplitConfig(folds=3)}, "--split goes with --input alone"),
    ],
)
def test_splits_that_contradict_each_other(options, message):
    with pytest.raises(InputError, match=message):
        build(rows(["0", "1"] * 10), **options)


def test_regions_hold_rows_out_by_their_coordinates():
    places = [Interval("chr1", 100 * i, 100 * i + 80 + i, "+") for i in range(10)]
    regions = SplitConfig(test=["chr1:1-300"], validation=["chr1:701-2,000"])
    data = build(rows(["0", "1"] * 5, interval=places), regions=regions)
    assert data.split.tolist() == [2] * 3 + [0] * 4 + [1] * 3
    with_border = SplitConfig(test=["chr1:1-350"])
    data = build(rows(["0", "1"] * 5, interval=places), regions=with_border)
    assert data.counts["left_out_across_splits"] == 1


def test_rows_of_unknown_bases_are_left_out():
    texts = [row.sequence for row in rows(["0", "1"] * 10)]
    given = rows(["0", "1"] * 10 + ["0", "1"], [*texts, "N" * 80, "ACGTN" * 16])
    assert build(given).counts["left_out_with_n"] == 2


def test_near_identical_rows_of_other_splits_are_found_and_dropped(tmp_path):
    texts = [row.sequence for row in rows(["0", "1"] * 10)]
    near = texts[19][:40] + ("A" if texts[19][40] != "A" else "C") + texts[19][41:]
    given = rows(["0", "1"] * 10 + ["0"], [*texts, reverse_complement(near)])
    data = build(given, roles=[0] * 10 + [2] * 10 + [0])
    write_labelled_set(tmp_path / "s.h5", data, None, assembly="", command="", inputs={})
    (leak,) = find_leaks(rows_of_set(LabelledSet(tmp_path / "s.h5"))).leaks
    assert (leak.category, leak.row, leak.other) == ("near_identical", 20, 19)
    left = without_leaks(data, None)
    assert len(left) == 20
    assert left.counts["left_out_leaks_train"] == 1


@pytest.mark.parametrize(
    ("labels", "columns", "version"),
    [
        (["0", "1"] * 10, ["label"], 3),
        (["a", "b"] * 10, ["label"], 3),
        (["0.5", "2"] * 10, ["x"], 3),
    ],
)
def test_the_file_gives_back_sequences_and_labels_without_a_genome(
    tmp_path, labels, columns, version
):
    given = rows(labels)
    data = build(given, columns=columns)
    assert data.format_version == version
    for name in ("a.h5", "b.h5"):
        write_labelled_set(tmp_path / name, data, None, assembly="", command="c", inputs={})
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()
    read = open_labelled_set(tmp_path / "a.h5", None)
    assert [read.sequence(i) for i in range(20)] == [x.sequence for x in given]
    assert not read.needs_genome
    assert not read.has_coordinates
    assert not read.has_one_length
    expected = encode_labels(given, columns)
    values = expected.bits if expected.targets is None else expected.targets
    assert (read.labels == values).all()
    assert (read.labels_of(np.array([3])) == values[3]).all()
    assert read.label_type == data.label_type
    assert read.label_names == expected.names
    assert [x.length for x in read.intervals] == [len(x.sequence) for x in given]
    assert missing_notes(data) == []


def test_a_set_of_windows_needs_its_genome(tmp_path):
    from dna_bigbird.labelled.labelled_set import LabelledData

    (tmp_path / "g.fa").write_text(">chr1\n" + "ACGT" * 50 + "\n")
    data = LabelledData(
        task="promoter",
        window_bp=10,
        label_names=["promoter"],
        label_groups=["promoter"],
        intervals=[Interval("chr1", i, i + 10) for i in (0, 50)],
        names=[],
        labels=np.array([[0], [1]]),
        split=np.zeros(2, dtype=np.uint8),
    )
    assert data.format_version == 2
    genome = Genome(tmp_path / "g.fa")
    write_labelled_set(tmp_path / "s.h5", data, genome, assembly="toy", command="", inputs={})
    with pytest.raises(
        InputError, match=r"s\.h5: this set has coordinates, .* add --genome with .* toy"
    ):
        open_labelled_set(tmp_path / "s.h5", None)
    assert open_labelled_set(tmp_path / "s.h5", genome).sequence(0) == "ACGTACGTAC"
