"""Question PDFs in conversation on one's own computer, and measure how good the answers are.

Read `types.py` first: it holds every value that the parts pass to each other and the protocols they follow.
"""

__version__ = "0.1.0"
