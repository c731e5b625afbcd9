"""The Markdown page of gpu.py: where it was measured, a table per part, and the aims."""

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.gpu.rows import OUT_OF_TIME, Part

LIBRARY = ("hf", "hf-strip")
SPEEDUPS = ((4096, 1.3), (16384, 3.0), (65536, 9.0))
"""Tokens, and the aim for our training throughput over that with full attention."""
LONGEST, LIBRARY_TOKENS, LIBRARY_AIM, UTILISATION_AIM = 262144, 4096, 3.0, 0.45
ENTRIES = list[dict[str, Any]]


def page(titles: Mapping[str, str], parts: Iterable[Part], machine: dict) -> str:
    """Return the whole page.

    Args:
        titles: Of all parts, by letter.
    """
    by_letter = {part.letter: part for part in parts}
    versions = [f"- {name}: {value}" for name, value in machine["versions"].items()]
    lines = ["# Measured on a GPU" if "GPUs" in machine["versions"] else "# Measured on a CPU", ""]
    lines += [*versions, *measured(by_letter.values())]
    for letter, title in titles.items():
        lines += ["", f"## ({letter}) {title}", ""]
        lines += table(by_letter[letter]) if letter in by_letter else ["not run: not asked for"]
    lines += ["", "## Aims", "", "| aim | measured | reached |", "|---|---|---|"]
    lines += aims({letter: values_of(part) for letter, part in by_letter.items()})
    return "\n".join(lines) + "\n"


def measured(parts: Iterable[Part]) -> list[str]:
    """Return when the rows were measured, and with which code."""
    entries = [entry for part in parts for entry in part.done if "at" in entry]
    if not entries:
        return ["- nothing measured yet"]
    times = sorted(entry["at"] for entry in entries)
    commits = sorted({entry["commit"] for entry in entries})
    return [
        f"- rows measured: {times[0]} to {times[-1]} UTC",
        f"- commit: {', '.join(commits)}",
    ]


def table(part: Part) -> list[str]:
    """Return the table of a part; a row without figures has the reason in its last cell."""
    entries = [(row.key, part.saved(row)) for row in part.rows]
    keys = list(dict.fromkeys(name for key, _ in entries for name in key))
    figures = [(entry or {}).get("values", {}) for _, entry in entries]
    columns = list(dict.fromkeys(name for values in figures for name in values))
    lines = [_line([*keys, *columns, "note"]), "|" + "---|" * (len(keys) + len(columns) + 1)]
    for (key, entry), values in zip(entries, figures, strict=True):
        cells = [key.get(name) for name in keys] + [values.get(name) for name in columns]
        lines.append(_line([*map(shown, cells), note(entry)]))
    return lines


def note(entry: dict | None) -> str:
    """Return why a row has no figures; empty if it has them."""
    if entry is None:
        return f"not run: {OUT_OF_TIME}"
    if "started" in entry:
        return f"not run: the process ended {entry['started']} times in this row"
    return f"failed: {entry['failed']}" if "failed" in entry else ""


def shown(value: object) -> str:
    """Return a value as the text of a cell.

    Example:
        >>> shown(1234567), shown(0.12345), shown(98765.4), shown(True), shown(None)
        ('1,234,567', '0.123', '98,765', 'yes', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |"


def values_of(part: Part) -> ENTRIES:
    """Return key and figures of the rows that were measured."""
    saved = [part.saved(row) for row in part.rows]
    return [entry["key"] | entry["values"] for entry in saved if entry and "values" in entry]


def aims(results: Mapping[str, ENTRIES]) -> list[str]:
    """Return the rows of the aims, by the best row of each."""
    training, own_step = results.get("c", []), results.get("d", [])
    lines = []
    for tokens, aim in SPEEDUPS:
        text = f"training throughput, {tokens:,} tokens, over full attention: {aim:g}×"
        lines.append(_speedup(training, tokens, ("full",), text, aim))
    longest = _best(training, LONGEST, None)
    reached = f"{shown(longest['tokens/s'])} tokens/s ({_named(longest)})" if longest else ""
    lines.append(_aim(f"a training step at {LONGEST:,} tokens", reached, bool(longest)))
    for name in LIBRARY:
        text = f"training throughput, {LIBRARY_TOKENS:,} tokens, over {name}: {LIBRARY_AIM:g}×"
        lines.append(_speedup(training, LIBRARY_TOKENS, (name,), text, LIBRARY_AIM))
    uses = sorted(own_step, key=lambda row: row["utilisation"])
    text = f"utilisation of the measured peak in (d): {UTILISATION_AIM:.0%}"
    if not uses:
        return [*lines, _aim(text, "", False)]
    use = uses[-1]["utilisation"]
    return [*lines, _aim(text, f"{use:.1%} ({_named(uses[-1])})", use >= UTILISATION_AIM)]


def _speedup(training: ENTRIES, tokens: int, names: tuple[str, ...], text: str, aim: float) -> str:
    ours, other = _best(training, tokens, None), _best(training, tokens, names)
    if ours is None or other is None:
        return _aim(text, "", False)
    ratio = ours["tokens/s"] / other["tokens/s"]
    return _aim(text, f"{ratio:.2f}× ({_named(ours)} over {_named(other)})", ratio >= aim)


def _best(training: ENTRIES, tokens: int, names: tuple[str, ...] | None) -> dict[str, Any] | None:
    """Return the fastest row of some models at a length; None: of ours."""
    rows = [
        row
        for row in training
        if row["tokens"] == tokens
        and (row["model"] in names if names else row["model"] not in ("full", *LIBRARY))
    ]
    return max(rows, key=lambda row: row["tokens/s"], default=None)


def _named(row: dict[str, Any]) -> str:
    words = [str(row.get("model", row.get("backend")))]
    if "blocks of" in row and row["model"] != "full":
        words.append(f"blocks of {row['blocks of']}")
    return ", ".join([*words, *(["compiled"] if row["compiled"] else [])])


def _aim(text: str, measured: str, is_reached: bool) -> str:
    verdict = ("yes" if is_reached else "no") if measured else "not measured"
    return f"| {text} | {measured or '–'} | {verdict} |"
