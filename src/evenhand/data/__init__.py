"""Data as people have them: tables, features and contexts."""
