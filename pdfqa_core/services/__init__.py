"""The one place that builds concrete objects from Settings, and what the page and the command line call.

Read from bottom to top: `runs` (work that can be stopped), `documents` (PDFs, pages, images), `indexes` (passages,
indexes, search), `answers` (questions, studies, and `Services`, which is all of them).
"""

from pdfqa_core.services.answers import Services
from pdfqa_core.services.documents import LOCAL_OWNER, SAMPLE, PageView, Picture

__all__ = ["LOCAL_OWNER", "SAMPLE", "PageView", "Picture", "Services"]
