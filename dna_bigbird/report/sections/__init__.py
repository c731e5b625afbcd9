"""What each section of the report shows; templates/ holds its markup and sentences."""
