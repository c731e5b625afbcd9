"""Settings of a training on a labelled set; what is not given is chosen for the set."""

from dataclasses import asdict, dataclass, replace

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import optional
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.models.train_config import TrainConfig

MOST_STEPS = 20_000
USUAL_VALIDATE_EVERY = 100
WARMUP_SHARE = 0.1
CENTRE_BINS = 3
PART_BP, MOST_PARTS = 5, 60
"""Of windows whose labels are about the whole window: a part is about as long as a core motif."""


@dataclass(frozen=True)
class Recipe:
    """What is chosen where no learning rate is given."""

    passes: float
    """Over the training rows; the steps are rounded up to a multiple of `validations`."""
    fewest_steps: int
    validations: int
    settings: dict[str, object]


GENERAL = Recipe(
    passes=0.25,
    fewest_steps=120,
    validations=4,
    settings={"learning_rate": 3e-4, "head_learning_rate": 1e-2, "start_at_base_rates": True},
)
"""Measured on bins with peaks: docs/tutorials/your-peaks.md."""
SEQUENCES = Recipe(
    passes=1.0,
    fewest_steps=200,
    validations=8,
    settings={
        "batch_size": 64,
        "optimizer": "muon",
        "muon_learning_rate": 0.005,
        "learning_rate": 0.002,
        "weight_decay": 0.1,
        "gradient_clip": 1.0,
    },
)
"""For whole windows on single bases, measured on promoters: docs/how-to/fine-tune.md."""
BINS = Recipe(
    passes=0.125,
    fewest_steps=60,
    validations=2,
    settings={"learning_rate": 1e-4, "start_at_probe": True},
)
"""For bins on single bases: docs/tutorials/your-peaks.md."""


def recipe_for(*, bin_bp: int, bp_per_token: float, trains_layers: bool = True) -> Recipe:
    """Return the recipe for a labelled set; Muon needs matrices of layers that are trained."""
    if not of_single_bases(bp_per_token):
        return GENERAL
    if bin_bp:
        return BINS
    return SEQUENCES if trains_layers else GENERAL


OR_RECIPE = ", or as `learning_rate` says."


@optional(
    TrainConfig,
    {
        "max_steps": "If not given: by the number of training rows and the recipe, from 60 to 20,000.",
        "batch_size": f"If not given: 32{OR_RECIPE}",
        "learning_rate": "If not given, a recipe for the set is chosen (docs/how-to/fine-tune.md): this rate, and each "
        "other setting that is not given.",
        "optimizer": f"If not given: adamw{OR_RECIPE}",
        "muon_learning_rate": f"If not given: 0.01{OR_RECIPE}",
        "weight_decay": f"If not given: 0.01{OR_RECIPE}",
        "gradient_clip": f"If not given: 0{OR_RECIPE}",
        "warmup_steps": f"If not given: 0{OR_RECIPE}",
        "validate_every": "If not given: 100, or about a quarter of `max_steps` if that is not given or not a multiple "
        "of 100.",
        "head_learning_rate": f"If not given: 0{OR_RECIPE}",
        "both_strands": "If not given: true, but for windows without labelled bins, if no `learning_rate` is given, as "
        "the validation rows say (docs/how-to/fine-tune.md).",
        "start_at_base_rates": f"If not given: false{OR_RECIPE}",
        "start_at_probe": f"If not given: false{OR_RECIPE}",
    },
)
class LabelTrainConfig(TrainConfig):
    """How a model is trained on a labelled set; what is not given is chosen for the set."""

    def __post_init__(self) -> None:
        check_fields(self)
        # Checks what is given; TrainConfig has no gaps, so these are filled with what fits all.
        steps = self.max_steps or 2**30 * (self.validate_every or 1)
        TrainConfig(**{"max_steps": steps, "validate_every": 1} | _given(self))

    @property
    def has_gaps(self) -> bool:
        """True if `for_rows` chooses the steps or the rates."""
        return self.max_steps is None or self.learning_rate is None

    def for_rows(self, rows: int, recipe: Recipe = GENERAL) -> TrainConfig:
        """Return settings without gaps for so many training rows.

        Example:
            >>> chosen = LabelTrainConfig().for_rows(13_176)
            >>> chosen.max_steps, chosen.validate_every, chosen.warmup_steps, chosen.learning_rate
            (120, 30, 12, 0.0003)
            >>> given = LabelTrainConfig(max_steps=300, learning_rate=0.001).for_rows(13_176)
            >>> given.validate_every, given.warmup_steps, given.head_learning_rate
            (100, 0, 0.0)
        """
        if self.learning_rate is not None:
            recipe = replace(GENERAL, settings={})
        steps = self.max_steps or self._steps(rows, recipe)
        chosen = {"max_steps": steps, "validate_every": self._validate_every(steps, recipe)}
        if self.learning_rate is None:
            chosen["warmup_steps"] = int(steps * WARMUP_SHARE)
        return TrainConfig(**recipe.settings | chosen | _given(self))

    def _steps(self, rows: int, recipe: Recipe) -> int:
        usual = recipe.settings.get("batch_size", TrainConfig.batch_size)
        per_step = (self.batch_size or usual) * self.accumulate * self.processes
        steps = min(max(int(recipe.passes * rows) // per_step, recipe.fewest_steps), MOST_STEPS)
        multiple = self.validate_every or recipe.validations
        return -(-steps // multiple) * multiple

    def _validate_every(self, steps: int, recipe: Recipe) -> int:
        if self.max_steps and steps % USUAL_VALIDATE_EVERY == 0:
            return USUAL_VALIDATE_EVERY
        most = max(1, steps // recipe.validations)
        return next(number for number in range(most, 0, -1) if steps % number == 0)


@optional(
    HeadConfig,
    {
        "pooling": "If not given: 'parts' with tokens of one base, else 'centre' for a set of bins and 'mean' for others.",
        "centre_tokens": "If not given: as many as three bins have on average.",
        "parts": "If not given: as long as a bin; without bins 5 bp, but at most 60 parts.",
        "reach_tokens": "If not given: as many as half a window has on average.",
        "bin_bp": "If not given: those of the set's bins, or 200.",
    },
)
class LabelHeadConfig(HeadConfig):
    """How labels are read off the encoder; what is not given is chosen for the set."""

    def __post_init__(self) -> None:
        HeadConfig(**_given(self))  # checks what is given

    def for_set(self, *, bin_bp: int, bp_per_token: float, window_bp: int = 0) -> HeadConfig:
        """Return settings without gaps for a set; `bin_bp` and `window_bp` are 0 for none.

        Example:
            >>> LabelHeadConfig().for_set(bin_bp=200, bp_per_token=4.0).centre_tokens
            150
            >>> LabelHeadConfig().for_set(bin_bp=0, bp_per_token=4.0).pooling
            'mean'
            >>> head = LabelHeadConfig().for_set(bin_bp=0, bp_per_token=1.0, window_bp=200)
            >>> head.pooling, head.parts
            ('parts', 40)
        """
        usual = "centre" if bin_bp else "mean"
        chosen: dict[str, object] = {"pooling": "parts" if of_single_bases(bp_per_token) else usual}
        if window_bp and "parts" in (self.pooling, chosen["pooling"]):
            parts = round(window_bp / (bin_bp or PART_BP))
            chosen["parts"] = min(MOST_PARTS, max(1, parts))
        if bin_bp:
            chosen["bin_bp"] = bin_bp
            chosen["centre_tokens"] = max(1, round(CENTRE_BINS * bin_bp / bp_per_token))
        if window_bp and self.pooling == "attention":
            chosen["reach_tokens"] = max(1, round(window_bp / 2 / bp_per_token))
        head = HeadConfig(**chosen | _given(self))
        if head.bins_at_once and head.bin_bp != bin_bp:
            has = f"has bins of {bin_bp} bp, not of {head.bin_bp}" if bin_bp else "has no bins"
            raise ValueError(f"--head.bins_at_once true: the set {has}")
        return head


def of_single_bases(bp_per_token: float) -> bool:
    """Return True if nearly all tokens of windows are one base; [CLS] and [SEP] have none."""
    return bp_per_token <= 1


def _given(settings: object) -> dict[str, object]:
    return {name: value for name, value in asdict(settings).items() if value is not None}
