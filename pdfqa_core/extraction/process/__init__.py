"""Child processes that touch PDFs: started, limited, asked and ended."""
