"""What is asked of the ratios, and whether a run reached it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.lib.timing import FORWARD, TRAINING, Case, Spread, Times, ratio, spread


@dataclass(frozen=True)
class Target:
    """One row of what is asked of a ratio.

    Args:
        must, aim: None if nothing is asked. `at_most` turns both round: smaller is better.
        measured: None if the run did not cover it.
    """

    text: str
    must: float | None
    aim: float | None
    measured: Spread | None
    at_most: bool = False

    def verdict(self, asked: float | None) -> str:
        """Return whether the median reaches `asked`; '-' if nothing is asked."""
        if asked is None or self.measured is None:
            return "-"
        median = self.measured.median
        return "met" if (median <= asked if self.at_most else median >= asked) else "not met"

    def line(self) -> str:
        """Return the row as text."""
        sign = "<=" if self.at_most else ">="
        must, aim = (f"{sign} {x:g}" if x is not None else "-" for x in (self.must, self.aim))
        measured = str(self.measured) if self.measured else "-"
        cells = (self.text, measured, must, self.verdict(self.must), aim, self.verdict(self.aim))
        return "\t".join(cells)


def print_targets(rows: Iterable[Target]) -> None:
    """Print those targets that the run covered, with what it measured."""
    rows = [row for row in rows if row.measured]
    if not rows:
        return
    print("\n# Targets: median [lowest, highest] of the rounds, judged by the median")
    print("target\tmeasured\tmust\treached\taim\treached")
    for row in rows:
        print(row.line(), flush=True)


def _row(times: Times, slow: Case, fast: Case, must: float | None, aim: float | None) -> Target:
    text = f"{slow.name} / {fast.name}, {slow.mode}, {slow.tokens} tokens"
    return Target(text, must, aim, ratio(times, slow, fast))


def attention_targets(times: Times, backends: Sequence[str]) -> list[Target]:
    """Return the rows for attention alone: 12 heads of 64, blocks of 64, float32, two processors.

    Args:
        backends: Ours, without `auto`.
    """
    rows = [
        _row(times, Case(tokens, mode, peer), Case(tokens, mode, "auto"), must, aim)
        for tokens, mode, peer, must, aim in (
            (4096, FORWARD, "hf-strip", 3, 4),
            (4096, FORWARD, "dense", 3, 4),
            (4096, TRAINING, "hf-strip", 2.5, 3),
            (4096, TRAINING, "dense", 3.5, 4.5),
            (16384, TRAINING, "dense", 7, 10),
        )
    ]
    for tokens, mode in sorted({(case.tokens, case.mode) for case in times}):
        cases = (Case(tokens, mode, "dense"), Case(tokens, mode, "auto"))
        row = _row(times, *cases, 1 if tokens >= 1024 else None, 1)
        rows.append(Target(f"never slower: {row.text}", row.must, row.aim, row.measured))
    name, growth = fastest_growth(times, backends)
    text = f"linear cost: {name}, forward, time per token at 65536 / at 4096"
    return [*rows, Target(text, 1.8, 1.3, growth, at_most=True)]


def fastest_growth(times: Times, backends: Sequence[str]) -> tuple[str, Spread | None]:
    """Return the fastest backend at 65,536 tokens forward, and how its time per token grew."""
    far = [case for name in backends if (case := Case(65536, FORWARD, name)) in times]
    if not far:
        return "-", None
    fastest = min(far, key=lambda case: spread(times[case]).median)
    growth = ratio(times, fastest, fastest._replace(tokens=4096))
    return fastest.name, growth and Spread(*(value * 4096 / 65536 for value in growth))


def native_targets(
    times: Times, peak: Case, work: Mapping[int, float], peak_memory: int | str | None
) -> list[Target]:
    """Return the rows for the native kernel: 12 heads of 64, blocks of 64, two processors.

    Args:
        peak: The case that only multiplies and adds.
        work: Operations of a forward pass over those of `peak`, for each number of tokens.
        peak_memory: Bytes of one layer, forward and backward, at 16,384 tokens.
    """
    asked = (
        (4096, FORWARD, "hf-strip", "native", 9, 12),
        (4096, TRAINING, "hf-strip", "native", 8, 10),
        (4096, FORWARD, "dense", "native", 10, 14),
        (4096, TRAINING, "dense", "native", 11, 15),
        (4096, FORWARD, "native", "native-bfloat16", 1.6, 2),
        (1024, FORWARD, "dense", "native", 3, 4),
        (4096, FORWARD, "native-1-thread", "native", 1.8, 1.95),
    )
    rows = [
        _row(times, Case(tokens, mode, slow), Case(tokens, mode, fast), must, aim)
        for tokens, mode, slow, fast, must, aim in asked
    ]
    for tokens, must, aim in ((4096, 0.6, 0.75), (65536, 0.4, 0.6)):
        speed = ratio(times, peak, Case(tokens, FORWARD, "native"))
        share = speed and Spread(*(value * work[tokens] for value in speed))
        text = f"share of the float32 multiply-add peak, forward, {tokens} tokens"
        rows.append(Target(text, must, aim, share))
    held = Spread(*[peak_memory / 1e9] * 3) if isinstance(peak_memory, int) else None
    text = "GB of one layer above its inputs, forward+backward, 16384 tokens"
    return [*rows, Target(text, 0.3, 0.22, held, at_most=True)]


def encoder_targets(times: Times, device: str) -> list[Target]:
    """Return the rows for the whole base model.

    On a CPU each of the three is followed by the same with equal logits, which say what computing
    fewer of them contributes.
    """
    if device == "cuda":
        fast, slow = "ours/bfloat16/predicted", "full/bfloat16/predicted"
        return [
            _row(times, Case(tokens, TRAINING, slow), Case(tokens, TRAINING, fast), None, aim)
            for tokens, aim in ((4096, 1.3), (16384, 3.0), (65536, 9.0))
        ]
    asked = (
        (FORWARD, "hf", 6, 8),
        (FORWARD, "hf-compiled", 3, 4),
        (TRAINING, "hf", 5, 7),
    )
    logits = (("all", "predicted"), ("all", "all"), ("predicted", "predicted"))
    return [
        _row(
            times,
            Case(4096, mode, f"{peer}/float32/{theirs}"),
            Case(4096, mode, f"ours/bfloat16/{ours}"),
            must,
            aim,
        )
        for mode, peer, must, aim in asked
        for theirs, ours in logits
    ]
