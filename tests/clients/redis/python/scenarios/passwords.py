"""A server that was started with a password."""

import redis
from harness import RedisServer, equal, raises, scenario

PASSWORD = "open sesame: \u00e4"


@scenario
def without_the_password_nothing_is_answered(place):
    with RedisServer(password=PASSWORD) as server:
        stranger = place.connect(port=server.port)
        for command in (
            "GET k",
            "INFO",
            "CONFIG GET requirepass",
            "SUBSCRIBE news",
            "FLUSHALL",
            "CLIENT LIST",
        ):
            with raises("NOAUTH", "AuthenticationError", "Authentication required"):
                stranger.execute_command(*command.split())
        for wrong in ("", "open sesame", PASSWORD + " "):
            # redis-py sends no AUTH for an empty password.
            with raises("WRONGPASS", "AuthenticationError", "Authentication required"):
                place.connect(port=server.port, password=wrong).get("k")
        with raises("WRONGPASS", "AuthenticationError"):
            place.connect(port=server.port, username="somebody", password=PASSWORD).get("k")


@scenario
def with_the_password_everything_is_answered(place):
    with RedisServer(password=PASSWORD) as server:
        client = place.connect(port=server.port, password=PASSWORD)
        equal(client.set("k", "v"), True)
        named = place.connect(port=server.port, username="default", password=PASSWORD, db=1)
        equal([named.get("k"), named.acl_whoami()], [None, "default"])
        url = f"redis://:{PASSWORD}@127.0.0.1:{server.port}/0?protocol={place.protocol}"
        by_url = redis.Redis.from_url(url.replace(" ", "%20"), decode_responses=True)
        equal(by_url.get("k"), "v")
        by_url.close()
        # Who is in stays in when the password changes; who comes needs the new one.
        client.config_set("requirepass", "new")
        equal(client.get("k"), "v")
        with raises("WRONGPASS", "AuthenticationError"):
            place.connect(port=server.port, password=PASSWORD).get("k")
        equal(place.connect(port=server.port, password="new").get("k"), "v")


@scenario
def a_password_where_none_is_asked_for_is_told(place):
    with raises("without any password configured"):
        place.connect().execute_command("AUTH", "secret")
