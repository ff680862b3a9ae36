"""Commands about studies: make, ask, tell, watch, audit and change them."""
