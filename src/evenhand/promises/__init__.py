"""Promises of shares and the tests, in integers, of what may be played so that every one of them can still be kept."""
