"""The shape of the package as a whole: lengths, import cycles, repeated lines."""

import ast

import pytest

MAX_FILE_LINES, MAX_FUNCTION_LINES = 330, 30
"""What nine of ten files and functions do not exceed."""
MAX_STRING_KEYS = 30
"""Accesses by string key to the config and metrics of a bundle; the typed classes have fields."""
REPEATED: dict[tuple[str, str], str] = {}
"""Pairs of files that may have equal lines, and why they stay."""
PRINTING = ("cli/completion.py", "cli/main.py")
"""The files that write to standard output with `print`."""


@pytest.fixture(scope="module")
def structure():
    """The module tools/structure.py."""
    from tools import structure

    return structure


@pytest.fixture(scope="module")
def trees(structure):
    return structure.sources()


def test_files_are_short(structure, trees):
    assert structure.percentile_90(map(structure.line_count, trees)) <= MAX_FILE_LINES


def test_functions_are_short(structure, trees):
    lengths = [function.lines for function in structure.functions(trees)]
    assert structure.percentile_90(lengths) <= MAX_FUNCTION_LINES


@pytest.mark.parametrize("only_top_level", [True, False])
def test_no_module_imports_itself_through_others(structure, trees, only_top_level):
    graph = structure.import_graph(trees, only_top_level=only_top_level)
    assert structure.cycles(graph) == []


def test_no_folder_imports_itself_through_others(structure, trees):
    graph = structure.import_graph(trees, only_top_level=False)
    assert structure.cycles(structure.folder_graph(graph)) == []


def test_no_logic_is_written_twice(structure, trees):
    package = structure.PACKAGE
    repeats = [
        str(repeat)
        for repeat in structure.repeats(trees)
        if tuple(str(path.relative_to(package)) for path in (repeat.first, repeat.second))
        not in REPEATED
    ]
    assert repeats == []


def test_config_and_metrics_are_rarely_read_by_string_key(structure):
    listed = structure.string_keys.string_keys()
    assert sum(map(len, listed.values())) <= MAX_STRING_KEYS, listed


def test_only_the_command_line_prints_results(structure, trees):
    """Functions return results; notes go to standard error."""
    printing = [
        f"{path.relative_to(structure.PACKAGE)}:{node.lineno}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
        and not any(keyword.arg == "file" for keyword in node.keywords)
        and str(path.relative_to(structure.PACKAGE)) not in PRINTING
    ]
    assert printing == []


def test_accesses_by_string_key_would_be_seen(structure):
    code = """
config["a"]; bundle.config.get("b"); metrics["c"]["d"]; files["metrics"].get("e"); "f" in config
config[name]; config.items(); other["a"]; metrics.scores["g"]; settings.get("h")
config.stored["i"]
"""
    keys = structure.string_keys.accesses(structure.ast.parse(code))
    assert len(list(keys)) == 7


@pytest.fixture
def toy(tmp_path):
    """A package of two modules that import each other, one of them within a function."""
    lines = "\n".join(f"    x{i} = {i}" for i in range(12))
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "a.py").write_text(f"from toy import b\n\n\ndef f():\n{lines}\n")
    (folder / "b.py").write_text(f"def g():\n    import toy.a\n    y = 1\n{lines}\n    z = 2\n")
    return folder


def test_a_cycle_would_be_seen(structure, toy):
    trees = structure.sources(toy)
    graph = structure.import_graph(trees, only_top_level=False, package=toy)
    assert structure.cycles(graph) == [["toy.a", "toy.b"]]
    assert structure.cycles(structure.import_graph(trees, only_top_level=True, package=toy)) == []


def test_repeated_lines_would_be_seen(structure, toy):
    (repeat,) = structure.repeats(structure.sources(toy))
    assert (repeat.first_line, repeat.second_line, len(repeat.text)) == (5, 4, 12)
    assert structure.repeats(structure.sources(toy), length=13) == []


def test_the_script_prints_all_counts(structure, capsys):
    structure.main(["--list"])
    text = capsys.readouterr().out
    for title in (
        "all\t",
        "files: ",
        "functions: ",
        "import cycles between folders: 0",
        "string key",
        "names",
    ):
        assert title in text
