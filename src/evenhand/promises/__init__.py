"""Promises of shares, and exact tests of which arms may be played so that every promise can still be kept."""
