"""Sessions of agents whose formats do not write them, in the words of the exports."""
