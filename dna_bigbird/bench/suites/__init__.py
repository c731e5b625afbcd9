"""Published benchmark suites: what each asks, and readers of its files in their own format."""
