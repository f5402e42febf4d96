"""What is wrong with the world: each mistake has an error that says what to do next, and harms nothing."""
