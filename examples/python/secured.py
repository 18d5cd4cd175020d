"""The official RavenDB client against a secured server: TLS with client certificates.

    pip install ravendb
    jackdaw setup --data DIR && jackdaw serve --data DIR
    python secured.py https://localhost:8443 DIR/security/admin.pem DIR/security/authority.pem

The administrator makes a database and a certificate that may write into it alone; its owner stores
and loads a document, is refused elsewhere, and is shut out when the certificate is deleted.
"""

import io
import os
import sys
import tempfile
import zipfile

from ravendb import DocumentStore
from ravendb.exceptions.exceptions import AuthorizationException
from ravendb.serverwide.database_record import DatabaseRecord
from ravendb.serverwide.operations.certificates import (
    CreateClientCertificateOperation,
    DatabaseAccess,
    DeleteCertificateOperation,
    GetCertificatesOperation,
    SecurityClearance,
)
from ravendb.serverwide.operations.common import CreateDatabaseOperation, DeleteDatabaseOperation


class User:
    def __init__(self, name=None):
        self.name = name


def open_store(url, database, certificate, authority):
    store = DocumentStore(url, database)
    if certificate is not None:
        store.certificate_pem_path = certificate
    store.trust_store_path = authority
    store.initialize()
    return store


def refused(action):
    try:
        action()
    except AuthorizationException:
        return
    raise SystemExit("this should have been refused")


def load(store):
    with store.open_session() as session:
        return session.load("users/1", User)


def main(url, certificate, authority):
    admin = open_store(url, "mine", certificate, authority)
    server = admin.maintenance.server
    for name in ("mine", "theirs"):
        server.send(CreateDatabaseOperation(DatabaseRecord(name)))
    made = server.send(
        CreateClientCertificateOperation(
            "writer", {"mine": DatabaseAccess.READ_WRITE}, SecurityClearance.VALID_USER
        )
    )
    files = zipfile.ZipFile(io.BytesIO(bytes(made.raw_data)))
    handle, path = tempfile.mkstemp(suffix=".pem")
    with os.fdopen(handle, "wb") as file:
        file.write(files.read("writer.key") + files.read("writer.crt"))
    try:
        writer = open_store(url, "mine", path, authority)
        with writer.open_session() as session:
            session.store(User("Ann"), "users/1")
            session.save_changes()
        assert load(writer).name == "Ann"
        refused(lambda: load(open_store(url, "theirs", path, authority)))
        refused(lambda: load(open_store(url, "absent", path, authority)))
        found = [one for one in server.send(GetCertificatesOperation(0, 100)) if one.name == "writer"]
        server.send(DeleteCertificateOperation(found[0].thumbprint))
        refused(lambda: load(writer))
        refused(lambda: load(open_store(url, "mine", None, authority)))
    finally:
        os.remove(path)
    for name in ("mine", "theirs"):
        server.send(DeleteDatabaseOperation(name, hard_delete=True))
    print("secured: written, read, refused and shut out as it should be")


if __name__ == "__main__":
    main(*sys.argv[1:])
