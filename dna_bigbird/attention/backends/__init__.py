"""How a pattern is computed: the same result, other costs."""
