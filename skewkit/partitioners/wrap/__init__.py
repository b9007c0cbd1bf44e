"""`wrap`, skewkit's own scheme: the wrap-around cut."""
