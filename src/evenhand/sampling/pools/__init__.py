"""Labelled rows: in arrays, tables and files."""
