"""The command line: parses, calls the ledger, prints."""

import gc

# Python looks for dead circles each time that 700 objects were made. Loading a command makes tens of thousands that all
# stay, reading a conversation millions and hardly a circle. Here, as click alone is a third of what is loaded.
gc.set_threshold(200_000, 20, 50)
