"""Sessions of agents that are written here and not read yet; who reads one, moves it to `formats`."""
