"""Kill -9 at any moment: what was acknowledged is there, whole; what was not is there whole or not at all."""
