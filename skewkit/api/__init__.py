"""The public functions: plain, with a DataFrame as the first argument."""
