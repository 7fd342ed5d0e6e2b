"""What the owner of a study does on the Annotate tab: state, people, questions, guideline, training and check items."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.protocols.study_definition import KINDS, PRESETS, kind_of, made, preset_named
from pdfqa_core.services import Services
from pdfqa_core.study_types import AppliesTo, Criterion, ItemRole, StudyState
from pdfqa_core.ui.components import CLICK_AGAIN, Click, plural, render

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
    StudyState.ARCHIVED: ("put away; it stands last in the list", (("open", "Open again"), ("deleted", "Delete"))),
    StudyState.DELETED: ("about to go; nothing is lost yet", (("open", "Bring it back"),)),
}
DONE = {
    "open": "is open: annotators can rate.", "closed": "is closed: nobody can rate it until it is opened again.",
    "archived": "is archived: it stands last in the list.",
    "deleted": "is deleted. Bring it back, or delete it for good, below.",
}  # fmt: skip


def setup_html(services: Services, owner: str, study_id: str, said: str = "", error: PdfQAError | None = None) -> str:
    """Return everything that the owner can change of a study, with what was just done."""
    study = services.studies.get(owner, study_id)
    found = services.studies.rated(owner, study_id)
    criteria = services.studies.criteria_of(study)
    meaning, follows = STATES[study.state]
    people = [
        (one, found.progress.get(one.name)) for one in services.study_setup.people(owner, study_id)
    ]  # fmt: skip
    planted = [one for one in found.turns if one.details.role]
    return render(
        "annotate_setup", study=study, said=said, error=error, meaning=meaning, follows=follows, people=people,
        criteria=[(one, kind_of(one), _values(one), _keys(one)) for one in criteria], kinds=KINDS, about=ABOUT,
        presets=PRESETS, ratings=len(found.ratings), items=len(found.turns), planted=planted,
        listed=found.turns[:MOST_LISTED], roles=[(one.value, one.value or "an item like others") for one in ItemRole],
        asked=[one for one in criteria if one.applies_to is not AppliesTo.PASSAGE and not one.is_text],
    )  # fmt: skip


def names_html(services: Services, owner: str, study_id: str) -> str:
    """Return the names to sign in with, as buttons; nothing where there are none."""
    study = services.studies.get(owner, study_id)
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
    setup = services.study_setup
    if data["action"] == "state":
        if data["state"] not in set(StudyState):
            raise UsageError(f"{data['state']!r} is no state of a study.", CLICK_AGAIN)
        study = setup.set_state(owner, study_id, StudyState(data["state"]))
        return f"“{study.name}” {DONE[study.state]}"
    if data["action"] == "rename-study":
        return f"The study is called “{setup.rename(owner, study_id, data['name']).name}” now."
    setup.guide(owner, study_id, data.get("guideline", ""))
    return "The guideline is saved; annotators see it at once."


def _people(services: Services, owner: str, study_id: str, data: Click) -> str:
    setup, person = services.study_setup, data.get("person", "")
    match data["action"]:
        case "invite":
            added = setup.invite(owner, study_id, data.get("names", ""))
            words = f"Added: {', '.join(added)}." if added else "They are on the list already."
            return f"{words} Only those on the list can sign in."
        case "rename-person":
            new = setup.rename_annotator(owner, study_id, person, data["new"])
            return f"{person} is called {new} now. Their ratings and their order of the items stay."
        case "remove-person":
            count = setup.remove_annotator(owner, study_id, person)
            return f"{person} is out of this study." + (
                f" Their {plural(count, 'rating')} are kept, but do not count." if count else ""
            )
        case "bring-back":
            setup.bring_back(owner, study_id, person)
            return f"{person} is back, with all ratings."
    setup.open_to_all(owner, study_id)
    return "Anybody can sign in by typing a name."


def _asked(services: Services, owner: str, study_id: str, data: Click) -> str:
    """Change what is asked."""
    setup = services.study_setup
    criteria = list(services.studies.criteria_of(services.studies.get(owner, study_id)))
    at = next((place for place, one in enumerate(criteria) if one.name == data.get("criterion")), len(criteria))
    match data["action"]:
        case "preset":
            preset = preset_named(data["preset"])
            setup.define(owner, study_id, preset.criteria)
            return f"The study asks what “{preset.title}” asks. Its guideline is as it was."
        case "drop-criterion":
            gone = criteria.pop(at) if at < len(criteria) else None
            setup.define(owner, study_id, criteria)
            return f"“{gone.title}” is not asked any more." if gone else ""
        case "criterion-up" if 0 < at < len(criteria):
            criteria.insert(at - 1, criteria.pop(at))
            setup.define(owner, study_id, criteria)
            return "The order of the questions is changed, and their keys with it."
    labels = data.get("labels", "").splitlines()
    made_one = made(data["name"], data["kind"], data["about"], labels, data.get("title", ""), data.get("help", ""))
    if at < len(criteria) and criteria[at].labels == made_one.labels and kind_of(criteria[at]) == data["kind"]:
        made_one = replace(made_one, scale=criteria[at].scale)  # its values stay as they are stored
    criteria[at : at + 1] = [made_one]
    setup.define(owner, study_id, criteria)
    return f"“{made_one.title}” is saved."


def _planted(services: Services, owner: str, study_id: str, data: Click) -> str:
    """Make an item a training or check item."""
    prefix = "expected_"
    expected = {name.removeprefix(prefix): value for name, value in data.items() if name.startswith(prefix) and value}
    role = services.study_setup.plant(
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
            services.study_setup.delete(owner, study_id)
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
    return [
        (one.name if one.state is StudyState.OPEN else f"{one.name} ({one.state})", one.id) for one in studies
    ]  # fmt: skip
