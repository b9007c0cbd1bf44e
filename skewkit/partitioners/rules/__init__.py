"""Rules that schemes and plans share, each a pure function or a small structure."""
