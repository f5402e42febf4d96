"""The words of other systems over the same rows; they hold no data."""
