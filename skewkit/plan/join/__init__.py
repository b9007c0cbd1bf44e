"""The plan of a join: what each join type allows, what a strategy costs, where hot keys go."""
