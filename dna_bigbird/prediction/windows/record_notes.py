"""What a user should know about the lengths of records, windows and strides of a run."""


class RecordNotes:
    """Counts the records that are shorter than the window of the model, and those with gaps.

    Args:
        window_bp, stride_bp: Of the run.
        model_bp: Bases of the model's windows; None for a model without a fixed window.
        unit: Name of the records.

    Example:
        >>> notes = RecordNotes(300, 300, model_bp=300)
        >>> for length in (300, 10, 700):
        ...     notes.count(length)
        >>> notes.lines()
        ["1 of 3 records are shorter than the model's window of 300 bp; each is one window of its own length, and the model was not tested on such"]
    """

    def __init__(
        self, window_bp: int, stride_bp: int, model_bp: int | None = None, unit: str = "records"
    ) -> None:
        self.window_bp, self.stride_bp = window_bp, stride_bp
        self.model_bp, self.unit = model_bp, unit
        self._records = self._short = self._gaps = 0

    def count(self, length_bp: int) -> None:
        """Add a record."""
        self._records += 1
        self._short += self.model_bp is not None and length_bp < self.model_bp
        # The last window is moved left, so up to two windows there is no gap.
        self._gaps += self.stride_bp > self.window_bp and length_bp > 2 * self.window_bp

    def lines(self) -> list[str]:
        """Return at most one line on short windows, and one on gaps."""
        lines = []
        if self.model_bp is not None and self.window_bp < self.model_bp:
            lines += short_window_notes(self.window_bp, self.model_bp)
        elif self._short:
            lines.append(
                f"{self._short:,} of {self._records:,} {self.unit} are shorter than the model's "
                f"window of {self.model_bp:,} bp; each is one window of its own length, and the model "
                "was not tested on such"
            )
        if self._gaps:
            lines.append(
                f"the stride of {self.stride_bp:,} bp is longer than the window of "
                f"{self.window_bp:,} bp: the bases between two windows are not read"
            )
        return lines


def short_window_notes(window_bp: int, model_bp: int) -> list[str]:
    """Return one line if all windows of a run are shorter than those of the model."""
    if window_bp >= model_bp:
        return []
    return [
        f"windows of {window_bp} bp are shorter than the model's window of {model_bp} bp; the model "
        "was not tested on such"
    ]
