"""Pictures drawn from arrays, and the style of all pictures."""
