"""What every input is: descriptions in `data_specs/`, downloading and verifying, assembly tables."""
