"""The native CPU kernel: C++ made on this machine, for its processor."""
