"""How the package is built: sizes, import cycles, repeated lines, names; no speed.

    python -m tools.structure
    python -m tools.structure --list

`--list` also prints what is counted: the longest files and functions, the repeated lines. What may
not get worse is asserted by tests/test_structure.py.
"""

import argparse
import ast
import itertools
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from tools import string_keys

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "dna_bigbird"
NAMES = ROOT / "tools" / "plain_english.yaml"
LONG_RUN = 10
"""Equal lines of two files that count as repeated."""
SHOWN = 15

Graph = dict[str, set[str]]
"""Module or folder -> those that it imports."""


@dataclass(frozen=True)
class Function:
    """A function or method."""

    path: Path
    name: str
    line: int
    lines: int

    def __str__(self) -> str:
        return f"{self.path.relative_to(PACKAGE)}:{self.line} {self.name}: {self.lines}"


@dataclass(frozen=True)
class Repeat:
    """Equal lines of two files, or at two positions of one."""

    first: Path
    first_line: int
    second: Path
    second_line: int
    text: tuple[str, ...]

    def __str__(self) -> str:
        first = f"{self.first.relative_to(PACKAGE)}:{self.first_line}"
        second = f"{self.second.relative_to(PACKAGE)}:{self.second_line}"
        return f"{first} = {second}: {len(self.text)} lines, from: {self.text[0]}"


def sources(package: Path = PACKAGE) -> dict[Path, ast.Module]:
    """Return the modules of the package, parsed."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(package.rglob("*.py"))}


def line_count(path: Path) -> int:
    """Return the number of lines in a file."""
    return len(path.read_text("utf-8").splitlines())


def functions(trees: Mapping[Path, ast.Module]) -> list[Function]:
    """Return all functions and methods, docstrings included in their length."""
    return [
        Function(path, node.name, node.lineno, node.end_lineno - node.lineno + 1)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def percentile_90(lengths: Iterable[int]) -> int:
    """Return the length that nine of ten do not exceed."""
    return int(statistics.quantiles(lengths, n=10, method="inclusive")[-1])


def module_name(path: Path, package: Path = PACKAGE) -> str:
    """Return the name of a module: `dna_bigbird.genome.bed`."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(
    trees: Mapping[Path, ast.Module], *, only_top_level: bool, package: Path = PACKAGE
) -> Graph:
    """Return which modules of the package each module imports.

    Args:
        only_top_level: Leave out imports within functions and those for type checkers.
    """
    modules = {module_name(path, package) for path in trees}
    graph: Graph = {name: set() for name in modules}
    for path, tree in trees.items():
        name = module_name(path, package)
        for node in _imports(tree, only_top_level):
            if isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names} & modules
                continue
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                graph[name] |= {full if full in modules else node.module or ""} & modules
        graph[name].discard(name)
    return graph


def _imports(tree: ast.AST, only_top_level: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif only_top_level and (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        ):
            continue
        else:
            yield from _imports(node, only_top_level)


def folder_graph(graph: Graph) -> Graph:
    """Return which folders of the package import which; modules at the top are left out."""
    folders: Graph = defaultdict(set)
    for name, imported in graph.items():
        folders[_folder(name)] |= {_folder(other) for other in imported} - {_folder(name), ""}
    folders.pop("", None)
    return dict(folders)


def _folder(module: str) -> str:
    parts = module.split(".")
    name = parts[1] if len(parts) > 1 else ""
    return name if (PACKAGE / name).is_dir() else ""


def cycles(graph: Graph) -> list[list[str]]:
    """Return the groups of nodes that reach each other.

    Example:
        >>> cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}})
        [['b', 'c']]
    """
    reached = {node: _reached_from(node, graph) for node in graph}
    groups = {
        tuple(sorted(other for other in reached[node] if node in reached[other]))
        for node in graph
        if node in reached[node]
    }
    return [list(group) for group in sorted(groups)]


def _reached_from(node: str, graph: Graph) -> set[str]:
    reached: set[str] = set()
    waiting = list(graph.get(node, ()))
    while waiting:
        current = waiting.pop()
        if current not in reached:
            reached.add(current)
            waiting += graph.get(current, ())
    return reached


def logic_lines(path: Path, tree: ast.Module) -> list[tuple[int, str]]:
    """Return the lines of a module without blank ones, comments, imports and docstrings.

    Returns:
        Number and stripped text of each line.
    """
    left_out = set()
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            left_out |= set(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(path.read_text("utf-8").splitlines(), start=1)
    stripped = ((number, line.strip()) for number, line in lines if number not in left_out)
    return [(number, line) for number, line in stripped if line and not line.startswith("#")]


def repeats(trees: Mapping[Path, ast.Module], length: int = LONG_RUN) -> list[Repeat]:
    """Return the longest runs of equal lines that occur twice, `length` lines or more each."""
    files = {path: logic_lines(path, tree) for path, tree in trees.items()}
    positions: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for path, lines in files.items():
        for start in range(len(lines) - length + 1):
            run = tuple(text for _, text in lines[start : start + length])
            positions[run].append((path, start))
    pairs = [pair for equal in positions.values() for pair in itertools.combinations(equal, 2)]
    return [repeat for pair in pairs if (repeat := _longest(files, *pair))]


def _longest(
    files: Mapping[Path, list[tuple[int, str]]],
    position: tuple[Path, int],
    other_position: tuple[Path, int],
) -> Repeat | None:
    """Return the run that begins at two positions; None if it begins before them or overlaps."""
    (first, start), (second, other_start) = position, other_position
    mine, theirs = files[first], files[second]
    if start and other_start and mine[start - 1][1] == theirs[other_start - 1][1]:
        return None
    length = 0
    while (
        start + length < len(mine)
        and other_start + length < len(theirs)
        and mine[start + length][1] == theirs[other_start + length][1]
    ):
        length += 1
    if first == second and other_start < start + length:
        return None
    text = tuple(line for _, line in mine[start : start + length])
    return Repeat(first, mine[start][0], second, theirs[other_start][0], text)


def odd_names(trees: Mapping[Path, ast.Module]) -> dict[str, int]:
    """Return how often each identifier of the list of names to avoid is defined."""
    rows = yaml.safe_load(NAMES.read_text("utf-8"))["names"]
    patterns = [re.compile(row["pattern"]) for row in rows]
    counts: dict[str, int] = defaultdict(int)
    for path, tree in trees.items():
        for name in [path.stem, *_defined(tree)]:
            if any(pattern.fullmatch(name) for pattern in patterns):
                counts[name] += 1
    return dict(sorted(counts.items()))


def _defined(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def print_folders(trees: Mapping[Path, ast.Module]) -> None:
    """Print files and lines of each folder."""
    folders: dict[str, list[int]] = defaultdict(list)
    for path in trees:
        parts = path.relative_to(PACKAGE).parts
        folders["/".join(parts[:-1]) + "/"].append(line_count(path))
    print("folder", "files", "lines", "longest_file", sep="\t")
    for folder, lengths in sorted(folders.items()):
        print(folder, len(lengths), sum(lengths), max(lengths), sep="\t")
    lengths = [length for each in folders.values() for length in each]
    print("all", len(lengths), sum(lengths), max(lengths), sep="\t")


def print_lengths(title: str, lengths: list[int], listed: list[str]) -> None:
    """Print median and 90th percentile of lengths, and the longest ones."""
    median = statistics.median(lengths)
    print(f"{title}: {len(lengths)}, median {median:.0f} lines, p90 {percentile_90(lengths)}")
    for line in listed:
        print(f"  {line}")


def print_cycles(trees: Mapping[Path, ast.Module]) -> None:
    """Print the groups of modules, and of folders, that import each other."""
    everywhere = import_graph(trees, only_top_level=False)
    graphs = {
        "import cycles at the top of modules": import_graph(trees, only_top_level=True),
        "import cycles with imports in functions": everywhere,
        "import cycles between folders": folder_graph(everywhere),
    }
    for title, graph in graphs.items():
        groups = cycles(graph)
        print(f"{title}: {len(groups)}")
        for group in groups:
            print(f"  {', '.join(group)}")


def print_string_keys(is_listed: bool) -> None:
    """Print the accesses by string key to config and metrics of bundles."""
    listed = string_keys.string_keys(PACKAGE)
    print(f"accesses by string key to config or metrics: {sum(map(len, listed.values()))}")
    for name, lines in listed.items() if is_listed else ():
        print("".join(f"  {name}:{line}\n" for line in lines), end="")


def main(argv: list[str] | None = None) -> None:
    """Print all counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true", help="also print what is counted")
    shown = SHOWN if parser.parse_args(argv).list else 0
    trees = sources()
    print_folders(trees)
    print()
    by_length = sorted(trees, key=line_count, reverse=True)[:shown]
    files = [f"{path.relative_to(PACKAGE)}: {line_count(path)}" for path in by_length]
    print_lengths("files", list(map(line_count, trees)), files)
    every = sorted(functions(trees), key=lambda function: -function.lines)
    print_lengths("functions", [f.lines for f in every], [str(f) for f in every[:shown]])
    print_cycles(trees)
    repeated = repeats(trees)
    print(f"runs of {LONG_RUN} or more equal lines: {len(repeated)}")
    for repeat in repeated if shown else []:
        print(f"  {repeat}")
    print_string_keys(is_listed=shown > 0)
    names = odd_names(trees)
    print(f"names to avoid: {sum(names.values())}")
    for name, count in names.items() if shown else ():
        print(f"  {name}: {count}")


if __name__ == "__main__":
    main()
