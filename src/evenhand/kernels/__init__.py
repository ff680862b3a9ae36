"""Numbers only: numba and numpy. Nothing here knows an arm's label or a file; imports come from above, never from here
upward."""
