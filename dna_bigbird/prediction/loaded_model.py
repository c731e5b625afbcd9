"""`load`: a model that is read once, with the functions that take a model as its methods."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.choice import load_models
from dna_bigbird.bundles.info import Description, describe
from dna_bigbird.bundles.model_options import ModelBundles
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.results import brief, html_facts, representation
from dna_bigbird.corpus.tokenizer_files import Tokenizer
from dna_bigbird.prediction.attribute import attribute
from dna_bigbird.prediction.embed import embed
from dna_bigbird.prediction.mutagenesis import mutagenesis
from dna_bigbird.prediction.predict import predict
from dna_bigbird.prediction.score_variants import score_variants
from dna_bigbird.training.finetune import finetune

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
ABOUT = """The function `{name}` with this model.

Arguments, results and errors are those of `dna_bigbird.{name}`, without {left_out}."""


def method_of(
    function: Callable[Arguments, Result],
    model: str = "model",
    *,
    without: Sequence[str] = (),
    single: bool = False,
) -> Callable[Concatenate["LoadedModel", Arguments], Result]:
    """Return a function as a method of `LoadedModel`, without arguments `model` and `without`."""
    # A type checker sees the model as an argument too, which Python has no type to leave out.
    left_out = (model, *without)
    own = inspect.signature(function)
    kept = [value for name, value in own.parameters.items() if name not in left_out]
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    signature = own.replace(parameters=[itself, *kept])
    rest = inspect.getfullargspec(inspect.unwrap(function)).varkw or ""
    call: Callable[..., Result] = function

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Result:
        try:
            arguments = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{function.__name__}() {error}") from None
        loaded = arguments.pop("self")
        further = arguments.pop(rest, {})
        bundles = loaded.single(function.__name__) if single else loaded.bundles
        return call(**arguments, **further, **{model: bundles})

    method.__signature__ = signature  # type: ignore[attr-defined]
    names = " and ".join(f"`{name}`" for name in left_out)
    method.__doc__ = ABOUT.format(name=function.__name__, left_out=names)
    method.__qualname__ = f"LoadedModel.{function.__name__}"
    return method


class LoadedModel:
    """A model, or several whose probabilities are averaged, in memory.

    Args:
        bundles: At least one; several have the same labels.

    Raises:
        InputError: If the labels of several differ.
    """

    def __init__(self, bundles: Sequence[Bundle]) -> None:
        self.bundles = list(bundles)
        if len(self.bundles) > 1:
            from dna_bigbird.prediction.predictor import check_together  # imports torch: seconds

            check_together(self.bundles)

    predict = method_of(predict)
    embed = method_of(embed, single=True)
    score_variants = method_of(score_variants)
    mutagenesis = method_of(mutagenesis)
    attribute = method_of(attribute)
    finetune = method_of(finetune, "pretrained", without=["tokenizer"], single=True)

    @property
    def labels(self) -> list[str]:
        """Names of the labels; none of a pretrained model."""
        return list(self.bundles[0].config.label_names)

    @property
    def window(self) -> int | None:
        """Base pairs that the model was trained to read at once; None if it names none."""
        return self.bundles[0].config.window_bp

    @property
    def task(self) -> str:
        """What the model was trained for: 'promoter', 'chromatin', 'pretraining' or another task."""
        return self.bundles[0].config.task

    @property
    def tokenizer(self) -> Tokenizer:
        """Tokenizer of the model, of the first one if there are several."""
        return self.bundles[0].tokenizer

    def single(self, purpose: str) -> Bundle:
        """Return the only bundle."""
        if len(self.bundles) > 1:
            raise InputError(
                f"{purpose} takes a single model, and {len(self.bundles)} are loaded; load one of them"
            )
        return self.bundles[0]

    def info(self) -> Description:
        """Return settings, scores and card, as `dna-bigbird info`; of several one after the other."""
        return describe(self.bundles)

    def summary(self) -> str:
        """Return a line per model: folder, task, labels, window and size."""
        return "\n".join(map(_line, self.bundles))

    def __repr__(self) -> str:
        folders = (brief(bundle.folder) for bundle in self.bundles)
        return representation(
            self, *folders, task=self.task, labels=self.labels, window=self.window
        )

    def _repr_html_(self) -> str:
        facts = {"task": self.task, "labels": brief(self.labels), "window": brief(self.window)}
        return html_facts(self, facts, self.summary())


@checked()
def load(model: ModelBundles | None = None) -> LoadedModel:
    """Load a model once, for many calls.

    Args:
        model: Model bundle: a folder, a name such as `bundled-tata`, or a loaded bundle; several are averaged.
            Default: the bundled model.

    Returns:
        An object with the functions `predict`, `embed`, `score_variants`, `mutagenesis`, `attribute` and `finetune` as
        methods. Their results are those of the functions; a note that no model was named is left out.

    Raises:
        InputError: As `load_bundle`, or if the labels of several models differ.

    Example:
        >>> model = load()
        >>> model.task, model.labels, model.window
        ('promoter', ['promoter'], 300)
        >>> len(model.predict(sequences=["ACGT" * 75, "TATA" * 75]))
        2
    """
    bundles = load_models(model)
    if not bundles:
        raise InputError("model=[]: names no model; leave it out for the bundled model")
    return LoadedModel(bundles)


def _line(bundle: Bundle) -> str:
    config = bundle.config
    numbers = sum(weights.numel() for weights in bundle.model.parameters())
    count = len(config.label_names)
    parts = [config.task, f"{count:,} label{'' if count == 1 else 's'}"]
    parts += [f"windows of {config.window_bp:,} bp"] if config.window_bp else []
    return f"{bundle.folder}: {', '.join([*parts, f'{numbers / 1e6:.1f} M parameters'])}"
