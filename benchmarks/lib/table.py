"""Tables of cases: tab-separated, lines of comment begin with '#'."""

from collections.abc import Mapping, Sequence

from benchmarks.lib.timing import Case, Times, ratio, spread


def megabytes(peak: int | str | None) -> str:
    """Return a peak memory in MB, the reason why there is none, or '-' if none was asked for."""
    if peak is None:
        return "-"
    return peak if isinstance(peak, str) else f"{peak / 1e6:.0f}"


def print_cases(
    cases: Sequence[Case],
    times: Times,
    failed: Mapping[Case, str],
    peak: Mapping[Case, int | str],
    peers: Sequence[str],
    batch: int = 1,
) -> None:
    """Print a line for each case, with a column of ratios for each peer.

    A ratio is the peer's time divided by that of the line, at the same length and mode: above 1
    the line is faster.
    """
    head = ["tokens", "mode", "name", "median_ms", "ms_per_1000_tokens", "tokens_per_s"]
    print("\t".join([*head, *(f"{peer} / this" for peer in peers), "peak_MB"]))
    for case in cases:
        if case in failed:
            print(case.tokens, case.mode, case.name, f"not run: {failed[case]}", sep="\t")
            continue
        median_s = spread(times[case]).median
        cells = [
            str(case.tokens),
            case.mode,
            case.name,
            f"{1000 * median_s:.4g}",
            f"{1e6 * median_s / (batch * case.tokens):.4g}",
            f"{batch * case.tokens / median_s:.0f}",
        ]
        for peer in peers:
            speedup = ratio(times, case._replace(name=peer), case)
            cells.append("-" if speedup is None or peer == case.name else str(speedup))
        print("\t".join([*cells, megabytes(peak.get(case))]), flush=True)


def print_costs(times: Times, base: str) -> None:
    """Print a line for each case: its median and its ratio to the case `base`, round by round."""
    print("name", "median_ms", f"this / {base}", sep="\t")
    for case, values in times.items():
        cells = (
            f"{1000 * spread(values).median:.4g}",
            str(ratio(times, case, case._replace(name=base))),
        )
        print(case.name, *cells, sep="\t", flush=True)
