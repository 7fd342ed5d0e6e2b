"""The prompts as named constants. Each is checked when the module is imported: its placeholders are those it names.

Form of READ, measured on questions about a company's handbook with SmolLM2-135M: one user message, passages first,
then the question, the instruction last, no system message (ROUGE-L .347 against .304 with a system message). It also
keeps the prompt's beginning the same for every question about the same passages, so that their keys and values are
evaluated once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter

from pdfqa_core.reading.question_type import QuestionType


class Prompt:
    """A text with placeholders. Raises ValueError if they are not exactly `fields`."""

    def __init__(self, text: str, *fields: str) -> None:
        found = {field for _, field, _, _ in Formatter().parse(text) if field is not None}
        if found != set(fields):
            raise ValueError(f"The prompt has the placeholders {sorted(found)}, expected {sorted(fields)}")
        self.text = text
        self.fields = fields

    def fill(self, **values: str) -> str:
        """Return the text with every placeholder filled; braces inside the values stay as they are."""
        return self.text.format(**values)


READ = Prompt("{passages}\n\nQuestion: {question}\n\n{instruction}", "passages", "question", "instruction")

PASSAGE = Prompt('Passage {number}:\n"""\n{text}\n"""', "number", "text")

# By the type of the question; see question_type.py. Measured with SmolLM2-135M: asked to begin with yes or no it writes
# "Yes." and nothing else, whatever the passages say (58 of 60 claims of which half are wrong), and asked for more
# sentences where something is to be described it invents.
INSTRUCTIONS: Mapping[QuestionType, str] = {
    "extractive": "Answer the question in one to three sentences, using only the passages above.",
    "abstractive": "Explain the answer in one to three sentences, using only the passages above.",
    "boolean": "Answer in one to three full sentences whether it is so, using only the passages above.",
}

# Marks by which chat templates part messages. Text from a PDF must not carry them into a prompt.
_CONTROL = re.compile(
    r"<\|[^<>|\n]{1,40}\|>|</?s>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|<(?:bos|eos|pad|unk)>|</?think>",
    re.IGNORECASE,
)


def quoted(text: str) -> str:
    """Return a passage's text fit to stand between the quotes of PASSAGE: no control tokens, no closing quotes."""
    while (cleaned := _CONTROL.sub(" ", text)) != text:
        text = cleaned
    return re.sub(r'"{3,}', '"', text).strip()
