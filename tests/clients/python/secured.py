"""A server after `jackdaw setup`: who is let in, by certificate or by token, and who is not.

`secured.py URL DIRECTORY [PART OF A SCENARIO'S NAME]`: the server's address and its data directory.
`cargo xtask test clients` runs `jackdaw setup` on an empty directory, serves it, and runs this with
the official client; what the client does not do itself is asked for over plain HTTPS.
"""

import http.client
import json
import shutil
import socket
import ssl
import stat
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings
from pathlib import Path
from urllib.parse import urlparse

import websocket
from ravendb import DocumentStore
from ravendb.exceptions.exceptions import AuthorizationException
from ravendb.serverwide.database_record import DatabaseRecord
from ravendb.serverwide.operations.common import CreateDatabaseOperation, DeleteDatabaseOperation

sys.path.append(str(Path(__file__).parents[1] / "shared"))
from jackdaw import jackdaw  # noqa: E402
from running import equal, raises, run_scenarios, until  # noqa: E402

_scenarios = []


def scenario(function):
    _scenarios.append((function.__name__, function))
    return function


class User:
    def __init__(self, name=None):
        self.name = name


class Place:
    """The secured server, with a database of the scenario's own."""

    def __init__(self, url, data, number):
        self.url, self.data = url, Path(data)
        self.security = self.data / "security"
        self.authority = str(self.security / "authority.pem")
        self.admin_certificate = str(self.security / "admin.pem")
        self.database = f"secured-{number}"
        self.scratch = Path(tempfile.mkdtemp(prefix="jackdaw-secured-"))
        self.admin = self.store(self.admin_certificate)
        self.admin.maintenance.server.send(CreateDatabaseOperation(DatabaseRecord(self.database)))

    def close(self):
        operation = DeleteDatabaseOperation(self.database, hard_delete=True)
        self.admin.maintenance.server.send(operation)
        self.admin.close()
        shutil.rmtree(self.scratch)

    def store(self, certificate, database=None, authority=None, token=None):
        """The official client, with a certificate, with a token, or with neither."""
        store = DocumentStore(self.url, database or self.database)
        if certificate is not None:
            store.certificate_pem_path = certificate
        store.trust_store_path = authority or self.authority
        # The first request is one of the scenario's, not one about the nodes of the cluster.
        store.conventions.disable_topology_updates = token is not None
        store.initialize()
        if token is not None:
            session = store.get_request_executor().http_session
            session.headers["Authorization"] = f"Bearer {token}"
        return store

    def context(self):
        return ssl.create_default_context(cafile=self.authority)

    def ask(self, method, path, token=None, body=None, status=200):
        """A request over HTTPS without a certificate; gives the answer's JSON."""
        request = urllib.request.Request(self.url + path, method=method)
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            answer = urllib.request.urlopen(request, context=self.context(), timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            text = answer.read()
            assert answer.status == status, f"{method} {path}: {answer.status} {text[:500]}"
        return json.loads(text) if text else None

    def key(self, name, access):
        """A new API key by the command, and its id."""
        grant = f"{self.database}={access}"
        made = jackdaw("key", "create", name, "--access", grant, "--data", str(self.data))
        key = next(word for word in made.split() if word.startswith("jdk_"))
        return key, key.split("_")[1]

    def token(self, key):
        """The token for a new key. The server hears of one by command within a second; attempts
        before count as wrong ones, of which there may be few."""
        for _ in range(3):
            try:
                return self.ask("POST", "/jackdaw/token", body={"ApiKey": key})["Token"]
            except AssertionError:
                time.sleep(0.6)
        return self.ask("POST", "/jackdaw/token", body={"ApiKey": key})["Token"]


def store_and_load(store, name):
    with store.open_session() as session:
        session.store(User(name), "users/1")
        session.save_changes()
    with store.open_session() as session:
        equal(session.load("users/1", User).name, name)


def refused(store):
    with raises("AuthorizationException"):
        with store.open_session() as session:
            session.load("users/1", User)


@scenario
def setup_makes_secrets_that_only_their_owner_reads(place):
    names = {file.name for file in place.security.iterdir()}
    made = {"authority.pem", "authority.key", "server.pem", "admin.pem", "registry.json"}
    assert made <= names, names
    for name in names - {"authority.pem"}:
        mode = stat.S_IMODE((place.security / name).stat().st_mode)
        equal((name, oct(mode & 0o077)), (name, "0o0"))
    # What is set up is not set up again.
    other = place.scratch / "twice"
    jackdaw("setup", "--data", str(other))
    authority = (other / "security/authority.pem").read_bytes()
    printed = jackdaw("setup", "--data", str(other), status=1)
    assert "security" in printed, printed
    equal((other / "security/authority.pem").read_bytes(), authority)


@scenario
def the_certificate_of_the_administrator_opens_sessions(place):
    store_and_load(place.admin, "Ann")
    with place.admin.open_session() as session:
        found = list(session.query(object_type=User).where_equals("name", "Ann"))
        equal([one.name for one in found], ["Ann"])
        session.delete("users/1")
        session.save_changes()
    with place.admin.open_session() as session:
        equal(session.load("users/1", User), None)


@scenario
def without_a_certificate_only_what_is_for_anyone_is_answered(place):
    refused(place.store(None))
    assert "FullVersion" in place.ask("GET", "/build/version")
    for path in (
        "/databases",
        f"/databases/{place.database}/docs?id=users/1",
        "/admin/certificates",
    ):
        place.ask("GET", path, status=403)


@scenario
def a_certificate_of_another_server_is_refused(place):
    other = place.scratch / "other"
    jackdaw("setup", "--data", str(other))
    refused(place.store(str(other / "security/admin.pem")))
    # Nor does a client that trusts the other server talk to this one.
    stranger = place.store(place.admin_certificate, authority=str(other / "security/authority.pem"))
    with raises("CERTIFICATE_VERIFY_FAILED", "certificate verify failed", "SSLError"):
        with stranger.open_session() as session:
            session.load("users/1", User)


@scenario
def plain_http_and_old_versions_of_tls_are_not_spoken(place):
    address = urlparse(place.url)
    plain = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
    try:
        plain.request("GET", "/build/version")
        assert plain.getresponse().status >= 400
    except (http.client.HTTPException, OSError):
        pass
    finally:
        plain.close()
    context = place.context()
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        with raises("SSLError", "ConnectionResetError"):
            context.wrap_socket(connection, server_hostname=address.hostname)


@scenario
def a_certificate_by_command_reaches_one_database_until_it_is_removed(place):
    file = str(place.scratch / "reporting.pem")
    data = ["--data", str(place.data)]
    grant = f"{place.database}=Read"
    jackdaw("certificate", "create", "reporting", "--access", grant, "--out", file, *data)
    store_and_load(place.admin, "Ann")

    def loaded():
        try:
            with place.store(file).open_session() as session:
                return session.load("users/1", User).name
        except AuthorizationException:
            return None

    equal(until(loaded, "the certificate is known"), "Ann")
    with raises("AuthorizationException"):
        store_and_load(place.store(file), "Eve")
    refused(place.store(file, database="absent"))
    listed = jackdaw("certificate", "list", *data).splitlines()
    (thumbprint,) = [line.split()[0] for line in listed if " reporting " in line]
    jackdaw("certificate", "remove", thumbprint, *data)
    until(lambda: loaded() is None, "it is shut out")
    store_and_load(place.admin, "Ann")


@scenario
def a_token_for_an_api_key_opens_sessions(place):
    key, _ = place.key("nightly", "ReadWrite")
    store_and_load(place.store(None, token=place.token(key)), "Ann")
    refused(place.store(None, token="jdk_t_bogus"))
    refused(place.store(None))
    # The key itself is no token, and a wrong key gets none.
    path = f"/databases/{place.database}/docs?id=users/1"
    place.ask("GET", path, token=key, status=401)
    place.ask("POST", "/jackdaw/token", body={"ApiKey": key[:-1] + "x"}, status=401)


@scenario
def a_token_may_do_what_its_key_may(place):
    store_and_load(place.admin, "Ann")
    key, _ = place.key("reader", "Read")
    token = place.token(key)
    documents = f"/databases/{place.database}/docs?id=users/1"
    equal(place.ask("GET", documents, token=token)["Results"][0]["name"], "Ann")
    place.ask("PUT", documents, token=token, body={"name": "Eve"}, status=403)
    place.ask("GET", "/databases/absent/docs?id=users/1", token=token, status=403)
    place.ask("GET", "/jackdaw/keys", token=token, status=403)
    place.ask("GET", documents, status=403)


@scenario
def tokens_are_renewed_and_ended(place):
    store_and_load(place.admin, "Ann")
    key, _ = place.key("renewed", "Read")
    first = place.token(key)
    second = place.ask("POST", "/jackdaw/token/renew", token=first)["Token"]
    assert first != second
    documents = f"/databases/{place.database}/docs?id=users/1"
    place.ask("GET", documents, token=second)
    place.ask("DELETE", "/jackdaw/token", token=second, status=204)
    place.ask("GET", documents, token=second, status=401)


@scenario
def streams_take_a_token_and_end_with_its_key(place):
    key, id = place.key("watcher", "Read")
    token = place.token(key)
    feed = urllib.request.Request(f"{place.url}/databases/{place.database}/jackdaw/feed")
    feed.add_header("Authorization", f"Bearer {token}")
    changes = f"{place.url.replace('https', 'wss')}/databases/{place.database}/changes"
    trusted = {"ca_certs": place.authority}
    with raises("403"):
        websocket.create_connection(changes, sslopt=trusted, timeout=20)
    header = {"Authorization": f"Bearer {token}"}
    own = websocket.create_connection(changes, sslopt=trusted, header=header, timeout=20)
    assert "TopologyChange" in own.recv()
    own.send(json.dumps({"CommandId": 1, "Command": "watch-docs", "Param": None}))
    assert "Confirm" in own.recv()
    with urllib.request.urlopen(feed, context=place.context(), timeout=20) as stream:
        # The feed has begun when its first line is there.
        stream.readline()
        store_and_load(place.admin, "Ann")
        told = next(line for line in stream if b"users/1" in line)
        assert told.startswith(b"data:"), told
        assert "users/1" in own.recv()
        jackdaw("key", "remove", id, "--data", str(place.data))
        for _ in stream:
            pass
    with raises("WebSocket", "Connection"):
        while own.recv():
            pass
        raise ConnectionError("the web socket was closed")
    place.ask("GET", f"/databases/{place.database}/stats", token=token, status=401)


@scenario
def without_setup_addresses_that_others_reach_are_refused(place):
    fresh = str(place.scratch / "fresh")
    printed = jackdaw("serve", "--data", fresh, "--listen", "0.0.0.0:0", status=78)
    assert "jackdaw setup" in printed, printed
    redis = ["serve", "--in-memory", "--listen", "127.0.0.1:0", "--redis", "0.0.0.0:0"]
    printed = jackdaw(*redis, status=78)
    assert "--redis-password" in printed, printed


@scenario
def the_audit_log_is_whole(place):
    place.ask("POST", "/jackdaw/token", body={"ApiKey": "jdk_0_wrong"}, status=401)
    printed = jackdaw("audit", "--data", str(place.data))
    assert "none is missing at the end" in printed, printed
    head = next(line for line in printed.splitlines() if line.startswith("Head: "))
    jackdaw("audit", "--data", str(place.data), "--head", head.split()[1].rstrip("."))


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: secured.py URL DIRECTORY [PART OF A SCENARIO'S NAME]")
    url, data = sys.argv[1:3]
    print(f"Secured server at {url}, data in {data}", flush=True)

    def run(number, function):
        place = Place(url, data, number)
        try:
            function(place)
        finally:
            place.close()

    failed = run_scenarios(_scenarios, sys.argv[3] if len(sys.argv) > 3 else "", run)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
