"""The oldest entries of a log in files of their own."""
