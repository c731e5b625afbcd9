"""Settings of a training on a labelled set; what is not given is chosen for the set."""

from dataclasses import asdict, dataclass
from typing import Literal

from dna_bigbird.choices import check_fields
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.tasks.config import TrainConfig

PASSES = 0.25
"""Over the training rows."""
FEWEST_STEPS, MOST_STEPS = 120, 20_000
VALIDATIONS = 4
USUAL_VALIDATE_EVERY = 100
ENCODER_RATE, HEAD_RATE = 3e-4, 1e-2
WARMUP_SHARE = 0.1
CENTRE_BINS = 3


@dataclass(frozen=True)
class LabelTrainConfig(TrainConfig):
    """How a model is trained on a labelled set; what is not given is chosen for the set."""

    max_steps: int | None = None
    """Optimizer steps of the whole run. If not given: a quarter of a pass over the training
    rows, but at least 120 steps and at most 20,000."""
    learning_rate: float | None = None
    """Largest learning rate, reached at the end of the warm-up. If not given: 3e-4, and then
    `head_learning_rate` 0.01, `start_at_base_rates` true and `warmup_steps` a tenth of the steps unless
    these are given."""
    warmup_steps: int | None = None
    """Steps over which the learning rate rises from 0; afterwards it follows `schedule`. If not given: 0,
    or as `learning_rate` says."""
    validate_every: int | None = None
    """Optimizer steps between two validations; divides `max_steps`, so the last step is validated. If not
    given: 100, or about a quarter of `max_steps` if that is not given or not a multiple of 100."""
    head_learning_rate: float | None = None
    """Largest learning rate of the layers on top of the encoder; 0: `learning_rate` there too. If not given:
    0, or as `learning_rate` says."""
    start_at_base_rates: bool | None = None
    """Begin with a last layer that gives every label its share in the training rows. If not given: false,
    or as `learning_rate` says."""

    def __post_init__(self) -> None:
        check_fields(self)
        # Checks what is given; TrainConfig has no gaps, so these are filled with what fits all.
        steps = self.max_steps or 2**30 * (self.validate_every or 1)
        TrainConfig(**{"max_steps": steps, "validate_every": 1} | _given(self))

    @property
    def has_gaps(self) -> bool:
        """True if `for_rows` chooses the steps or the rates."""
        return self.max_steps is None or self.learning_rate is None

    def for_rows(self, rows: int) -> TrainConfig:
        """Return settings without gaps for so many training rows.

        Raises:
            ValueError: If given settings contradict chosen ones.

        Example:
            >>> chosen = LabelTrainConfig().for_rows(13_176)
            >>> chosen.max_steps, chosen.validate_every, chosen.warmup_steps, chosen.learning_rate
            (120, 30, 12, 0.0003)
            >>> given = LabelTrainConfig(max_steps=300, learning_rate=0.001).for_rows(13_176)
            >>> given.validate_every, given.warmup_steps, given.head_learning_rate
            (100, 0, 0.0)
        """
        steps = self.max_steps or self._steps(rows)
        chosen = {"max_steps": steps, "validate_every": self._validate_every(steps)}
        if self.learning_rate is None:
            chosen |= {
                "learning_rate": ENCODER_RATE,
                "head_learning_rate": HEAD_RATE,
                "start_at_base_rates": True,
                "warmup_steps": int(steps * WARMUP_SHARE),
            }
        return TrainConfig(**chosen | _given(self))

    def _steps(self, rows: int) -> int:
        per_step = self.batch_size * self.accumulate * self.processes
        steps = min(max(int(PASSES * rows) // per_step, FEWEST_STEPS), MOST_STEPS)
        multiple = self.validate_every or VALIDATIONS
        return -(-steps // multiple) * multiple

    def _validate_every(self, steps: int) -> int:
        if self.max_steps and steps % USUAL_VALIDATE_EVERY == 0:
            return USUAL_VALIDATE_EVERY
        most = max(1, steps // VALIDATIONS)
        return next(number for number in range(most, 0, -1) if steps % number == 0)


@dataclass(frozen=True)
class LabelHeadConfig(HeadConfig):
    """How labels are read off the encoder; what is not given is chosen for the set."""

    pooling: Literal["cls", "mean", "centre", "parts", "attention"] | None = None
    """How the tokens of a window become a vector: 'cls' reads the first token through a dense layer
    with `activation`, 'mean' and 'centre' average all real tokens or those in the middle of the window,
    where the labelled bin is; 'parts' averages each of so many equal parts of the window, so that it
    sees where something is; 'attention' adds to the middle what it reads from the whole window, by content
    and distance (docs/long-range.md). If not given: 'centre' for a set of bins, else 'mean'."""
    centre_tokens: int | None = None
    """Tokens in the middle that 'centre' and 'attention' average. If not given: as many as three bins
    have on average."""
    reach_tokens: int | None = None
    """Distance from the middle up to which 'attention' distinguishes distances. If not given: as many
    as half a window has on average."""

    def __post_init__(self) -> None:
        HeadConfig(**_given(self))  # checks what is given

    def for_set(self, *, bin_bp: int, bp_per_token: float, window_bp: int = 0) -> HeadConfig:
        """Return settings without gaps for a set.

        Args:
            bin_bp: Labelled bases in the middle of the window; 0: the whole window.
            bp_per_token: Base pairs of a token, on average.
            window_bp: Length of a window, for `reach_tokens` of 'attention'; 0: its plain default.

        Example:
            >>> LabelHeadConfig().for_set(bin_bp=200, bp_per_token=4.0).centre_tokens
            150
            >>> LabelHeadConfig().for_set(bin_bp=0, bp_per_token=4.0).pooling
            'mean'
        """
        chosen: dict[str, object] = {"pooling": "centre" if bin_bp else "mean"}
        if bin_bp:
            chosen["centre_tokens"] = max(1, round(CENTRE_BINS * bin_bp / bp_per_token))
        if window_bp and self.pooling == "attention":
            chosen["reach_tokens"] = max(1, round(window_bp / 2 / bp_per_token))
        return HeadConfig(**chosen | _given(self))


def _given(settings: object) -> dict[str, object]:
    return {name: value for name, value in asdict(settings).items() if value is not None}
