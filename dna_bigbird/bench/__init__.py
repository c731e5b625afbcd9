"""`dna-bigbird bench`: published benchmark suites, each task with its baselines and a leak-free score."""
