"""Windows of DNA to be scored: how sequences are cut, and the inputs that windows come from."""
