"""From characters to lines in reading order, and from lines to the blocks of pages."""
