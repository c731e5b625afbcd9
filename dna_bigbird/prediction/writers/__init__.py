"""Files of predictions and vectors, one module per format; `target` chooses among them."""
