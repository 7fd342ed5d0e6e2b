"""What the owner of a study does on the Annotate tab: state, people, questions, guideline, training and check items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.csv_format import CsvTable
from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.protocols.rating_tables import FIXED, ROW, Choices, TableError, columns_of, guessed
from pdfqa_core.protocols.study_definition import DEFAULT_PRESET, KINDS, PRESETS, kind_of, made, preset_named
from pdfqa_core.protocols.study_items import Source
from pdfqa_core.services import ConversationSummary, Services
from pdfqa_core.services.accounts import entrance
from pdfqa_core.study_types import AppliesTo, Criterion, ItemRole, Role, Study, StudyState
from pdfqa_core.ui import downloads
from pdfqa_core.ui.chat_view import clocks
from pdfqa_core.ui.components import (
    AT_ONCE,
    CLICK_AGAIN,
    QUIET,
    Click,
    clicked,
    day,
    error_html,
    live_html,
    plural,
    render,
)
from pdfqa_core.ui.session import Session

# ----------------------------------------------------------------------------------------------------
# The form of the Annotate tab that makes a study.

CHAT, GENERATED, TABLE, RUN = "chat", "generated", "table", "run"
SOURCES = {
    "answers from the chat": CHAT, "generated answers beside gold answers": GENERATED, "a table (CSV)": TABLE,
    "answers of a stored run": RUN,
}  # fmt: skip
MAHUEVAL = "Manual human evaluation (MaHuEval): two people rate the same answers, and neither sees what the other says."
MOST_NAMED = 4  # people whom the next step names
STRATA = {"all items together": "", "each system, in proportion": "system", "each document, in proportion": "document"}


class NewStudyParts:
    """The components; files have their place only while they are wanted."""

    def __init__(self) -> None:
        with gr.Accordion("New study", open=False, elem_id="annotate-new") as self.fold:
            self.study_name = gr.Textbox(label="Name of the study", max_length=120, elem_id="annotate-study-name")
            self.preset = gr.Dropdown(
                [(f"{one.title}: {one.words}", name) for name, one in PRESETS.items()],
                value=DEFAULT_PRESET,
                label="What is asked (can be changed afterwards)",
                info=MAHUEVAL,
                elem_id="annotate-preset",
            )
            self.source = gr.Radio(list(SOURCES.items()), value=CHAT, label="What is rated", elem_id="annotate-source")
            self.conversations = gr.Dropdown([], multiselect=True, label="Conversations")
            with gr.Column(visible=False) as self.generated:
                self.predictions = gr.File(
                    label="Generated answers (JSON), a file for each system",
                    file_count="multiple",
                    visible=False,
                    file_types=[".json", ".jsonl"],
                    elem_id="annotate-predictions",
                    height=96,
                )
                self.gold = gr.File(
                    label="Gold answers with their passages (JSON, JSONL, CSV)",
                    visible=False,
                    height=96,
                    file_types=[".json", ".jsonl", ".csv"],
                    elem_id="annotate-gold-file",
                )
            self.table = gr.File(
                label="Table: question, answer, gold_answer, gold_passage, file, page, …",
                visible=False,
                height=96,
                file_types=[".csv", ".tsv"],
                elem_id="annotate-table",
            )
            self.run = gr.Dropdown([], label="Run of the Evaluate tab", visible=False, elem_id="annotate-run")
            with gr.Row(visible=False) as self.drawing:
                self.n = gr.Number(0, label="How many (0: all)", precision=0, minimum=0, min_width=120)
                self.seed = gr.Number(1, label="Seed of the draw", precision=0, min_width=120)
                self.by = gr.Dropdown(list(STRATA.items()), value="", label="Drawn from", min_width=160)
            self.names = gr.Textbox(
                label="Who rates",
                placeholder="Ada, Ben (empty: anybody who types a name)",
                max_length=2000,
                elem_id="annotate-people",
            )
            self.create = gr.Button("Make study", variant="primary", elem_id="annotate-create")
            self.bring = gr.UploadButton(
                "Bring a study from another workspace (ZIP)", file_types=[".zip"], size="sm", elem_id="annotate-bring"
            )
        outputs = [
            self.conversations,
            self.generated,
            self.predictions,
            self.gold,
            self.table,
            self.run,
            self.drawing,
            self.n,
            self.preset,
        ]
        self.source.input(self._shown, [self.source, self.preset], outputs, **AT_ONCE)

    def _shown(self, source: str, preset: str) -> dict[Any, Any]:
        """Show what the chosen source needs; for files the protocol with gold answers is proposed, and 100 of them."""
        files = source == GENERATED
        proposed = "answers" if source != CHAT and preset == DEFAULT_PRESET else preset
        return {
            self.conversations: gr.Dropdown(visible=source == CHAT),
            self.generated: gr.Column(visible=files),
            self.predictions: gr.File(visible=files),
            self.gold: gr.File(visible=files),
            self.table: gr.File(visible=source == TABLE),
            self.run: gr.Dropdown(visible=source == RUN),
            self.drawing: gr.Row(visible=source != CHAT),
            self.n: 100 if source != CHAT else 0,
            self.preset: DEFAULT_PRESET if source == CHAT and preset == "answers" else proposed,
        }

    def filled(self, services: Services, owner: str) -> dict[Any, Any]:
        """Return what there is to choose from."""
        return {
            self.conversations: gr.Dropdown(choices=talks(services, owner)),
            self.run: gr.Dropdown(choices=_runs(services, owner)),
        }

    def emptied(self, services: Services, owner: str) -> dict[Any, Any]:
        """Return the form as it is at first, folded."""
        return {
            **self._shown(CHAT, DEFAULT_PRESET),
            self.fold: gr.Accordion(open=False),
            self.study_name: "",
            self.source: CHAT,
            self.predictions: gr.File(value=None, visible=False),
            self.conversations: gr.Dropdown(choices=talks(services, owner), value=[], visible=True),
            self.gold: gr.File(value=None, visible=False),
            self.table: gr.File(value=None, visible=False),
            self.run: gr.Dropdown(choices=_runs(services, owner), value=None, visible=False),
            self.seed: 1,
            self.by: "",
            self.names: "",
        }

    def everything(self) -> list[Any]:
        """Return all that is filled where the form is emptied."""
        return [*self.inputs(), self.fold, self.generated, self.drawing]

    def inputs(self) -> list[Any]:
        """Return what `make` reads, in its order."""
        return [
            self.study_name,
            self.preset,
            self.source,
            self.conversations,
            self.predictions,
            self.gold,
            self.table,
            self.run,
            self.n,
            self.seed,
            self.by,
            self.names,
        ]


def talks(services: Services, owner: str) -> list[tuple[str, str]]:
    """Return the conversations that have answers: with how many, those of one name with their time; the id of each."""
    answered = [one for one in services.answers.conversations.list(owner) if one.turn_count]
    times = clocks(answered)

    def words(one: ConversationSummary) -> str:
        when = f", {day(one.changed_at)} {times[one.id]}" if one.id in times else ""
        return f"{one.title} ({one.turn_count}{when})"

    return [(words(one), one.id) for one in answered]


def _runs(services: Services, owner: str) -> list[tuple[str, str]]:
    return [(one.name, one.id) for one in services.evaluation.list_runs(owner)]


def made_words(study: Study, names: Sequence[str]) -> str:
    """Return that a study is made, and what to do next; `names` are those who rate it."""
    if not names:
        follows = "type your name below and press “Sign in and rate”; so does everybody who rates."
    elif len(names) > MOST_NAMED:
        follows = f"the {len(names)} who rate each press their name below."
    else:
        who = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        follows = f"{who} {'each press their' if len(names) > 1 else 'presses the button with that'} name below."
    return (
        f"“{study.name}” is made, with {plural(len(study.turn_ids), 'item')}. Next: {follows} People at other "
        "computers get a link under “Invite people”. You can change what is asked under “This study”."
    )


def make(
    services: Services,
    owner: str,
    name: str,
    preset: str,
    source: str,
    conversations: list[str],
    predictions: list[str] | None,
    gold: str | None,
    table: str | None,
    run: str | None,
    n: float | None,
    seed: float | None,
    by: str,
    names: str,
) -> Study:
    """Make the study that the form describes. Raises UsageError that names file and row."""
    studies = services.studies
    if source == CHAT:
        return studies.of_conversations(owner, name, conversations, preset, names)
    if source == RUN:
        if not run:
            raise UsageError("No run is chosen.", "Choose one, or start one on the Evaluate tab (Measure: Answers).")
        return services.evaluation.study_of(
            owner, name, [run], n=int(n or 0), seed=int(seed or 0), by=by, preset=preset, names=names
        )
    drawn = {"n": int(n or 0), "seed": int(seed or 0), "by": by}
    if source == TABLE:
        chosen = Source(table=Path(table) if table else None, **drawn)  # type: ignore[arg-type]
    else:
        files = tuple(map(Path, predictions or ()))
        chosen = Source(files, Path(gold) if gold else None, **drawn)  # type: ignore[arg-type]
    return studies.of_files(owner, name, chosen, preset, names)


# ----------------------------------------------------------------------------------------------------
# Ratings made in a spreadsheet, on the Annotate tab: the first rows, what the columns hold, what does not fit.

SHOWN_ROWS, SHOWN_FAULTS = 5, 50
FILE_KINDS = [".csv", ".tsv", ".txt", ".jsonl", ".parquet"]
MAIN = 4  # fields of a row that always show; the others are folded
Done = Callable[[str, Session], dict[Any, Any]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What was chosen last for a study, so that a table which was mended meets the same choices."""

    study_id: str = ""
    chosen: tuple[tuple[str, str], ...] = ()
    words: str = ""
    added: bool = False

    def fits(self, table: CsvTable, choices: Choices, study_id: str) -> bool:
        """Return whether all that was chosen can be chosen again."""
        fields, columns = _fields(choices), {*table.header}
        return (
            study_id == self.study_id
            and bool(self.chosen)
            and all(
                field in fields and (column in columns or column.startswith(FIXED)) for field, column in self.chosen
            )
        )


class ImportParts:
    """The components: the file, and under it what its columns hold."""

    def __init__(self) -> None:
        title = "Ratings from a spreadsheet"
        with gr.Accordion(title, open=False, elem_id="annotate-import", visible=False) as self.fold:
            live_html(render("annotate_import_hint"))
            with gr.Row():
                self.file = gr.UploadButton(
                    "Bring a table…", file_types=FILE_KINDS, size="sm", elem_id="annotate-import-file", min_width=120
                )
                self.template = gr.Button(
                    "Template (CSV)", size="sm", elem_id="annotate-import-template", min_width=120
                )
            self.told = live_html(elem_id="annotate-import-told")
            self.shown = live_html(elem_id="annotate-import-columns")
        self.asked = gr.State(Asked())

    def wire(
        self,
        services: Services,
        study: gr.Dropdown,
        session: gr.State,
        outputs: list[Any],
        file: gr.DownloadButton,
        done: Done,
    ) -> None:
        """Connect them; `done` shows the tab of a study anew, among `outputs`, and `file` is what a browser fetches."""
        handlers = ImportHandlers(services, self, done)
        given = [self.file, study, self.asked, session]
        self.file.upload(handlers.show, given, [self.shown, self.asked], **QUIET)
        study.input(lambda: (None, "", ""), None, [self.file, self.shown, self.told], **AT_ONCE)
        self.shown.click(handlers.bring, given, [*outputs, self.shown, self.asked], **QUIET)
        made = self.template.click(handlers.write, [study, session], [file, self.told], **AT_ONCE)
        made.success(None, self.told, None, js="(error) => error || window.pdfqa.fetch('annotate-file')")


class ImportHandlers:
    """What the part does; the file is read anew each time, so that nothing of it is kept."""

    def __init__(self, services: Services, parts: ImportParts, done: Done) -> None:
        self.services = services
        self.parts = parts
        self.done = done

    def show(self, path: str | None, study_id: str | None, asked: Asked, session: Session) -> tuple[str, Asked]:
        """Return the first rows of a table, and what its columns hold: as chosen before, or as far as they say so."""
        try:
            table, choices = self._read(path, study_id, session)
        except PdfQAError as error:
            return error_html(error), asked
        if not asked.fits(table, choices, study_id or ""):
            asked = Asked(study_id or "", tuple(guessed(table, choices).items()))
        return form_html(table, choices, asked), asked

    def write(self, study_id: str | None, session: Session) -> tuple[Any, str]:
        """Give the browser a table of the items to fill in."""
        try:
            file = self.services.studies.files.template(session.owner, study_id or "")
        except PdfQAError as error:
            return gr.skip(), error_html(error)
        return downloads.write(file.name, file.data), ""

    def bring(
        self, path: str | None, study_id: str | None, asked: Asked, session: Session, event: gr.EventData
    ) -> dict[Any, Any]:
        """Save the ratings, or say which cells do not fit; nothing is saved then."""
        parts, data = self.parts, clicked(event)
        if asked.study_id != (study_id or ""):  # the table was shown for another study
            return dict(zip((parts.shown, parts.asked), self.show(path, study_id, asked, session), strict=True))
        try:
            table, choices = self._read(path, study_id, session)
            asked = chosen_of(data, choices, asked.study_id)
            try:
                count = self.services.studies.files.add_ratings(
                    session.owner,
                    study_id or "",
                    read_file(Path(path or "")),
                    columns_of(dict(asked.chosen), meant(asked.words)),
                    on_page=True,
                    all_named=asked.added,
                )
            except PdfQAError as error:
                return {parts.shown: form_html(table, choices, asked, error), parts.asked: asked}
        except PdfQAError as error:
            return {parts.shown: error_html(error)}
        said = render("said", text=f"Saved: {plural(count, 'rating')} of the table.")
        return self.done(study_id or "", session) | {parts.shown: said, parts.asked: asked}

    def _read(self, path: str | None, study_id: str | None, session: Session) -> tuple[CsvTable, Choices]:
        if not path or not study_id:
            raise UsageError("There is no table yet.", "Choose a study, then bring a file.")
        return self.services.studies.files.table(session.owner, study_id, read_file(Path(path)))


def chosen_of(data: Click, choices: Choices, study_id: str) -> Asked:
    """Return what a click says was chosen."""
    picked = {field: data.get(f"pick_{place}", "") for place, field in enumerate(_fields(choices))}
    chosen = tuple((field, column) for field, column in picked.items() if column)
    return Asked(study_id, chosen, data.get("words", ""), data.get("new_people") == "added")


def meant(words: str) -> dict[str, str]:
    """Return the values that words in the cells mean, of "Yes=1, No=0". Raises UsageError."""
    found = {}
    for part in filter(str.strip, words.split(",")):
        word, _, value = (one.strip() for one in part.partition("="))
        if not word or not value:
            raise UsageError(f"What words mean: {part.strip()!r} is not WORD=VALUE.", "Write a list like Yes=1, No=0.")
        found[word] = value
    return found


def _fields(choices: Choices) -> list[str]:
    return [one.name for one in (*ROW, *choices.by_criterion, *choices.by_annotator, *choices.by_both)]


def form_html(table: CsvTable, choices: Choices, asked: Asked, error: PdfQAError | None = None) -> str:
    """Return the first rows and the form of the columns, with what does not fit."""
    places = {name: place for place, name in enumerate(_fields(choices))}
    chosen = dict(asked.chosen)
    same = {
        "annotator": [(FIXED + name, name) for name in choices.annotators],
        "criterion": [(FIXED + one.name, one.title) for one in choices.criteria],
    }
    groups = [
        ("A column for each criterion", choices.by_criterion),
        ("A column for each annotator", choices.by_annotator),
        ("A column for each criterion and annotator", choices.by_both),
    ]
    faults = error.faults if isinstance(error, TableError) else ()
    return render(
        "annotate_import",
        header=table.header,
        rows=[row.cells for row in table.rows[:SHOWN_ROWS]],
        count=len(table.rows),
        main=ROW[:MAIN],
        more=ROW[MAIN:],
        same=same,
        places=places,
        chosen=chosen,
        groups=[(title, fields, sum(one.name in chosen for one in fields)) for title, fields in groups if fields],
        words=asked.words,
        added=asked.added,
        error=error,
        faults=faults[:SHOWN_FAULTS],
        left=len(faults[SHOWN_FAULTS:]),
        new=len(faults),
    )


# ----------------------------------------------------------------------------------------------------
# Who is invited to a study: the owner invites by name, and gives each their own link or a password.

ROLES = {"rates": Role.ANNOTATOR, "looks at the results": Role.VIEWER}


class People:
    """The components: who is invited, and the form that invites one more."""

    def __init__(self) -> None:
        with gr.Accordion("Invite people", open=False, elem_id="annotate-invite") as self.fold:
            self.list = live_html(elem_id="annotate-invited")
            self.name = gr.Textbox(label="Name", max_length=80, elem_id="annotate-invite-name")
            self.role = gr.Radio(list(ROLES), value=next(iter(ROLES)), label="Who", elem_id="annotate-invite-role")
            self.button = gr.Button("Invite", elem_id="annotate-invite-button")

    def wire(self, services: Services, study: gr.Dropdown, session: gr.State) -> None:
        """Connect them with the study that is chosen."""
        handlers = InviteHandlers(services)
        self.fold.expand(handlers.show, [study, session], self.list, **AT_ONCE)
        study.change(handlers.show, [study, session], self.list, **AT_ONCE)
        for event in (self.button.click, self.name.submit):
            event(handlers.invite, [self.name, self.role, study, session], [self.list, self.name], **AT_ONCE)
        self.list.click(handlers.clicked, session, self.list, **AT_ONCE)


class InviteHandlers:
    """What the part does; links and passwords are shown once, where they are made."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def show(self, study_id: str | None, session: Session) -> str:
        """Return who is invited to the study."""
        return self._list(study_id or "", session)

    def invite(self, name: str, role: str, study_id: str | None, session: Session) -> tuple[str, Any]:
        """Invite somebody; the name stays where that is not possible."""
        try:
            chosen = ROLES.get(role, Role.ANNOTATOR)
            link = self.services.people.invitations.invite(session.owner, study_id or "", name or "", chosen)
        except PdfQAError as error:
            return self._list(study_id or "", session, said=error_html(error)), gr.skip()
        return self._list(study_id or "", session, name=name.strip(), link=link), ""

    def clicked(self, session: Session, event: gr.EventData) -> str:
        """Renew a link, make a password, or withdraw an invitation."""
        data, given = clicked(event), {}
        study_id = data["study"]
        try:
            where = (session.owner, study_id, data["name"])
            match data.get("action"):
                case "renew":
                    given = {"link": self.services.people.invitations.renew(*where)}
                case "password":
                    given = {
                        "password": self.services.people.invitations.make_password(*where),
                        "link": entrance(study_id),
                    }
                case "withdraw":
                    self.services.people.invitations.withdraw(*where)
        except PdfQAError as error:
            return self._list(study_id, session, said=error_html(error))
        return self._list(study_id, session, name=data["name"] if given else "", **given)

    def _list(
        self, study_id: str, session: Session, *, name: str = "", link: str = "", password: str = "", said: str = ""
    ) -> str:
        """Return the list, above it what was just made for `name`."""
        try:
            invited = self.services.people.invitations.list(session.owner, study_id) if study_id else ()
        except PdfQAError as error:
            return error_html(error)
        return said + render(
            "invited", study=study_id, invited=invited, name=name, link=link, password=password, viewer=Role.VIEWER
        )


# ----------------------------------------------------------------------------------------------------
# What the owner of a study does on the Annotate tab: state, people, questions, guideline, training and check items.

MOST_LISTED = 300  # items to choose from for training and checks
ABOUT = {AppliesTo.TURN: "the question", AppliesTo.ANSWER: "the answer", AppliesTo.PASSAGE: "each passage"}
# State: what it means, and what can be done then (the state that follows, what its button says).
STATES = {
    StudyState.OPEN: (
        "annotators can rate",
        (("closed", "Close: no more ratings"), ("archived", "Archive"), ("deleted", "Delete")),
    ),
    StudyState.CLOSED: (
        "nobody can rate; everything can be looked at",
        (("open", "Open again"), ("archived", "Archive"), ("deleted", "Delete")),
    ),
    StudyState.ARCHIVED: ("put away, last in the list", (("open", "Open again"), ("deleted", "Delete"))),
    StudyState.DELETED: ("marked for deletion; nothing is lost yet", (("open", "Bring it back"),)),
}
DONE = {
    "open": "is open: annotators can rate.", "closed": "is closed: nobody can rate it until it is opened again.",
    "archived": "is archived: it is last in the list.",
    "deleted": "is deleted. Bring it back, or delete it for good, below.",
}  # fmt: skip


def setup_html(services: Services, owner: str, study_id: str, said: str = "", error: PdfQAError | None = None) -> str:
    """Return everything that the owner can change of a study, with what was just done."""
    study = services.studies.kept.get(owner, study_id)
    found = services.studies.rated(owner, study_id)
    criteria = services.studies.criteria_of(study)
    meaning, follows = STATES[study.state]
    people = [(one, found.progress.get(one.name)) for one in services.studies.people(owner, study_id)]
    planted = [one for one in found.turns if one.details.role]
    return render(
        "annotate_setup",
        study=study,
        said=said,
        error=error,
        meaning=meaning,
        follows=follows,
        people=people,
        criteria=[(one, kind_of(one), _values(one), _keys(one)) for one in criteria],
        kinds=KINDS,
        about=ABOUT,
        presets=PRESETS,
        ratings=len(found.ratings),
        items=len(found.turns),
        planted=planted,
        listed=found.turns[:MOST_LISTED],
        roles=[(one.value, one.value or "an item like others") for one in ItemRole],
        asked=[one for one in criteria if one.applies_to is not AppliesTo.PASSAGE and not one.is_text],
    )


def names_html(services: Services, owner: str, study_id: str) -> str:
    """Return the names to sign in with, as buttons; nothing where there are none."""
    study = services.studies.kept.get(owner, study_id)
    names = services.studies.names(owner, study_id)
    return render("annotate_names", names=names, invited=study.invited) if names else ""


def _values(criterion: Criterion) -> str:
    return "\n".join(criterion.labels)


def _keys(criterion: Criterion) -> list[str]:
    return [key if len(key) < 2 else f"{key[:3]}…" for key in (*criterion.keys, criterion.rest_key) if key]


def act(services: Services, owner: str, study_id: str, data: Click) -> str:
    """Do what a button of the section says, and return in words what was done. Raises PdfQAError."""
    match data["action"]:
        case "state" | "rename-study" | "guide":
            return _study(services, owner, study_id, data)
        case "invite" | "anybody" | "rename-person" | "remove-person" | "bring-back":
            return _people(services, owner, study_id, data)
        case "criterion" | "drop-criterion" | "criterion-up" | "preset":
            return _asked(services, owner, study_id, data)
        case "plant":
            return _planted(services, owner, study_id, data)
    return ""


def _study(services: Services, owner: str, study_id: str, data: Click) -> str:
    changes = services.studies.changes
    if data["action"] == "state":
        if data["state"] not in set(StudyState):
            raise UsageError(f"{data['state']!r} is no state of a study.", CLICK_AGAIN)
        study = changes.change(owner, study_id, state=StudyState(data["state"]))
        return f"“{study.name}” {DONE[study.state]}"
    if data["action"] == "rename-study":
        return f"The study is called “{changes.change(owner, study_id, name=data['name']).name}” now."
    changes.change(owner, study_id, guideline=data.get("guideline", "").strip())
    return "The guideline is saved; annotators see it at once."


def _people(services: Services, owner: str, study_id: str, data: Click) -> str:
    studies, person = services.studies, data.get("person", "")
    match data["action"]:
        case "invite":
            added = studies.invite(owner, study_id, data.get("names", ""))
            words = f"Added: {', '.join(added)}." if added else "They are on the list already."
            return f"{words} Only those on the list can sign in."
        case "rename-person":
            new = studies.changes.rename(owner, study_id, person, data["new"])
            return f"{person} is called {new} now. Their ratings and their order of the items stay."
        case "remove-person":
            count = studies.remove_annotator(owner, study_id, person)
            return f"{person} is out of this study." + (
                f" Their {plural(count, 'rating')} are kept, but do not count." if count else ""
            )
        case "bring-back":
            studies.changes.invite(owner, study_id, [person])
            return f"{person} is back, with all ratings."
    studies.changes.change(owner, study_id, invited=False)
    return "Anybody can sign in by typing a name."


def _asked(services: Services, owner: str, study_id: str, data: Click) -> str:
    """Change what is asked."""
    studies = services.studies
    criteria = list(studies.criteria_of(studies.kept.get(owner, study_id)))
    at = next((place for place, one in enumerate(criteria) if one.name == data.get("criterion")), len(criteria))
    match data["action"]:
        case "preset":
            preset = preset_named(data["preset"])
            studies.define(owner, study_id, preset.criteria)
            return f"The study asks what “{preset.title}” asks. Its guideline is as it was."
        case "drop-criterion":
            gone = criteria.pop(at) if at < len(criteria) else None
            studies.define(owner, study_id, criteria)
            return f"“{gone.title}” is not asked any more." if gone else ""
        case "criterion-up" if 0 < at < len(criteria):
            criteria.insert(at - 1, criteria.pop(at))
            studies.define(owner, study_id, criteria)
            return "The order of the questions is changed, and their keys with it."
    labels = data.get("labels", "").splitlines()
    made_one = made(data["name"], data["kind"], data["about"], labels, data.get("title", ""), data.get("help", ""))
    if at < len(criteria) and criteria[at].labels == made_one.labels and kind_of(criteria[at]) == data["kind"]:
        made_one = replace(made_one, scale=criteria[at].scale)  # its values stay as they are stored
    criteria[at : at + 1] = [made_one]
    studies.define(owner, study_id, criteria)
    return f"“{made_one.title}” is saved."


def _planted(services: Services, owner: str, study_id: str, data: Click) -> str:
    """Make an item a training or check item."""
    prefix = "expected_"
    expected = {name.removeprefix(prefix): value for name, value in data.items() if name.startswith(prefix) and value}
    role = services.studies.plant(
        owner, study_id, data["turn"], data.get("role", ""), expected, data.get("explanation", "")
    )
    words = {
        ItemRole.TRAINING: "a training item: it comes first, and is explained after it was rated. It does not count.",
        ItemRole.CHECK: "a check item: it looks like others, and the results say who got it right. It does not count.",
        ItemRole.RATED: "an item like others.",
    }
    return f"That is now {words[role]}"


def answered(services: Services, owner: str, study_id: str, data: Click) -> tuple[str, bool]:
    """Do what a button says; return the section as it is then, and whether the study is gone for good."""
    try:
        if data.get("action") == "delete-for-good":
            services.studies.changes.delete(owner, study_id)
            return "", True
        said = act(services, owner, study_id, data)
    except PdfQAError as error:
        return setup_html(services, owner, study_id, error=error), False
    return setup_html(services, owner, study_id, said), False


def choices(services: Services, owner: str) -> list[tuple[str, str]]:
    """Return the studies of the list, archived and deleted ones last and called so."""
    studies: list[Any] = sorted(
        services.studies.list(owner, deleted=True), key=lambda one: list(STATES).index(one.state) // 2
    )
    return [(one.name if one.state is StudyState.OPEN else f"{one.name} ({one.state})", one.id) for one in studies]
