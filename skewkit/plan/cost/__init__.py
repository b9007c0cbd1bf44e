"""What plans cost in seconds, and what a decision weighs."""
