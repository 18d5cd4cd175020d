"""The `jackdaw` program for scenarios that need a server of their own, or a command of it.

`JACKDAW_BINARY` names the program; without it, it is looked for on the path.
"""

import os
import re
import subprocess

BINARY = os.environ.get("JACKDAW_BINARY", "jackdaw")


def jackdaw(*arguments, status=0):
    """Runs a command of the program, which has to end with `status`; gives all that it printed."""
    done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60)
    printed = done.stdout + done.stderr
    assert done.returncode == status, f"jackdaw {arguments} ended with {done.returncode}: {printed}"
    return printed


class RedisServer:
    """`jackdaw serve --redis` on a free port, or on the one given; stopped at the end of a `with`."""

    def __init__(self, *arguments, port=0, password=None):
        command = [BINARY, "serve", "--in-memory", "--listen", "127.0.0.1:0"]
        command += ["--redis", f"127.0.0.1:{port}", *arguments]
        environment = dict(os.environ)
        if password is not None:
            environment["JACKDAW_REDIS_PASSWORD"] = password
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        printed = ""
        for line in self.process.stdout:
            printed += line
            if line.startswith("Ctrl-C"):
                break
        found = re.search(r"redis://127\.0\.0\.1:(\d+)", printed)
        if found is None:
            self.kill()
            raise RuntimeError(f"{' '.join(command)} did not serve: {printed}")
        self.port = int(found.group(1))

    def stop(self):
        """Ends it as a service manager does; it has to end well."""
        self.process.terminate()
        status = self.process.wait(timeout=30)
        self.process.stdout.close()
        assert status == 0, f"jackdaw ended with {status}"

    def kill(self):
        """Ends it without a chance to write anything."""
        self.process.kill()
        self.process.wait(timeout=30)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        if self.process.poll() is None:
            self.kill()
