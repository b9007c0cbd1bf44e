"""The figures of the D-Choices paper."""
