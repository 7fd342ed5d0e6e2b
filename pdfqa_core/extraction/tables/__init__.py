"""Tables: drawn as a grid, or made of cells that stand below each other."""
