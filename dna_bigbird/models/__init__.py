"""Encoder, heads and their settings: tensors in, tensors out."""
