"""Activations by their name in the settings."""

from torch import nn

ACTIVATIONS = {
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),
    "gelu": nn.GELU,
    "relu": nn.ReLU,
}


def activation(name: str) -> nn.Module:
    """Return the activation 'gelu_tanh' (tanh approximation), 'gelu' (exact) or 'relu'.

    Raises:
        ValueError: If there is none of that name.

    Example:
        >>> activation("gelu_tanh")
        GELU(approximate='tanh')
    """
    if name not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {name!r}")
    return ACTIVATIONS[name]()
