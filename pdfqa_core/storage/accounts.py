"""Who may sign in to a server that a group shares, and the browsers that are signed in.

Passwords and tokens are never stored, only their hashes.
"""

from __future__ import annotations

import builtins
import uuid
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from pdfqa_core.errors import UsageError
from pdfqa_core.storage.database import Database, account_invitations, accounts, record, sign_ins, tokens
from pdfqa_core.storage.records import Account, AccountInvitation, AccountRole, ApiToken
from pdfqa_core.storage.tables import checked_name, name_key

# ----------------------------------------------------------------------------------------------------
# Tokens by which programs use the server: their names, whom they act for, and the hash of each.

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


# ----------------------------------------------------------------------------------------------------
# Who may sign in to a server that a group shares, and the browsers that are signed in.

NOTED = timedelta(minutes=5)  # a sign-in is noted as used at most so often


class Accounts:
    """The accounts, by their names however they are spelled, and their sign-ins. All methods raise StorageError.

    Methods that take a name raise UsageError where there is no such account.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, role: AccountRole, password_hash: str) -> str:
        """Make an account and return its name. Raises UsageError if the name is taken, empty or too long."""
        name = checked_name(name)
        row = {"name_key": name_key(name), "name": name, "role": role, "password_hash": password_hash}
        with self._database.write() as connection:
            if _found(connection, name) is not None:
                raise UsageError(f"There is an account “{name}” already.", "Choose another name.")
            connection.execute(insert(accounts).values(row | {"made_at": datetime.now(UTC)}))
        return name

    def list(self) -> tuple[Account, ...]:
        """Return the accounts by their names."""
        with self._database.read() as connection:
            rows = connection.execute(select(accounts).order_by(accounts.c.name_key))
            return tuple(record(Account, row) for row in rows)

    def any(self) -> bool:
        """Whether there is an account."""
        with self._database.read() as connection:
            return bool(connection.scalar(select(func.count()).select_from(accounts)))

    def named(self, name: str) -> Account | None:
        """Return an account, None where nobody has that name."""
        with self._database.read() as connection:
            return _found(connection, name)

    def remove(self, name: str) -> None:
        """Remove an account; its browsers are signed out."""
        with self._database.write() as connection:
            _require(connection, name)
            connection.execute(delete(accounts).where(accounts.c.name_key == name_key(name)))

    def change(self, name: str, *, role: AccountRole | None = None, password_hash: str = "") -> None:
        """Give an account another role, or another password, which signs its browsers out."""
        values: dict[str, str] = {"role": role} if role else {}
        with self._database.write() as connection:
            _require(connection, name)
            if password_hash:
                values["password_hash"] = password_hash
                connection.execute(delete(sign_ins).where(sign_ins.c.name_key == name_key(name)))
            if values:
                connection.execute(update(accounts).where(accounts.c.name_key == name_key(name)).values(values))

    # ------------------------------------------------------------ invitations

    def invite(self, name: str, role: AccountRole, token_hash: str, ends_at: datetime) -> str:
        """Note that whoever has the token may choose the password of this account; return its name.

        An account that exists keeps its name and role. An earlier invitation of the name ends.
        """
        name = checked_name(name)
        with self._database.write() as connection:
            known = _found(connection, name)
            name, role = (known.name, known.role) if known else (name, role)
            connection.execute(
                delete(account_invitations).where(
                    (account_invitations.c.name_key == name_key(name))
                    | (account_invitations.c.ends_at < datetime.now(UTC))
                )
            )
            row = {"name_key": name_key(name), "name": name, "role": role, "token_hash": token_hash}
            connection.execute(insert(account_invitations).values(row | {"ends_at": ends_at}))
        return name

    def invitations(self) -> builtins.list[AccountInvitation]:
        """Return the invitations that can still be used, by their names."""
        query = select(account_invitations).where(account_invitations.c.ends_at >= datetime.now(UTC))
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(account_invitations.c.name_key))
            return [record(AccountInvitation, row) for row in rows]

    def invited(self, token_hash: str) -> AccountInvitation | None:
        """Return the invitation that belongs to a token, None where it was used, ended, or was never there."""
        with self._database.read() as connection:
            return _invited(connection, token_hash)

    def join(self, token_hash: str, password_hash: str) -> Account | None:
        """Use an invitation: the account has this password now, and is made where it was not there. None as above."""
        with self._database.write() as connection:
            found = _invited(connection, token_hash)
            if found is None:
                return None
            connection.execute(delete(account_invitations).where(account_invitations.c.token_hash == token_hash))
            key = name_key(found.name)
            if _found(connection, found.name) is None:
                row = {"name_key": key, "name": found.name, "role": found.role, "password_hash": password_hash}
                connection.execute(insert(accounts).values(row | {"made_at": datetime.now(UTC)}))
            else:
                connection.execute(delete(sign_ins).where(sign_ins.c.name_key == key))
                changed = update(accounts).where(accounts.c.name_key == key)
                connection.execute(changed.values(password_hash=password_hash))
            return _found(connection, found.name)

    def withdraw(self, name: str) -> bool:
        """Take an invitation back; False if nobody of this name is invited."""
        with self._database.write() as connection:
            gone = delete(account_invitations).where(account_invitations.c.name_key == name_key(name))
            return connection.execute(gone).rowcount > 0

    # ------------------------------------------------------------ browsers

    def sign_in(self, name: str, token_hash: str, ends_at: datetime) -> None:
        """Note that a browser is signed in until then at the latest; sign-ins that ended are forgotten."""
        now = datetime.now(UTC)
        with self._database.write() as connection:
            _require(connection, name)
            connection.execute(delete(sign_ins).where(sign_ins.c.ends_at < now))
            row = {"token_hash": token_hash, "name_key": name_key(name), "used_at": now, "ends_at": ends_at}
            connection.execute(insert(sign_ins).values(row))

    def signed_in(self, token_hash: str, idle: timedelta) -> Account | None:
        """Return whose browser this is; None where its sign-in ended, or was not used for so long."""
        now = datetime.now(UTC)
        query = select(accounts, sign_ins.c.used_at).join(sign_ins, sign_ins.c.name_key == accounts.c.name_key)
        query = query.where(
            sign_ins.c.token_hash == token_hash, sign_ins.c.ends_at >= now, sign_ins.c.used_at >= now - idle
        )
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            return None
        if row.used_at < now - NOTED:
            with self._database.write() as connection:
                noted = update(sign_ins).where(sign_ins.c.token_hash == token_hash).values(used_at=now)
                connection.execute(noted)
        return record(Account, row)

    def sign_out(self, token_hash: str) -> None:
        """Forget that a browser is signed in."""
        with self._database.write() as connection:
            connection.execute(delete(sign_ins).where(sign_ins.c.token_hash == token_hash))


def _found(connection: Connection, name: str) -> Account | None:
    row = connection.execute(select(accounts).where(accounts.c.name_key == name_key(name))).one_or_none()
    return None if row is None else record(Account, row)


def _invited(connection: Connection, token_hash: str) -> AccountInvitation | None:
    query = select(account_invitations).where(
        account_invitations.c.token_hash == token_hash, account_invitations.c.ends_at >= datetime.now(UTC)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else record(AccountInvitation, row)


def _require(connection: Connection, name: str) -> None:
    if _found(connection, name) is None:
        raise UsageError(f"There is no account “{name.strip()}”.", "See them with: pdfqa accounts list")
