"""The routes: what each reads, does and answers."""
