"""How the tables came to be: one file per step, run in order when a workspace is opened."""
