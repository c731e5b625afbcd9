"""Counts accesses by string key to the config and the metrics of a model bundle.

    python -m tools.string_keys [--list]

Counted is every expression that reads, writes or looks for a text key in a value called `config` or
`metrics`, and in a value read from it in the same expression:

    bundle.config["window_bp"]    config.get("assembly")    metrics["n"] = 3    "members" in config
    config["encoder"]["max_tokens"]                         (two accesses)

Not counted are mappings with the same name that do not belong to a bundle (OTHER_MAPPINGS) and the
modules that read the JSON and make the typed settings (CONVERTERS).
"""

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "dna_bigbird"
NAMES = ("config", "metrics")
STORED = "stored"
"""Attribute of the typed classes with the values of the file."""
METHODS = ("get", "pop", "setdefault")
CONVERTERS = (
    "bundles/config.py",
    "bundles/config_file.py",
    "bundles/config_file.py",
    "bundles/metrics.py",
)
OTHER_MAPPINGS = {
    "bundles/huggingface/settings.py": "config.json of the Hugging Face library",
    "bundles/huggingface/longformer.py": "config.json of the Hugging Face library",
    "bundles/huggingface/short_encoders.py": "config.json of the Hugging Face library",
    "bundles/huggingface/summarizers.py": "config.json of the Hugging Face library",
    "bundles/huggingface/huggingface_reading.py": "config.json of the Hugging Face library",
    "report/sections/track_section.py": "configuration of the workflow",
}


def is_counted_mapping(node: ast.expr) -> bool:
    """Return True if an expression is a config or metrics, or a value read from one by key."""
    if isinstance(node, ast.Name):
        return node.id in NAMES
    if isinstance(node, ast.Attribute):
        return node.attr in NAMES or (node.attr == STORED and is_counted_mapping(node.value))
    if isinstance(node, ast.Subscript):
        key = node.slice
        is_named = isinstance(key, ast.Constant) and key.value in NAMES
        return is_named or is_counted_mapping(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in METHODS and is_counted_mapping(node.func.value)
    return False


def is_text(node: ast.expr) -> bool:
    """Return True if a key is a text that is written in the code."""
    is_constant = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_constant or isinstance(node, ast.JoinedStr)


def accesses(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield every access by string key in a module."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=value, slice=key) if is_text(key):
                mappings = [value]
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=[key, *_]) if (
                name in METHODS and is_text(key)
            ):
                mappings = [value]
            case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=values) if is_text(
                key
            ):
                mappings = values
            case _:
                continue
        if any(map(is_counted_mapping, mappings)):
            yield node


def string_keys(package: Path = PACKAGE) -> dict[str, list[str]]:
    """Return the accesses of each module, as `line: code`, by its path below the package."""
    listed = {}
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name in OTHER_MAPPINGS or name in CONVERTERS:
            continue
        nodes = accesses(ast.parse(path.read_text(encoding="utf-8")))
        lines = [f"{node.lineno}: {ast.unparse(node)}" for node in nodes]
        if lines:
            listed[name] = lines
    return listed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--list", action="store_true", help="print every access")
    listed = string_keys()
    if parser.parse_args().list:
        for name, lines in listed.items():
            print("\n".join(f"{name}:{line}" for line in lines))
    folders = Counter()
    for name, lines in listed.items():
        folders[name.split("/")[0]] += len(lines)
    for folder, count in folders.most_common():
        print(f"{folder}\t{count}")
    print(f"total\t{folders.total()}")


if __name__ == "__main__":
    main()
