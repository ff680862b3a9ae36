"""What people see while they wait, and of a result in a notebook."""
