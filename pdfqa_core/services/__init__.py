"""The one place that builds concrete objects from Settings, and what the page and the command line call.

Read from bottom to top: `runs` (work that can be stopped), `readings` (which of a document's readings is used),
`documents` (PDFs, pages, images), `indexes` (passages, indexes, search), `models` (language models), `answers`
(questions, studies), `evaluation` (gold files, and `Services`, which is all of them), `evaluation_files` (their results
as files).
"""

from pdfqa_core.services.documents import LOCAL_OWNER, SAMPLE, PageView, Picture
from pdfqa_core.services.evaluation import Services
from pdfqa_core.services.readings import Claim

__all__ = ["LOCAL_OWNER", "SAMPLE", "Claim", "PageView", "Picture", "Services"]
