"""Policies and promises that plain data describe, such as JSON and TOML."""
