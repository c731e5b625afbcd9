"""Print what `make docs` installs: the extra `docs`, and the core without PyTorch.

The pages are made from signatures, docstrings and parsers; none of them imports torch.
"""

import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def requirements() -> list[str]:
    core = [text for text in PROJECT["dependencies"] if not text.startswith("torch")]
    return [*core, *PROJECT["optional-dependencies"]["docs"]]


if __name__ == "__main__":
    print(*requirements(), sep="\n")
