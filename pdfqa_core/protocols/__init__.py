"""How evaluations are run, with people and with data sets."""
