"""Facts as a persistent value, with their consequences: bounds, substitutions, samples; constraint propagation."""
