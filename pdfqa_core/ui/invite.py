"""Who is invited to a study: the owner invites by name, and gives each their own link or a password."""

from __future__ import annotations

from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError
from pdfqa_core.services import Services
from pdfqa_core.services.invitations import entrance
from pdfqa_core.study_types import Role
from pdfqa_core.ui.components import AT_ONCE, clicked, error_html, live_html, render
from pdfqa_core.ui.session import Session

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
        handlers = Handlers(services)
        self.fold.expand(handlers.show, [study, session], self.list, **AT_ONCE)
        study.change(handlers.show, [study, session], self.list, **AT_ONCE)
        for event in (self.button.click, self.name.submit):
            event(handlers.invite, [self.name, self.role, study, session], [self.list, self.name], **AT_ONCE)
        self.list.click(handlers.clicked, session, self.list, **AT_ONCE)


class Handlers:
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
            link = self.services.invitations.invite(session.owner, study_id or "", name or "", chosen)
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
                    given = {"link": self.services.invitations.renew(*where)}
                case "password":
                    given = {"password": self.services.invitations.make_password(*where), "link": entrance(study_id)}
                case "withdraw":
                    self.services.invitations.withdraw(*where)
        except PdfQAError as error:
            return self._list(study_id, session, said=error_html(error))
        return self._list(study_id, session, name=data["name"] if given else "", **given)

    def _list(
        self, study_id: str, session: Session, *, name: str = "", link: str = "", password: str = "", said: str = ""
    ) -> str:
        """Return the list, above it what was just made for `name`."""
        try:
            invited = self.services.invitations.list(session.owner, study_id) if study_id else ()
        except PdfQAError as error:
            return error_html(error)
        return said + render(
            "invited", study=study_id, invited=invited, name=name, link=link, password=password, viewer=Role.VIEWER
        )
