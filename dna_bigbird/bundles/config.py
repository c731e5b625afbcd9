"""Settings of a bundle: config.json with types. Read without torch."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Annotated, Any, Literal

from dna_bigbird.bundles import text_tasks
from dna_bigbird.bundles.seen_regions import PRETRAINING, SeenRegions
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.results import representation
from dna_bigbird.core.settings import Count, Range, Seed
from dna_bigbird.core.writing import json_text
from dna_bigbird.models.config import PRETRAINING_HEADS, EncoderConfig, HeadConfig
from dna_bigbird.models.kmer_config import KmerHeadConfig
from dna_bigbird.models.label_types import RECORDED, label_type_of
from dna_bigbird.models.read_text import CopiesConfig
from dna_bigbird.models.scaling import Scaling
from dna_bigbird.models.stored_settings import typed_value

FORMAT_VERSION = 1
LABEL_TYPES_VERSION = 2
"""Of bundles with classes or targets, which programs that know version 1 would take for labels."""
MAX_WINDOW_BP = 100_000_000
"""Windows are kept in memory."""


@dataclass(frozen=True)
class StoredTraining:
    """How a model was trained, as far as cards and reports say it; None is unknown."""

    max_steps: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    warmup_steps: int | None = None
    positive_weight: float | None = None


@dataclass(frozen=True)
class MemberModel:
    """One model of an ensemble."""

    sha256: str = ""
    """Of its weights."""
    seed: Seed | None = None
    chosen_step: int | None = None
    initial_weights: str | None = None
    words: KmerHeadConfig | None = None
    """Its k-mer counts, if those of the members differ."""


@dataclass(frozen=True, eq=False)
class BundleConfig(Mapping[str, Any]):
    """The settings in config.json of a bundle; None where the file has no value.

    `config["label_names"]` and `config.get("label_names")` return the value as in the file. They are
    for callers of earlier versions and go after one release; use the fields.

    Example:
        >>> config = BundleConfig.from_json({"task": "pretraining", "encoder": {"num_layers": 2}})
        >>> config.encoder.num_layers, config.window_bp
        (2, None)
    """

    task: str
    encoder: EncoderConfig
    head: Any = None
    """Settings of the task's head, `HeadConfig` for labels of DNA; None of a pretrained model."""
    words: KmerHeadConfig | None = None
    """k-mers whose counts add to the logits; None: none, or other ones in each member of an ensemble."""
    heads: list[str] = field(default_factory=lambda: list(PRETRAINING_HEADS))
    """Heads of a pretrained model."""
    copies: CopiesConfig | None = None
    """What a pretrained model copies from the text that it was trained on; None: nothing."""
    options: Any = None
    """Options of a text task."""
    label_names: list[str] = field(default_factory=list)
    label_groups: list[str] = field(default_factory=list)
    label_type: str = ""
    """One of `label_types.LABEL_TYPES`; a file names it for classes and targets only."""
    target_means: list[float] = field(default_factory=list)
    """Of targets: mean over the training rows, in the target's unit."""
    target_stds: list[float] = field(default_factory=list)
    """Of targets: standard deviation over the training rows."""
    calibration: Scaling | None = None
    """Correction of the probabilities; None: none, as in bundles of older versions."""
    window_bp: Annotated[int, Range(1, most=MAX_WINDOW_BP)] | None = None
    bin_bp: Count | None = None
    """Labelled bases in the middle of the window; 0 or None: the whole window."""
    assembly: str | None = None
    negatives: str | None = None
    """How negatives were made, separated by commas."""
    semi_synthetic: bool = False
    search: list[dict[str, Any]] = field(default_factory=list)
    """Recipes that were tried on the validation rows, with their scores; empty without a search."""
    directional: bool = False
    """Whether the labels belong to one strand; False in bundles of older versions."""
    anchor_bp: Count | None = None
    """Bases before the start site, or another anchor, in every training window, as its strand reads; None: unknown."""
    reads: str = "dna"
    """What its vocabulary is made for: 'dna' or 'text'."""
    set_name: str | None = None
    """Text set, `set` in the file."""
    seed: Seed | None = None
    initial_weights: str | None = None
    chosen_step: int | None = None
    examples_per_step: int | None = None
    bp_per_token: float | None = None
    tokens_per_example: float | None = None
    """Tokens that a pretraining example has on average; None in bundles of older versions."""
    training: StoredTraining = field(default_factory=StoredTraining)
    masking: dict[str, Any] = field(default_factory=dict)
    """Settings of `corpus.masking.MaskingConfig`."""
    objective: dict[str, Any] = field(default_factory=dict)
    """Settings of `training.objective_config.ObjectiveConfig`; empty in bundles of older versions."""
    members: Annotated[int, Range(2)] | None = None
    """Number of models in an ensemble; None of a single model."""
    member_models: list[MemberModel] = field(default_factory=list)
    lengthened: list[dict[str, Any]] = field(default_factory=list)
    """Each extension of the context: `from_max_tokens`, `positions`."""
    regions_read: list[SeenRegions] | None = None
    """What the model read of a genome, training by training; None is unknown."""
    license: str | None = None
    """Licence that `models add --license` recorded; None is unknown."""
    n_sequences_read: Count = 0
    """Hashes of sequences without coordinates in `sequences_read.safetensors`; 0: there is no such file."""
    huggingface: dict[str, Any] | None = None
    """Settings of the library that have no counterpart here; None if not converted from there."""
    format_version: int = FORMAT_VERSION
    dna_bigbird_version: str = "unknown"
    sha256: dict[str, str] | None = None
    """Of weights and tokenizer; None in bundles of older versions."""
    stored: dict[str, Any] = field(default_factory=dict, repr=False)
    """All keys and values of the file in its order, unknown ones included."""

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "BundleConfig":
        """Return the typed settings of a JSON object, by the keys of config.json in their order.

        Raises:
            ValueError: If task or encoder is missing, or a value is not of the type of its field.
        """
        if isinstance(values, cls):
            return values
        stored = {key: _plain(value) for key, value in values.items()}
        for key in ("task", "encoder"):
            if stored.get(key) is None:
                raise ValueError(f"{key} is missing")
        types = _settings_types(typed_value("task", stored["task"], str))
        known = {}
        for name, hint in ({each.name: each.type for each in fields(cls)} | types).items():
            key = KEYS.get(name, name)
            if name != "stored" and stored.get(key) is not None:
                known[name] = typed_value(key, stored[key], hint, ignore_unknown=name not in types)
        known["label_type"] = label_type_of(known.get("label_type"), known.get("label_names", []))
        return cls(**known, stored=stored)

    def with_values(self, **changes: Any) -> "BundleConfig":
        """Return the settings with other values, by their keys in the file; new keys come last."""
        return self.from_json(self.stored | changes)

    def to_json(self) -> str:
        """Return the text of config.json."""
        return json_text(self.stored)

    @property
    def is_pretrained_only(self) -> bool:
        """True if the model has no head of a task."""
        return self.task == PRETRAINING

    @property
    def has_counts(self) -> bool:
        """True if k-mer counts add to the logits, or to those of a member."""
        return self.words is not None or any(x.words for x in self.member_models)

    @property
    def default_strand(self) -> Literal["both", "forward"]:
        """The strands to read where none are asked for: those of training and card."""
        return "forward" if self.directional else "both"

    @property
    def is_aligned(self) -> bool:
        """True if the anchor of the label was at the same base of every training window."""
        counts = (self.words, *(member.words for member in self.member_models))
        return self.anchor_bp is not None or any(each and each.positions for each in counts)

    @property
    def alignment(self) -> str:
        """On what the training windows are aligned, in words."""
        where = "one base" if self.anchor_bp is None else f"base {self.anchor_bp + 1:,}"
        return f"{where} of {self.window_bp:,}"

    def anchor_in(self, window_bp: int) -> int:
        """Return the 0-based position that offsets count from: the anchor, or the middle if it is unknown.

        Raises:
            InputError: If the model is aligned and its windows have another length.
        """
        if self.is_aligned and window_bp != self.window_bp:
            raise InputError(
                f"--window {window_bp}: this model was trained on windows aligned on {self.alignment}; leave it out"
            )
        return window_bp // 2 if self.anchor_bp is None else self.anchor_bp

    @property
    def needed_version(self) -> int:
        """The format version that a file of these settings has."""
        return LABEL_TYPES_VERSION if self.label_type in RECORDED else FORMAT_VERSION

    @property
    def is_text_task(self) -> bool:
        """True if the model was fine-tuned on a text task."""
        return self.task in text_tasks.tasks()

    def __repr__(self) -> str:
        facts = ("task", "label_names", "window_bp", "bin_bp", "assembly", "members", "set_name")
        encoder = f"{self.encoder.num_layers} layers of {self.encoder.hidden_size}"
        return representation(
            self,
            **{name: value for name in facts if (value := getattr(self, name)) not in (None, [])},
            encoder=f"{encoder}, {self.encoder.max_tokens:,} tokens",
            vocab_size=self.encoder.vocab_size,
        )

    def __getitem__(self, key: str) -> Any:
        return self.stored[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    def __or__(self, changes: Mapping[str, Any]) -> "BundleConfig":
        return self.with_values(**changes)


KEYS = {"set_name": "set"}
"""Fields whose key in the file is another one."""


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _settings_types(task: str) -> dict[str, type]:
    """Return the types of the settings that a model of a task is built from."""
    if task in text_tasks.tasks():
        described = text_tasks.describe(task)
        own = {"head": described.head_type(), "options": described.options}
    else:
        own = {} if task == PRETRAINING else {"head": HeadConfig, "words": KmerHeadConfig}
    return {"encoder": EncoderConfig} | own
