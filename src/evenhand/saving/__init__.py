"""Objects and policies as bytes, and back."""
