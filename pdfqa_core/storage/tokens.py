"""Tokens by which programs use the server: their names, whom they act for, and the hash of each."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from pdfqa_core.errors import UsageError
from pdfqa_core.storage.database import Database, record
from pdfqa_core.storage.records import ApiToken
from pdfqa_core.storage.server_tables import tokens

LONGEST_NAME = 80  # characters
_SHOWN = [tokens.c[name] for name in ApiToken.__dataclass_fields__]


class Tokens:
    """The tokens of a workspace, by name. All methods raise StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, owner: str, name: str, token_hash: str) -> ApiToken:
        """Keep a token under a name. Raises UsageError if the name is empty, too long or taken."""
        name = " ".join(name.split())
        if not name or len(name) > LONGEST_NAME:
            raise UsageError(f"A token needs a name of 1 to {LONGEST_NAME} characters.", "Name what uses it.")
        made = ApiToken(uuid.uuid4().hex, owner, name, datetime.now(UTC))
        row = {"id": made.id, "owner": owner, "name": name, "token_hash": token_hash, "created_at": made.created_at}
        taken = UsageError(f"There is a token called “{name}” already.", "Take another name, or remove that one.")
        with self._database.write() as connection:
            if connection.scalar(select(tokens.c.id).where(tokens.c.name == name)) is not None:
                raise taken
            try:
                connection.execute(insert(tokens).values(**row))
            except IntegrityError as error:  # another program was faster
                raise taken from error
        return made

    def list(self) -> tuple[ApiToken, ...]:
        """Return all tokens, the oldest first."""
        query = select(*_SHOWN).order_by(tokens.c.created_at, tokens.c.name)
        with self._database.read() as connection:
            return tuple(record(ApiToken, row) for row in connection.execute(query))

    def remove(self, name: str) -> None:
        """Remove a token. Raises UsageError if there is none of this name."""
        with self._database.write() as connection:
            gone = connection.execute(delete(tokens).where(tokens.c.name == " ".join(name.split()))).rowcount
        if not gone:
            known = ", ".join(one.name for one in self.list())
            raise UsageError(
                f"There is no token called “{name}”.", f"There are: {known}." if known else "There are none."
            )

    def of_hash(self, token_hash: str) -> ApiToken | None:
        """Return the token with this hash, None where there is none."""
        query = select(*_SHOWN).where(tokens.c.token_hash == token_hash)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else record(ApiToken, row)

    def used(self, token_id: str) -> None:
        """Note that a token is used now."""
        with self._database.write() as connection:
            connection.execute(update(tokens).where(tokens.c.id == token_id).values(used_at=datetime.now(UTC)))
