"""Question PDFs in conversation on one's own computer, and measure how good the answers are.

Read `types.py` first: it holds every value that the parts pass to each other and the protocols they follow.
"""

import os

__version__ = "0.2.0"

# How long threads of OpenMP (llama.cpp, torch) spin for each other before they sleep; read when the first of these
# libraries is loaded. On two cores with another busy process the default (300,000 rounds) writes 2 tokens/s where 500
# rounds write 19; on idle ones it writes 83, 500 rounds 77, sleeping at once 40.
os.environ.setdefault("GOMP_SPINCOUNT", "500")
