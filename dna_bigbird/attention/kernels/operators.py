"""What our operators of PyTorch share: schema, gradients and fake implementations.

So torch.compile, checkpointing and autocast around them work. Two derivatives are not possible.
"""

from collections.abc import Callable

import torch
from torch import Tensor

# B batch, H heads, T tokens, D head dimension


def define_operator(
    name: str,
    reads: str,
    devices: str | tuple[str, ...],
    forward: Callable[..., tuple[Tensor, Tensor]],
    backward: Callable[..., tuple[Tensor, Tensor, Tensor]],
    empty: Callable[[Tensor], tuple[Tensor, Tensor]],
) -> None:
    """Define `dna_bigbird::NAME` of q, k, v and what it `reads`, tensors first, and its backward."""
    operator, reads = f"dna_bigbird::{name}", f"Tensor q, Tensor k, Tensor v, {reads}"
    num_inputs, num_tensors = reads.count(",") + 1, reads.count("Tensor")
    results = "Tensor out, Tensor log2_sum_exp"
    saved = reads.replace("Tensor v", f"Tensor v, {results}")
    torch.library.define(operator, f"({reads}) -> (Tensor, Tensor)")
    torch.library.define(
        f"{operator}_backward", f"(Tensor grad, {saved}) -> (Tensor, Tensor, Tensor)"
    )
    torch.library.impl(operator, devices, forward)
    torch.library.impl(f"{operator}_backward", devices, backward)
    torch.library.register_fake(operator, lambda q, *_: empty(q))
    torch.library.register_fake(f"{operator}_backward", lambda _, q, *__: empty_gradients(q))

    def keep(ctx, inputs, output) -> None:
        ctx.settings = inputs[num_tensors:]
        ctx.save_for_backward(*inputs[:3], *output, *inputs[3:num_tensors])
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    def differentiate(ctx, grad, _):
        if grad is None:
            return (None,) * num_inputs
        of_operator = getattr(torch.ops.dna_bigbird, f"{name}_backward")
        grads = of_operator(grad, *ctx.saved_tensors, *ctx.settings)
        return *grads, *(None,) * (num_inputs - 3)

    torch.library.register_autograd(operator, differentiate, setup_context=keep)


def empty_results(q: Tensor) -> tuple[Tensor, Tensor]:
    """Return room for the output and the log-sum-exp of the scores to base 2 (B, H, T)."""
    B, H, T, D = q.shape
    # In memory as (B, T, H, D), which the projection after it wants.
    return q.new_empty(B, T, H, D).transpose(1, 2), q.new_empty(B, H, T, dtype=torch.float32)


def empty_gradients(q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return room for the gradients of q, k and v."""
    q_grad, k_grad, v_grad = (q.new_empty(q.shape) for _ in range(3))
    return q_grad, k_grad, v_grad
