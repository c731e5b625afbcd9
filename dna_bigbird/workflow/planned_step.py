"""One step of a plan: a row of its table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PlannedStep:
    """One step of a run; None where the inputs do not tell."""

    name: str
    what: str
    """Rows, tokens or training steps."""
    seconds: float | None
    memory_mb: float | None
    how: str
    """Where the seconds come from: `measured` here, or a `rule of thumb`."""

    def cells(self) -> tuple[str, ...]:
        memory = "?" if self.memory_mb is None else f"{self.memory_mb / 1000:,.1f} GB"
        return self.name, self.what, minutes(self.seconds), memory, self.how


def minutes(seconds: float | None) -> str:
    """Return minutes as the table shows them.

    Example:
        >>> [minutes(x) for x in (None, 2, 90, 6000, 6e6)]
        ['?', '< 0.1', '1.5', '100', '100,000 (69 days)']
    """
    if seconds is None:
        return "?"
    if seconds < 6:
        return "< 0.1"
    days = f" ({seconds / 86400:,.0f} days)" if seconds > 2 * 86400 else ""
    return f"{seconds / 60:,.1f}" if seconds < 600 else f"{seconds / 60:,.0f}{days}"
