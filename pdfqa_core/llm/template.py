"""Chat messages to the text a model was trained on, through the model's own jinja2 template, in jinja2's sandbox."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pdfqa_core.errors import ModelError
from pdfqa_core.types import Message

# Used where a GGUF file carries no template (ChatML).
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)


def _to_json(value: Any, indent: int | None = None, **_options: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


class ChatTemplate:
    """A chat template of one model.

    Control tokens inside the messages ("<|im_start|>") are broken up with a space before the template is filled, so
    that no text from a PDF can end its message and begin another.
    Raises ModelError if the template does not compile or refuses the messages.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "", control_texts: Iterable[str] = ()) -> None:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _to_json
        environment.globals.update(raise_exception=_raise, strftime_now=lambda form: datetime.now().strftime(form))
        self._tokens = {"bos_token": bos, "eos_token": eos}
        longest_first = sorted({text for text in control_texts if len(text) > 2}, key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        try:
            self._template = environment.from_string(source or CHATML)
        except TemplateError as error:
            raise ModelError(f"The model's chat template is not valid: {error}.", "Choose another model.") from error

    def _clean(self, text: str) -> str:
        return self._control.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text) if self._control else text

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
        given = [{"role": message.role, "content": self._clean(message.content)} for message in messages]
        try:
            return self._template.render(
                messages=given, add_generation_prompt=to_be_continued, tools=None, **self._tokens
            )
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise ModelError(
                f"The model's chat template refuses the messages: {error}.", "Choose another model."
            ) from error
