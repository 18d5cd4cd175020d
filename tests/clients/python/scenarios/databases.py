"""Databases and the server: create, list, drop, statistics, topology, errors."""

import time

from harness import equal, open_store, raises, scenario
from ravendb import GetCollectionStatisticsOperation, GetStatisticsOperation
from ravendb.serverwide.commands import GetDatabaseTopologyCommand
from ravendb.serverwide.database_record import DatabaseRecord
from ravendb.serverwide.operations.common import (
    CreateDatabaseOperation,
    DeleteDatabaseOperation,
    GetBuildNumberOperation,
    GetDatabaseNamesOperation,
)
from scenarios.model import Album, album, store_albums


@scenario()
def databases_are_created_listed_and_dropped(store):
    server = store.maintenance.server
    name = f"made-{time.time_ns()}"
    result = server.send(CreateDatabaseOperation(DatabaseRecord(name)))
    equal(result.name, name)
    assert name in server.send(GetDatabaseNamesOperation(0, 1000))
    with raises("already exists"):
        server.send(CreateDatabaseOperation(DatabaseRecord(name)))
    server.send(DeleteDatabaseOperation(name, hard_delete=True))
    assert name not in server.send(GetDatabaseNamesOperation(0, 1000))


@scenario()
def a_missing_database_is_reported_as_such(store):
    with open_store(store.urls, "no-such-database") as missing:
        with raises("DatabaseDoesNotExist", "does not exist"):
            with missing.open_session() as session:
                session.load("albums/1", Album)


@scenario()
def databases_do_not_see_each_other(store):
    store_albums(store, 2)
    name = f"other-{time.time_ns()}"
    server = store.maintenance.server
    server.send(CreateDatabaseOperation(DatabaseRecord(name)))
    try:
        with store.open_session(name) as session:
            equal(session.load("albums/1", Album), None)
            session.store(album(7), "albums/7")
            session.save_changes()
        with store.open_session() as session:
            equal(session.load("albums/7", Album), None)
    finally:
        server.send(DeleteDatabaseOperation(name, hard_delete=True))


@scenario()
def statistics_count_documents_by_collection(store):
    store_albums(store, 5)
    statistics = store.maintenance.send(GetStatisticsOperation())
    equal(statistics.count_of_documents, 8)
    assert statistics.database_change_vector
    collections = store.maintenance.send(GetCollectionStatisticsOperation())
    equal(collections.collections["Albums"], 5)
    equal(collections.collections["Artists"], 3)


@scenario()
def the_topology_names_this_server(store):
    command = GetDatabaseTopologyCommand()
    store.get_request_executor().execute_command(command)
    nodes = command.result.nodes
    equal([node.url for node in nodes], store.urls)
    equal(nodes[0].database, store.database)


@scenario()
def the_build_number_is_told(store):
    build = store.maintenance.server.send(GetBuildNumberOperation())
    assert build.product_version and build.build_version
