"""The recipe of the Retrieval tab as a form: built from what settings and strategies say of themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args, get_origin

import gradio as gr

from pdfqa_core.errors import UsageError
from pdfqa_core.services import recipes
from pdfqa_core.settings import GROUPS, Looks, Settings
from pdfqa_core.ui.components import live_html
from pdfqa_core.ui.evaluate_runs_view import refusal_chart

Place: TypeAlias = tuple[str, str]  # section and name of a setting

UNSET = UsageError("A slider has no number.", "Type one, or move it; until then the recipe stays as it was.")
SECTIONS = ("chunking", "retrieval", "reading", "conversation", "llm")  # in the order of the form
JUDGED: tuple[Place, Place] = (("reading", "refusal"), ("reading", "confidence_threshold"))  # what the curve is of

# The settings of the recipe; the handlers get their values in this order.
FIELDS: Mapping[Place, Looks] = {(section, name): look for section, name, look in Settings().looks() if look.label}


Known: TypeAlias = Callable[[], Mapping[Place, Sequence[tuple[str, str]]]]  # label and value of models, by setting


def no_models() -> Mapping[Place, Sequence[tuple[str, str]]]:
    """Return that there are no models to choose from: paths and names are typed."""
    return {}


def _choices(place: Place, known: Mapping[Place, Sequence[tuple[str, str]]]) -> dict[str, Any]:
    """Return the models of a setting that has a list of them, first the one that stands for an empty value."""
    return {"choices": [(FIELDS[place].placeholder, ""), *known[place]]} if place in known else {}


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of the recipe, and the rows and folds around them with the fields that they hold.

    `models`: also those that take paths and names of models; `known` tells which there are to choose from.
    """

    fields: Mapping[Place, Any]
    boxes: tuple[tuple[Any, tuple[Place, ...]], ...]
    curve: Any
    models: bool
    known: Known = no_models

    @property
    def all(self) -> list[Any]:
        """Everything: the boxes, the fields in the order of the settings, the curve."""
        return [*(box for box, _ in self.boxes), *self.fields.values(), self.curve]

    def filled(self, settings: Settings, before: Settings | None = None) -> list[Any]:
        """Return everything as the settings have it; each once, because of two updates of one the page may take either.

        With the settings `before` only what now looks otherwise; values are left alone then.
        """
        looks = self._looks(settings)
        if before:
            pairs = zip(self._looks(before), looks, strict=True)
            return [*(gr.skip() if old == new else gr.update(**new) for old, new in pairs), gr.skip()]
        for look, value in zip(looks[len(self.boxes) :], values_of(settings), strict=True):
            look["value"] = value
        return [*(gr.update(**look) for look in looks), refusal_curve(settings)]

    def some(self, settings: Settings, places: Sequence[Place]) -> list[Any]:
        """Return the fields at `places` as the settings have them."""
        filled = dict(zip(self.fields, self.filled(settings)[len(self.boxes) :], strict=False))
        return [filled[place] for place in places]

    def _looks(self, settings: Settings) -> list[dict[str, Any]]:
        seen = _seen(settings, models=self.models)
        boxes = [{"visible": any(seen[place] for place in places)} for _, places in self.boxes]
        known = self.known()
        fields = [
            {"visible": seen[place], "info": _note(place, settings)} | _choices(place, known) for place in self.fields
        ]
        return [*boxes, *fields]


def settings_from(values: Sequence[Any], base: Settings, *, models: bool = True) -> Settings:
    """Return `base` with the form's values; the models stay those of `base` where `models` is False.

    A slider that says nothing (it is not drawn yet, or its number was deleted) leaves the value of `base`.
    Raises UsageError that names the wrong field.
    """
    changes: dict[str, dict[str, Any]] = {}
    for (place, look), value in zip(FIELDS.items(), values, strict=True):
        if (models or not look.local) and not (look.slider and value is None):
            section, name = place
            if (taken := _taken(place, value)) != _value(place, base):  # what nobody touched is not set by hand
                changes.setdefault(section, {})[name] = taken
    try:
        for section, fields in changes.items():
            base = base.changed(section, **fields)
    except UsageError as error:
        raise UsageError(in_words(error.what), error.hint) from error
    return base


def _taken(place: Place, value: Any) -> Any:
    """Return a widget's value as the setting has it."""
    annotation = _annotation(place)
    if type(None) in get_args(annotation):
        return int(value) if value else None
    if FIELDS[place].local:
        return str(value or "").strip()
    return int(value) if annotation is int and isinstance(value, float) and value.is_integer() else value


def _annotation(place: Place) -> Any:
    section, name = place
    return type(getattr(Settings(), section)).model_fields[name].annotation


def in_words(what: str) -> str:
    """Return what is wrong with a setting, with its field called as on the screen."""
    for (section, name), look in FIELDS.items():
        what = what.replace(f"{section}.{name}: ", f"“{look.label}”: ")
    return what.replace("Input should be a valid number", "type a number").replace(
        "Input should be a valid integer", "type a whole number"
    )


def _value(place: Place, settings: Settings) -> Any:
    section, name = place
    return getattr(getattr(settings, section), name)


def values_of(settings: Settings) -> list[Any]:
    """Return the form's values for settings."""
    return [_value(place, settings) for place in FIELDS]


def refusal_curve(settings: Settings) -> str:
    """Return the curve that tells what it costs to answer or not."""
    return refusal_chart(*(_value(place, settings) for place in JUDGED))


def _options(place: Place) -> list[tuple[str, str]]:
    """Return label and value of each choice; none where the setting is not chosen from a list."""
    look, annotation = FIELDS[place], _annotation(place)
    if look.of:
        also = [(look.also[1], look.also[0])] if look.also else []
        return also + [(_named(look, name), name) for name in recipes.names(look.of, look.without)]
    return [(value, value) for value in get_args(annotation)] if get_origin(annotation) is Literal else []


def _named(look: Looks, name: str) -> str:
    """Return a strategy as a choice: what it does in plain words, then its name; in a list that folds its name."""
    return name if look.dropdown else f"{re.split('[,;(]', recipes.REGISTRIES[look.of].words(name))[0]} · {name}"


def _note(place: Place, settings: Settings) -> str:
    """Return the line below a field: what explains the chosen value, else the setting."""
    look, value = FIELDS[place], _value(place, settings)
    if look.also and value == look.also[0]:
        return look.also[2]
    return recipes.REGISTRIES[look.of].words(value) if look.of else look.words.get(value, look.note)


def _seen(settings: Settings, *, models: bool) -> dict[Place, bool]:
    """Return which fields are in view: settings without effect are not."""
    used = recipes.in_use(settings)
    return {place: used.get(place, True) and (models or not look.local) for place, look in FIELDS.items()}


def _rows(group: str) -> list[tuple[Place, ...]]:
    """Return the fields of a group row by row."""
    places = [place for place, look in FIELDS.items() if look.group == group]
    places.sort(key=lambda place: (FIELDS[place].order, SECTIONS.index(place[0])))
    rows: list[tuple[Place, ...]] = []
    for place in places:
        rows[-1:] = [(*rows[-1], place)] if FIELDS[place].beside else [*rows[-1:], (place,)]
    return rows


def build_form(settings: Settings, *, models: bool, known: Known = no_models) -> Form:
    """Build the fields of the recipe; `models`: those for paths and names of models too, which `known` lists."""
    listed = known()
    seen = _seen(settings, models=models)
    fields: dict[Place, Any] = {}
    boxes: list[tuple[Any, tuple[Place, ...]]] = []

    def boxed(box: Any, places: tuple[Place, ...]) -> Any:
        boxes.append((box, places))
        return box

    def in_view(places: tuple[Place, ...]) -> bool:
        return any(seen[place] for place in places)

    with ExitStack() as more:
        for group in ("", *GROUPS):
            if group == GROUPS[0]:
                more.enter_context(gr.Accordion("More", open=False, elem_id="recipe-more"))
            rows = _rows(group)
            every = tuple(place for row in rows for place in row)
            fold = boxed(gr.Accordion(group, open=False, visible=in_view(every)), every) if group else nullcontext()
            with fold:
                for row in rows:
                    with boxed(gr.Row(visible=in_view(row)), row) if len(row) > 1 else nullcontext():
                        for place in row:
                            fields[place] = _widget(place, settings, _choices(place, listed), visible=seen[place])
                    if row[-1] == JUDGED[1]:
                        curve = live_html(refusal_curve(settings), elem_id="refusal-curve")
    return Form({place: fields[place] for place in FIELDS}, tuple(boxes), curve, models, known)


def _widget(place: Place, settings: Settings, models: Mapping[str, Any], *, visible: bool) -> Any:
    look, value, options, annotation = FIELDS[place], _value(place, settings), _options(place), _annotation(place)
    looks: dict[str, Any] = {
        "value": value,
        "label": look.label,
        "info": _note(place, settings) or None,
        "visible": visible,
        "elem_id": f"recipe-{place[1].replace('_', '-')}",
    }
    if options:
        return gr.Dropdown(options, **looks) if look.dropdown else gr.Radio(options, **looks)
    if look.slider:
        low, high, step = look.slider
        slider = gr.Slider(low, high, step=step, **looks)
        checked = slider.preprocess
        vars(slider)["preprocess"] = lambda value: None if value is None else checked(value)  # Gradio fails at None
        return slider
    if annotation is bool:
        return gr.Checkbox(**looks)
    if models:
        return gr.Dropdown(allow_custom_value=True, **models, **looks)
    if annotation is str:
        return gr.Textbox(placeholder=look.placeholder, **looks)
    return gr.Number(precision=None if annotation is float else 0, step=0.1 if annotation is float else 1, **looks)
