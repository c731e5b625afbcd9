"""The pictures, each a function from rows of results to a matplotlib figure."""
