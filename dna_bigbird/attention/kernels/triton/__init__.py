"""The block-sparse attention kernels of our own for GPUs, in Triton."""
