"""The prompts as named constants. Each is checked when the module is imported: its placeholders are those it names.

Order of READ: one user message, passages first, then the question, the instruction last, no system message. Measured on
questions about a company's handbook with SmolLM2-135M (ROUGE-L .347 against .304 with a system message). It also keeps
the prompt's beginning the same for every question about the same passages, so that their keys and values are evaluated
once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import Formatter

from pdfqa_core.reading.question_type import QuestionType, asks_twice


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


READ = Prompt(
    "{passages}\n\n{earlier}Question: {question}\n\n{instruction}", "passages", "earlier", "question", "instruction"
)

PASSAGE = Prompt('Passage {number}:\n"""\n{text}\n"""', "number", "text")

# For a question that leans on the one before it ("What do you mean by that?").
EARLIER = Prompt("Question before: {question}\nAnswer given: {answer}\n\n", "question", "answer")
EARLIER_WORDS = 60  # of the answer given

# Asked for its next token only, see `yes_or_no`.
IS_IT_SO = "Answer the question with Yes or No, by what the passages above say."

# Behind the instruction where a question asks for several things.
PARTS = "Answer every part of the question."

# Behind it where the items of a list are asked for.
ITEMS = "Name every item of the list that the question asks for."

# A second try, where the first said nothing that the passages say.
QUOTE = "Copy the one or two sentences of the passages above that answer the question, word for word."


# Before the instruction of a yes-or-no question, where the probabilities of the two are clear.
IT_IS_SO = 'The answer is yes: begin with "Yes" and give the reason.'
IT_IS_NOT_SO = 'The answer is no: begin with "No" and say what the passages say instead.'
# Or where the numbers of a table decide it; `finding` says how.
COMPUTED = Prompt("{verdict} The numbers are these: {finding}", "verdict", "finding")
# And where they are not: asked at once, the model says yes to nearly everything.
FACTS_FIRST = "Weigh what the passages say before you decide: first write the facts that decide it."


@dataclass(frozen=True, slots=True)
class Verdict:
    """The log-odds of yes against no: from `yes_from` on a model means yes, below `no_below` it means no."""

    yes_from: float
    no_below: float

    def words(self, log_odds: float) -> str:
        """Return the words before the instruction: the answer, or between the thresholds that facts come first."""
        if log_odds >= self.yes_from:
            return IT_IS_SO
        return IT_IS_NOT_SO if log_odds < self.no_below else FACTS_FIRST


@dataclass(frozen=True, slots=True)
class Form:
    """How a family of models is asked: the instruction by the type of the question.

    `headings`: each passage begins with its document's title and its heading. `verdict` decides yes-or-no questions by
    probabilities; None: the model's own words do.
    """

    instructions: Mapping[QuestionType, str]
    headings: bool = False
    verdict: Verdict | None = None

    def instruction(self, question: str, kind: QuestionType) -> str:
        """Return the instruction for a question; one with two questions in it adds that both are to be answered."""
        return f"{self.instructions[kind]} {PARTS}" if asks_twice(question) else self.instructions[kind]


# The fall-back, made for SmolLM2-135M. Asked to begin with yes or no it writes "Yes." and nothing else, whatever the
# passages say (58 of 60 claims of which half are wrong), and asked for more sentences where something is to be
# described it invents.
PLAIN = Form(
    {
        "extractive": "Answer the question in one to three sentences, using only the passages above.",
        "abstractive": "Explain the answer in one to three sentences, using only the passages above.",
        "boolean": "Answer in one to three full sentences whether it is so, using only the passages above.",
    },
)

_FULLY = (
    "Write the answer in one to three full sentences, close to the wording of the passages, with all details that "
    "belong to it."
)

# For Qwen2.5-Coder 1.5B, which the same instruction serves for all questions. Offered a way out ("if the passages do
# not answer, write: Not stated") it takes it for one answerable question in three.
QWEN = Form({"extractive": _FULLY, "abstractive": _FULLY, "boolean": _FULLY}, headings=True)

# By benchmarks/yes_or_no.py: nine in ten of the answers decided by these are right, on abstracts and on claims.
QWEN_CODER_1_5B = replace(QWEN, verdict=Verdict(2.5, 0.0))

FORMS: Mapping[str, Form] = {"plain": PLAIN, "qwen2.5": QWEN, "qwen2.5-coder-1.5b": QWEN_CODER_1_5B}


# Marks by which chat templates part messages. Text from a PDF must not carry them into a prompt.
_CONTROL = re.compile(
    r"<\|[^<>|\n]{1,40}\|>|</?s>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|<(?:bos|eos|pad|unk)>|</?think>",
    re.IGNORECASE,
)


def quoted(text: str) -> str:
    """Return a passage's text fit to stand between the quotes of a passage: no control tokens, no closing quotes."""
    while (cleaned := _CONTROL.sub(" ", text)) != text:
        text = cleaned
    return re.sub(r'"{3,}', '"', text).strip()
