"""The routes: what each reads, does and returns."""
