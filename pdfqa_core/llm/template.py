"""Chat messages to the text a model was trained on, filled by llama-cpp-python in jinja2's sandbox.

The template is the model's own, or ChatML for files that carry none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from jinja2 import TemplateError

from pdfqa_core.errors import ModelError
from pdfqa_core.interfaces import Message

# Used where a GGUF file carries no template (ChatML).
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

# What parts the messages in common templates; it must not stand inside a message, whatever the model's own tokens are.
_MARKERS = (
    "<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>", "<<SYS>>", "<</SYS>>", "[INST]", "[/INST]",
    "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>",
)  # fmt: skip


class ChatTemplate:
    """A chat template of one model.

    Control tokens inside the messages ("<|im_start|>") are broken up with a space before the template is filled, so
    that no text from a PDF can end its message and begin another.
    Raises ModelError if the template does not compile or refuses the messages.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "", control_texts: Iterable[str] = ()) -> None:
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        markers = {text for text in control_texts if len(text) > 2} | set(_MARKERS)
        self._control = re.compile("|".join(map(re.escape, sorted(markers, key=len, reverse=True))))  # longest first
        try:
            self._forms = [
                Jinja2ChatFormatter(
                    source or CHATML, eos_token=eos, bos_token=bos, add_generation_prompt=to_be_continued
                )
                for to_be_continued in (False, True)
            ]
        except TemplateError as error:
            raise ModelError(f"The model's chat template is not valid: {error}.", "Choose another model.") from error

    def _clean(self, text: str) -> str:
        return self._control.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)

    def render(self, messages: Sequence[Message]) -> str:
        """Return the prompt, which ends where the model's reply begins."""
        return self._render(messages, to_be_continued=True)

    def render_reply(self, messages: Sequence[Message], reply: str) -> str:
        """Return the prompt with the beginning of a reply, after the space that the template puts before replies."""
        prompt = self.render(messages)
        answered = self._render([*messages, Message("assistant", reply)], to_be_continued=False)
        lead = answered.removeprefix(prompt).partition(self._clean(reply))[0] if answered.startswith(prompt) else ""
        return prompt + ("" if lead.strip() else lead) + self._clean(reply)

    def _render(self, messages: Sequence[Message], *, to_be_continued: bool) -> str:
        given: list[Any] = [{"role": message.role, "content": self._clean(message.content)} for message in messages]
        try:
            return str(self._forms[to_be_continued](messages=given).prompt)
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise ModelError(
                f"The model's chat template refuses the messages: {error}.", "Choose another model."
            ) from error
