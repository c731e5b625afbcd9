"""Results of benchmark suites as a page, a table and pictures."""
