"""The characters of a page as PDFium has them, and their text as people search for it."""
