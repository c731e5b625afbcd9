"""The runner of the benchmarks of speed and memory.

python -m benchmarks.speed                                  # what there is
python -m benchmarks.speed attention --lengths 4096         # a table; --help lists the options of a benchmark
python -m benchmarks.speed attention --json attention.json  # and its rows with the lines about the machine
"""

import importlib
import io
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("[a-z]*.py"))


class Copied(io.TextIOBase):
    """Passes text on to a stream and keeps it."""

    def __init__(self, stream: io.TextIOBase) -> None:
        self.stream, self.text = stream, ""

    def write(self, text: str) -> int:
        """Write to the stream."""
        self.text += text
        return self.stream.write(text)

    def flush(self) -> None:
        """Flush the stream."""
        self.stream.flush()


def parsed(text: str) -> dict[str, list]:
    """Return the lines of comment, and the other lines as rows of their cells.

    Example:
        >>> parsed("# 1 thread\\nname\\tms\\nours\\t2")
        {'about': ['1 thread'], 'rows': [['name', 'ms'], ['ours', '2']]}
    """
    lines = [line for line in text.splitlines() if line.strip()]
    about = [line[1:].strip() for line in lines if line.startswith("#")]
    return {"about": about, "rows": [x.split("\t") for x in lines if not x.startswith("#")]}


def main(arguments: list[str] | None = None) -> None:
    """Run a benchmark by its name, or list them."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help"):
        print(__doc__)
        for name in NAMES:
            first = (HERE / f"{name}.py").read_text().splitlines()[0]
            print(f"{name:20} {first.strip(chr(34))}")
        return
    name = words.pop(0)
    if name not in NAMES:
        sys.exit(f"{name}: no such benchmark; expected one of {', '.join(NAMES)}")
    output = None
    if "--json" in words:
        at = words.index("--json")
        if at + 1 == len(words):
            sys.exit("--json: expected the path of a file after it")
        output = Path(words[at + 1])
        del words[at : at + 2]
    benchmark = importlib.import_module(f"benchmarks.speed.{name}")
    if output is None:
        benchmark.main(words)
        return
    usual = sys.stdout
    sys.stdout = copied = Copied(usual)
    try:
        benchmark.main(words)
    finally:
        sys.stdout = usual
    output.write_text(
        json.dumps({"benchmark": name, "options": words} | parsed(copied.text), indent=1)
    )


if __name__ == "__main__":
    main()
