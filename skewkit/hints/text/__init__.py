"""SQL texts, cut by their tokens: hints, clauses, relations, statements; pure."""
