"""Phrases and names that plain_english.yaml lists, in texts for people and in code: a step of `make lint`.

python -m tools.plain_english
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
LISTS = yaml.safe_load((ROOT / "tools/plain_english.yaml").read_text())
PHRASES = [(re.compile(row["pattern"], re.IGNORECASE), row["instead"]) for row in LISTS["phrases"]]
NAMES = [(re.compile(row["pattern"]), row["instead"]) for row in LISTS["names"]]
CODE = ("dna_bigbird", "benchmarks", "tools", "workflow")
TEXT_SUFFIXES = (".py", ".smk", ".md", ".yaml", ".html", ".j2", ".cpp", ".h", ".cu", ".def")
LIBRARY_NAMES = {"np.ones", "torch.ones", "kind='stable'", "parameter.kind", "dtype.kind"}
# Demo texts are data: articles, questions and reviews to train on.
DATA = ("dna_bigbird/genome/sources/data", "dna_bigbird/genome/data")


def files() -> list[Path]:
    """Return the files to search."""
    listed = [ROOT / "Makefile", *ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.*")]
    listed += (ROOT / "docs").rglob("*.md")
    for top in (*CODE, "config", "data_specs", "containers", "profiles"):
        listed += (
            path
            for path in (ROOT / top).rglob("*")
            if (path.suffix in TEXT_SUFFIXES or path.name == "Snakefile")
            and not str(path.relative_to(ROOT)).startswith((*DATA, "tools/plain_english.yaml"))
        )
    return sorted(listed)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield string literals and comments of Python with their first line; other files whole."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield 1, source
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    block: list[tokenize.TokenInfo] = []  # comments on consecutive lines are one text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if block and token.start[0] > block[-1].start[0] + 1:
            yield block[0].start[0], "\n".join(t.string for t in block)
            block = []
        block.append(token)
    if block:
        yield block[0].start[0], "\n".join(t.string for t in block)


def odd_phrases(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line (counted from 0), phrase and what to write instead."""
    words = list(re.finditer(r"\S+", text))
    starts, joined = [], []
    length = 0
    for word in words:
        # the mark of a comment or of a quotation at the start of a line is not part of a phrase
        at_line_start = text[: word.start()].rpartition("\n")[2].strip() == ""
        if at_line_start and word[0] in ("#", ">", "//", "*"):
            continue
        starts.append((length, word.start()))
        joined.append(word[0])
        length += len(word[0]) + 1
    flat = " ".join(joined)
    for pattern, instead in PHRASES:
        for match in pattern.finditer(flat):
            offset = max(source for position, source in starts if position <= match.start())
            yield text.count("\n", 0, offset), match[0], instead


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every identifier with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and ast.unparse(node) not in LIBRARY_NAMES:
            yield node.end_lineno or node.lineno, node.attr
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.keyword) and node.arg and ast.unparse(node) not in LIBRARY_NAMES:
            yield node.value.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.alias):
            yield node.lineno, node.asname or node.name.rpartition(".")[2]


def odd_names(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, name and what to write instead."""
    identifiers = [(1, path.stem)]
    if path.suffix == ".py":
        identifiers += names(ast.parse(path.read_text(encoding="utf-8")))
    elif (
        path.suffix == ".smk" or path.name == "Snakefile"
    ):  # Python with blocks that `ast` does not know
        tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
        identifiers += [(t.start[0], t.string) for t in tokens if t.type == tokenize.NAME]
    allowed = set(LISTS["allowed_names"].get(str(path.relative_to(ROOT)), ()))
    for line, name in identifiers:
        for pattern, instead in NAMES:
            if pattern.fullmatch(name) and name not in allowed:
                yield line, name, instead


def misses(path: Path) -> Iterator[str]:
    """Yield a line per listed phrase or name of a file."""
    where = path.relative_to(ROOT)
    for first, text in texts(path):
        for line, phrase, instead in odd_phrases(text):
            yield f"{where}:{first + line}: '{phrase}'; write: {instead}"
    if where.parts[0] in CODE:
        for line, name, instead in odd_names(path):
            yield f"{where}:{line}: name '{name}'; write: {instead}"


def main() -> None:
    """Print what is to be changed, with exit status 1 if there is anything."""
    lines = [line for path in files() for line in misses(path)]
    for line in lines:
        print(line)
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
