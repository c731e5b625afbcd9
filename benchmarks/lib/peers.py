"""The peers of the benchmarks, made at run time from the installed libraries; no code is copied.

* `dense`: PyTorch's fused `scaled_dot_product_attention` over all keys, without a mask; which
  kernel runs is PyTorch's choice. `flash`: the same with the flash kernel demanded, on a GPU.
* `hf`: BigBird's block-sparse attention of the library transformers as shipped, with its masks. In
  training it draws its random blocks again in every call, as shipped.
* `hf-strip`: the same function without its tail, which assembles a dense probability tensor of
  length² that nothing but a curious reader uses. The tail is cut from the function's syntax tree
  (`without_probabilities`), the rest is compiled unchanged in the library's own namespace.
"""

# B batch, H heads, T tokens, D head dimension

import ast
import inspect
import textwrap
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

FUNCTION = "bigbird_block_sparse_attention"
LOOKS = ("dtype", "device", "shape")
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


class UnavailableError(RuntimeError):
    """This peer cannot run here; the message says why."""


class Shape(NamedTuple):
    """What attention alone is given; the batch, heads and tokens of q, k and v."""

    batch: int
    heads: int
    tokens: int
    head_dim: int
    block_size: int
    num_random: int


def library() -> types.ModuleType:
    """Return the library's module with BigBird.

    Raises:
        UnavailableError: If the library is not installed.
    """
    try:
        from transformers.models.big_bird import modeling_big_bird
    except ImportError as error:
        raise UnavailableError(f"pip install transformers ({error})") from None
    return modeling_big_bird


def without_probabilities(source: str) -> ast.Module:
    """Return the function of `source` without the tail that only feeds its second result.

    The function must assign `attention_probs = torch.zeros(...)` once, in its outermost body, and
    end with `return context_layer, attention_probs`. What is between is dropped and the second
    result becomes None. Line numbers stay, so that a traceback points to the library's file.

    Raises:
        UnavailableError: If the function has another shape, or the tail touches the first result.
    """
    tree = ast.parse(source)
    body = tree.body[0].body if isinstance(tree.body[0], ast.FunctionDef) else []
    starts = [
        i
        for i, statement in enumerate(body)
        if isinstance(statement, ast.Assign)
        and ast.unparse(statement.targets[0]) == "attention_probs"
        and ast.unparse(statement.value).startswith("torch.zeros(")
    ]
    last = body[-1] if body else None
    if len(starts) != 1 or not isinstance(last, ast.Return) or last.value is None:
        raise UnavailableError(f"{FUNCTION} of this transformers has no tail to cut; 5.23 has")
    if ast.unparse(last.value) != "(context_layer, attention_probs)":
        raise UnavailableError(f"{FUNCTION} of this transformers ends with `{ast.unparse(last)}`")
    for statement in body[starts[0] : -1]:
        parts = list(ast.walk(statement))
        # Reading `context_layer.dtype` is harmless; assigning it or calling a method is not.
        harmless = [p.value for p in parts if isinstance(p, ast.Attribute) and p.attr in LOOKS]
        results = [p for p in parts if isinstance(p, ast.Name) and p.id == "context_layer"]
        if any(name not in harmless for name in results):
            raise UnavailableError(
                f"the tail of {FUNCTION} uses its first result: `{ast.unparse(statement)}`"
            )
    assert isinstance(last.value, ast.Tuple)
    last.value.elts[1] = ast.copy_location(ast.Constant(None), last.value.elts[1])
    del body[starts[0] : -1]
    return tree


def stripped_function() -> Callable[..., tuple[Tensor, None]]:
    """Return the library's attention function without its probability tensor.

    Raises:
        UnavailableError: If the library is missing or its function has another shape.
    """
    module = library()
    shipped = getattr(module.BigBirdBlockSparseAttention, FUNCTION)
    lines, first_line = inspect.getsourcelines(shipped)
    tree = without_probabilities(textwrap.dedent("".join(lines)))
    ast.increment_lineno(tree, first_line - 1)
    namespace: dict[str, Any] = {}
    exec(compile(tree, module.__file__ or "transformers", "exec"), vars(module), namespace)
    return namespace[FUNCTION]


def strip(model: nn.Module) -> nn.Module:
    """Give every block-sparse attention inside `model` the stripped function; return `model`."""
    function = stripped_function()
    module_type = library().BigBirdBlockSparseAttention
    for part in model.modules():
        if isinstance(part, module_type):
            setattr(part, FUNCTION, types.MethodType(function, part))
    return model


def library_attention(
    shape: Shape, dtype: torch.dtype, device: str, *, training: bool, stripped: bool
) -> Attention:
    """Return the library's attention on q, k, v (B, H, T, D); the masks are made here, once.

    Raises:
        UnavailableError: If the library is missing, or would not attend block by block at this
            length.
    """
    module = library()
    B, H, T, D, S, num_random = shape
    if T % S:
        raise UnavailableError(f"the library takes whole blocks of {S} only")
    if (5 + 2 * num_random) * S >= T:
        raise UnavailableError("the library switches to full attention at this length")
    config = module.BigBirdConfig(
        hidden_size=H * D,
        num_attention_heads=H,
        block_size=S,
        num_random_blocks=num_random,
        max_position_embeddings=max(T, 4096),
    )
    attention = module.BigBirdBlockSparseAttention(config, seed=0).train(training)
    if stripped:
        strip(attention)
    is_real = torch.ones(B, T, device=device)
    blocked, *others = module.BigBirdModel.create_masks_for_block_sparse_attn(is_real, S)
    band, from_mask, to_mask = (mask.to(dtype) for mask in others)  # as its layers do

    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        masks = (band, from_mask, to_mask, blocked, blocked)
        sizes = (H, num_random, D, S, S, B, T, T)
        out_BTHD, _ = getattr(attention, FUNCTION)(q, k, v, *masks, *sizes, 0, None, None)
        return out_BTHD.transpose(1, 2)

    return call


def _flash(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v)


ATTENTION_PEERS = ("dense", "flash", "hf", "hf-strip")


def attention(
    name: str, shape: Shape, dtype: torch.dtype, device: str, *, training: bool
) -> Attention:
    """Return the peer `name` as a function of q, k, v (B, H, T, D).

    Raises:
        UnavailableError: If it cannot run here.
        ValueError: If there is no such peer.
    """
    if name == "dense":
        return F.scaled_dot_product_attention
    if name == "flash":
        if device != "cuda":
            raise UnavailableError("the flash kernel can be demanded on a GPU only; see dense")
        return _flash
    if name not in ATTENTION_PEERS:
        raise ValueError(f"peer must be one of {', '.join(ATTENTION_PEERS)}; got {name!r}")
    return library_attention(shape, dtype, device, training=training, stripped=name == "hf-strip")


def library_model(*, stripped: bool = False, **settings: Any) -> nn.Module:
    """Return the library's pretraining model with fresh weights, as shipped or stripped.

    Args:
        settings: Of its `BigBirdConfig`.

    Raises:
        UnavailableError: If the library is missing or its function has another shape.
    """
    module = library()
    model = module.BigBirdForPreTraining(module.BigBirdConfig(**settings))
    return strip(model) if stripped else model
